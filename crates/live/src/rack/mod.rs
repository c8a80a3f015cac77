//! Maze's rack: virtual nodes that move real bytes in real time (Costa et al., SIGCOMM 2015, §4.1; specs/live.md).
//!
//! Nodes are those of the simulators. A link is a ring of slot numbers in shared memory, and bytes stay in their slot from the
//! node that sends them to the node that they are for. Each packet carries when it is due at the next node: the begin of its
//! transmission, the time that its bytes take, and the link's delay. A node computes from due times, not from the clock, so
//! that lateness does not add up over hops; where a packet comes later than four packet times, the clock counts, and the
//! packet has slipped. [`Fidelity`] says how often, and whether the run's results are those of the fabric.

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

/// How a rack runs.
#[derive(Debug, Clone)]
pub struct Config {
    /// Real time over virtual time, at least 1.
    pub dilation: u32,
    /// Threads that poll, each nodes of its own. They want a core each.
    pub threads: usize,
    /// Most bytes of a packet.
    pub packet_bytes: usize,
    /// Slots for packets; more of them at once are lost.
    pub slots: u32,
    /// Packets that a link holds, waiting and under way; a power of two.
    pub ring: usize,
    /// The headers that nodes can read.
    pub decoders: Decoders,
    /// When to stop, if flows are left.
    pub time_limit: Option<Time>,
    /// Whether relays copy packets into slots of their own, as a network card would that writes into a node's memory, rather than
    /// pass them on where they are: to see what that costs.
    pub copies: bool,
    /// How packets go to other machines, in a party that meets at a TCP address.
    pub provider: Provider,
}

/// A provider of libfabric, by which packets go to other machines.
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
    /// What experiments call it, of all.
    pub const NAMES: [(&str, Self); 3] = [("tcp", Self::Tcp), ("shm", Self::Shm), ("verbs", Self::Verbs)];
}

/// Why a process has no part in a rack.
#[derive(Debug, thiserror::Error)]
pub enum NoRack {
    /// There is no memory.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// Another process is gone.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// libfabric cannot move packets to the other machines.
    #[error("no rings to other machines: {0}")]
    Machines(String),
}

impl Default for Config {
    /// Real time, one thread, packets of up to 9 KB, 16,384 slots, 1,024 packets a link.
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

/// From this dilation on all bytes of payloads are written and checked; below, the first cache line.
const FILLS_FROM: u32 = 4;

/// A rack.
pub struct Rack {
    /// This process' polling threads.
    workers: Vec<Worker>,
    layout: Arc<Layout>,
    /// The processes that share the rack, if there are others.
    party: Option<Party>,
    /// What the others have left, in the party's host.
    others: Vec<Ended>,
    /// The process that was gone, which has ended the run.
    lost: Option<Lost>,
    /// Processes of other machines that polling threads no longer reach.
    gone: Receiver<machines::Gone>,
    /// What polling threads tell.
    words: Receiver<Word>,
    decoders: Decoders,
    all_flows: u64,
    /// The load generator that runs beside the rack, if one does.
    generator: Generator,
    /// The cores that polling threads have for themselves, in a rack of Linux hosts.
    cores: Option<ip::Cores>,
    /// Why the load generator has failed, if it has.
    load_failed: Option<std::io::Error>,
    /// What endpoints share, and where they ask the threads.
    programs: Arc<Shared>,
    requests: Vec<Sender<(NodeId, Request)>>,
    /// What a full packet takes on the slowest link.
    packet_time: Duration,
    /// The processors' time before the run, and what others took of it until its end.
    steal: (Option<Steal>, Option<f64>),
    /// What the run took, in ns.
    took_ns: u64,
}

impl Rack {
    /// A rack at rest, before its first flow.
    ///
    /// # Errors
    /// If the system has no such memory to share.
    ///
    /// # Panics
    /// If the flows are not in order of start, and of id among those that start together, or the configuration cannot be.
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

    /// The part of a rack that this process has in a party, at rest. The others give the same topology, flows and configuration.
    ///
    /// # Errors
    /// [`NoRack`], if the system has no such memory, another process of the party gives none, or there is no way to other machines.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the party is of another number of nodes.
    pub fn shared(
        topology: &Arc<Topology>,
        parts: impl FnMut(NodeId) -> Parts,
        flows: &[Flow],
        config: &Config,
        mut party: Party,
    ) -> Result<Self, NoRack> {
        let address = party.address();
        let layout = Layout::new(topology, config, party.parts(), party.own(), address.is_some());
        assert_eq!(layout.nodes() as usize, topology.nodes().count(), "a party of the rack's nodes");
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
        assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.id)), "flows come in order of start");
        assert!(config.packet_bytes <= ring::MOST_BYTES, "a ring's entry has 24 bits for a packet's length");
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

    /// A door for a program at a node. The rack then moves the bytes of programs, and runs until all endpoints and their streams
    /// are gone.
    ///
    /// # Errors
    /// [`NoEndpoint`], if there is no such node, its host carries no streams, or the rack has a workload.
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
