//! The packet that engines carry.

use crate::{CONTROL, NodeId};
use raddle_wire::tcp::SYN;
use raddle_wire::{Error, Header, Shim, rated, roce};

/// A packet: its size on the wire and its typed header. Payload bytes are counted, not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Bytes on the wire, headers included.
    pub size: u32,
    /// What the switches of a load balancer tell each other, if anything.
    pub shim: Shim,
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
    /// What one node is told of its own, a notice that a broadcast was dropped, the rates that a controller computed or
    /// an Exp-response, HULA's probes, pauses of a link and notices of congestion; and what mends broadcasts, requests and
    /// snapshots.
    Notice,
}

impl Packet {
    /// A packet of so many bytes, without a shim.
    #[must_use]
    pub const fn new(size: u32, header: Header) -> Self {
        Self { size, shim: Shim::None, header }
    }

    /// Replaces the shim, and makes the packet as much larger or smaller.
    pub fn set_shim(&mut self, shim: Shim) {
        self.size = self.size - self.shim.wire_len() as u32 + shim.wire_len() as u32;
        self.shim = shim;
    }

    /// Appends its bytes to `out`, with a payload of zeros. They are `size` bytes, unless `size` is wrong.
    ///
    /// # Panics
    /// As [`Header::encode`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.size as usize;
        self.shim.encode(out);
        self.header.encode(out);
        if self.header.may_be_padded() {
            out.resize(end.max(out.len()), 0);
        }
    }

    /// The packet that these bytes are.
    ///
    /// # Errors
    /// [`Error`], if they are none.
    ///
    /// # Panics
    /// If there are 4 GiB of them.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let shim = Shim::decode(bytes)?;
        let (header, _) = Header::decode(&bytes[shim.wire_len()..])?;
        Ok(Self { size: u32::try_from(bytes.len()).expect("a packet's size fits 32 bits"), shim, header })
    }

    /// Its class in queues and in flow control: a priority of IEEE 802.1Q, 0 to 7, or [`CONTROL`]; 0 of packets
    /// that name none.
    #[must_use]
    #[inline]
    pub fn class(&self) -> u8 {
        match &self.header {
            Header::Cee(frame) => frame.priority,
            Header::Roce(packet) => packet.priority,
            Header::Pfc(_) | Header::Cnm(_) => CONTROL,
            _ => 0,
        }
    }

    /// What it is for.
    #[must_use]
    pub fn kind(&self) -> PacketKind {
        match &self.header {
            Header::R2c2Event(_)
            | Header::R2c2Announcement(..)
            | Header::R2c2ControllerEvent(_)
            | Header::R2c2Digest(_) => PacketKind::Event,
            Header::Exp(tagged) if tagged.tag.is_response => PacketKind::Notice,
            Header::R2c2DropNotice(_)
            | Header::R2c2ControllerRates(_)
            | Header::R2c2Request(_)
            | Header::R2c2Snapshot(_)
            | Header::HulaProbe(_)
            | Header::Pfc(_)
            | Header::Cnm(_) => PacketKind::Notice,
            Header::Roce(packet) if packet.kind == roce::Kind::Notification => PacketKind::Notice,
            Header::Cee(_) => PacketKind::Data,
            Header::R2c2Data(_)
            | Header::Tcp(_)
            | Header::Udp(_)
            | Header::Roce(_)
            | Header::Exp(_)
            | Header::Pdq(_)
            | Header::D3(_)
            | Header::Rcp(_)
                if self.is_data() =>
            {
                PacketKind::Data
            }
            Header::R2c2Data(_)
            | Header::R2c2Acknowledgement(_)
            | Header::Tcp(_)
            | Header::Udp(_)
            | Header::Roce(_)
            | Header::Exp(_)
            | Header::Pdq(_)
            | Header::D3(_)
            | Header::Rcp(_) => PacketKind::Ack,
        }
    }

    /// The node that the header names as the packet's source (of a congestion notice, which names a port instead: the
    /// culprit's destination; of a pause: the host, or 0 if a switch's port sent it).
    #[must_use]
    #[inline]
    pub fn src(&self) -> NodeId {
        match &self.header {
            Header::Tcp(segment) => NodeId(segment.src),
            Header::Udp(datagram) => NodeId(datagram.src),
            Header::Cee(frame) => NodeId(frame.src),
            Header::Roce(packet) => NodeId(packet.src),
            Header::R2c2Data(data) => NodeId(data.src.into()),
            Header::Pdq(_) | Header::D3(_) | Header::Rcp(_) => {
                self.header.rated().map_or(NodeId(0), |rated| NodeId(rated.src))
            }
            header => ends_of_control(header).0,
        }
    }

    /// The node that the header names as the packet's destination (of a broadcast event: its flow's; of other
    /// broadcasts, which are for all, and of a pause, which is for the neighbour: their source).
    #[must_use]
    #[inline]
    pub fn dst(&self) -> NodeId {
        match &self.header {
            Header::Tcp(segment) => NodeId(segment.dst),
            Header::Udp(datagram) => NodeId(datagram.dst),
            Header::Cee(frame) => NodeId(frame.dst),
            Header::Roce(packet) => NodeId(packet.dst),
            Header::R2c2Data(data) => NodeId(data.dst.into()),
            Header::Pdq(_) | Header::D3(_) | Header::Rcp(_) => {
                self.header.rated().map_or(NodeId(0), |rated| NodeId(rated.dst))
            }
            header => ends_of_control(header).1,
        }
    }

    /// Application bytes carried, among which a frame of converged Ethernet counts its headers; 0 for control packets.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> u32 {
        match &self.header {
            Header::Tcp(segment) => segment.plen.into(),
            Header::Udp(datagram) => datagram.plen.into(),
            Header::Cee(frame) => frame.plen.into(),
            Header::Roce(packet) => packet.plen().into(),
            Header::R2c2Data(data) => data.plen.into(),
            Header::Exp(tagged) => tagged.inner.payload_len() as u32,
            header => header.rated().map_or(0, |segment| segment.plen.into()),
        }
    }

    /// The name, as hosts report it, of the flow whose application bytes it carries, and where in the flow it stands: the
    /// place of the first byte, or of transports with explicit rates the packet's number in its subflow. `None` of packets
    /// that carry none, and of other transports.
    #[must_use]
    pub fn place_in_flow(&self) -> Option<(u64, u64)> {
        match &self.header {
            Header::Cee(frame) => Some((frame.flow_key(), frame.offset)),
            Header::Roce(packet) => match packet.kind {
                roce::Kind::Write { offset, .. } => Some((packet.flow_key(), offset)),
                roce::Kind::Notification => None,
            },
            header => {
                let segment = header.rated().filter(|segment| segment.plen > 0)?;
                Some((segment.flow_key(), segment.seq.into()))
            }
        }
    }

    /// Marks the packet as one that met congestion (ECN's CE), if its transport understands that. Returns whether it
    /// does.
    #[inline]
    pub fn mark_congestion(&mut self) -> bool {
        self.header.mark_congestion()
    }

    /// Whether it opens a connection (SYN, SYN-ACK): its loss costs more than that of others. An Exp-response does not,
    /// although its headers are those of what it answers.
    #[must_use]
    pub fn opens_connection(&self) -> bool {
        let header = match &self.header {
            Header::Exp(tagged) if !tagged.tag.is_response => &tagged.inner,
            header => header,
        };
        matches!(header, Header::Tcp(segment) if segment.flags & SYN != 0)
            || header.rated().is_some_and(|segment| segment.kind == rated::Kind::Syn)
    }

    /// Whether the packet carries application bytes, rather than only control.
    #[must_use]
    #[inline]
    pub fn is_data(&self) -> bool {
        self.payload() > 0
    }
}

