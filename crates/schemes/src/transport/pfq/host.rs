//! The host: sends a packet whenever its node has room for another packet, and records the packets that arrive.

use super::forwarder::Mode;
use crate::transport::lids::Lids;
use crate::transport::reassembly::Receiver;
use raddle_core::{Bytes, Flow, Header, Host, Input, NodeId, Output, Packet, Ports, Report, Stream, Time};
use raddle_topology::routing::{Protocol, Routing};
use raddle_wire::r2c2::{Data, FLAG_LAST, Route};
use std::collections::VecDeque;
use std::sync::Arc;

/// Size of the data header, in bytes.
pub(super) const HEADER: u32 = 36;

/// The sender and the receiver of one node.
pub(crate) struct PfqHost {
    id: NodeId,
    routing: Arc<Routing>,
    mode: Mode,
    mtu: u16,
    sending: Vec<Outgoing>,
    turn: usize,
    lids: Lids,
    receiver: Receiver,
    outbox: VecDeque<Report>,
    paths: Stream,
    ports: Vec<raddle_core::PortId>,
}

struct Outgoing {
    flow: Flow,
    lid: u16,
    released: u64,
    seq: u32,
    /// Number of packets of this flow that are still inside the host's node.
    inside: usize,
    /// Upper bound of `inside`: two packets, one in transmission and one waiting, for each port that leads closer to
    /// the destination.
    most_inside: usize,
}

impl PfqHost {
    /// The host of node `id`. A full packet has `mtu` payload bytes.
    #[must_use]
    pub(crate) fn new(id: NodeId, routing: &Arc<Routing>, mode: Mode, mtu: u16, seed: u64) -> Self {
        Self {
            id,
            routing: Arc::clone(routing),
            mode,
            mtu,
            sending: Vec::new(),
            turn: 0,
            lids: Lids::default(),
            receiver: Receiver::default(),
            outbox: VecDeque::new(),
            paths: Stream::new(seed, id.0.into(), "pfq/paths"),
            ports: Vec::new(),
        }
    }

    fn handle_of(&self, lid: u16) -> u32 {
        self.id.0 << 16 | u32::from(lid)
    }

    fn start(&mut self, now: Time, flow: Flow) {
        let Some(lid) = self.lids.take(now, &flow) else { return };
        self.outbox.push_back(Report::Opened { flow: flow.id, key: self.handle_of(lid).into() });
        self.routing.productive(self.id, flow.dst, &mut self.ports);
        let most_inside = 2 * self.ports.len();
        self.sending.push(Outgoing { flow, lid, released: 0, seq: 0, inside: 0, most_inside });
    }

    fn sent(&mut self, now: Time, data: &Data) {
        let place = self.sending.iter().position(|flow| self.handle_of(flow.lid) == data.flow);
        let Some(place) = place else { return };
        let flow = &mut self.sending[place];
        flow.inside -= 1;
        if flow.inside == 0 && flow.released == flow.flow.size.0 {
            let lid = flow.lid;
            self.sending.remove(place);
            self.turn = 0;
            self.lids.give_back(now, lid);
            let key = self.handle_of(lid).into();
            self.outbox.push_back(Report::Closed { key, retransmissions: 0 });
        }
    }

    /// Returns the next packet to send. If no packet can be sent now, returns the time at which an application produces
    /// the next packet, or [`Time::NEVER`] if no flow waits for its application.
    fn next_packet(&mut self, now: Time) -> Result<Packet, Time> {
        let mut wake = Time::NEVER;
        for step in 0..self.sending.len() {
            let place = (self.turn + step) % self.sending.len();
            let flow = &self.sending[place];
            let left = flow.flow.size.0 - flow.released;
            if left == 0 || flow.inside >= flow.most_inside {
                continue;
            }
            let payload = u16::try_from(left.min(self.mtu.into()))
                .expect("a payload must be at most the MTU, which is below 2^16");
            let produced = flow.flow.app_rate.map_or(now, |rate| {
                flow.flow.start + rate.time_for(Bytes(flow.released + u64::from(payload)))
            });
            if produced > now {
                wake = wake.min(produced);
                continue;
            }
            self.turn = place + 1;
            return Ok(self.packet(place, payload));
        }
        Err(wake)
    }

    #[allow(clippy::cast_possible_truncation, reason = "PFQ supports fewer than 2^16 nodes")]
    fn packet(&mut self, place: usize, payload: u16) -> Packet {
        let dst = self.sending[place].flow.dst;
        let (route, hops) = match self.mode {
            Mode::Adaptive => (Route::default(), 0),
            Mode::Strict { hop_bits } => {
                self.routing.sample(Protocol::Rps, self.id, dst, 0, &mut self.paths, &mut self.ports);
                let ports = self.ports.iter().map(|port| port.0);
                let route = Route::from_ports(ports, hop_bits).expect("every route must fit in the header");
                (route, u8::try_from(self.ports.len()).expect("a route must have at most 42 hops"))
            }
        };
        let flow = &mut self.sending[place];
        flow.released += u64::from(payload);
        flow.inside += 1;
        let seq = flow.seq;
        flow.seq = seq.wrapping_add(1);
        let last = flow.released == flow.flow.size.0;
        let data = Data {
            flow: self.id.0 << 16 | u32::from(flow.lid),
            src: self.id.0 as u16,
            dst: dst.0 as u16,
            seq,
            plen: payload,
            rlen: hops,
            ridx: 0,
            flags: if last { FLAG_LAST } else { 0 },
            route,
        };
        Packet::new(HEADER + u32::from(payload), Header::R2c2Data(data))
    }
}

impl Host for PfqHost {
    #[allow(clippy::cast_possible_truncation, reason = "PFQ supports fewer than 2^16 nodes")]
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.start(now, *flow),
            Input::Packet { packet: Packet { header: Header::R2c2Data(data), .. }, .. } => {
                self.outbox.extend(self.receiver.take(data));
            }
            Input::Sent(Packet { header: Header::R2c2Data(data), .. })
            | Input::Dropped { packet: Packet { header: Header::R2c2Data(data), .. }, .. }
                if data.src == self.id.0 as u16 =>
            {
                self.sent(now, data);
            }
            Input::Packet { .. }
            | Input::Append { .. }
            | Input::Close { .. }
            | Input::Corrupted { .. }
            | Input::Sent(_)
            | Input::Dropped { .. }
            | Input::Link { .. } => {}
        }
    }

    fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
        if let Some(report) = self.outbox.pop_front() {
            return Output::Report(report);
        }
        while let Some(flow) = self.lids.due(now) {
            self.start(now, flow);
        }
        if let Some(report) = self.outbox.pop_front() {
            return Output::Report(report);
        }
        match self.next_packet(now) {
            Ok(packet) => Output::Send { packet, port: None },
            Err(wake) => Output::WakeAt(wake.min(self.lids.next_due())),
        }
    }
}
