//! A node's queue of outgoing control packets and reports.

use super::{EVENT_BYTES, PortSet};
use raddle_core::{Header, HeaderInfo, Output, Packet, Rate, Report};
use raddle_wire::r2c2::Event;
use std::collections::VecDeque;

/// A queue of unicast control packets, copies of broadcasts, and reports to the observer, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Outbox(VecDeque<Pending>);

#[derive(Debug)]
enum Pending {
    /// Copies of a broadcast event, one per port.
    Copies(Event, PortSet),
    Control(Box<Header>),
    /// Copies of a packet other than an event, one per port.
    Packet(Box<Packet>, PortSet),
    Report(Report),
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Queues a copy of a broadcast event for each of `ports`.
    pub(super) fn copies(&mut self, event: &Event, ports: PortSet) {
        if !ports.is_empty() {
            self.0.push_back(Pending::Copies(*event, ports));
        }
    }

    /// Queues a copy of a packet for each of `ports`.
    pub(super) fn packet(&mut self, packet: Packet, ports: PortSet) {
        if !ports.is_empty() {
            self.0.push_back(Pending::Packet(Box::new(packet), ports));
        }
    }

    /// Queues a unicast control packet. The packet consists of a header only.
    pub(crate) fn control(&mut self, header: Header) {
        self.0.push_back(Pending::Control(Box::new(header)));
    }

    pub(crate) fn report(&mut self, report: Report) {
        self.0.push_back(Pending::Report(report));
    }

    /// Queues a report that a flow now has rate `rate`, in bit/s.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn paced(&mut self, key: u32, rate: f64) {
        self.report(Report::Paced { key: key.into(), rate: Rate::from_bps(rate as u64) });
    }

    /// The next output.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "this function returns most outputs: broadcast copies")]
    pub(crate) fn next(&mut self) -> Option<Output> {
        let Pending::Copies(event, ports) = self.0.front_mut()? else { return self.next_other() };
        let port = ports.next();
        let packet = Packet::new(EVENT_BYTES, Header::R2c2Event(*event));
        if ports.is_empty() {
            self.0.pop_front();
        }
        Some(Output::Send { packet, port })
    }

    /// The next output other than an event copy. This is a separate function, so that the fast path of broadcasts stays
    /// short.
    #[inline(never)]
    #[allow(clippy::cast_possible_truncation, reason = "a control packet is far shorter than 2^32 bytes")]
    fn next_other(&mut self) -> Option<Output> {
        if let Pending::Packet(packet, ports) = self.0.front_mut()? {
            let port = ports.next();
            if !ports.is_empty() {
                return Some(Output::Send { packet: Packet::clone(packet), port });
            }
            let packet = Packet::clone(packet);
            self.0.pop_front();
            return Some(Output::Send { packet, port });
        }
        match self.0.pop_front()? {
            Pending::Report(report) => Some(Output::Report(report)),
            Pending::Control(header) => {
                let packet = Packet::new(header.wire_len() as u32, *header);
                Some(Output::Send { packet, port: None })
            }
            Pending::Copies(..) | Pending::Packet(..) => unreachable!("handled above"),
        }
    }
}
