//! The trait that all headers implement. It gives the properties of a packet that engines, schemes, records
//! and captures need.

use crate::{Class, Error, FlowKey, NodeId};

/// A packet's header: its encoding and decoding, and the properties of the packet that other components need.
///
/// Each header in [`Header`](crate::Header) implements this trait. `Header` also implements this trait, by calling the
/// header that it contains. The default methods fit most headers.
pub trait HeaderInfo {
    /// Returns the nodes that the header names. A control packet may name only one node, or none. The `ends` method of
    /// its header type documents what it then returns.
    fn ends(&self) -> Ends;

    /// Returns the packet's purpose.
    fn kind(&self) -> PacketKind {
        if self.data_len() > 0 { PacketKind::Data } else { PacketKind::Ack }
    }

    /// Returns the packet's class in queues and in flow control.
    fn class(&self) -> Class {
        Class::DEFAULT
    }

    /// Returns the name of the flow that the packet belongs to or is about; `None` if the packet is not about a single
    /// flow, or if the header does not give the flow's name.
    fn flow_key(&self) -> Option<FlowKey> {
        None
    }

    /// Returns the range of a flow's bytes that the packet carries. Returns `None` if the packet
    /// carries no application bytes, or if the header does not identify these bytes.
    fn range(&self) -> Option<FlowRange> {
        None
    }

    /// Returns the five-tuple of an IP packet; `None` for other packets.
    fn five_tuple(&self) -> Option<FiveTuple> {
        None
    }

    /// Returns the values that a switch hashes to distinguish flows: the ends, and the bits that distinguish
    /// flows between the same two ends (0 if a switch sees no such bits).
    #[inline]
    fn label(&self) -> (Ends, u32) {
        (self.ends(), self.five_tuple().map_or(0, FiveTuple::ports))
    }

    /// Returns the packet's role in the opening of a connection; `None` if the packet opens no connection.
    fn opening(&self) -> Option<Opening> {
        None
    }

    /// If the packet's transport supports marks, marks the packet with congestion experienced (RFC 3168 §5) and returns
    /// true. Otherwise returns false: a queue can then only drop the packet.
    fn mark_congestion(&mut self) -> bool {
        false
    }

    /// If the protocol supports trimmed packets, removes the payload, records the removal in the header, and returns
    /// true. Otherwise returns false: a queue can then only drop the packet.
    fn trim(&mut self) -> bool {
        false
    }

    /// Returns the number of application bytes that the packet carries.
    #[allow(clippy::cast_possible_truncation, reason = "a payload is below 64 KiB")]
    fn data_len(&self) -> u32 {
        self.payload_len() as u32
    }

    /// Returns the number of bytes of the payload, which follows the header.
    fn payload_len(&self) -> usize {
        0
    }

    /// Returns the number of bytes of header and trailer on the wire.
    fn wire_len(&self) -> usize;

    /// Returns the number of bytes of [`wire_len`](Self::wire_len) that follow the payload.
    fn trailer_len(&self) -> usize {
        0
    }

    /// True if zeros may follow the payload, because a scheme may count more header bytes on the wire than
    /// the fields need.
    fn may_be_padded(&self) -> bool {
        false
    }

    /// True if the header's bytes may depend on the payload, because a checksum covers both. If false, a
    /// relay does not need the payload to encode the header.
    fn covers_payload(&self) -> bool {
        true
    }

    /// Returns the packet's framing in Ethernet.
    fn framing(&self) -> Framing {
        Framing::Packet { tag: 0, ethertype: Framing::OWN }
    }

    /// Appends the header's bytes to `out`. The header's checksum may cover `payload`, from which trailing zeros may be
    /// left out.
    ///
    /// # Panics
    /// If a field is out of its documented range. R2C2's headers check most fields only in debug
    /// builds or not at all.
    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>);

    /// Appends the bytes that follow the payload to `out`. The packet's bytes so far begin at `start` in
    /// `out`.
    fn encode_trailer(&self, _out: &mut Vec<u8>, _start: usize) {}

    /// Returns true if the bytes have the type of this header. At most one header recognises a packet, unless the
    /// packet is cut off.
    fn is_in(bytes: &[u8]) -> bool
    where
        Self: Sized;

    /// Decodes the header at the start of `bytes`. Returns the header and its length. In `bytes`, the payload follows
    /// the header, and the [trailer](Self::trailer_len) follows the payload. Bytes after the packet are ignored, except
    /// that a whole frame of another system ends at the end of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a packet with this header, or if the packet is incomplete.
    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error>
    where
        Self: Sized;

    /// Decodes the header at the start of `front`, which contains the first bytes of a packet. Returns the header and
    /// its length; `None` if the header is malformed or needs more bytes. The default implementation returns `None`.
    /// Relays use this method, because it does not read the rest of the packet. If a checksum
    /// [covers](Self::covers_payload) the payload, only the destination verifies this checksum.
    #[must_use]
    fn decode_front(_front: &[u8]) -> Option<(Self, usize)>
    where
        Self: Sized,
    {
        None
    }

    /// Updates `front`, the first bytes of the packet as it arrived: overwrites the fields that a relay may have
    /// changed, and leaves the other bytes unchanged. Returns false if this is not possible. The packet must then be
    /// encoded again.
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
    /// Returns the ends with these node numbers.
    #[must_use]
    #[inline]
    pub fn new(src: impl Into<u32>, dst: impl Into<u32>) -> Self {
        Self { src: NodeId(src.into()), dst: NodeId(dst.into()) }
    }
}

