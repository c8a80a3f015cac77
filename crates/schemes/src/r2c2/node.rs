//! A rack node: sends and receives its own flows, relays broadcasts, and computes its rates.

use super::entries::Entry;
use super::fabric::{Fabric, View};
use super::rates;
use super::sender::{Drawn, HEADER, Outgoing, on_wire};
use super::table::{FlowTable, TOMBSTONE, handle};
use super::{Params, PortSet, StartPolicy};
use crate::lids::Lids;
use crate::reassembly::Receiver;
use raddle_core::{
    Bytes, DropReason, Duration, Flow, Header, Host, Input, LinkId, NodeId, Output, Packet, PortId, Ports,
    Rate, Report, Stream, Time,
};
use raddle_wire::r2c2::{
    Data, DropNotice, Event, EventKind, FLAG_LAST, FLAG_PAYLOAD_COVERED, NoticeReason, Route, UNLIMITED_KBPS,
};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Bytes of a flow event on the wire (§3.2).
pub const EVENT_BYTES: u32 = 16;
const NOTICE_PAYLOAD: u16 = 20;
/// A dropped broadcast is sent again after this, then after twice as long, and so on.
const FIRST_RETRY: Duration = Duration::from_us(50);
const MOST_TRIES: u32 = 7;

/// One node of an R2C2 rack.
pub struct R2c2Node {
    id: NodeId,
    fabric: Arc<Fabric>,
    view: Arc<View>,
    down: BTreeSet<LinkId>,
    /// Discovery has reported changes that `view` does not show yet.
    outdated: bool,
    table: FlowTable,
    sending: Vec<Outgoing>,
    /// The flow in `sending` whose turn it is.
    turn: usize,
    receiver: Receiver,
    outbox: VecDeque<Pending>,
    retries: Vec<Retry>,
    lids: Lids,
    /// Flows that wait for a free lid.
    waiting: VecDeque<Flow>,
    phase: Duration,
    next_tick: Time,
    /// Nothing is to be done before this, unless something comes in that clears it.
    asleep_until: Option<Time>,
    /// The time of the last tick.
    computed: Time,
    paths: Stream,
    ports: Vec<PortId>,
}

/// What this node is about to say.
#[derive(Debug)]
enum Pending {
    /// Copies of a broadcast, one a port.
    Copies(Event, PortSet),
    Notice(Box<DropNotice>),
    Report(Report),
}

/// A broadcast of this node that somebody dropped.
struct Retry {
    event: Event,
    tries: u32,
    due: Option<Time>,
    dropped_at: (u16, u8),
    forget: Time,
}

impl R2c2Node {
    /// The node `id` of `fabric`, in a run with this seed.
    #[must_use]
    pub fn new(fabric: &Arc<Fabric>, id: NodeId, seed: u64) -> Self {
        let rho = fabric.params.rho.as_ps();
        let phase = if fabric.params.synchronous || rho == 0 {
            0
        } else {
            Stream::new(seed, id.0.into(), "r2c2/phase").below(rho)
        };
        let lasting = if fabric.params.only_lasting { fabric.params.rho } else { Duration::ZERO };
        Self {
            id,
            view: fabric.view(&BTreeSet::new()),
            fabric: Arc::clone(fabric),
            down: BTreeSet::new(),
            outdated: false,
            table: FlowTable::new(lasting),
            sending: Vec::new(),
            turn: 0,
            receiver: Receiver::default(),
            outbox: VecDeque::new(),
            retries: Vec::new(),
            lids: Lids::default(),
            waiting: VecDeque::new(),
            phase: Duration::from_ps(phase),
            next_tick: Time::NEVER,
            asleep_until: None,
            computed: Time::ZERO,
            paths: Stream::new(seed, id.0.into(), "r2c2/paths"),
            ports: Vec::new(),
        }
    }

    /// The table of all flows this node knows.
    #[must_use]
    pub fn table(&self) -> &FlowTable {
        &self.table
    }

    /// The rates of all flows in the table as this node would compute them now, by handle, in bit/s.
    #[must_use]
    pub fn compute_all(&self) -> Vec<(u32, f64)> {
        let all = self.table.all();
        let rates = rates::rates(&self.fabric.params, &self.view, &all);
        all.iter().map(Entry::key).zip(rates.iter().copied()).collect()
    }

