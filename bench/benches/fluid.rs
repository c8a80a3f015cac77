//! Measures fluid policies on one core: the microseconds that a policy needs to update all rates when a flow leaves or
//! arrives, and the milliseconds that it needs to compute all rates at the start. Many flows are active on a fat-tree
//! at 10 Gbps, with uniform pairs and ECMP.
//!
//! A flow that leaves has a rate above zero, because in a simulation flows leave when they are complete. In the output,
//! `touched` is the mean number of rates that change per arrival or departure.

use raddle_allocate::{Changes, Criticality, Fluid, FluidFlow, MaxMin, Reservation, Rules};
use raddle_core::{Duration, Stream, Time};
use std::time::Instant;

const RATE_BPS: f64 = 1e10;

/// A fat-tree of k-port switches: k pods of (k/2)^2 hosts. Each cable has two link slots: up and down.
struct FatTree {
    half: u64,
}

impl FatTree {
    fn hosts(&self) -> u64 {
        2 * self.half.pow(3)
    }

    /// Number of link slots. Each of the three tiers of cables has one cable per host, and each cable has two slots.
    fn slots(&self) -> usize {
        usize::try_from(6 * self.hosts()).expect("the number of link slots must fit a `usize`")
    }

    /// Writes to `row` the links of the path from `src` to `dst`. The number `random` selects the edge switch's uplink
    /// and the core.
    fn path(&self, src: u64, dst: u64, random: u64, row: &mut Vec<(u32, f32)>) {
        let (half, hosts) = (self.half, self.hosts());
        let (edge_port, core_port) = (random % half, random / half % half);
        let edge = |host: u64| host / half;
        let pod = |host: u64| host / (half * half);
        let to_aggregation = |host: u64| hosts + edge(host) * half + edge_port;
        let to_core = |host: u64| 2 * hosts + (pod(host) * half + edge_port) * half + core_port;
        row.clear();
        let mut push =
            |link: u64, down: u64| row.push((u32::try_from(2 * link + down).expect("32 bits"), 1.0));
        push(src, 0);
        if edge(src) != edge(dst) {
            push(to_aggregation(src), 0);
            if pod(src) != pod(dst) {
                push(to_core(src), 0);
                push(to_core(dst), 1);
            }
            push(to_aggregation(dst), 1);
        }
        push(dst, 1);
    }
}

/// A policy and its active flows.
struct Flows<'a, P> {
    policy: P,
    tree: &'a FatTree,
    deadlines: bool,
    stream: Stream,
    order: u64,
    /// The numbers (slots) that the policy has given to the active flows. `rates` is indexed by
    /// slot.
    live: Vec<usize>,
    rates: Vec<f64>,
    changes: Changes,
    row: Vec<(u32, f32)>,
}

impl<P: Fluid> Flows<'_, P> {
    fn come(&mut self, now: Time) {
        let hosts = self.tree.hosts();
        let src = self.stream.below(hosts);
        let dst = (src + 1 + self.stream.below(hosts - 1)) % hosts;
        self.tree.path(src, dst, self.stream.bits() >> 16, &mut self.row);
        // The flows are so long that none completes during the benchmark.
        let size_bits = 1e9 + self.stream.exponential(1e9);
        let due = if self.deadlines {
            now + Duration::from_ms(1000 + self.stream.below(9000))
        } else {
            Time::NEVER
        };
        self.order += 1;
        let slot = self.policy.insert(
            now,
            FluidFlow {
                order: self.order,
                weight: 1.0,
                class: 0,
                demand_bps: f64::INFINITY,
                size_bits,
                due,
                rtt: Duration::from_us(100),
                row: &self.row,
            },
        );
        self.rates.resize(self.rates.len().max(slot + 1), 0.0);
        self.rates[slot] = 0.0;
        self.live.push(slot);
    }

    fn settle(&mut self, now: Time) {
        self.changes.clear();
        self.policy.settle(now, &mut self.changes);
    }

    /// Stores the rates that the latest call of `settle` reported. Returns the number of these rates.
    fn note(&mut self) -> usize {
        for &(slot, rate) in &self.changes.rates {
            self.rates[slot] = rate;
        }
        assert!(self.changes.given_up.is_empty(), "deadlines are far");
        self.changes.rates.len()
    }
}

fn percentile(samples: &mut [f64], p: usize) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[(samples.len() * p / 100).min(samples.len() - 1)]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn timed(samples: &mut Vec<f64>, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    samples.push(start.elapsed().as_secs_f64() * 1e6);
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn measure(name: &str, policy: impl Fluid, tree: &FatTree, count: usize, deadlines: bool, repeats: usize) {
    let mut flows = Flows {
        policy,
        tree,
        deadlines,
        stream: Stream::new(1, count as u64, "bench/fluid"),
        order: 0,
        live: Vec::new(),
        rates: Vec::new(),
        changes: Changes::default(),
        row: Vec::new(),
    };
    let mut now = Time::ZERO;
    (0..count).for_each(|_| flows.come(now));
    let mut all = Vec::new();
    timed(&mut all, || flows.settle(now));
    flows.note();
    let (mut going, mut coming, mut touched) = (Vec::new(), Vec::new(), 0);
    for _ in 0..repeats {
        now += Duration::from_ns(10);
        let at = loop {
            let at = flows.stream.index(count);
            if flows.rates[flows.live[at]] > 0.0 {
                break at;
            }
        };
        let slot = flows.live.swap_remove(at);
        timed(&mut going, || {
            flows.policy.remove(now, slot);
            flows.settle(now);
        });
        touched += flows.note();
        now += Duration::from_ns(10);
        timed(&mut coming, || {
            flows.come(now);
            flows.settle(now);
        });
        touched += flows.note();
    }
    println!(
        "{count} flows, {} hosts, {name}: departure of a flow {:.2} us (p99 {:.1}), arrival of a flow \
         {:.2} us (p99 {:.1}), rates changed per event {:.1}; arrival of all flows at once {:.1} ms",
        tree.hosts(),
        percentile(&mut going, 50),
        percentile(&mut going, 99),
        percentile(&mut coming, 50),
        percentile(&mut coming, 99),
        touched as f64 / (2 * repeats) as f64,
        all[0] / 1e3,
    );
}

fn main() {
    // The first three cases have about one flow per host, the other three about ten flows per host.
    for (half, count) in [(8, 1_000), (14, 5_000), (37, 100_000), (4, 1_000), (6, 5_000), (17, 100_000)] {
        let tree = FatTree { half };
        let links = vec![RATE_BPS; tree.slots()];
        let repeats = if count > 10_000 { 2_000 } else { 5_000 };
        measure("max-min", MaxMin::new(&links), &tree, count, false, repeats);
        let criticality = || Criticality::new(&links, Rules::default());
        measure("criticality", criticality(), &tree, count, false, repeats);
        measure("criticality, deadlines", criticality(), &tree, count, true, repeats);
        measure("reservation", Reservation::new(&links), &tree, count, false, repeats);
        measure("reservation, deadlines", Reservation::new(&links), &tree, count, true, repeats);
    }
}
