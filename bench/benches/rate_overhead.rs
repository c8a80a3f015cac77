//! Measures the time of R2C2's rate computations on one core, as a share of the interval rho between two
//! computations (Costa et al., SIGCOMM 2015, Fig. 8).
//!
//! Both traces run on an 8x8x8 torus at 10 Gbps with RPS and one new flow per microsecond. The first trace is set-up S
//! of specifications/r2c2.md §10, with Pareto flow sizes (mean 100 KB). The second trace has flows of 10 MB. It ends
//! after 500 flows, because at that load the number of active flows would grow without bound. The benchmark checks that
//! the rates of the algorithms differ by at most 1e-9 of the rate. In the second trace, the reference algorithm
//! computes rates only at about 5 of the 500 ticks.

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
    println!("time of a rate computation, in % of the interval rho between computations: median and p99");
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
