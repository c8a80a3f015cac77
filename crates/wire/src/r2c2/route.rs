//! The source route of a data packet.

use crate::Error;

/// Greatest number of hops in a route of 128 bits, at 3 bits per hop.
pub const MAX_HOPS_3_BITS: usize = Route::capacity(3);

/// A source route: up to 128 bits of egress ports. The first hop is in the most significant bits, and unused
/// bits are 0.
///
/// The fabric chooses the number of bits per hop (`hop_bits`: 3, 4 or 5), which is not on the wire. 3 bits
/// name one of 8 ports in up to 42 hops, 4 bits one of 16 ports in 32 hops, and 5 bits one of 32 ports in 25
/// hops. The header's `rlen` is the route's number of hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Route(pub(super) [u8; 16]);

impl Route {
    /// Returns the greatest number of hops in a route at `hop_bits` bits per hop.
    #[must_use]
    pub const fn capacity(hop_bits: u32) -> usize {
        (128 / hop_bits) as usize
    }

    /// Returns the route through `ports`, in this order.
    ///
    /// # Errors
    /// Returns the same errors as [`push`](Self::push).
    pub fn from_ports(ports: impl IntoIterator<Item = impl Into<u16>>, hop_bits: u32) -> Result<Self, Error> {
        let (mut bits, mut used) = (0_u128, 0);
        for port in ports {
            let port = checked(port.into(), used, hop_bits)?;
            bits = bits << hop_bits | port;
            used += hop_bits;
        }
        Ok(Self(bits.checked_shl(128 - used).unwrap_or(0).to_be_bytes()))
    }

    /// Appends `port` to a route of `hops` hops.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the route is full (`rlen`), or if the port does not fit `hop_bits` bits (`route`).
    pub fn push(&mut self, hops: u8, port: u16, hop_bits: u32) -> Result<(), Error> {
        let used = u32::from(hops) * hop_bits;
        let port = checked(port, used, hop_bits)?;
        let bits = u128::from_be_bytes(self.0) | port << (128 - used - hop_bits);
        self.0 = bits.to_be_bytes();
        Ok(())
    }

    /// Returns the port of hop `hop`, counted from 0. Beyond the route's end, the result is 0. A header may claim more
    /// hops than fit at `hop_bits` bits per hop. For hops beyond this capacity, the result is an arbitrary port.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a hop's port number has at most 16 bits")]
    pub const fn port(self, hop: u8, hop_bits: u32) -> u16 {
        let shift = hop as u32 * hop_bits;
        (u128::from_be_bytes(self.0).wrapping_shl(shift) >> (128 - hop_bits)) as u16
    }

    /// Returns the ports of a route of `hops` hops.
    pub fn ports(self, hops: u8, hop_bits: u32) -> impl Iterator<Item = u16> {
        (0..hops).map(move |hop| self.port(hop, hop_bits))
    }
}

/// Checks that `port` fits in `hop_bits` bits, and that a hop fits in the route after `used` bits. Returns the bits of
/// the hop.
fn checked(port: u16, used: u32, hop_bits: u32) -> Result<u128, Error> {
    if used + hop_bits > 128 {
        return Err(Error::Invalid { field: "rlen", value: u64::from(used / hop_bits) + 1 });
    }
    if port >> hop_bits != 0 {
        return Err(Error::Invalid { field: "route", value: port.into() });
    }
    Ok(port.into())
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn oracle_o7_a_full_route_is_taken_and_one_hop_more_refused() {
        for (hop_bits, capacity) in [(3, 42), (4, 32), (5, 25)] {
            assert_eq!(Route::capacity(hop_bits), capacity);
            let last_port = (1_u16 << hop_bits) - 1;
            let mut route = Route::from_ports(vec![last_port; capacity], hop_bits).unwrap();
            assert_eq!(route.port(capacity as u8 - 1, hop_bits), last_port);
            let refused = Err(Error::Invalid { field: "rlen", value: capacity as u64 + 1 });
            assert_eq!(Route::from_ports(vec![0_u8; capacity + 1], hop_bits), refused);
            assert_eq!(route.push(capacity as u8, 0, hop_bits), refused.map(|_: Route| ()));
        }
    }

    #[test]
    fn a_port_too_large_for_a_hop_is_refused_not_truncated() {
        // A port needs 4 bits in a 512-node hypercube, whose nodes have 9 ports, and 5 bits at a 32-port switch.
        assert_eq!(Route::from_ports([8_u8], 3), Err(Error::Invalid { field: "route", value: 8 }));
        assert_eq!(Route::default().push(0, 16, 4), Err(Error::Invalid { field: "route", value: 16 }));
        assert!(Route::from_ports([31_u8], 5).is_ok());
    }

    #[test]
    fn hops_count_from_the_most_significant_bit() {
        let route = Route::from_ports([0_u8, 0, 2, 4], 3).unwrap();
        assert_eq!(route.0[..2], [0x01, 0x40]);
        assert_eq!(Route::from_ports([0_u16; 0], 3).unwrap(), Route::default());
    }

    proptest! {
        #[test]
        fn ports_come_out_as_they_went_in(
            hop_bits in 3_u32..=5,
            ports in proptest::collection::vec(0_u16..8, 0..=25),
        ) {
            let route = Route::from_ports(ports.iter().copied(), hop_bits).unwrap();
            prop_assert_eq!(route.ports(ports.len() as u8, hop_bits).collect::<Vec<_>>(), ports.clone());
            let mut pushed = Route::default();
            for (hop, &port) in (0..).zip(&ports) {
                pushed.push(hop, port, hop_bits).unwrap();
            }
            prop_assert_eq!(pushed, route);
        }
    }
}
