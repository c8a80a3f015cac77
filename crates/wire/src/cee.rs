//! The data frame of a converged-Ethernet fabric (specifications/cee.md §4.1):
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 48 | destination host's address |
//! | 6 | 48 | source host's address |
//! | 12 | 32 | VLAN tag: 0x8100 (16 bits), priority (3), zeros (1), VLAN 0 (12) |
//! | 16 | 16 | EtherType 0x88B5, for local experiments |
//! | 18 | 64 | sequence number: offset of the frame's first byte in the flow |
//! | 26 | 64 | time at which the frame was made, in ps |
//! | 34 | 32 | the flow's number at its source |
//! | 38 | 64 | size of the flow in bytes |
//! | 46 | 16 | bytes of the flow that the frame represents |
//! | 48 | 32 | path chosen at the source |
//! | 52 | .. | zeros |
//! | last 4 | 32 | frame check sequence |
//!
//! The fields `size of the flow in bytes`, `bytes of the flow that the frame represents` and `path chosen at the
//! source` are our own. As in the paper of Crisan et al., a frame of 1,500 bytes includes its headers, so the headers
//! count as bytes of the flow. A message of 1,500 bytes is therefore one frame of 1,500 bytes. Only frames of less than
//! 64 bytes are padded.

use crate::ethernet::{FCS, MIN_FRAME};
use crate::field::{first, get16, get32, get64, part, put16, put32, put64};
use crate::frame::{self, VLAN};
use crate::{Class, Ends, Error, FlowKey, FlowRange, Framing, HeaderInfo, Mac, PacketKind, Position};

/// A data frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Sending host (24 bits).
    pub src: u32,
    /// Receiving host (24 bits).
    pub dst: u32,
    /// The flow's number at its source.
    pub flow: u32,
    /// 802.1Q's priority, 0 to 7.
    pub priority: u8,
    /// Number of bytes of the flow that the frame represents, at least 1.
    pub plen: u16,
    /// Number of the path that the source chose. The number encodes the ports on the way up. Only routing schemes in
    /// which the source chooses the path use this field; otherwise it is 0.
    pub path: u32,
    /// Offset of the frame's first byte in the flow.
    pub offset: u64,
    /// Size of the flow in bytes, at least `offset + plen`.
    pub size: u64,
    /// Time at which the application made the frame, in ps.
    pub birth_ps: u64,
}

impl Frame {
    /// The EtherType of data frames.
    pub const ETHERTYPE: u16 = 0x88B5;
    /// Number of bytes of all fields before the zeros that fill the frame.
    const HEADER: usize = 52;

    /// Returns the flow's name: `source << 32 | flow`.
    #[must_use]
    pub const fn key(&self) -> FlowKey {
        FlowKey((self.src as u64) << 32 | self.flow as u64)
    }

    /// Appends the whole frame to `out`.
    ///
    /// # Panics
    /// If a host's number exceeds 24 bits, or if the priority exceeds 7.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.wire_len(), 0);
        let bytes = &mut out[start..];
        Mac::host(self.dst).put(bytes, 0);
        Mac::host(self.src).put(bytes, 6);
        put16(bytes, 12, VLAN);
        put16(bytes, 14, frame::tci(self.priority));
        put16(bytes, 16, Self::ETHERTYPE);
        put64(bytes, 18, self.offset);
        put64(bytes, 26, self.birth_ps);
        put32(bytes, 34, self.flow);
        put64(bytes, 38, self.size);
        put16(bytes, 46, self.plen);
        put32(bytes, 48, self.path);
        frame::seal(bytes);
    }

    /// Decodes the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a data frame between hosts, or if the frame is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let header: &[u8; Self::HEADER] = first(bytes)?;
        let frame = Self {
            dst: frame::host(header, 0, "destination")?,
            src: frame::host(header, 6, "source")?,
            priority: frame::priority(header, 12)?,
            offset: get64(header, 18),
            birth_ps: get64(header, 26),
            flow: get32(header, 34),
            size: get64(header, 38),
            plen: get16(header, 46),
            path: get32(header, 48),
        };
        frame::expect_ethertype(header, 16, Self::ETHERTYPE)?;
        frame::verify(part(bytes, 0, frame.wire_len())?)?;
        if frame.plen == 0 {
            return Err(Error::Invalid { field: "plen", value: 0 });
        }
        if frame.offset.checked_add(frame.plen.into()).is_none_or(|end| end > frame.size) {
            return Err(Error::Invalid { field: "sequence", value: frame.offset });
        }
        Ok(frame)
    }
}

