//! Compares the evaluator with [`WaterFill`]. Compares the searches with each other and with a search over all
//! assignments.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::{Allocate, Flows, WaterFill, check, usable};
use raddle_core::{Duration, NodeId, Rate};
use raddle_topology::builders;
use raddle_topology::routing::{Protocol, Routing, Tie};
use std::sync::Arc;

const TWO: [Protocol; 2] = [Protocol::Rps, Protocol::Vlb];

fn torus(dims: &[u32]) -> (Routing, Vec<f64>) {
    let topology = builders::torus(dims, Rate::from_gbps(1), Duration::ZERO).expect("valid dims");
    let mut rates = vec![Rate::ZERO; topology.link_slots()];
    for (id, link) in topology.links() {
        rates[id.index()] = link.rate;
    }
    (Routing::new(Arc::new(topology)), usable(&rates, 0.0))
}

/// Returns the first `count` flows of a random ring of all nodes, in which each node sends to the next node.
fn permutation(routing: &Routing, count: usize, stream: &mut Stream) -> Vec<LongFlow> {
    let mut ring: Vec<NodeId> = (0..routing.topology().node_count()).map(NodeId::of).collect();
    stream.shuffle(&mut ring);
    (0..count).map(|i| LongFlow::new(ring[i], ring[(i + 1) % ring.len()])).collect()
}

fn drawn(problem: &Problem, stream: &mut Stream) -> Assignment {
    let (bias, protocols) = (stream.unit(), problem.protocols().len() as u64);
    let gene = |_: &LongFlow| if stream.unit() < bias { stream.below(protocols) as u8 } else { 0 };
    problem.flows().iter().map(gene).collect()
}

fn water_fill(problem: &Problem, routing: &Routing, links: &[f64], assignment: &[u8]) -> (Flows, Vec<f64>) {
    let (mut flows, mut row, mut rates) = (Flows::default(), Vec::new(), Vec::new());
    for (flow, &protocol) in problem.flows().iter().zip(assignment) {
        let protocol = problem.protocols()[usize::from(protocol)];
        routing.weights(protocol, flow.src, flow.dst, flow.key, &mut row);
        flows.push(
            flow.weight,
            flow.class,
            flow.demand_bps,
            row.iter().map(|&(link, share)| (link.0, share)),
        );
    }
    WaterFill::default().allocate(&flows, links, &mut rates);
    (flows, rates)
}

/// Returns flows with various weights, classes, demands and tenants, so that each kind of limit stops some
/// flows.
fn all_sorts(routing: &Routing, count: usize, stream: &mut Stream) -> Vec<LongFlow> {
    let nodes = routing.topology().node_count() as u64;
    (0..count)
        .map(|i| {
            let (src, step) = (stream.below(nodes), 1 + stream.below(nodes - 1));
            LongFlow {
                key: stream.bits(),
                weight: [1.0, 1.0, 2.0, 7.0][stream.index(4)],
                class: u8::from(stream.below(4) == 0) * 3,
                demand_bps: [f64::INFINITY, f64::INFINITY, 3e8, 2e7][stream.index(4)],
                tenant: i as u32 % 3,
                ..LongFlow::new(NodeId::of(src as usize), NodeId::of(((src + step) % nodes) as usize))
            }
        })
        .collect()
}

fn assert_rates_of_water_fill(routing: &Routing, links: &[f64], problem: &Problem, stream: &mut Stream) {
    let mut evaluator = Evaluator::new(problem);
    for _ in 0..12 {
        let assignment = drawn(problem, stream);
        let (flows, expected) = water_fill(problem, routing, links, &assignment);
        let found = evaluator.rates(&assignment);
        check(&flows, links, found).expect("an allocation");
        for (expected, found) in expected.iter().zip(found) {
            assert!((expected - found).abs() <= 1e-9 * expected.max(1.0), "{found} for {expected}");
        }
    }
}

