//! The time that R2C2's nodes ([`R2c2Node`]) take for rate computations, when they receive packets that were recorded
//! in a packet simulation.

use crate::run::packet_engine::simulation;
use crate::run::prepare::Prepared;
use raddle_core::{
    Bytes, Duration, Header, Host, Input, NodeId, Output, Packet, Parts, PortState, Ports, Progress, Time,
};
use raddle_live::replay::{Recording, record};
use raddle_packet_sim::{Reached, Threads};
use raddle_records::stats;
use raddle_schemes::scheme::Plan;
use raddle_schemes::transport::r2c2::{Fabric, Params, R2c2Node};
use raddle_topology::Topology;
use rustix::time::{ClockId, clock_gettime};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// The inputs of some nodes of an R2C2 rack in a packet simulation: the flows that start at a node, and the control
/// packets that the node receives.
#[derive(Debug)]
pub struct Recorded {
    topology: Arc<Topology>,
    params: Params,
    seed: u64,
    nodes: Vec<(NodeId, Recording)>,
    /// The start times of the first and the last flow. The recording ends when the last flow starts.
    span: (Time, Time),
}

/// The processor core that computes the rates during a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// A core of this machine. The node is replayed in real time.
    This,
    /// A core that is slower than a core of this machine by this factor. The number of replays is equal to the factor.
    /// In a replay, the clock jumps from event to event. The time of a computation is the sum of its times in all
    /// replays.
    Slow(u32),
}

/// Maximum number of replays of a node in real time. A replay is repeated if the p99 of the node's lateness exceeds the
/// interval between computations. The node may then have missed computations, because another process used the core.
const TRIES: u32 = 5;

/// Results of the replays of all recorded nodes, sorted, in percent of the interval between computations.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// The processor time of each computation.
    pub computations: Vec<f64>,
    /// The p99 of each node's lateness on the real clock, over all packets, flow starts and timers of the node in its
    /// last replay. Empty for a slow core.
    pub lateness: Vec<f64>,
}

impl Recorded {
    /// Simulates an experiment up to the start of its last flow. Records the inputs of `nodes` hosts, which are evenly
    /// spread over the fabric: the flows that start there, and the control packets. Calls `go_on` repeatedly, and
    /// returns `None` once `go_on` returns `false`.
    ///
    /// # Panics
    /// If the experiment's transport is not R2C2.
    pub fn of(prepared: &mut Prepared, nodes: usize, go_on: impl Fn() -> bool) -> Option<Self> {
        let scheme = &prepared.experiment.scheme;
        assert_eq!(scheme.transport.info.name, "r2c2", "the experiment's transport must be R2C2");
        let seed = prepared.experiment.engine.seed;
        let topology = Arc::clone(&prepared.topology);
        let params = Params::of(&Plan::new(&topology, &scheme.routing, &scheme.settings, seed));
        let starts = || prepared.flows.iter().map(|flow| flow.start);
        let span = (starts().next().unwrap_or_default(), starts().last().unwrap_or_default());

        let hosts: Vec<NodeId> = topology.hosts().collect();
        let chosen: Vec<NodeId> = (0..nodes).map(|i| hosts[i * hosts.len() / nodes]).collect();
        let (listen, recordings) = mpsc::channel();
        let mut bare = std::mem::replace(&mut prepared.parts.node, Box::new(|_| Parts::default()));
        prepared.parts.node = Box::new(move |id| {
            let mut parts = bare(id);
            if chosen.contains(&id) {
                parts.host = parts.host.map(|host| {
                    let (host, recording) = record(host, is_control);
                    listen.send((id, recording)).expect("the channel for recordings must be open");
                    host
                });
            }
            parts
        });
        let mut simulation = simulation(prepared, Threads::Always(1), (), &go_on)?;
        let look = |_: &Progress| if go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let reached = simulation.run_until(span.1, look);
        if reached == Reached::Stopped {
            return None;
        }
        let taken = |(node, recording): (NodeId, Arc<Mutex<Recording>>)| {
            (node, std::mem::take(&mut *recording.lock().unwrap_or_else(PoisonError::into_inner)))
        };
        let nodes = recordings.try_iter().map(taken).collect();
        Some(Self { topology, params, seed, nodes, span })
    }

