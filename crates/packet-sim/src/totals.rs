//! What a run amounts to.

use std::ops::AddAssign;

/// Packets and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers included.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn count(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// What a run amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Events taken from the queue: about one a packet-hop, one a wake-up, one a flow.
    pub events: u64,
    /// Packets of any kind that crossed a link.
    pub packet_hops: u64,
    /// Packets that ports accepted, by [`PacketKind`](raddle_core::PacketKind).
    pub kinds: [Count; 4],
    /// Packets that hosts and forwarders sent.
    pub sent: u64,
    /// Packets delivered to hosts, or absorbed by the forwarders that they were for.
    pub delivered: u64,
    /// Packets lost.
    pub dropped: u64,
    /// Packets lost, by [`DropReason`](raddle_core::DropReason).
    pub drops: [u64; 5],
    /// Application bytes that hosts sent, repeats included.
    pub sent_bytes: u64,
    /// Application bytes delivered to hosts.
    pub delivered_bytes: u64,
    /// Application bytes lost.
    pub dropped_bytes: u64,
    /// Flows handed to hosts.
    pub flows_started: u64,
    /// Flows whose last byte was delivered in order.
    pub flows_delivered: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        for (kind, other) in self.kinds.iter_mut().zip(other.kinds) {
            kind.packets += other.packets;
            kind.bytes += other.bytes;
        }
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        for (drops, other) in self.drops.iter_mut().zip(other.drops) {
            *drops += other;
        }
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.dropped_bytes += other.dropped_bytes;
        self.flows_started += other.flows_started;
        self.flows_delivered += other.flows_delivered;
    }
}