#[test]
fn the_evaluator_finds_the_rates_of_water_filling() {
    let (routing, links) = torus(&[4, 4, 4]);
    let protocols = [Protocol::Rps, Protocol::Vlb, Protocol::Dor(Tie::Split), Protocol::Wlb, Protocol::Ecmp];
    let mut stream = Stream::new(1, 0, "test");
    for protocols in [&protocols[..2], &protocols] {
        let flows = permutation(&routing, 64, &mut stream);
        let problem = Problem::new(&routing, &links, flows, protocols).expect("a torus");
        assert_rates_of_water_fill(&routing, &links, &problem, &mut stream);
        let flows = all_sorts(&routing, 80, &mut stream);
        let problem = Problem::new(&routing, &links, flows, protocols).expect("a torus");
        assert_rates_of_water_fill(&routing, &links, &problem, &mut stream);
    }
}

#[test]
fn fractional_weights_are_allocated_too() {
    let (routing, links) = torus(&[4, 4]);
    let mut stream = Stream::new(2, 0, "test");
    let mut flows = all_sorts(&routing, 40, &mut stream);
    flows.iter_mut().for_each(|flow| flow.weight = 0.1 + stream.unit());
    let problem = Problem::new(&routing, &links, flows, &TWO).expect("a torus");
    assert_rates_of_water_fill(&routing, &links, &problem, &mut stream);
}

#[test]
fn earlier_computations_leave_no_trace() {
    let (routing, links) = torus(&[4, 4, 4]);
    let mut stream = Stream::new(3, 0, "test");
    let problem =
        Problem::new(&routing, &links, all_sorts(&routing, 80, &mut stream), &TWO).expect("a torus");
    let mut used = Evaluator::new(&problem);
    for _ in 0..20 {
        let assignment = drawn(&problem, &mut stream);
        let fresh = Evaluator::new(&problem).rates(&assignment).to_vec();
        assert_eq!(used.rates(&assignment), fresh);
    }
}

#[test]
fn utilities_of_a_worked_example() {
    // Costa et al., SIGCOMM 2015, Fig. 4: f1 uses both paths or only the link 1->4. Here, f2 has twice the weight of
    // f1. With both paths, f1 gets 0.4 and f2 gets 0.8. With only the link 1->4, f1 and f2 get 1 each.
    let flow = |tenant| LongFlow { tenant, ..LongFlow::new(NodeId(0), NodeId(1)) };
    let links = [1.0, 1.0, 2.0, 2.0];
    let split = |flow: &LongFlow, protocol, row: &mut Vec<(u32, f32)>| {
        row.extend_from_slice(match (flow.tenant, protocol) {
            (5, Protocol::Rps) => &[(0, 0.5), (1, 0.5), (2, 0.5)][..],
            (5, _) => &[(0, 1.0)],
            _ => &[(3, 1.0), (1, 1.0)],
        });
    };
    let flows = vec![flow(5), LongFlow { weight: 2.0, ..flow(2) }];
    let problem = Problem::of_rows(&links, flows, &TWO, split).expect("rows");
    let worth = |utility, assignment: &[u8]| Objective::new(&problem, utility).utility(assignment);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} for {b}");
    close(worth(Utility::Aggregate, &[0, 0]), 0.4 + 0.8);
    close(worth(Utility::Minimum, &[0, 0]), 0.4);
    close(worth(Utility::PerTenant, &[0, 0]), 0.4_f64.sqrt() + 0.8_f64.sqrt());
    close(worth(Utility::Aggregate, &[1, 0]), 2.0);
    close(worth(Utility::Minimum, &[1, 0]), 0.5);
    let one_tenant = vec![flow(5), LongFlow { tenant: 5, ..flow(5) }];
    let problem = Problem::of_rows(&links, one_tenant, &TWO, split).expect("rows");
    let together = Objective::new(&problem, Utility::PerTenant).utility(&[1, 0]);
    let sum = Objective::new(&problem, Utility::Aggregate).utility(&[1, 0]);
    close(together, sum.sqrt());
}

#[test]
fn problems_without_a_choice_are_refused() {
    let (routing, links) = torus(&[3, 3]);
    let flow = LongFlow::new(NodeId(0), NodeId(1));
    let to_itself = LongFlow::new(NodeId(2), NodeId(2));
    let refused = |flows, protocols: &[Protocol]| Problem::new(&routing, &links, flows, protocols).err();
    assert_eq!(refused(vec![flow], &[]), Some(SelectionError::Protocols(0)));
    assert_eq!(refused(vec![flow, to_itself], &TWO), Some(SelectionError::NoPath(1)));
    let mesh = builders::mesh(&[3, 3], Rate::from_gbps(1), Duration::ZERO).expect("valid dims");
    let mesh = Routing::new(Arc::new(mesh));
    let links = vec![1.0; mesh.topology().link_slots()];
    let refused = Problem::new(&mesh, &links, vec![flow], &[Protocol::Rps, Protocol::Wlb]).err();
    assert!(matches!(refused, Some(SelectionError::Routing(_))), "{refused:?}");
}

