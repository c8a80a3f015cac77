//! Counters of a run: packets by kind, losses by reason, traffic of each link, and the run's progress.

use crate::{DropReason, Packet, PacketKind, Time};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// A number of packets, and the sum of their sizes in bytes. The link layer's overhead is not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// Number of lost packets, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Drops {
    /// The egress queue was full.
    pub queue_full: u64,
    /// The link was down, or failed while the packet was queued or on the link.
    pub link_down: u64,
    /// The forwarder knew no path.
    pub no_route: u64,
    /// The bytes were not a valid packet.
    pub malformed: u64,
    /// The packet vanished on a link.
    pub lost: u64,
    /// Lost packets that open connections. They are also counted under their reasons. Each such loss delays the
    /// connection by its first timeout. A runtime that moves bytes cannot recognise such a packet if it is damaged.
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

    /// Total number of losses.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.queue_full + self.link_down + self.no_route + self.malformed + self.lost
    }
}

impl AddAssign for Drops {
    fn add_assign(&mut self, other: Self) {
        self.queue_full += other.queue_full;
        self.link_down += other.link_down;
        self.no_route += other.no_route;
        self.malformed += other.malformed;
        self.lost += other.lost;
        self.handshake += other.handshake;
    }
}

/// Totals of a run. `sent` is the sum of `delivered`, `dropped` and the packets still inside the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Events that the runtime processed: a measure of its work, not part of the result.
    pub events: u64,
    /// Packets of any kind that crossed a link.
    pub packet_hops: u64,
    /// Packets that ports accepted, by [`PacketKind`]. A port with a [`Queue`](crate::Queue) or a
    /// [`PortAgent`](crate::PortAgent) counts a packet when it begins to send the packet.
    pub kinds: [Count; 4],
    /// Packets that nodes sent: packets of hosts, forwarders, port agents, flow control and topology discovery.
    pub sent: u64,
    /// Packets delivered to hosts, or consumed by forwarders, flow control or topology discovery.
    pub delivered: u64,
    /// Packets lost.
    pub dropped: u64,
    /// Packets lost, by reason.
    pub drops: Drops,
    /// Application bytes that hosts sent, including retransmissions.
    pub sent_bytes: u64,
    /// Application bytes delivered to hosts, including retransmissions.
    pub delivered_bytes: u64,
    /// Application bytes lost with dropped packets or by trimming. Bytes that are not a valid packet are not included.
    pub dropped_bytes: u64,
    /// Packets that queues trimmed to their headers.
    pub trimmed: u64,
    /// Flows of the workload that were handed to hosts.
    pub flows_started: u64,
    /// Flows whose last byte was delivered in order.
    pub flows_delivered: u64,
}

impl Totals {
    /// Counts a packet that a node sends.
    #[inline]
    pub fn count_sent(&mut self, packet: &Packet) {
        self.sent += 1;
        self.sent_bytes += u64::from(packet.payload());
    }

    /// Counts a packet that was delivered to a host or consumed in a node.
    #[inline]
    pub fn count_delivered(&mut self, packet: &Packet) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(packet.payload());
    }

    /// Counts a packet that is lost.
    pub fn count_dropped(&mut self, packet: &Packet, why: DropReason) {
        self.dropped += 1;
        self.dropped_bytes += u64::from(packet.payload());
        self.drops.count(packet, why);
    }

    /// Counts a trimmed packet, and the `bytes` application bytes that the packet lost.
    pub fn count_trimmed(&mut self, bytes: u32) {
        self.trimmed += 1;
        self.dropped_bytes += u64::from(bytes);
    }

    /// Counts arriving bytes that are not a valid packet.
    pub fn count_malformed(&mut self) {
        self.dropped += 1;
        self.drops.malformed += 1;
    }

    /// Counts a packet that a port accepted.
    #[inline]
    pub fn count_forwarded(&mut self, kind: PacketKind, size: u32) {
        self.kinds[kind as usize] += Count { packets: 1, bytes: size.into() };
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        for (kind, other) in self.kinds.iter_mut().zip(other.kinds) {
            *kind += other;
        }
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.drops += other.drops;
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.dropped_bytes += other.dropped_bytes;
        self.trimmed += other.trimmed;
        self.flows_started += other.flows_started;
        self.flows_delivered += other.flows_delivered;
    }
}

/// Traffic counters of one directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkStats {
    /// Packets with application bytes.
    pub data_packets: u64,
    /// Bytes of the packets with application bytes, headers included.
    pub data_bytes: u64,
    /// Packets without application bytes.
    pub control_packets: u64,
    /// Bytes of the packets without application bytes, headers included.
    pub control_bytes: u64,
    /// Packets lost at the link's port or on the link.
    pub drops: u64,
    /// Maximum number of bytes that waited at once, including the packet in service.
    pub peak_queue: u64,
}

impl LinkStats {
    /// Counts a packet that the link's port accepted.
    #[inline]
    pub fn count(&mut self, kind: PacketKind, size: u32) {
        if kind == PacketKind::Data {
            self.data_packets += 1;
            self.data_bytes += u64::from(size);
        } else {
            self.control_packets += 1;
            self.control_bytes += u64::from(size);
        }
    }
}

impl AddAssign for LinkStats {
    fn add_assign(&mut self, other: Self) {
        self.data_packets += other.data_packets;
        self.data_bytes += other.data_bytes;
        self.control_packets += other.control_packets;
        self.control_bytes += other.control_bytes;
        self.drops += other.drops;
        self.peak_queue = self.peak_queue.max(other.peak_queue);
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets of any kind that have crossed a link; 0 if packets are not simulated.
    pub packet_hops: u64,
    /// Flows whose last byte was delivered, or whose delivery is certain.
    pub flows_delivered: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;
    use raddle_wire::tcp::{SYN, Segment};

    fn tcp(flags: u8) -> Packet {
        Packet::new(40, Header::Tcp(Segment { flags, ..Segment::default() }))
    }

    #[test]
    fn losses_are_counted_by_reason() {
        let mut drops = Drops::default();
        for reason in [DropReason::QueueFull, DropReason::NoRoute, DropReason::Lost, DropReason::QueueFull] {
            drops.count(&tcp(0), reason);
        }
        assert_eq!(drops, Drops { queue_full: 2, no_route: 1, lost: 1, ..Drops::default() });
        assert_eq!(drops.total(), 4);
        drops.count(&tcp(SYN), DropReason::QueueFull);
        assert_eq!((drops.total(), drops.handshake), (5, 1));
    }
}
