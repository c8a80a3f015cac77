//! The packet that engines carry.

use crate::NodeId;
use raddle_wire::{Class, Decoders, Error, FlowRange, Header, HeaderInfo, PacketKind, Shim};
use std::ops::Range;

/// A packet: its size, its shim and its typed header. Payload bytes are only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Size in bytes, headers included. The overhead of the fabric's link layer is not included.
    pub size: u32,
    /// The overlay header of a load balancer; [`Shim::None`] if the packet has none.
    pub shim: Shim,
    /// The header, which determines all other properties of the packet.
    pub header: Header,
}

impl Packet {
    /// A packet of `size` bytes, without a shim.
    #[must_use]
    pub const fn new(size: u32, header: Header) -> Self {
        Self { size, shim: Shim::None, header }
    }

    /// Replaces the shim, and adjusts the size of the packet.
    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    pub fn set_shim(&mut self, shim: Shim) {
        self.size = self.size - self.shim.wire_len() as u32 + shim.wire_len() as u32;
        self.shim = shim;
    }

    /// Appends the packet's bytes to `out`, with a payload of zeros. If `size` is consistent with the header, these are
    /// `size` bytes.
    ///
    /// # Panics
    /// In the same cases as [`Header::encode`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.size as usize;
        self.shim.encode(out);
        self.header.encode(out);
        self.pad(end, out);
    }

    /// Appends the packet's bytes to `out`, with the payload `body`. If `size` is consistent with the header, these are
    /// `size` bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the header announces another payload length.
    ///
    /// # Panics
    /// In the same cases as [`Header::encode`].
    pub fn encode_with(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() + self.size as usize;
        self.shim.encode(out);
        self.header.encode_with(body, out)?;
        self.pad(end, out);
        Ok(())
    }

    fn pad(&self, end: usize, out: &mut Vec<u8>) {
        if self.header.may_be_padded() {
            out.resize(end.max(out.len()), 0);
        }
    }

    /// Decodes a packet with the headers that `decoders` knows.
    ///
    /// # Errors
    /// [`Error`], if the bytes are not a packet.
    ///
    /// # Panics
    /// If there are 4 GiB of bytes or more.
    pub fn decode(bytes: &[u8], decoders: &Decoders) -> Result<Self, Error> {
        Self::decode_with(bytes, decoders).map(|(packet, _)| packet)
    }

    /// Decodes a packet. Also returns the range of its payload in `bytes`, for a runtime that keeps payloads.
    ///
    /// # Errors
    /// In the same cases as [`decode`](Self::decode).
    ///
    /// # Panics
    /// In the same cases as [`decode`](Self::decode).
    pub fn decode_with(bytes: &[u8], decoders: &Decoders) -> Result<(Self, Range<usize>), Error> {
        let size = u32::try_from(bytes.len()).expect("a packet's size in bytes must fit 32 bits");
        let shim = Shim::decode(bytes)?;
        let behind_shim = &bytes[shim.wire_len()..];
        let (header, len) = decoders.decode(behind_shim)?;
        let need = len + header.payload_len();
        if behind_shim.len() < need {
            return Err(Error::Truncated { have: behind_shim.len(), need });
        }
        let front = shim.wire_len();
        Ok((Self { size, shim, header }, front + len..front + need))
    }

    /// Decodes a packet of `size` bytes from its first bytes, `front`. Returns `None` if these bytes do not suffice or
    /// are not a valid packet, or if the headers, the payload and the trailer do not add up to `size` bytes, as in a
    /// padded packet.
    #[must_use]
    #[inline]
    pub fn decode_front(front: &[u8], size: u32, decoders: &Decoders) -> Option<Self> {
        let shim = Shim::decode(front).ok()?;
        let behind_shim = (size as usize).checked_sub(shim.wire_len())?;
        let (header, len) = decoders.decode_front(front.get(shim.wire_len()..)?, behind_shim)?;
        let whole = shim.wire_len() + len + header.payload_len() + header.trailer_len();
        (whole == size as usize).then_some(Self { size, shim, header })
    }

    /// Appends the bytes in front of the payload to `out`. These bytes must not depend on the payload
    /// ([`HeaderInfo::covers_payload`] must be false).
    #[inline]
    pub fn encode_front(&self, out: &mut Vec<u8>) {
        self.shim.encode(out);
        self.header.encode_header(&[], out);
    }

    /// Returns true for packets of topology discovery.
    #[must_use]
    #[inline]
    pub fn is_of_discovery(&self) -> bool {
        matches!(self.header, Header::Hello(_) | Header::LinkStates(_))
    }

    /// The packet's class in queues and in flow control.
    #[must_use]
    #[inline]
    pub fn class(&self) -> Class {
        self.header.class()
    }

    /// The packet's kind.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> PacketKind {
        self.header.kind()
    }

    /// The node that the header names as the packet's source: [`HeaderInfo::ends`].
    #[must_use]
    #[inline]
    pub fn src(&self) -> NodeId {
        self.header.ends().src
    }

    /// The node that the header names as the packet's destination: [`HeaderInfo::ends`].
    #[must_use]
    #[inline]
    pub fn dst(&self) -> NodeId {
        self.header.ends().dst
    }

    /// Application bytes carried; 0 for control packets.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> u32 {
        self.header.data_len()
    }

    /// The bytes of a flow that the packet carries; `None` for packets without application bytes.
    #[must_use]
    #[inline]
    pub fn range(&self) -> Option<FlowRange> {
        self.header.range()
    }

    /// Marks the packet with ECN (CE), if its transport supports ECN. Returns true if the transport supports ECN.
    #[inline]
    pub fn mark_congestion(&mut self) -> bool {
        self.header.mark_congestion()
    }

    /// Removes the payload, if the transport supports trimming. The header stays, and `size` becomes the number of
    /// bytes charged for the header. Returns the number of application bytes that were removed; `None` if the packet
    /// cannot be trimmed.
    #[expect(clippy::missing_panics_doc, reason = "a payload must have fewer than 2^32 bytes")]
    pub fn trim(&mut self) -> Option<u32> {
        let (payload, data) = (self.header.payload_len(), self.payload());
        if !self.header.trim() {
            return None;
        }
        self.size -= u32::try_from(payload - self.header.payload_len())
            .expect("a packet's payload size in bytes must fit 32 bits");
        Some(data - self.payload())
    }

    /// True if the packet opens a connection (SYN, SYN-ACK). The loss of such a packet delays a flow more than other
    /// losses.
    #[must_use]
    pub fn opens_connection(&self) -> bool {
        self.header.opening().is_some()
    }

    /// True if the packet carries application bytes.
    #[must_use]
    #[inline]
    pub fn is_data(&self) -> bool {
        self.payload() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_wire::exp::{Tag, Tagged};
    use raddle_wire::tcp::{SYN, Segment};
    use raddle_wire::{pdq, rated};

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

    /// PDQ's parameter `h_sched` can make the header count for more bytes than its fields take. These additional bytes
    /// are sent as zeros.
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
            assert_eq!(Packet::decode(&bytes[5..], &Decoders::BUILTIN), Ok(packet.clone()));
            let mut with_body = Vec::new();
            assert_eq!(packet.encode_with(&[0; 3], &mut with_body), Ok(()));
            assert_eq!(with_body, bytes[5..]);
        }
    }

    #[test]
    fn a_packet_stays_within_its_memory_budget() {
        // A packet fits in a cache line.
        assert_eq!(size_of::<Packet>(), 64);
    }
}
