//! Failures and repairs at run time.

use super::Partition;
use crate::failure::Change;
use crate::port::{Coming, InService};
use crate::slab::{NOWHERE, Origin};
use raddle_core::{DropReason, Input, Paused, PortId};
use raddle_topology::Link;

/// The steps of a failure come in this order, whatever the partitions: what links lose, by link, then what nodes do
/// about it, by node.
const FIRST_NODE_STEP: u64 = 1 << 32;

impl Partition {
    /// Links go down or come up: what is queued on or travels over a dead link is lost.
    pub(super) fn change(&mut self, index: usize) {
        let changes = std::sync::Arc::clone(&self.changes);
        let Change { links, up, .. } = &changes[index];
        let mut here: Vec<usize> =
            links.iter().filter_map(|link| self.links.binary_search(link).ok()).collect();
        here.sort_unstable();
        for &link in &here {
            self.states[link].up = *up;
            self.ports[link].up = *up;
        }
        if !up {
            for &link in &here {
                self.cut(link);
            }
            let ends = |&link: &usize| {
                let port = &self.ports[link];
                let far = port.wire.to_node;
                let near = self.ports[port.reverse as usize].wire.to_node;
                let Link { from, to, .. } =
                    *self.topology.link(self.links[link]).expect("links fail, ports do not");
                [(self.is_here(from), near), (self.is_here(to), far)]
            };
            let mut nodes: Vec<u32> =
                here.iter().flat_map(ends).filter(|&(is_here, _)| is_here).map(|(_, node)| node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                self.log.step = FIRST_NODE_STEP + u64::from(self.nodes[node as usize].id.0);
                self.poll(node);
            }
        }
        if *up {
            self.restore(&here);
        }
        self.log.step = 0;
    }

    /// Flow control of links that have come up again starts anew, at both ends: what its frames said before is lost.
    fn restore(&mut self, here: &[usize]) {
        let both = |&link: &usize| [link, self.ports[link].reverse as usize];
        let mut ports: Vec<usize> = here.iter().flat_map(both).collect();
        ports.sort_unstable();
        ports.dedup();
        for link in ports {
            let id = self.links[link];
            let from = self.topology.link(id).expect("links fail, ports do not").from;
            if self.is_here(from) && self.ports[link].up {
                self.log.step = 2 * u64::from(id.0);
                self.restart_flow_control(link);
            }
        }
    }

    /// Loses all that a link that went down carries, at whichever end is in this partition.
    fn cut(&mut self, link: usize) {
        let id = self.links[link];
        let Link { from, from_port, to, .. } = *self.topology.link(id).expect("links fail, ports do not");
        let mut waiting = Vec::new();
        self.log.step = 2 * u64::from(id.0);
        if self.is_here(to) {
            self.cut_far_end(link, from, from_port, &mut waiting);
        }
        self.log.step += 1;
        if self.is_here(from) {
            self.cut_near_end(link, from_port, waiting);
        }
    }

    /// What has left the port is lost on the way; what has not is `waiting`, if the port is in this partition too.
    fn cut_far_end(&mut self, link: usize, from: raddle_core::NodeId, out: PortId, waiting: &mut Vec<u32>) {
        let port = &mut self.ports[link];
        let to_node = port.wire.to_node;
        let left_by_now = self.now + self.classes[port.class as usize].delay;
        for packet in port.wire.clear() {
            // Under cut-through the last bit may leave long after the first.
            let tail = if self.header.is_some() { self.slab.tail(packet.slot) } else { packet.arrives };
            if tail <= left_by_now {
                let lost = self.slab.remove(packet.slot);
                self.record_loss(from, Some(out), Some(link), &lost, DropReason::LinkDown);
            } else if self.is_here(from) {
                waiting.push(packet.slot);
            } else {
                self.slab.remove(packet.slot); // the port's partition has a copy, and loses it
            }
        }
        if let Some(special) = &mut self.specials[link] {
            special.signals.clear();
            if let Some(Coming { slot, .. }) = special.coming.take() {
                self.lose(to_node, None, slot, self.slab.origin(slot), DropReason::LinkDown);
            }
        }
    }

    /// What has not left the port is lost there.
    fn cut_near_end(&mut self, link: usize, out: PortId, mut waiting: Vec<u32>) {
        let node = self.owner(u32::try_from(link).expect("link ids fit 28 bits"));
        let now = self.now;
        // What takes memory of the node until it is lost.
        let mut inside = Vec::new();
        let mut past = None;
        let port = &mut self.ports[link];
        let is_remote = port.is_remote;
        if is_remote {
            let left_by_now = now + self.classes[port.class as usize].delay;
            for packet in port.wire.clear() {
                if packet.arrives > left_by_now {
                    waiting.push(packet.slot);
                } else {
                    self.slab.remove(packet.slot); // it is on its way
                }
            }
        }
        port.free_at = now;
        port.queued = 0;
        self.states[link].free_at = now;
        if let Some(special) = &mut self.specials[link] {
            for packet in special.ledger.drain(..).filter(|packet| is_remote && packet.slot != NOWHERE) {
                if packet.sent > now && packet.arrives >= now {
                    waiting.push(packet.slot);
                } else {
                    self.slab.remove(packet.slot); // it is on its way, or there
                }
            }
            if let Some(served) = &mut special.served {
                served.free_at = now;
                served.is_due = false;
                served.is_heard = false;
                served.waiting = 0;
                if let Some(InService { packet, class, size, origin }) = served.serving.take() {
                    if let Some(agent) = &mut served.agent {
                        agent.left(now, class, size);
                    }
                    // Under cut-through its first bits may be past the far end: then all of it goes on.
                    past = packet.filter(|_| waiting.is_empty()).map(|packet| (packet, origin));
                }
                while let Some(slot) = served.queue.pop(now, Paused::NONE) {
                    let packet = self.slab.get(slot);
                    inside.push((packet.class(), packet.size, self.slab.origin(slot)));
                    waiting.push(slot);
                }
            }
        }
        for (class, size, origin) in inside {
            self.release(node, link, class, size, origin);
        }
        let keeps_origins = self.ports[link].is_served;
        for slot in waiting {
            let origin = if keeps_origins { self.slab.origin(slot) } else { Origin::HERE };
            self.lose(node, Some(out), slot, origin, DropReason::LinkDown);
        }
        if let Some((packet, origin)) = past {
            self.departed(node, &packet, origin);
            if let (None, Some(host)) = (origin.port, &mut self.nodes[node as usize].parts.host) {
                host.handle(now, Input::Sent(&packet));
            }
        }
    }

    /// Every node learns of a change.
    pub(super) fn discover(&mut self, index: usize) {
        let changes = std::sync::Arc::clone(&self.changes);
        let Change { links, up, .. } = &changes[index];
        for node in 0..self.nodes.len() {
            let state = &mut self.nodes[node];
            self.log.step = FIRST_NODE_STEP + u64::from(state.id.0);
            for &link in links {
                if let Some(forwarder) = &mut state.parts.forwarder {
                    forwarder.link(link, *up);
                }
                if let Some(host) = &mut state.parts.host {
                    host.handle(self.now, Input::Link { link, up: *up });
                }
            }
            let node = u32::try_from(node).expect("node ids fit 32 bits");
            self.retry_held(node, |_| true);
            self.poll(node);
        }
        self.log.step = 0;
    }
}
