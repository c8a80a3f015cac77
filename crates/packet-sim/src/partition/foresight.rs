//! Bringing in what the next events will read, while the present one is taken. Nothing else depends on it.
//!
//! What an arrival reads hangs together: its port leads to the packet and the node, the node to its parts, these and the
//! packet to the port by which it leaves, and that to what waits there. Each is asked for when what leads to it should
//! have come.

use super::{NodeState, Partition};
use crate::events::Kind;
use crate::prefetch::{prefetch, prefetch_at};

impl Partition {
    /// A new bucket of events begins.
    pub(super) fn foresee_bucket(&self) {
        for event in self.events.following() {
            if event.is(Kind::Arrival) || event.is(Kind::Sent) {
                self.ports[event.index() as usize].foresee();
            }
            if event.is(Kind::Sent) {
                prefetch(&self.specials[event.index() as usize]);
            }
        }
        for event in self.events.present() {
            if event.is(Kind::Sent)
                && let Some(special) = &self.specials[event.index() as usize]
            {
                special.foresee();
            }
            if event.is(Kind::Arrival)
                && let wire = &self.ports[event.index() as usize].wire
                && let Some(next) = wire.front()
            {
                self.slab.foresee(next.slot);
                wire.foresee_second();
                prefetch(&self.nodes[wire.to_node as usize]);
                if self.controls {
                    prefetch(&self.specials[self.ports[event.index() as usize].reverse as usize]);
                }
            }
        }
    }

    /// An event is about to be taken.
    #[inline]
    pub(super) fn foresee_next(&mut self) {
        if let Some(link) = self.guess.take() {
            self.ports[link as usize].wire.foresee_last();
        }
        if let Some((node, slot)) = self.arrival_ahead(1) {
            let packet = self.slab.get(slot);
            let (forwarder, host) = (node.parts.forwarder.as_ref(), node.parts.host.as_ref());
            if let Some(out) = forwarder.and_then(|forwarder| forwarder.foresee(packet)) {
                let link = node.first_link + u32::from(out.0);
                if let Some(port) = self.ports.get(link as usize) {
                    port.foresee();
                    if port.is_served
                        && let Some(special) = &self.specials[link as usize]
                    {
                        special.foresee();
                    }
                    self.guess = Some(link);
                }
            } else if let Some(place) = host.and_then(|host| host.foresee(packet)) {
                prefetch_at(place);
            }
        }
        if self.controls
            && let Some(event) = self.events.ahead(2).filter(|event| event.is(Kind::Arrival))
            && let Some(special) = &self.specials[self.ports[event.index() as usize].reverse as usize]
        {
            special.foresee_flow_control();
        }
        if let Some((node, _)) = self.arrival_ahead(2) {
            if let Some(forwarder) = &node.parts.forwarder {
                prefetch(&**forwarder);
            }
            if let Some(host) = &node.parts.host {
                prefetch(&**host);
            }
        }
    }

    /// Where, and in which slot, a packet will arrive so many events after the next, as far as is known.
    #[inline]
    fn arrival_ahead(&self, distance: usize) -> Option<(&NodeState, u32)> {
        let event = self.events.ahead(distance).filter(|event| event.is(Kind::Arrival))?;
        let wire = &self.ports[event.index() as usize].wire;
        Some((&self.nodes[wire.to_node as usize], wire.front()?.slot))
    }
}
