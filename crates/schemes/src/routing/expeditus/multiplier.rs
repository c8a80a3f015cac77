//! Link load multipliers: the factors by which an edge switch multiplies the loads of its uplinks if aggregation
//! switches have lost uplinks (Expeditus §3.5; specifications/expeditus.md §2.5).

use super::meters::{Scale, both_ways};
use crate::choices;
use raddle_core::{Dre, DreRegister, LinkId, NodeId, PortId, Rate, Time};
use raddle_topology::Topology;
use std::collections::BTreeSet;
use std::ops::Range;

/// The nominal capacity above a switch, divided by the capacity that remains there. The ratio is at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Multiplier {
    /// Nominal capacity in bits per second.
    pub(crate) nominal: u64,
    /// Remaining capacity in bits per second.
    pub(crate) remaining: u64,
}

choices! {
    /// The rule by which a multiplier applies to a load.
    pub(crate) enum Scaling {
        /// [`Literal`](Self::Literal) for whole multipliers, [`Prescale`](Self::Prescale) for all others.
        Auto = "auto",
        /// Multiplies the load after it was rounded to a few bits, and rounds the product down.
        Literal = "literal",
        /// Multiplies the register's value before rounding.
        Prescale = "prescale",
        /// No multiplication. An uplink without remaining capacity above it still counts as full.
        Off = "off",
    }
}

impl Multiplier {
    /// The multiplier of a switch that has lost no capacity.
    pub(crate) const ONE: Self = Self { nominal: 1, remaining: 1 };

    /// The load of an uplink with this register, scaled by this multiplier.
    pub(crate) fn load(
        self,
        scaling: Scaling,
        dre: &Dre,
        register: &DreRegister,
        now: Time,
        rate: Rate,
    ) -> u8 {
        let Self { nominal, remaining } = self;
        if remaining == 0 {
            return dre.most();
        }
        let is_prescaled = match scaling {
            _ if nominal == remaining => false,
            Scaling::Off => return dre.load(register, now, rate),
            Scaling::Literal => false,
            Scaling::Prescale => true,
            Scaling::Auto => !nominal.is_multiple_of(remaining),
        };
        if is_prescaled {
            return dre.scaled_load(register, now, rate, (nominal, remaining));
        }
        self.literal(dre.load(register, now, rate), dre.most())
    }

    /// The load after a literal multiplication, min(most, floor(M · load)), where M is this multiplier.
    #[allow(clippy::cast_possible_truncation, reason = "the load is at most `most`, a `u8`")]
    fn literal(self, load: u8, most: u8) -> u8 {
        let scaled = u128::from(load) * u128::from(self.nominal) / u128::from(self.remaining);
        scaled.min(most.into()) as u8
    }
}

/// The multipliers of an edge switch's uplinks. They depend on the known link failures above the aggregation switches.
#[derive(Debug)]
pub(crate) struct Multipliers {
    scaling: Scaling,
    /// For each uplink of the edge switch, the uplinks of the aggregation switch at its upper end.
    above: Box<[Vec<Above>]>,
    of: Box<[Multiplier]>,
}

/// An uplink of an aggregation switch: the link ids of both directions, and the capacity in bits per second.
#[derive(Debug)]
struct Above {
    ways: [LinkId; 2],
    capacity: u64,
}

impl Multipliers {
    /// The multipliers for the uplinks of `edge`, which are at the ports `uplinks`. `next` holds the uplink ports of
    /// the aggregation switches.
    pub(crate) fn new(
        topology: &Topology,
        edge: NodeId,
        uplinks: Range<u16>,
        next: Range<u16>,
        scaling: Scaling,
    ) -> Self {
        let above = |port| {
            let aggregation =
                topology.link_at(edge, PortId(port)).expect("every uplink port must have a link").to;
            let links = next.clone().map(|port| topology.link_id(aggregation, PortId(port)));
            links
                .map(|id| both_ways(topology, id))
                .map(|[up, down]| Above { ways: [up.0, down.0], capacity: up.1.as_bps() })
                .collect()
        };
        Self { scaling, of: vec![Multiplier::ONE; uplinks.len()].into(), above: uplinks.map(above).collect() }
    }

