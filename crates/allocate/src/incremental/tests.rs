//! Tests flows that arrive and leave. After any history, the rates are bit-identical to the rates of the same
//! flows inserted all at once.

use super::Incremental;
use crate::{Allocate, Flows, Reference, WaterFill, check};
use proptest::prelude::*;

/// A flow: weight, class, demand, row of links.
type Spec = (f64, u8, f64, Vec<(u32, f32)>);

const LINKS: u32 = 12;

fn flow() -> impl Strategy<Value = Spec> {
    // With these shares, the levels of two links are exactly equal or clearly different. Shares such as 1/3
    // would give levels that differ only by rounding, and the reference algorithm treats such levels as
    // equal.
    let share = prop_oneof![3 => Just(1.0_f32), 1 => Just(0.5), 1 => Just(0.125), 2 => 0.1..1.0_f32];
    let row = proptest::collection::btree_map(0..LINKS, share, 0..6);
    let weight = prop_oneof![3 => Just(1.0), 1 => (1..=255_u8).prop_map(f64::from)];
    let class = prop_oneof![3 => Just(0_u8), 1 => 0..4_u8];
    (weight, class, prop_oneof![Just(f64::INFINITY), 0.0..2e9_f64], row).prop_map(
        |(weight, class, demand, row)| {
            // `Reference` and `WaterFill` cannot compute a rate for a flow without links and without a demand.
            let demand = if row.is_empty() { demand.min(1e9) } else { demand };
            (weight, class, demand, row.into_iter().collect())
        },
    )
}

fn capacities() -> impl Strategy<Value = Vec<f64>> {
    let capacity = prop_oneof![4 => Just(1e9), 1 => 1e8..4e9_f64, 1 => Just(0.0)];
    proptest::collection::vec(capacity, LINKS as usize)
}

fn insert(incremental: &mut Incremental, (weight, class, demand, row): &Spec) -> usize {
    incremental.insert(*weight, *class, *demand, row.iter().copied())
}

/// Selects the algorithm that handles changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A repair, then a refill if the repair takes long.
    Usual,
    Repair,
    /// A refill that starts at the lowest stop that may be wrong.
    Refill,
}

impl Way {
    const ALL: [Self; 3] = [Self::Usual, Self::Repair, Self::Refill];

    /// Makes the next changes use this algorithm.
    fn choose(self, incremental: &mut Incremental) {
        match self {
            Self::Usual => {}
            Self::Repair => incremental.entries = usize::MAX / 2,
            Self::Refill => incremental.looked_at = usize::MAX / 2,
        }
    }
}

/// Inserts all flows at once and returns the bits of their rates. The rates are computed by repairs, without
/// a refill.
fn from_scratch<'a>(flows: impl Iterator<Item = &'a Spec>, links: &[f64]) -> Vec<u64> {
    let mut incremental = Incremental::new(links);
    Way::Repair.choose(&mut incremental);
    let slots: Vec<usize> = flows.map(|flow| insert(&mut incremental, flow)).collect();
    incremental.settle();
    slots.into_iter().map(|slot| incremental.rate(slot).to_bits()).collect()
}

proptest! {
    /// Each step removes some flows, adds other flows, and calls `settle`. Every [`Way`] gets the same steps.
    #[test]
    fn history_leaves_no_trace(
        links in capacities(),
        steps in proptest::collection::vec(
            (proptest::collection::vec(any::<prop::sample::Index>(), 0..5), proptest::collection::vec(flow(), 0..8)),
            1..12,
        ),
    ) {
        let mut ways = Way::ALL.map(|way| (way, Incremental::new(&links)));
        let mut live: Vec<(usize, Spec)> = Vec::new();
        for (gone, come) in steps {
            for (way, incremental) in &mut ways {
                way.choose(incremental);
            }
            for which in gone {
                if !live.is_empty() {
                    let (slot, _) = live.swap_remove(which.index(live.len()));
                    ways.iter_mut().for_each(|(_, incremental)| incremental.remove(slot));
                }
            }
            for flow in come {
                // A flow gets the same slot with every `Way`.
                let [slot, ..] = ways.each_mut().map(|(_, incremental)| insert(incremental, &flow));
                live.push((slot, flow));
            }
            let [rates, ..] = ways.each_mut().map(|(_, incremental)| {
                incremental.settle();
                live.iter().map(|&(slot, _)| incremental.rate(slot)).collect::<Vec<f64>>()
            });
            let bits: Vec<u64> = rates.iter().map(|rate| rate.to_bits()).collect();
            for (way, incremental) in &ways {
                let other: Vec<u64> = live.iter().map(|&(slot, _)| incremental.rate(slot).to_bits()).collect();
                prop_assert_eq!(&bits, &other, "{:?}", way);
            }
            prop_assert_eq!(&bits, &from_scratch(live.iter().map(|(_, flow)| flow), &links));
            let mut reversed = from_scratch(live.iter().rev().map(|(_, flow)| flow), &links);
            reversed.reverse();
            prop_assert_eq!(&bits, &reversed);

            let mut flows = Flows::default();
            for (_, (weight, class, demand, row)) in &live {
                flows.push(*weight, *class, *demand, row.iter().copied());
            }
            prop_assert_eq!(check(&flows, &links, &rates), Ok(()));
            let mut expected = Vec::new();
            Reference.allocate(&flows, &links, &mut expected);
            let mut efficient = Vec::new();
            WaterFill::default().allocate(&flows, &links, &mut efficient);
            for (rate, (slow, fast)) in rates.iter().zip(expected.iter().zip(&efficient)) {
                // The capacity that earlier classes leave may be a small difference of large numbers. Its rounding
                // error depends on the link's capacity, so the tolerance for low rates does not shrink with the rate.
                let scale = 1e-9 * slow.max(1e7);
                prop_assert!((rate - slow).abs() <= scale && (rate - fast).abs() <= scale, "{rate} {slow} {fast}");
            }
        }
    }
}

