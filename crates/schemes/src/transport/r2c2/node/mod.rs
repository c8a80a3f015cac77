//! A rack node: sends and receives its own flows, relays broadcasts, and computes its rates.

mod pacing;
mod recovery;
mod reliability;
mod selecting;

use super::anti_entropy::AntiEntropy;
use super::arrivals::Arrivals;
use super::data_plane::DataPlane;
use super::fabric::Fabric;
use super::outgoing::Outgoing;
use super::resends::Resends;
use super::retries::Retries;
use super::selection::Selector;
use super::sender::Departure;
use super::table::{FlowTable, handle};
use super::{Params, Policy, PortSet};
use raddle_core::{
    Bytes, DropReason, Duration, Flow, FlowKey, Header, Host, Input, NodeId, Output, Packet, PortId, Ports,
    Time,
};
use raddle_wire::r2c2::{DropNotice, Event, EventKind, NoticeReason};
use std::sync::Arc;

/// One node of an R2C2 rack.
pub struct R2c2Node {
    plane: DataPlane,
    table: FlowTable,
    /// The receiver of reliable flows. `None` if flows are not reliable: the data plane is then the receiver.
    arrivals: Option<Arrivals>,
    retries: Retries,
    resends: Resends,
    anti_entropy: AntiEntropy,
    /// Number of digests that this node has broadcast. This number selects the tree of the next digest.
    digests: u32,
    selector: Option<Selector>,
    /// Flows whose destination was unreachable when this node tried to start them. These flows start as soon as a path
    /// exists.
    cut_off: Vec<Flow>,
    /// The time of the last tick, at which rates are computed.
    computed: Time,
    /// Time at which this node last repeated an announcement of its flows: after a topology change, in a snapshot, or
    /// in a retry.
    told_again: Option<Time>,
}

impl R2c2Node {
    /// The node `id` of `fabric`, in a run with this seed.
    ///
    /// # Panics
    /// If `id` exceeds 65,535.
    #[must_use]
    pub fn new(fabric: &Arc<Fabric>, id: NodeId, seed: u64) -> Self {
        let lasting = if fabric.params.only_lasting { fabric.params.rho } else { Duration::ZERO };
        let plane = DataPlane::new(fabric, id, seed);
        let links = plane.view.routing.topology().port_count(id);
        let number = u16::try_from(id.0).expect("R2C2 supports at most 65,536 nodes");
        let Params { doubt, digest_period, resends, .. } = fabric.params;
        Self {
            plane,
            table: FlowTable::new(lasting),
            arrivals: fabric
                .params
                .reliable
                .then(|| Arrivals::new(fabric.params.window, fabric.params.streams)),
            retries: Retries::default(),
            resends: Resends::new(resends.into(), links),
            anti_entropy: AntiEntropy::new(doubt, digest_period, number, seed),
            digests: 0,
            selector: fabric.params.selection.map(|selection| Selector::new(id, selection, seed)),
            cut_off: Vec::new(),
            computed: Time::ZERO,
            told_again: None,
        }
    }

    /// The table of all flows that this node knows.
    #[must_use]
    pub fn table(&self) -> &FlowTable {
        &self.table
    }

    /// The handle of each flow in this node's table, and the flow's rate in bit/s in an allocation for all flows of the
    /// table.
    #[must_use]
    pub fn compute_all(&self) -> Vec<(u32, f64)> {
        self.plane.rates(&self.table)
    }

    /// The handle and the rate limit, in bit/s, of each flow that this node sends. Flows without a rate limit are left
    /// out.
    pub fn limits(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.plane.limits()
    }

    /// Computes in advance how flows from this node to each other node split over links, as the paper's nodes do
    /// (§4.2). Without this call, a split is computed when the first flow needs it. On a torus, the splits of flows
    /// from other nodes are translations of these splits.
    pub fn precompute_weights(&self) {
        let (view, id) = (&self.plane.view, self.plane.id);
        let (protocol, mut row) = (view.feasible(self.params().protocol), Vec::new());
        let reached = |&node: &NodeId| node != id && view.routing.has_path(id, node);
        for node in view.routing.topology().nodes().filter(reached) {
            view.routing.weights(protocol, id, node, 0, &mut row);
        }
    }

