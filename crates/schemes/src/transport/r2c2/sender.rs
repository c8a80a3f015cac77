//! The sending side of a node (R2C2 §3.5): chooses the flow that sends the next packet, and the path of the packet.

use super::Params;
use super::fabric::View;
use super::outgoing::{Drawn, HEADER, Outgoing};
use raddle_core::{Bytes, FlowId, Header, NodeId, Packet, PortId, Ports, Stream, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{
    Acknowledgement, Data, Event, EventKind, FLAG_LAST, FLAG_PAYLOAD_COVERED, Route, flow_handle,
};
use std::collections::BTreeMap;

/// The sending side of a node. Flows take turns of one packet each.
#[derive(Debug)]
pub(crate) struct Sender {
    id: u16,
    flows: Vec<Outgoing>,
    /// Index of the flow whose turn is next.
    turn: usize,
    paths: Stream,
    ports: Vec<PortId>,
    /// For each port whose full queue has dropped a data packet that this node sent as the packet's source: the time of
    /// the last such drop.
    full: BTreeMap<PortId, Time>,
}

/// A packet that leaves now, and the packet's flow if the packet finishes the flow.
#[derive(Debug)]
pub(crate) struct Departure {
    pub(crate) packet: Packet,
    pub(crate) finished: Option<Box<Outgoing>>,
}

/// Effects of an acknowledgement.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    /// Number of acknowledged bytes from the start of the flow, if this number has grown.
    pub(super) advanced_to: Option<Bytes>,
    /// The flow, if the acknowledgement has finished the flow.
    pub(super) finished: Option<Outgoing>,
}

impl Sender {
    /// A sender without flows at node `id`, in a run with this seed.
    pub(crate) fn new(id: NodeId, seed: u64) -> Self {
        Self {
            id: u16::try_from(id.0).expect("R2C2 supports at most 65,536 nodes"),
            flows: Vec::new(),
            turn: 0,
            paths: Stream::new(seed, id.0.into(), "r2c2/paths"),
            ports: Vec::new(),
            full: BTreeMap::new(),
        }
    }

    /// The handle of the flow with number `lid` at this node.
    pub(crate) fn handle(&self, lid: u16) -> u32 {
        flow_handle(self.id, lid)
    }

    pub(crate) fn flows(&self) -> &[Outgoing] {
        &self.flows
    }

