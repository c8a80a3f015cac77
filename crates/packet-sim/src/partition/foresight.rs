//! Prefetches the data of the next events while the present event is processed. Prefetching affects only the speed of a
//! run.
//!
//! An arrival follows a chain of pointers. The port points to the packet and the node, and the node points to its
//! parts. The parts and the packet lead to the egress port, and the egress port points to its queue. Each element of
//! the chain is prefetched when the element that points to it should have arrived in the cache.

use super::Partition;
use crate::events::{Event, Kind};
use raddle_core::{prefetch, prefetch_whole};

impl Partition {
    /// When a bucket of events begins, prefetches data for the events of this bucket and of the next bucket.
    pub(super) fn foresee_bucket(&self) {
        for event in self.fabric.events.following() {
            let index = event.index() as usize;
            // The index of some events, such as wake-ups, is not the index of a port. Prefetching an unrelated port
            // does no harm.
            if let Some(port) = self.fabric.links.ports.get(index) {
                port.foresee();
            }
            if event.is(Kind::Sent)
                && let Some(special) = &self.fabric.links.specials[index]
            {
                special.foresee();
            }
        }
        for event in self.fabric.events.present() {
            self.foresee_place(event);
        }
    }

    /// For an arrival, prefetches the packet, the next packet on the link and the node, and with flow control the state
    /// of the reverse port. For the end of a transmission, prefetches the port's queue.
    #[inline]
    fn foresee_place(&self, event: Event) {
        let index = event.index() as usize;
        if event.is(Kind::Arrival) {
            let port = &self.fabric.links.ports[index];
            if let Some(next) = port.wire.front() {
                self.fabric.slab.foresee(next.slot);
                port.wire.foresee_second();
            }
            prefetch(&self.nodes[port.wire.to_node as usize]);
            if self.fabric.controls
                && let Some(special) = &self.fabric.links.specials[port.reverse as usize]
            {
                special.foresee();
            }
        } else if event.is(Kind::Sent)
            && let Some(special) = &self.fabric.links.specials[index]
        {
            special.foresee_queue();
        }
    }

    /// Prefetches data for the following events when an event is about to be processed.
    #[inline]
    pub(super) fn foresee_next(&mut self) {
        if let Some(link) = self.guess.take() {
            self.fabric.links.ports[link as usize].wire.foresee_last();
        }
        if let Some(event) = self.fabric.events.ahead(2) {
            self.foresee_parts(event);
        }
        if let Some(event) = self.fabric.events.ahead(1).filter(|event| event.is(Kind::Arrival)) {
            self.guess = self.foresee_egress(event);
        }
    }

    /// Prefetches the parts of a node that will be called when an event is processed.
    #[inline]
    fn foresee_parts(&self, event: Event) {
        let index = event.index() as usize;
        if event.is(Kind::Arrival) {
            let port = &self.fabric.links.ports[index];
            let node = &self.nodes[port.wire.to_node as usize];
            match (node.forwarder(), node.host()) {
                (Some(forwarder), host) => {
                    prefetch(forwarder);
                    if let Some(host) = host {
                        prefetch(host);
                    }
                }
                (None, Some(host)) => prefetch_whole(host),
                (None, None) => {}
            }
            if self.fabric.controls
                && let Some(special) = &self.fabric.links.specials[port.reverse as usize]
            {
                special.foresee_flow_control();
            }
        } else if event.is(Kind::Sent)
            && let Some(special) = &self.fabric.links.specials[index]
        {
            if let Some(slot) = special.next() {
                self.fabric.slab.foresee(slot);
            }
            if let Some(served) = &special.served
                && served.is_heard
                && let Some(host) = self.nodes[served.node as usize].host()
            {
                prefetch_whole(host);
            }
        } else if event.is(Kind::Wake)
            && let Some(host) = self.nodes[index].host()
        {
            prefetch_whole(host);
        }
    }

    /// Prefetches the port by which the arriving packet will probably leave, and returns the index of the link behind
    /// this port. If no port is known, prefetches the data that the node's host will read, and returns `None`.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "link indices fit `u32`")]
    fn foresee_egress(&self, arrival: Event) -> Option<u32> {
        let wire = &self.fabric.links.ports[arrival.index() as usize].wire;
        let (node, packet) = (&self.nodes[wire.to_node as usize], self.fabric.slab.get(wire.front()?.slot));
        if let Some(out) = node.forwarder().and_then(|forwarder| forwarder.foresee(packet)) {
            let link = node.place().link(out);
            let port = self.fabric.links.ports.get(link)?;
            port.foresee();
            if port.is_served
                && let Some(special) = &self.fabric.links.specials[link]
            {
                special.foresee();
            }
            return Some(link as u32);
        }
        node.host()?.foresee(packet);
        None
    }
}
