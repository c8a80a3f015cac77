//! The packet engine on one core: packet-hops a second, events a hop, and bytes of memory.
//!
//! - `torus`: 8x8x8, 10 Gbps, 100 ns, R2C2 with RPS, uniform load of 50% on every link: each node sends six open-loop
//!   flows of 1,500 B packets six hops away, to (1, 2, 3), its rotations and their opposites.
//! - `setup-s`: R2C2's set-up S with a flow every microsecond: most packet-hops are broadcasts.
//!
//! Rates of a shared machine vary: compare runs side by side. Memory is counted by the allocator, not sampled.

use raddle_core::{Bytes, Duration, Flow, FlowId, LinkId, Node, NodeId, Rate, Stream, Time};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_schemes::r2c2::{Fabric, Params, R2c2Node, SourceRoute};
use raddle_topology::{Topology, builders};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The system's allocator, counting.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
// SAFETY: every call goes to the system's allocator unchanged; counting touches nothing that it returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn simulate(topology: &Arc<Topology>, flows: Vec<Flow>, limit: Option<Time>) -> Simulation<()> {
    let params = Params::default();
    let fabric = Fabric::new(topology, params);
    let node = move |id| Node {
        host: Some(Box::new(R2c2Node::new(&fabric, id, 1))),
        forwarder: Some(Box::new(SourceRoute::new(params.hop_bits))),
    };
    let threads = std::env::var("THREADS").map_or(1, |threads| threads.parse().expect("a number"));
    let config = Config { time_limit: limit, threads, ..Config::default() };
    Simulation::new(topology, node, |_: LinkId| PortSetup::default(), flows, config, ())
}

fn flow(id: u32, src: u64, dst: u64, size: u64, start: Time, app_rate: Option<Rate>) -> Flow {
    let node = |n| NodeId(u32::try_from(n).expect("a small fabric"));
    let (src, dst) = (node(src), node(dst));
    Flow { id: FlowId(id), src, dst, size: Bytes(size), start, app_rate, weight: 1, priority: 0 }
}

/// Six open-loop flows a node, alive throughout, starting at random within the first 100 us.
fn uniform() -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, "bench/uniform");
    let mut starts: Vec<u64> = (0..512 * 6).map(|_| stream.below(100_000_000)).collect();
    starts.sort_unstable();
    let offsets = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [7, 6, 5], [6, 5, 7], [5, 7, 6]];
    (0..512 * 6)
        .zip(starts)
        .map(|(id, start)| {
            let src = u64::from(id) % 512;
            let at = [src % 8, src / 8 % 8, src / 64];
            let [x, y, z] = std::array::from_fn(|i| (at[i] + offsets[id as usize / 512][i]) % 8);
            let rate = Some(Rate::from_bps(5_000_000_000 / 6));
            flow(id, src, x + 8 * y + 64 * z, 1 << 50, Time::from_ps(start), rate)
        })
        .collect()
}

/// Poisson arrivals 1 us apart, Pareto sizes (1.05, mean 100 KB), uniform pairs.
fn setup_s(count: u32) -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, "bench/setup-s");
    let mut at = 0.0;
    (0..count)
        .map(|id| {
            at += -(1.0 - stream.unit()).ln() * 1e6;
            let size = 4_761.9 * (1.0 - stream.unit()).powf(-1.0 / 1.05);
            let src = stream.below(512);
            let dst = (src + 1 + stream.below(511)) % 512;
            flow(id, src, dst, size.ceil() as u64, Time::from_ps(at as u64), None)
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn measure(name: &str, flows: Vec<Flow>, warm_up: Option<Time>, limit: Option<Time>) {
    let topology = Arc::new(
        builders::torus(&[8, 8, 8], Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims"),
    );
    let links = topology.links().count();
    let before = LIVE.load(Ordering::Relaxed);
    let start = Instant::now();
    let mut simulation = simulate(&topology, flows, limit);
    let set_up = start.elapsed();
    let at_rest = LIVE.load(Ordering::Relaxed) - before;
    // Caches, rings and queues reach their size before the clock starts.
    simulation.run(|progress| match warm_up {
        Some(end) if progress.now < end => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    let warm = simulation.totals();
    let calls = CALLS.load(Ordering::Relaxed);
    let start = Instant::now();
    simulation.run(|_| ControlFlow::Continue(()));
    let seconds = start.elapsed().as_secs_f64();
    let calls = CALLS.load(Ordering::Relaxed) - calls;
    let totals = simulation.totals();
    let hops = totals.packet_hops - warm.packet_hops;
    let events = totals.events - warm.events;
    let running = LIVE.load(Ordering::Relaxed) - before;
    println!("{name}");
    println!("  {:.2} M packet-hops/s ({hops} hops in {seconds:.2} s)", hops as f64 / seconds / 1e6);
    println!(
        "  {:.3} events a packet-hop, {:.4} allocations a packet-hop",
        events as f64 / hops as f64,
        calls as f64 / hops as f64
    );
    println!(
        "  set-up {:.1} ms, {} KB at rest: {} B a link",
        set_up.as_secs_f64() * 1e3,
        at_rest / 1_000,
        at_rest / links
    );
    let packet = Simulation::<()>::BYTES_A_PACKET;
    let peak = simulation.peak_packets_inside();
    println!("  {packet} B a packet in flight, at most {peak} of them");
    // What a run adds beside packets is for flows: senders, receivers, and an entry in every node's table.
    let for_flows = running.saturating_sub(at_rest + peak * packet) as u64;
    let alive = totals.flows_started - totals.flows_delivered;
    println!("  {} KB for flows, {alive} alive at the end", for_flows / 1_000);
    if let Some(bytes) = for_flows.checked_div(alive) {
        println!("  {bytes} B a live flow, its entries in 512 tables included");
    }
}

fn main() {
    let us = |us| Time::ZERO + Duration::from_us(us);
    // `cargo bench -p raddle-bench --bench engine -- torus` runs one of them.
    let chosen = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
    let wanted = |name: &str| chosen.as_deref().is_none_or(|word| word == name);
    if wanted("torus") {
        let name = "torus: 8x8x8, R2C2 + RPS, uniform at 50% load";
        measure(name, uniform(), Some(us(4_000)), Some(us(24_000)));
    }
    if wanted("setup-s") {
        let name = "setup-s: 8x8x8, R2C2 + RPS, a flow a microsecond";
        measure(name, setup_s(20_000), Some(us(2_000)), None);
    }
}
