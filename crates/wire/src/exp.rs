//! Expeditus's tag on the packets that select a path (SoCC 2016 §4.1; specifications/expeditus.md §4).
//!
//! The tag is inserted between the source address and the original EtherType of an Ethernet frame:
//!
//! ```text
//! offset 0        2          3                4                    3 + ceil(n/2)
//!        0x9900   SF | n     load 0 | load 1  load 2 | load 3 ...  original EtherType, packet
//! ```
//!
//! SF is the bit 0x80: 0 in an Exp-request, 1 in an Exp-response. n is the number of loads, 0 to 127. A load takes the
//! lower three bits of a nibble. The nibble's first bit is padding, sent as 0 and ignored on receipt. If the number of
//! loads is odd, the last nibble is also padding.

use crate::field::{first, get16, part};
use crate::{
    Class, Ends, Error, FiveTuple, FlowKey, FlowRange, FrameView, Framing, Header, HeaderInfo, Mac, Opening,
    PacketKind, ipv4,
};

/// The loads of a switch's uplinks, in the order of the uplinks, and the kind of the tag: request or response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// True for an Exp-response, false for an Exp-request.
    pub is_response: bool,
    count: u8,
    /// Two loads per byte, the earlier load in the upper half. Unused nibbles are 0.
    loads: [u8; 64],
}

impl Tag {
    /// The EtherType that announces the tag.
    pub const TPID: u16 = 0x9900;
    /// Length of a tag without loads, in bytes.
    pub const MIN_LEN: usize = 3;
    /// The greatest number of loads in a tag.
    pub const MOST: usize = 127;
    /// The greatest load.
    pub const MOST_LOAD: u8 = 7;
    const RESPONSE: u8 = 0x80;

    /// Creates an Exp-request with these loads.
    ///
    /// # Panics
    /// Panics in the same cases as [`with_loads`](Self::with_loads).
    #[must_use]
    pub fn request(loads: impl IntoIterator<Item = u8>) -> Self {
        Self { is_response: false, ..Self::response() }.with_loads(loads)
    }

    /// Creates an Exp-response, still without loads.
    #[must_use]
    pub const fn response() -> Self {
        Self { is_response: true, count: 0, loads: [0; 64] }
    }

    /// Returns the same tag with these loads instead of its present loads.
    ///
    /// # Panics
    /// If there are more than [`MOST`](Self::MOST) loads, or if a load exceeds [`MOST_LOAD`](Self::MOST_LOAD).
    #[must_use]
    pub fn with_loads(self, loads: impl IntoIterator<Item = u8>) -> Self {
        let mut tag = Self { is_response: self.is_response, ..Self::response() };
        for load in loads {
            assert!(load <= Self::MOST_LOAD, "a load must fit in three bits (got {load})");
            assert!(tag.len() < Self::MOST, "a tag holds at most {} loads", Self::MOST);
            let (byte, shift) = place(tag.len());
            tag.loads[byte] |= load << shift;
            tag.count += 1;
        }
        tag
    }

    /// Returns the number of loads.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if the tag has no loads.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the loads, each 0 to 7.
    #[must_use]
    pub fn loads(&self) -> impl ExactSizeIterator<Item = u8> + '_ {
        (0..self.len()).map(|index| {
            let (byte, shift) = place(index);
            self.loads[byte] >> shift & Self::MOST_LOAD
        })
    }

    /// Returns the number of bytes that the tag adds to a frame.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        Self::MIN_LEN + self.len().div_ceil(2)
    }

    /// Appends the tag's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::TPID.to_be_bytes());
        out.push(if self.is_response { Self::RESPONSE } else { 0 } | self.count);
        out.extend_from_slice(&self.loads[..self.wire_len() - Self::MIN_LEN]);
    }

    /// Decodes the tag at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes do not begin with a tag, or if the tag is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let start: &[u8; Self::MIN_LEN] = first(bytes)?;
        if get16(start, 0) != Self::TPID {
            return Err(Error::UnknownType(start[0]));
        }
        let count = start[2] & !Self::RESPONSE;
        let packed = part(bytes, Self::MIN_LEN, usize::from(count).div_ceil(2))?;
        let nibbles = packed.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
        let tag = Self { is_response: start[2] & Self::RESPONSE != 0, ..Self::response() };
        Ok(tag.with_loads(nibbles.take(count.into()).map(|nibble| nibble & Self::MOST_LOAD)))
    }
}

