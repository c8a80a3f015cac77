//! Connects D3's controller to an egress port.

use super::controller::{Controller, Request, Stage};
use raddle_core::{Class, Header, Packet, PortAgent, PortState, Rate, Time};
use raddle_wire::rated::Kind;
use raddle_wire::{Minifloat, d3};

/// D3 at one egress port.
#[derive(Debug)]
pub struct D3Port {
    controller: Controller,
}

impl D3Port {
    /// Creates the agent with this controller.
    #[must_use]
    pub fn new(controller: Controller) -> Self {
        Self { controller }
    }

    /// The controller.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }
}

/// The rate that a header field represents.
pub(super) fn rate_of(kbps: Minifloat) -> Rate {
    Rate::from_bps(kbps.get() * 1_000)
}

/// The header field of the greatest representable rate that does not exceed `rate`.
pub(super) fn field_of(rate: Rate) -> Minifloat {
    Minifloat::floor(rate.as_bps() / 1_000)
}

impl Controller {
    /// Handles the request in a packet: replaces the flow's previous grant in the packet by the new grant.
    fn serve(&mut self, now: Time, packet: &mut d3::Packet) {
        let segment = &packet.segment;
        // No path has more hops than `grants` has entries. A hop number beyond the entries therefore means that the
        // packet is damaged, and the packet gets no grant.
        let Some(grant) = packet.request.grants.get_mut(usize::from(segment.hop)) else { return };
        let request = Request {
            flow: segment.subflow_key(),
            stage: match segment.kind {
                Kind::Syn => Stage::First,
                Kind::Data | Kind::Probe => Stage::Next,
                Kind::Term => Stage::Last,
            },
            desired: rate_of(packet.request.desired),
            previous: rate_of(packet.request.desired_before),
            granted: rate_of(*grant),
        };
        *grant = field_of(self.request(now, &request, |rate| rate_of(field_of(rate))));
    }
}

impl PortAgent for D3Port {
    fn enqueue(&mut self, now: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        self.controller.joined(now, packet.size);
        if let Header::D3(forward) = &mut packet.header
            && forward.segment.asks
            && !forward.segment.ack
        {
            self.controller.serve(now, forward);
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