/// Returns all searches, with parameters for few flows.
fn searches() -> Vec<(&'static str, Box<dyn Search>)> {
    vec![
        ("genetic", Box::new(Genetic::default())),
        ("hill climbing", Box::new(HillClimbing)),
        ("log-linear", Box::new(LogLinear { steps: 500, ..LogLinear::default() })),
        ("annealing", Box::new(Annealing { steps: 500, ..Annealing::default() })),
        ("exhaustive", Box::new(Exhaustive)),
        ("random", Box::new(Random)),
        ("uniform", Box::new(Uniform(1))),
    ]
}

#[test]
fn every_search_reports_what_it_found_and_repeats_itself() {
    let (routing, links) = torus(&[4, 4]);
    let mut stream = Stream::new(4, 0, "test");
    let problem =
        Problem::new(&routing, &links, permutation(&routing, 8, &mut stream), &TWO).expect("a torus");
    let all: f64 = 2.0 * 8.0 * 8.0 * 1e9;
    for (name, search) in searches() {
        let run = || {
            let mut objective = Objective::new(&problem, Utility::Aggregate);
            let found = search.search(&mut objective, &problem.uniform(0), &mut Stream::new(1, 0, "search"));
            assert_eq!(found.evaluations, objective.evaluations(), "{name}");
            assert_eq!(objective.utility(&found.assignment).to_bits(), found.utility.to_bits(), "{name}");
            found
        };
        let found = run();
        assert_eq!(found, run(), "{name}");
        assert!(found.utility < all, "{name}");
        let mut limited = Objective::new(&problem, Utility::Aggregate).limited_to(110);
        let found = search.search(&mut limited, &problem.uniform(0), &mut Stream::new(1, 0, "search"));
        assert!((1..=110).contains(&found.evaluations), "{name}: {}", found.evaluations);
    }
}

#[test]
fn oracle_o13_the_genetic_search_equals_the_exhaustive_one() {
    let (routing, links) = torus(&[4, 4]);
    let mut better_than_uniform = 0;
    for seed in 0..4 {
        let mut stream = Stream::new(seed, 0, "test");
        let flows = permutation(&routing, 12, &mut stream);
        let problem = Problem::new(&routing, &links, flows, &TWO).expect("a torus");
        let mut objective = Objective::new(&problem, Utility::Aggregate);
        let start = problem.uniform(0);
        let best = Exhaustive.search(&mut objective, &start, &mut stream);
        let found = Genetic::default().search(&mut objective, &start, &mut stream);
        assert!((best.utility - found.utility).abs() <= 1e-9 * best.utility, "{found:?} for {best:?}");
        let uniform = [0, 1].map(|protocol| objective.utility(&problem.uniform(protocol)));
        better_than_uniform += u32::from(uniform.iter().all(|&uniform| found.utility > uniform * 1.01));
    }
    assert!(better_than_uniform > 0, "in some instance, the search must beat uniform assignments by 1 %");
}

