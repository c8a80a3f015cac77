//! The host: passes packets to flows, and takes packets from flows.

use super::control::CongestionControl;
use super::finished::Finished;
use super::receiver::{Acknowledge, Receiver, acknowledgement};
use super::sender::Sender;
use super::table::Table;
use super::{Params, packet};
use raddle_core::{
    Bytes, Flow, FlowId, FlowKey, Header, Host, Input, NodeId, Output, Packet, Ports, Report, Time,
};
use raddle_wire::FiveTuple;
use raddle_wire::tcp::{SYN, Segment};
use std::collections::VecDeque;
use std::sync::Arc;

/// A host that sends and receives TCP flows. `C` is the congestion control of the flows that it sends. This struct
/// takes three cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct TcpHost<C> {
    params: Arc<Params>,
    senders: Table<Sender<C>>,
    receivers: Table<Receiver>,
    /// The output that is due, in the order in which it leaves the host.
    due: VecDeque<Line>,
    node: NodeId,
    flows_sent: u64,
    finished: Box<Finished>,
}

/// An entry of `due`, aligned to a cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Line(Due);

/// One item of output.
#[derive(Debug)]
enum Due {
    /// An acknowledgement.
    Packet(Packet),
    Report(Report),
    /// All packets that the sender in this slot may send now.
    Data(u32),
}

impl<C: CongestionControl> TcpHost<C> {
    /// Creates the host of `node`. Several hosts may share their parameters.
    ///
    /// # Panics
    /// If `mss`, `initial_window` or `receive_window` is outside the range that [`Params`] states.
    #[must_use]
    pub(crate) fn new(node: NodeId, params: impl Into<Arc<Params>>) -> Self {
        let params = params.into();
        assert!(params.mss > 0 && params.initial_window > 0, "`mss` and `initial_window` must be at least 1");
        assert!(
            params.window_field() >= params.mss.div_ceil(1_024),
            "the receive window must have room for a full \
                                                                      segment"
        );
        Self {
            params,
            senders: Table::new(),
            receivers: Table::new(),
            due: VecDeque::with_capacity(2), // one packet or flow rarely adds more than two entries
            node,
            flows_sent: 0,
            finished: Box::default(),
        }
    }

    fn open(&mut self, flow: &Flow) {
        let sender = Sender::new(flow, FiveTuple::ports_of(self.flows_sent), &self.params);
        self.flows_sent += 1;
        let key = sender.key(self.node);
        let slot = self.senders.insert(key, sender);
        if flow.is_stream {
            self.finished.streams.insert(flow.id, key);
        }
        self.due.push_back(Line(Due::Report(Report::Opened { flow: flow.id, key })));
        self.due.push_back(Line(Due::Data(slot)));
    }

    /// The application appends bytes to a stream, or closes the stream if `appended` is `None`.
    #[cold]
    fn change(&mut self, flow: FlowId, appended: Option<Bytes>) {
        let Some(slot) = self.finished.streams.get(&flow).and_then(|&key| self.senders.find(key)) else {
            return;
        };
        let sender = self.senders.flow(slot);
        match appended {
            Some(bytes) => sender.append(bytes),
            None => {
                sender.close();
                self.finished.streams.remove(&flow);
            }
        }
        self.due.push_back(Line(Due::Data(slot)));
    }

    /// Handles a segment of a flow that this host receives.
    fn receive(&mut self, now: Time, segment: &Segment) {
        let key = segment.key();
        let Some(slot) = self.receivers.find(key).or_else(|| self.accept(now, key, segment)) else { return };
        let receiver = self.receivers.flow(slot);
        if C::ECN.is_capable()
            && let Some(before) = receiver.note_mark(segment, &self.params)
        {
            self.due.push_back(Line(Due::Packet(before)));
        }
        let before = self.params.streams.then(|| receiver.in_order());
        let acknowledge = receiver.receive(now, segment, &self.params);
        if before.is_some_and(|before| receiver.in_order() > before) {
            let to = receiver.in_order();
            self.due.push_back(Line(Due::Report(Report::InOrder { key, to })));
        }
        let reply = if segment.flags & SYN != 0 {
            receiver.syn_ack(C::ECN, &self.params)
        } else if acknowledge == Acknowledge::Now {
            receiver.ack(&self.params)
        } else {
            let due = receiver.ack_due();
            self.receivers.arm(slot, due);
            return; // the flow is not complete: the last segment is always acknowledged at once
        };
        let is_complete = receiver.is_complete();
        self.due.push_back(Line(Due::Packet(reply)));
        if is_complete {
            let (reorder_peak, ack) = (receiver.reorder_peak(), receiver.acknowledged(&self.params));
            self.finished.received.insert(now, key, ack);
            self.receivers.remove(key);
            self.due.push_back(Line(Due::Report(Report::Delivered { key, reorder_peak })));
        }
    }

