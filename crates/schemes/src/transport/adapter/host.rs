//! The host: puts the data of flows into queues, and sends one frame at a time from the queues.

use super::incoming::Incoming;
use super::queues::{Chunk, Queues};
use super::recovery::Recovery;
use super::{Arrival, Data, Lane, Protocol};
use crate::transport::go_back_n::{Expiry, Sender};
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
    /// Number of a flow's bytes in a full frame.
    mtu: u32,
    line_rate: Rate,
    seed: u64,
    pub(super) queues: Queues<P::Limiter>,
    /// Outgoing flows. A flow's index becomes free when all its data has been sent. With recovery, the index becomes
    /// free when all data has been acknowledged or the sender has given up.
    sending: Vec<Sending>,
    /// Indices of `sending` that are free for reuse.
    vacant: Vec<u32>,
    /// Number of flows that have started, modulo 2^32.
    begun: u32,
    /// For each flow whose application is producing frames: the time of the next frame, and the flow's index.
    births: BinaryHeap<Reverse<(Time, u32)>>,
    /// State of go-back-N, if the protocol retransmits lost frames.
    recovery: Option<Recovery>,
    /// Answers to received frames, such as acknowledgements. The host sends all answers before data.
    answers: VecDeque<Packet>,
    /// True if a data frame has been passed to the port, and has neither left the port nor been dropped there.
    busy: bool,
    /// Without recovery: the flow of the frame at the port, if this frame is the last frame of its flow.
    last_of: Option<FlowKey>,
    incoming: Incoming,
    reports: VecDeque<Report>,
}

/// A flow that is being sent.
#[derive(Debug)]
struct Sending {
    dst: u32,
    /// The flow's number at this host.
    flow: u32,
    /// The flow's key in packet headers.
    key: FlowKey,
    priority: u8,
    lane: Lane,
    /// The index of the queue of `lane`.
    queue: u32,
    size: u64,
    /// Number of bytes that the application has produced.
    born: u64,
    /// Bytes before this offset have been sent and, as far as the sender knows, need no retransmission.
    sent: u64,
    /// Times at which the application produces frames; `None` if it produces all bytes at the start.
    births: Option<Births>,
    /// Acknowledgement state of the flow.
    sender: Sender,
    /// True if the flow's timer has an entry in `recovery`.
    is_armed: bool,
}

