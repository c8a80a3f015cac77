//! The totals of a run in one row: packets by kind, and drops by reason.

use crate::{Cell, Column, Row};
use raddle_core::{Count, Drops, Duration, PacketKind, Time, Totals};

/// The totals of a run. The counts by kind of packet are packet hops: a packet is counted at each port that accepts it,
/// even if it is lost later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct TotalsRecord {
    /// Packets with application bytes.
    pub data: Count,
    /// Acknowledgements, and all other packets that a transport sends without application bytes.
    pub ack: Count,
    /// Packets of R2C2 that carry flow events (broadcast or sent to a controller), announcements, or digests of a
    /// node's flows.
    pub event: Count,
    /// Control packets from one node to another, such as notices of dropped broadcasts, pause frames and HULA probes:
    /// [`PacketKind::Notice`].
    pub notice: Count,
    /// Lost packets. Each lost packet is counted under one reason. A lost packet that opens a connection is also
    /// counted in [`Drops::handshake`].
    pub drops: Drops,
    /// Simulated time in picoseconds.
    pub simulated_ps: u64,
    /// Number of events that the engine processed. The number measures only the work of the engine. It is not a result
    /// of the run, so the digest of the results does not include it.
    pub events: u64,
}

impl TotalsRecord {
    /// Returns the totals of a run that has reached `now`.
    #[must_use]
    pub fn new(totals: &Totals, now: Time) -> Self {
        let of = |kind: PacketKind| totals.kinds[kind as usize];
        Self {
            data: of(PacketKind::Data),
            ack: of(PacketKind::Ack),
            event: of(PacketKind::Event),
            notice: of(PacketKind::Notice),
            drops: totals.drops,
            simulated_ps: now.as_ps(),
            events: totals.events,
        }
    }

    /// Returns the count of all packets except data packets.
    #[must_use]
    pub fn control(&self) -> Count {
        let mut control = self.ack;
        control += self.event;
        control += self.notice;
        control
    }

    /// Returns the number of packet hops of all kinds of packets.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.data.packets + self.control().packets
    }

    /// Returns the simulated time.
    #[must_use]
    pub fn simulated(&self) -> Duration {
        Duration::from_ps(self.simulated_ps)
    }
}

/// No column counts the packets that vanished on a link ([`Drops::lost`]), because the table of links counts them.
impl Row for TotalsRecord {
    const TABLE: &'static str = "totals";
    const COLUMNS: &'static [Column] = &[
        Column::integer(
            "data_packets",
            "data packets; every port that accepts a packet counts the packet, even if the packet is lost \
             later",
        ),
        Column::integer("data_bytes", "bytes of the packets in data_packets, headers included"),
        Column::integer(
            "ack_packets",
            "transport packets without application bytes, counted like data_packets",
        ),
        Column::integer("ack_bytes", "bytes of the packets in ack_packets"),
        Column::integer(
            "event_packets",
            "R2C2 packets with flow events (broadcast or sent to a controller), announcements, or digests of \
             a node's flows; counted like data_packets",
        ),
        Column::integer("event_bytes", "bytes of the packets in event_packets"),
        Column::integer(
            "notice_packets",
            "control packets between nodes, such as notices, pause frames and probes, counted like \
                data_packets",
        ),
        Column::integer("notice_bytes", "bytes of the packets in notice_packets"),
        Column::integer("drops_queue_full", "packets lost to full queues"),
        Column::integer("drops_link_down", "packets lost to links that were down"),
        Column::integer("drops_no_route", "packets for which the forwarder had no route"),
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

    #[test]
    fn packets_are_counted_by_kind() {
        let mut totals = Totals::default();
        for packet in [tcp(1_460), tcp(1_460), tcp(0)] {
            totals.count_forwarded(packet.kind(), packet.size);
        }
        let record = TotalsRecord::new(&totals, Time::from_ps(7));
        assert_eq!(record.data, Count { packets: 2, bytes: 3_000 });
        assert_eq!(record.control(), Count { packets: 1, bytes: 40 });
        assert_eq!((record.packet_hops(), record.simulated_ps), (3, 7));
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(TotalsRecord::default().cells().as_ref().len(), TotalsRecord::COLUMNS.len());
    }
}
