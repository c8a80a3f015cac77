//! Maze's rack: virtual nodes that move real bytes in real time (Costa et al., SIGCOMM 2015, §4.1;
//! specifications/live.md).
//!
//! The rack's nodes are the same objects as in the simulators. A link is a ring of slot numbers in shared memory. A
//! packet's bytes stay in their slot from the sender to the receiver, unless [`Config::copies`] is set or a link leads
//! to another machine. Each packet carries the time at which it is due at the next node: the start of its transmission
//! plus its serialization delay plus the link's propagation delay. A node computes with due times rather than with the
//! clock, so that lateness does not add up over hops. If a packet is late by more than four times the serialization
//! delay of a full packet, the node uses the clock instead: the packet has slipped. [`Fidelity`] reports the number of
//! slips, and whether the run's results are valid for the modeled fabric.

mod build;
mod clock;
mod endpoint;
mod events;
mod fabric;
mod failures;
mod fidelity;
mod generator;
mod inspect;
pub mod ip;
mod layout;
#[cfg_attr(not(feature = "libfabric"), path = "no_machines.rs")]
mod machines;
mod orders;
mod party;
mod payload;
mod pool;
mod ports;
mod results;
mod ring;
mod run;
mod shared;
mod streams;
mod sync;
mod told;
mod worker;

pub use endpoint::{Caller, Endpoint, Gone, NoEndpoint, Outgoing as OutgoingStream, Received, WINDOW};
pub use fidelity::{Fidelity, Verdict};
pub use generator::Stay;
pub(crate) use machines::providers;
pub use orders::Orders;
pub use party::{Lost, Meeting, NoParty, Party, Terms};
pub use shared::NoMemory;

use build::Build;
pub(crate) use clock::Clock;
use endpoint::{Request, Shared};
use fabric::Fabric;
pub(crate) use fidelity::{MOST_SLIPS, Meter, Steal};
use generator::Generator;
use layout::Layout;
use party::Ended;
use raddle_core::{Decoders, Duration, Flow, Node, NodeId, Parts, Time};
use raddle_topology::Topology;
use shared::Region;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use streams::Streams;
use told::Word;
use worker::Worker;

/// The configuration of a rack.
#[derive(Debug, Clone)]
pub struct Config {
    /// Seconds of real time per second of virtual time, at least 1.
    pub dilation: u32,
    /// Number of polling threads of each process, at most one per node of the process. Each thread serves its own nodes
    /// and needs a core of its own.
    pub threads: usize,
    /// Maximum size of a packet in bytes.
    pub packet_bytes: usize,
    /// Total number of packet slots, over all threads that share memory. Each thread gets an equal share, and drops a
    /// packet if none of its own slots is free.
    pub slots: u32,
    /// Maximum number of packets in a link's ring: packets in flight, and packets that wait in a plain FIFO. Must be a
    /// power of two.
    pub ring: usize,
    /// Decoders of the headers that nodes can read.
    pub decoders: Decoders,
    /// The virtual time at which to stop, even if flows are left.
    pub time_limit: Option<Time>,
    /// If true, each relay copies each packet into a new slot, like a network card that writes into the node's memory.
    /// A run then shows the cost of copies. If false, a packet stays in its slot until it reaches the receiver or a
    /// link to another machine.
    pub copies: bool,
    /// The libfabric provider that moves packets to other machines, in a party that meets at a TCP address.
    pub provider: Provider,
}

/// A libfabric provider, which moves packets to other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Provider {
    /// TCP connections: `tcp;ofi_rxm`.
    #[default]
    Tcp,
    /// Shared memory, between processes of one user on one machine: `shm`.
    Shm,
    /// RDMA: `verbs;ofi_rxm`.
    Verbs,
}

impl Provider {
    /// For each provider: its name in experiments, and the provider.
    pub const NAMES: [(&str, Self); 3] = [("tcp", Self::Tcp), ("shm", Self::Shm), ("verbs", Self::Verbs)];
}

