//! The credit of per-flow back-pressure (PFQ; specifications/r2c2.md §8.2), sent from one end of a link to the other. A
//! credit means that a packet which arrived over the link has left the node that gives the credit, so that the packet's
//! buffer is free.
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 8 | type 0x83 |
//! | 1 | 8 | zeros |
//! | 2 | 16 | Internet checksum of all bytes |
//! | 4 | 32 | number of the credit: credits that the sending end had given, this credit included |
//! | 8 | 32 | credits that the sending end has taken (received) so far |
//! | 12 | 32 | flow of the credit; all ones if the packet only acknowledges credits |
//! | 16 | 32 | flow of the previous credit; all ones if there is none, or if the packet does not name it |
//!
//! The two numbers of credits wrap. Each new credit also names the flow of the previous credit, so that the loss of a
//! single credit does no harm. Repeating a credit is harmless too, because a receiver recognises the number of a credit
//! that it has already taken.

use crate::checksum::{fold, sum, verify};
use crate::field::{first, get32, put16, put32};
use crate::{Class, Ends, Error, HeaderInfo, PacketKind};

/// A credit that one end of a link gives to the other end, with the number of credits that the giving end has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    /// Number of this credit: the credits that the sender had given on this link, this credit included, modulo 2^32.
    pub given: u32,
    /// Number of credits that the sender has taken (received) on this link so far, modulo 2^32.
    pub taken: u32,
    /// R2C2's handles of the flows of this credit and of the previous credit, in this order.
    flows: [u32; Self::MOST],
}

impl Default for Credit {
    /// Creates a credit of a link on which no credit has been given or taken.
    fn default() -> Self {
        Self::new(0, 0, [])
    }
}

impl Credit {
    /// The packet's first byte.
    pub const TYPE: u8 = 0x83;
    /// Length on the wire, in bytes.
    pub const LEN: usize = 20;
    /// Greatest number of flows that a credit names.
    pub const MOST: usize = 2;
    /// Marks an unused flow field.
    pub const NOBODY: u32 = u32::MAX;

    /// Creates the credit with the number `given`. `of` contains at most two handles: of this credit's flow, then of
    /// the previous credit's flow. Without handles, the packet only acknowledges `taken` credits.
    ///
    /// # Panics
    /// If there are more than [`MOST`](Self::MOST) flows.
    #[must_use]
    pub fn new(given: u32, taken: u32, of: impl IntoIterator<Item = u32>) -> Self {
        let mut flows = [Self::NOBODY; Self::MOST];
        for (place, flow) in of.into_iter().enumerate() {
            flows[place] = flow;
        }
        Self { given, taken, flows }
    }

    /// Advances to the next credit, which is for the flow with this handle. The credit also names the flow of the
    /// previous credit.
    #[inline]
    pub fn give(&mut self, flow: u32) {
        self.given = self.given.wrapping_add(1);
        self.flows = [flow, self.flows[0]];
    }

    /// Returns R2C2's handles of the flows of this credit and of the previous credit, in this order. The list is empty
    /// if the packet only acknowledges credits.
    #[must_use]
    #[inline]
    pub fn flows(&self) -> &[u32] {
        let named = match self.flows {
            [Self::NOBODY, _] => 0,
            [_, Self::NOBODY] => 1,
            _ => 2,
        };
        &self.flows[..named]
    }

    /// Returns the credit's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0] = Self::TYPE;
        put32(&mut bytes, 4, self.given);
        put32(&mut bytes, 8, self.taken);
        for (place, &flow) in self.flows.iter().enumerate() {
            put32(&mut bytes, 12 + 4 * place, flow);
        }
        let checksum = !fold(sum(&bytes));
        put16(&mut bytes, 2, checksum);
        bytes
    }

    /// Decodes the credit at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes do not begin with a credit, or if the credit is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        if bytes[0] != Self::TYPE {
            return Err(Error::UnknownType(bytes[0]));
        }
        verify(sum(bytes))?;
        let flows = std::array::from_fn(|place| get32(bytes, 12 + 4 * place));
        Ok(Self { given: get32(bytes, 4), taken: get32(bytes, 8), flows })
    }
}

impl HeaderInfo for Credit {
    /// Returns node 0 for both ends, because a credit goes to the neighbour and names no node.
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

    const BYTES: &str = "83 00  7c ef  00 00 00 09  ff ff ff ff  00 01 00 02  00 01 00 03";

    #[test]
    fn known_bytes() {
        let credit = Credit::new(9, u32::MAX, [0x1_0002, 0x1_0003]);
        assert_eq!(credit.flows(), [0x1_0002, 0x1_0003]);
        assert_eq!(credit.encode()[..], hex(BYTES));
        assert_eq!(Header::decode(&hex(BYTES)), Ok((Header::Credit(credit), 20)));
    }

    #[test]
    fn a_credit_names_the_flow_of_the_one_before() {
        let mut credit = Credit::new(u32::MAX, 3, []);
        for (flow, flows) in [(5, &[5][..]), (6, &[6, 5]), (5, &[5, 6]), (7, &[7, 5])] {
            credit.give(flow);
            assert_eq!(credit.flows(), flows);
        }
        assert_eq!((credit.given, credit.taken), (3, 3));
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
        let bytes = hex(BYTES);
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&bytes).is_err(), "bit {bit}");
        }
        for have in 1..Credit::LEN {
            assert_eq!(Credit::decode(&bytes[..have]), Err(Error::Truncated { have, need: Credit::LEN }));
        }
    }
}