    /// The rate that limits each flow this node sends, by handle, in bit/s; flows without a limiter are left out.
    pub fn limits(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.sending.iter().filter_map(|flow| Some((self.handle_of(flow.lid), flow.rate()?)))
    }

    fn params(&self) -> &Params {
        &self.fabric.params
    }

    fn handle_of(&self, lid: u16) -> u32 {
        self.id.0 << 16 | u32::from(lid)
    }

    fn start(&mut self, now: Time, flow: Flow) {
        let Some(lid) = self.lids.take(now) else {
            self.waiting.push_back(flow);
            return;
        };
        self.outbox
            .push_back(Pending::Report(Report::Opened { flow: flow.id, key: self.handle_of(lid).into() }));
        let mut outgoing = Outgoing::new(flow, lid, self.params().mtu);
        self.broadcast(now, EventKind::Start, &outgoing, UNLIMITED_KBPS);
        self.limit_at_start(now, &mut outgoing);
        self.sending.push(outgoing);
        if self.next_tick == Time::NEVER && self.params().rho > Duration::ZERO {
            self.next_tick = self.tick_after(now);
        }
    }

    /// Applies the start policy to a flow that this node has just announced.
    fn limit_at_start(&mut self, now: Time, outgoing: &mut Outgoing) {
        let key = self.handle_of(outgoing.lid);
        let mtu = self.params().mtu;
        let rate = match self.params().start {
            StartPolicy::Line => return,
            StartPolicy::Local => self.compute_all().into_iter().find(|&(other, _)| other == key),
            StartPolicy::Residual => {
                let mut others = self.table.all();
                others.retain(|other| other.key() != key);
                self.table.get(key).map(|newcomer| {
                    (key, rates::residual(&self.fabric.params, &self.view, &others, newcomer))
                })
            }
        };
        if let Some((_, rate)) = rate {
            outgoing.limit(now, rate, mtu);
            self.outbox.push_back(paced(key, rate));
        }
    }

    fn tick_after(&self, now: Time) -> Time {
        let rho = self.params().rho;
        let phase = Time::ZERO + self.phase;
        let ticks = now.since(phase).as_ps() / rho.as_ps() + u64::from(now >= phase);
        phase + rho * ticks
    }

    /// Computes rates from the flows that have lasted, and installs those of this node (§3.3.1).
    fn tick(&mut self, now: Time) {
        let rho = self.params().rho;
        self.estimate_demands(now);
        self.table.age(now);
        let before = std::mem::replace(&mut self.computed, now);
        if self.params().only_lasting && rho > Duration::ZERO && self.table.changed() + rho <= before {
            return; // the last computation counted just the same flows
        }
        if !self.sending.iter().any(|flow| self.table.counts(self.handle_of(flow.lid))) {
            return;
        }
        let eligible = self.table.counted();
        let rates = rates::rates(&self.fabric.params, &self.view, &eligible);
        let mtu = self.params().mtu;
        for flow in &mut self.sending {
            let key = self.id.0 << 16 | u32::from(flow.lid);
            let Ok(place) = eligible.binary_search_by_key(&key, Entry::key) else { continue };
            let rate = rates[place];
            if flow.rate().is_none_or(|old| old.to_bits() != rate.to_bits()) {
                flow.limit(now, rate, mtu);
                self.outbox.push_back(paced(key, rate));
            }
        }
    }

    /// Ends a demand period of every flow whose application may be the bottleneck (§3.3.2).
    fn estimate_demands(&mut self, now: Time) {
        let period_s = self.params().rho.as_secs_f64();
        let mtu = self.params().mtu;
        let mut announce = Vec::new();
        for flow in self.sending.iter_mut().filter(|flow| flow.flow.app_rate.is_some()) {
            // In bytes on the wire, as rates and limiters count.
            let released = on_wire(flow.released - flow.released_before, mtu);
            flow.released_before = flow.released;
            let Some(rate) = flow.rate() else { continue };
            let queued = on_wire(flow.backlog(now), mtu);
            let few = 2 * on_wire(mtu.into(), mtu);
            if let Some(demand) = flow.demand.period(released, queued, few, period_s, rate) {
                announce.push((flow.clone(), demand));
            }
        }
        for (flow, demand) in announce {
            // Rounded up, so that an estimate never starves its flow; infinity becomes the largest number.
            let kbps = (demand / 1e3).ceil() as u32;
            self.broadcast(now, EventKind::Demand, &flow, kbps);
        }
    }

