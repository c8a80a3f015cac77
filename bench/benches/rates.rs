//! Measures rate computation (R2C2, §3.3) on one core: the time in microseconds, for random flows on an 8x8x8 torus at
//! 10 Gbps. The time includes copying the flows' rows (their weights on links).
//!
//! Each line shows medians of many computations over 20 sets of flows, and p99 of the incremental computations. A
//! computation from scratch has two parts: `rows` copies the flows' weights from [`Routing::weights`] into [`Flows`],
//! and `fill` allocates the rates. The first computation of each set is not timed, so the routing has cached the rows.
//! An incremental computation updates all rates after one flow leaves, after one flow arrives, or after ten flows leave
//! and ten arrive.

#![allow(clippy::cast_possible_truncation, reason = "the numbers in the benchmarks are small")]

use raddle_allocate::{Allocate, Flows, Incremental, WaterFill, usable};
use raddle_core::{Duration, LinkId, NodeId, Rate, Stream};
use raddle_topology::builders;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;
use std::time::Instant;

const SETS: u64 = 20;
const HEADROOM: f64 = 0.05;

/// A fabric and the usable capacity of its links, in bit/s.
struct Fabric {
    routing: Routing,
    usable: Vec<f64>,
}

/// One measured case: the flows' routing protocol, the number of flows, and the number of timed computations per set.
#[derive(Clone, Copy)]
struct Case {
    protocol: Protocol,
    flows: usize,
    repeats: usize,
}

/// Draws `count` pairs of different nodes uniformly at random.
fn pairs(set: u64, count: usize, nodes: u64) -> Vec<(NodeId, NodeId)> {
    let mut stream = Stream::new(1, set, "bench/rates");
    let node = |n: u64| NodeId(u32::try_from(n).expect("a small fabric"));
    (0..count)
        .map(|_| {
            let src = stream.below(nodes);
            (node(src), node((src + 1 + stream.below(nodes - 1)) % nodes))
        })
        .collect()
}

fn percentile(samples: &mut [f64], p: usize) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[(samples.len() * p / 100).min(samples.len() - 1)]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn timed<T>(samples: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    samples.push(start.elapsed().as_secs_f64() * 1e6);
    done
}

impl Fabric {
    fn row(&self, case: Case, id: usize, (src, dst): (NodeId, NodeId), row: &mut Vec<(LinkId, f32)>) {
        self.routing.weights(case.protocol, src, dst, id as u64, row);
    }

    #[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
    fn measure(&self, case: Case) {
        let nodes = self.routing.topology().node_count() as u64;
        let (mut flows, mut water_fill) = (Flows::default(), WaterFill::default());
        let (mut row, mut rates) = (Vec::new(), Vec::new());
        let (mut copying, mut filling) = (Vec::new(), Vec::new());
        let (mut going, mut coming, mut changing) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = 0;
        for set in 0..SETS {
            let pairs = pairs(set, case.flows, nodes);
            // The first computation fills the routing's cache and grows working memory, so it is not timed.
            for repeat in 0..=case.repeats {
                let mut unused = Vec::new();
                let first = repeat == 0;
                timed(if first { &mut unused } else { &mut copying }, || {
                    flows.clear();
                    for (id, &pair) in pairs.iter().enumerate() {
                        self.row(case, id, pair, &mut row);
                        flows.push(1.0, 0, f64::INFINITY, row.iter().map(|&(link, weight)| (link.0, weight)));
                    }
                });
                timed(if first { &mut unused } else { &mut filling }, || {
                    water_fill.allocate(&flows, &self.usable, &mut rates);
                });
            }
            entries += (0..case.flows).map(|flow| flows.row(flow).len()).sum::<usize>();

            let mut incremental = Incremental::new(&self.usable);
            let mut slots: Vec<usize> = Vec::new();
            for (id, &pair) in pairs.iter().enumerate() {
                self.row(case, id, pair, &mut row);
                let links = row.iter().map(|&(link, weight)| (link.0, weight));
                slots.push(incremental.insert(1.0, 0, f64::INFINITY, links));
            }
            incremental.settle();
            let mut which = Stream::new(1, set, "bench/rates/changes");
            for _ in 0..case.repeats {
                let id = which.index(case.flows);
                timed(&mut going, || {
                    incremental.remove(slots[id]);
                    incremental.settle();
                });
                slots[id] = timed(&mut coming, || {
                    self.row(case, id, pairs[id], &mut row);
                    let links = row.iter().map(|&(link, weight)| (link.0, weight));
                    let slot = incremental.insert(1.0, 0, f64::INFINITY, links);
                    incremental.settle();
                    slot
                });
            }
            for _ in 0..case.repeats {
                let ids: Vec<usize> = (0..10).map(|_| which.index(case.flows)).collect();
                timed(&mut changing, || {
                    for id in ids {
                        incremental.remove(slots[id]);
                        self.row(case, id, pairs[id], &mut row);
                        let links = row.iter().map(|&(link, weight)| (link.0, weight));
                        slots[id] = incremental.insert(1.0, 0, f64::INFINITY, links);
                    }
                    incremental.settle();
                });
            }
            for (slot, rate) in slots.iter().zip(&rates) {
                let kept = incremental.rate(*slot);
                assert!(
                    (kept - rate).abs() <= 1e-9 * rate,
                    "the incremental rate must equal the rate computed from scratch: {kept} and {rate} bit/s"
                );
            }
        }
        let (rows, fill) = (percentile(&mut copying, 50), percentile(&mut filling, 50));
        println!(
            "{} {} flows, {} link weights per flow; median times: all rates from scratch {:.1} us (link \
             weights {rows:.1} us, water-filling {fill:.1} us), departure of a flow {:.2} us (p99 {:.1} us), \
             arrival of a flow {:.2} us (p99 {:.1} us), ten of both {:.1} us",
            case.flows,
            case.protocol,
            entries / case.flows / SETS as usize,
            rows + fill,
            percentile(&mut going, 50),
            percentile(&mut going, 99),
            percentile(&mut coming, 50),
            percentile(&mut coming, 99),
            percentile(&mut changing, 50),
        );
    }
}

fn main() {
    let topology =
        builders::torus(&[8, 8, 8], Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims");
    let mut capacity = vec![Rate::from_bps(0); topology.link_slots()];
    for (id, link) in topology.links() {
        capacity[id.index()] = link.rate;
    }
    let fabric = Fabric { usable: usable(&capacity, HEADROOM), routing: Routing::new(Arc::new(topology)) };
    for (flows, repeats) in [(2, 2_000), (25, 500), (500, 20), (1_500, 5)] {
        fabric.measure(Case { protocol: Protocol::Rps, flows, repeats });
    }
    for (flows, repeats) in [(1_000, 50), (5_000, 20)] {
        fabric.measure(Case { protocol: Protocol::Ecmp, flows, repeats });
    }
}