    /// Time of this node's next rate computation; [`Time::NEVER`] if none is scheduled.
    #[must_use]
    pub fn computes_at(&self) -> Time {
        self.plane.ticks.next()
    }

    fn params(&self) -> &Params {
        self.plane.params()
    }

    fn start(&mut self, now: Time, flow: Flow) {
        if !self.plane.view.routing.has_path(self.plane.id, flow.dst) {
            self.cut_off.push(flow);
            return;
        }
        let Some(mut outgoing) = self.plane.open(now, flow) else { return };
        if self.params().policy == Policy::Deadline {
            outgoing.weight =
                outgoing.urgency(now, self.params().mtu, self.plane.view.fastest_link(self.plane.id));
        }
        self.broadcast(now, outgoing.event(EventKind::Start));
        self.limit_at_start(now, &mut outgoing);
        self.plane.sender.push(outgoing);
        self.plane.ticks.start(now);
    }

    /// Applies an event about a flow of this node to the table, and broadcasts the event. All events of a flow use the
    /// same tree, so that no event overtakes an earlier event. Only a retry may use another tree.
    fn broadcast(&mut self, now: Time, mut event: Event) {
        let key = event.flow();
        let mixed = (key ^ key >> 15).wrapping_mul(0x9e37_79b1);
        let tree = (mixed >> 16) % u32::from(self.plane.view.trees.count());
        event.tree = u8::try_from(tree).expect("there must be fewer than 256 trees");
        self.apply_and_pass_on(now, &event);
        self.mind_selection(now);
        self.mind_doubt(now);
    }

    /// Applies an event to the table, and queues a copy for each child of this node in the event's tree.
    fn apply_and_pass_on(&mut self, now: Time, event: &Event) {
        let before = self.table.digest();
        self.table.apply(now, event);
        let ports = self.plane.view.trees.children(NodeId(event.src.into()), event.tree, self.plane.id);
        // The node remembers only events that changed its table. Otherwise, it would remember a resent event as a new
        // event, and events would be resent for ever.
        if !ports.is_empty() && self.table.digest() != before {
            self.resends.said(now, event);
        }
        self.plane.outbox.copies(event, ports);
    }

    fn take_event(&mut self, now: Time, event: &Event) {
        if !self.is_credible(event.src, event.dst, event.protocol) {
            return;
        }
        self.anti_entropy.heard(event.src);
        self.apply_and_pass_on(now, event);
        self.note_announcement(now, event);
        self.event_seen(now);
        self.mind_selection(now);
        self.mind_doubt(now);
    }

    /// Called after the flow table may have changed. If rho is zero and this node sends flows, schedules a rate
    /// computation for `now`.
    fn event_seen(&mut self, now: Time) {
        if self.params().rho == Duration::ZERO && !self.plane.sender.is_empty() {
            self.plane.ticks.at_once(now);
            self.plane.asleep_until = None;
        }
    }