    fn event(&self, kind: EventKind, flow: &Outgoing, demand_kbps: u32) -> Event {
        let node = |id: NodeId| u16::try_from(id.0).expect("R2C2 addresses 65,536 nodes");
        let key = self.handle_of(flow.lid);
        let mixed = (key ^ key >> 15).wrapping_mul(0x9e37_79b1);
        let tree = (mixed >> 16) % u32::from(self.view.trees.count());
        Event {
            kind,
            tree: u8::try_from(tree).expect("fewer than 256 trees"),
            src: node(self.id),
            dst: node(flow.flow.dst),
            weight: flow.flow.weight,
            priority: flow.flow.priority,
            protocol: self.params().protocol.number(),
            demand_kbps,
            lid: flow.lid,
        }
    }

    /// Announces something about an own flow, to this node's table first. All events of a flow use one tree, on
    /// which none can overtake another.
    fn broadcast(&mut self, now: Time, kind: EventKind, flow: &Outgoing, demand_kbps: u32) {
        let event = self.event(kind, flow, demand_kbps);
        self.table.apply(now, &event);
        self.pass_on(&event);
    }

    /// Queues a copy for each child of this node in the event's tree.
    fn pass_on(&mut self, event: &Event) {
        let ports = self.view.trees.children(NodeId(event.src.into()), event.tree, self.id);
        if !ports.is_empty() {
            self.outbox.push_back(Pending::Copies(*event, ports));
        }
    }

    /// The next thing that is to be said.
    fn next_pending(&mut self) -> Option<Output> {
        let (header, size, port) = match self.outbox.front_mut()? {
            Pending::Copies(event, ports) => {
                let port = ports.next();
                let header = Header::R2c2Event(*event);
                if ports.is_empty() {
                    self.outbox.pop_front();
                }
                (header, EVENT_BYTES, port)
            }
            Pending::Notice(notice) => {
                let header = Header::R2c2DropNotice(**notice);
                self.outbox.pop_front();
                (header, HEADER as u32 + u32::from(NOTICE_PAYLOAD), None)
            }
            Pending::Report(report) => {
                let report = *report;
                self.outbox.pop_front();
                return Some(Output::Report(report));
            }
        };
        Some(Output::Send { packet: Packet { size, header }, port })
    }

    fn take_event(&mut self, now: Time, event: &Event) {
        let nodes = self.view.routing.topology().node_count();
        let known = |node: u16| usize::from(node) < nodes;
        if !known(event.src) || !known(event.dst) || rates::protocol(self.params(), event.protocol).is_none()
        {
            return; // no node of this fabric said that
        }
        self.table.apply(now, event);
        self.pass_on(event);
        self.event_seen(now);
    }

    /// With rho = 0 rates follow every event.
    fn event_seen(&mut self, now: Time) {
        if self.params().rho == Duration::ZERO && !self.sending.is_empty() {
            self.next_tick = now;
            self.asleep_until = None;
        }
    }

    /// This node dropped a packet: if it was a broadcast, its source must know.
    fn take_drop(&mut self, now: Time, packet: &Packet, port: PortId, reason: DropReason) {
        let Header::R2c2Event(event) = &packet.header else { return };
        let at = (self.id.0 as u16, port.0 as u8);
        if NodeId(event.src.into()) == self.id {
            self.retry(now, event, at);
            return;
        }
        let source = NodeId(event.src.into());
        let Some(drawn) = self.draw(source, 0) else { return };
        let data = Data {
            flow: handle(event),
            src: self.id.0 as u16,
            dst: event.src,
            seq: 0,
            plen: NOTICE_PAYLOAD,
            rlen: drawn.hops,
            ridx: 0,
            flags: FLAG_PAYLOAD_COVERED,
            route: drawn.route,
        };
        let reason =
            if reason == DropReason::LinkDown { NoticeReason::LinkDown } else { NoticeReason::QueueFull };
        let notice = DropNotice { data, dropped: *event, node: at.0, port: at.1, reason };
        self.outbox.push_back(Pending::Notice(Box::new(notice)));
    }

