//! The event loop: flows arrive, begin after their handshakes, change their rates, and end.

use crate::crossing::Crossing;
use crate::listener::{Listener, Sent};
use crate::live::Live;
use crate::loads::{LinkLoad, Loads};
use raddle_allocate::{Changes, Fluid, FluidFlow};
use raddle_core::{Bytes, Duration, Flow, FlowKey, Flows, LinkId, Progress, Queued, Rate, Report, Time};
use raddle_records::Framing;
use raddle_topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Splits a flow over links. The arguments are the flow, the number of flows that now cross each link (indexed by link
/// slot), and an empty row. The function fills the row with the links that the flow's packets cross, each with the mean
/// number of times that a packet crosses the link. It is called once per flow, in order of start.
pub type Split = Box<dyn FnMut(&Flow, &[f64], &mut Vec<(LinkId, f32)>)>;

/// The settings of a simulation: the costs of packets, which the engine does not simulate one by one, and the time
/// limit.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The division of flows into packets.
    pub framing: Framing,
    /// Number of a packet's bytes that a node needs before it forwards the packet; `None` if it needs the whole packet.
    pub lookahead: Option<Bytes>,
    /// True if a handshake (a packet without payload in each direction) precedes the first byte.
    pub handshake: bool,
    /// True if the sender learns that a flow is complete. Otherwise the sender is done when it has sent the last byte.
    pub acknowledged: bool,
    /// Rates are computed only at multiples of this interval, and flows wait for the next multiple (1 ms in the
    /// simulator of the PDQ paper). If `None`, rates are computed at every event, and flows do not wait.
    pub grid: Option<Duration>,
    /// The run stops at this time if flows are left.
    pub time_limit: Option<Time>,
}

/// Number of steps between two calls of the check in [`Simulation::run`]. A step handles all events of one instant.
const EVENTS_A_CHECK: u64 = 1 << 12;

/// Outdated entries of `Simulation::due` are removed when it has more than 64 entries plus this many per place in
/// `Simulation::live`.
const ENTRIES_A_FLOW: usize = 4;

/// Fluid flows on a fabric.
pub struct Simulation {
    topology: Arc<Topology>,
    /// Flows that have not started.
    flows: Queued,
    config: Config,
    sharing: Box<dyn Fluid>,
    split: Split,
    /// Live flows. The place of a flow that has ended is used again.
    live: Vec<Option<Live>>,
    vacant: Vec<u32>,
    /// Indexed by slot of the allocation: the index in `live` of the slot's flow.
    places: Vec<u32>,
    /// Times at which flows begin to send or end, with the flow's index in `live`. An entry is valid only if its time
    /// is the flow's `queued`.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// The next time at which rates are computed even if no flow begins or ends at that time. [`Time::NEVER`] if there
    /// is none.
    settle_at: Time,
    /// True if rates must be computed at the present time.
    unsettled: bool,
    now: Time,
    /// The latest time of all reports; the time limit if a report would come later.
    latest: Time,
    loads: Loads,
    events: u64,
    delivered: u64,
    /// Reused memory.
    changes: Changes,
    row: Vec<(LinkId, f32)>,
    slots: Vec<(u32, f32)>,
}