/// A packet's purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// The packet carries application bytes.
    Data,
    /// The packet carries no application bytes. It is an acknowledgement, another packet of a transport, or a frame of
    /// a host's kernel.
    Ack,
    /// An event that is broadcast or reported to a controller, an announcement, or a digest.
    Event,
    /// A packet from one node to another: a notice of a dropped broadcast, a controller's rates, an Exp-response, a
    /// HULA probe, a pause frame, a credit of PFQ, a congestion notice of QCN, a congestion notification of RoCEv2, or
    /// a packet of topology discovery. Requests and snapshots, which repair R2C2's broadcasts, are of this kind too.
    Notice,
}

/// A packet's role when it opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The first packet, from the side that connects.
    Syn,
    /// The answer to the first packet.
    SynAck,
}

/// The bytes of a flow that a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRange {
    /// The flow's name.
    pub key: FlowKey,
    /// Position of the first of these bytes in the flow.
    pub position: Position,
    /// The number of bytes, at least 1.
    pub len: u32,
}

impl FlowRange {
    /// Creates a range of `len` bytes of a flow; `None` if `len` is 0.
    pub(crate) fn new(key: FlowKey, position: Position, len: u32) -> Option<Self> {
        (len > 0).then_some(Self { key, position, len })
    }
}

/// A position in a flow, in the form that a header gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Distance in bytes from the flow's first byte.
    Byte(u64),
    /// Distance in bytes modulo 2^32, as in TCP.
    WrappedByte(u32),
    /// Number of the packet modulo 2^32. All packets of such a flow except the last carry the same number of
    /// bytes. The position in bytes is therefore the packet number times this number of bytes.
    Packet(u32),
}

impl Position {
    /// Returns the position as a number that does not wrap, in bytes or packets. Of all possible positions, the result
    /// is the position nearest to `near`, which is a known position of the same flow. The flow begins at 0.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the cast wraps, as positions are modulo 2^32")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

    /// Returns the source and destination ports of a host's TCP or UDP flow with this number. A pair of ports
    /// repeats only after 3.9 billion flows.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "both ports are below 2^16")]
    pub const fn ports_of(number: u64) -> (u16, u16) {
        const FIRST_SOURCE: u64 = 1_024;
        const SOURCES: u64 = 65_536 - FIRST_SOURCE;
        const FIRST_DESTINATION: u64 = 5_001;
        const DESTINATIONS: u64 = 65_536 - FIRST_DESTINATION;
        let src = FIRST_SOURCE + number % SOURCES;
        let dst = FIRST_DESTINATION + number / SOURCES % DESTINATIONS;
        (src as u16, dst as u16)
    }

    /// Returns both ports. The source port is in the upper half.
    #[must_use]
    #[inline]
    pub const fn ports(self) -> u32 {
        (self.src_port as u32) << 16 | self.dst_port as u32
    }

    /// Returns the same five-tuple with source and destination nodes exchanged. The ports do not change.
    #[must_use]
    pub const fn answered(self) -> Self {
        Self { src: self.dst, dst: self.src, ..self }
    }

    /// Returns the five-tuple of the opposite direction of the same connection.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self { src_port: self.dst_port, dst_port: self.src_port, ..self.answered() }
    }
}

/// A packet's framing in Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// The packet follows an Ethernet header: the addresses of its destination and source, and an EtherType.
    Packet {
        /// Number of bytes of the tag at the packet's start, 0 without a tag. On Ethernet, the tag precedes the
        /// EtherType.
        tag: usize,
        /// The EtherType.
        ethertype: u16,
    },
    /// The packet is a whole frame, with addresses and EtherType.
    Frame {
        /// Number of bytes of the tag at the packet's start, 0 without a tag. On Ethernet, the tag follows the
        /// addresses.
        tag: usize,
        /// Length in bytes of the frame check sequence at the frame's end. Captures omit the frame check sequence.
        fcs: usize,
    },
}

impl Framing {
    /// An EtherType for local experiments. It precedes packets for which no other EtherType is
    /// defined.
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