    fn retry(&mut self, now: Time, event: &Event, at: (u16, u8)) {
        self.retries.retain(|retry| retry.due.is_some() || retry.forget > now);
        let same = |retry: &Retry| retry.event.kind == event.kind && retry.event.lid == event.lid;
        let place = self.retries.iter().position(same).unwrap_or_else(|| {
            let fresh =
                Retry { event: *event, tries: 0, due: None, dropped_at: (u16::MAX, u8::MAX), forget: now };
            self.retries.push(fresh);
            self.retries.len() - 1
        });
        let retry = &mut self.retries[place];
        if retry.due.is_some() {
            return; // several nodes may drop copies of one broadcast
        }
        if retry.dropped_at == at {
            retry.event.tree = (retry.event.tree + 1) % self.view.trees.count();
        }
        retry.dropped_at = at;
        if retry.tries == MOST_TRIES {
            self.retries.remove(place);
            return;
        }
        retry.due = Some(now + FIRST_RETRY * (1 << retry.tries));
        retry.tries += 1;
        retry.forget = now + TOMBSTONE;
    }

    /// Sends again what is due. The START of a finished flow is not: it would come after its FINISH.
    fn retry_due(&mut self, now: Time) {
        for place in 0..self.retries.len() {
            if self.retries[place].due.is_some_and(|due| due <= now) {
                self.retries[place].due = None;
                let event = self.retries[place].event;
                let live = self.sending.iter().any(|flow| flow.lid == event.lid);
                if live || event.kind == EventKind::Finish {
                    self.pass_on(&event);
                }
            }
        }
    }

    /// Draws a route to `dst` for a packet of flow `key`; `None` if there is none.
    fn draw(&mut self, dst: NodeId, key: u32) -> Option<Drawn> {
        self.view.routing.distance(self.id, dst)?;
        let protocol = self.fabric.params.protocol;
        self.view.routing.sample(protocol, self.id, dst, key.into(), &mut self.paths, &mut self.ports);
        let first = *self.ports.first()?;
        // Set-up has checked that every route fits; around failed links a detour may not.
        let route =
            Route::from_ports(self.ports.iter().map(|port| port.0), self.fabric.params.hop_bits).ok()?;
        let hops = u8::try_from(self.ports.len()).expect("routes of at most 42 hops");
        Some(Drawn { route, hops, first })
    }

    /// The failure sequence (§3.2): new routes and trees, dead flows forgotten, live flows announced again.
    fn renew_view(&mut self, now: Time) {
        self.outdated = false;
        self.view = self.fabric.view(&self.down);
        let routing = &self.view.routing;
        let receiver = &mut self.receiver;
        self.table.retain(now, |entry| {
            let key = entry.key();
            let alive = routing.distance(NodeId(key >> 16), NodeId(entry.dst.into())).is_some();
            if !alive {
                receiver.forget(key);
            }
            alive
        });
        self.sending.retain(|flow| routing.distance(self.id, flow.flow.dst).is_some());
        self.turn = 0;
        for place in 0..self.sending.len() {
            self.sending[place].drawn = None;
            let flow = self.sending[place].clone();
            let known = self.table.get(self.handle_of(flow.lid)).map(|entry| entry.demand_kbps);
            self.broadcast(now, EventKind::Refresh, &flow, known.unwrap_or(UNLIMITED_KBPS));
        }
        self.event_seen(now);
    }

    /// The next data packet that a flow may send, or when to look again.
    fn next_data(&mut self, now: Time, ports: &Ports<'_>) -> Result<Output, Time> {
        let mut wake = Time::NEVER;
        let mtu = self.params().mtu;
        let nic_packets = self.params().nic_packets;
        for step in 0..self.sending.len() {
            let place = (self.turn + step) % self.sending.len();
            let flow = &self.sending[place];
            let ready = flow.ready_at();
            if ready > now {
                wake = wake.min(ready);
                continue;
            }
            let (dst, key) = (flow.flow.dst, self.handle_of(flow.lid));
            let drawn = match flow.drawn {
                Some(drawn) => drawn,
                None => {
                    let Some(drawn) = self.draw(dst, key) else { continue };
                    self.sending[place].drawn = Some(drawn);
                    drawn
                }
            };
            let port = ports.get(drawn.first);
            if !port.up {
                continue; // a node sees its own dead link; discovery will bring new routes
            }
            if !self.sending[place].is_limited() {
                let most = port.rate.time_for(Bytes((nic_packets - 1) * (u64::from(mtu) + HEADER)));
                if port.backlog(now) > most {
                    wake = wake.min(Time::from_ps(port.free_at.as_ps() - most.as_ps()));
                    continue;
                }
            }
            return Ok(self.send(now, place, &drawn));
        }
        Err(wake)
    }

