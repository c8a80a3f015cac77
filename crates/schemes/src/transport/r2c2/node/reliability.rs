//! Reliable flows at a node: data, acknowledgements, and streams.

use super::super::Params;
use super::super::arrivals::{Answer, Arrivals, Taken};
use super::super::sender::Acknowledged;
use super::R2c2Node;
use raddle_core::{Bytes, FlowId, Header, NodeId, Report, Time};
use raddle_wire::r2c2::{Acknowledgement, Data, Event};

impl R2c2Node {
    pub(super) fn take_data(&mut self, now: Time, data: &Data) {
        let Some(arrivals) = &mut self.arrivals else {
            return self.plane.take_data(data);
        };
        let is_whole = self.plane.view.is_node(data.src) && u32::from(data.src) == data.flow >> 16;
        if !is_whole || NodeId(data.dst.into()) != self.plane.id {
            return; // the packet is misrouted (no checksum covers the hop index), or its source is invalid
        }
        let Taken { in_order, delivered, answer } = arrivals.take(now, data);
        for report in in_order.into_iter().chain(delivered) {
            self.plane.outbox.report(report);
        }
        if let Some(answer) = answer {
            self.send_answer(&answer);
        }
    }

    /// Sends an acknowledgement to a flow's source. If no path to the source exists, sends nothing: the source
    /// retransmits as soon as a path exists.
    fn send_answer(&mut self, answer: &Answer) {
        let &Answer { key, seq, next, from, arrived } = answer;
        let (src, plen) = ((key >> 16) as u16, Acknowledgement::PAYLOAD_LEN);
        let Params { protocol, window, .. } = *self.params();
        if let Some(data) = self.plane.control(protocol, src, key, plen) {
            let data = Data { seq, ..data };
            let ack = Acknowledgement { data, next, window, from, arrived };
            self.plane.outbox.control(Header::R2c2Acknowledgement(ack));
        }
    }

    /// Sends the acknowledgements that are due.
    pub(super) fn acknowledge_due(&mut self, now: Time) {
        while let Some(answer) = self.arrivals.as_mut().and_then(|arrivals| arrivals.next_answer(now)) {
            self.send_answer(&answer);
        }
    }

    /// Time at which the next acknowledgement is due, or [`Time::NEVER`].
    pub(super) fn next_acknowledgement(&self) -> Time {
        self.arrivals.as_ref().map_or(Time::NEVER, Arrivals::due)
    }

    pub(super) fn take_acknowledgement(&mut self, now: Time, ack: &Acknowledgement) {
        let Params { mtu, streams, .. } = *self.params();
        let Acknowledged { advanced_to, finished } = self.plane.sender.acknowledge(now, ack, mtu);
        if let Some(to) = advanced_to.filter(|_| streams) {
            self.plane.outbox.report(Report::Acked { key: ack.data.flow.into(), to });
        }
        if let Some(flow) = finished {
            self.finish(now, &flow);
        }
    }

    /// Appends the application's bytes to a stream, or closes the stream.
    pub(super) fn change_stream(&mut self, id: FlowId, bytes: Bytes, closes: bool) {
        let mtu = self.params().mtu;
        if self.plane.sender.change(id, bytes, closes, mtu) {
            return;
        }
        let waiting = self.cut_off.iter_mut().chain(self.plane.lids.waiting());
        if let Some(flow) = waiting.into_iter().find(|flow| flow.is_stream && flow.id == id) {
            flow.size.0 += bytes.0;
            flow.is_stream = !closes;
        }
    }

    /// Passes an event to the receiver if the flow's destination is this node.
    pub(super) fn note_announcement(&mut self, now: Time, event: &Event) {
        if let Some(arrivals) = &mut self.arrivals
            && NodeId(event.dst.into()) == self.plane.id
        {
            arrivals.announced(now, event);
        }
    }

    /// Called after a topology change. The receiver presumes the end of complete flows that are no longer in the table
    /// although their source is reachable. If a flow of this node has a path, starts the ticks again. Reliable flows
    /// that are cut off wait at both ends, and all other reliable flows continue.
    pub(super) fn keep_waiting(&mut self, now: Time) {
        let (routing, table, at) = (&self.plane.view.routing, &self.table, self.plane.id);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.fabric_changed(now, |key| {
                table.get(key).is_some() || routing.distance(NodeId(key >> 16), at).is_none()
            });
        }
        if !self.plane.sender.is_empty() && !self.plane.sender.is_cut_off() {
            self.plane.ticks.start(now);
        }
    }
}
