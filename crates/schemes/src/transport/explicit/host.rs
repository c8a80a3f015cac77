//! The host: opens flows, paces their packets, and acknowledges the packets of other hosts.

use super::Protocol;
use super::incoming::Incoming;
use super::outgoing::{Common, Cut, Outgoing, Progress};
use super::subflow::{Packets, Timeouts, Turn};
use super::timers::{Place, Timers};
use crate::routing::flow_hash::mix;
use raddle_core::{
    Duration, Flow, FlowKey, Host, Input, NodeId, Output, Packet, PortId, Ports, Rate, Report, Time,
};
use raddle_topology::Paths;
use raddle_wire::rated::Segment;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The constants of a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// The host's node.
    pub node: NodeId,
    /// The rate of the host's fastest link.
    pub line_rate: Rate,
    /// The total rate of the host's links.
    pub line_rates: Rate,
    /// Payload bytes of a full packet.
    pub payload: u16,
    /// Bytes of a packet in addition to the payload, at least [`Segment::LEN`]. This is also the size of a packet
    /// without payload.
    pub header: u32,
    /// Number of subflows of each flow, at most [`Segment::SUBFLOWS`]. A flow with fewer packets has one subflow per
    /// packet.
    pub subflows: u32,
    /// Timeout for an acknowledgement before the first measurement of the round trip.
    pub initial_timeout: Duration,
    /// Lower bound of later timeouts.
    pub least_timeout: Duration,
    /// The run's seed, which determines the paths of flows.
    pub seed: u64,
}

/// The key, as in packet headers, of flow `number` of host `src`.
pub(super) fn flow_key(src: NodeId, number: u32) -> FlowKey {
    Segment { src: src.0, flow: number * Segment::SUBFLOWS, ..Segment::default() }.key()
}

/// The hash that selects the paths of the flow with this key.
pub(super) fn path_hash(seed: u64, key: FlowKey) -> u64 {
    mix(mix(seed) ^ key.0)
}

/// A host for flows whose rates are set by the switches.
pub(crate) struct ExplicitHost<P: Protocol> {
    setup: Setup,
    common: Common,
    protocol: P,
    paths: Arc<Paths>,
    outgoing: FxHashMap<u32, Outgoing<P::Sender>>,
    /// Key and number of retransmissions of each flow that was given up after a retransmission.
    given_up: Vec<(FlowKey, u32)>,
    /// The next flow gets this number or, if another flow has this number, the next free number.
    next_number: u32,
    timers: Timers,
    /// Subflows whose data is due, but which must wait because the link is busy or another subflow sends first.
    waiting: Vec<Place>,
    incoming: Incoming,
    /// Acknowledgements to send.
    answers: VecDeque<Packet>,
    reports: VecDeque<Report>,
}

impl<P: Protocol> ExplicitHost<P> {
    /// A host that has no flows yet, and whose flows will use the paths in `paths`.
    ///
    /// # Panics
    /// If packets have no payload, if their header is too short, or if the number of subflows is zero or too large.
    #[must_use]
    pub(crate) fn new(setup: Setup, protocol: P, paths: Arc<Paths>) -> Self {
        assert!(setup.payload > 0 && setup.header as usize >= Segment::LEN, "{setup:?}");
        assert!((1..=Segment::SUBFLOWS).contains(&setup.subflows), "{} subflows", setup.subflows);
        let timeouts = Timeouts { initial: setup.initial_timeout, least: setup.least_timeout };
        Self {
            setup,
            common: Common { node: setup.node.0, header: setup.header, timeouts },
            protocol,
            paths,
            outgoing: FxHashMap::default(),
            given_up: Vec::new(),
            next_number: 0,
            timers: Timers::default(),
            waiting: Vec::new(),
            incoming: Incoming::default(),
            answers: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }

    /// True if the host has no flow in either direction.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    fn key(&self, number: u32) -> FlowKey {
        flow_key(self.setup.node, number)
    }