impl<P: Protocol> Adapter<P> {
    /// The adapter of host `node`. A frame carries up to `mtu` bytes of a flow, and the host's link has rate
    /// `line_rate`. If `progress` is given, the adapter reports the progress of each received flow at most once per
    /// interval of this length.
    #[must_use]
    pub(crate) fn new(
        node: NodeId,
        protocol: P,
        mtu: u32,
        line_rate: Rate,
        seed: u64,
        progress: Option<Duration>,
    ) -> Self {
        let recovery = protocol.recovery();
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
            recovery: recovery.map(Recovery::new),
            answers: VecDeque::new(),
            busy: false,
            last_of: None,
            incoming: Incoming::new(progress, recovery),
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
            key,
            priority,
            lane,
            queue: self.queues.place(lane, priority, || self.protocol.limiter(flow.dst.0)),
            size: flow.size.0,
            born: 0,
            sent: 0,
            births,
            sender: Sender::new(),
            is_armed: false,
        };
        let place = self.vacant.pop().unwrap_or_else(|| {
            u32::try_from(self.sending.len()).expect("a host must have fewer than 2^32 flows at once")
        });
        if place as usize == self.sending.len() {
            self.sending.push(sending);
        } else {
            self.sending[place as usize] = sending;
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.open(key, place);
        }
        if self.sending[place as usize].births.is_none() {
            self.bear(now, place, flow.size.0);
        } else {
            self.await_birth(place);
        }
    }

    /// Puts bytes that the application has produced into the flow's queue.
    fn bear(&mut self, now: Time, place: u32, bytes: u64) {
        let sending = &mut self.sending[place as usize];
        sending.born += bytes;
        self.queues.push(now, sending.queue, Chunk { flow: place, bytes, birth: now });
    }

    /// Schedules the time at which the application produces the flow's next frame, if the flow has more frames.
    fn await_birth(&mut self, place: u32) {
        let sending = &mut self.sending[place as usize];
        if sending.born < sending.size
            && let Some(at) = sending.births.as_mut().and_then(Iterator::next)
        {
            self.births.push(Reverse((at, place)));
        }
    }

    /// Produces all application frames that are due by `now`.
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

    /// Takes the next frame from the queues; `None` if no queue may send now.
    #[allow(clippy::cast_possible_truncation, reason = "a frame's payload is at most the MTU")]
    fn next_frame(&mut self, now: Time, paused: Paused) -> Option<Packet> {
        let Chunk { flow: place, bytes, birth } = self.queues.next(now, self.mtu, paused)?;
        let sending = &mut self.sending[place as usize];
        let mut data = Data {
            src: self.node,
            dst: sending.dst,
            flow: sending.flow,
            priority: sending.priority,
            len: bytes as u16,
            offset: sending.sent,
            size: sending.size,
            ack_request: false,
            birth,
        };
        sending.sent += bytes;
        let is_last = sending.sent == sending.size;
        if let Some(recovery) = &mut self.recovery {
            let number = data.offset / u64::from(self.mtu);
            data.ack_request =
                is_last || (number + 1).is_multiple_of(u64::from(recovery.params.ack_interval));
            sending.sender.sends(now, number, &recovery.params);
            sending.arm(recovery);
        } else if is_last {
            self.last_of = Some(sending.key);
            self.leave(place);
        }
        self.busy = true;
        Some(self.protocol.packet(&data))
    }

    /// Removes a flow that has no more frames in its queue. Also removes the queue if it is the flow's own
    /// ([`Lane::Of`]).
    fn leave(&mut self, place: u32) {
        self.vacant.push(place);
        if let lane @ Lane::Of { .. } = self.sending[place as usize].lane {
            self.queues.forget(lane);
        }
    }

    /// Removes a flow under go-back-N, after all its data has been acknowledged or the sender has given up.
    fn end(&mut self, now: Time, place: u32) {
        let Sending { key, queue, .. } = self.sending[place as usize];
        self.queues.replace(now, queue, None);
        self.births.retain(|&Reverse((_, other))| other != place);
        if let Some(recovery) = &mut self.recovery {
            recovery.close(key);
        }
        self.leave(place);
    }

    /// Restarts a flow at its first unacknowledged frame.
    fn go_back(&mut self, now: Time, place: u32) {
        let sending = &mut self.sending[place as usize];
        sending.sent = sending.sender.acknowledged() * u64::from(self.mtu);
        let bytes = sending.born - sending.sent;
        let chunk = (bytes > 0).then_some(Chunk { flow: place, bytes, birth: now });
        self.queues.replace(now, sending.queue, chunk);
    }

    /// Handles an acknowledgement of flow `key`: the receiver expects the frame with sequence number `expected`.
    /// `refused` is true if the receiver has discarded a later frame.
    fn acknowledged(&mut self, now: Time, key: FlowKey, expected: u32, refused: bool) {
        let Some(recovery) = &mut self.recovery else { return };
        let Some(place) = recovery.place(key) else { return };
        let sending = &mut self.sending[place as usize];
        if !sending.sender.hears(now, expected, &recovery.params) {
            return;
        }
        let acknowledged = sending.sender.acknowledged() * u64::from(self.mtu);
        if acknowledged >= sending.size {
            let retransmissions = sending.sender.retransmissions();
            self.reports.push_back(Report::Closed { key, retransmissions });
            self.end(now, place);
            return;
        }
        sending.arm(recovery);
        // The flow goes back if the receiver discarded a frame. After the flow has gone back, a late acknowledgement
        // may cover frames that the flow has not yet sent again. The flow then skips these frames.
        if refused || acknowledged > sending.sent {
            self.go_back(now, place);
        }
    }

    /// Handles timer entries that are due. If the flow's timer has expired, the flow goes back to its first
    /// unacknowledged frame, or is given up. Otherwise, the flow gets a new entry if its timer runs.
    fn expire_due(&mut self, now: Time) {
        while let Some(recovery) = &mut self.recovery
            && let Some(place) = recovery.due(now)
        {
            let sending = &mut self.sending[place as usize];
            sending.is_armed = false;
            match sending.sender.expire(now, &recovery.params) {
                Expiry::Later => sending.arm(recovery),
                Expiry::GoBack => self.go_back(now, place),
                Expiry::GiveUp => {
                    recovery.given_up.push((sending.key, sending.sender.retransmissions()));
                    self.end(now, place);
                }
            }
        }
    }

    fn receive(&mut self, now: Time, packet: &Packet) {
        match self.protocol.read(packet) {
            Some(Arrival::Data(data)) => {
                let key = self.protocol.key(data.src, self.node, data.flow);
                let taken = self.incoming.take(now, key, &data, &mut self.reports);
                if let Some((answer, in_order)) = taken.answer {
                    self.answers.push_back(self.protocol.acknowledgement(&data, answer, in_order));
                }
                if taken.is_whole {
                    self.protocol.complete(key);
                } else if let Some(answer) = self.protocol.answer(now, packet) {
                    self.answers.push_back(answer);
                }
            }
            Some(Arrival::Notice { lane, notice }) => {
                let protocol = &self.protocol;
                self.queues.tell(now, lane, |limiter| protocol.notice(now, notice, limiter));
            }
            Some(Arrival::Acknowledged { key, expected, refused }) => {
                self.acknowledged(now, key, expected, refused);
            }
            None => {}
        }
    }
}

impl Sending {
    /// Adds a timer entry for the flow if the flow's timer runs and the flow has no entry. An existing entry is never
    /// later than the deadline.
    fn arm(&mut self, recovery: &mut Recovery) {
        let at = self.sender.deadline();
        if !self.is_armed && at < Time::NEVER {
            self.is_armed = true;
            recovery.arm(at, self.key);
        }
    }
}

impl<P: Protocol> Host for Adapter<P> {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.open(now, flow),
            Input::Packet { packet, .. } => self.receive(now, packet),
            // The port can take the next frame after the previous frame has left the port or was dropped.
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
        self.expire_due(now);
        let mut wake = self.queues.next_timer();
        if let Some(recovery) = &mut self.recovery {
            wake = wake.min(recovery.next());
        }
        // The adapter sends no data while its previous frame is at the port, or while the link is down. The engine
        // polls again when the port's state changes.
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

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        let Some(recovery) = &self.recovery else { return Vec::new() };
        let open = self.sending.iter().filter(|sending| recovery.place(sending.key).is_some());
        let open = open.map(|sending| (sending.key, sending.sender.retransmissions()));
        let mut counts: Vec<_> = recovery.given_up.iter().copied().chain(open).collect();
        counts.sort_unstable();
        counts
    }
}

/// True if a packet is a data frame that this adapter sent.
fn is_own<P: Protocol>(adapter: &Adapter<P>, packet: &Packet) -> bool {
    matches!(adapter.protocol.read(packet), Some(Arrival::Data(data)) if data.src == adapter.node)
}
