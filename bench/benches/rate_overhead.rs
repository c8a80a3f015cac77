//! What R2C2's rate computations take, as a share of the interval rho between them, on one core (the paper's Fig. 8).
//!
//! Two traces on 8x8x8 at 10 Gbps, a flow a microsecond, RPS: set-up S, whose flows are Pareto with a mean of 100 KB,
//! and flows of 10 MB, of which there are just 500: at that load they would pile up for ever. All algorithms' rates
//! are checked to agree to 1e-9.

use raddle_core::{Bytes, Duration, Rate};
use raddle_lab::analysis::rate_overhead::{Algorithm, Replay, Samples};
use raddle_records::stats;
use raddle_topology::builders;
use raddle_topology::routing::Protocol;
use raddle_workload::{Pairs, Sizes, Workload};
use std::sync::Arc;

const RHO_US: [u64; 5] = [10, 50, 100, 500, 1_000];
const HEADROOM: f64 = 0.05;
const SEED: u64 = 1;

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let topology =
        builders::torus(&[8, 8, 8], Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims");
    let topology = Arc::new(topology);
    let replay = Replay::new(Arc::clone(&topology), Protocol::Rps, HEADROOM);
    let heavy_tailed = Workload::new(Pairs::Uniform, 100_000);
    let long = Workload { sizes: Sizes::Fixed(Bytes(10_000_000)), ..Workload::new(Pairs::Uniform, 500) };
    let traces = [
        ("Pareto, mean 100 KB", heavy_tailed, Samples { ticks: 2_000, reference: 2_000 }),
        ("10 MB", long, Samples { ticks: 500, reference: 5 }),
    ];
    println!("time/rho in %, median and p99");
    for (name, workload, samples) in traces {
        let flows =
            workload.generate(&topology, SEED).expect("a possible workload").iter().collect::<Vec<_>>();
        let trace = replay.lifetimes(&flows);
        println!("{name}, {} flows", flows.len());
        println!("{:>8} {:>22} {:>22} {:>22}", "rho, us", "reference", "efficient", "incremental");
        for rho in RHO_US {
            print!("{rho:>8}");
            let overheads = replay.overheads(&trace, Duration::from_us(rho), samples);
            for sample in &overheads[..Algorithm::ALL.len()] {
                let at = |p| stats::percentile(sample, p).expect("some ticks");
                print!(" {:>10.3} {:>11.3}", at(50.0), at(99.0));
            }
            println!();
        }
    }
}
