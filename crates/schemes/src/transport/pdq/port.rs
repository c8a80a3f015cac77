//! Connects PDQ's controller to an egress port.

use super::controller::Controller;
use crate::transport::explicit::Backlog;
use raddle_core::{Class, Header, NodeId, Packet, PortAgent, PortState, Time};
use raddle_wire::pdq;
use raddle_wire::rated::Kind;

/// PDQ at one egress port.
#[derive(Debug)]
pub(crate) struct PdqPort {
    controller: Controller,
    node: NodeId,
    backlog: Backlog,
}

impl PdqPort {
    /// Creates the agent of an egress port of `node`, with an empty queue.
    #[must_use]
    pub(crate) fn new(node: NodeId, controller: Controller) -> Self {
        Self { controller, node, backlog: Backlog::default() }
    }
}

impl PortAgent for PdqPort {
    fn arrive(&mut self, _: Time, packet: &mut Packet, _: &PortState) {
        if let Header::Pdq(pdq::Packet { segment, scheduling }) = &mut packet.header
            && segment.ack
            && segment.asks
            && segment.kind != Kind::Term
        {
            if segment.dst == self.node.0 {
                self.controller.acknowledge_own(segment.subflow_key(), scheduling);
            } else {
                self.controller.acknowledge(segment.subflow_key(), scheduling);
            }
        }
    }

    fn enqueue(&mut self, now: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        if let Header::Pdq(pdq::Packet { segment, scheduling }) = &mut packet.header
            && !segment.ack
        {
            let key = segment.subflow_key();
            if segment.kind == Kind::Term {
                self.controller.end(key);
            } else if segment.asks {
                self.controller.forward(now, key, scheduling, self.backlog.waiting(now));
            }
        }
        self.backlog.join(packet.size);
        None
    }

    fn dequeue(&mut self, now: Time, packet: &mut Packet, port: &PortState) {
        self.backlog.leave(now, packet.size, port);
    }

    fn left(&mut self, _: Time, _: Class, size: u32) {
        self.backlog.left(size);
    }
}
