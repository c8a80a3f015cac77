//! Max-min fair rates by a sequence of linear programs (specifications/r2c2.md §12, O5).

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::witness::{Case, Witness, at_most};
use microlp::{ComparisonOp, OptimizationDirection, Problem};
use raddle_allocate::{Allocate, Flows, WaterFill};
use raddle_core::Stream;

/// Upper bound of every rate and of the level in the linear programs, which cannot express infinity.
const MOST: f64 = 1e6;

/// A flow: its weight, its demand, and the fraction of its rate on each link that it uses.
struct Spec {
    weight: f64,
    demand: f64,
    row: Vec<(u32, f32)>,
}

/// Returns the rates that Raddle computes.
fn water_filling(specs: &[Spec], links: &[f64]) -> Vec<f64> {
    let mut flows = Flows::default();
    for Spec { weight, demand, row } in specs {
        flows.push(*weight, 0, *demand, row.iter().copied());
    }
    let mut rates = Vec::new();
    WaterFill::default().allocate(&flows, links, &mut rates);
    rates
}

/// Returns the optimum of a linear program in which some flows have fixed rates. The level of a flow is its
/// rate divided by its weight. Without `raised`, the program maximizes the common level of the flows without
/// a fixed rate. With `raised`, a flow and a level, the program maximizes the rate of this flow while all
/// flows without a fixed rate keep at least the level.
fn optimum(specs: &[Spec], links: &[f64], fixed: &[Option<f64>], raised: Option<(usize, f64)>) -> f64 {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let level = problem.add_var(if raised.is_none() { 1.0 } else { 0.0 }, (0.0, MOST));
    let rate = |(i, spec): (usize, &Spec)| {
        let gain = if raised.is_some_and(|(flow, _)| flow == i) { 1.0 } else { 0.0 };
        problem.add_var(gain, fixed[i].map_or((0.0, spec.demand.min(MOST)), |rate| (rate, rate)))
    };
    let rates: Vec<_> = specs.iter().enumerate().map(rate).collect();
    for (link, &capacity) in (0..).zip(links) {
        let on_link = |(spec, &rate): (&Spec, _)| {
            spec.row.iter().find(|of| of.0 == link).map(|&(_, share)| (rate, f64::from(share)))
        };
        let terms: Vec<_> = specs.iter().zip(&rates).filter_map(on_link).collect();
        problem.add_constraint(terms, ComparisonOp::Le, capacity + 1e-9);
    }
    for (i, spec) in specs.iter().enumerate().filter(|&(i, _)| fixed[i].is_none()) {
        let (terms, least) = match raised {
            None => (vec![(rates[i], 1.0), (level, -spec.weight)], 0.0),
            Some((_, at)) => (vec![(rates[i], 1.0)], at * spec.weight - 1e-9),
        };
        problem.add_constraint(terms, ComparisonOp::Ge, least);
    }
    problem
        .solve()
        .expect("a feasible program")
        .into_solution()
        .expect("a solver without a time limit")
        .objective()
}

/// Computes max-min rates by a sequence of linear programs. Each step maximizes the common level, and then
/// fixes the flows whose rate cannot rise further.
fn by_linear_programs(specs: &[Spec], links: &[f64]) -> Vec<f64> {
    let mut fixed: Vec<Option<f64>> = vec![None; specs.len()];
    while fixed.iter().any(Option::is_none) {
        let level = optimum(specs, links, &fixed, None);
        let is_stuck = |&i: &usize| {
            let most = || optimum(specs, links, &fixed, Some((i, level)));
            fixed[i].is_none() && most() <= level * specs[i].weight + 1e-6
        };
        let stuck: Vec<usize> = (0..specs.len()).filter(is_stuck).collect();
        assert!(!stuck.is_empty(), "the rate of at least one flow cannot rise");
        for i in stuck {
            fixed[i] = Some((level * specs[i].weight).min(specs[i].demand));
        }
    }
    fixed.into_iter().flatten().collect()
}

/// Draws a network with up to 5 flows and up to 7 links. On average, half of the weights, of the capacities and of the
/// fractions on links are 1, and a quarter of the flows have a finite demand.
fn random_network(number: u64) -> (Vec<Spec>, Vec<f64>) {
    let mut stream = Stream::new(1, number, "test/networks");
    let one_or = |stream: &mut Stream, least: f64, most: f64| {
        if stream.coin() { 1.0 } else { least + (most - least) * stream.unit() }
    };
    let links: Vec<f64> = (0..2 + stream.below(6)).map(|_| one_or(&mut stream, 0.5, 4.0)).collect();
    let flow = |stream: &mut Stream| {
        let mut all: Vec<u32> = (0..links.len() as u32).collect();
        stream.shuffle(&mut all);
        all.truncate(1 + stream.index(3));
        let row = all.into_iter().map(|link| (link, one_or(stream, 0.1, 1.0) as f32)).collect();
        let demand = if stream.below(4) == 0 { 0.05 + 1.95 * stream.unit() } else { f64::INFINITY };
        Spec { weight: one_or(stream, 0.5, 4.0), demand, row }
    };
    let specs = (0..=stream.below(5)).map(|_| flow(&mut stream)).collect();
    (specs, links)
}

/// Compares the two computed rates of every flow of all networks, and returns the flow with the largest
/// difference.
fn worst(name: &str, networks: impl IntoIterator<Item = (Vec<Spec>, Vec<f64>)>) -> Case {
    let of_network = |(specs, links): (Vec<Spec>, Vec<f64>)| {
        water_filling(&specs, &links).into_iter().zip(by_linear_programs(&specs, &links))
    };
    let case = |(ours, theirs)| Case { name: name.to_owned(), ours, theirs, within: at_most(1e-5) };
    let cases = networks.into_iter().flat_map(of_network).map(case);
    cases.max_by(|a, b| a.difference().abs().total_cmp(&b.difference().abs())).expect("a flow")
}

pub(crate) fn linear_program() -> Witness {
    let flow = |row: &[(u32, f32)]| Spec { weight: 1.0, demand: f64::INFINITY, row: row.to_vec() };
    let figure_4 = vec![flow(&[(0, 0.5), (1, 0.5), (2, 0.5)]), flow(&[(3, 1.0), (1, 1.0)])];
    let parking_lot =
        vec![flow(&[(0, 1.0), (1, 1.0), (2, 1.0)]), flow(&[(0, 1.0)]), flow(&[(1, 1.0)]), flow(&[(2, 1.0)])];
    Witness {
        quantity: "Max-min fair rates of the water-filling algorithm",
        form: "a sequence of linear programs solved by the crate `microlp`: each program raises the common level, then the flows that cannot rise are fixed",
        experiment: "an example of R2C2's paper, a parking lot, and 1,000 random networks with up to 5 flows \
             on up to 7 links. Flows have weights and demands, and are split over links. Each row shows the flow with \
             the largest difference",
        cases: vec![
            worst("R2C2, Figure 4", [(figure_4, vec![1.0, 1.0, 2.0, 2.0])]),
            worst("parking lot of three links", [(parking_lot, vec![1.0, 2.0, 3.0])]),
            worst("1,000 random networks", (0..1_000).map(random_network)),
        ],
    }
}
