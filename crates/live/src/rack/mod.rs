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
mod inspect;
pub mod ip;
mod layout;
mod party;
mod payload;
mod pool;
mod ports;
mod ring;
mod shared;
mod streams;
mod sync;
mod told;
mod worker;

pub use endpoint::{Caller, Endpoint, Gone, NoEndpoint, Outgoing as OutgoingStream, Received, WINDOW};
pub use fidelity::{Fidelity, Verdict};
pub use party::{Lost, NoParty, Party, Terms};
pub use shared::NoMemory;

use build::Build;
use clock::{Clock, system_ns};
use endpoint::{Request, Shared};
use fabric::Fabric;
use fidelity::Meter;
pub(crate) use fidelity::Steal;
use layout::Layout;
use party::{Count, Ended, Heard, Hearing, Look, Message};
use raddle_core::{
    Application, Decoders, Duration, Flow, FlowKey, Host, LinkStats, Node, NodeId, Observer, Parts, Progress,
    Time, Totals,
};
use raddle_topology::Topology;
use shared::Region;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use streams::Streams;
use told::Word;
use worker::{Standing, Worker};

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
        }
    }
}

/// From this dilation on all bytes of payloads are written and checked; below, the first cache line.
const FILLS_FROM: u32 = 4;

/// How often the thread that started a rack listens to those that poll.
const LISTENS: std::time::Duration = std::time::Duration::from_millis(10);

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
    /// What polling threads tell.
    words: Receiver<Word>,
    decoders: Decoders,
    all_flows: u64,
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
        let layout = Layout::new(topology, config, std::slice::from_ref(&all_nodes), 0);
        let region = Region::new(layout.words())?;
        Ok(Self::laid_out(topology, parts, flows, config, layout, &region, None))
    }

    /// The part of a rack that this process has in a party, at rest. The others give the same topology, flows and configuration.
    ///
    /// # Errors
    /// If the system has no such memory to share, or another process of the party gives none.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the party is of another number of nodes.
    pub fn shared(
        topology: &Arc<Topology>,
        parts: impl FnMut(NodeId) -> Parts,
        flows: &[Flow],
        config: &Config,
        mut party: Party,
    ) -> Result<Self, NoMemory> {
        let layout = Layout::new(topology, config, party.parts(), party.own());
        assert_eq!(layout.nodes() as usize, topology.nodes().count(), "a party of the rack's nodes");
        let region = party.memory(layout.words())?;
        Ok(Self::laid_out(topology, parts, flows, config, layout, &region, Some(party)))
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
        let clock = Clock::new(config.dilation, layout.held(region));
        let is_shared = party.is_some();
        let build =
            Build { topology, config, flows, layout: &layout, region, clock, words: teller, is_shared };
        let workers = layout.own_threads().map(|thread| build.worker(thread, &mut parts)).collect();
        Self {
            workers,
            words,
            decoders: config.decoders.clone(),
            all_flows: flows.len() as u64,
            programs: Arc::default(),
            requests: Vec::new(),
            packet_time: build.longest_packet_time(),
            steal: (None, None),
            took_ns: 0,
            layout: Arc::new(layout),
            party,
            others: Vec::new(),
            lost: None,
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

    /// Runs until all flows are delivered and nothing is under way, or to the time limit, or until `look`, asked about every
    /// 10 ms, says to stop. Returns whether it came to its end. The caller's thread listens meanwhile.
    ///
    /// In a party all processes run, and the host's observer hears of the nodes of all. A process that is gone ends the run:
    /// [`lost`](Self::lost).
    pub fn run<O: Observer>(
        &mut self,
        observer: &mut O,
        mut look: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        self.steal.0 = Steal::now();
        // Virtual time begins when everything is in place.
        let clock = match self.party.as_ref().map(Party::begin) {
            None => self.workers[0].fabric.clock.begun(),
            Some(Ok(at)) => self.workers[0].fabric.clock.begun_at(at),
            Some(Err(lost)) => {
                self.lost = Some(lost);
                return false;
            }
        };
        let processes = self.party.as_ref().map_or(1, |party| party.parts().len());
        let mut hearing = Hearing::new(processes, self.decoders.clone());
        let Self { workers, words, all_flows, programs, party, lost, .. } = self;
        let party = party.as_ref();
        let stop = AtomicBool::new(false);
        let standings: Vec<Standing> = workers.iter().map(|_| Standing::default()).collect();
        let (ended, panics) = thread::scope(|scope| {
            let mut polling = Vec::new();
            for (worker, standing) in workers.iter_mut().zip(&standings) {
                worker.fabric.clock.clone_from(&clock);
                worker.fabric.meter = Meter::new();
                // In a party the host may want to hear of every packet.
                worker.fabric.teller.of_packets = O::FORWARDED;
                polling.push(scope.spawn(|| worker.poll(standing, &stop)));
            }
            let ended = loop {
                thread::park_timeout(LISTENS);
                let has_programs = Arc::strong_count(programs) > 1;
                let seen = seen(|| Count { has_programs, ..Standing::count(&standings) }, words);
                let over = match party {
                    None => {
                        hearing.add_own(0, seen);
                        Ok(None)
                    }
                    Some(party) => exchange(party, &mut hearing, seen),
                };
                hearing.let_go(observer);
                match over {
                    Err(gone) => {
                        *lost = Some(gone);
                        break false;
                    }
                    Ok(Some(complete)) => break complete,
                    Ok(None) => {}
                }
                let is_guest = party.is_some_and(|party| !party.is_host());
                if !is_guest && (hearing.is_at_rest(*all_flows) || hearing.is_over()) {
                    break true;
                }
                if polling.iter().any(thread::ScopedJoinHandle::is_finished)
                    && !Standing::count(&standings).is_over
                {
                    break false; // with a panic
                }
                if look(hearing.progress()).is_break() {
                    break false;
                }
            };
            stop.store(true, Ordering::Relaxed);
            let panics: Vec<_> = polling.into_iter().filter_map(|thread| thread.join().err()).collect();
            (ended, panics)
        });
        self.took_ns = clock.real_ns();
        // Whatever has happened, programs do not wait for ever.
        self.workers.iter_mut().for_each(|worker| worker.fabric.streams = None);
        if let Some(panic) = panics.into_iter().next() {
            std::panic::resume_unwind(panic);
        }
        self.steal.1 = self.steal.0.zip(Steal::now()).map(|(before, after)| before.share_until(after));
        self.take_leave(ended, &mut hearing);
        hearing.let_all_go(observer);
        ended && self.lost.is_none()
    }

    /// Hears the last words of all processes, or says this one's.
    fn take_leave(&mut self, ended: bool, hearing: &mut Hearing) {
        let own = self.party.as_ref().map_or(0, Party::own);
        let last = seen(Count::default, &self.words);
        let others = match &self.party {
            Some(party) if !party.is_host() => party
                .tell(Heard::new(&last))
                .and_then(|()| party.end(ended, None, || self.own_end(), |_, _| {})),
            Some(party) => {
                hearing.add_own(own, last);
                let lost = self.lost.as_ref();
                party.end(ended, lost, || self.own_end(), |process, heard| hearing.add(process, heard))
            }
            None => {
                hearing.add_own(own, last);
                Ok(Vec::new())
            }
        };
        match others {
            Ok(others) => self.others = others,
            // The first that was gone has ended the run.
            Err(lost) => self.lost = self.lost.take().or(Some(lost)),
        }
    }

    /// What this process leaves.
    fn own_end(&self) -> Ended {
        let mut totals = Totals::default();
        let mut links = vec![LinkStats::default(); self.workers[0].fabric.stats.len()];
        let mut meter = Meter::new();
        for Worker { fabric, .. } in &self.workers {
            totals += fabric.totals;
            links.iter_mut().zip(&fabric.stats).for_each(|(all, of)| *all += *of);
            meter.absorb(&fabric.meter.readings());
        }
        let nodes = || self.workers.iter().flat_map(|worker| &worker.nodes);
        let retransmissions = nodes().flat_map(|node| {
            let counts = node.host().map_or_else(Vec::new, Host::retransmissions);
            counts.into_iter().map(|(key, count)| (node.place().id, key, count))
        });
        Ended {
            now: self.workers.iter().map(|worker| worker.fabric.now).max().unwrap_or(Time::ZERO),
            totals,
            links,
            readings: meter.readings(),
            copies: self.workers.iter().map(|worker| worker.fabric.copies).sum(),
            retransmissions: retransmissions.collect(),
            waiting: nodes().filter_map(|node| node.application()?.waits_for()).collect(),
        }
    }

    /// What the processes leave of which this one knows: all in a party's host, and in a rack of its own.
    fn ends(&self) -> impl Iterator<Item = Ended> {
        std::iter::once(self.own_end()).chain(self.others.iter().cloned())
    }

    /// The process that was gone before the end of the run, if one was.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// Deals with all events as fast as possible, in their order, until nothing is left or to the time limit: what a polling
    /// thread can do when it never waits.
    ///
    /// # Panics
    /// If there are several polling threads.
    pub fn rush<O: Observer>(&mut self, observer: &mut O) {
        let [worker] = &mut self.workers[..] else { panic!("only one thread can rush") };
        worker.fabric.teller.of_packets = O::FORWARDED;
        worker.rush();
        listen(&self.words, observer);
    }

    /// The virtual time of the last event, or the limit at which the run stopped.
    pub fn now(&self) -> Time {
        self.ends().map(|end| end.now).max().unwrap_or(Time::ZERO)
    }

    /// What has happened so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.ends().for_each(|end| totals += end.totals);
        totals
    }

    /// What passed over each link, by [`LinkId`].
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let mut all = vec![LinkStats::default(); self.workers[0].fabric.stats.len()];
        self.ends().for_each(|end| all.iter_mut().zip(end.links).for_each(|(all, of)| *all += of));
        all
    }

    /// Packets that hosts sent more than once, of flows that they have not closed: the host, the flow's key, how many.
    pub fn retransmissions(&self) -> Vec<(NodeId, FlowKey, u32)> {
        self.ends().flat_map(|end| end.retransmissions).collect()
    }

    /// What hosts' programs still wait for, in words.
    pub fn waiting(&self) -> Vec<String> {
        self.ends().flat_map(|end| end.waiting).collect()
    }

    /// How faithful the run was.
    pub fn fidelity(&self) -> Fidelity {
        let mut meter = Meter::new();
        let mut copies = 0;
        for end in self.ends() {
            meter.absorb(&end.readings);
            copies += end.copies;
        }
        let clock = &self.workers[0].fabric.clock;
        let held = clock.held_ns() as f64 / self.took_ns.max(1) as f64;
        meter.report(self.packet_time, clock.dilation(), copies, self.steal.1, held)
    }

    /// The host at `node`, to look into after a run; `None` if the node has none, or is another process'.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.node(node)?.host()
    }

    /// The program at `node`, to look into after a run; `None` if the node has none, or is another process'.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        self.node(node)?.application()
    }

    fn node(&self, node: NodeId) -> Option<&Node<Fabric>> {
        let worker = &self.workers[self.layout.own_thread_of(node)?];
        Some(&worker.nodes[node.index() - worker.first.index()])
    }
}

/// What this process sees and hears of its own nodes now.
fn seen(count: impl FnOnce() -> Count, words: &Receiver<Word>) -> Look {
    let began_ns = system_ns();
    let count = count();
    Look { began_ns, count, words: words.try_iter().collect() }
}

/// Tells the others of a party what was seen here, and hears what they say. Returns whether the run came to its end, if it is over.
fn exchange(party: &Party, hearing: &mut Hearing, look: Look) -> Result<Option<bool>, Lost> {
    if party.is_host() {
        hearing.add_own(party.own(), look);
    } else {
        party.tell(Heard::new(&look))?;
        hearing.add_own(party.own(), Look { words: Vec::new(), ..look });
    }
    while let Some(message) = party.hear()? {
        match message {
            Message::Heard(process, heard) => hearing.add(process, heard),
            Message::Over(complete) => return Ok(Some(complete)),
        }
    }
    party.check_silence(hearing)?;
    Ok(None)
}

/// Hears what polling threads have told so far.
fn listen(words: &Receiver<Word>, observer: &mut impl Observer) {
    words.try_iter().for_each(|word| word.tell(observer));
}

#[cfg(test)]
mod tests;