#[test]
fn links_that_fill_up_together_do_so_in_one_order() {
    // In a ring of equal links, all links fill up at the same level. This level is not an integer, so it is rounded
    // on every link.
    let links = vec![1e10; 30];
    let ring: Vec<Spec> =
        (0..30).map(|i| (1.0, 0, f64::INFINITY, (0..3).map(|hop| ((i + hop) % 30, 1.0)).collect())).collect();
    let mut incremental = Incremental::new(&links);
    let slots: Vec<usize> = ring.iter().map(|flow| insert(&mut incremental, flow)).collect();
    incremental.settle();
    for (i, flow) in ring.iter().enumerate() {
        incremental.remove(slots[i]);
        incremental.settle();
        assert_eq!(insert(&mut incremental, flow), slots[i], "the slot must be used again");
        incremental.settle();
        let rates: Vec<u64> = slots.iter().map(|&slot| incremental.rate(slot).to_bits()).collect();
        assert_eq!(rates, from_scratch(ring.iter(), &links));
        assert!(rates.iter().all(|&bits| (f64::from_bits(bits) - 1e10 / 3.0).abs() < 1.0));
    }
}

#[test]
fn a_flow_that_nothing_stops_has_no_bound() {
    let mut incremental = Incremental::new(&[1.0]);
    let slot = insert(&mut incremental, &(1.0, 0, f64::INFINITY, vec![]));
    incremental.settle();
    assert!(incremental.rate(slot).is_infinite());
}

