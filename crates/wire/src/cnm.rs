//! The congestion notification message of 802.1Qau (IEEE 802.1Q clauses 30 to 33; specifications/cee.md §4.3). The VLAN
//! tag and the congestion notification tag are optional. The byte numbers are those of a message with both tags.
//! Without a tag, the fields after it, up to the zeros, begin four bytes earlier:
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 48 | destination: the source of the sampled frame |
//! | 6 | 48 | source: the congestion point's port |
//! | 12 | 32 | VLAN tag 0x8100 with the message's own priority |
//! | 16 | 32 | congestion notification tag 0x22E9: number of the reaction point, if the sampled frame had this tag |
//! | 20 | 16 | EtherType 0x22E7 |
//! | 22 | 16 | version 0 (4 bits), zeros (6), quantised feedback (6) |
//! | 24 | 64 | congestion point: address of its port, and its priority |
//! | 32 | 16 | offset of the queue from its set point (set point minus length), in units of 64 octets, two's complement |
//! | 34 | 16 | growth of the queue since the previous sample, in units of 64 octets, two's complement |
//! | 36 | 16 | the sampled frame's priority, in the upper three bits |
//! | 38 | 48 | the sampled frame's destination |
//! | 44 | 16 | bytes of the sampled frame that follow: 0 here |
//! | 46 | .. | zeros up to byte 60 |
//! | 60 | 32 | frame check sequence |

use crate::ethernet::{ADDRESSES, FCS, MIN_FRAME};
use crate::field::{first, get16, put16};
use crate::frame::{self, VLAN};
use crate::{Class, Ends, Error, Framing, HeaderInfo, Mac, PacketKind};

/// A message from a congestion point to the source of a sampled frame. The sampled frame is called the culprit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Source of the culprit (24 bits). The notice is sent to this node.
    pub dst: u32,
    /// The address of the congestion point's port.
    pub cp: Mac,
    /// Priority of the congestion point's queue and of the culprit: 0 to 7.
    pub priority: u8,
    /// Quantised feedback, 0 to 63; greater values mean more congestion.
    pub feedback: u8,
    /// Distance of the queue below its set point, in units of 64 octets; negative if the queue is above its set point.
    pub q_offset: i16,
    /// Growth of the queue since the previous sample, in units of 64 octets.
    pub q_delta: i16,
    /// Destination of the culprit (24 bits). Switch AR (adaptive routing at switches) uses this field.
    pub culprit_dst: u32,
}

/// The optional tags of a notice's frame, before its EtherType.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags {
    /// The notice's own priority, in a VLAN tag.
    pub priority: Option<u8>,
    /// The number of the reaction point at the culprit's source, in a congestion notification tag.
    pub reaction_point: Option<u16>,
}

impl Notice {
    /// The EtherType of congestion notification messages.
    pub const ETHERTYPE: u16 = 0x22E7;
    /// The EtherType that announces a congestion notification tag.
    pub const TAG: u16 = 0x22E9;
    /// Bytes on the wire, check sequence included.
    pub const LEN: usize = MIN_FRAME;
    /// The greatest feedback value.
    pub const MOST_FEEDBACK: u8 = 63;
    /// The tags of notices from congestion points: the highest priority and no reaction point.
    pub const TAGS: Tags = Tags { priority: Some(7), reaction_point: None };

    /// Returns the whole frame.
    ///
    /// # Panics
    /// If a node's number exceeds 24 bits, if a priority exceeds 7, or if the feedback exceeds 63.
    #[must_use]
    pub fn encode(&self, tags: Tags) -> [u8; Self::LEN] {
        assert!(
            self.feedback <= Self::MOST_FEEDBACK,
            "the feedback must fit in 6 bits (got {})",
            self.feedback
        );
        let mut bytes = [0; Self::LEN];
        Mac::host(self.dst).put(&mut bytes, 0);
        self.cp.put(&mut bytes, 6);
        let mut at = ADDRESSES;
        let mut word = |value| {
            put16(&mut bytes, at, value);
            at += 2;
        };
        if let Some(priority) = tags.priority {
            word(VLAN);
            word(frame::tci(priority));
        }
        if let Some(reaction_point) = tags.reaction_point {
            word(Self::TAG);
            word(reaction_point);
        }
        word(Self::ETHERTYPE);
        let pdu = &mut bytes[at..];
        put16(pdu, 0, self.feedback.into());
        self.cp.put(pdu, 2);
        put16(pdu, 8, self.priority.into());
        put16(pdu, 10, self.q_offset.cast_unsigned());
        put16(pdu, 12, self.q_delta.cast_unsigned());
        put16(pdu, 14, frame::tci(self.priority));
        Mac::host(self.culprit_dst).put(pdu, 16);
        frame::seal(&mut bytes);
        bytes
    }

