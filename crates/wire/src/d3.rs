//! D3's packet (Wilson, Ballani, Karagiannis, Rowstron, SIGCOMM 2011; specifications/pdq.md §1, §6): the [common
//! part](crate::rated) of rate-controlled packets, followed by a rate request.
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 20 | 16 | desired rate, kbit/s as a [`Minifloat`] |
//! | 22 | 16 | desired rate of the previous request, kbit/s as a [`Minifloat`] |
//! | 24 | 8 × 16 | grants, one per link of the path: on the way out, each link's egress port replaces its previous grant by the new one |

use crate::Minifloat;
use crate::field::{get16, put16};
use crate::rated::{OWN, Rated, Scheme, Segment};

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The common part: flow, direction and kind of the packet. Its field `asks` is true if the packet
    /// carries a request.
    pub segment: Segment,
    /// The request. In an acknowledgement, it holds the grants that the routers have made.
    pub request: Request,
}

/// A sender's rate request to the routers on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    /// The desired rate, kbit/s.
    pub desired: Minifloat,
    /// The desired rate in the sender's previous request, kbit/s.
    pub desired_before: Minifloat,
    /// The grants of the path's links, kbit/s, in the path's order. Until a link's egress port makes a new grant, the
    /// link's entry holds the grant for the previous request. Before the first grant, the entry holds the greatest
    /// representable rate.
    pub grants: [Minifloat; Self::ROUTERS],
}

impl Request {
    /// Greatest number of links on a path. The egress port of each link, the sending host's included, makes one grant.
    pub const ROUTERS: usize = 8;
}

impl Packet {
    /// Bytes on the wire, without payload.
    pub const LEN: usize = Segment::LEN;
}

impl Rated for Packet {
    const SCHEME: Scheme = Scheme::D3;

    #[inline]
    fn segment(&self) -> &Segment {
        &self.segment
    }

    fn own(&self) -> [u8; OWN] {
        let Request { desired, desired_before, grants } = self.request;
        let mut own = [0; OWN];
        for (at, rate) in [desired, desired_before].into_iter().chain(grants).enumerate() {
            put16(&mut own, 2 * at, rate.0);
        }
        own
    }

    fn new(segment: Segment, own: &[u8; OWN]) -> Self {
        let rate = |at: usize| Minifloat(get16(own, 2 * at));
        let grants = std::array::from_fn(|router| rate(2 + router));
        Self { segment, request: Request { desired: rate(0), desired_before: rate(1), grants } }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Header;
    use crate::rated;
    use crate::tests::{bytes_of, hex};

    pub(crate) const PACKET: Packet = Packet {
        segment: rated::tests::DATA,
        request: Request {
            desired: Minifloat(0x1111),
            desired_before: Minifloat(0x2222),
            grants: [
                Minifloat(1),
                Minifloat(2),
                Minifloat(3),
                Minifloat(0),
                Minifloat(0),
                Minifloat(0),
                Minifloat(0),
                Minifloat(9),
            ],
        },
    };

    #[test]
    fn known_bytes() {
        let bytes = bytes_of(&Header::D3(PACKET));
        let expected = hex("f9 00 00 01 a2 86 02 03 04 00 00 71 00 00 00 02 00 03 2a bc \
                            11 11 22 22 00 01 00 02 00 03 00 00 00 00 00 00 00 00 00 09 00 00 00");
        assert_eq!(bytes, expected);
        assert_eq!(Header::decode(&bytes), Ok((Header::D3(PACKET), 40)));
    }
}