    /// The scaling of an uplink's load for flows to or from another pod.
    pub(crate) fn scale(&self, uplink: usize) -> Scale {
        Scale { by: self.of[uplink], how: self.scaling }
    }

    /// Updates the multipliers after a link went down or came up. `down` contains all links that are down now.
    pub(crate) fn link(&mut self, link: LinkId, down: &BTreeSet<LinkId>) {
        let is_owner = |above: &Vec<Above>| above.iter().any(|above| above.ways.contains(&link));
        let Some(uplink) = self.above.iter().position(is_owner) else { return };
        let mut multiplier = Multiplier { nominal: 0, remaining: 0 };
        for Above { ways, capacity } in &self.above[uplink] {
            multiplier.nominal += capacity;
            if !ways.iter().any(|way| down.contains(way)) {
                multiplier.remaining += capacity;
            }
        }
        self.of[uplink] = multiplier;
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_core::Duration;

    fn of(failed: u64, cores: u64) -> Multiplier {
        Multiplier { nominal: cores * 10_000_000_000, remaining: (cores - failed) * 10_000_000_000 }
    }

    /// The table of specifications/expeditus.md §2.5: the loads 0 to 7 after a literal multiplication, with up to three
    /// of six cores failed.
    #[test]
    fn oracle_2_5_literal_map() {
        for (failed, map) in [
            (0, [0, 1, 2, 3, 4, 5, 6, 7]),
            (1, [0, 1, 2, 3, 4, 6, 7, 7]),
            (2, [0, 1, 3, 4, 6, 7, 7, 7]),
            (3, [0, 2, 4, 6, 7, 7, 7, 7]),
        ] {
            assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|load| of(failed, 6).literal(load, 7)), map, "{failed}");
        }
    }

    /// Oracles S6 to S8 of specifications/expeditus.md §11.2: the loads of the first uplink are multiplied by 2.
    #[test]
    fn oracle_s6_to_s8() {
        let [m, one] = [of(1, 2), Multiplier::ONE];
        let scaled = |loads: [u8; 2]| [m.literal(loads[0], 7), one.literal(loads[1], 7)];
        assert_eq!(scaled([2, 3]), [4, 3], "S6");
        assert_eq!(scaled([2, 2]), [4, 2], "S7");
        assert_eq!((scaled([4, 6]), scaled([4, 7])), ([7, 6], [7, 7]), "S8");
    }

    /// The scaled load of a register at 10 Gb/s that holds `share` times 250,000 bytes, the product of link rate and
    /// time constant.
    fn load(share: f64, scaling: Scaling, multiplier: Multiplier) -> u8 {
        let dre = Dre::new(Duration::from_us(20), 0.1, 3);
        let mut register = DreRegister::default();
        dre.count(&mut register, Time::ZERO, (share * 250_000.0) as u32);
        multiplier.load(scaling, &dre, &register, Time::ZERO, Rate::from_gbps(10))
    }

    /// Oracle of specifications/expeditus.md §11.3: loads with a multiplier of 2, applied after rounding (literal) and
    /// before rounding (prescale).
    #[test]
    fn oracle_11_3_literal_and_prescale() {
        for (share, literal, prescale) in [(0.12, 0, 1), (0.20, 2, 3), (0.30, 4, 4), (0.37, 4, 5)] {
            let loads = [Scaling::Literal, Scaling::Prescale, Scaling::Auto, Scaling::Off]
                .map(|scaling| load(share, scaling, of(1, 2)));
            assert_eq!(loads, [literal, prescale, literal, (8.0 * share) as u8], "{share}");
        }
    }

    #[test]
    fn multipliers_that_are_no_whole_number_scale_before_rounding_by_default() {
        let loads = [Scaling::Literal, Scaling::Prescale, Scaling::Auto].map(|s| load(0.24, s, of(1, 3)));
        assert_eq!(loads, [1, 2, 2], "1.92 times 1.5 is 2.88");
    }

    #[test]
    fn an_uplink_to_nowhere_is_full() {
        for scaling in [Scaling::Literal, Scaling::Prescale, Scaling::Auto, Scaling::Off] {
            assert_eq!(load(0.0, scaling, of(2, 2)), 7);
        }
    }
}
