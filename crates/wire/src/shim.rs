//! A four-byte header of a load-balancing scheme. The first switch on the path (CONGA) or the sender
//! (Presto) writes this header before a packet, and the last switch on the path removes it. The header
//! stands for bits that the papers put into VXLAN's header (CONGA) or into shadow addresses (Presto).

use crate::Error;
use crate::conga::Overlay;
use crate::field::{first, get16, put16};

/// An overlay header before a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shim {
    /// The packet has no overlay header.
    #[default]
    None,
    /// The number of the end-to-end path that the packet takes.
    Path(u16),
    /// CONGA's overlay header.
    Conga(Overlay),
}

impl Shim {
    /// The shim's first byte.
    pub const TYPE: u8 = 0x5C;
    /// Length in bytes of a shim on the wire, unless the shim is [`Shim::None`].
    pub const LEN: usize = 4;

    /// Returns the number of bytes on the wire.
    #[must_use]
    pub const fn wire_len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Path(_) | Self::Conga(_) => Self::LEN,
        }
    }

    /// Appends the shim's bytes to `out`: type, kind and 16 bits.
    #[inline]
    pub fn encode(self, out: &mut Vec<u8>) {
        let (kind, bits) = match self {
            Self::None => return,
            Self::Path(path) => (Self::PATH, path),
            Self::Conga(overlay) => (Self::CONGA, overlay.bits()),
        };
        let mut bytes = [Self::TYPE, kind, 0, 0];
        put16(&mut bytes, 2, bits);
        out.extend_from_slice(&bytes);
    }

    /// Decodes the overlay header at the start of `bytes`; [`Shim::None`] if there is none.
    ///
    /// # Errors
    /// [`Error`] if the overlay header is incomplete, or if its kind is unknown.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.first() != Some(&Self::TYPE) {
            return Ok(Self::None);
        }
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        match bytes[1] {
            Self::PATH => Ok(Self::Path(get16(bytes, 2))),
            Self::CONGA => Ok(Self::Conga(Overlay::of(get16(bytes, 2)))),
            kind => Err(Error::Invalid { field: "shim", value: kind.into() }),
        }
    }

    const PATH: u8 = 1;
    const CONGA: u8 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_undoes_encoding() {
        for shim in [Shim::None, Shim::Path(0), Shim::Path(0xABCD), Shim::Conga(Overlay::new(3).met(6))] {
            let mut bytes = Vec::new();
            shim.encode(&mut bytes);
            assert_eq!(bytes.len(), shim.wire_len());
            assert_eq!(Shim::decode(&bytes), Ok(shim));
        }
        assert!(Shim::decode(&[Shim::TYPE, 1, 0]).is_err(), "cut short");
        assert!(Shim::decode(&[Shim::TYPE, 0, 0, 0]).is_err(), "no such kind");
        assert_eq!(Shim::decode(&[0x45, 0]), Ok(Shim::None), "another packet");
    }
}
