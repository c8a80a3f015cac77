//! A simulation: a fabric in one or more partitions, run to its end.

use crate::divide::Division;
use crate::failure::{self, Change};
use crate::observer::tell;
use crate::partition::{BYTES_A_LINK, Partition, Plan};
use crate::port::{PortSetup, QueueDepths};
use crate::slab::BYTES_A_PACKET;
use crate::watchdog::Watchdog;
use crate::windows::Windows;
use crate::wire::Travelling;
use raddle_core::{
    Duration, Flow, FlowControlAccount, Host, LinkErrors, LinkId, LinkStats, NodeId, Observer, Parts,
    Progress, Time, Totals,
};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;

/// When a node may begin to pass a packet on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// Once its last bit has come in.
    #[default]
    StoreAndForward,
    /// Once its first so many bytes have come in.
    CutThrough {
        /// Bytes that a node must have seen to decide.
        header: u32,
    },
}

/// How a simulation runs.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Store-and-forward or cut-through.
    pub switching: Switching,
    /// Failures and repairs. A link that has failed more than once is up when it has been repaired as often.
    pub changes: Vec<Change>,
    /// What links do to packets.
    pub errors: LinkErrors,
    /// Stop here, if the fabric has not come to rest before.
    pub time_limit: Option<Time>,
    /// Count how deep each port's queue was at every packet that joined it.
    pub queue_depths: bool,
    /// Threads that share the work; the result is the same for any number. 0 is 1, and a fabric in which few nodes are
    /// apart in time takes fewer.
    pub threads: usize,
}

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// Its end: the fabric is at rest, or the time limit was reached.
    End,
    /// The time up to which it was to run; there is more to come.
    Until,
    /// It was stopped before.
    Stopped,
}

/// A fabric, its parts and its flows, at a point in time.
pub struct Simulation<O> {
    division: Arc<Division>,
    partitions: Vec<Partition>,
    /// When links fail and recover, in order.
    changes: Vec<Time>,
    time_limit: Option<Time>,
    /// The limit was reached before the fabric came to rest.
    at_limit: bool,
    /// All that comes before has happened.
    until: Time,
    link_slots: usize,
    watchdog: Watchdog,
    observer: O,
}

/// Between two events, how often [`Simulation::run`] asks whether to go on.
const EVENTS_A_CHECK: u64 = 1 << 16;

impl<O: Observer> Simulation<O> {
    /// Bytes of memory that a directed link and its port take, before two packets at once travel on it.
    pub const BYTES_A_LINK: usize = BYTES_A_LINK;
    /// Bytes of memory that a packet in flight takes, its place on a link included.
    pub const BYTES_A_PACKET: usize = BYTES_A_PACKET + size_of::<Travelling>();

    /// A fabric at rest, before its first flow.
    ///
    /// `node` gives each node's parts, `port` each link's queue; `flows` are in order of start.
    ///
    /// # Panics
    /// If the flows are not in order of start.
    pub fn new(
        topology: &Arc<Topology>,
        mut node: impl FnMut(NodeId) -> Parts,
        mut port: impl FnMut(LinkId) -> PortSetup,
        flows: impl Into<Arc<[Flow]>>,
        mut config: Config,
        observer: O,
    ) -> Self {
        let flows = flows.into();
        assert!(flows.is_sorted_by_key(|flow| flow.start), "flows come in order of start");
        let division = Arc::new(Division::new(topology, config.threads));
        let mut nodes: Vec<Vec<_>> = (0..division.parts()).map(|_| Vec::new()).collect();
        for id in topology.nodes() {
            nodes[division.home(id)].push((id, node(id)));
        }
        let changes: Arc<[Change]> = failure::effective(std::mem::take(&mut config.changes)).into();
        let plan = Plan {
            topology,
            division: &division,
            config: &config,
            changes: &changes,
            flows: &flows,
            forwarded: O::FORWARDED,
        };
        let partitions =
            (0..).zip(nodes).map(|(number, nodes)| Partition::new(&plan, number, nodes, &mut port));
        let partitions = partitions.collect();
        let changes: Vec<Time> = changes.iter().map(|change| change.at).collect();
        let (time_limit, link_slots) = (config.time_limit, topology.link_slots());
        let watchdog = Watchdog::default();
        let (at_limit, until) = (false, Time::ZERO);
        Self { division, partitions, changes, time_limit, at_limit, until, link_slots, watchdog, observer }
    }

    /// Runs until the fabric is at rest, the time limit is reached, or `check`, asked now and then, says stop.
    /// Returns whether the run came to its own end.
    pub fn run(&mut self, check: impl FnMut(&Progress) -> ControlFlow<()>) -> bool {
        self.run_until(Time::NEVER, check) == Reached::End
    }

