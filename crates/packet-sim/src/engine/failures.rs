//! Failures and repairs at run time.

use super::{Observer, Simulation};
use crate::failure::Change;
use crate::slab::Origin;
use raddle_core::{DropReason, Input, LinkId, PortId};

impl<O: Observer> Simulation<O> {
    /// Links go down or come up: what is queued on or travels over a dead link is lost.
    pub(super) fn change(&mut self, index: usize) {
        let Change { links, up, .. } = self.config.changes[index].clone();
        for &link in &links {
            self.states[link.index()].up = up;
        }
        if !up {
            for &link in &links {
                self.cut(link);
            }
        }
    }

    /// Loses all that a link that went down carries.
    fn cut(&mut self, link: LinkId) {
        let node = self.owner(link.0);
        let now = self.now;
        self.states[link.index()].free_at = now;
        let port = &mut self.ports[link.index()];
        port.signals.clear();
        let to_node = port.to_node;
        let incoming = port.tail.take();
        let (travelling, waiting): (Vec<_>, Vec<_>) =
            port.cut().into_iter().partition(|packet| packet.sent <= now);
        let mut waiting: Vec<u32> = waiting.into_iter().map(|packet| packet.slot).collect();
        if let Some(served) = &mut port.served {
            served.serving = None;
            while let Some(slot) = served.queue.pop(now) {
                waiting.push(slot);
            }
        }
        let out = PortId::of((link.0 - self.nodes[node as usize].first_link) as usize);
        for packet in travelling {
            let packet = self.slab.remove(packet.slot);
            self.record_loss(node, Some(out), &packet, DropReason::LinkDown);
        }
        let keeps_origins = self.ports[link.index()].is_served;
        for slot in waiting {
            let origin = if keeps_origins { self.slab.origin(slot) } else { Origin::HERE };
            self.lose(node, Some(out), slot, origin, DropReason::LinkDown);
        }
        if let Some(slot) = incoming {
            self.lose(to_node, None, slot, self.slab.origin(slot), DropReason::LinkDown);
            self.poll(to_node);
        }
        self.poll(node);
    }

    /// Every node learns of a change.
    pub(super) fn discover(&mut self, index: usize) {
        let Change { links, up, .. } = self.config.changes[index].clone();
        for node in 0..self.nodes.len() {
            let state = &mut self.nodes[node];
            for &link in &links {
                if let Some(forwarder) = &mut state.parts.forwarder {
                    forwarder.link(link, up);
                }
                if let Some(host) = &mut state.parts.host {
                    host.handle(self.now, Input::Link { link, up });
                }
            }
            let node = u32::try_from(node).expect("node ids fit 32 bits");
            self.retry_held(node);
            self.poll(node);
        }
    }
}
