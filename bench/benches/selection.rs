//! Measures routing selection (R2C2, §3.4) on one core: evaluated assignments per second. An assignment gives each of
//! 512 long flows on an 8x8x8 torus either RPS or VLB.
//!
//! `water-fill` takes independent random assignments, copies the flows' rows into [`Flows`], and allocates with
//! [`WaterFill`], as a rate computation does. `evaluator` is the code that searches use. It evaluates the same
//! assignments and must find the same utilities. `genetic search` counts the assignments that a whole genetic search
//! evaluates.

use raddle_allocate::selection::{
    Assignment, Evaluator, Genetic, LongFlow, Objective, Problem, Search, Utility,
};
use raddle_allocate::{Allocate, Flows, WaterFill, usable};
use raddle_core::{Duration, NodeId, Rate, Stream};
use raddle_topology::builders;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;
use std::time::Instant;

const PROTOCOLS: [Protocol; 2] = [Protocol::Rps, Protocol::Vlb];
const FLOWS: usize = 512;
const HEADROOM: f64 = 0.05;

/// Draws `FLOWS` pairs of different nodes uniformly at random.
fn uniform(nodes: u64) -> Vec<LongFlow> {
    let mut stream = Stream::new(1, 0, "bench/selection");
    let node = |n: u64| NodeId(u32::try_from(n).expect("a small fabric"));
    let flow = |_| {
        let src = stream.below(nodes);
        LongFlow::new(node(src), node((src + 1 + stream.below(nodes - 1)) % nodes))
    };
    (0..FLOWS).map(flow).collect()
}

/// Returns one flow per node. Each node sends to the next node in a random cyclic order.
fn permutation(nodes: u32) -> Vec<LongFlow> {
    let mut ring: Vec<u32> = (0..nodes).collect();
    Stream::new(1, 1, "bench/selection").shuffle(&mut ring);
    let next = |i: usize| ring[(i + 1) % ring.len()];
    ring.iter().enumerate().map(|(i, &src)| LongFlow::new(NodeId(src), NodeId(next(i)))).collect()
}

/// Draws random assignments. Each assignment has its own random probability that a flow gets the second protocol.
fn assignments(count: usize) -> Vec<Assignment> {
    let mut stream = Stream::new(1, 2, "bench/selection");
    (0..count)
        .map(|_| {
            let bias = stream.unit();
            (0..FLOWS).map(|_| u8::from(stream.unit() < bias)).collect()
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn per_second<T>(times: usize, mut work: impl FnMut(usize) -> T) -> (f64, Vec<T>) {
    let start = Instant::now();
    let results = (0..times).map(&mut work).collect();
    (times as f64 / start.elapsed().as_secs_f64(), results)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn measure(name: &str, routing: &Routing, usable: &[f64], flows: Vec<LongFlow>) {
    let problem =
        Problem::new(routing, usable, flows, &PROTOCOLS).expect("the topology must support RPS and VLB");
    let drawn = assignments(200);
    let sum = |rates: &[f64]| rates.iter().sum::<f64>();

    let (mut rows, mut water_fill) = (Flows::default(), WaterFill::default());
    let (mut row, mut rates) = (Vec::new(), Vec::new());
    let (plain, expected) = per_second(drawn.len(), |i| {
        rows.clear();
        for (flow, &protocol) in problem.flows().iter().zip(&drawn[i]) {
            routing.weights(PROTOCOLS[usize::from(protocol)], flow.src, flow.dst, flow.key, &mut row);
            rows.push(1.0, 0, f64::INFINITY, row.iter().map(|&(link, weight)| (link.0, weight)));
        }
        water_fill.allocate(&rows, usable, &mut rates);
        sum(&rates)
    });

    let mut evaluator = Evaluator::new(&problem);
    let (fast, found) = per_second(drawn.len(), |i| sum(evaluator.rates(&drawn[i])));
    for (expected, found) in expected.iter().zip(&found) {
        assert!((expected - found).abs() <= 1e-9 * expected, "{found} for {expected}");
    }

    let mut objective = Objective::new(&problem, Utility::Aggregate);
    let (searches, searched) = per_second(1, |_| {
        let mut stream = Stream::new(1, 3, "bench/selection");
        Genetic { generations: 60, ..Genetic::default() }.search(
            &mut objective,
            &problem.uniform(0),
            &mut stream,
        )
    });
    let search = searches * searched[0].evaluations as f64;
    println!(
        "{name}, assignments per second: water-fill {plain:.0}, evaluator {fast:.0} ({:.1} times \
         water-fill); genetic search {search:.0}",
        fast / plain
    );
}

fn main() {
    let topology =
        builders::torus(&[8, 8, 8], Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims");
    let mut capacity = vec![Rate::from_bps(0); topology.link_slots()];
    for (id, link) in topology.links() {
        capacity[id.index()] = link.rate;
    }
    let usable = usable(&capacity, HEADROOM);
    let routing = Routing::new(Arc::new(topology));
    measure("uniform pairs", &routing, &usable, uniform(512));
    measure("permutation", &routing, &usable, permutation(512));
}