    /// [`run`](Self::run), but only what comes before `until`. What comes then may be run later.
    pub fn run_until(&mut self, until: Time, check: impl FnMut(&Progress) -> ControlFlow<()>) -> Reached {
        // What happens at the limit itself still happens.
        let limit = self.time_limit.map_or(Time::NEVER, |limit| limit + Duration::from_ps(1));
        if !self.run_partitions(limit.min(until), check) {
            return Reached::Stopped;
        }
        let next = self.partitions.iter_mut().map(Partition::next_event).min().unwrap_or(Time::NEVER);
        self.at_limit = limit <= next && next < Time::NEVER;
        self.until = self.now();
        if next >= limit {
            return Reached::End;
        }
        self.until = until;
        Reached::Until
    }

    fn run_partitions(&mut self, end: Time, mut check: impl FnMut(&Progress) -> ControlFlow<()>) -> bool {
        let observer = &mut self.observer;
        if let [partition] = &mut self.partitions[..] {
            let mut heard = Vec::new();
            loop {
                let ended = partition.run(end, EVENTS_A_CHECK);
                partition.drain_log(&mut heard);
                tell(observer, &mut heard);
                if ended {
                    return true;
                }
                let Totals { packet_hops, flows_delivered, .. } = *partition.totals();
                if check(&Progress { now: partition.now(), packet_hops, flows_delivered }).is_break() {
                    return false;
                }
            }
        }
        Windows::new(self.partitions.len(), self.division.lookahead(), end, &self.changes).run(
            &mut self.partitions,
            |heard| tell(observer, heard),
            check,
        )
    }

    /// The time of the last event, or the limit if events are left beyond it.
    pub fn now(&self) -> Time {
        let last = self.partitions.iter().map(Partition::now).max().unwrap_or(Time::ZERO);
        if self.at_limit { self.time_limit.unwrap_or(last) } else { last }
    }

    /// What has happened so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.partitions.iter().for_each(|partition| totals += *partition.totals());
        totals
    }

    /// Threads that share the work.
    pub fn threads(&self) -> usize {
        self.partitions.len()
    }

    /// What passed over each link, by [`LinkId`].
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let mut all = vec![LinkStats::default(); self.link_slots];
        for (link, stats) in self.partitions.iter().flat_map(Partition::link_stats) {
            all[link.index()] += *stats;
        }
        all
    }

    /// How deep each port's queue was, by [`LinkId`]; empty unless [`Config::queue_depths`] asked for it.
    pub fn queue_depths(&self) -> Vec<(LinkId, QueueDepths)> {
        let depths = self.partitions.iter().flat_map(Partition::queue_depths);
        let mut depths: Vec<_> = depths.map(|(link, depths)| (link, *depths)).collect();
        depths.sort_unstable_by_key(|&(link, _)| link);
        depths
    }

    /// What flow control of each link that has it has counted, by [`LinkId`]: of the port that the link leaves.
    pub fn flow_control(&self) -> Vec<(LinkId, FlowControlAccount)> {
        let now = self.now();
        let mut accounts: Vec<_> =
            self.partitions.iter().flat_map(|partition| partition.flow_control_accounts(now)).collect();
        accounts.sort_unstable_by_key(|&(link, _)| link);
        accounts
    }

    /// A cycle of links each of which waits for the next since the last call: paused, with something to send, and nothing
    /// sent since then, because memory at its far end is full of packets that wait for such links, and for no other.
    /// Nothing but a failure would ever resolve it. Ask at intervals much longer than a pause takes to pass.
    pub fn pause_cycle(&mut self) -> Option<Vec<LinkId>> {
        let held = self.partitions.iter().flat_map(Partition::held_ports).collect();
        self.watchdog.look(held, || self.partitions.iter().flat_map(Partition::waits).collect())
    }

    /// Bytes that wait or are in service at the port that a link leaves, now or at the time up to which the simulation was
    /// [run](Self::run_until).
    pub fn queued(&mut self, link: LinkId) -> u64 {
        let now = self.until;
        self.partitions.iter_mut().find_map(|partition| partition.queued(link, now)).unwrap_or(0)
    }

    /// Packets now inside the fabric.
    pub fn packets_inside(&self) -> usize {
        self.partitions.iter().map(Partition::packets_inside).sum()
    }

    /// Most packets that were inside the fabric at once; with several threads, the sum of what each of them had most.
    pub fn peak_packets_inside(&self) -> usize {
        self.partitions.iter().map(Partition::peak_packets_inside).sum()
    }

    /// The host at `node`, to look into after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        let partition = &self.partitions[self.division.home(node)];
        partition.nodes[self.division.place(node) as usize].host()
    }

    /// What the event queue of each partition has been asked since the last call, or the start.
    #[cfg(feature = "event-trace")]
    pub fn take_event_trace(&mut self) -> Vec<Vec<crate::event_trace::Step>> {
        self.partitions.iter_mut().map(Partition::take_event_trace).collect()
    }

    /// Whoever listened.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Whoever listened, for good.
    pub fn into_observer(self) -> O {
        self.observer
    }
}
