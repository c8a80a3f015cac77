//! One stage of a selection: finds the uplink with the least effective load (specifications/expeditus.md §5.1).

use super::flow_id::FlowHash;
use raddle_core::Stream;
use raddle_wire::FiveTuple;
use raddle_wire::exp::Tag;

/// The choice of a switch among uplinks with equal loads.
#[derive(Debug)]
pub(crate) enum Ties {
    /// Uniformly at random.
    Random(Stream),
    /// The uplink with the lowest index.
    Lowest,
    /// By the flow's hash with this salt.
    Hash(u64),
}

/// The uplink that a stage of a selection chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) uplink: usize,
    /// True if all usable uplinks had the same effective load.
    pub(crate) was_even: bool,
}

/// The usable uplink with the least effective load; `None` if no uplink is usable. The effective load is the greater of
/// the load that the switch at the other end of the path reported and the load that this switch measures. `told` and
/// `measured` are in uplink order.
pub(crate) fn select(
    told: impl Iterator<Item = u8>,
    measured: impl Iterator<Item = u8>,
    usable: impl Fn(usize) -> bool,
    flow: FiveTuple,
    ties: &mut Ties,
) -> Option<Choice> {
    let mut least = u8::MAX;
    let mut best = [0_u8; Tag::MOST];
    let (mut count, mut usables) = (0, 0);
    for (uplink, (told, measured)) in told.zip(measured).enumerate() {
        if !usable(uplink) {
            continue;
        }
        usables += 1;
        let load = told.max(measured);
        if load > least {
            continue;
        }
        if load < least {
            (least, count) = (load, 0);
        }
        best[count] = u8::try_from(uplink).expect("a tag must have at most 127 loads");
        count += 1;
    }
    if count == 0 {
        return None;
    }
    let choice = match ties {
        Ties::Random(stream) => stream.index(count),
        Ties::Lowest => 0,
        Ties::Hash(salt) => flow.choose(*salt, count),
    };
    Some(Choice { uplink: best[choice].into(), was_even: count == usables })
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::NodeId;

    const FLOW: FiveTuple =
        FiveTuple { src: NodeId(1), dst: NodeId(2), src_port: 3, dst_port: 4, protocol: 6 };

    fn of(told: &[u8], measured: &[u8], ties: &mut Ties) -> Option<usize> {
        choice(told, measured, ties).map(|choice| choice.uplink)
    }

    fn choice(told: &[u8], measured: &[u8], ties: &mut Ties) -> Option<Choice> {
        select(told.iter().copied(), measured.iter().copied(), |_| true, FLOW, ties)
    }

    #[test]
    fn a_choice_is_even_if_all_effective_loads_are_equal() {
        let was_even = |told: &[u8], measured: &[u8]| {
            choice(told, measured, &mut Ties::Lowest).map(|choice| choice.was_even)
        };
        assert_eq!(was_even(&[0, 0, 0], &[0, 0, 0]), Some(true));
        assert_eq!(was_even(&[3, 1, 2], &[0, 3, 3]), Some(true), "the greater of both loads counts");
        assert_eq!(was_even(&[1, 0, 1], &[0, 1, 2]), Some(false));
    }

    /// The winner in a case without a tie, numbered from 1 as in the oracle.
    fn winner(told: &[u8], measured: &[u8]) -> usize {
        let lowest = of(told, measured, &mut Ties::Lowest);
        for salt in 0..20 {
            assert_eq!(of(told, measured, &mut Ties::Hash(salt)), lowest, "there is no tie");
        }
        lowest.expect("all are usable") + 1
    }

    /// Oracles of specifications/expeditus.md §11.2 without a tie. The oracles with multipliers are in `multiplier.rs`.
    #[test]
    fn oracle_11_2_winners() {
        assert_eq!(winner(&[3, 1], &[2, 2]), 2, "S1, first stage");
        assert_eq!(winner(&[1, 6], &[2, 1]), 1, "S1, second stage");
        assert_eq!(winner(&[3, 0, 7, 5], &[1, 4, 0, 2]), 1, "S2, first stage");
        assert_eq!(winner(&[0, 3, 5], &[2, 6, 1]), 1, "S2, second stage");
        assert_eq!(winner(&[2, 3], &[1, 2]), 1, "S5, first stage");
        assert_eq!(winner(&[5, 6], &[7, 6]), 2, "S5, second stage");
        assert_eq!(winner(&[7, 6], &[0, 5]), 2, "S9");
        assert_eq!(winner(&[2, 3], &[1, 5]), 1, "S10");
        assert_eq!(winner(&[7, 5], &[0, 5]), 2, "S11");
        assert_eq!(winner(&[2, 5, 1, 0, 3, 7, 4, 6], &[4, 0, 3, 2, 2, 0, 1, 5]), 4, "S12");
    }

    /// Oracle S3 of specifications/expeditus.md §11.2: each of four uplinks with equal loads wins a quarter of the
    /// time.
    #[test]
    fn oracle_s3_ties_are_even() {
        let mut ties = Ties::Random(Stream::new(1, 2, "ties"));
        let mut wins = [0_u32; 4];
        for _ in 0..100_000 {
            wins[of(&[0; 4], &[0; 4], &mut ties).expect("all are usable")] += 1;
        }
        assert!(wins.iter().all(|&wins| wins.abs_diff(25_000) < 1_000), "{wins:?}");
        assert_eq!(of(&[0; 4], &[0; 4], &mut Ties::Lowest), Some(0));
    }

    /// Oracle S4 of specifications/expeditus.md §11.2: only the uplinks with the least load share the wins.
    #[test]
    fn oracle_s4_only_minima_tie() {
        let mut ties = Ties::Random(Stream::new(1, 2, "ties"));
        let draws = (0..100).map(|_| of(&[1, 4, 1, 2], &[3, 1, 2, 2], &mut ties));
        let seen: std::collections::BTreeSet<_> = draws.flatten().collect();
        assert_eq!(seen, [2, 3].into());
        let by_hash: std::collections::BTreeSet<_> =
            (0..100).filter_map(|salt| of(&[1, 4, 1, 2], &[3, 1, 2, 2], &mut Ties::Hash(salt))).collect();
        assert_eq!(by_hash, seen);
    }

    /// specifications/expeditus.md §5.1, and the second half of oracle S9 in §11.2: an unusable uplink never wins, even
    /// if the other uplinks have the greatest load.
    #[test]
    fn oracle_s9_unusable_ports_are_never_selected() {
        let usable = |told: [u8; 2], measured: [u8; 2], alive: &dyn Fn(usize) -> bool| {
            let choice = select(told.into_iter(), measured.into_iter(), alive, FLOW, &mut Ties::Lowest);
            choice.map(|choice| choice.uplink)
        };
        assert_eq!(usable([7, 7], [0, 2], &|core| core != 0), Some(1));
        assert_eq!(usable([7, 7], [7, 7], &|core| core != 0), Some(1));
        assert_eq!(usable([0, 0], [0, 0], &|_| false), None);
    }
}
