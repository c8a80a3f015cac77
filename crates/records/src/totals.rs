//! What a run amounts to: packets by kind, losses by reason.

use crate::{Cell, Column, Row};
use raddle_core::{DropReason, Duration, Packet, PacketKind};
use std::ops::AddAssign;

/// Packets and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers included.
    pub bytes: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Packets lost, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Drops {
    /// The egress queue was full.
    pub queue_full: u64,
    /// The link was down, or went down under the packet.
    pub link_down: u64,
    /// The forwarder knew no way.
    pub no_route: u64,
    /// The bytes were not a valid packet.
    pub malformed: u64,
    /// It vanished on a link.
    pub lost: u64,
    /// Of all these, those that open connections: each loss costs the connection's first timeout.
    pub handshake: u64,
}

impl Drops {
    /// Counts a loss.
    pub fn count(&mut self, packet: &Packet, reason: DropReason) {
        self.handshake += u64::from(packet.opens_connection());
        *match reason {
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::LinkDown => &mut self.link_down,
            DropReason::NoRoute => &mut self.no_route,
            DropReason::Malformed => &mut self.malformed,
            DropReason::Lost => &mut self.lost,
        } += 1;
    }

    /// All losses.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.queue_full + self.link_down + self.no_route + self.malformed + self.lost
    }
}

/// What a run amounts to. A packet counts once for every link that it is sent over: these are packet-hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Totals {
    /// Packets with application bytes.
    pub data: Count,
    /// Acknowledgements, and whatever else a transport sends without application bytes.
    pub ack: Count,
    /// Events, broadcast or told to a controller.
    pub event: Count,
    /// Notices of dropped broadcasts, a controller's rates, Exp-responses, HULA's probes.
    pub notice: Count,
    /// Packets lost, once each.
    pub drops: Drops,
    /// Simulated time in picoseconds.
    pub simulated_ps: u64,
    /// Events that the engine took from its queue: a matter of speed, and no part of the result or its digest.
    pub events: u64,
}

impl Totals {
    /// Counts a packet that is sent over a link.
    pub fn count(&mut self, packet: &Packet) {
        let kind = match packet.kind() {
            PacketKind::Data => &mut self.data,
            PacketKind::Ack => &mut self.ack,
            PacketKind::Event => &mut self.event,
            PacketKind::Notice => &mut self.notice,
        };
        *kind += Count { packets: 1, bytes: packet.size.into() };
    }

    /// All packets but data.
    #[must_use]
    pub fn control(&self) -> Count {
        let mut control = self.ack;
        control += self.event;
        control += self.notice;
        control
    }

    /// Links that packets of any kind were sent over.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.data.packets + self.control().packets
    }

    /// Simulated time.
    #[must_use]
    pub fn simulated(&self) -> Duration {
        Duration::from_ps(self.simulated_ps)
    }
}

/// What vanished on links is in the rows of these links, and not here again.
impl Row for Totals {
    const TABLE: &'static str = "totals";
    const COLUMNS: &'static [Column] = &[
        Column::integer("data_packets", "data packets, once for every link they were sent over"),
        Column::integer("data_bytes", "their bytes, headers included"),
        Column::integer("ack_packets", "transport packets without application bytes, likewise"),
        Column::integer("ack_bytes", "their bytes"),
        Column::integer("event_packets", "events, broadcast or told to a controller, likewise"),
        Column::integer("event_bytes", "their bytes"),
        Column::integer("notice_packets", "notices of dropped broadcasts and a controller's rates, likewise"),
        Column::integer("notice_bytes", "their bytes"),
        Column::integer("drops_queue_full", "packets lost to full queues"),
        Column::integer("drops_link_down", "packets lost to links that were down"),
        Column::integer("drops_no_route", "packets for which the forwarder knew no way"),
        Column::integer("drops_malformed", "packets whose bytes were invalid"),
        Column::integer("simulated_ps", "simulated time"),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.data.packets,
            self.data.bytes,
            self.ack.packets,
            self.ack.bytes,
            self.event.packets,
            self.event.bytes,
            self.notice.packets,
            self.notice.bytes,
            self.drops.queue_full,
            self.drops.link_down,
            self.drops.no_route,
            self.drops.malformed,
            self.simulated_ps,
        ]
        .map(Cell::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tcp;
    use raddle_core::Header;
    use raddle_wire::tcp::SYN;

    #[test]
    fn packets_are_counted_by_kind() {
        let mut totals = Totals::default();
        totals.count(&tcp(1_460));
        totals.count(&tcp(1_460));
        totals.count(&tcp(0));
        assert_eq!(totals.data, Count { packets: 2, bytes: 3_000 });
        assert_eq!(totals.control(), Count { packets: 1, bytes: 40 });
        assert_eq!(totals.packet_hops(), 3);
    }

    #[test]
    fn losses_are_counted_by_reason() {
        let mut drops = Drops::default();
        for reason in [DropReason::QueueFull, DropReason::NoRoute, DropReason::Lost, DropReason::QueueFull] {
            drops.count(&tcp(1_460), reason);
        }
        assert_eq!(drops, Drops { queue_full: 2, no_route: 1, lost: 1, ..Drops::default() });
        assert_eq!(drops.total(), 4);
        let mut syn = tcp(0);
        let Header::Tcp(segment) = &mut syn.header else { unreachable!() };
        segment.flags = SYN;
        drops.count(&syn, DropReason::QueueFull);
        assert_eq!((drops.total(), drops.handshake), (5, 1));
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(Totals::default().cells().as_ref().len(), Totals::COLUMNS.len());
    }
}
