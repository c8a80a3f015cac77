//! The workloads of the packet engine's benchmarks. Each has a fabric, traffic, a scheme and a duration.

#![allow(clippy::cast_possible_truncation, reason = "the numbers in the benchmarks are small")]

use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Process, Rate, Stream, Time};
use raddle_packet_sim::{Config, PortSetup, Simulation, Switching, Threads};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::{FlowControls, Plan, Queues};
use raddle_testkit::registry;
use raddle_topology::builders::ClosRates;
use raddle_topology::{Topology, XgftSize, builders};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A benchmark workload: a fabric, its traffic, a scheme and a duration.
#[derive(Debug)]
pub struct Work {
    /// The workload's name on the command line and in tables.
    pub name: &'static str,
    /// A description of the workload in one line.
    pub summary: &'static str,
    /// Simulated time at which measuring begins, after caches, ring buffers of links and congestion windows have
    /// reached their steady size.
    pub warm_up: Duration,
    /// Simulated time at which measuring ends.
    pub end: Duration,
    /// Simulated times between which instructions are counted, about half a million packet-hops apart. `None` if the
    /// count would take too long.
    pub counted: Option<[Duration; 2]>,
    /// The names of a transport and of a routing. The transport is in the registry. The routing is in the registry or
    /// belongs to the transport.
    scheme: [&'static str; 2],
    /// Limit of an egress queue in packets; `None` means no limit.
    queue_packets: Option<usize>,
    /// True if links use PFC, and switches are cut-through: they forward a packet after its first 64 bytes.
    lossless: bool,
    fabric: fn() -> Topology,
    flows: fn() -> Vec<Flow>,
}

/// All workloads.
pub const WORKS: &[Work] = &[
    Work {
        name: "fat-tree-8",
        summary: "128 hosts, TCP NewReno + ECMP, a permutation of long flows",
        warm_up: Duration::from_us(4_000),
        end: Duration::from_us(24_000),
        counted: Some([Duration::from_us(1_000), Duration::from_us(1_500)]),
        scheme: ["tcp-newreno", "ecmp"],
        queue_packets: Some(100),
        lossless: false,
        fabric: || fat_tree(8),
        flows: || permutation(128),
    },
    Work {
        name: "fat-tree-16",
        summary: "1,024 hosts, TCP NewReno + ECMP, a permutation of long flows",
        warm_up: Duration::from_us(2_000),
        end: Duration::from_us(5_000),
        counted: Some([Duration::from_us(100), Duration::from_us(200)]),
        scheme: ["tcp-newreno", "ecmp"],
        queue_packets: Some(100),
        lossless: false,
        fabric: || fat_tree(16),
        flows: || permutation(1_024),
    },
    Work {
        name: "expeditus",
        summary: "128 hosts, TCP + Expeditus, a permutation of long flows: switches measure links and keep a path for each flow",
        warm_up: Duration::from_us(4_000),
        end: Duration::from_us(24_000),
        counted: Some([Duration::from_us(1_000), Duration::from_us(1_500)]),
        scheme: ["tcp-newreno", "expeditus"],
        queue_packets: Some(100),
        lossless: false,
        fabric: || fat_tree(8),
        flows: || permutation(128),
    },
    Work {
        name: "torus",
        summary: "8x8x8 torus, R2C2 + RPS, uniform traffic at 50% load",
        warm_up: Duration::from_us(4_000),
        end: Duration::from_us(24_000),
        counted: None,
        scheme: ["r2c2", "rps"],
        queue_packets: None,
        lossless: false,
        fabric: || torus(8),
        flows: || uniform(8),
    },
    Work {
        name: "torus-4",
        summary: "4x4x4 torus, R2C2 + RPS, uniform traffic at 33% load",
        warm_up: Duration::from_us(4_000),
        end: Duration::from_us(64_000),
        counted: Some([Duration::from_us(4_000), Duration::from_us(8_000)]),
        scheme: ["r2c2", "rps"],
        queue_packets: None,
        lossless: false,
        fabric: || torus(4),
        flows: || uniform(4),
    },
    Work {
        name: "setup-s",
        summary: "8x8x8 torus, R2C2 + RPS, one new flow per microsecond: most packet-hops are broadcasts",
        warm_up: Duration::from_us(2_000),
        end: Duration::from_us(20_000),
        counted: Some([Duration::from_us(400), Duration::from_us(900)]),
        scheme: ["r2c2", "rps"],
        queue_packets: None,
        lossless: false,
        fabric: || torus(8),
        flows: setup_s,
    },
    Work {
        name: "incast",
        summary: "one switch, TCP NewReno; every 2 ms, 64 hosts send 32 KiB each to one host",
        warm_up: Duration::from_us(200_000),
        end: Duration::from_us(2_000_000),
        counted: Some([Duration::from_us(50_000), Duration::from_us(200_000)]),
        scheme: ["tcp-newreno", "ecmp"],
        queue_packets: Some(100),
        lossless: false,
        fabric: || built(builders::single_switch(65, Rate::from_gbps(10), Duration::from_us(1))),
        flows: incast,
    },
    Work {
        name: "pfq",
        summary: "8x8x8 torus, PFQ, uniform traffic at 50% load: lossless, two events and a credit per hop",
        warm_up: Duration::from_us(1_000),
        end: Duration::from_us(5_000),
        counted: Some([Duration::from_us(300), Duration::from_us(700)]),
        scheme: ["pfq", "rps"],
        queue_packets: None,
        lossless: false,
        fabric: || torus(8),
        flows: || uniform(8),
    },
    Work {
        name: "lossless",
        summary: "8-ary 3-tree, PFC + D-mod-k, a permutation at 90% load: cut-through, two events per hop",
        warm_up: Duration::from_us(500),
        end: Duration::from_us(2_500),
        counted: Some([Duration::from_us(300), Duration::from_us(550)]),
        scheme: ["cee", "d-mod-k"],
        queue_packets: None,
        lossless: true,
        fabric: || k_ary_tree(8, 3),
        flows: || loaded(permutation(512)),
    },
    Work {
        name: "lossless-random",
        summary: "8-ary 3-tree, PFC, a permutation at 90% load: each frame goes up by random ports",
        warm_up: Duration::from_us(500),
        end: Duration::from_us(2_500),
        counted: Some([Duration::from_us(300), Duration::from_us(550)]),
        scheme: ["cee", "random-up"],
        queue_packets: None,
        lossless: true,
        fabric: || k_ary_tree(8, 3),
        flows: || loaded(permutation(512)),
    },
    Work {
        name: "lossless-tree",
        summary: "2-ary 7-tree of 128 hosts (Crisan et al., Figure 7), PFC, a permutation at 90% load: each frame goes up by random ports",
        warm_up: Duration::from_us(500),
        end: Duration::from_us(4_500),
        counted: None,
        scheme: ["cee", "random-up"],
        queue_packets: None,
        lossless: true,
        fabric: || k_ary_tree(2, 7),
        flows: || loaded(permutation(128)),
    },
];

/// Returns the workload with this name.
#[must_use]
pub fn work(name: &str) -> Option<&'static Work> {
    WORKS.iter().find(|work| work.name == name)
}

