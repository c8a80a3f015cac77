//! Maze's rack: virtual nodes that move real bytes in real time (Costa et al., SIGCOMM 2015, §4.1; specs/live.md).
//!
//! Nodes are those of the simulators. A link is a ring of slot numbers in shared memory, and bytes stay in their slot from the
//! node that sends them to the node that they are for. Each packet carries when it is due at the next node: the begin of its
//! transmission, the time that its bytes take, and the link's delay. A node computes from due times, not from the clock, so
//! that lateness does not add up over hops; where a packet comes later than four packet times, the clock counts, and the
//! packet has slipped. [`Fidelity`] says how often, and whether the run's results are those of the fabric.

mod clock;
mod endpoint;
mod fabric;
mod fidelity;
pub mod ip;
mod payload;
mod pool;
mod ring;
mod shared;
mod streams;
mod sync;
mod told;
mod worker;

pub use endpoint::{Caller, Endpoint, Gone, NoEndpoint, Outgoing as OutgoingStream, Received, WINDOW};
pub use fidelity::{Fidelity, Verdict};
pub use shared::NoMemory;

pub(crate) use clock::Clock;
use endpoint::{Request, Shared};
use fabric::{Event, Fabric, Outgoing, Place};
pub(crate) use fidelity::{Meter, Steal};
use pool::{FreeList, Slots};
use raddle_core::{
    Application, Bytes, Decoders, Duration, Flow, Host, LinkId, LinkStats, Node, NodeId, Observer, Parts,
    PortId, PortState, Progress, Rate, Time, Totals,
};
use raddle_topology::Topology;
use ring::{Consumer, Producer};
use shared::Region;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use streams::Streams;
use told::{Teller, Word};
use worker::{Incoming, Standing, Worker};

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
        }
    }
}

/// From this dilation on all bytes of payloads are written and checked; below, the first cache line.
const FILLS_FROM: u32 = 4;

/// How often the thread that started a rack listens to those that poll.
const LISTENS: std::time::Duration = std::time::Duration::from_millis(10);

