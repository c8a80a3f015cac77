//! The host: sends flows at their rates, and reassembles received flows.

use super::Params;
use crate::transport::five_tuple;
use crate::transport::ranges::Ranges;
use raddle_core::{
    Bytes, Flow, FlowId, FlowKey, Header, Host, Input, NodeId, Output, Packet, Ports, Rate, Report, Time,
};
use raddle_wire::FiveTuple;
use raddle_wire::udp::Datagram;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A host that sends and receives UDP flows.
#[derive(Debug)]
pub(crate) struct UdpHost {
    params: Params,
    /// True if the host accepts streams and reports the progress of flows: [`Host::carries_streams`].
    carries_streams: bool,
    node: NodeId,
    flows_sent: u64,
    /// The flows with a rate, ordered by the time of the next packet.
    paced: BinaryHeap<Reverse<Paced>>,
    /// The flows without a rate, in the order of their turns.
    greedy: VecDeque<Sending>,
    /// The streams that the application has not closed, or whose last packet has not been sent.
    streams: FxHashMap<FlowId, Stream>,
    receiving: FxHashMap<FlowKey, Receiving>,
    reports: VecDeque<Report>,
}

/// A flow with a rate. Flows that are due at the same time send in the order in which they began.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Paced {
    due: Time,
    number: u64,
    rate: Rate,
    flow: Sending,
}

/// The sender's state of a flow.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sending {
    /// Start of the current period in which the flow has always had bytes to send.
    start: Time,
    /// Number of bytes sent before this period.
    before: u64,
    dst: u32,
    ports: (u16, u16),
    /// Size of the flow. For a stream, the number of bytes that had been appended when its latest packet was sent.
    size: u64,
    sent: u64,
    stream: Option<FlowId>,
}

/// The application's input to a stream.
#[derive(Debug, Default)]
struct Stream {
    size: u64,
    is_closed: bool,
    /// The sender's state of the stream, while the stream has nothing to send.
    idle: Option<Idle>,
}

#[derive(Debug)]
struct Idle {
    flow: Sending,
    /// The flow's number, its rate, and the earliest time of its next packet. `None` if the flow has no rate.
    pace: Option<(u64, Rate, Time)>,
}

/// The receiver's state of a flow.
#[derive(Debug)]
struct Receiving {
    ranges: Ranges,
    /// Size of the flow, or `Datagram::OPEN` if the size is not known yet.
    size: u64,
    reorder_peak: u32,
}

impl UdpHost {
    /// The host of `node`.
    ///
    /// # Panics
    /// If `params.payload` is zero.
    #[must_use]
    pub(crate) fn new(node: NodeId, params: Params) -> Self {
        assert!(params.payload > 0, "`payload` must be at least 1");
        Self {
            params,
            carries_streams: false,
            node,
            flows_sent: 0,
            paced: BinaryHeap::new(),
            greedy: VecDeque::new(),
            streams: FxHashMap::default(),
            receiving: FxHashMap::default(),
            reports: VecDeque::new(),
        }
    }

    /// Sets whether the host accepts streams and reports the progress of flows.
    #[must_use]
    pub(crate) fn with_streams(self, carries_streams: bool) -> Self {
        Self { carries_streams, ..self }
    }

    fn open(&mut self, now: Time, flow: &Flow) {
        let number = self.flows_sent;
        self.flows_sent += 1;
        let ports = FiveTuple::ports_of(number);
        let mut sending = Sending {
            start: now,
            before: 0,
            dst: flow.dst.0,
            ports,
            size: flow.size.0,
            sent: 0,
            stream: flow.is_stream.then_some(flow.id),
        };
        self.reports.push_back(Report::Opened { flow: flow.id, key: sending.key(self.node) });
        let rate = flow.app_rate.or(self.params.rate);
        if flow.is_stream {
            sending.size = 0;
            let idle = Idle { flow: sending, pace: rate.map(|rate| (number, rate, now)) };
            self.streams.insert(flow.id, Stream { idle: Some(idle), ..Stream::default() });
            self.change(now, flow.id, flow.size, false);
            return;
        }
        match rate {
            Some(rate) => self.paced.push(Reverse(Paced { due: now, number, rate, flow: sending })),
            None => self.greedy.push_back(sending),
        }
    }