const _: () = assert!(Frame::HEADER + FCS <= MIN_FRAME);

impl HeaderInfo for Frame {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Data
    }

    #[inline]
    fn class(&self) -> Class {
        Class(self.priority)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(self.key())
    }

    fn range(&self) -> Option<FlowRange> {
        FlowRange::new(self.key(), Position::Byte(self.offset), self.plen.into())
    }

    /// Returns the length of the whole frame without padding, because the headers count as bytes of the flow.
    #[inline]
    fn data_len(&self) -> u32 {
        self.plen.into()
    }

    fn wire_len(&self) -> usize {
        MIN_FRAME.max(self.plen.into())
    }

    fn framing(&self) -> Framing {
        Framing::Frame { tag: 0, fcs: FCS }
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        self.encode(out);
    }

    fn is_in(bytes: &[u8]) -> bool {
        frame::has_ethertype(bytes, &[Self::ETHERTYPE])
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let frame = Self::decode(bytes)?;
        Ok((frame, frame.wire_len()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Header;
    use crate::tests::{bytes_of, hex};

    /// The second frame of a message of 1,564 bytes.
    pub(crate) const FRAME: Frame = Frame {
        src: 1,
        dst: 31,
        flow: 7,
        priority: 3,
        plen: 64,
        path: 0x0201,
        offset: 1_500,
        size: 1_564,
        birth_ps: 1_200_000,
    };
    const BYTES: &str = "06 00 00 00 00 1f  06 00 00 00 00 01  81 00 60 00  88 b5 \
                         00 00 00 00 00 00 05 dc  00 00 00 00 00 12 4f 80  00 00 00 07 \
                         00 00 00 00 00 00 06 1c  00 40  00 00 02 01  00 00 00 00 00 00 00 00";

    #[test]
    fn known_bytes() {
        let bytes = bytes_of(&Header::Cee(FRAME));
        assert_eq!(bytes[..60], hex(BYTES));
        assert_eq!(bytes.len(), 64);
    }

    #[test]
    fn a_frame_has_the_length_of_its_content_but_at_least_64_bytes() {
        for (plen, len) in [(1, 64), (63, 64), (64, 64), (65, 65), (1_500, 1_500), (65_535, 65_535)] {
            let frame = Frame { plen, offset: 0, size: 1 << 40, ..FRAME };
            let bytes = bytes_of(&Header::Cee(frame));
            assert_eq!(bytes.len(), len);
            assert_eq!(Header::decode(&bytes), Ok((Header::Cee(frame), len)));
        }
    }

    #[test]
    fn fields_that_no_sender_writes_are_refused() {
        let refused = |at: usize, value: u8| {
            let mut bytes = bytes_of(&Header::Cee(FRAME));
            bytes[at] = value;
            frame::seal(&mut bytes);
            Frame::decode(&bytes).unwrap_err()
        };
        let invalid = |field, value| Error::Invalid { field, value };
        assert_eq!(refused(1, 1), invalid("destination", 0x0601_0000_001f));
        assert_eq!(refused(6, 2), invalid("source", 0x0200_0000_0001));
        assert_eq!(refused(13, 1), invalid("EtherType", 0x8101));
        assert_eq!(refused(15, 1), invalid("VLAN", 0x6001));
        assert_eq!(refused(17, 0xb6), invalid("EtherType", 0x88b6));
        assert_eq!(refused(47, 0), invalid("plen", 0));
        assert_eq!(refused(45, 0x1b), invalid("sequence", 1_500));
    }
}