/// A rack.
pub struct Rack {
    workers: Vec<Worker>,
    /// By node, the polling thread that has it.
    thread_of: Vec<usize>,
    /// What polling threads tell.
    words: Receiver<Word>,
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
        mut parts: impl FnMut(NodeId) -> Parts,
        flows: &[Flow],
        config: &Config,
    ) -> Result<Self, NoMemory> {
        assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.id)), "flows come in order of start");
        let nodes: Vec<NodeId> = topology.nodes().collect();
        let threads = config.threads.clamp(1, nodes.len().max(1));
        let thread_of: Vec<usize> = (0..nodes.len()).map(|node| node * threads / nodes.len()).collect();
        let links: Vec<_> = topology.links().collect();

        // Slots, a ring a link, and a ring of slots on their way back for each pair of threads.
        let slots_of_thread = (config.slots as usize / threads).max(1);
        let slots = (slots_of_thread * threads) as u32;
        let returning = slots_of_thread.next_power_of_two();
        let sizes = [
            (1, pool::words(slots, config.packet_bytes)),
            (links.len(), ring::words(config.ring)),
            (threads * threads, ring::words(returning)),
        ];
        let aligned = |words: usize| words.next_multiple_of(8);
        let region = Region::new(sizes.iter().map(|&(count, words)| count * aligned(words)).sum())?;
        let piece = |kind: usize, i: usize| {
            let before: usize = sizes[..kind].iter().map(|&(count, words)| count * aligned(words)).sum();
            let begin = before + i * aligned(sizes[kind].1);
            region.words(begin..begin + sizes[kind].1)
        };
        let slots = Slots::new(piece(0, 0), config.packet_bytes);

        let idle = (0..topology.link_slots()).map(|id| {
            let rate = topology.link(LinkId::of(id)).map_or(Rate::ZERO, |link| link.rate);
            PortState::idle(rate).limited(Bytes((config.ring / 2 * config.packet_bytes) as u64))
        });
        let ports: Vec<PortState> = idle.collect();
        let (teller, words) = mpsc::channel();
        let mut packet_time = Duration::ZERO;
        for (_, end) in &links {
            packet_time = packet_time.max(end.rate.time_for(Bytes(config.packet_bytes as u64)));
        }
        let clock = Clock::new(config.dilation);
        let time_limit = config.time_limit.unwrap_or(Time::NEVER);
        let worker = |thread: usize| {
            let own = || nodes.iter().copied().filter(|node| thread_of[node.index()] == thread);
            let mut incoming = Vec::new();
            for (i, &(link, end)) in links.iter().enumerate() {
                if thread_of[end.to.index()] == thread {
                    let patience = end.rate.time_for(Bytes(config.packet_bytes as u64)) * 4;
                    let is_remote = thread_of[end.from.index()] != thread;
                    let ring = Consumer::new(piece(1, i));
                    incoming.push(Incoming {
                        ring,
                        link,
                        to: end.to,
                        port: end.to_port,
                        patience,
                        is_remote,
                    });
                }
            }
            incoming.sort_by_key(|incoming| !incoming.is_remote);
            let mut out: Vec<Option<Outgoing>> = (0..topology.link_slots()).map(|_| None).collect();
            for (i, &(link, end)) in links.iter().enumerate() {
                if thread_of[end.from.index()] == thread {
                    let incoming = incoming.iter().position(|incoming| incoming.link == link);
                    let ring = Producer::new(piece(1, i));
                    out[link.index()] = Some(Outgoing { ring, delay: end.delay, incoming });
                }
            }
            let pair = |from: usize, to: usize| piece(2, from * threads + to);
            let node = |id: NodeId| {
                let first_link = topology.link_id(id, PortId(0)).index();
                Node::new(parts(id), Place { id, first_link, ports: topology.port_count(id) })
            };
            let nodes: Vec<Node<Fabric>> = own().map(node).collect();
            let own_flows = flows.iter().filter(|flow| thread_of[flow.src.index()] == thread);
            let own_flows: VecDeque<Flow> = own_flows.copied().collect();
            let wakes = nodes.iter().map(|node| (node.wake(), Event::Wake(node.place().id)));
            let ticks = nodes.iter().map(|node| (node.tick(), Event::Tick(node.place().id)));
            let flows_begin = own_flows.front().map(|flow| (flow.start, Event::Flows));
            let events = wakes.chain(ticks).chain(flows_begin).filter(|&(at, _)| at < Time::NEVER);
            let first_slot = (thread * slots_of_thread) as u32;
            let fabric = Fabric {
                clock: clock.clone(),
                now: Time::ZERO,
                ports: ports.clone(),
                stats: vec![LinkStats::default(); topology.link_slots()],
                topology: Arc::clone(topology),
                out,
                free: FreeList::new(first_slot..first_slot + slots_of_thread as u32),
                returns: (0..threads)
                    .map(|to| (to != thread).then(|| Producer::new(pair(thread, to))))
                    .collect(),
                returned: (0..threads)
                    .filter(|&from| from != thread)
                    .map(|from| Consumer::new(pair(from, thread)))
                    .collect(),
                slots: slots.clone(),
                decoders: config.decoders.clone(),
                buffer: Vec::new(),
                body: Vec::new(),
                streams: None,
                wakes: nodes.iter().filter(|node| node.wake() < Time::NEVER).count(),
                events: events.map(Reverse).collect(),
                totals: Totals::default(),
                teller: Teller { words: teller.clone(), of_packets: false },
                meter: Meter::new(),
                fills: config.dilation >= FILLS_FROM,
                copies: 0,
                put: 0,
                taken: 0,
                is_expected: vec![false; incoming.len()],
            };
            Worker {
                first: own().next().unwrap_or(NodeId(0)),
                nodes,
                incoming,
                flows: own_flows,
                fabric,
                time_limit,
                packet_time,
            }
        };
        let workers = (0..threads).map(worker).collect();
        Ok(Self {
            workers,
            words,
            all_flows: flows.len() as u64,
            programs: Arc::default(),
            requests: Vec::new(),
            packet_time,
            steal: (None, None),
            took_ns: 0,
            thread_of,
        })
    }

    /// A door for a program at a node. The rack then moves the bytes of programs, and runs until all endpoints and their streams
    /// are gone.
    ///
    /// # Errors
    /// [`NoEndpoint`], if there is no such node, its host carries no streams, or the rack has a workload.
    pub fn endpoint(&mut self, node: NodeId) -> Result<Endpoint, NoEndpoint> {
        if node.index() >= self.thread_of.len() {
            return Err(NoEndpoint::NoNode(node));
        }
        if self.all_flows > 0 {
            return Err(NoEndpoint::Workload);
        }
        if !self.node(node).carries_streams() {
            return Err(NoEndpoint::NotCarried(node));
        }
        let nodes = self.thread_of.len();
        if self.requests.is_empty() {
            for worker in &mut self.workers {
                let (ask, requests) = mpsc::channel();
                self.requests.push(ask);
                worker.fabric.streams = Some(Streams::new(nodes, requests));
            }
        }
        let thread = self.thread_of[node.index()];
        let (program, received) = mpsc::channel();
        if let Some(streams) = &mut self.workers[thread].fabric.streams {
            streams.listen(node, program);
        }
        let (requests, shared) = (self.requests[thread].clone(), Arc::clone(&self.programs));
        let caller = Caller { node, nodes: nodes as u32, requests, shared };
        Ok(Endpoint { caller, received })
    }

    /// Runs until all flows are delivered and nothing is under way, or to the time limit, or until `look`, asked about every
    /// 10 ms, says to stop. Returns whether it came to its end. The caller's thread listens meanwhile.
    pub fn run<O: Observer>(
        &mut self,
        observer: &mut O,
        mut look: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        let Self { workers, words, all_flows, programs, .. } = self;
        let stop = AtomicBool::new(false);
        let standings: Vec<Standing> = workers.iter().map(|_| Standing::default()).collect();
        self.steal.0 = Steal::now();
        // Virtual time begins when everything is in place.
        let clock = workers.first().map(|worker| Clock::new(worker.fabric.clock.dilation() as u32));
        let (ended, panics) = thread::scope(|scope| {
            let mut polling = Vec::new();
            for (worker, standing) in workers.iter_mut().zip(&standings) {
                worker.fabric.clock.clone_from(clock.as_ref().expect("there are workers"));
                worker.fabric.meter = Meter::new();
                worker.fabric.teller.of_packets = O::FORWARDED;
                polling.push(scope.spawn(|| worker.poll(standing, &stop)));
            }
            let mut before = None;
            let ended = loop {
                thread::park_timeout(LISTENS);
                listen(words, observer);
                let sum = |of: &dyn Fn(&Standing) -> u64| standings.iter().map(of).sum::<u64>();
                let flows_delivered = sum(&|standing| standing.flows_delivered.load(Ordering::Relaxed));
                let put = sum(&|standing| standing.put.load(Ordering::Acquire));
                let taken = sum(&|standing| standing.taken.load(Ordering::Acquire));
                let is_quiet = standings.iter().all(|standing| standing.is_quiet.load(Ordering::Relaxed));
                let seen = (put, taken, flows_delivered);
                let is_still = put == taken && before == Some(seen);
                before = Some(seen);
                let has_programs = Arc::strong_count(programs) > 1;
                if is_still && !has_programs && (flows_delivered >= *all_flows || is_quiet) {
                    break true;
                }
                if standings.iter().any(|standing| standing.is_over.load(Ordering::Acquire)) {
                    break true;
                }
                if polling.iter().any(thread::ScopedJoinHandle::is_finished) {
                    break false; // with a panic
                }
                let now = standings.iter().map(|standing| standing.now.load(Ordering::Relaxed)).max();
                let progress = Progress {
                    now: Time::from_ps(now.unwrap_or(0)),
                    packet_hops: sum(&|standing| standing.packet_hops.load(Ordering::Relaxed)),
                    flows_delivered,
                };
                if look(progress).is_break() {
                    break false;
                }
            };
            stop.store(true, Ordering::Relaxed);
            let panics: Vec<_> = polling.into_iter().filter_map(|thread| thread.join().err()).collect();
            (ended, panics)
        });
        self.took_ns = clock.map_or(0, |clock| clock.real_ns());
        // Whatever has happened, programs do not wait for ever.
        self.workers.iter_mut().for_each(|worker| worker.fabric.streams = None);
        if let Some(panic) = panics.into_iter().next() {
            std::panic::resume_unwind(panic);
        }
        self.steal.1 = self.steal.0.zip(Steal::now()).map(|(before, after)| before.share_until(after));
        listen(&self.words, observer);
        ended
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
        self.workers.iter().map(|worker| worker.fabric.now).max().unwrap_or(Time::ZERO)
    }

    /// What has happened so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.workers.iter().for_each(|worker| totals += worker.fabric.totals);
        totals
    }

    /// What passed over each link, by [`LinkId`].
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let mut all = vec![LinkStats::default(); self.workers[0].fabric.stats.len()];
        for worker in &self.workers {
            all.iter_mut().zip(&worker.fabric.stats).for_each(|(all, of)| *all += *of);
        }
        all
    }

    /// How faithful the run was.
    pub fn fidelity(&self) -> Fidelity {
        let mut meter = Meter::new();
        self.workers.iter().for_each(|worker| meter.absorb(&worker.fabric.meter));
        let copies = self.workers.iter().map(|worker| worker.fabric.copies).sum();
        let dilation = self.workers[0].fabric.clock.dilation();
        let clock = &self.workers[0].fabric.clock;
        let held = clock.held_ns() as f64 / self.took_ns.max(1) as f64;
        meter.report(self.packet_time, dilation, copies, self.steal.1, held)
    }

    /// The host at `node`, to look into after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.node(node).host()
    }

    /// The program at `node`, to look into after a run.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        self.node(node).application()
    }

    fn node(&self, node: NodeId) -> &Node<Fabric> {
        let worker = &self.workers[self.thread_of[node.index()]];
        &worker.nodes[node.index() - worker.first.index()]
    }
}

/// Hears what polling threads have told so far, in the order of time.
fn listen(words: &Receiver<Word>, observer: &mut impl Observer) {
    let mut heard: Vec<Word> = words.try_iter().collect();
    heard.sort_by_key(|word| word.at);
    heard.iter().for_each(|word| word.tell(observer));
}

#[cfg(test)]
mod tests;