impl Work {
    /// Builds the workload's topology.
    #[must_use]
    pub fn fabric(&self) -> Topology {
        (self.fabric)()
    }

    /// The workload's flows, in order of their start times.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        (self.flows)()
    }

    /// Prepares a simulation of the workload, without starting it. The simulation ends at the simulated time `limit`.
    ///
    /// # Panics
    /// If the scheme does not fit the fabric. Tests ensure that it fits.
    #[must_use]
    pub fn simulation(
        &self,
        topology: &Arc<Topology>,
        flows: Vec<Flow>,
        threads: Threads,
        limit: Duration,
    ) -> Simulation<()> {
        let [name, routing] = self.scheme;
        let scheme = registry().transport(name).expect("the registry must contain the transport");
        let of_routing = registry().routing(routing).map_or(&[][..], |routing| routing.info.parameters);
        let settings = &Settings::defaults(scheme.info.parameters);
        let plan = Plan::new(topology, routing, settings, 1);
        let mut parts = registry()
            .build(scheme, &plan, &Settings::defaults(of_routing))
            .expect("the scheme must fit the fabric");
        let mut lossless = self.lossless.then(|| lossless(&plan, parts.mtu));
        let port = |link| PortSetup {
            queue: (parts.queue)(link).or_else(|| lossless.as_mut().map(|parts| parts.0(link))),
            flow_control: lossless.as_mut().and_then(|parts| parts.1(link)),
            limit_packets: self.queue_packets,
            ..PortSetup::default()
        };
        let switching = match self.lossless {
            true => Switching::CutThrough { header: 64 },
            false => Switching::StoreAndForward,
        };
        let time_limit = Some(Time::ZERO + limit);
        let config = Config { switching, time_limit, threads, ..Config::default() };
        Simulation::new(topology, parts.node, port, flows, config, ())
    }

    /// Simulates the workload on one thread until `limit`.
    #[must_use]
    pub fn run(&self, limit: Duration) -> Simulation<()> {
        let mut simulation =
            self.simulation(&Arc::new(self.fabric()), self.flows(), Threads::Always(1), limit);
        simulation.run(|_| ControlFlow::Continue(()));
        simulation
    }
}

/// Builds the parts of ports for lossless Ethernet: strict-priority queues, which obey pauses, and PFC.
fn lossless(plan: &Plan<'_>, packet_bytes: u32) -> (Queues, FlowControls) {
    let (queue, pfc) =
        (&registry().queue("strict").expect("built in"), &registry().flow_control("pfc").expect("built in"));
    let of_queue = &Settings::defaults(queue.info.parameters);
    let of_pfc = &Settings::defaults(pfc.info.parameters);
    let queues = (queue.build)(&Plan { settings: of_queue, ..*plan }, packet_bytes);
    let pauses = (pfc.build)(&Plan { settings: of_pfc, ..*plan }, packet_bytes);
    (
        queues.expect("the default parameters of the queue must be valid"),
        pauses.expect("the buffers must have PFC headroom for links of 10 Gb/s with a delay of 50 ns"),
    )
}

