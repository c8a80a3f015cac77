//! Connects RCP's controller to an egress port.

use super::controller::{Controller, Passing};
use raddle_core::{Class, Duration, Header, Packet, PortAgent, PortState, Time};
use raddle_wire::rated::Kind;
use raddle_wire::rcp;

/// RCP at one egress port.
#[derive(Debug)]
pub struct RcpPort {
    controller: Controller,
    /// True if the port also lowers the rates in acknowledgements.
    restamp: bool,
}

impl RcpPort {
    /// Creates the agent with this controller.
    #[must_use]
    pub fn new(controller: Controller, restamp: bool) -> Self {
        Self { controller, restamp }
    }

    /// The controller.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }
}

/// Lowers the rate in a packet to `rate`.
fn stamp(packet: &mut rcp::Packet, rate: raddle_core::Rate) {
    let kbps = u32::try_from(rate.as_bps() / 1_000).unwrap_or(u32::MAX);
    packet.rate = packet.rate.min(kbps);
}

impl PortAgent for RcpPort {
    fn arrive(&mut self, _: Time, packet: &mut Packet, _: &PortState) {
        if let Header::Rcp(answer) = &mut packet.header
            && answer.segment.ack
            && self.restamp
        {
            stamp(answer, self.controller.share());
        }
    }

    fn enqueue(&mut self, now: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        self.controller.joined(now, packet.size);
        if let Header::Rcp(forward) = &mut packet.header
            && !forward.segment.ack
        {
            let passing = if forward.segment.kind == Kind::Term { Passing::Over } else { Passing::Live };
            let rtt = Duration::from_ns(forward.rtt.get());
            let share = self.controller.forward(now, forward.segment.subflow_key(), passing, rtt);
            stamp(forward, share);
        }
        None
    }

    fn dequeue(&mut self, now: Time, packet: &mut Packet, port: &PortState) {
        self.controller.capacity.begins(now, packet.size, port);
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_tick(&self) -> Time {
        self.controller.capacity.next_tick()
    }

    fn tick(&mut self, now: Time, _: &PortState) {
        self.controller.tick(now);
    }

    fn left(&mut self, _: Time, _: Class, size: u32) {
        self.controller.capacity.left(size);
    }
}
