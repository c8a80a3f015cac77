//! Worked examples, and comparisons of [`Reference`] with [`WaterFill`] and [`Incremental`]. The comparison with a
//! linear program (specifications/r2c2.md §12, oracle O5) is in `crates/lab/tests/agreement`.

use super::*;
use proptest::prelude::*;

const INF: f64 = f64::INFINITY;

/// A flow: weight, class, demand, row of links.
type Spec = (f64, u8, f64, Vec<(u32, f32)>);

fn flows(specs: &[Spec]) -> Flows {
    let mut flows = Flows::default();
    for (weight, class, demand, row) in specs {
        flows.push(*weight, *class, *demand, row.iter().copied());
    }
    flows
}

/// Inserts flows one after another into [`Incremental`] and returns their rates.
fn incremental(specs: &[Spec], links: &[f64]) -> Vec<f64> {
    let mut incremental = Incremental::new(links);
    let slots: Vec<usize> = specs
        .iter()
        .map(|(weight, class, demand, row)| incremental.insert(*weight, *class, *demand, row.iter().copied()))
        .collect();
    incremental.settle();
    slots.into_iter().map(|slot| incremental.rate(slot)).collect()
}

/// True if two rates differ only by rounding. The tolerance is relative to the capacity of the largest link, not to the
/// rates. A flow of a class that is served late gets the remainder of a link. This remainder is a small difference of
/// large numbers, and it is divided by the flow's weight on the link, which may be small. In addition, [`Incremental`]
/// rounds weights to multiples of 2^-40. The largest error in a million of the instances below was 7e-11 of the largest
/// capacity. The rates in these instances were as low as 1e-4 of the largest capacity.
fn same(a: f64, b: f64, links: &[f64]) -> bool {
    (a - b).abs() <= 1e-9 * links.iter().copied().fold(0.0, f64::max)
}

/// Computes the rates with [`Reference`], [`WaterFill`] and [`Incremental`], and returns those of [`WaterFill`]. The
/// algorithms must agree, and the rates of [`WaterFill`] and [`Incremental`] must pass [`check`].
fn rates(specs: &[Spec], links: &[f64]) -> Vec<f64> {
    let flows = flows(specs);
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    Reference.allocate(&flows, links, &mut slow);
    WaterFill::default().allocate(&flows, links, &mut fast);
    let kept = incremental(specs, links);
    for rates in [&fast, &kept] {
        for (a, b) in slow.iter().zip(rates) {
            assert!(same(*a, *b, links), "{slow:?} {rates:?}");
        }
        check(&flows, links, rates).expect("invariants hold");
    }
    fast
}

fn assert_rates(specs: &[Spec], links: &[f64], expected: &[f64]) {
    let measured = rates(specs, links);
    for (a, b) in measured.iter().zip(expected) {
        assert!((a - b).abs() < 1e-12, "{measured:?} for {expected:?}");
    }
}

/// The network of Costa et al., SIGCOMM 2015, Fig. 4: links 1->4, 3->4, 1->3, 2->3 with capacities 1, 1, 2,
/// 2.
const FIG4: [f64; 4] = [1.0, 1.0, 2.0, 2.0];

fn f1(weight: f64, class: u8) -> Spec {
    (weight, class, INF, vec![(0, 0.5), (1, 0.5), (2, 0.5)])
}

fn f2(weight: f64, class: u8, demand: f64) -> Spec {
    (weight, class, demand, vec![(3, 1.0), (1, 1.0)])
}

#[test]
fn oracle_o4_figure_4() {
    assert_rates(&[f1(1.0, 0), f2(1.0, 0, INF)], &FIG4, &[2.0 / 3.0, 2.0 / 3.0]);
    let direct = (1.0, 0, INF, vec![(0, 1.0)]);
    assert_rates(&[direct, f2(1.0, 0, INF)], &FIG4, &[1.0, 1.0]);
    assert_rates(&[f1(2.0, 0), f2(1.0, 0, INF)], &FIG4, &[1.0, 0.5]);
    assert_rates(&[f1(1.0, 0), f2(2.0, 0, INF)], &FIG4, &[0.4, 0.8]);
    assert_rates(&[f1(1.0, 0), f2(1.0, 0, 1.0 / 3.0)], &FIG4, &[4.0 / 3.0, 1.0 / 3.0]);
    assert_rates(&[f1(1.0, 1), f2(1.0, 0, INF)], &FIG4, &[0.0, 1.0]);
    assert_rates(&[f1(1.0, 0), f2(1.0, 1, INF)], &FIG4, &[2.0, 0.0]);
    assert_rates(&[f1(1.0, 1), f2(1.0, 0, 0.5)], &FIG4, &[1.0, 0.5]);
    let usable: Vec<f64> = FIG4.iter().map(|c| c * 0.95).collect();
    assert_rates(&[f1(1.0, 0), f2(1.0, 0, INF)], &usable, &[19.0 / 30.0, 19.0 / 30.0]);
}