    /// A number that no outgoing flow has.
    ///
    /// # Panics
    /// If the host already has 2^20 outgoing flows.
    fn number(&mut self) -> u32 {
        assert!(
            self.outgoing.len() < Segment::NUMBERS as usize,
            "a host must have at most 2^20 outgoing flows"
        );
        loop {
            let number = self.next_number;
            self.next_number = (number + 1) % Segment::NUMBERS;
            if !self.outgoing.contains_key(&number) {
                return number;
            }
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "the number of a path is below `Paths::CHOICES`")]
    fn open(&mut self, now: Time, flow: &Flow) {
        let number = self.number();
        let key = self.key(number);
        self.reports.push_back(Report::Opened { flow: flow.id, key });
        let Setup { line_rate, line_rates, payload, header, subflows, seed, .. } = self.setup;
        let app_rate = flow.app_rate.unwrap_or(Rate::from_bps(u64::MAX));
        let limit = line_rate.min(app_rate);
        let limit_of_all =
            Rate::from_bps(limit.as_bps().saturating_mul(subflows.into())).min(line_rates).min(app_rate);
        let (paths, hash) = (&self.paths, path_hash(seed, key));
        let path = |subflow| {
            let choice = paths.choice(hash, subflow);
            let first = paths.path(flow.src, flow.dst, choice).first().copied();
            (choice as u16, first.unwrap_or(PortId(0)))
        };
        let packets = Packets::of(flow.size, payload, header);
        let cut = Cut { packets, subflows, limit, limit_of_all };
        let outgoing = Outgoing::new(&mut self.protocol, flow, number, path, cut);
        if outgoing.is_doomed(now, &self.protocol) {
            return; // the flow is given up before its first packet
        }
        self.outgoing.insert(number, outgoing);
        self.arm(now, number);
    }

    /// Sets the timers of a flow's subflows after a change of the flow.
    fn arm(&mut self, now: Time, number: u32) {
        let Some(outgoing) = self.outgoing.get_mut(&number) else { return };
        for place in 0..outgoing.subflow_count() {
            let due = outgoing.due(now, place, &self.protocol, &self.common);
            self.timers.arm(due, (number, place), outgoing.armed(place));
        }
    }

    /// Ends a flow that can no longer meet its deadline.
    fn end_if_doomed(&mut self, now: Time, number: u32) {
        if let Some(outgoing) = self.outgoing.get_mut(&number)
            && outgoing.is_doomed(now, &self.protocol)
        {
            outgoing.close();
        }
    }

    /// Called after a flow has changed: reports the flow's rate if the rate has changed. Then removes the flow if it is
    /// closed, and otherwise sets its timers.
    fn settle(&mut self, now: Time, number: u32) {
        let key = self.key(number);
        let Some(outgoing) = self.outgoing.get_mut(&number) else { return };
        if let Some(rate) = outgoing.new_rate(&self.protocol) {
            self.reports.push_back(Report::Paced { key, rate });
        }
        if outgoing.is_closed() {
            if !outgoing.is_complete() && outgoing.retransmissions > 0 {
                self.given_up.push((key, outgoing.retransmissions));
            }
            self.outgoing.remove(&number);
        } else {
            self.arm(now, number);
        }
    }