/// Returns the index of a load's byte, and the load's shift within that byte.
const fn place(index: usize) -> (usize, u32) {
    (index / 2, if index.is_multiple_of(2) { 4 } else { 0 })
}

/// A TCP segment, UDP datagram, RoCEv2 packet or whole frame with a tag. In the bytes that this type encodes and
/// decodes, the tag comes first. On Ethernet, the tag is between the addresses and the EtherType instead: see
/// [framing](HeaderInfo::framing).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// The tag.
    pub tag: Tag,
    /// The header of the packet after the tag. In an Exp-response, this is the request's header without
    /// payload, with exchanged addresses and unchanged ports.
    pub inner: Header,
}

impl Tagged {
    /// The first byte, which is also the first byte of the tag's EtherType.
    pub const TYPE: u8 = 0x99;

    /// Decodes the tagged packet at the start of `bytes`. Also returns the length of its headers.
    ///
    /// # Errors
    /// [`Error`] if there is no tag, or if no known IPv4 packet or frame follows the tag.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let tag = Tag::decode(bytes)?;
        let packet = &bytes[tag.wire_len()..];
        let (inner, len) = match first::<1>(packet)? {
            [ipv4::TYPE] => Header::decode(packet)?,
            [Mac::TYPE] if Header::is_in(packet) => Header::decode(packet)?,
            [Mac::TYPE] => (Header::Frame(FrameView::read(packet)?), 0),
            &[other] => return Err(Error::UnknownType(other)),
        };
        Ok((Self { tag, inner }, bytes.len() - packet.len() + len))
    }
}

impl HeaderInfo for Tagged {
    fn ends(&self) -> Ends {
        self.inner.ends()
    }

