//! The host: hands packets to flows, and asks flows for packets.

use super::receiver::{Acknowledge, Receiver, answer};
use super::sender::Sender;
use super::table::Table;
use super::{Params, packet};
use raddle_core::{Duration, Flow, Header, Host, Input, NodeId, Output, Packet, Ports, Report, Time};
use raddle_wire::tcp::{SYN, Segment};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A host of TCP flows, both ways.
#[derive(Debug)]
pub struct TcpHost {
    node: NodeId,
    params: Params,
    flows_sent: u64,
    senders: Table<Sender>,
    receivers: Table<Receiver>,
    finished: Finished,
    /// Acknowledgements and reports to hand out.
    outbox: VecDeque<Output>,
    /// Slots of senders that may have something to send.
    ready: VecDeque<u32>,
}

impl TcpHost {
    /// The host of `node`.
    ///
    /// # Panics
    /// If a parameter is outside the range that [`Params`] states.
    #[must_use]
    pub fn new(node: NodeId, params: Params) -> Self {
        assert!(params.mss > 0 && params.initial_window > 0, "a segment may be sent");
        assert!(params.window_field() >= params.mss.div_ceil(1_024), "a segment fits the receive window");
        Self {
            node,
            params,
            flows_sent: 0,
            senders: Table::new(),
            receivers: Table::new(),
            finished: Finished::default(),
            outbox: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    fn open(&mut self, flow: &Flow) {
        let ports @ (src_port, dst_port) = ports(self.flows_sent);
        self.flows_sent += 1;
        let key = u64::from(self.node.0) << 32 | u64::from(src_port) << 16 | u64::from(dst_port);
        let slot = self.senders.insert(key, Sender::new(flow, ports, &self.params));
        self.outbox.push_back(Output::Report(Report::Opened { flow: flow.id, key }));
        self.ready.push_back(slot);
    }

    /// Takes in a segment of a flow that this host receives.
    fn receive(&mut self, now: Time, segment: &Segment) {
        let key = segment.flow_key();
        if let Some(ack) = self.finished.find(now, key) {
            self.send(packet(answer(segment, ack, &self.params)));
            return;
        }
        let is_syn = segment.flags & SYN != 0;
        let slot = match self.receivers.find(key) {
            Some(slot) => slot,
            None if self.params.handshake && !is_syn => return,
            None => self.receivers.insert(key, Receiver::new(segment, &self.params)),
        };
        let receiver = self.receivers.flow(slot);
        let acknowledge = receiver.receive(now, segment, &self.params);
        if is_syn {
            let syn_ack = receiver.syn_ack(&self.params);
            self.send(syn_ack);
        } else if acknowledge == Acknowledge::Now {
            let ack = receiver.ack(&self.params);
            self.send(ack);
        } else {
            let due = receiver.ack_due();
            self.receivers.arm(slot, due);
        }
        let receiver = self.receivers.flow(slot);
        if receiver.is_complete() {
            let reorder_peak = receiver.reorder_peak();
            self.finished.insert(now, key, receiver.acknowledged(&self.params));
            self.receivers.remove(key);
            self.outbox.push_back(Output::Report(Report::Delivered { key, reorder_peak }));
        }
    }

    /// Takes in a segment that answers a flow that this host sends.
    fn acknowledged(&mut self, now: Time, segment: &Segment) {
        let key = segment.flow_key();
        let Some(slot) = self.senders.find(key) else { return };
        let sender = self.senders.flow(slot);
        sender.acknowledge(now, segment, &self.params);
        if sender.is_closed() {
            let retransmissions = sender.retransmissions();
            self.senders.remove(key);
            self.outbox.push_back(Output::Report(Report::Closed { key, retransmissions }));
        } else {
            self.ready.push_back(slot);
        }
    }

    fn send(&mut self, packet: Packet) {
        self.outbox.push_back(Output::Send { packet, port: None });
    }
}

impl Host for TcpHost {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.open(flow),
            Input::Packet { packet: Packet { header: Header::Tcp(segment), .. }, .. } => {
                if segment.from_data_sender() {
                    self.receive(now, segment);
                } else {
                    self.acknowledged(now, segment);
                }
            }
            Input::Packet { .. } | Input::Sent(_) | Input::Dropped { .. } | Input::Link { .. } => {}
        }
    }

    fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
        loop {
            if let Some(output) = self.outbox.pop_front() {
                return output;
            }
            if let Some(&slot) = self.ready.front() {
                let sender = self.senders.flow(slot);
                if let Some(packet) = sender.next_packet(now, &self.params) {
                    return Output::Send { packet, port: None };
                }
                let at = sender.next_expiry();
                self.senders.arm(slot, at);
                self.ready.pop_front();
            } else if let Some(slot) = self.senders.expired(now) {
                self.senders.flow(slot).expire(now, &self.params);
                self.ready.push_back(slot);
            } else if let Some(slot) = self.receivers.expired(now) {
                let receiver = self.receivers.flow(slot);
                if receiver.ack_due() <= now {
                    let ack = receiver.ack(&self.params);
                    self.send(ack);
                } else {
                    let due = receiver.ack_due();
                    self.receivers.arm(slot, due);
                }
            } else {
                let at = self.senders.next_expiry().min(self.receivers.next_expiry());
                return if at == Time::NEVER { Output::Idle } else { Output::WakeAt(at) };
            }
        }
    }
}

/// The source and destination ports of a host's `number`th flow: no pair twice in 3.9 billion flows.
fn ports(number: u64) -> (u16, u16) {
    const FIRST_SOURCE: u64 = 1_024;
    const SOURCES: u64 = 65_536 - FIRST_SOURCE;
    const FIRST_DESTINATION: u64 = 5_001;
    const DESTINATIONS: u64 = 65_536 - FIRST_DESTINATION;
    let src = FIRST_SOURCE + number % SOURCES;
    let dst = FIRST_DESTINATION + number / SOURCES % DESTINATIONS;
    (src as u16, dst as u16)
}

/// Flows received to the end, remembered as TIME-WAIT does: should its last acknowledgement be lost, the sender
/// repeats its last segment, and has to be answered.
#[derive(Debug, Default)]
struct Finished {
    /// Key and last acknowledgement of flows heard of in this generation, and in the one before.
    recent: FxHashMap<u64, u32>,
    older: FxHashMap<u64, u32>,
    generation_ends: Time,
}

impl Finished {
    /// Twice the maximum segment lifetime of RFC 9293 §3.4.2: a flow is remembered for once to twice as long.
    const GENERATION: Duration = Duration::from_ms(240_000);

    fn insert(&mut self, now: Time, key: u64, ack: u32) {
        if now >= self.generation_ends {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
            self.generation_ends = now + Self::GENERATION;
        }
        self.recent.insert(key, ack);
    }

    /// The last acknowledgement of a finished flow.
    fn find(&mut self, now: Time, key: u64) -> Option<u32> {
        if let Some(&ack) = self.recent.get(&key) {
            return Some(ack);
        }
        let ack = self.older.remove(&key)?;
        self.insert(now, key, ack);
        Some(ack)
    }
}