fn built(topology: Result<Topology, builders::BuildError>) -> Topology {
    topology.expect("the sizes of the topology must be valid")
}

fn torus(side: u32) -> Topology {
    built(builders::torus(&[side; 3], Rate::from_gbps(10), Duration::from_ns(100)))
}

fn fat_tree(k: u32) -> Topology {
    let rate = Rate::from_gbps(10);
    let rates = ClosRates { host: rate, uplink: rate, core: rate };
    built(builders::fat_tree(k, rates, Duration::from_us(1)))
}

fn k_ary_tree(k: u32, n: usize) -> Topology {
    built(builders::xgft(XgftSize::k_ary_n_tree(k, n), Rate::from_gbps(10), Duration::from_ns(50)))
}

fn flow(id: u32, src: u64, dst: u64, size: u64, start_ps: u64, app_rate: Option<Rate>) -> Flow {
    let node = |n| NodeId(u32::try_from(n).expect("a small fabric"));
    let (src, dst, start) = (node(src), node(dst), Time::from_ps(start_ps));
    Flow { app_rate, ..Flow::new(FlowId(id), src, dst, Bytes(size), start) }
}

/// A flow size in bytes, so large that no run completes the flow.
const LONG: u64 = 1 << 50;

/// Creates a uniform load on every link of a torus. Each node sends six open-loop flows, each at a twelfth of a link's
/// rate. The six destinations are at the offset (1, 2, 3), its rotations, and their opposites. On an 8x8x8 torus these
/// destinations are six hops away, and the load is 50%. The flows start at random within the first 100 us and do not
/// end.
fn uniform(side: u64) -> Vec<Flow> {
    let nodes = side.pow(3);
    let mut stream = Stream::new(1, 0, "bench/uniform");
    let mut starts: Vec<u64> = (0..nodes * 6).map(|_| stream.below(100_000_000)).collect();
    starts.sort_unstable();
    let (one, two, three) = (side - 1, side - 2, side - 3);
    let offsets = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [one, two, three], [two, three, one], [three, one, two]];
    (0..)
        .zip(starts)
        .map(|(id, start)| {
            let src = u64::from(id) % nodes;
            let offset = offsets[(u64::from(id) / nodes) as usize];
            let at = [src % side, src / side % side, src / (side * side)];
            let [x, y, z] = std::array::from_fn(|i| (at[i] + offset[i]) % side);
            let rate = Some(Rate::from_bps(5_000_000_000 / 6));
            flow(id, src, x + side * (y + side * z), LONG, start, rate)
        })
        .collect()
}

/// R2C2's set-up S with one flow per microsecond: Poisson arrivals, Pareto sizes (shape 1.05, mean 100 KB), uniform
/// pairs.
fn setup_s() -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, "bench/setup-s");
    let mut at = 0.0;
    (0..20_000)
        .map(|id| {
            at += -(1.0 - stream.unit()).ln() * 1e6;
            let size = 4_761.9 * (1.0 - stream.unit()).powf(-1.0 / 1.05);
            let src = stream.below(512);
            let dst = (src + 1 + stream.below(511)) % 512;
            flow(id, src, dst, size.ceil() as u64, at as u64, None)
        })
        .collect()
}

/// Draws a random cyclic permutation of `hosts` hosts (Sattolo's algorithm). Each host sends one long flow and receives
/// one. The flows start at random within the first 10 us.
fn permutation(hosts: usize) -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, "bench/permutation");
    let mut to: Vec<u64> = (0..hosts as u64).collect();
    for last in (1..hosts).rev() {
        let other = stream.below(last as u64);
        to.swap(last, usize::try_from(other).expect("a small fabric"));
    }
    let mut starts: Vec<u64> = to.iter().map(|_| stream.below(10_000_000)).collect();
    starts.sort_unstable();
    (0..).zip(to).zip(starts).map(|((id, dst), start)| flow(id, id.into(), dst, LONG, start, None)).collect()
}

/// Turns each flow into Poisson packet arrivals at 90% of a link's rate.
fn loaded(flows: Vec<Flow>) -> Vec<Flow> {
    let app_rate = Some(Rate::from_gbps(9));
    flows.into_iter().map(|flow| Flow { app_rate, process: Process::Poisson, ..flow }).collect()
}

/// Every 2 ms, each of 64 hosts starts a flow of 32 KiB to host 64, all at the same time.
fn incast() -> Vec<Flow> {
    (0..1_000 * 64)
        .map(|id| flow(id, u64::from(id) % 64, 64, 32_768, u64::from(id / 64) * 2_000_000_000, None))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_runs() {
        for work in WORKS {
            assert!(work.run(Duration::from_us(30)).totals().delivered > 0, "{}", work.name);
        }
    }

    #[test]
    fn a_permutation_has_no_fixed_point() {
        let flows = permutation(128);
        let mut to: Vec<u32> = flows.iter().map(|flow| flow.dst.0).collect();
        assert!(flows.iter().all(|flow| flow.src != flow.dst));
        to.sort_unstable();
        assert!(to.into_iter().eq(0..128));
    }
}