    /// The next packet to send now; `None` if no packet is due.
    fn next_packet(&mut self, now: Time, ports: &Ports<'_>) -> Option<Packet> {
        while let Some(((number, place), turn)) = self.next_due(now, ports) {
            let Some(outgoing) = self.outgoing.get_mut(&number) else { continue };
            if place >= outgoing.subflow_count() {
                continue; // the subflow's flow has ended, and a new flow with fewer subflows has the flow's number
            }
            *outgoing.armed(place) = Time::NEVER;
            self.end_if_doomed(now, number);
            let outgoing = self.outgoing.get_mut(&number)?;
            let packet = outgoing.send(now, place, turn, &mut self.protocol, &self.common);
            self.settle(now, number);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    /// The next subflow that may send. Due subflows without a [precedence](Protocol::precedence) come first. Then come
    /// probes of subflows that have waited for a round trip, so that the links' controllers learn that these subflows
    /// do not send. Then comes data of the subflow with the smallest precedence. Subflows with a precedence wait until
    /// their link is free.
    fn next_due(&mut self, now: Time, ports: &Ports<'_>) -> Option<(Place, Turn)> {
        while let Some((at, (number, place))) = self.timers.due(now) {
            let Some(outgoing) = self.outgoing.get_mut(&number) else { continue };
            if place >= outgoing.subflow_count() || *outgoing.armed(place) != at {
                continue; // a stale entry: the timer was set again, or a new flow has the number
            }
            if outgoing.precedence(now, place, &self.protocol).is_none() {
                return Some(((number, place), Turn::Data));
            }
            *outgoing.armed(place) = Time::ZERO; // while the subflow waits for its turn, no timer is set
            self.waiting.push((number, place));
        }
        let ready = |(index, &(number, place)): (usize, &Place)| {
            // `None` is the smallest precedence: it stands for a subflow that has ended or no longer has a precedence.
            let precedence =
                self.outgoing.get(&number).and_then(|of| of.precedence(now, place, &self.protocol));
            let is_free = precedence.is_none_or(|(_, port)| ports.get(port).free_at(now) <= now);
            is_free.then_some((precedence.map(|of| of.0), number, place, index))
        };
        let ready = || self.waiting.iter().enumerate().filter_map(ready);
        let first = ready().min()?;
        let is_silent =
            |number: u32, place| self.outgoing.get(&number).is_some_and(|of| of.is_silent(now, place));
        let silent =
            ready().filter(|&of| of != first).find(|&(_, number, place, _)| is_silent(number, place));
        let (turn, (.., index)) = silent.map_or((Turn::Data, first), |of| (Turn::Probe, of));
        Some((self.waiting.swap_remove(index), turn))
    }

    /// Earliest time at which [`next_due`](Self::next_due) may return a subflow, if no packet or flow arrives before
    /// that time.
    fn wakes(&self, now: Time, ports: &Ports<'_>) -> Time {
        let free_at = |&(number, place): &Place| {
            let (_, port) = self.outgoing.get(&number)?.precedence(now, place, &self.protocol)?;
            Some(ports.get(port).free_at(now))
        };
        self.waiting.iter().filter_map(free_at).min().unwrap_or(Time::NEVER).min(self.timers.next())
    }

    fn receive(&mut self, now: Time, packet: &Packet) {
        let Some(&segment) = packet.header.rated() else { return };
        if segment.ack {
            self.heed(now, packet, &segment);
            return;
        }
        let acknowledgement = segment.acknowledgement();
        let Some(header) = self.protocol.answer(&packet.header, acknowledgement) else { return };
        self.reports.extend(self.incoming.take(&segment));
        self.answers.push_back(Packet::new(self.setup.header, header));
    }

    fn heed(&mut self, now: Time, packet: &Packet, segment: &Segment) {
        let number = segment.flow / Segment::SUBFLOWS;
        let key = self.key(number);
        let Some(outgoing) = self.outgoing.get_mut(&number) else { return };
        if outgoing.acknowledged(now, packet, segment, &mut self.protocol) == Progress::Complete {
            let retransmissions = outgoing.retransmissions;
            self.reports.push_back(Report::Closed { key, retransmissions });
        }
        self.end_if_doomed(now, number);
        self.settle(now, number);
    }
}

impl<P: Protocol> Host for ExplicitHost<P> {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.open(now, flow),
            Input::Packet { packet, .. } => self.receive(now, packet),
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
        if let Some(packet) = self.answers.pop_front().or_else(|| self.next_packet(now, ports)) {
            return Output::Send { packet, port: None };
        }
        if let Some(report) = self.reports.pop_front() {
            return Output::Report(report);
        }
        match self.wakes(now, ports) {
            Time::NEVER => Output::Idle,
            at => Output::WakeAt(at),
        }
    }

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        let sending = self.outgoing.iter().filter(|(_, outgoing)| !outgoing.is_complete());
        let sending = sending.map(|(&number, outgoing)| (self.key(number), outgoing.retransmissions));
        let mut counts: Vec<_> = self.given_up.iter().copied().chain(sending).collect();
        counts.sort_by_key(|&(key, _)| key);
        counts
    }
}