/// The reason why a process cannot take part in a rack.
#[derive(Debug, thiserror::Error)]
pub enum NoRack {
    /// The memory for rings and packets cannot be allocated, mapped or passed between processes.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// Another process is gone, has sent an invalid message, or did not answer in time.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// libfabric cannot move packets to the other machines.
    #[error("cannot set up packet rings to other machines: {0}")]
    Machines(String),
}

impl Default for Config {
    /// Dilation 1, one thread, packets of up to 9,216 bytes, 16,384 slots, 1,024 packets per link, and TCP between
    /// machines.
    fn default() -> Self {
        Self {
            dilation: 1,
            threads: 1,
            packet_bytes: 9_216,
            slots: 1 << 14,
            ring: 1 << 10,
            decoders: Decoders::BUILTIN,
            time_limit: None,
            copies: false,
            provider: Provider::Tcp,
        }
    }
}

/// At this dilation or more, all bytes of the flows' payloads are written and checked. At smaller dilations, only the
/// bytes in the cache line in which the payload begins are written and checked. If the packet's checksum covers the
/// payload, the payload is then zeros, and only the checksum is checked.
const FILLS_FROM: u32 = 4;

/// A rack.
pub struct Rack {
    /// The polling threads of this process.
    workers: Vec<Worker>,
    layout: Arc<Layout>,
    /// The party of processes that share the rack, if there are other processes.
    party: Option<Party>,
    /// The results of the other processes, if this process is the party's host.
    others: Vec<Ended>,
    /// The process whose loss ended the run.
    lost: Option<Lost>,
    /// Processes of other machines that polling threads can no longer reach.
    gone: Receiver<machines::Gone>,
    /// The events that the polling threads report.
    words: Receiver<Word>,
    decoders: Decoders,
    all_flows: u64,
    /// The load generator that runs beside the rack, if there is one.
    generator: Generator,
    /// The cores reserved for polling threads, in a rack of Linux hosts.
    cores: Option<ip::Cores>,
    /// The error that ended the load generator, if one did.
    load_failed: Option<std::io::Error>,
    /// State that endpoints share.
    programs: Arc<Shared>,
    /// The endpoints' channels to the polling threads.
    requests: Vec<Sender<(NodeId, Request)>>,
    /// Serialization delay of a full packet on the slowest link.
    packet_time: Duration,
    /// The CPU time counters before the run, and the share of CPU time that other virtual machines took during the run.
    /// `None` if the system does not report them.
    steal: (Option<Steal>, Option<f64>),
    /// Duration of the run in real time, in ns.
    took_ns: u64,
}

impl Rack {
    /// Creates a rack in which no flow has started and no packet is in flight.
    ///
    /// # Errors
    /// [`NoMemory`], if the system refuses the memory.
    ///
    /// # Panics
    /// If the flows are not in order of start time and then of id, or the configuration is invalid.
    #[allow(clippy::cast_possible_truncation, reason = "the number of nodes must fit a `u32`")]
    pub fn new(
        topology: &Arc<Topology>,
        parts: impl FnMut(NodeId) -> Parts,
        flows: &[Flow],
        config: &Config,
    ) -> Result<Self, NoMemory> {
        let all_nodes = 0..topology.nodes().count() as u32;
        let layout = Layout::new(topology, config, std::slice::from_ref(&all_nodes), 0, false);
        let region = Region::new(layout.words())?;
        Ok(Self::laid_out(topology, parts, flows, config, layout, &region, None))
    }

