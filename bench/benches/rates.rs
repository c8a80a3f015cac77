//! Rate computation (R2C2, §3.3) on one core: microseconds for random RPS flows on 8x8x8 at 10 Gbps, rows included.
//!
//! Each line is the median of many computations over 20 sets of flows: `rows` copies the flows' weights from
//! [`Routing::weights`] into [`Flows`], `fill` allocates. Rows from node 0 are known before the clock starts.

use raddle_allocate::{Allocate, Flows, WaterFill, usable};
use raddle_core::{Duration, NodeId, Rate, Stream};
use raddle_topology::builders;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;
use std::time::Instant;

const SETS: u64 = 20;
const HEADROOM: f64 = 0.05;

/// Pairs of different nodes, uniform.
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

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn measure(routing: &Routing, usable: &[f64], count: usize, repeats: usize) {
    let nodes = routing.topology().node_count() as u64;
    let (mut flows, mut water_fill) = (Flows::default(), WaterFill::default());
    let (mut row, mut rates) = (Vec::new(), Vec::new());
    let (mut copying, mut filling) = (Vec::new(), Vec::new());
    let mut entries = 0;
    for set in 0..SETS {
        let pairs = pairs(set, count, nodes);
        // The first computation finds rows and grows working memory.
        for repeat in 0..=repeats {
            let start = Instant::now();
            flows.clear();
            for &(src, dst) in &pairs {
                routing.weights(Protocol::Rps, src, dst, 0, &mut row);
                flows.push(1.0, 0, f64::INFINITY, row.iter().map(|&(link, weight)| (link.0, weight)));
            }
            let copied = start.elapsed();
            water_fill.allocate(&flows, usable, &mut rates);
            let filled = start.elapsed();
            if repeat > 0 {
                copying.push(copied.as_secs_f64() * 1e6);
                filling.push((filled - copied).as_secs_f64() * 1e6);
            }
        }
        entries += (0..count).map(|flow| flows.row(flow).len()).sum::<usize>();
    }
    let (rows, fill) = (median(copying), median(filling));
    println!(
        "{count} flows, {} weights a flow: {:.1} us: rows {rows:.1}, fill {fill:.1}",
        entries / count / SETS as usize,
        rows + fill
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
    for (count, repeats) in [(2, 2_000), (25, 500), (500, 20)] {
        measure(&routing, &usable, count, repeats);
    }
}
