//! States of links. Topology discovery floods changed link states. Neighbours exchange all their link states if the
//! digests in their hellos differ (specifications/live.md §4).
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 8 | type 0x87 |
//! | 1 | 8 | number of link states, 1 to 30 |
//! | 2 | 16 | Internet checksum of all bytes |
//! | 4 + 8i | 32 | number of the directed link |
//! | 8 + 8i | 32 | sequence number of the state of this link |
//!
//! The sequence number counts the state changes of a link. A link begins up, so the number is odd while the
//! link is down.

use crate::checksum::{fold, sum, verify};
use crate::field::{first, get32, part, put16};
use crate::{Class, Ends, Error, HeaderInfo, PacketKind};
use std::sync::Arc;

/// The state of a directed link, as reported by the node at its sending end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// Number of the directed link.
    pub link: u32,
    /// Number of state changes of the link, modulo 2^32. Every link begins up, with the number 0.
    pub sequence: u32,
}

impl LinkState {
    /// Length on the wire, in bytes.
    pub const LEN: usize = 8;

    /// Returns true if the link is down in this state.
    #[must_use]
    pub const fn is_down(self) -> bool {
        self.sequence % 2 == 1
    }
}

/// A packet with a list of link states. Copies of the packet share the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkStates {
    /// The link states. Their number is 1 to [`MOST`](Self::MOST).
    pub states: Arc<[LinkState]>,
}

impl LinkStates {
    /// The packet's first byte.
    pub const TYPE: u8 = 0x87;
    /// Greatest number of link states in a packet. The packet then has 244 bytes, far fewer than usual MTUs.
    pub const MOST: usize = 30;
    /// Number of bytes before the link states.
    const FRONT: usize = 4;
}

impl HeaderInfo for LinkStates {
    /// Returns node 0 for both ends, because the packet goes to the neighbour and names no node.
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
        Self::FRONT + self.states.len() * LinkState::LEN
    }

    #[allow(clippy::cast_possible_truncation, reason = "a packet has at most 30 link states")]
    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        let count = self.states.len();
        assert!((1..=Self::MOST).contains(&count), "a packet must have 1 to 30 link states (got {count})");
        let start = out.len();
        out.extend([Self::TYPE, count as u8, 0, 0]);
        for state in &*self.states {
            out.extend(state.link.to_be_bytes());
            out.extend(state.sequence.to_be_bytes());
        }
        let checksum = !fold(sum(&out[start..]));
        put16(&mut out[start..], 2, checksum);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let front: &[u8; Self::FRONT] = first(bytes)?;
        if front[0] != Self::TYPE {
            return Err(Error::UnknownType(front[0]));
        }
        let count = usize::from(front[1]);
        if !(1..=Self::MOST).contains(&count) {
            return Err(Error::Invalid { field: "number of link states", value: count as u64 });
        }
        let states = part(bytes, Self::FRONT, count * LinkState::LEN)?;
        verify(sum(front) + sum(states))?;
        let state = |bytes: &[u8]| LinkState { link: get32(bytes, 0), sequence: get32(bytes, 4) };
        let header = Self { states: states.chunks_exact(LinkState::LEN).map(state).collect() };
        let len = header.wire_len();
        Ok((header, len))
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use crate::Header;
    use crate::tests::{bytes_of, hex};

    const BYTES: &str = "87 02  76 f3  00 00 01 02 00 00 00 03  00 00 01 05 00 00 00 00";

    #[test]
    fn known_bytes() {
        let states = [LinkState { link: 0x102, sequence: 3 }, LinkState { link: 0x105, sequence: 0 }];
        assert_eq!(states.map(LinkState::is_down), [true, false]);
        let header = Header::LinkStates(LinkStates { states: states.into() });
        assert_eq!(bytes_of(&header), hex(BYTES));
        assert_eq!(Header::decode(&hex(BYTES)), Ok((header, 20)));
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
        let bytes = hex(BYTES);
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&bytes).is_err(), "bit {bit}");
        }
        for have in 0..bytes.len() {
            let need = [4, bytes.len()].into_iter().find(|&need| need > have).unwrap_or(1);
            assert_eq!(LinkStates::decode_header(&bytes[..have]), Err(Error::Truncated { have, need }));
        }
    }

    #[test]
    fn a_packet_has_some_states_and_not_too_many() {
        let field = "number of link states";
        for value in [0, 31, 255] {
            let mut bytes = vec![0; 4 + 255 * 8];
            bytes[..2].copy_from_slice(&[LinkStates::TYPE, value as u8]);
            assert_eq!(LinkStates::decode_header(&bytes), Err(Error::Invalid { field, value }));
        }
    }
}