proptest! {
    /// Demands and capacities also change. The reported changes, applied one after another, give the current
    /// rates.
    #[test]
    fn changes_in_place_leave_no_trace_and_are_reported(
        mut links in capacities(),
        steps in proptest::collection::vec(
            (
                proptest::collection::vec(flow(), 0..6),
                proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>(), 0.0..2e9_f64), 0..4),
                proptest::collection::vec((0..LINKS, prop_oneof![0.0..4e9_f64, Just(1e9), Just(0.0)]), 0..3),
            ),
            1..12,
        ),
    ) {
        // Capacities may not exceed the largest initial capacity, which determines the unit of rate.
        links.push(4e9);
        let mut ways = Way::ALL.map(|way| (way, Incremental::new(&links), Vec::<f64>::new()));
        let mut live: Vec<(usize, Spec)> = Vec::new();
        for (come, demands, capacities) in steps {
            for (way, incremental, _) in &mut ways {
                way.choose(incremental);
            }
            for flow in come {
                let [slot, ..] = ways.each_mut().map(|(_, incremental, _)| insert(incremental, &flow));
                live.push((slot, flow));
            }
            for (which, goes, demand) in demands {
                if live.is_empty() {
                    break;
                }
                let at = which.index(live.len());
                let slot = live[at].0;
                if goes {
                    for (_, incremental, known) in &mut ways {
                        incremental.remove(slot);
                        // The next flow in the slot starts at rate 0.
                        if let Some(known) = known.get_mut(slot) {
                            *known = 0.0;
                        }
                    }
                    live.swap_remove(at);
                } else {
                    ways.iter_mut().for_each(|(_, incremental, _)| incremental.set_demand(slot, demand));
                    live[at].1.2 = demand;
                }
            }
            for (link, bps) in capacities {
                ways.iter_mut().for_each(|(_, incremental, _)| incremental.set_capacity(link, bps));
                links[link as usize] = bps;
            }
            let expected = from_scratch(live.iter().map(|(_, flow)| flow), &links);
            for (way, incremental, known) in &mut ways {
                incremental.settle();
                for (slot, rate) in incremental.changes() {
                    known.resize(known.len().max(slot + 1), 0.0);
                    prop_assert_ne!(known[slot].to_bits(), rate.to_bits(), "a reported change must change the rate");
                    known[slot] = rate;
                }
                let bits: Vec<u64> = live.iter().map(|&(slot, _)| incremental.rate(slot).to_bits()).collect();
                prop_assert_eq!(&bits, &expected, "{:?}", way);
                for &(slot, _) in &live {
                    let known = known.get(slot).copied().unwrap_or(0.0);
                    prop_assert_eq!(known.to_bits(), incremental.rate(slot).to_bits(), "{:?}", way);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Many flows share few links, so one change affects many flows.
    #[test]
    fn long_histories_leave_no_trace(
        steps in proptest::collection::vec(
            (0..40_usize, proptest::collection::vec((1..=255_u8, proptest::collection::btree_map(0..24_u32, 1..=12_u8, 1..9)), 0..50)),
            2..8,
        ),
        pick in any::<u64>(),
    ) {
        let links = [9.5e9; 24];
        let mut ways = Way::ALL.map(|way| (way, Incremental::new(&links)));
        let mut live: Vec<(usize, Spec)> = Vec::new();
        let mut pick = raddle_core::Stream::new(pick, 0, "test");
        for (gone, come) in steps {
            for (way, incremental) in &mut ways {
                way.choose(incremental);
            }
            for _ in 0..gone.min(live.len()) {
                let (slot, _) = live.swap_remove(pick.index(live.len()));
                ways.iter_mut().for_each(|(_, incremental)| incremental.remove(slot));
            }
            for (weight, row) in come {
                let row = row.into_iter().map(|(link, parts)| (link, f32::from(parts) / 12.0)).collect();
                let flow: Spec = (weight.into(), 0, f64::INFINITY, row);
                let [slot, ..] = ways.each_mut().map(|(_, incremental)| insert(incremental, &flow));
                live.push((slot, flow));
            }
            let expected = from_scratch(live.iter().map(|(_, flow)| flow), &links);
            for (way, incremental) in &mut ways {
                incremental.settle();
                let bits: Vec<u64> = live.iter().map(|&(slot, _)| incremental.rate(slot).to_bits()).collect();
                prop_assert_eq!(&bits, &expected, "{:?}", way);
            }
        }
    }
}

#[test]
fn a_class_can_leave() {
    // The refill begins at a stop of the class that has left. Only flows of the other class remain.
    let links = [1e9; 2];
    let flows: Vec<Spec> = (0..6_u8).map(|i| (1.0, i % 2, f64::INFINITY, vec![(0, 1.0), (1, 0.5)])).collect();
    for way in Way::ALL {
        let mut incremental = Incremental::new(&links);
        let slots: Vec<usize> = flows.iter().map(|flow| insert(&mut incremental, flow)).collect();
        incremental.settle();
        way.choose(&mut incremental);
        for &slot in slots.iter().step_by(2) {
            incremental.remove(slot);
        }
        incremental.settle();
        let rates: Vec<u64> =
            slots.iter().skip(1).step_by(2).map(|&slot| incremental.rate(slot).to_bits()).collect();
        assert_eq!(rates, from_scratch(flows.iter().skip(1).step_by(2), &links), "{way:?}");
    }
}

#[test]
fn a_link_that_others_leave_lets_its_flows_rise() {
    // Regression test from a rack whose flows were weighted by deadline: a flow kept the level of a link
    // after this link had free capacity again.
    let row = |row: &[(u32, u8)]| row.iter().map(|&(link, parts)| (link, f32::from(parts) / 12.0)).collect();
    let flow = |weight: u8, parts: &[(u32, u8)]| -> Spec { (weight.into(), 0, f64::INFINITY, row(parts)) };
    let flows = [
        flow(11, &[(0, 12)]),
        flow(24, &[(0, 12)]),
        flow(44, &[(0, 4), (1, 4)]),
        flow(61, &[(3, 4)]),
        flow(24, &[(1, 1), (3, 1)]),
        flow(1, &[(2, 4)]),
        flow(16, &[(2, 12)]),
        flow(70, &[(1, 6), (2, 6)]),
        flow(158, &[(2, 1)]),
        flow(127, &[(0, 12)]),
    ];
    let links = [9.5e9; 4];
    // Uses only repairs. By default, a refill would replace the repair.
    let mut incremental = Incremental::new(&links);
    Way::Repair.choose(&mut incremental);
    let mut live: Vec<(usize, usize)> = Vec::new();
    for wanted in [&[1, 2, 6, 7, 9][..], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
        live.retain(|&(at, slot)| {
            let stays = wanted.contains(&at);
            if !stays {
                incremental.remove(slot);
            }
            stays
        });
        for &at in wanted {
            if live.iter().all(|&(known, _)| known != at) {
                live.push((at, insert(&mut incremental, &flows[at])));
            }
        }
        live.sort_unstable();
        incremental.settle();
        let rates: Vec<u64> = live.iter().map(|&(_, slot)| incremental.rate(slot).to_bits()).collect();
        assert_eq!(rates, from_scratch(wanted.iter().map(|&at| &flows[at]), &links));
    }
}
