//! The one trait of all headers: a header's answers to the questions of engines, schemes, records and captures.

use crate::{Class, Error, FlowKey, NodeId};

/// A header: the facts that others need of a packet, its bytes, and how its bytes are recognised and read.
///
/// Each header's file implements it, and so does [`Header`](crate::Header), which asks the header that it holds. Methods
/// with a default say what holds for most headers.
pub trait HeaderInfo {
    /// The nodes that the header names. Control packets that name no node, or only one, say at their header whom they name
    /// here.
    fn ends(&self) -> Ends;

    /// What the packet is for.
    fn kind(&self) -> PacketKind {
        if self.data_len() > 0 { PacketKind::Data } else { PacketKind::Ack }
    }

    /// The packet's class in queues and in flow control.
    fn class(&self) -> Class {
        Class::DEFAULT
    }

    /// The name of the flow that the packet belongs to or is about; `None` of a packet that is about no single flow.
    fn flow_key(&self) -> Option<FlowKey> {
        None
    }

    /// The bytes of a flow that the packet holds; `None` of packets without application bytes.
    fn range(&self) -> Option<FlowRange> {
        None
    }

    /// The five-tuple of the transport, if it has ports.
    fn five_tuple(&self) -> Option<FiveTuple> {
        None
    }

    /// What a switch hashes to tell flows apart: the ends, and the bits that tell flows between the same two ends apart, 0
    /// if a switch sees none.
    #[inline]
    fn label(&self) -> (Ends, u32) {
        (self.ends(), self.five_tuple().map_or(0, FiveTuple::ports))
    }

    /// The side that opens a connection with this packet; `None` if the packet opens none.
    fn opening(&self) -> Option<Opening> {
        None
    }

    /// Marks the packet as one that met congestion (RFC 3168 §5), if its transport understands marks. Returns whether it
    /// does; a queue can only drop a packet that cannot be marked.
    fn mark_congestion(&mut self) -> bool {
        false
    }

    /// Cuts the payload off, and says in the header that it was there. Returns whether the protocol has such packets; a
    /// queue can only drop a packet that cannot be trimmed.
    fn trim(&mut self) -> bool {
        false
    }

    /// Application bytes that the packet carries.
    fn data_len(&self) -> u32 {
        self.payload_len() as u32
    }

    /// Bytes of the payload, which follows the header.
    fn payload_len(&self) -> usize {
        0
    }

    /// Bytes of header and trailer on the wire.
    fn wire_len(&self) -> usize;

    /// Bytes of [`wire_len`](Self::wire_len) that follow the payload.
    fn trailer_len(&self) -> usize {
        0
    }

    /// True if zeros may follow the payload, because a scheme may charge more bytes for its header than the fields take.
    fn may_be_padded(&self) -> bool {
        false
    }

    /// Whether the header's bytes depend on the payload's: a checksum covers both. Of other headers a relay need not touch
    /// the payload.
    fn covers_payload(&self) -> bool {
        true
    }

    /// The packet's framing in Ethernet.
    fn framing(&self) -> Framing {
        Framing::Packet { tag: 0, ethertype: Framing::OWN }
    }

    /// Appends the header's bytes to `out`; `payload`, up to trailing zeros, is what its checksum covers.
    ///
    /// # Panics
    /// If a field is out of its documented range, of R2C2's headers in debug builds only.
    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>);

    /// Appends the bytes that follow the payload to `out`, whose bytes from `start` on are the packet so far.
    fn encode_trailer(&self, _out: &mut Vec<u8>, _start: usize) {}

    /// Whether the bytes are those of such a packet, as far as its type tells. At most one header recognises a packet.
    fn is_in(bytes: &[u8]) -> bool
    where
        Self: Sized;

    /// The header in front of `bytes`, and its length in them. The payload follows, then the
    /// [trailer](Self::trailer_len); bytes behind the packet are ignored.
    ///
    /// # Errors
    /// [`Error`], if the bytes are no such packet or lack some of it.
    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error>
    where
        Self: Sized;

    /// The header in front of `front`, the first bytes of a packet, and its length in them, without a look at the rest:
    /// for a relay. `None` if that cannot be told, and all bytes are needed. A checksum that [covers](Self::covers_payload) the
    /// payload is for the destination to verify.
    fn decode_front(_front: &[u8]) -> Option<(Self, usize)>
    where
        Self: Sized,
    {
        None
    }

    /// Writes into `front`, the first bytes of the packet as it came, what a relay may have changed of the header since then, and
    /// leaves the other bytes as they are. Returns false if that cannot be done, and the packet has to be encoded anew.
    fn patch_front(&self, _front: &mut [u8]) -> bool {
        false
    }
}

/// The nodes that a header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The packet's source.
    pub src: NodeId,
    /// The packet's destination.
    pub dst: NodeId,
}

impl Ends {
    /// The ends of these numbers.
    #[must_use]
    #[inline]
    pub fn new(src: impl Into<u32>, dst: impl Into<u32>) -> Self {
        Self { src: NodeId(src.into()), dst: NodeId(dst.into()) }
    }
}

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// It carries application bytes.
    Data,
    /// An acknowledgement, or another packet of a transport without application bytes.
    Ack,
    /// An event, broadcast or told to a controller, an announcement, or a digest.
    Event,
    /// A packet from one node to another: a notice that a broadcast was dropped, the rates that a controller computed, an
    /// Exp-response, a probe of HULA, a pause of a link, a notice of congestion or what topology discovery says; and the requests and snapshots that
    /// mend broadcasts.
    Notice,
}

