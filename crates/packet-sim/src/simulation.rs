//! Simulates a fabric that is divided into one or more partitions.

use crate::divide::Division;
use crate::observer::tell;
use crate::partition::{BYTES_A_LINK, BYTES_A_NODE, Partition, Plan, at_rest, regroup};
use crate::port::BYTES_A_SERVED_PORT;
use crate::port::{PortSetup, QueueDepths};
use crate::slab::BYTES_A_PACKET;
use crate::threads::{Chooser, Piece, Threads, wall_clock};
use crate::watchdog::Watchdog;
use crate::windows::{Ended, Windows};
use crate::wire::Travelling;
use raddle_core::discovery::{Discovery, Rest};
use raddle_core::{
    Application, Change, Duration, FlowControlAccount, Flows, Host, LinkErrors, LinkId, LinkStats, NodeId,
    Observer, Parts, Progress, Time, Totals,
};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The time at which a node may begin to forward a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// After the packet's last bit has arrived.
    #[default]
    StoreAndForward,
    /// After the packet's first `header` bytes have arrived.
    CutThrough {
        /// Bytes that a node needs for its forwarding decision.
        header: u32,
    },
}

/// Options of a simulation.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Store-and-forward or cut-through.
    pub switching: Switching,
    /// Failures and repairs of links. A link with overlapping failures is down until the last of these failures is
    /// repaired.
    pub changes: Vec<Change>,
    /// Losses and bit errors of links.
    pub errors: LinkErrors,
    /// The run ends at this time, if the fabric has not come to rest before.
    pub time_limit: Option<Time>,
    /// True if the simulation records a histogram of each port's queue length at packet arrivals.
    pub queue_depths: bool,
    /// The number of threads that share the work.
    pub threads: Threads,
}

/// The reason why a run returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The run is over: the fabric is at rest, or the time limit was reached.
    End,
    /// The run reached the time given by the caller, and later events are left.
    Until,
    /// The caller's check stopped the run.
    Stopped,
}

/// A simulated fabric: the state of its nodes, links and flows at the present simulated time.
pub struct Simulation<O> {
    plan: Plan,
    partitions: Vec<Partition>,
    /// The present division of the fabric into partitions.
    division: Arc<Division>,
    /// The division to which the run changes next; `None` if it has not been computed yet. If the fabric is undivided
    /// now, this is the division among threads. Otherwise this is the undivided fabric.
    other_division: Option<Arc<Division>>,
    threads: Threads,
    /// Number of threads that this machine can run at once.
    cores: usize,
    chooser: Chooser,
    /// The measured part of the run that has not been passed to `chooser` yet.
    unjudged: Piece,
    /// Peak number of packets inside the fabric before the latest change of the division.
    peak_packets: usize,
    /// Times at which links fail or recover, in order.
    changes: Vec<Time>,
    time_limit: Option<Time>,
    /// True if the time limit was reached before the fabric came to rest.
    at_limit: bool,
    /// All events before this time have been processed.
    until: Time,
    /// Detects that the fabric is at rest although nodes still send hellos. `None` if nodes send no hellos.
    rest: Option<Rest>,
    link_slots: usize,
    watchdog: Watchdog,
    observer: O,
}

/// Number of windows between two calls of `check`, if several threads share the run. At the same interval, the observer
/// receives the events that the partitions have logged.
const WINDOWS_A_CHECK: u32 = 256;