    fn send(&mut self, now: Time, place: usize, drawn: &Drawn) -> Output {
        let mtu = self.params().mtu;
        let flow = &mut self.sending[place];
        let payload = flow.next_payload(mtu);
        let last = flow.is_last(payload);
        let data = Data {
            flow: self.id.0 << 16 | u32::from(flow.lid),
            src: self.id.0 as u16,
            dst: flow.flow.dst.0 as u16,
            seq: flow.seq,
            plen: payload,
            rlen: drawn.hops,
            ridx: 0,
            flags: if last { FLAG_LAST } else { 0 },
            route: drawn.route,
        };
        flow.release(now, payload, mtu);
        if last {
            self.finish(now, place);
        } else {
            self.turn = place + 1;
        }
        let packet = Packet { size: HEADER as u32 + u32::from(payload), header: Header::R2c2Data(data) };
        Output::Send { packet, port: None }
    }

    fn finish(&mut self, now: Time, place: usize) {
        let flow = self.sending.remove(place);
        self.turn = place;
        self.broadcast(now, EventKind::Finish, &flow, 0);
        self.lids.give_back(now, flow.lid);
        let key = self.handle_of(flow.lid).into();
        self.outbox.push_back(Pending::Report(Report::Closed { key, retransmissions: 0 }));
        if self.sending.is_empty() {
            self.next_tick = Time::NEVER;
        } else {
            self.event_seen(now);
        }
    }
}

fn paced(key: u32, rate: f64) -> Pending {
    Pending::Report(Report::Paced { key: key.into(), rate: Rate::from_bps(rate as u64) })
}

impl Host for R2c2Node {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        // Data and broadcasts of others, the bulk of what comes in, change nothing in what this node may send when.
        let others = matches!(
            input,
            Input::Packet { packet: Packet { header: Header::R2c2Data(_) | Header::R2c2Event(_), .. }, .. }
        );
        if !others {
            self.asleep_until = None;
        }
        match input {
            Input::Flow(flow) => {
                self.start(now, *flow);
                self.event_seen(now);
            }
            Input::Packet { packet, .. } => match &packet.header {
                Header::R2c2Data(data) => {
                    self.outbox.extend(self.receiver.take(data).map(Pending::Report));
                }
                Header::R2c2Event(event) => self.take_event(now, event),
                Header::R2c2DropNotice(notice) => {
                    if NodeId(notice.dropped.src.into()) == self.id {
                        self.retry(now, &notice.dropped, (notice.node, notice.port));
                    }
                }
                Header::Tcp(_) => {}
            },
            Input::Sent(_) => {}
            Input::Dropped { packet, port, reason } => self.take_drop(now, packet, port, reason),
            Input::Link { link, up } => {
                self.outdated |= if up { self.down.remove(&link) } else { self.down.insert(link) };
            }
        }
    }

    fn foresee(&self, packet: &Packet) -> Option<*const u8> {
        match &packet.header {
            Header::R2c2Event(event) => self.table.whereabouts(event),
            _ => None,
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        loop {
            if let Some(output) = self.next_pending() {
                return output;
            }
            if let Some(until) = self.asleep_until
                && now < until
            {
                return Output::WakeAt(until);
            }
            if self.outdated {
                self.renew_view(now);
                continue;
            }
            if self.sending.is_empty() && self.retries.is_empty() && self.waiting.is_empty() {
                return Output::Idle;
            }
            if let Some(flow) = self.waiting.front()
                && self.lids.next_free(now) <= now
            {
                let flow = *flow;
                self.waiting.pop_front();
                self.start(now, flow);
                continue;
            }
            if self.next_tick <= now {
                let rho = self.params().rho;
                self.next_tick = if rho == Duration::ZERO { Time::NEVER } else { self.tick_after(now) };
                self.tick(now);
                continue;
            }
            self.retry_due(now);
            if !self.outbox.is_empty() {
                continue;
            }
            let retry = self.retries.iter().filter_map(|retry| retry.due).min().unwrap_or(Time::NEVER);
            let lid = if self.waiting.is_empty() { Time::NEVER } else { self.lids.next_free(now) };
            return match self.next_data(now, ports) {
                Ok(send) => send,
                Err(wake) => {
                    let wake = wake.min(retry).min(lid).min(self.next_tick);
                    self.asleep_until = Some(wake);
                    Output::WakeAt(wake)
                }
            };
        }
    }
}