    /// Creates this process's part of a rack that a party shares. No flow has started. The other processes must pass
    /// the same topology, flows and configuration.
    ///
    /// # Errors
    /// [`NoRack`], if the memory cannot be allocated or passed between processes, another process of the party is
    /// [lost](Lost), or libfabric cannot reach the other machines.
    ///
    /// # Panics
    /// In the same cases as [`new`](Self::new), and if the party and the topology have different numbers of nodes.
    pub fn shared(
        topology: &Arc<Topology>,
        parts: impl FnMut(NodeId) -> Parts,
        flows: &[Flow],
        config: &Config,
        mut party: Party,
    ) -> Result<Self, NoRack> {
        let address = party.address();
        let layout = Layout::new(topology, config, party.parts(), party.own(), address.is_some());
        assert_eq!(
            layout.nodes() as usize,
            topology.nodes().count(),
            "the party and the topology must have the same number of nodes"
        );
        let Some(address) = address else {
            let region = party.memory(layout.words())?;
            return Ok(Self::laid_out(topology, parts, flows, config, layout, &region, Some(party)));
        };
        let region = Region::new(layout.words())?;
        let mut rack = Self::laid_out(topology, parts, flows, config, layout, &region, Some(party));
        rack.gone = machines::cross(&mut rack, config, &region, address)?;
        Ok(rack)
    }

    fn laid_out(
        topology: &Arc<Topology>,
        mut parts: impl FnMut(NodeId) -> Parts,
        flows: &[Flow],
        config: &Config,
        layout: Layout,
        region: &Arc<Region>,
        party: Option<Party>,
    ) -> Self {
        assert!(
            flows.is_sorted_by_key(|flow| (flow.start, flow.id)),
            "flows must be in order of start time, then of id"
        );
        assert!(
            config.packet_bytes <= ring::MOST_BYTES,
            "`packet_bytes` must fit 24 bits, the size of the length field of a ring entry"
        );
        let (teller, words) = mpsc::channel();
        let clock = Clock::new(config.dilation, Some(layout.held(region)));
        let is_shared = party.is_some();
        let build =
            Build { topology, config, flows, layout: &layout, region, clock, words: teller, is_shared };
        let workers = layout.own_threads().map(|thread| build.worker(thread, &mut parts)).collect();
        Self {
            workers,
            words,
            decoders: config.decoders.clone(),
            all_flows: flows.len() as u64,
            generator: Generator::default(),
            cores: None,
            load_failed: None,
            programs: Arc::default(),
            requests: Vec::new(),
            packet_time: build.longest_packet_time(),
            steal: (None, None),
            took_ns: 0,
            layout: Arc::new(layout),
            party,
            others: Vec::new(),
            lost: None,
            gone: mpsc::channel().1,
        }
    }

    /// Creates an endpoint for a program at a node. The rack then carries the bytes of programs, and runs until all
    /// endpoints, callers and streams of programs are dropped.
    ///
    /// # Errors
    /// [`NoEndpoint`], if this process runs no such node, the node's host does not support streams, or the rack has a
    /// workload.
    pub fn endpoint(&mut self, node: NodeId) -> Result<Endpoint, NoEndpoint> {
        let thread = self.layout.own_thread_of(node).ok_or(NoEndpoint::NoNode(node))?;
        if self.all_flows > 0 {
            return Err(NoEndpoint::Workload);
        }
        if !self.node(node).is_some_and(Node::carries_streams) {
            return Err(NoEndpoint::NotCarried(node));
        }
        let nodes = self.layout.nodes();
        if self.requests.is_empty() {
            for worker in &mut self.workers {
                let (ask, requests) = mpsc::channel();
                self.requests.push(ask);
                worker.fabric.streams = Some(Streams::new(nodes as usize, requests));
            }
        }
        let (program, received) = mpsc::channel();
        if let Some(streams) = &mut self.workers[thread].fabric.streams {
            streams.listen(node, program);
        }
        let (requests, shared) = (self.requests[thread].clone(), Arc::clone(&self.programs));
        let caller = Caller { node, nodes, requests, shared };
        Ok(Endpoint { caller, received })
    }

    fn node(&self, node: NodeId) -> Option<&Node<Fabric>> {
        let worker = &self.workers[self.layout.own_thread_of(node)?];
        Some(&worker.nodes[node.index() - worker.first.index()])
    }
}

#[cfg(test)]
mod tests;