    /// Handles the drop of a packet at this node. If the packet was an event of another node, this node notifies the
    /// event's source. Events of this node are sent again, and so are control packets that a full queue has refused. If
    /// a full queue has refused a data packet of this node, the sender waits before it uses the port again.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "R2C2 supports at most 2^16 nodes, and port numbers have 8 bits"
    )]
    fn take_drop(&mut self, now: Time, packet: &Packet, port: PortId, reason: DropReason) {
        let event = match &packet.header {
            Header::R2c2Event(event) => event,
            Header::R2c2Data(data) => {
                if NodeId(data.src.into()) == self.plane.id && reason == DropReason::QueueFull {
                    self.plane.sender.refused(now, port);
                }
                return;
            }
            Header::Tcp(_) | Header::Udp(_) => return,
            _ if reason == DropReason::QueueFull => {
                self.retries.refused(now, packet, port);
                return;
            }
            _ => return,
        };
        let (node, port) = (self.plane.id.0 as u16, port.0 as u8);
        if NodeId(event.src.into()) == self.plane.id {
            self.retries.dropped(now, event, (node, port), self.plane.view.trees.count());
            self.anti_entropy.own_dropped(now);
            return;
        }
        let payload = DropNotice::PAYLOAD_LEN;
        let protocol = self.params().protocol;
        let Some(data) = self.plane.control(protocol, event.src, handle(event), payload) else { return };
        let reason =
            if reason == DropReason::LinkDown { NoticeReason::LinkDown } else { NoticeReason::QueueFull };
        let notice = DropNotice { data, dropped: *event, node, port, reason };
        self.plane.outbox.control(Header::R2c2DropNotice(notice));
    }

    /// Sends the retries that are due. Of a finished flow, only the FINISH is sent again, because other events would
    /// arrive after the FINISH.
    fn retry_due(&mut self, now: Time) {
        let Self { plane: DataPlane { id, view, sender, outbox, .. }, retries, table, told_again, .. } = self;
        for event in retries.due(now) {
            let live = sender.flows().iter().any(|flow| flow.lid == event.lid);
            let event = match table.get(event.flow()) {
                // The flow may have changed since the drop, so the retry contains the flow's current state.
                Some(known) if live && event.kind == EventKind::Finish => {
                    known.event(EventKind::Refresh, event.tree)
                }
                Some(known) if live => known.event(event.kind, event.tree),
                _ if event.kind == EventKind::Finish => event,
                _ => continue,
            };
            *told_again = Some(now);
            outbox.copies(&event, view.trees.children(*id, event.tree, *id));
        }
        while let Some((packet, port)) = retries.due_copy(now) {
            outbox.packet(packet, PortSet::of(port));
        }
    }

    /// Broadcasts the current state of the flows of this node for which `wanted` is true. Flows without a path to their
    /// destination are left out.
    fn say_again(&mut self, now: Time, kind: EventKind, wanted: impl Fn(u32) -> bool) {
        let live = self.plane.sender.flows().iter().filter(|flow| !flow.cut_off).map(|flow| flow.event(kind));
        for event in live.filter(|event| wanted(event.flow())).collect::<Vec<_>>() {
            self.broadcast(now, event);
        }
    }

    /// Called after a topology change (§3.2): updates routes and trees, removes flows that are cut off from the table,
    /// and announces live flows again. The sender keeps reliable flows. Flows that waited for a path start if a path
    /// exists now.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "R2C2 supports at most 2^16 nodes, and port numbers have 8 bits"
    )]
    fn renew_view(&mut self, now: Time) {
        self.plane.renew_view(now);
        let (view, id) = (&self.plane.view, self.plane.id);
        self.table.retain(now, |entry| view.concerns(id, entry.src(), NodeId(entry.dst.into())));
        self.keep_waiting(now);
        if self.plane.sender.is_empty() {
            self.plane.ticks.stop();
        }
        self.say_again(now, EventKind::Refresh, |_| true);
        self.told_again = Some(now);
        let number = self.plane.id.0 as u16;
        let others = self.table.sources().into_iter().filter(|&source| source != number);
        self.anti_entropy.fabric_changed(now, others);
        for flow in std::mem::take(&mut self.cut_off) {
            self.start(now, flow);
        }
        if let Some(selector) = &mut self.selector {
            selector.renew(now, self.plane.params(), &self.plane.view);
        }
        self.mind_selection(now);
        self.event_seen(now);
    }

    fn finish(&mut self, now: Time, flow: &Outgoing) {
        self.broadcast(now, flow.event(EventKind::Finish));
        self.plane.close(now, flow);
        if self.plane.sender.is_empty() {
            self.plane.ticks.stop();
        } else {
            self.event_seen(now);
        }
    }

    /// Runs one action that is due. Returns the node's output, or `None` if the caller must call this function again.
    /// The function is never inlined, so that the fast path of a relay stays short.
    #[inline(never)]
    fn work(&mut self, now: Time, ports: &Ports<'_>) -> Option<Output> {
        if self.plane.outdated {
            self.renew_view(now);
            return None;
        }
        let selection = self.selector.as_ref().map_or(Time::NEVER, Selector::wake);
        let recovery = self.anti_entropy.next().min(self.resends.next_due());
        if selection <= now {
            self.select(now);
            return None;
        }
        if self.anti_entropy.next() <= now {
            self.compare(now);
            return None;
        }
        if let Some(port) = self.resends.due(now) {
            self.ask_neighbour(port);
            return None;
        }
        if let Some(flow) = self.plane.lids.due(now) {
            self.start(now, flow);
            return None;
        }
        if self.plane.ticks.take(now) {
            if self.plane.sender.is_cut_off() {
                self.plane.ticks.stop();
            }
            self.tick(now);
            return None;
        }
        self.retry_due(now);
        if !self.plane.outbox.is_empty() {
            return None;
        }
        Some(match self.plane.next(now, ports) {
            Ok(Departure { packet, finished }) => {
                if let Some(flow) = finished {
                    self.finish(now, &flow);
                }
                Output::Send { packet, port: None }
            }
            Err(wake) => {
                let timers = [
                    self.retries.next_due(),
                    self.plane.lids.next_due(),
                    self.plane.ticks.next(),
                    selection,
                    recovery,
                ];
                let wake = timers.into_iter().fold(wake, Time::min);
                self.plane.asleep_until = Some(wake);
                Output::WakeAt(wake.min(self.next_acknowledgement()))
            }
        })
    }
}

