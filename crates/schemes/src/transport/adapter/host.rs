//! The host: flows into queues, frames out of them, one at a time.

use super::incoming::Incoming;
use super::queues::{Chunk, Queues};
use super::{Arrival, Data, Lane, Protocol};
use raddle_core::{
    Births, Bytes, Duration, Flow, FlowKey, Host, Input, NodeId, Output, Packet, Paused, PortId, Ports, Rate,
    Report, Stream, Time,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The adapter of one host with a single port.
pub(crate) struct Adapter<P: Protocol> {
    node: u32,
    protocol: P,
    /// Bytes of a full frame.
    mtu: u32,
    line_rate: Rate,
    seed: u64,
    pub(super) queues: Queues<P::Limiter>,
    /// Flows that have not been sent whole, at their places, and places to use again.
    sending: Vec<Sending>,
    vacant: Vec<u32>,
    /// Flows begun.
    begun: u32,
    /// Flows of which more is to be born, by when.
    births: BinaryHeap<Reverse<(Time, u32)>>,
    /// What receivers say, before all data.
    answers: VecDeque<Packet>,
    /// Whether a frame has been handed to the port that has not left it.
    busy: bool,
    /// The flow whose last frame that is.
    last_of: Option<FlowKey>,
    incoming: Incoming,
    reports: VecDeque<Report>,
}

/// A flow that is being sent.
#[derive(Debug)]
struct Sending {
    dst: u32,
    /// Its number on the wire.
    flow: u32,
    priority: u8,
    lane: Lane,
    /// The place of the queue of its lane.
    queue: u32,
    size: u64,
    /// Bytes in frames that have been made.
    born: u64,
    /// Bytes in frames that have been sent.
    sent: u64,
    /// When frames are made, unless all are at the start.
    births: Option<Births>,
}

impl<P: Protocol> Adapter<P> {
    /// The adapter of `node`, which sends frames of `mtu` bytes at that line rate, and tells how far what it receives has
    /// come once in each interval `progress`.
    #[must_use]
    pub(crate) fn new(
        node: NodeId,
        protocol: P,
        mtu: u32,
        line_rate: Rate,
        seed: u64,
        progress: Option<Duration>,
    ) -> Self {
        Self {
            node: node.0,
            protocol,
            mtu,
            line_rate,
            seed,
            queues: Queues::new(),
            sending: Vec::new(),
            vacant: Vec::new(),
            begun: 0,
            births: BinaryHeap::new(),
            answers: VecDeque::new(),
            busy: false,
            last_of: None,
            incoming: Incoming::new(progress),
            reports: VecDeque::new(),
        }
    }

    fn open(&mut self, now: Time, flow: &Flow) {
        let number = self.begun;
        self.begun = self.begun.wrapping_add(1);
        let key = self.protocol.key(self.node, flow.dst.0, number);
        self.reports.push_back(Report::Opened { flow: flow.id, key });
        let births = flow.app_rate.map(|rate| {
            let stream = Stream::new(self.seed, flow.id.0.into(), "adapter/births");
            let frame = Bytes(self.mtu.into());
            Births::new(flow.process, rate, self.line_rate, frame, flow.start, stream)
        });
        let priority = self.protocol.priority(flow);
        let lane = self.protocol.lane(flow.dst.0, priority, number);
        let sending = Sending {
            dst: flow.dst.0,
            flow: number,
            priority,
            lane,
            queue: self.queues.place(lane, priority, || self.protocol.limiter(flow.dst.0)),
            size: flow.size.0,
            born: 0,
            sent: 0,
            births,
        };
        let place = self
            .vacant
            .pop()
            .unwrap_or_else(|| u32::try_from(self.sending.len()).expect("fewer than 2^32 flows at once"));
        if place as usize == self.sending.len() {
            self.sending.push(sending);
        } else {
            self.sending[place as usize] = sending;
        }
        if self.sending[place as usize].births.is_none() {
            self.bear(now, place, flow.size.0);
        } else {
            self.await_birth(place);
        }
    }

    /// Bytes of a flow are there to be sent.
    fn bear(&mut self, now: Time, place: u32, bytes: u64) {
        let sending = &mut self.sending[place as usize];
        sending.born += bytes;
        self.queues.push(now, sending.queue, Chunk { flow: place, bytes, birth: now });
    }

    /// Enters the flow's next birth, if there is one to come.
    fn await_birth(&mut self, place: u32) {
        let sending = &mut self.sending[place as usize];
        if sending.born < sending.size
            && let Some(at) = sending.births.as_mut().and_then(Iterator::next)
        {
            self.births.push(Reverse((at, place)));
        }
    }

    /// Makes the frames that are due.
    fn bear_due(&mut self, now: Time) {
        while let Some(&Reverse((at, place))) = self.births.peek()
            && at <= now
        {
            self.births.pop();
            let sending = &self.sending[place as usize];
            let bytes = (sending.size - sending.born).min(self.mtu.into());
            self.bear(at, place, bytes);
            self.await_birth(place);
        }
    }

    /// The next frame, if one may go.
    fn next_frame(&mut self, now: Time, paused: Paused) -> Option<Packet> {
        let Chunk { flow: place, bytes, birth } = self.queues.next(now, self.mtu, paused)?;
        let sending = &mut self.sending[place as usize];
        let data = Data {
            src: self.node,
            dst: sending.dst,
            flow: sending.flow,
            priority: sending.priority,
            len: bytes as u16,
            offset: sending.sent,
            size: sending.size,
            birth,
        };
        sending.sent += bytes;
        if sending.sent == sending.size {
            self.vacant.push(place);
            if let lane @ Lane::Of { .. } = sending.lane {
                self.queues.forget(lane);
            }
            self.last_of = Some(self.protocol.key(self.node, data.dst, data.flow));
        }
        self.busy = true;
        Some(self.protocol.packet(&data))
    }

    fn receive(&mut self, now: Time, packet: &Packet) {
        match self.protocol.read(packet) {
            Some(Arrival::Data(data)) => {
                let key = self.protocol.key(data.src, self.node, data.flow);
                if self.incoming.take(now, key, &data, &mut self.reports) {
                    self.protocol.complete(key);
                } else if let Some(answer) = self.protocol.answer(now, packet) {
                    self.answers.push_back(answer);
                }
            }
            Some(Arrival::Notice { lane, notice }) => {
                let protocol = &self.protocol;
                self.queues.tell(now, lane, |limiter| protocol.notice(now, notice, limiter));
            }
            None => {}
        }
    }
}

impl<P: Protocol> Host for Adapter<P> {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.open(now, flow),
            Input::Packet { packet, .. } => self.receive(now, packet),
            // What left, or was lost with its link, makes room for the next.
            Input::Sent(packet) | Input::Dropped { packet, .. } if is_own(self, packet) => {
                self.busy = false;
                let closed = self.last_of.take();
                self.reports.extend(closed.map(|key| Report::Closed { key, retransmissions: 0 }));
            }
            Input::Sent(_)
            | Input::Dropped { .. }
            | Input::Append { .. }
            | Input::Close { .. }
            | Input::Corrupted { .. }
            | Input::Link { .. } => {}
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        if let Some(report) = self.reports.pop_front() {
            return Output::Report(report);
        }
        if let Some(packet) = self.answers.pop_front() {
            return Output::Send { packet, port: None };
        }
        self.bear_due(now);
        self.queues.fire(now);
        let mut wake = self.queues.next_timer();
        // While the port is busy or paused, there is nothing to do until it is not, which the engine will say.
        let port = ports.get(PortId(0));
        if !self.busy && port.up {
            if let Some(&Reverse((birth, _))) = self.births.peek() {
                wake = wake.min(birth);
            }
            if let Some(packet) = self.next_frame(now, port.paused) {
                return Output::Send { packet, port: None };
            }
            wake = wake.min(self.queues.next_free());
        }
        if wake == Time::NEVER { Output::Idle } else { Output::WakeAt(wake) }
    }
}

/// Whether a packet is a frame of data that the adapter sent.
fn is_own<P: Protocol>(adapter: &Adapter<P>, packet: &Packet) -> bool {
    matches!(adapter.protocol.read(packet), Some(Arrival::Data(data)) if data.src == adapter.node)
}