#[test]
fn oracle_o4_two_by_two_mesh() {
    // Links: 0->1, 0->2, 1->3, 2->3.
    let a = (1.0, 0, INF, vec![(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5)]);
    let b = (1.0, 0, INF, vec![(0, 1.0)]);
    let c = (2.0, 0, INF, vec![(3, 1.0)]);
    assert_rates(std::slice::from_ref(&a), &[1.0; 4], &[2.0]);
    assert_rates(&[a.clone(), b.clone()], &[1.0; 4], &[2.0 / 3.0, 2.0 / 3.0]);
    assert_rates(&[a, b, c], &[1.0; 4], &[0.4, 0.8, 0.8]);
    let third = 1.0 / 3.0;
    let split = (1.0, 0, INF, vec![(0, third), (2, third), (1, 2.0 * third), (3, 2.0 * third)]);
    let alone = rates(&[split], &[1.0; 4]);
    assert!((alone[0] - 1.5).abs() < 1e-7, "the rate must be 1.5 within the precision of `f32`: {alone:?}");
}

#[test]
fn oracle_o4_chain_and_single_links() {
    let chain = [
        (1.0, 0, INF, vec![(0, 1.0), (1, 1.0), (2, 1.0)]),
        (1.0, 0, INF, vec![(0, 1.0)]),
        (1.0, 0, INF, vec![(1, 1.0)]),
        (1.0, 0, INF, vec![(2, 1.0)]),
    ];
    assert_rates(&chain, &[1.0, 2.0, 3.0], &[0.5, 0.5, 1.5, 2.5]);
    let on_one = |demand| (1.0, 0, demand, vec![(0, 1.0)]);
    assert_rates(&[on_one(0.1), on_one(0.9), on_one(INF)], &[1.0], &[0.1, 0.45, 0.45]);
    let weighted = [(1.0, INF), (2.0, 1.0), (3.0, INF)].map(|(w, d)| (w, 0, d, vec![(0, 1.0)]));
    assert_rates(&weighted, &[6.0], &[1.25, 1.0, 3.75]);
}

#[test]
fn a_flow_without_links_gets_its_demand() {
    assert_rates(&[(1.0, 0, 3.0, vec![])], &[1.0], &[3.0]);
}

#[test]
fn working_memory_leaves_no_trace() {
    let mut water_fill = WaterFill::default();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    let one = flows(&[f1(1.0, 0), f2(1.0, 0, INF)]);
    water_fill.allocate(&one, &FIG4, &mut first);
    water_fill.allocate(&flows(&[(1.0, 2, INF, vec![(3, 0.25), (0, 0.75)])]), &FIG4, &mut again);
    water_fill.allocate(&one, &FIG4, &mut again);
    assert_eq!(first, again);
}

fn instance() -> impl Strategy<Value = (Vec<Spec>, Vec<f64>)> {
    let links = proptest::collection::vec(prop_oneof![Just(1.0), 0.5..4.0_f64], 2..8);
    links.prop_flat_map(|links| {
        let count = u32::try_from(links.len()).expect("few links");
        let row = proptest::collection::btree_map(0..count, prop_oneof![Just(1.0_f32), 0.1..1.0_f32], 1..4);
        let demand = prop_oneof![3 => Just(INF), 1 => 0.05..2.0_f64];
        let flow = (prop_oneof![Just(1.0), 0.5..4.0_f64], 0..3_u8, demand, row)
            .prop_map(|(weight, class, demand, row)| (weight, class, demand, row.into_iter().collect()));
        (proptest::collection::vec(flow, 1..12), Just(links))
    })
}

proptest! {
    #[test]
    fn oracle_o4_efficient_equals_reference((specs, links) in instance()) {
        rates(&specs, &links);
    }

    #[test]
    fn scaling_capacity_and_demand_scales_rates((specs, links) in instance(), factor in 0.1..10.0_f64) {
        let base = rates(&specs, &links);
        let scaled: Vec<Spec> = specs.iter().map(|(w, c, d, row)| (*w, *c, d * factor, row.clone())).collect();
        let wide: Vec<f64> = links.iter().map(|c| c * factor).collect();
        for (a, b) in rates(&scaled, &wide).iter().zip(&base) {
            prop_assert!(same(*a, b * factor, &wide), "{a} {b} by {factor}");
        }
    }

    #[test]
    fn scaling_all_weights_of_a_class_changes_nothing((specs, links) in instance(), factor in 0.1..10.0_f64) {
        let base = rates(&specs, &links);
        let scaled: Vec<Spec> =
            specs.iter().map(|(w, c, d, row)| (if *c == 1 { w * factor } else { *w }, *c, *d, row.clone())).collect();
        for (a, b) in rates(&scaled, &links).iter().zip(&base) {
            prop_assert!(same(*a, *b, &links), "{a} {b}");
        }
    }

    #[test]
    fn permuting_flows_permutes_rates((specs, links) in instance()) {
        let base = rates(&specs, &links);
        let reversed: Vec<Spec> = specs.iter().rev().cloned().collect();
        for (a, b) in rates(&reversed, &links).iter().rev().zip(&base) {
            prop_assert!(same(*a, *b, &links), "{a} {b}");
        }
    }
}