impl Host for R2c2Node {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        // Most inputs are data packets and events of other nodes. Such an input does not change the time at which this
        // node may send its next packet.
        let others = matches!(
            input,
            Input::Packet { packet: Packet { header: Header::R2c2Data(_) | Header::R2c2Event(_), .. }, .. }
        );
        if !others {
            self.plane.asleep_until = None;
        }
        match input {
            Input::Flow(flow) => {
                self.start(now, *flow);
                self.event_seen(now);
            }
            Input::Append { flow, bytes } => self.change_stream(flow, bytes, false),
            Input::Close { flow } => self.change_stream(flow, Bytes(0), true),
            Input::Packet { packet, .. } if self.plane.is_astray(packet) => {}
            Input::Packet { packet, port } => match &packet.header {
                Header::R2c2Data(data) => self.take_data(now, data),
                Header::R2c2Acknowledgement(ack) => self.take_acknowledgement(now, ack),
                Header::R2c2Event(event) => self.take_event(now, event),
                Header::R2c2DropNotice(notice) if NodeId(notice.dropped.src.into()) == self.plane.id => {
                    let at = (notice.node, notice.port);
                    self.retries.dropped(now, &notice.dropped, at, self.plane.view.trees.count());
                    self.anti_entropy.own_dropped(now);
                }
                Header::R2c2Announcement(announcement) => self.take_announcement(now, announcement),
                Header::R2c2Digest(digest) => self.take_digest(now, *digest),
                Header::R2c2Request(request) => self.take_request(now, request, port),
                Header::R2c2Snapshot(snapshot) => self.take_snapshot(now, snapshot),
                // The node ignores a drop notice for another node, a message to or from a central controller, and a
                // packet of another transport.
                _ => {}
            },
            Input::Sent(_) => {}
            Input::Corrupted { port } => self.resends.damaged(now, port),
            Input::Dropped { packet, port, reason } => self.take_drop(now, packet, port, reason),
            Input::Link { link, up } => self.plane.discover(link, up),
        }
    }

    #[inline]
    fn foresee(&self, packet: &Packet) {
        if let Header::R2c2Event(event) = &packet.header {
            self.table.foresee(event);
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        loop {
            if self.arrivals.is_some() {
                self.acknowledge_due(now);
            }
            if let Some(output) = self.plane.outbox.next() {
                return output;
            }
            if let Some(until) = self.plane.asleep_until
                && now < until
            {
                return Output::WakeAt(until.min(self.next_acknowledgement()));
            }
            if let Some(output) = self.work(now, ports) {
                return output;
            }
        }
    }

    fn carries_streams(&self) -> bool {
        self.params().reliable && self.params().streams
    }

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        let flows = self.plane.sender.flows().iter();
        let mut counts: Vec<_> =
            flows.map(|flow| (self.plane.sender.handle(flow.lid).into(), flow.repeats())).collect();
        counts.sort_by_key(|&(key, _)| key);
        counts
    }
}
