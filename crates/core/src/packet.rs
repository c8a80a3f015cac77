//! The packet that engines carry.

use crate::NodeId;
use raddle_wire::Header;

/// A packet: its size on the wire and its typed header. Payload bytes are counted, not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Bytes on the wire, headers included.
    pub size: u32,
    /// The header, from which everything else follows.
    pub header: Header,
}

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// It carries application bytes.
    Data,
    /// An acknowledgement, or whatever else a transport sends without application bytes.
    Ack,
    /// An event, broadcast or told to a controller, an announcement, or a digest.
    Event,
    /// What one node is told of its own, a notice that a broadcast was dropped or the rates that a controller computed;
    /// and what mends broadcasts, requests and snapshots.
    Notice,
}

impl Packet {
    /// What it is for.
    #[must_use]
    pub fn kind(&self) -> PacketKind {
        match &self.header {
            Header::R2c2Event(_)
            | Header::R2c2Announcement(..)
            | Header::R2c2ControllerEvent(_)
            | Header::R2c2Digest(_) => PacketKind::Event,
            Header::R2c2DropNotice(_)
            | Header::R2c2ControllerRates(_)
            | Header::R2c2Request(_)
            | Header::R2c2Snapshot(_) => PacketKind::Notice,
            Header::R2c2Data(_) | Header::Tcp(_) if self.is_data() => PacketKind::Data,
            Header::R2c2Data(_) | Header::R2c2Acknowledgement(_) | Header::Tcp(_) => PacketKind::Ack,
        }
    }

    /// The node that the header names as the packet's source.
    #[must_use]
    pub fn src(&self) -> NodeId {
        self.ends().0
    }

    /// The node that the header names as the packet's destination (of a broadcast event: its flow's; of an
    /// announcement or a digest, which are for all: its source).
    #[must_use]
    pub fn dst(&self) -> NodeId {
        self.ends().1
    }

    fn ends(&self) -> (NodeId, NodeId) {
        let node = |id: u16| NodeId(id.into());
        match &self.header {
            Header::R2c2Data(data) => (node(data.src), node(data.dst)),
            Header::R2c2Event(event) => (node(event.src), node(event.dst)),
            Header::R2c2DropNotice(notice) => (node(notice.data.src), node(notice.data.dst)),
            Header::R2c2Acknowledgement(ack) => (node(ack.data.src), node(ack.data.dst)),
            Header::R2c2Announcement(announcement, _) => (node(announcement.src), node(announcement.src)),
            Header::R2c2ControllerEvent(packet) => (node(packet.data.src), node(packet.data.dst)),
            Header::R2c2ControllerRates(packet) => (node(packet.data.src), node(packet.data.dst)),
            Header::R2c2Digest(digest) => (node(digest.src), node(digest.src)),
            Header::R2c2Request(request) => (node(request.data.src), node(request.data.dst)),
            Header::R2c2Snapshot(snapshot) => (node(snapshot.data.src), node(snapshot.data.dst)),
            Header::Tcp(segment) => (NodeId(segment.src), NodeId(segment.dst)),
        }
    }

    /// Application bytes carried; 0 for control packets.
    #[must_use]
    pub fn payload(&self) -> u32 {
        match &self.header {
            Header::R2c2Data(data) => data.plen.into(),
            Header::R2c2Event(_)
            | Header::R2c2DropNotice(_)
            | Header::R2c2Announcement(..)
            | Header::R2c2Acknowledgement(_)
            | Header::R2c2ControllerEvent(_)
            | Header::R2c2ControllerRates(_)
            | Header::R2c2Digest(_)
            | Header::R2c2Request(_)
            | Header::R2c2Snapshot(_) => 0,
            Header::Tcp(segment) => segment.plen.into(),
        }
    }

    /// Whether the packet carries application bytes, rather than only control.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.payload() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_within_its_memory_budget() {
        // PERFORMANCE.md allows 96 B a packet in flight, its ring entry included.
        assert!(size_of::<Packet>() <= 80, "{}", size_of::<Packet>());
    }
}