#[test]
fn oracle_o13_the_genetic_search_is_never_below_its_seeds() {
    let (routing, links) = torus(&[4, 4, 2]);
    for seed in 0..6 {
        let mut stream = Stream::new(seed, 1, "test");
        let flows = all_sorts(&routing, 24, &mut stream);
        let problem = Problem::new(&routing, &links, flows, &TWO).expect("a torus");
        for utility in [Utility::Aggregate, Utility::Minimum, Utility::PerTenant] {
            let mut objective = Objective::new(&problem, utility);
            let start = drawn(&problem, &mut stream);
            let hasty = Genetic { population: 3, generations: 2, ..Genetic::default() };
            let found = hasty.search(&mut objective, &start, &mut stream);
            for seeded in [start, problem.uniform(0), problem.uniform(1)] {
                assert!(found.utility >= objective.utility(&seeded), "{utility:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn oracle_o13_hill_climbing_gets_stuck() {
    let (routing, links) = torus(&[4, 4]);
    let mut stuck = 0;
    for seed in 0..4 {
        let mut stream = Stream::new(seed, 0, "test");
        let flows = permutation(&routing, 12, &mut stream);
        let problem = Problem::new(&routing, &links, flows, &TWO).expect("a torus");
        let mut objective = Objective::new(&problem, Utility::Aggregate);
        let start = problem.uniform(1);
        let climbed = HillClimbing.search(&mut objective, &start, &mut stream);
        assert!(climbed.utility >= objective.utility(&start));
        let found = Genetic::default().search(&mut objective, &start, &mut stream);
        stuck += u32::from(climbed.utility < found.utility * 0.99);
    }
    assert!(stuck > 0, "in some instance, hill climbing must end at a local maximum");
}

#[test]
fn local_maxima_of_worked_examples() {
    let flow = |tenant| LongFlow { tenant, ..LongFlow::new(NodeId(0), NodeId(1)) };
    let maxima = |flows: u32, row: &dyn Fn(u32, bool) -> Vec<(u32, f32)>| {
        let flows = (0..flows).map(flow).collect();
        let rows = |flow: &LongFlow, protocol, into: &mut Vec<(u32, f32)>| {
            into.extend(row(flow.tenant, protocol == Protocol::Rps));
        };
        let problem = Problem::of_rows(&[1.0, 1.0, 1.0], flows, &TWO, rows).expect("rows");
        [Utility::Aggregate, Utility::Minimum]
            .map(|utility| local_maxima(&mut Objective::new(&problem, utility)))
    };
    // Two flows that each choose one of two links are fastest on different links, which they can be in two ways.
    assert_eq!(maxima(2, &|_, first| vec![(u32::from(first), 1.0)]), [2, 2]);
    // One flow crosses one link or two, and is as fast either way: one plateau.
    assert_eq!(maxima(1, &|_, first| if first { vec![(0, 1.0)] } else { vec![(0, 1.0), (1, 1.0)] }), [1, 1]);
    // Each flow has a link of its own, or takes the third link. Three assignments are equally good: one plateau.
    assert_eq!(maxima(2, &|flow, first| vec![(if first { flow } else { 2 }, 1.0)]), [1, 1]);
}

#[test]
fn a_search_without_uniform_assignments_begins_with_fewer() {
    let (routing, links) = torus(&[4, 4]);
    let mut stream = Stream::new(4, 0, "test");
    let problem =
        Problem::new(&routing, &links, permutation(&routing, 12, &mut stream), &TWO).expect("a torus");
    let evaluations = |uniform| {
        let only_seeds = Genetic { population: 1, generations: 0, uniform, ..Genetic::default() };
        let mut objective = Objective::new(&problem, Utility::Aggregate);
        only_seeds
            .search(&mut objective, &drawn(&problem, &mut Stream::new(1, 0, "test")), &mut stream.clone())
            .evaluations
    };
    assert_eq!([true, false].map(evaluations), [3, 1]);
}

#[test]
fn oracle_o13_the_tail_prefers_valiant_routing_at_full_load() {
    let (routing, links) = torus(&[8, 8, 8]);
    let mut stream = Stream::new(5, 0, "test");
    let flows = permutation(&routing, 512, &mut stream);
    let problem = Problem::new(&routing, &links, flows, &TWO).expect("a torus");
    let worth = |utility| {
        let mut objective = Objective::new(&problem, utility);
        [0, 1].map(|protocol| objective.utility(&problem.uniform(protocol)))
    };
    let [rps, vlb] = worth(Utility::Minimum);
    assert!((vlb - 0.5e9).abs() < 1e3 && rps < 0.45e9, "{vlb} against {rps}");
    let [rps, vlb] = worth(Utility::Aggregate);
    assert!((vlb - 256e9).abs() < 1e6 && rps > 275e9, "{vlb} against {rps}");
}

#[test]
fn a_change_must_be_worth_it() {
    assert!(is_significant(100.0, 101.0) && is_significant(0.0, 1.0));
    assert!(!is_significant(100.0, 100.9) && !is_significant(0.0, 0.0));
}