    /// The application appends bytes to a stream that it has not closed, or closes the stream.
    fn change(&mut self, now: Time, id: FlowId, bytes: Bytes, closes: bool) {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| !stream.is_closed) else { return };
        stream.size += bytes.0;
        stream.is_closed = closes;
        if bytes.0 == 0 && !closes {
            return;
        }
        let Some(Idle { mut flow, pace }) = stream.idle.take() else { return };
        match pace {
            Some((number, rate, due)) => {
                let due = due.max(now);
                (flow.start, flow.before) = (due, flow.sent);
                self.paced.push(Reverse(Paced { due, number, rate, flow }));
            }
            None => self.greedy.push_back(flow),
        }
    }

    /// True if a flow that has just sent a packet has more to send. False if the flow has ended, or is a stream that
    /// waits for its application.
    fn has_more(&mut self, flow: &Sending) -> bool {
        match flow.stream.and_then(|id| self.streams.get(&id)) {
            Some(stream) => flow.sent < stream.size || stream.is_closed,
            None => flow.sent < flow.size,
        }
    }

    /// Stores the sender state of a flow that has nothing to send, if it is a stream that may continue.
    fn rest(&mut self, flow: Sending, pace: Option<(u64, Rate, Time)>) {
        if let Some(stream) = flow.stream.and_then(|id| self.streams.get_mut(&id)) {
            stream.idle = Some(Idle { flow, pace });
        }
    }

    fn receive(&mut self, datagram: &Datagram) {
        if datagram.plen == 0 && !self.carries_streams {
            return;
        }
        let key = datagram.key();
        let receiving = self.receiving.entry(key).or_default();
        let before = self.carries_streams.then(|| receiving.in_order());
        receiving.take(datagram);
        let to = receiving.in_order();
        if before.is_some_and(|before| to > before) {
            self.reports.push_back(Report::InOrder { key, to: Bytes(to) });
        }
        if receiving.ranges.total() == receiving.size {
            let reorder_peak = receiving.reorder_peak;
            self.receiving.remove(&key);
            self.reports.push_back(Report::Delivered { key, reorder_peak });
        }
    }

    /// The next packet of a flow with a rate, if a packet is due.
    fn next_paced(&mut self, now: Time) -> Option<Packet> {
        self.paced.peek().filter(|Reverse(paced)| paced.due <= now)?;
        let Reverse(mut paced) = self.paced.pop()?;
        let packet = self.next_packet(&mut paced.flow);
        paced.due = paced.flow.start + paced.rate.time_for(Bytes(paced.flow.sent - paced.flow.before));
        if self.has_more(&paced.flow) {
            self.paced.push(Reverse(paced));
        } else {
            self.rest(paced.flow, Some((paced.number, paced.rate, paced.due)));
        }
        Some(packet)
    }

    /// The next packet of a flow without a rate.
    fn next_greedy(&mut self) -> Option<Packet> {
        let mut flow = self.greedy.pop_front()?;
        let packet = self.next_packet(&mut flow);
        if self.has_more(&flow) {
            self.greedy.push_back(flow);
        } else {
            self.rest(flow, None);
        }
        Some(packet)
    }

    /// The next packet of a flow. The flow's last packet closes the flow.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the payload is at most `params.payload`, a `u16`, and a header is short"
    )]
    fn next_packet(&mut self, flow: &mut Sending) -> Packet {
        let mut is_open = false;
        if let Some(stream) = flow.stream.and_then(|id| self.streams.get(&id)) {
            (flow.size, is_open) = (stream.size, !stream.is_closed);
        }
        let plen = (flow.size - flow.sent).min(self.params.payload.into()) as u16;
        let datagram = Datagram {
            src: self.node.0,
            dst: flow.dst,
            src_port: flow.ports.0,
            dst_port: flow.ports.1,
            plen,
            offset: flow.sent,
            size: if is_open { Datagram::OPEN } else { flow.size },
            ..Datagram::default()
        };
        flow.sent += u64::from(plen);
        let key = flow.key(self.node);
        if self.carries_streams && plen > 0 {
            self.reports.push_back(Report::Acked { key, to: Bytes(flow.sent) });
        }
        if flow.sent == flow.size && !is_open {
            if let Some(stream) = flow.stream.take() {
                self.streams.remove(&stream);
            }
            self.reports.push_back(Report::Closed { key, retransmissions: 0 });
        }
        Packet::new(Datagram::LEN as u32 + u32::from(plen), Header::Udp(datagram))
    }
}