    pub(crate) fn flows_mut(&mut self) -> &mut [Outgoing] {
        &mut self.flows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(crate) fn push(&mut self, flow: Outgoing) {
        self.flows.push(flow);
    }

    /// Sets a flow's routing protocol. Returns true if this node sends the flow.
    pub(super) fn set_protocol(&mut self, key: u32, protocol: Protocol) -> bool {
        let Some(place) = self.flows.iter().position(|flow| flow_handle(self.id, flow.lid) == key) else {
            return false;
        };
        self.flows[place].protocol = protocol;
        self.flows[place].drawn = None;
        true
    }

    /// Records that the queue at `port` was full and has dropped a data packet of this node.
    pub(super) fn refused(&mut self, now: Time, port: PortId) {
        self.full.insert(port, now);
    }

    /// Called after a topology change. Discards drawn routes. Removes and returns the flows whose destination is
    /// unreachable, unless flows are reliable. Reliable flows wait for a path instead.
    pub(crate) fn reroute(&mut self, view: &View, params: &Params) -> Vec<Outgoing> {
        let at = NodeId(self.id.into());
        for flow in &mut self.flows {
            let cut_off = !view.routing.has_path(at, flow.flow.dst);
            flow.reroute(cut_off, params.mtu);
        }
        self.turn = 0;
        self.flows.extract_if(.., |flow| flow.cut_off && !params.reliable).collect()
    }

    /// True if the node sends flows, but no destination of these flows is reachable.
    pub(super) fn is_cut_off(&self) -> bool {
        !self.flows.is_empty() && self.flows.iter().all(|flow| flow.cut_off)
    }

    /// Handles an acknowledgement.
    pub(super) fn acknowledge(&mut self, now: Time, ack: &Acknowledgement, mtu: u16) -> Acknowledged {
        let Some(place) = self.flows.iter().position(|flow| self.handle(flow.lid) == ack.data.flow) else {
            return Acknowledged::default();
        };
        let flow = &mut self.flows[place];
        let before = flow.acknowledged();
        flow.acknowledge(now, ack, mtu);
        let advanced_to = Some(flow.acknowledged()).filter(|&to| to > before);
        let finished = flow.is_done().then(|| {
            self.turn -= usize::from(place < self.turn);
            self.flows.remove(place)
        });
        Acknowledged { advanced_to, finished }
    }

    /// Appends the application's bytes to a stream, or closes the stream. Returns true if this node sends the stream
    /// and the stream was open.
    pub(super) fn change(&mut self, id: FlowId, bytes: Bytes, closes: bool, mtu: u16) -> bool {
        let flow = self.flows.iter_mut().find(|flow| flow.is_open_stream(id));
        flow.map(|flow| flow.change(bytes, closes, mtu)).is_some()
    }

    /// The header of a control packet to node `dst` about flow `flow`, with `plen` bytes of payload. The routing
    /// protocol `protocol` chooses the packet's path. `None` if no path exists, or if the route does not fit the
    /// header.
    pub(crate) fn control(
        &mut self,
        view: &View,
        params: &Params,
        protocol: Protocol,
        dst: u16,
        flow: u32,
        plen: u16,
    ) -> Option<Data> {
        let to = NodeId(dst.into());
        if !view.is_way(NodeId(self.id.into()), to) {
            return None;
        }
        let drawn = self.draw(view, params, protocol, to, flow)?;
        Some(self.control_along(drawn.route, drawn.hops, dst, flow, plen))
    }

    /// The header of a control packet without payload to the neighbour at a port. `None` if the number of the port is
    /// too large for a source route.
    pub(super) fn one_hop(&self, params: &Params, port: PortId, neighbour: u16) -> Option<Data> {
        let route = Route::from_ports([port.0], params.hop_bits).ok()?;
        Some(self.control_along(route, 1, neighbour, 0, 0))
    }

    fn control_along(&self, route: Route, hops: u8, dst: u16, flow: u32, plen: u16) -> Data {
        Data {
            flow,
            src: self.id,
            dst,
            seq: 0,
            plen,
            rlen: hops,
            ridx: 0,
            flags: FLAG_PAYLOAD_COVERED,
            route,
        }
    }

    /// Draws a route to `dst` for a packet of flow `key`. `None` if no path exists, or if the route does not fit the
    /// header.
    fn draw(
        &mut self,
        view: &View,
        params: &Params,
        protocol: Protocol,
        dst: NodeId,
        key: u32,
    ) -> Option<Drawn> {
        let at = NodeId(self.id.into());
        if !view.routing.has_path(at, dst) {
            return None;
        }
        view.routing.sample(view.feasible(protocol), at, dst, key.into(), &mut self.paths, &mut self.ports);
        let first = *self.ports.first()?;
        // In the intact fabric, every route fits the header. This was checked when the experiment was built. A detour
        // around failed links may not fit.
        let route = Route::from_ports(self.ports.iter().map(|port| port.0), params.hop_bits).ok()?;
        let hops = u8::try_from(self.ports.len()).expect("a route must have at most 42 hops");
        Some(Drawn { route, hops, first })
    }

    /// Ends the demand period of every flow. Returns the events that announce changed demands.
    pub(crate) fn end_demand_period(&mut self, now: Time, params: &Params) -> Vec<Event> {
        let changed = |flow: &mut Outgoing| {
            flow.end_demand_period(now, params.rho, params.mtu).then(|| flow.event(EventKind::Demand))
        };
        self.flows.iter_mut().filter_map(changed).collect()
    }

    /// The next data packet. If no packet may leave now, the time of the next call.
    pub(crate) fn next(
        &mut self,
        now: Time,
        ports: &Ports<'_>,
        view: &View,
        params: &Params,
    ) -> Result<Departure, Time> {
        let mut wake = Time::NEVER;
        for step in 0..self.flows.len() {
            let place = (self.turn + step) % self.flows.len();
            let flow = &mut self.flows[place];
            flow.time_out(now, params.mtu);
            wake = wake.min(flow.deadline());
            let ready = flow.ready_at();
            if ready > now {
                wake = wake.min(ready);
                continue;
            }
            let drawn = match flow.drawn {
                Some(drawn) => drawn,
                None => {
                    let flow = &self.flows[place];
                    let (dst, protocol, key) = (flow.flow.dst, flow.protocol, self.handle(flow.lid));
                    let Some(drawn) = self.draw(view, params, protocol, dst, key) else { continue };
                    self.flows[place].drawn = Some(drawn);
                    drawn
                }
            };
            let port = ports.get(drawn.first);
            if !port.up {
                continue; // the link at this port is down, and topology discovery will lead to a new route
            }
            let packet = u64::from(params.mtu) + HEADER;
            if self.full.get(&drawn.first) == Some(&now) {
                // The queue has dropped a packet at this instant. Without a wait, a flow could lose all its packets in
                // one instant. The wait ends when the port is free. If the port is free already, the packet is longer
                // than the queue limit, and the wait is one serialization delay.
                let free_at = port.free_at(now);
                let sent_at = now + port.rate.time_for(Bytes(packet));
                wake = wake.min(if free_at > now { free_at } else { sent_at });
                continue;
            }
            if let Bytes(room) = port.room(now)
                && room < packet
                && port.waiting(now) > Bytes(0)
            {
                wake = wake.min(now + port.rate.time_for(Bytes(packet - room)));
                continue;
            }
            if !self.flows[place].is_limited() {
                let most =
                    port.rate.time_for(Bytes((params.nic_packets - 1) * (u64::from(params.mtu) + HEADER)));
                if port.backlog(now) > most {
                    wake = wake.min(Time::from_ps(port.free_at(now).as_ps() - most.as_ps()));
                    continue;
                }
            }
            if let Some(departure) = self.send(now, place, &drawn, params) {
                return Ok(departure);
            }
        }
        Err(wake)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "R2C2 supports at most 2^16 nodes, and a header is short"
    )]
    fn send(&mut self, now: Time, place: usize, drawn: &Drawn, params: &Params) -> Option<Departure> {
        let id = self.id;
        let flow = &mut self.flows[place];
        let piece = flow.next_piece(params.mtu)?;
        let data = Data {
            flow: flow_handle(id, flow.lid),
            src: id,
            dst: flow.flow.dst.0 as u16,
            seq: piece.seq,
            plen: piece.payload,
            rlen: drawn.hops,
            ridx: 0,
            // The checksum covers the payload of reliable flows, so that damaged packets are retransmitted.
            flags: if piece.last { FLAG_LAST } else { 0 }
                | if params.reliable { FLAG_PAYLOAD_COVERED } else { 0 },
            route: drawn.route,
        };
        flow.release(now, piece, params.mtu);
        let done = flow.is_done();
        let finished = done.then(|| Box::new(self.flows.remove(place)));
        self.turn = if done { place } else { place + 1 };
        let packet = Packet::new(HEADER as u32 + u32::from(piece.payload), Header::R2c2Data(data));
        Some(Departure { packet, finished })
    }
}