/// Which packet of a connection's opening a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The first one, from the side that connects.
    Syn,
    /// Its answer.
    SynAck,
}

/// The bytes of a flow that a packet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRange {
    /// The flow's name.
    pub key: FlowKey,
    /// Where in the flow the first of the bytes stands.
    pub position: Position,
    /// The number of bytes, at least 1.
    pub len: u32,
}

impl FlowRange {
    /// So many bytes of a flow; `None` if there are none.
    pub(crate) fn new(key: FlowKey, position: Position, len: u32) -> Option<Self> {
        (len > 0).then_some(Self { key, position, len })
    }
}

/// A place in a flow, as a header gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// So many bytes behind the flow's first one.
    Byte(u64),
    /// The same modulo 2^32, as TCP gives it.
    WrappedByte(u32),
    /// The packet of this number modulo 2^32. All packets of such a flow but the last are full, so that the first byte
    /// is the number times the bytes of a full packet behind the flow's first one.
    Packet(u32),
}

impl Position {
    /// The position as a number that does not wrap, in bytes or packets: of all that the header may mean, the one nearest to
    /// `near`, the number of a position of the same flow. The flow's begin is 0.
    #[must_use]
    pub fn unwrapped(self, near: u64) -> u64 {
        match self {
            Self::Byte(offset) => offset,
            Self::WrappedByte(number) | Self::Packet(number) => {
                let ahead = number.wrapping_sub(near as u32).cast_signed();
                near.checked_add_signed(ahead.into()).unwrap_or_else(|| number.into())
            }
        }
    }
}

/// Ends, ports and protocol of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FiveTuple {
    /// Sending node.
    pub src: NodeId,
    /// Receiving node.
    pub dst: NodeId,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// IP's protocol number.
    pub protocol: u8,
}

impl FiveTuple {
    /// The protocol number of TCP.
    pub const TCP: u8 = 6;
    /// The protocol number of UDP.
    pub const UDP: u8 = 17;

    /// The source and destination ports of a host's `number`th flow of TCP or UDP: no pair twice in 3.9 billion flows.
    #[must_use]
    pub const fn ports_of(number: u64) -> (u16, u16) {
        const FIRST_SOURCE: u64 = 1_024;
        const SOURCES: u64 = 65_536 - FIRST_SOURCE;
        const FIRST_DESTINATION: u64 = 5_001;
        const DESTINATIONS: u64 = 65_536 - FIRST_DESTINATION;
        let src = FIRST_SOURCE + number % SOURCES;
        let dst = FIRST_DESTINATION + number / SOURCES % DESTINATIONS;
        (src as u16, dst as u16)
    }

    /// Both ports, the source's in the upper half.
    #[must_use]
    #[inline]
    pub const fn ports(self) -> u32 {
        (self.src_port as u32) << 16 | self.dst_port as u32
    }

    /// The same with the nodes exchanged, and not the ports.
    #[must_use]
    pub const fn answered(self) -> Self {
        Self { src: self.dst, dst: self.src, ..self }
    }

    /// The five-tuple of the packets that go the other way on the same connection.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self { src_port: self.dst_port, dst_port: self.src_port, ..self.answered() }
    }
}

/// A packet's framing in Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Behind the addresses of the nodes that it names and an EtherType.
    Packet {
        /// Bytes at the packet's begin that are a tag, and stand in front of the EtherType.
        tag: usize,
        /// The EtherType.
        ethertype: u16,
    },
    /// It is a whole frame, addresses and EtherType included.
    Frame {
        /// Bytes at the packet's begin that are a tag, and stand behind the addresses.
        tag: usize,
        /// Bytes of the frame check sequence at its end, which captures leave out.
        fcs: usize,
    },
}

impl Framing {
    /// The EtherType, for local experiments, behind which packets stand that have none of their own.
    pub const OWN: u16 = 0x88B6;
    /// The EtherType of IPv4.
    pub const IPV4: u16 = 0x0800;
    /// The framing of an IPv4 packet.
    pub(crate) const OF_IPV4: Self = Self::Packet { tag: 0, ethertype: Self::IPV4 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_wrap_around_the_number_that_they_are_near() {
        let wrapped = 1 << 32 | 5;
        for position in [Position::WrappedByte(5), Position::Packet(5)] {
            assert_eq!(position.unwrapped(0), 5);
            assert_eq!(position.unwrapped(u64::from(u32::MAX)), wrapped);
            assert_eq!(position.unwrapped(wrapped + 1_000), wrapped);
        }
        assert_eq!(Position::WrappedByte(u32::MAX - 1).unwrapped(0), u64::from(u32::MAX) - 1);
        assert_eq!(Position::WrappedByte(u32::MAX - 1).unwrapped(wrapped), u64::from(u32::MAX) - 1);
        assert_eq!(Position::Byte(wrapped).unwrapped(0), wrapped);
    }
}