impl Sending {
    fn key(&self, src: NodeId) -> FlowKey {
        five_tuple::key(src, self.ports)
    }
}

impl Default for Receiving {
    fn default() -> Self {
        Self { ranges: Ranges::default(), size: Datagram::OPEN, reorder_peak: 0 }
    }
}

impl Receiving {
    /// Number of bytes received in order from the start of the flow.
    fn in_order(&self) -> u64 {
        self.ranges.containing(0).map_or(0, |(_, to)| to)
    }

    fn take(&mut self, datagram: &Datagram) {
        self.size = self.size.min(datagram.size);
        if datagram.plen == 0 {
            return;
        }
        self.ranges.insert(datagram.offset, datagram.offset + u64::from(datagram.plen));
        let waiting = self.ranges.total() - self.in_order();
        let packets = waiting.div_ceil(datagram.plen.into());
        self.reorder_peak = self.reorder_peak.max(u32::try_from(packets).unwrap_or(u32::MAX));
    }
}

impl Host for UdpHost {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.open(now, flow),
            Input::Append { flow, bytes } => self.change(now, flow, bytes, false),
            Input::Close { flow } => self.change(now, flow, Bytes(0), true),
            Input::Packet { packet: Packet { header: Header::Udp(datagram), .. }, .. } => {
                self.receive(datagram);
            }
            Input::Packet { .. }
            | Input::Corrupted { .. }
            | Input::Sent(_)
            | Input::Dropped { .. }
            | Input::Link { .. } => {}
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        if let Some(report) = self.reports.pop_front() {
            return Output::Report(report);
        }
        if let Some(packet) = self.next_paced(now) {
            return Output::Send { packet, port: None };
        }
        let due = self.paced.peek().map_or(Time::NEVER, |Reverse(paced)| paced.due);
        // Flows without a rate send when no port with a working link has a backlog. While all links are down, the host
        // waits: an input will report when a link is up.
        let free_at = ports.0.iter().filter(|port| port.up).map(|port| port.free_at(now)).max();
        let wake = match free_at.filter(|_| !self.greedy.is_empty()) {
            Some(at) if at <= now => {
                return self.next_greedy().map_or(Output::Idle, |packet| Output::Send { packet, port: None });
            }
            Some(at) => at.min(due),
            None => due,
        };
        if wake == Time::NEVER { Output::Idle } else { Output::WakeAt(wake) }
    }

    fn carries_streams(&self) -> bool {
        self.carries_streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_delivered_once_all_its_packets_have_arrived_in_any_order() {
        let (from, to) = (NodeId(0), NodeId(1));
        let params = Params { payload: 100, rate: Some(Rate::from_gbps(10)) };
        let (mut sender, mut receiver) = (UdpHost::new(from, params), UdpHost::new(to, params));
        sender.open(Time::ZERO, &Flow::new(FlowId(0), from, to, Bytes(450), Time::ZERO));
        let end = Time::ZERO + Rate::from_gbps(10).time_for(Bytes(450));
        let packets: Vec<_> = std::iter::from_fn(|| sender.next_paced(end)).collect();
        assert_eq!(packets.iter().map(|packet| packet.size).collect::<Vec<_>>(), [144, 144, 144, 144, 94]);
        for (nth, delivered) in [(3, false), (0, false), (4, false), (2, false), (1, true)] {
            let Header::Udp(datagram) = packets[nth].header else { panic!("not UDP") };
            assert!(receiver.reports.is_empty());
            receiver.receive(&datagram);
            let expected = Report::Delivered { key: datagram.key(), reorder_peak: 3 };
            assert_eq!(receiver.reports.pop_front(), delivered.then_some(expected));
        }
        assert!(receiver.receiving.is_empty());
    }
}
