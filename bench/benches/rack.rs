//! Runs the traffic of Figure 7 (Costa et al., SIGCOMM 2015, §5.1) in a live rack, by default with 400 flows instead of
//! 1,000. Measures packet-hops per second, lateness and losses.
//!
//! `cargo bench --bench rack -- --dilation 10 --flows 1000`
//!
//! With `--dilation N` virtual time runs N times slower than real time; by default both run equally fast. With `--rush`
//! the rack never waits for real time, which shows the maximum rate of a polling thread. With `--ring 64` the rack is a
//! ring of 64 nodes, so that packets pass many relays on the way to their destination. With `--copy` relays copy
//! packets.

#![allow(clippy::cast_possible_truncation, reason = "the numbers in the benchmarks are small")]

use raddle_core::{Duration, Rate, Time};
use raddle_live::rack::{Config, Rack};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::builders;
use raddle_workload::{Arrivals, Pairs, Sizes, Workload};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark measures and prints")]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let of = |name: &str, default: u64| {
        let place = args.iter().position(|arg| arg == name);
        place.and_then(|place| args.get(place + 1)?.parse().ok()).unwrap_or(default)
    };
    let (dilation, flows, gbps) = (of("--dilation", 1), of("--flows", 400), of("--gbps", 5));
    let dims: &[u32] = match of("--ring", 0) {
        0 => &[4, 4],
        nodes => &[nodes as u32],
    };
    let topology = builders::torus(dims, Rate::from_gbps(gbps), Duration::from_ns(100)).expect("a torus");
    let topology = Arc::new(topology);
    let mean_gap = Duration::from_us(5_000 / gbps);
    let workload = Workload {
        sizes: Sizes::Fixed(raddle_core::Bytes(10_000_000)),
        arrivals: Arrivals::Poisson { mean_gap },
        ..Workload::new(Pairs::Uniform, flows as usize)
    };
    let flows = workload.generate(&topology, 1).expect("a possible workload").iter().collect::<Vec<_>>();
    let scheme = registry().transport("r2c2").expect("built in");
    let mut settings = Settings::defaults(scheme.info.parameters);
    settings.set("mtu", Value::Bytes(8_192));
    let plan = Plan::new(&topology, "rps", &settings, 1);
    let mut parts = registry()
        .build(scheme, &plan, &registry().routing_defaults("rps"))
        .expect("the scheme must fit the torus");
    let config = Config {
        dilation: dilation as u32,
        threads: of("--threads", 1) as usize,
        copies: args.iter().any(|arg| arg == "--copy"),
        time_limit: Some(Time::ZERO + Duration::from_ms(10_000)),
        ..Config::default()
    };
    let begin = Instant::now();
    let mut rack = Rack::new(&topology, |id| (parts.node)(id), &flows, &config).expect("memory");
    println!("set-up took {:?}", begin.elapsed());
    let begin = Instant::now();
    let ended = if args.iter().any(|arg| arg == "--rush") {
        rack.rush(&mut ());
        true
    } else {
        rack.run(&mut (), |_| ControlFlow::Continue(()))
    };
    let took = begin.elapsed();
    let totals = rack.totals();
    let hops = totals.packet_hops as f64 / took.as_secs_f64() / 1e6;
    println!(
        "end or time limit reached: {ended}; {} flows delivered, {hops:.3} M packet-hops/s \
         in {took:?}, {} packets dropped",
        totals.flows_delivered, totals.dropped
    );
    println!("{}", rack.fidelity());
}
