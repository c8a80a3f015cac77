//! The digest of a node's own flows. Other nodes use the digest to detect that they have missed events of these flows.

use crate::field::{first, get16, get32, put16, put32};
use crate::{Ends, Error, HeaderInfo, PacketKind, checksum};

/// The broadcast digest of a node's flows, 16 bytes on the wire. Other nodes compute the hash of the node's flows that
/// they know, and compare it with the hash in the digest.
///
/// | bytes | field |
/// |---|---|
/// | 0 | type, 0x26 |
/// | 1 | tree |
/// | 2-3 | src |
/// | 4-11 | hash of the node's flows |
/// | 12-13 | zero |
/// | 14-15 | checksum |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// Broadcast tree.
    pub tree: u8,
    /// The source of these flows, which broadcasts the digest.
    pub src: u16,
    /// Hash of the node's flows; 0 if the node has no flows. The scheme defines the hash.
    pub hash: u64,
}

impl Digest {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x26;
    /// Length on the wire, in bytes.
    pub const LEN: usize = 16;

    /// Returns the digest's bytes.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "each cast keeps one half of the hash")]
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0] = Self::TYPE;
        bytes[1] = self.tree;
        put16(&mut bytes, 2, self.src);
        put32(&mut bytes, 4, (self.hash >> 32) as u32);
        put32(&mut bytes, 8, self.hash as u32);
        let sum = checksum::sum(&bytes);
        put16(&mut bytes, 14, !checksum::fold(sum));
        bytes
    }

    /// Decodes the digest at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a digest.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        if bytes[0] != Self::TYPE {
            return Err(Error::UnknownType(bytes[0]));
        }
        checksum::verify(checksum::sum(bytes))?;
        let zero = get16(bytes, 12);
        if zero != 0 {
            return Err(Error::Invalid { field: "zero", value: zero.into() });
        }
        let hash = u64::from(get32(bytes, 4)) << 32 | u64::from(get32(bytes, 8));
        Ok(Self { tree: bytes[1], src: get16(bytes, 2), hash })
    }
}

impl HeaderInfo for Digest {
    /// Returns the broadcasting node as both source and destination, because the packet is for all nodes.
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.src)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Event
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }
}