impl Simulation {
    /// Creates the simulation of a fabric, before its first flow. `sharing` divides the capacities of the fabric's
    /// links, in bit/s on the wire, among the flows.
    #[must_use]
    pub fn new(
        topology: &Arc<Topology>,
        flows: &Flows,
        sharing: Box<dyn Fluid>,
        split: Split,
        config: Config,
    ) -> Self {
        Self {
            topology: Arc::clone(topology),
            flows: flows.queue(),
            config,
            sharing,
            split,
            live: Vec::new(),
            vacant: Vec::new(),
            places: Vec::new(),
            due: BinaryHeap::new(),
            settle_at: Time::NEVER,
            unsettled: false,
            now: Time::ZERO,
            latest: Time::ZERO,
            loads: Loads::new(topology.link_slots()),
            events: 0,
            delivered: 0,
            changes: Changes::default(),
            row: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// Runs until no event is left, the time limit is reached, or `check`, called at intervals, stops the run. Returns
    /// true if `check` did not stop the run.
    ///
    /// `listener` receives the reports of all flows.
    pub fn run<L: Listener>(
        &mut self,
        listener: &mut L,
        check: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> bool {
        let complete = self.advance(listener, check);
        for live in self.live.iter().flatten() {
            self.tell(live, listener);
        }
        complete
    }

    /// Like [`Self::run`], but does not tell the listener what the remaining flows have sent at their present rates.
    fn advance<L: Listener>(
        &mut self,
        listener: &mut L,
        mut check: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> bool {
        let mut until_check = EVENTS_A_CHECK;
        loop {
            let next = self.next_event();
            if next == Time::NEVER {
                return true;
            }
            if let Some(limit) = self.config.time_limit.filter(|&limit| next > limit) {
                (self.now, self.latest) = (limit, limit);
                return true;
            }
            self.now = next;
            self.step(listener);
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_A_CHECK;
                let progress = Progress { now: self.now, packet_hops: 0, flows_delivered: self.delivered };
                if check(&progress).is_break() {
                    return false;
                }
            }
        }
    }

    /// The time of the latest event or report, or the time limit if later events are pending.
    #[must_use]
    pub fn now(&self) -> Time {
        self.latest.max(self.now)
    }

    /// Number of events so far: flows that started, began to send or ended, and scheduled computations of rates.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Traffic that has crossed each link slot so far, including traffic of live flows.
    #[must_use]
    pub fn loads(&self) -> Vec<LinkLoad> {
        let mut loads = self.loads.clone();
        for live in self.live.iter().flatten() {
            self.account(&mut loads, live);
        }
        loads.crossed
    }

    fn next_event(&mut self) -> Time {
        let due = loop {
            let Some(&Reverse((at, place))) = self.due.peek() else { break Time::NEVER };
            match &mut self.live[place as usize] {
                Some(live) if live.queued == at && live.due == at => break at,
                // The flow's rate has fallen since this entry was queued, so the flow ends later.
                Some(live) if live.queued == at => {
                    live.queued = live.due;
                    self.due.pop();
                    if live.due < Time::NEVER {
                        self.due.push(Reverse((live.due, place)));
                    }
                }
                _ => {
                    self.due.pop();
                }
            }
        };
        due.min(self.flows.next_start()).min(self.settle_at)
    }

    /// Processes all events of the present time.
    fn step(&mut self, listener: &mut impl Listener) {
        let now = self.now;
        if self.settle_at == now {
            self.settle_at = Time::NEVER;
            self.unsettled = true;
            self.events += 1;
        }
        while let Some(flow) = self.flows.take_started(now) {
            self.start(flow, listener);
        }
        while let Some(&Reverse((at, place))) = self.due.peek().filter(|due| due.0.0 == now) {
            self.due.pop();
            let Some(live) = self.live[place as usize].as_mut().filter(|live| live.queued == at) else {
                continue;
            };
            live.queued = Time::NEVER;
            if live.due > now {
                self.queue(place);
            } else if live.slot.is_none() {
                self.begin(place);
            } else {
                self.end(place, listener);
            }
        }
        if self.unsettled {
            self.settle(listener);
        }
    }

    /// Starts a flow that has arrived.
    fn start(&mut self, flow: Flow, listener: &mut impl Listener) {
        let Config { framing, lookahead, handshake, .. } = self.config;
        listener.report(self.now, flow.src, Report::Opened { flow: flow.id, key: key(&flow) });
        self.events += 1;
        self.row.clear();
        (self.split)(&flow, &self.loads.crossing, &mut self.row);
        let crossing = Crossing::new(&self.topology, framing, lookahead, flow.size, &self.row);
        let begin = if handshake { self.now + crossing.round_trip } else { self.now };
        self.loads.cross(&self.row, 1.0);
        let bits = framing.on_wire_in_all(flow.size).0 as f64 * 8.0;
        let live = Live::new(flow, bits, begin, crossing, &self.row);
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.live.push(None);
            u32::try_from(self.live.len() - 1).expect("there must be fewer than 2^32 flows at once")
        });
        self.live[place as usize] = Some(live);
        if begin > self.now {
            self.queue(place);
        } else {
            self.begin(place);
        }
    }

    /// Lets a flow begin to send.
    fn begin(&mut self, place: u32) {
        let live = self.live[place as usize].as_mut().expect("the flow must have started");
        let flow = &live.flow;
        self.slots.clear();
        self.slots.extend(live.row.iter().map(|&(link, share)| (link.0, share)));
        let slot = self.sharing.insert(
            self.now,
            FluidFlow {
                order: flow.id.0.into(),
                weight: flow.weight.into(),
                class: flow.priority,
                demand_bps: demand(&self.topology, self.config.framing, flow),
                size_bits: live.left(self.now),
                due: flow.due(),
                rtt: live.crossing.round_trip,
                row: &self.slots,
            },
        );
        live.slot = Some(u32::try_from(slot).expect("there must be fewer than 2^32 flows"));
        live.due = Time::NEVER;
        if self.places.len() <= slot {
            self.places.resize(slot + 1, u32::MAX);
        }
        self.places[slot] = place;
        self.events += 1;
        self.must_settle();
    }

    /// Ends a flow that has sent its last bit.
    fn end(&mut self, place: u32, listener: &mut impl Listener) {
        let live = self.take(place, listener);
        let slot = live.slot.expect("the flow must have begun to send");
        self.sharing.remove(self.now, slot as usize);
        self.events += 1;
        self.must_settle();
        let flow = live.flow;
        let key = key(&flow);
        let delivered = self.now + live.crossing.last;
        let closed = if self.config.acknowledged { delivered + live.crossing.back } else { self.now };
        let mut say = |at: Time, node, what| match self.config.time_limit {
            Some(limit) if at > limit => self.latest = limit,
            _ => {
                self.latest = self.latest.max(at);
                listener.report(at, node, what);
            }
        };
        say(delivered, flow.dst, Report::Delivered { key, reorder_peak: 0 });
        say(closed, flow.src, Report::Closed { key, retransmissions: 0 });
        self.delivered += 1;
    }

    /// Tells the listener what a flow has sent since it got its present rate.
    fn tell<L: Listener>(&self, live: &Live, listener: &mut L) {
        let bits = if L::SENT { live.sent(self.now) } else { 0.0 };
        if bits <= 0.0 {
            return;
        }
        let (framing, size) = (self.config.framing, live.flow.size);
        let share = bits / (framing.on_wire_in_all(size).0 as f64 * 8.0);
        let (packets, bytes) = framing.counted(size);
        listener.sent(&Sent {
            flow: &live.flow,
            from: live.since(),
            to: self.now,
            load: LinkLoad { packets: packets as f64 * share, bytes: bytes.0 as f64 * share },
            payload: size.0 as f64 * share,
            row: &live.row,
        });
    }

    /// Removes and returns the flow at index `place`.
    fn take(&mut self, place: u32, listener: &mut impl Listener) -> Live {
        let live = self.live[place as usize].take().expect("a flow");
        self.tell(&live, listener);
        self.vacant.push(place);
        self.loads.cross(&live.row, -1.0);
        let mut loads = std::mem::take(&mut self.loads);
        self.account(&mut loads, &live);
        self.loads = loads;
        live
    }

    /// Adds to `loads` the traffic that a flow has sent over its links.
    fn account(&self, loads: &mut Loads, live: &Live) {
        let framing = self.config.framing;
        let size = live.flow.size;
        let whole = framing.on_wire_in_all(size).0 as f64 * 8.0;
        let share = if live.due <= self.now { 1.0 } else { 1.0 - live.left(self.now) / whole };
        let (packets, bytes) = framing.counted(size);
        loads.add(&live.row, packets as f64 * share, bytes.0 as f64 * share);
    }

    /// Requests a computation of rates: now, or at the next multiple of [`Config::grid`].
    fn must_settle(&mut self) {
        match self.config.grid.map(Duration::as_ps) {
            None => self.unsettled = true,
            Some(grid) => {
                let next = Time::from_ps(self.now.as_ps().div_ceil(grid) * grid);
                self.settle_at = self.settle_at.min(next);
                if next == self.now {
                    (self.settle_at, self.unsettled) = (Time::NEVER, true);
                }
            }
        }
    }

    /// Computes the rates, and the times at which flows end at these rates.
    fn settle(&mut self, listener: &mut impl Listener) {
        self.unsettled = false;
        let mut changes = std::mem::take(&mut self.changes);
        changes.clear();
        let again = self.sharing.settle(self.now, &mut changes);
        let again = match (again, self.config.grid.map(Duration::as_ps)) {
            (None, _) => Time::NEVER,
            (Some(again), None) => again,
            (Some(again), Some(grid)) => Time::from_ps(again.as_ps().div_ceil(grid) * grid),
        };
        self.settle_at = again;
        for &slot in &changes.given_up {
            let live = self.take(self.places[slot], listener);
            let flow = live.flow;
            self.events += 1;
            self.latest = self.latest.max(self.now);
            listener.report(self.now, flow.src, Report::Closed { key: key(&flow), retransmissions: 0 });
        }
        for &(slot, rate) in &changes.rates {
            let place = self.places[slot];
            self.tell(
                self.live[place as usize].as_ref().expect("the flow must have begun to send"),
                listener,
            );
            let live = self.live[place as usize].as_mut().expect("the flow must have begun to send");
            live.set_rate(self.now, rate);
            self.queue(place);
        }
        self.changes = changes;
        if self.due.len() > 64 + ENTRIES_A_FLOW * self.live.len() {
            let live = &self.live;
            let is_true =
                |at, place: u32| live[place as usize].as_ref().is_some_and(|live| live.queued == at);
            self.due.retain(|&Reverse((at, place))| is_true(at, place));
        }
    }

    /// Queues the flow for the time at which it is due, unless an earlier entry exists. An entry that is too
    /// early is queued again for the right time when it is reached.
    fn queue(&mut self, place: u32) {
        let live = self.live[place as usize].as_mut().expect("a flow");
        if live.due < live.queued {
            live.queued = live.due;
            self.due.push(Reverse((live.due, place)));
        }
    }
}

/// A flow's key in reports.
fn key(flow: &Flow) -> FlowKey {
    FlowKey(flow.id.0.into())
}

/// The greatest rate at which a flow can send, in bit/s on the wire. It is limited by the rate of the application and
/// by the rates of the sender's links.
fn demand(topology: &Topology, framing: Framing, flow: &Flow) -> f64 {
    let interfaces: f64 = topology.links_from(flow.src).map(|(_, link)| link.rate.as_bps_f64()).sum();
    let (_, full, _) = framing.packets(flow.size);
    let wire = full.0 as f64 / f64::from(framing.payload);
    flow.app_rate.map_or(f64::INFINITY, |rate: Rate| rate.as_bps_f64() * wire).min(interfaces)
}
