//! RCP's packet (Dukkipati, 2008; specifications/pdq.md §1, §7): the [common part](crate::rated) of rate-controlled
//! packets, followed by the rate of the bottleneck.
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 20 | 32 | lowest rate of the routers that the packet has passed, kbit/s |
//! | 24 | 16 | RTT of the flow, ns as a [`Minifloat`] |
//! | 26 | 112 | zeros, ignored on receipt |

use crate::Minifloat;
use crate::field::{get16, get32, put16, put32};
use crate::rated::{OWN, Rated, Scheme, Segment};

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The common part: flow, direction and kind of the packet.
    pub segment: Segment,
    /// The lowest rate of the routers that the packet has passed, in kbit/s of whole packets, headers included. The
    /// initial value is the sender's own rate.
    pub rate: u32,
    /// The sender's round-trip time in nanoseconds; 0 before its first measurement.
    pub rtt: Minifloat,
}

impl Packet {
    /// Length on the wire without payload, in bytes.
    pub const LEN: usize = Segment::LEN;
}

impl Rated for Packet {
    const SCHEME: Scheme = Scheme::Rcp;

    #[inline]
    fn segment(&self) -> &Segment {
        &self.segment
    }

    fn own(&self) -> [u8; OWN] {
        let mut own = [0; OWN];
        put32(&mut own, 0, self.rate);
        put16(&mut own, 4, self.rtt.0);
        own
    }

    fn new(segment: Segment, own: &[u8; OWN]) -> Self {
        Self { segment, rate: get32(own, 0), rtt: Minifloat(get16(own, 4)) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Header;
    use crate::rated;
    use crate::tests::{bytes_of, hex};

    pub(crate) const PACKET: Packet =
        Packet { segment: rated::tests::DATA, rate: 500_000, rtt: Minifloat(0x2345) };

    #[test]
    fn known_bytes() {
        let bytes = bytes_of(&Header::Rcp(PACKET));
        let expected = hex("69 00 00 01 a1 5c 02 03 04 00 00 71 00 00 00 02 00 03 2a bc \
                            00 07 a1 20 23 45 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
        assert_eq!(bytes, expected);
        assert_eq!(Header::decode(&bytes), Ok((Header::Rcp(PACKET), 40)));
    }
}