    /// Decodes the notice at the start of `bytes`, and its tags.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a notice about a frame between hosts, if the notice is incomplete, or if bytes of
    /// the sampled frame follow the notice.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the feedback is at most 63, and the priority is at most 7"
    )]
    #[expect(clippy::verbose_bit_mask, reason = "the mask selects the bits of a field")]
    pub fn decode(bytes: &[u8]) -> Result<(Self, Tags), Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        frame::verify(bytes)?;
        let mut at = ADDRESSES;
        let mut tags = Tags::default();
        if get16(bytes, at) == VLAN {
            tags.priority = Some(frame::priority(bytes, at)?);
            at += 4;
        }
        if get16(bytes, at) == Self::TAG {
            tags.reaction_point = Some(get16(bytes, at + 2));
            at += 4;
        }
        frame::expect_ethertype(bytes, at, Self::ETHERTYPE)?;
        let pdu = &bytes[at + 2..];
        let invalid = |field, value: u16| Err(Error::Invalid { field, value: value.into() });
        let feedback = match get16(pdu, 0) {
            word if word <= Self::MOST_FEEDBACK.into() => word as u8,
            word => return invalid("version and feedback", word),
        };
        let priority = match get16(pdu, 14) {
            word if word & 0x1FFF == 0 => (word >> 13) as u8,
            word => return invalid("encapsulated priority", word),
        };
        match get16(pdu, 22) {
            0 => {}
            len => return invalid("encapsulated length", len),
        }
        let notice = Self {
            dst: frame::host(bytes, 0, "destination")?,
            cp: Mac::get(pdu, 2),
            priority,
            feedback,
            q_offset: get16(pdu, 10).cast_signed(),
            q_delta: get16(pdu, 12).cast_signed(),
            culprit_dst: frame::host(pdu, 16, "encapsulated destination")?,
        };
        Ok((notice, tags))
    }
}

impl HeaderInfo for Notice {
    /// Returns the sampled frame's destination as the source, because the source address of the notice is the
    /// address of a port, not of a node.
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.culprit_dst, self.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    #[inline]
    fn class(&self) -> Class {
        Class::CONTROL
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn framing(&self) -> Framing {
        Framing::Frame { tag: 0, fcs: FCS }
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode(Self::TAGS));
    }

    fn is_in(bytes: &[u8]) -> bool {
        frame::has_ethertype(bytes, &[Self::ETHERTYPE, Self::TAG])
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?.0, Self::LEN))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Header;
    use crate::tests::{bytes_of, hex};

    /// A notice about a frame from host 1 to host 31. The backlog was 60,000 bytes, which is 40,000 bytes above the set
    /// point. At the previous sample, the backlog was 49,000 bytes.
    pub(crate) const NOTICE: Notice = Notice {
        dst: 1,
        cp: Mac::switch_port(2, 1, 2),
        priority: 3,
        feedback: 39,
        q_offset: -625,
        q_delta: 171,
        culprit_dst: 31,
    };
    const ADDRESSES: &str = "06 00 00 00 00 01  06 01 02 00 01 02 ";
    const PDU: &str = " 22 e7  00 27  06 01 02 00 01 02 00 03  fd 8f  00 ab  60 00  06 00 00 00 00 1f  00 00";

    /// The test vectors of specifications/cee.md §4.3.
    #[test]
    fn oracle_4_3_notices() {
        let both = Tags { priority: Some(7), reaction_point: Some(31) };
        for (tags, text) in
            [(Tags::default(), ""), (Notice::TAGS, "81 00 e0 00"), (both, "81 00 e0 00  22 e9 00 1f")]
        {
            let mut expected = hex(&[ADDRESSES, text, PDU].concat());
            expected.resize(60, 0);
            let bytes = NOTICE.encode(tags);
            assert_eq!(bytes[..60], expected);
            assert_eq!(Notice::decode(&bytes), Ok((NOTICE, tags)));
            assert_eq!(Header::decode(&bytes), Ok((Header::Cnm(NOTICE), 64)));
        }
        assert_eq!(bytes_of(&Header::Cnm(NOTICE)), NOTICE.encode(Notice::TAGS));
    }

    #[test]
    fn fields_that_no_congestion_point_writes_are_refused() {
        let refused = |at: usize, value: u8| {
            let mut bytes = NOTICE.encode(Tags::default());
            bytes[at] = value;
            frame::seal(&mut bytes);
            Notice::decode(&bytes).unwrap_err()
        };
        let invalid = |field, value| Error::Invalid { field, value };
        assert_eq!(refused(0, 2), invalid("destination", 0x0200_0000_0001));
        assert_eq!(refused(13, 0xe8), invalid("EtherType", 0x22e8));
        assert_eq!(refused(14, 0x10), invalid("version and feedback", 0x1027));
        assert_eq!(refused(15, 64), invalid("version and feedback", 64));
        assert_eq!(refused(29, 1), invalid("encapsulated priority", 0x6001));
        assert_eq!(refused(31, 1), invalid("encapsulated destination", 0x0601_0000_001f));
        assert_eq!(refused(37, 1), invalid("encapsulated length", 1));
    }
}
