//! The numbers that identify routing protocols in R2C2's packets (specifications/r2c2.md §7).

use raddle_topology::routing::Protocol;

/// The number of a routing protocol. All tie-breaking rules of dimension-order routing have the same number.
pub(crate) const fn number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Rps => 0,
        Protocol::Dor(_) => 1,
        Protocol::Vlb => 2,
        Protocol::Wlb => 3,
        Protocol::Ecmp => 4,
        Protocol::RpsPath => 5,
        Protocol::Romm => 6,
        Protocol::WlbHop => 7,
    }
}

/// The routing protocol with number `wanted`; `None` if no protocol has this number. For dimension-order routing, the
/// result is the variant that splits ties.
pub(crate) fn protocol(wanted: u8) -> Option<Protocol> {
    Protocol::all().find(|&protocol| number(protocol) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_one_protocol() {
        for known in Protocol::all() {
            assert_eq!(protocol(number(known)).map(number), Some(number(known)));
        }
        assert_eq!(protocol(1), Some(Protocol::Dor(raddle_topology::routing::Tie::Split)));
        assert_eq!(protocol(8), None);
    }
}
