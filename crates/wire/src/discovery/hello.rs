//! The hello, by which neighbours detect whether the link between them works (specifications/live.md §4).
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 8 | type 0x84 |
//! | 1 | 8 | 1 if packets from the receiver reach the sender, otherwise 0 |
//! | 2 | 16 | Internet checksum of all bytes |
//! | 4 | 32 | number of the directed link that carries the hello |
//! | 8 | 64 | digest of all link states that the sender knows |

use crate::checksum::{fold, sum, verify};
use crate::field::{first, get32, get64, put16, put32, put64};
use crate::{Class, Ends, Error, HeaderInfo, PacketKind};

/// The hello that a node sends periodically over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Number of the directed link that carries the hello. The receiver checks that the hello arrived over this link.
    pub link: u32,
    /// True if packets from the receiver reach the sender. A link works only if packets arrive in
    /// both directions.
    pub hears: bool,
    /// Digest of all link states that the sender knows. Neighbours with different digests exchange all their link
    /// states.
    pub digest: u64,
}

impl Hello {
    /// The packet's first byte.
    pub const TYPE: u8 = 0x84;
    /// Length on the wire, in bytes.
    pub const LEN: usize = 16;

    /// Returns the hello's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..2].copy_from_slice(&[Self::TYPE, self.hears.into()]);
        put32(&mut bytes, 4, self.link);
        put64(&mut bytes, 8, self.digest);
        let checksum = !fold(sum(&bytes));
        put16(&mut bytes, 2, checksum);
        bytes
    }

    /// Decodes the hello at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes do not begin with a hello, or if the hello is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        if bytes[0] != Self::TYPE {
            return Err(Error::UnknownType(bytes[0]));
        }
        verify(sum(bytes))?;
        let hears = match bytes[1] {
            0 => false,
            1 => true,
            other => return Err(Error::Invalid { field: "hears", value: other.into() }),
        };
        Ok(Self { link: get32(bytes, 4), hears, digest: get64(bytes, 8) })
    }
}

impl HeaderInfo for Hello {
    /// Returns node 0 for both ends, because a hello goes to the neighbour and names no node.
    fn ends(&self) -> Ends {
        Ends::new(0_u32, 0_u32)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;
    use crate::tests::hex;

    const BYTES: &str = "84 01  dc d6  00 00 01 02  01 23 45 67 89 ab cd ef";

    #[test]
    fn known_bytes() {
        let hello = Hello { link: 0x102, hears: true, digest: 0x0123_4567_89ab_cdef };
        assert_eq!(hello.encode()[..], hex(BYTES));
        assert_eq!(Header::decode(&hex(BYTES)), Ok((Header::Hello(hello), 16)));
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
        let bytes = hex(BYTES);
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&bytes).is_err(), "bit {bit}");
        }
        for have in 1..Hello::LEN {
            assert_eq!(Hello::decode(&bytes[..have]), Err(Error::Truncated { have, need: Hello::LEN }));
        }
    }

    #[test]
    fn a_sender_either_hears_or_does_not() {
        let mut bytes = hex(BYTES);
        bytes[1] = 2;
        bytes[3] -= 1;
        assert_eq!(Hello::decode(&bytes), Err(Error::Invalid { field: "hears", value: 2 }));
    }
}