/// Number of threads that this machine can run at once.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl<O: Observer> Simulation<O> {
    /// Bytes of memory of a directed link and its port, if never more than one packet at a time travels on the link.
    pub const BYTES_A_LINK: usize = BYTES_A_LINK;
    /// Additional bytes of memory of a port with a [`Queue`](raddle_core::Queue), an agent or flow control.
    /// The memory of these three parts themselves is not included.
    pub const BYTES_A_SERVED_PORT: usize = BYTES_A_SERVED_PORT;
    /// Bytes of memory of a node. The memory of its parts (host, forwarder and so on) is not included.
    pub const BYTES_A_NODE: usize = BYTES_A_NODE;
    /// Bytes of memory of a packet in flight, including its entry in a link's list of packets.
    pub const BYTES_A_PACKET: usize = BYTES_A_PACKET + size_of::<Travelling>();

    /// Creates a fabric at rest, before its first flow.
    ///
    /// `node` returns the parts of a node. `port` returns the setup of a link's egress port.
    #[expect(clippy::missing_panics_doc, reason = "`go_on` always returns true")]
    pub fn new(
        topology: &Arc<Topology>,
        node: impl FnMut(NodeId) -> Parts,
        port: impl FnMut(LinkId) -> PortSetup,
        flows: impl Into<Flows>,
        config: Config,
        observer: O,
    ) -> Self {
        Self::set_up(topology, node, port, flows, config, observer, || true)
            .expect("`go_on` must always return true")
    }

    /// Like [`new`](Self::new), but calls `go_on` for every node, because the set-up of a large fabric takes seconds.
    /// If `go_on` returns false, the function stops and returns `None`.
    pub fn set_up(
        topology: &Arc<Topology>,
        node: impl FnMut(NodeId) -> Parts,
        port: impl FnMut(LinkId) -> PortSetup,
        flows: impl Into<Flows>,
        config: Config,
        observer: O,
        go_on: impl FnMut() -> bool,
    ) -> Option<Self> {
        let plan = Plan {
            topology: Arc::clone(topology),
            header: match config.switching {
                Switching::StoreAndForward => None,
                Switching::CutThrough { header } => Some(header),
            },
            queue_depths: config.queue_depths,
            changes: Change::effective(config.changes).into(),
            flows: flows.into(),
            forwarded: O::FORWARDED,
        };
        let threads = config.threads;
        let parts = if let Threads::Always(parts) = threads { parts } else { 1 };
        let division = Arc::new(Division::new(topology, parts));
        let started = wall_clock();
        let partitions = at_rest(&plan, &division, &config.errors, node, port, go_on)?;
        let cores = if threads.at_most() > 1 { cores() } else { 1 };
        let mut discoveries = partitions.iter().flat_map(|partition| &partition.nodes);
        let period = discoveries.find_map(|node| node.discovery()).map(Discovery::period);
        Some(Self {
            partitions,
            division,
            other_division: None,
            threads,
            cores,
            chooser: Chooser::new(threads, cores, started.elapsed()),
            unjudged: Piece::default(),
            peak_packets: 0,
            changes: plan.changes.iter().map(|change| change.at).collect(),
            time_limit: config.time_limit,
            at_limit: false,
            until: Time::ZERO,
            rest: period.map(Rest::new),
            link_slots: topology.link_slots(),
            watchdog: Watchdog::default(),
            observer,
            plan,
        })
    }

    /// Runs until the fabric is at rest, the time limit is reached, or `check` stops the run. `check` is called at
    /// intervals. Returns true if `check` did not stop the run.
    pub fn run(&mut self, check: impl FnMut(&Progress) -> ControlFlow<()>) -> bool {
        self.run_until(Time::NEVER, check) == Reached::End
    }

    /// Like [`run`](Self::run), but processes only events before `until`. A later call can process later events.
    pub fn run_until(&mut self, until: Time, mut check: impl FnMut(&Progress) -> ControlFlow<()>) -> Reached {
        // The run includes the events at the time limit itself.
        let limit = self.time_limit.map_or(Time::NEVER, |limit| limit + Duration::from_ps(1));
        let end = limit.min(until);
        while let Some(mut rest) = self.rest.filter(|rest| rest.next_look() <= end) {
            if !self.run_partitions(rest.next_look(), &mut check) {
                return Reached::Stopped;
            }
            let is_still = self.partitions.iter().all(Partition::is_still);
            let have_failed = self.changes.first().is_some_and(|&first| first < rest.next_look());
            let have_changed = have_failed || self.partitions.iter().any(Partition::has_discovered);
            let is_at_rest = rest.look(is_still, have_changed);
            self.rest = Some(rest);
            if is_at_rest {
                self.until = self.now();
                return Reached::End;
            }
        }
        if !self.run_partitions(end, check) {
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
        loop {
            let ended = match self.partitions.len() {
                1 => self.run_alone(end, &mut check),
                _ => self.run_together(end, &mut check),
            };
            match ended {
                Ended::End => return true,
                Ended::Stopped => return false,
                Ended::Divide => self.divide(),
            }
        }
    }

    /// Runs the only partition on this thread.
    fn run_alone(&mut self, end: Time, check: &mut impl FnMut(&Progress) -> ControlFlow<()>) -> Ended {
        let mut heard = Vec::new();
        loop {
            let divides = self.chooser.ran(std::mem::take(&mut self.unjudged));
            let partition = &mut self.partitions[0];
            let is_over = if divides {
                // The fabric can be divided only between two instants of simulated time.
                partition.run(end.min(partition.now() + Duration::from_ps(1)), u64::MAX)
            } else {
                let (now, events, started) = (partition.now(), partition.totals().events, wall_clock());
                let is_over = partition.run(end, self.chooser.events());
                let events = partition.totals().events - events;
                let (simulated, took) = (partition.now().since(now), started.elapsed());
                let windows = self.windows(simulated, events);
                self.unjudged.add(Piece { events, windows, took });
                is_over
            };
            let partition = &mut self.partitions[0];
            partition.drain_log(&mut heard);
            tell(&mut self.observer, &mut heard);
            let Totals { packet_hops, flows_delivered, .. } = *partition.totals();
            if divides {
                return Ended::Divide;
            }
            if is_over {
                return Ended::End;
            }
            if check(&Progress { now: partition.now(), packet_hops, flows_delivered }).is_break() {
                return Ended::Stopped;
            }
        }
    }

    /// Runs each partition on a separate thread.
    fn run_together(&mut self, end: Time, check: &mut impl FnMut(&Progress) -> ControlFlow<()>) -> Ended {
        let (observer, chooser) = (&mut self.observer, &mut self.chooser);
        let mut heard = Vec::new();
        let mut windows = 0_u32;
        let mut before: u64 = self.partitions.iter().map(|partition| partition.totals().events).sum();
        let mut started = wall_clock();
        let windows_run =
            Windows::new(self.partitions.len(), self.cores, self.division.lookahead(), end, &self.changes);
        let ended = windows_run.run(&mut self.partitions, |look| {
            look.hear(&mut heard);
            windows = windows.wrapping_add(1);
            if chooser.judges() {
                let (events, now) = (look.events(), wall_clock());
                let took = now.duration_since(std::mem::replace(&mut started, now));
                let events = events - std::mem::replace(&mut before, events);
                if chooser.ran(Piece { events, windows: 1, took }) {
                    return Some(Ended::Divide);
                }
            }
            if windows.is_multiple_of(WINDOWS_A_CHECK) {
                tell(observer, &mut heard);
                if check(&look.progress()).is_break() {
                    return Some(Ended::Stopped);
                }
            }
            None
        });
        tell(&mut self.observer, &mut heard);
        ended
    }

    /// Estimates the number of windows that several threads would need for a part of the run that spans `simulated` and
    /// has `events` events. Returns `u64::MAX` if the division of the fabric among threads is not known or has only one
    /// part.
    fn windows(&mut self, simulated: Duration, events: u64) -> u64 {
        if self.other_division.is_none() && self.chooser.asks_for_windows() {
            let division = Division::new(&self.plan.topology, self.threads.at_most());
            if division.parts() == 1 {
                self.chooser = Chooser::Never;
            }
            self.other_division = Some(Arc::new(division));
        }
        match &self.other_division {
            Some(division) if division.parts() > 1 => {
                events.min(simulated.as_ps() / division.lookahead().as_ps() + 1)
            }
            _ => u64::MAX, // unknown: with so many windows, the chooser expects no gain from several threads
        }
    }

    /// Divides the fabric among threads if one thread runs it. Otherwise joins all partitions into one.
    fn divide(&mut self) {
        let started = wall_clock();
        self.peak_packets = self.peak_packets_inside();
        let other = self
            .other_division
            .as_mut()
            .expect("the new division into partitions must exist before the number of threads changes");
        let old = std::mem::take(&mut self.partitions);
        self.partitions = regroup(old, &self.plan, &self.division, other);
        std::mem::swap(&mut self.division, other);
        self.chooser.changed(started.elapsed());
    }

    /// The time of the latest processed event, or the time limit if the run has reached it and later events are
    /// pending.
    pub fn now(&self) -> Time {
        let last = self.partitions.iter().map(Partition::now).max().unwrap_or(Time::ZERO);
        if self.at_limit { self.time_limit.unwrap_or(last) } else { last }
    }

    /// Totals of the run up to now.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.partitions.iter().for_each(|partition| totals += *partition.totals());
        totals
    }

    /// Number of threads that share the work now.
    pub fn threads(&self) -> usize {
        self.partitions.len()
    }

    /// Statistics of each link, indexed by [`LinkId`].
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let mut all = vec![LinkStats::default(); self.link_slots];
        for (link, stats) in self.partitions.iter().flat_map(Partition::link_stats) {
            all[link.index()] += *stats;
        }
        all
    }

    /// Histogram of each port's queue length, in order of [`LinkId`]; empty unless [`Config::queue_depths`] is set.
    pub fn queue_depths(&self) -> Vec<(LinkId, QueueDepths)> {
        let depths = self.partitions.iter().flat_map(Partition::queue_depths);
        let mut depths: Vec<_> = depths.map(|(link, depths)| (link, *depths)).collect();
        depths.sort_unstable_by_key(|&(link, _)| link);
        depths
    }

    /// Counters of flow control for each link with flow control, in order of [`LinkId`]. The counters are those of the
    /// link's egress port.
    pub fn flow_control(&self) -> Vec<(LinkId, FlowControlAccount)> {
        let now = self.now();
        let mut accounts: Vec<_> =
            self.partitions.iter().flat_map(|partition| partition.flow_control_accounts(now)).collect();
        accounts.sort_unstable_by_key(|&(link, _)| link);
        accounts
    }

    /// Returns a deadlock, if there is one: a cycle of links, each of which waits for the next link. Each of these
    /// links is stuck: it is paused and has packets to send, now and at the previous call, and has sent no data packet
    /// in between. All packets in the memory at the far end of each of these links wait for stuck links. Only a failure
    /// would ever resolve the cycle. Returns `None` if there is no deadlock. The interval between two calls must be
    /// much longer than a pause.
    pub fn pause_cycle(&mut self) -> Option<Vec<LinkId>> {
        let held = self.partitions.iter().flat_map(Partition::held_ports).collect();
        self.watchdog.look(held, || self.partitions.iter().flat_map(Partition::waits).collect())
    }

    /// Bytes that wait or are in service at a link's egress port, at the time up to which the simulation was
    /// [run](Self::run_until).
    pub fn queued(&mut self, link: LinkId) -> u64 {
        let now = self.until;
        self.partitions.iter_mut().find_map(|partition| partition.queued(link, now)).unwrap_or(0)
    }

    /// Number of packets that are now inside the fabric.
    pub fn packets_inside(&self) -> usize {
        self.partitions.iter().map(Partition::packets_inside).sum()
    }

    /// Peak number of packets inside the fabric. With several threads, this is the sum of the threads' peaks, which may
    /// include copies of packets.
    pub fn peak_packets_inside(&self) -> usize {
        let peak = self.partitions.iter().map(Partition::peak_packets_inside).sum();
        self.peak_packets.max(peak)
    }

    /// The host at `node`, for inspection after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        let partition = &self.partitions[self.division.home(node)];
        partition.nodes[self.division.place(node) as usize].host()
    }

    /// The program on the host at `node`, for inspection after a run.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        let partition = &self.partitions[self.division.home(node)];
        partition.nodes[self.division.place(node) as usize].application()
    }

    /// The state of topology discovery at `node`, if it has one, for inspection after a run.
    pub fn discovery(&self, node: NodeId) -> Option<&Discovery> {
        let partition = &self.partitions[self.division.home(node)];
        partition.nodes[self.division.place(node) as usize].discovery()
    }

    /// The recorded calls to the event queue of each partition since the previous call of this function. The first call
    /// returns the calls since the start of the run.
    #[cfg(feature = "event-trace")]
    pub fn take_event_trace(&mut self) -> Vec<Vec<crate::event_trace::Step>> {
        self.partitions.iter_mut().map(Partition::take_event_trace).collect()
    }

    /// The observer of the run.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Ends the simulation and returns its observer.
    pub fn into_observer(self) -> O {
        self.observer
    }
}
