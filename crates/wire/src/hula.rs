//! HULA's probe (SOSR 2016 §3.2, §4). The probe fills the smallest Ethernet frame, which has 64 bytes including header
//! and check sequence:
//!
//! ```text
//! offset 0       1       4              5       46
//!        0x8E    ToR     utilisation    zeros
//! ```
//!
//! The bytes after the utilisation are padding, sent as 0 and ignored on receipt.

use crate::field::{first, get32};
use crate::{Ends, Error, HeaderInfo, PacketKind};

/// A switch's advertisement to its neighbours: the utilisation of the best path that the switch knows to an edge switch
/// (ToR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The edge switch's node number, below 2^24.
    pub tor: u32,
    /// Utilisation of the busiest link on the best path, in 255ths of the line rate. Utilisations above the line rate
    /// are sent as 255.
    pub utilisation: u8,
}

impl Probe {
    /// The packet's first byte.
    pub const TYPE: u8 = 0x8E;
    /// Length on the wire, in bytes.
    pub const LEN: usize = 46;

    /// Returns the probe's bytes.
    ///
    /// # Panics
    /// If the edge switch's node number is 2^24 or more.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        assert!(self.tor < 1 << 24, "a node number must fit in 24 bits (got {})", self.tor);
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&(u32::from(Self::TYPE) << 24 | self.tor).to_be_bytes());
        bytes[4] = self.utilisation;
        bytes
    }

    /// Decodes the probe at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes do not begin with a probe, or if the probe is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        if bytes[0] != Self::TYPE {
            return Err(Error::UnknownType(bytes[0]));
        }
        Ok(Self { tor: get32(bytes, 0) & 0x00FF_FFFF, utilisation: bytes[4] })
    }
}

impl HeaderInfo for Probe {
    /// Returns the edge switch as both source and destination, because the probe is for all nodes.
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.tor, self.tor)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
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

    #[test]
    fn known_bytes() {
        let probe = Probe { tor: 0x01_02_03, utilisation: 200 };
        let mut bytes = probe.encode();
        assert_eq!(bytes[..6], [0x8E, 1, 2, 3, 200, 0]);
        assert_eq!(bytes.len() + 18, 64);
        bytes[7] = 9;
        assert_eq!(Probe::decode(&bytes), Ok(probe), "padding is ignored");
        assert_eq!(Probe::decode(&bytes[..45]), Err(Error::Truncated { have: 45, need: 46 }));
        bytes[0] = 0x51;
        assert_eq!(Probe::decode(&bytes), Err(Error::UnknownType(0x51)));
    }

    #[test]
    fn decoding_undoes_encoding() {
        for tor in [0, 1, 0x80_0000, 0xFF_FFFF] {
            for utilisation in [0, 1, 128, 255] {
                let probe = Probe { tor, utilisation };
                assert_eq!(Probe::decode(&probe.encode()), Ok(probe));
            }
        }
    }
}
