//! A rack node: sends and receives its own flows as in R2C2, at the rates that it is told; one of them is the
//! controller.

use super::Params;
use super::controller::Controller;
use crate::transport::lids::Lids;
use crate::transport::r2c2::fabric::View;
use crate::transport::r2c2::outbox::Outbox;
use crate::transport::r2c2::outgoing::Outgoing;
use crate::transport::r2c2::rates::protocol;
use crate::transport::r2c2::sender::{Departure, Sender};
use crate::transport::r2c2::ticks::Ticks;
use crate::transport::r2c2::{Fabric, FlowTable};
use crate::transport::reassembly::Receiver;
use raddle_core::{Flow, Header, Host, Input, LinkId, NodeId, Output, Packet, Ports, Report, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{ControllerEvent, ControllerRates, Data, Event, EventKind, FlowRate, flow_handle};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Control messages between two nodes take one shortest path, so that none overtakes another.
const CONTROL_PATH: Protocol = Protocol::Ecmp;

/// One node of a rack with a controller.
pub struct CentralNode {
    id: NodeId,
    params: Params,
    fabric: Arc<Fabric>,
    view: Arc<View>,
    down: BTreeSet<LinkId>,
    /// Discovery has reported changes that `view` does not show yet.
    outdated: bool,
    /// At the controller's node.
    controller: Option<Controller>,
    sender: Sender,
    receiver: Receiver,
    outbox: Outbox,
    lids: Lids,
    ticks: Ticks,
    /// The number of the computation whose rates this node has.
    computation: u32,
    /// Nothing is to be done before this, unless something comes in that clears it.
    asleep_until: Option<Time>,
}

impl CentralNode {
    /// The node `id` of `fabric`, which has the parameters `params.r2c2`, in a run with this seed.
    #[must_use]
    pub fn new(fabric: &Arc<Fabric>, params: &Params, id: NodeId, seed: u64) -> Self {
        Self {
            id,
            params: *params,
            view: fabric.view(&BTreeSet::new()),
            fabric: Arc::clone(fabric),
            down: BTreeSet::new(),
            outdated: false,
            controller: (id == params.controller).then(|| Controller::new(params)),
            sender: Sender::new(id, seed),
            receiver: Receiver::default(),
            outbox: Outbox::default(),
            lids: Lids::default(),
            ticks: Ticks::new(&params.r2c2, id, seed),
            computation: 0,
            asleep_until: None,
        }
    }

    /// The controller's table of all flows; `None` at the other nodes.
    #[must_use]
    pub fn table(&self) -> Option<&FlowTable> {
        self.controller.as_ref().map(|controller| &controller.table)
    }

    /// The rates of all flows in the controller's table as it would compute them now, by handle, in bit/s; `None` at
    /// the other nodes.
    #[must_use]
    pub fn compute_all(&self) -> Option<Vec<(u32, f64)>> {
        Some(self.controller.as_ref()?.compute_all(&self.params, &self.view))
    }

    /// The rate that limits each flow this node sends, by handle, in bit/s; flows without a limiter are left out.
    pub fn limits(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.sender.flows().iter().filter_map(|flow| Some((self.sender.handle(flow.lid), flow.rate()?)))
    }

    fn start(&mut self, now: Time, flow: Flow) {
        let Some(lid) = self.lids.take(now, &flow) else { return };
        self.outbox.report(Report::Opened { flow: flow.id, key: self.sender.handle(lid).into() });
        let outgoing = Outgoing::new(flow, lid, &self.params.r2c2);
        self.tell_controller(now, &outgoing.event(EventKind::Start));
        self.sender.push(outgoing);
        self.ticks.start(now);
    }

    fn finish(&mut self, now: Time, flow: &Outgoing) {
        self.tell_controller(now, &flow.event(EventKind::Finish));
        self.lids.give_back(now, flow.lid);
        let key = self.sender.handle(flow.lid).into();
        self.outbox.report(Report::Closed { key, retransmissions: 0 });
    }

    /// The header of a message between the controller and `node`, to `dst`; `None` if there is no way.
    fn message(&mut self, node: NodeId, dst: NodeId, plen: usize) -> Option<Data> {
        // About none of the node's flows in particular: no flow has the number 0.
        let about = flow_handle(node.0 as u16, 0);
        let plen = u16::try_from(plen).expect("at most an MTU");
        self.sender.control(&self.view, &self.params.r2c2, CONTROL_PATH, dst.0 as u16, about, plen)
    }

    fn tell_controller(&mut self, now: Time, event: &Event) {
        if self.controller.is_some() {
            self.take_event(now, event);
        } else if let Some(data) = self.message(self.id, self.params.controller, Event::LEN) {
            self.outbox.control(Header::R2c2ControllerEvent(ControllerEvent { data, event: *event }));
        }
    }

    fn take_event(&mut self, now: Time, event: &Event) {
        let nodes = self.view.routing.topology().node_count();
        let known = |node: u16| usize::from(node) < nodes;
        if !known(event.src) || !known(event.dst) || protocol(&self.params.r2c2, event.protocol).is_none() {
            return; // no node of this fabric said that
        }
        if let Some(controller) = &mut self.controller {
            controller.take(now, event);
            if controller.tells_at_ticks() {
                self.ticks.start(now);
            }
        }
    }

    /// Computes rates, and tells each node that of its flows.
    fn tell_rates(&mut self, now: Time) {
        let Some(controller) = &mut self.controller else { return };
        let (computation, by_node) = controller.compute(now, &self.params, &self.view);
        let most = (usize::from(self.params.r2c2.mtu) / FlowRate::LEN).max(1);
        for (node, rates) in by_node {
            if node == self.id {
                self.take_rates(now, computation, &rates);
                continue;
            }
            for rates in rates.chunks(most) {
                let Some(data) = self.message(node, node, rates.len() * FlowRate::LEN) else { continue };
                let data = Data { seq: computation, ..data };
                let packet = ControllerRates { data, rates: rates.into() };
                self.outbox.control(Header::R2c2ControllerRates(Box::new(packet)));
            }
        }
    }

    /// Installs the rates of a computation, unless those of a later one have come by another path.
    fn take_rates(&mut self, now: Time, computation: u32, rates: &[FlowRate]) {
        if computation.wrapping_sub(self.computation) > u32::MAX / 2 {
            return;
        }
        self.computation = computation;
        for told in rates {
            let key = self.sender.handle(told.lid);
            let Some(flow) = self.sender.flows_mut().iter_mut().find(|flow| flow.lid == told.lid) else {
                self.tell_controller(now, &finished(key));
                continue;
            };
            let rate = f64::from(told.kbps) * 1e3;
            if flow.rate() != Some(rate) {
                flow.limit(now, rate, self.params.r2c2.mtu);
                self.outbox.paced(key, rate);
            }
        }
    }

    fn tick(&mut self, now: Time) {
        for event in self.sender.end_demand_period(now, &self.params.r2c2) {
            self.tell_controller(now, &event);
        }
        let tells = self.controller.as_ref().is_some_and(Controller::tells_at_ticks);
        if tells {
            self.tell_rates(now);
        }
        if self.sender.is_empty() && !(tells && self.table().is_some_and(|table| !table.is_empty())) {
            self.ticks.stop();
        }
    }

    /// After a failure or repair: new routes, dead flows forgotten, live flows told again.
    fn renew_view(&mut self, now: Time) {
        self.outdated = false;
        self.view = self.fabric.view(&self.down);
        self.receiver.retain(|src| self.view.is_way(src, self.id));
        for flow in self.sender.reroute(&self.view, &self.fabric.params) {
            self.lids.give_back(now, flow.lid);
        }
        if let Some(controller) = &mut self.controller {
            controller.renew(now, &self.view, self.id);
        }
        let live: Vec<_> = self.sender.flows().iter().map(|flow| flow.event(EventKind::Refresh)).collect();
        for event in live {
            self.tell_controller(now, &event);
        }
    }
}

/// What a node says of a flow that it does not have, or no longer.
fn finished(key: u32) -> Event {
    let src = (key >> 16) as u16;
    Event {
        kind: EventKind::Finish,
        tree: 0,
        src,
        dst: src,
        weight: 1,
        priority: 0,
        protocol: 0,
        demand_kbps: 0,
        lid: key as u16,
    }
}

impl Host for CentralNode {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        // Data of others, the bulk of what comes in, changes nothing in what this node may send when.
        let is_data =
            matches!(input, Input::Packet { packet: Packet { header: Header::R2c2Data(_), .. }, .. });
        if !is_data {
            self.asleep_until = None;
        }
        match input {
            Input::Flow(flow) => self.start(now, *flow),
            // A damaged hop counter has led it astray.
            Input::Packet { packet, .. }
                if packet.header.routed().is_some_and(|data| NodeId(data.dst.into()) != self.id) => {}
            Input::Packet { packet, .. } => match &packet.header {
                Header::R2c2Data(data) => {
                    if let Some(delivered) = self.receiver.take(data) {
                        self.outbox.report(delivered);
                    }
                }
                Header::R2c2ControllerEvent(packet) => self.take_event(now, &packet.event),
                Header::R2c2ControllerRates(packet) => self.take_rates(now, packet.data.seq, &packet.rates),
                // The distributed R2C2's, or another protocol's.
                _ => {}
            },
            Input::Sent(_)
            | Input::Dropped { .. }
            | Input::Append { .. }
            | Input::Close { .. }
            | Input::Corrupted { .. } => {}
            Input::Link { link, up } => {
                self.outdated |= if up { self.down.remove(&link) } else { self.down.insert(link) };
            }
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        loop {
            if let Some(output) = self.outbox.next() {
                return output;
            }
            if let Some(until) = self.asleep_until
                && now < until
            {
                return Output::WakeAt(until);
            }
            if self.outdated {
                self.renew_view(now);
            } else if let Some(flow) = self.lids.due(now) {
                self.start(now, flow);
            } else if self.ticks.take(now) {
                self.tick(now);
            } else if self.controller.as_mut().is_some_and(Controller::take_news) {
                self.tell_rates(now);
            } else {
                match self.sender.next(now, ports, &self.view, &self.params.r2c2) {
                    Ok(Departure { packet, finished }) => {
                        if let Some(flow) = finished {
                            self.finish(now, &flow);
                        }
                        return Output::Send { packet, port: None };
                    }
                    Err(wake) => {
                        let wake = wake.min(self.lids.next_due()).min(self.ticks.next());
                        self.asleep_until = Some(wake);
                        return Output::WakeAt(wake);
                    }
                }
            }
        }
    }
}
