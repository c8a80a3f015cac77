//! The flows that a node is sending: whose packet goes next, and over which path (§3.5).

use super::Params;
use super::fabric::View;
use super::outgoing::{Drawn, HEADER, Outgoing};
use raddle_core::{Bytes, Header, NodeId, Packet, PortId, Ports, Stream, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{Data, FLAG_LAST, FLAG_PAYLOAD_COVERED, Route, flow_handle};
use std::collections::BTreeMap;

/// The sending side of a node. Flows take turns, a packet each.
#[derive(Debug)]
pub(super) struct Sender {
    id: u16,
    flows: Vec<Outgoing>,
    /// The flow whose turn it is.
    turn: usize,
    paths: Stream,
    ports: Vec<PortId>,
    /// The ports of this node whose queues had no room for a data packet, and when they last had none.
    full: BTreeMap<PortId, Time>,
}

/// A packet that is to leave now, and its flow if this was its last.
#[derive(Debug)]
pub(super) struct Departure {
    pub(super) packet: Packet,
    pub(super) finished: Option<Outgoing>,
}

impl Sender {
    /// No flows, at the node `id` of a run with this seed.
    pub(super) fn new(id: NodeId, seed: u64) -> Self {
        Self {
            id: u16::try_from(id.0).expect("R2C2 addresses 65,536 nodes"),
            flows: Vec::new(),
            turn: 0,
            paths: Stream::new(seed, id.0.into(), "r2c2/paths"),
            ports: Vec::new(),
            full: BTreeMap::new(),
        }
    }

    /// The handle of the flow that this node calls `lid`.
    pub(super) fn handle(&self, lid: u16) -> u32 {
        flow_handle(self.id, lid)
    }

    pub(super) fn flows(&self) -> &[Outgoing] {
        &self.flows
    }

    pub(super) fn flows_mut(&mut self) -> &mut [Outgoing] {
        &mut self.flows
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(super) fn push(&mut self, flow: Outgoing) {
        self.flows.push(flow);
    }

    /// Sets how a flow chooses paths. Returns whether it is one of this node's.
    pub(super) fn set_protocol(&mut self, key: u32, protocol: Protocol) -> bool {
        let Some(place) = self.flows.iter().position(|flow| flow_handle(self.id, flow.lid) == key) else {
            return false;
        };
        self.flows[place].protocol = protocol;
        self.flows[place].drawn = None;
        true
    }

    /// This node's own queue at `port` had no room for a data packet.
    pub(super) fn refused(&mut self, now: Time, port: PortId) {
        self.full.insert(port, now);
    }

    /// After a change of the fabric: forgets routes drawn before, and flows whose destination is cut off, which it
    /// returns.
    pub(super) fn reroute(&mut self, view: &View) -> Vec<Outgoing> {
        let at = NodeId(self.id.into());
        self.turn = 0;
        self.flows.iter_mut().for_each(|flow| flow.drawn = None);
        self.flows.extract_if(.., |flow| view.routing.distance(at, flow.flow.dst).is_none()).collect()
    }

    /// The header of a control packet with `plen` bytes of payload, about flow `flow`; `None` if there is no way.
    pub(super) fn control(
        &mut self,
        view: &View,
        params: &Params,
        dst: u16,
        flow: u32,
        plen: u16,
    ) -> Option<Data> {
        let drawn = self.draw(view, params, params.protocol, NodeId(dst.into()), 0)?;
        Some(self.control_along(drawn.route, drawn.hops, dst, flow, plen))
    }

    /// The header of a control packet without payload to the neighbour at a port; `None` if routes cannot name it.
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

    /// Draws a route to `dst` for a packet of flow `key`; `None` if there is none.
    fn draw(
        &mut self,
        view: &View,
        params: &Params,
        protocol: Protocol,
        dst: NodeId,
        key: u32,
    ) -> Option<Drawn> {
        let at = NodeId(self.id.into());
        view.routing.distance(at, dst)?;
        view.routing.sample(view.feasible(protocol), at, dst, key.into(), &mut self.paths, &mut self.ports);
        let first = *self.ports.first()?;
        // Set-up has checked that every route fits; around failed links a detour may not.
        let route = Route::from_ports(self.ports.iter().map(|port| port.0), params.hop_bits).ok()?;
        let hops = u8::try_from(self.ports.len()).expect("routes of at most 42 hops");
        Some(Drawn { route, hops, first })
    }

    /// The next data packet that a flow may send, or when to look again.
    pub(super) fn next(
        &mut self,
        now: Time,
        ports: &Ports<'_>,
        view: &View,
        params: &Params,
    ) -> Result<Departure, Time> {
        let mut wake = Time::NEVER;
        for step in 0..self.flows.len() {
            let place = (self.turn + step) % self.flows.len();
            let flow = &self.flows[place];
            let ready = flow.ready_at();
            if ready > now {
                wake = wake.min(ready);
                continue;
            }
            let drawn = match flow.drawn {
                Some(drawn) => drawn,
                None => {
                    let (dst, protocol, key) = (flow.flow.dst, flow.protocol, self.handle(flow.lid));
                    let Some(drawn) = self.draw(view, params, protocol, dst, key) else { continue };
                    self.flows[place].drawn = Some(drawn);
                    drawn
                }
            };
            let port = ports.get(drawn.first);
            if !port.up {
                continue; // a node sees its own dead link; discovery will bring new routes
            }
            if self.full.get(&drawn.first) == Some(&now) {
                wake = wake.min(port.free_at); // an instant is too short to lose a flow in
                continue;
            }
            if !self.flows[place].is_limited() {
                let most =
                    port.rate.time_for(Bytes((params.nic_packets - 1) * (u64::from(params.mtu) + HEADER)));
                if port.backlog(now) > most {
                    wake = wake.min(Time::from_ps(port.free_at.as_ps() - most.as_ps()));
                    continue;
                }
            }
            return Ok(self.send(now, place, &drawn, params.mtu));
        }
        Err(wake)
    }

    fn send(&mut self, now: Time, place: usize, drawn: &Drawn, mtu: u16) -> Departure {
        let id = self.id;
        let flow = &mut self.flows[place];
        let payload = flow.next_payload(mtu);
        let last = flow.is_last(payload);
        let data = Data {
            flow: flow_handle(id, flow.lid),
            src: id,
            dst: flow.flow.dst.0 as u16,
            seq: flow.seq,
            plen: payload,
            rlen: drawn.hops,
            ridx: 0,
            flags: if last { FLAG_LAST } else { 0 },
            route: drawn.route,
        };
        flow.release(now, payload, mtu);
        let finished = last.then(|| self.flows.remove(place));
        self.turn = if last { place } else { place + 1 };
        let packet = Packet { size: HEADER as u32 + u32::from(payload), header: Header::R2c2Data(data) };
        Departure { packet, finished }
    }
}