    fn kind(&self) -> PacketKind {
        if self.tag.is_response { PacketKind::Notice } else { self.inner.kind() }
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    /// Returns `None` for an Exp-response, because its addresses are exchanged and its ports are not.
    fn flow_key(&self) -> Option<FlowKey> {
        if self.tag.is_response { None } else { self.inner.flow_key() }
    }

    fn range(&self) -> Option<FlowRange> {
        self.inner.range()
    }

    fn five_tuple(&self) -> Option<FiveTuple> {
        self.inner.five_tuple()
    }

    fn label(&self) -> (Ends, u32) {
        self.inner.label()
    }

    /// Returns `None` for an Exp-response, which opens no connection, although its headers are a copy of the request's
    /// headers.
    fn opening(&self) -> Option<Opening> {
        if self.tag.is_response { None } else { self.inner.opening() }
    }

    fn mark_congestion(&mut self) -> bool {
        self.inner.mark_congestion()
    }

    fn data_len(&self) -> u32 {
        self.inner.data_len()
    }

    fn payload_len(&self) -> usize {
        self.inner.payload_len()
    }

    fn wire_len(&self) -> usize {
        self.tag.wire_len() + self.inner.wire_len()
    }

    fn trailer_len(&self) -> usize {
        self.inner.trailer_len()
    }

    fn encode_trailer(&self, out: &mut Vec<u8>, start: usize) {
        self.inner.encode_trailer(out, start + self.tag.wire_len());
    }

    fn framing(&self) -> Framing {
        let tag = self.tag.wire_len();
        match self.inner.framing() {
            Framing::Packet { ethertype, .. } => Framing::Packet { tag, ethertype },
            Framing::Frame { fcs, .. } => Framing::Frame { tag, fcs },
        }
    }

    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
        self.tag.encode(out);
        self.inner.encode_header(payload, out);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Self::decode(bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::hex;
    use proptest::prelude::*;

    fn bytes(tag: &Tag) -> Vec<u8> {
        let mut bytes = Vec::new();
        tag.encode(&mut bytes);
        bytes
    }

    /// The test vectors of specifications/expeditus.md §4.6.
    #[test]
    fn oracle_4_6_tags() {
        let request: [(&[u8], &str); 7] = [
            (&[3, 1], "99 00 02 31"),
            (&[3, 0, 7, 5], "99 00 04 30 75"),
            (&[0; 4], "99 00 04 00 00"),
            (&[7; 4], "99 00 04 77 77"),
            (&[5, 2, 7], "99 00 03 52 70"),
            (&[1, 2, 3, 4, 5, 6], "99 00 06 12 34 56"),
            (&[0, 7, 1, 6, 2, 5, 3, 4], "99 00 08 07 16 25 34"),
        ];
        let response: [(&[u8], &str); 6] = [
            (&[], "99 00 80"),
            (&[4], "99 00 81 40"),
            (&[1, 6], "99 00 82 16"),
            (&[6, 5, 4], "99 00 83 65 40"),
            (&[1, 6, 0, 2], "99 00 84 16 02"),
            (&[2, 4, 6, 0], "99 00 84 24 60"),
        ];
        let requests = request.map(|(loads, text)| (Tag::request(loads.iter().copied()), loads, text));
        let responses =
            response.map(|(loads, text)| (Tag::response().with_loads(loads.iter().copied()), loads, text));
        for (tag, loads, text) in requests.into_iter().chain(responses) {
            assert_eq!(bytes(&tag), hex(text));
            assert_eq!(Tag::decode(&hex(text)), Ok(tag));
            assert!(tag.loads().eq(loads.iter().copied()), "{text}");
        }
    }

    /// The lengths of tags in specifications/expeditus.md §4.2.
    #[test]
    fn oracle_4_2_lengths() {
        for (loads, len) in [(0, 3), (1, 4), (2, 4), (3, 5), (4, 5), (5, 6), (6, 6), (12, 9), (48, 27)] {
            let tag = Tag::request(vec![0; loads]);
            assert_eq!((tag.wire_len(), bytes(&tag).len()), (len, len), "{loads} loads");
        }
        assert_eq!([64, 127].map(|loads| Tag::request(vec![7; loads]).wire_len()), [35, 67]);
    }

    #[test]
    fn padding_is_ignored_on_receipt() {
        assert_eq!(Tag::decode(&hex("99 00 03 da 7f")), Ok(Tag::request([5, 2, 7])));
    }

    #[test]
    fn truncated_and_foreign_bytes_are_refused() {
        assert_eq!(Tag::decode(&hex("99 00 04 30")), Err(Error::Truncated { have: 4, need: 5 }));
        assert_eq!(Tag::decode(&hex("99 00")), Err(Error::Truncated { have: 2, need: 3 }));
        assert_eq!(Tag::decode(&hex("08 00 45")), Err(Error::UnknownType(8)));
        let nested = hex("99 00 80 99 00 80 45");
        assert_eq!(Tagged::decode(&nested), Err(Error::UnknownType(0x99)));
        assert_eq!(Tagged::decode(&hex("99 00 80")), Err(Error::Truncated { have: 0, need: 1 }));
    }

    #[test]
    #[should_panic(expected = "three bits")]
    fn a_load_beyond_three_bits_is_not_sent() {
        let _ = Tag::request([8]);
    }

    pub(crate) fn any_tag() -> impl Strategy<Value = Tag> {
        (any::<bool>(), prop::collection::vec(0_u8..8, 0..=127))
            .prop_map(|(is_response, loads)| Tag { is_response, ..Tag::request(loads) })
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(tag in any_tag()) {
            prop_assert_eq!(Tag::decode(&bytes(&tag)), Ok(tag));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut frame = hex("99 00");
            frame.extend(bytes);
            if let Ok(tag) = Tag::decode(&frame) {
                prop_assert!(tag.wire_len() <= frame.len());
            }
        }
    }
}
