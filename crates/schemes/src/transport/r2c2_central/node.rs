//! A rack node: sends and receives flows as in R2C2, at the rates that it receives from the controller. The controller
//! runs at one of the nodes.

use super::Params;
use super::controller::Controller;
use crate::transport::r2c2::data_plane::DataPlane;
use crate::transport::r2c2::outgoing::Outgoing;
use crate::transport::r2c2::rates::protocol;
use crate::transport::r2c2::sender::Departure;
use crate::transport::r2c2::{Fabric, FlowTable};
use raddle_core::{Flow, Header, Host, Input, NodeId, Output, Packet, Ports, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{ControllerEvent, ControllerRates, Data, Event, EventKind, FlowRate, flow_handle};
use std::sync::Arc;

/// Control messages between two nodes take one shortest path, so that no message overtakes an earlier message.
const CONTROL_PATH: Protocol = Protocol::Ecmp;

/// One node of a rack with a controller.
pub struct CentralNode {
    plane: DataPlane,
    /// The node of the controller.
    controlled_by: NodeId,
    /// The controller, if it runs at this node.
    controller: Option<Controller>,
    /// The number of the computation that produced this node's current rates.
    computation: u32,
}

impl CentralNode {
    /// Node `id` of `fabric`, in a run with this seed. The fabric must have the parameters `params.r2c2`.
    #[must_use]
    pub fn new(fabric: &Arc<Fabric>, params: &Params, id: NodeId, seed: u64) -> Self {
        Self {
            plane: DataPlane::new(fabric, id, seed),
            controlled_by: params.controller,
            controller: (id == params.controller).then(|| Controller::new(params)),
            computation: 0,
        }
    }

    /// The controller's table of all flows; `None` if the controller does not run at this node.
    #[must_use]
    pub fn table(&self) -> Option<&FlowTable> {
        self.controller.as_ref().map(|controller| &controller.table)
    }

    /// The handle of each flow in the controller's table, and the flow's rate in bit/s in an allocation for all flows
    /// of the table. `None` if the controller does not run at this node.
    #[must_use]
    pub fn compute_all(&self) -> Option<Vec<(u32, f64)>> {
        Some(self.plane.rates(self.table()?))
    }

    /// The handle and the rate limit, in bit/s, of each flow that this node sends. Flows without a rate limit are left
    /// out.
    pub fn limits(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.plane.limits()
    }

    fn start(&mut self, now: Time, flow: Flow) {
        let Some(outgoing) = self.plane.open(now, flow) else { return };
        self.tell_controller(now, &outgoing.event(EventKind::Start));
        self.plane.sender.push(outgoing);
        self.plane.ticks.start(now);
    }

    fn finish(&mut self, now: Time, flow: &Outgoing) {
        self.tell_controller(now, &flow.event(EventKind::Finish));
        self.plane.close(now, flow);
    }

    /// The header of a message to `dst`, which is `node` or the controller's node. The message is about flows of
    /// `node`. `None` if no path to `dst` exists, or if the route does not fit the header.
    #[allow(clippy::cast_possible_truncation, reason = "R2C2 supports at most 2^16 nodes")]
    fn message(&mut self, node: NodeId, dst: NodeId, plen: usize) -> Option<Data> {
        // The payload names the flows, so the header carries flow number 0, which no flow has.
        let about = flow_handle(node.0 as u16, 0);
        let plen =
            u16::try_from(plen).expect("the payload of a control packet must have fewer than 2^16 bytes");
        self.plane.control(CONTROL_PATH, dst.0 as u16, about, plen)
    }

    fn tell_controller(&mut self, now: Time, event: &Event) {
        if self.controller.is_some() {
            self.take_event(now, event);
        } else if let Some(data) = self.message(self.plane.id, self.controlled_by, Event::LEN) {
            self.plane.outbox.control(Header::R2c2ControllerEvent(ControllerEvent { data, event: *event }));
        }
    }

    fn take_event(&mut self, now: Time, event: &Event) {
        let (view, params) = (&self.plane.view, self.plane.params());
        let is_known = view.is_node(event.src) && view.is_node(event.dst);
        if !is_known || protocol(params, event.protocol).is_none() {
            return; // the event has an invalid node or protocol
        }
        if let Some(controller) = &mut self.controller {
            controller.take(now, event);
            if controller.tells_at_ticks() {
                self.plane.ticks.start(now);
            }
        }
    }

    /// Computes rates, and sends each node the rates of its flows.
    fn tell_rates(&mut self, now: Time) {
        let Some(controller) = &mut self.controller else { return };
        let (computation, by_node) = controller.compute(now, self.plane.params(), &self.plane.view);
        let most = (usize::from(self.plane.params().mtu) / FlowRate::LEN).max(1);
        for (node, rates) in by_node {
            if node == self.plane.id {
                self.take_rates(now, computation, &rates);
                continue;
            }
            for rates in rates.chunks(most) {
                let Some(data) = self.message(node, node, rates.len() * FlowRate::LEN) else { continue };
                let data = Data { seq: computation, ..data };
                let packet = ControllerRates { data, rates: rates.into() };
                self.plane.outbox.control(Header::R2c2ControllerRates(Box::new(packet)));
            }
        }
    }

    /// Sets the rate limits of this node's flows to the rates of a computation, unless rates of a later computation
    /// have already arrived. Reports a FINISH for each flow that this node does not have.
    fn take_rates(&mut self, now: Time, computation: u32, rates: &[FlowRate]) {
        if computation.wrapping_sub(self.computation) > u32::MAX / 2 {
            return;
        }
        self.computation = computation;
        let mtu = self.plane.params().mtu;
        for told in rates {
            let key = self.plane.sender.handle(told.lid);
            let Some(flow) = self.plane.sender.flows_mut().iter_mut().find(|flow| flow.lid == told.lid)
            else {
                self.tell_controller(now, &finished(key));
                continue;
            };
            let rate = f64::from(told.kbps) * 1e3;
            if flow.rate() != Some(rate) {
                flow.limit(now, rate, mtu);
                self.plane.outbox.paced(key, rate);
            }
        }
    }

    fn tick(&mut self, now: Time) {
        for event in self.plane.end_demand_period(now) {
            self.tell_controller(now, &event);
        }
        let tells = self.controller.as_ref().is_some_and(Controller::tells_at_ticks);
        if tells {
            self.tell_rates(now);
        }
        if self.plane.sender.is_empty() && !(tells && self.table().is_some_and(|table| !table.is_empty())) {
            self.plane.ticks.stop();
        }
    }

    /// Called after a topology change: updates routes, removes flows that are cut off, and reports live flows again.
    fn renew_view(&mut self, now: Time) {
        self.plane.renew_view(now);
        if let Some(controller) = &mut self.controller {
            controller.renew(now, &self.plane.view, self.plane.id);
        }
        let live: Vec<_> =
            self.plane.sender.flows().iter().map(|flow| flow.event(EventKind::Refresh)).collect();
        for event in live {
            self.tell_controller(now, &event);
        }
    }
}

/// The FINISH that a node reports for a flow that it does not have.
#[allow(clippy::cast_possible_truncation, reason = "a flow's number is the lower 16 bits of its key")]
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
        // Most inputs are data packets of other nodes. Such an input does not change the time at which this node may
        // send its next packet.
        let is_data =
            matches!(input, Input::Packet { packet: Packet { header: Header::R2c2Data(_), .. }, .. });
        if !is_data {
            self.plane.asleep_until = None;
        }
        match input {
            Input::Flow(flow) => self.start(now, *flow),
            Input::Packet { packet, .. } if self.plane.is_astray(packet) => {}
            Input::Packet { packet, .. } => match &packet.header {
                Header::R2c2Data(data) => self.plane.take_data(data),
                Header::R2c2ControllerEvent(packet) => self.take_event(now, &packet.event),
                Header::R2c2ControllerRates(packet) => self.take_rates(now, packet.data.seq, &packet.rates),
                // The node ignores packets of R2C2 without a central controller, and packets of other transports.
                _ => {}
            },
            Input::Sent(_)
            | Input::Dropped { .. }
            | Input::Append { .. }
            | Input::Close { .. }
            | Input::Corrupted { .. } => {}
            Input::Link { link, up } => self.plane.discover(link, up),
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        loop {
            if let Some(output) = self.plane.outbox.next() {
                return output;
            }
            if let Some(until) = self.plane.asleep_until
                && now < until
            {
                return Output::WakeAt(until);
            }
            if self.plane.outdated {
                self.renew_view(now);
            } else if let Some(flow) = self.plane.lids.due(now) {
                self.start(now, flow);
            } else if self.plane.ticks.take(now) {
                self.tick(now);
            } else if self.controller.as_mut().is_some_and(Controller::take_news) {
                self.tell_rates(now);
            } else {
                match self.plane.next(now, ports) {
                    Ok(Departure { packet, finished }) => {
                        if let Some(flow) = finished {
                            self.finish(now, &flow);
                        }
                        return Output::Send { packet, port: None };
                    }
                    Err(wake) => {
                        let wake = wake.min(self.plane.lids.next_due()).min(self.plane.ticks.next());
                        self.plane.asleep_until = Some(wake);
                        return Output::WakeAt(wake);
                    }
                }
            }
        }
    }
}