    /// Replays the recorded nodes one after the other, and measures every computation. The interval between
    /// computations is `rho`. Computations are counted only after the first tenth of the time from the first flow's
    /// start to the last flow's start. A computation uses only flows that the node has known for a whole interval (R2C2
    /// §5.1).
    ///
    /// # Panics
    /// If `rho` is zero.
    #[must_use]
    pub fn overheads(&self, rho: Duration, core: Core) -> Measured {
        let (first, until) = self.span;
        let from = first + Duration::from_ps(until.since(first).as_ps() / 10);
        let percent = |seconds: f64| 100.0 * seconds / rho.as_secs_f64();
        let params = Params { rho, only_lasting: true, computes_idle: true, ..self.params };
        let fabric = Fabric::new(&self.topology, params);
        let host = |id| Timed { node: R2c2Node::new(&fabric, id, self.seed), times: Vec::new() };
        // The fabric drops its cache of routing weights when no node uses the cache. `keeper` keeps the cache for all
        // replays.
        let keeper = host(NodeId(0));
        keeper.node.precompute_weights();
        let mut measured = Measured::default();
        for (id, recording) in &self.nodes {
            let links = || self.topology.links_from(*id).map(|(_, link)| link.rate);
            let ports: Vec<PortState> = links().map(PortState::idle).collect();
            let times = match core {
                Core::This => {
                    let packet = Bytes(u64::from(self.params.mtu));
                    let packet_time = links().map(|rate| rate.time_for(packet)).max().unwrap_or_default();
                    let replay = || {
                        let mut host = host(*id);
                        let [_, p99, _] = recording.replay(&mut host, &ports, until, packet_time).lateness;
                        (p99, host.times)
                    };
                    let (mut p99, mut times) = replay();
                    for _ in 1..TRIES {
                        if p99 > rho {
                            (p99, times) = replay();
                        }
                    }
                    measured.lateness.push(percent(p99.as_secs_f64()));
                    times
                }
                Core::Slow(times) => {
                    let replays = (0..times).map(|_| {
                        let mut host = host(*id);
                        recording.rush(&mut host, &ports, until);
                        host.times
                    });
                    replays.reduce(add_up).unwrap_or_default()
                }
            };
            let counted = times.into_iter().filter(|&(at, _)| at >= from);
            measured.computations.extend(counted.map(|(_, seconds)| percent(seconds)));
        }
        stats::sort(&mut measured.computations);
        stats::sort(&mut measured.lateness);
        measured
    }
}

/// Adds up the times of each computation over two replays.
fn add_up(mut sums: Vec<(Time, f64)>, times: Vec<(Time, f64)>) -> Vec<(Time, f64)> {
    assert_eq!(sums.len(), times.len(), "every replay of a recording must compute rates at the same times");
    for ((due, sum), (again, seconds)) in sums.iter_mut().zip(times) {
        assert_eq!(*due, again, "every replay of a recording must compute rates at the same times");
        *sum += seconds;
    }
    sums
}

/// A node that measures the time of each of its computations.
struct Timed {
    node: R2c2Node,
    /// For each computation: the time at which it should start, and the processor seconds that it took.
    times: Vec<(Time, f64)>,
}

impl Host for Timed {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.node.handle(now, input);
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        let due = self.node.computes_at();
        if due > now {
            return self.node.poll(now, ports);
        }
        let before = processor_seconds();
        let output = self.node.poll(now, ports);
        if self.node.computes_at() != due {
            self.times.push((due, processor_seconds() - before));
        }
        output
    }
}

/// True if the packet may inform a node about other nodes' flows, or about the progress of the node's own flows.
fn is_control(packet: &Packet) -> bool {
    !matches!(packet.header, Header::R2c2Data(_))
}

/// The processor time of this thread, in seconds. It does not advance while another process has the core.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;

    const RACK: &str = r#"
[topology]
kind = "torus"
dims = [4, 4]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "10 us" }
sizes = { kind = "pareto", shape = 1.05, mean = "100 KB" }
pairs = "uniform"
flows = 200

[scheme]
transport = "r2c2"

[engine]
kind = "packet"
seed = 3
"#;

    #[test]
    fn every_node_computes_once_an_interval() {
        let document = Document::parse("rack.toml", RACK.to_owned(), "".into()).expect("an experiment");
        let mut prepared = document.prepare().expect("a sound experiment");
        let recorded = Recorded::of(&mut prepared, 4, || true).expect("the simulation was not told to stop");
        let ids: Vec<NodeId> = recorded.nodes.iter().map(|&(id, _)| id).collect();
        assert_eq!(ids, [NodeId(0), NodeId(4), NodeId(8), NodeId(12)]);
        let flows = prepared.flows.len();
        assert!(recorded.nodes.iter().all(|(_, recording)| recording.packets() > flows), "too few events");

        let rho = Duration::from_us(50);
        let (first, last) = recorded.span;
        let intervals = (last.since(first).as_ps() * 9 / 10 / rho.as_ps()) as usize;
        for core in [Core::This, Core::Slow(1), Core::Slow(3)] {
            let Measured { computations, lateness } = recorded.overheads(rho, core);
            assert!((4 * intervals..=4 * (intervals + 1)).contains(&computations.len()), "{core:?}");
            assert!(computations.is_sorted() && computations[0] > 0.0, "{core:?}");
            assert_eq!(lateness.len(), if core == Core::This { 4 } else { 0 });
        }
    }

    #[test]
    fn a_recording_that_is_stopped_is_none() {
        let document = Document::parse("rack.toml", RACK.to_owned(), "".into()).expect("an experiment");
        let mut prepared = document.prepare().expect("a sound experiment");
        assert!(Recorded::of(&mut prepared, 1, || false).is_none());
    }

    #[test]
    fn times_of_the_same_computations_add_up() {
        let at = |us| Time::ZERO + Duration::from_us(us);
        let sums = add_up(vec![(at(1), 0.25), (at(2), 0.5)], vec![(at(1), 0.5), (at(2), 0.25)]);
        assert_eq!(sums, [(at(1), 0.75), (at(2), 0.75)]);
    }
}