    /// Creates a receiver for the flow of `segment`, and returns the receiver's slot. If the flow has ended, repeats
    /// the flow's last acknowledgement and returns `None`. Also returns `None` if flows must begin with a SYN and this
    /// segment is not a SYN.
    #[cold]
    fn accept(&mut self, now: Time, key: FlowKey, segment: &Segment) -> Option<u32> {
        if let Some(ack) = self.finished.received.find(now, key) {
            let answer = acknowledgement(
                (segment.dst, segment.dst_port),
                (segment.src, segment.src_port),
                ack,
                &self.params,
            );
            self.due.push_back(Line(Due::Packet(packet(answer))));
            return None;
        }
        if self.params.handshake && segment.flags & SYN == 0 {
            return None;
        }
        Some(self.receivers.insert(key, Receiver::new(segment, &self.params)))
    }

    /// Handles an acknowledgement for a flow that this host sends.
    fn acknowledged(&mut self, now: Time, segment: &Segment) {
        let key = segment.key();
        let Some(slot) = self.senders.find(key) else { return };
        let sender = self.senders.flow(slot);
        let before = self.params.streams.then(|| sender.acknowledged());
        sender.acknowledge(now, segment, &self.params);
        if before.is_some_and(|before| sender.acknowledged() > before) {
            let to = sender.acknowledged();
            self.due.push_back(Line(Due::Report(Report::Acked { key, to })));
        }
        if sender.is_closed() {
            let retransmissions = sender.retransmissions();
            self.senders.remove(key);
            self.due.push_back(Line(Due::Report(Report::Closed { key, retransmissions })));
        } else {
            self.due.push_back(Line(Due::Data(slot)));
        }
    }

    /// Handles the next flow whose timer has expired.
    #[cold]
    fn expire(&mut self, now: Time) {
        if let Some(slot) = self.senders.expired(now) {
            let sender = self.senders.flow(slot);
            if sender.expire(now, &self.params) {
                self.due.push_back(Line(Due::Data(slot)));
            } else {
                let (key, retransmissions) = (sender.key(self.node), sender.retransmissions());
                self.senders.remove(key);
                self.finished.streams.retain(|_, stream| *stream != key);
                self.finished.given_up.push((key, retransmissions));
            }
        } else if let Some(slot) = self.receivers.expired(now) {
            let receiver = self.receivers.flow(slot);
            if receiver.ack_due() <= now {
                let ack = receiver.ack(&self.params);
                self.due.push_back(Line(Due::Packet(ack)));
            } else {
                let due = receiver.ack_due();
                self.receivers.arm(slot, due);
            }
        }
    }
}

impl<C: CongestionControl> Host for TcpHost<C> {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => self.open(flow),
            Input::Append { flow, bytes } => self.change(flow, Some(bytes)),
            Input::Close { flow } => self.change(flow, None),
            Input::Packet { packet: Packet { header: Header::Tcp(segment), .. }, .. } => {
                if segment.from_data_sender() {
                    self.receive(now, segment);
                } else {
                    self.acknowledged(now, segment);
                }
            }
            Input::Packet { .. }
            | Input::Corrupted { .. }
            | Input::Sent(_)
            | Input::Dropped { .. }
            | Input::Link { .. } => {}
        }
    }

    fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
        loop {
            match self.due.pop_front().map(|Line(due)| due) {
                Some(Due::Data(slot)) => {
                    let sender = self.senders.flow(slot);
                    if let Some(packet) = sender.next_packet(now, self.node, &self.params) {
                        self.due.push_front(Line(Due::Data(slot)));
                        return Output::Send { packet, port: None };
                    }
                    let at = sender.next_expiry();
                    self.senders.arm(slot, at);
                }
                Some(Due::Packet(packet)) => return Output::Send { packet, port: None },
                Some(Due::Report(report)) => return Output::Report(report),
                None => {
                    let at = self.senders.next_expiry().min(self.receivers.next_expiry());
                    if at > now {
                        return if at == Time::NEVER { Output::Idle } else { Output::WakeAt(at) };
                    }
                    self.expire(now);
                }
            }
        }
    }

    fn carries_streams(&self) -> bool {
        self.params.streams
    }

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        let sending = self.senders.flows().map(|(key, sender)| (key, sender.retransmissions()));
        let mut counts: Vec<_> = self.finished.given_up.iter().copied().chain(sending).collect();
        counts.sort_by_key(|&(key, _)| key);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::newreno::NewReno;
    use super::*;

    #[test]
    fn a_host_takes_three_cache_lines_plus_one_for_timers() {
        assert_eq!(size_of::<TcpHost<NewReno>>(), 3 * 64);
        assert_eq!(size_of::<Line>(), 64);
    }
}