/// Source and destination, apart, so that the short way of data stays short.
fn ends_of_control(header: &Header) -> (NodeId, NodeId) {
    let (src, dst) = match header {
        Header::Exp(tagged) => match &tagged.inner {
            Header::Tcp(segment) => return (NodeId(segment.src), NodeId(segment.dst)),
            Header::Udp(datagram) => return (NodeId(datagram.src), NodeId(datagram.dst)),
            inner => return ends_of_control(inner),
        },
        Header::HulaProbe(probe) => return (NodeId(probe.tor), NodeId(probe.tor)),
        Header::Cnm(notice) => return (NodeId(notice.culprit_dst), NodeId(notice.dst)),
        Header::Pfc(pause) => {
            let node = NodeId(pause.src.node().unwrap_or(0));
            return (node, node);
        }
        Header::R2c2Event(event) => (event.src, event.dst),
        Header::R2c2Announcement(announcement, _) => (announcement.src, announcement.src),
        Header::R2c2Digest(digest) => (digest.src, digest.src),
        header => header.routed().map_or((0, 0), |data| (data.src, data.dst)),
    };
    (NodeId(src.into()), NodeId(dst.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_wire::exp::{Tag, Tagged};
    use raddle_wire::pdq;
    use raddle_wire::tcp::Segment;

    #[test]
    fn an_exp_response_opens_nothing() {
        let inner = Header::Tcp(Segment { flags: SYN, ..Segment::default() });
        let tagged = |tag| {
            let packet = Packet::new(44, Header::Exp(Box::new(Tagged { tag, inner: inner.clone() })));
            (packet.opens_connection(), packet.kind())
        };
        assert_eq!(tagged(Tag::request([1])), (true, PacketKind::Ack));
        assert_eq!(tagged(Tag::response()), (false, PacketKind::Notice));
    }

    /// PDQ's `h_sched` charges bytes that no field takes.
    #[test]
    fn bytes_that_a_header_charges_beyond_its_fields_are_sent() {
        let segment = rated::Segment { src: 1, dst: 2, plen: 3, ..rated::Segment::default() };
        let scheduling = pdq::Scheduling {
            rate: 0,
            pauseby: pdq::Scheduling::NOBODY,
            deadline: pdq::Scheduling::NEVER,
            expected: 0,
            rtt: raddle_wire::Minifloat(0),
            interval: 0,
        };
        let header = Header::Pdq(pdq::Packet { segment, scheduling });
        for charged in [0, 1, 64] {
            let packet = Packet::new(43 + charged, header.clone());
            let mut bytes = vec![9; 5];
            packet.encode(&mut bytes);
            assert_eq!(bytes.len(), 5 + 43 + charged as usize);
            assert_eq!(Packet::decode(&bytes[5..]), Ok(packet));
        }
    }

    #[test]
    fn a_packet_stays_within_its_memory_budget() {
        // A cache line; 96 B a packet in flight are allowed, its ring entry included.
        assert_eq!(size_of::<Packet>(), 64);
    }
}
