//! Egress: packets wait for their port, cross the link, and pass to the partition at the link's far end.

use super::fabric::{Fabric, Place};
use crate::events::{Event, Kind};
use crate::mail::Content;
use crate::observer::Heard;
use crate::port::{Coming, Leaving};
use crate::slab::{NOWHERE, Origin};
use crate::wire::Travelling;
use raddle_core::{DropReason, Duration, Node, Packet, PortId, Time};

/// The earliest time at which a port can begin to send a packet without a gap in the transmission. The packet's
/// serialization delay is `time`, and its last bit arrives at `tail`.
fn gapless(tail: Time, time: Duration) -> Time {
    Time::ZERO + tail.since(Time::ZERO + time)
}

impl Fabric {
    /// Queues a packet at a port. Returns true if the host must be polled, because a packet was dropped or the host
    /// received a packet that the port's agent sent.
    pub(super) fn accept(
        &mut self,
        node: &mut Node<Self>,
        slot: u32,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool {
        let link = node.place().link(out);
        let port = &mut self.links.ports[link];
        if !port.up {
            return node.lose(self, slot, arrival, Some(out), DropReason::LinkDown);
        }
        let class = &self.links.classes[port.class as usize];
        let packet = self.slab.get(slot);
        let size = packet.size;
        if port.is_served {
            if self.header.is_some() {
                // A packet from a slower link is queued only when this link can send it without a gap, so it never
                // blocks another packet.
                let ready = gapless(self.slab.tail(slot), class.serialisation_of(packet, size));
                if ready > self.now {
                    self.let_come(node.place(), slot, arrival, ready, Some(out));
                    return false;
                }
            }
            return self.enqueue_served(node, link, slot, arrival);
        }
        let waiting = if port.has_ledger {
            self.settle_ledger(link, self.now)
        } else if port.is_remote {
            self.settle_remote(link, self.now)
        } else {
            port.settle(self.now, class);
            port.wire.waiting()
        };
        let port = &mut self.links.ports[link];
        if !port.has_room(waiting, size, &self.links.classes[port.class as usize]) {
            return node.lose(self, slot, arrival, Some(out), DropReason::QueueFull);
        }
        port.queued += u64::from(size);
        let stats = &mut port.stats;
        stats.peak_queue = stats.peak_queue.max(port.queued);
        if let Some(depths) = self.links.depths.get_mut(link) {
            depths.count(port.queued);
        }
        if port.marks(waiting, &self.links.classes[port.class as usize]) {
            mark(self.slab.get_mut(slot));
        }
        let start = port.free_at.max(self.now);
        self.launch(link, slot, start);
        false
    }

    /// Removes from a port's ledger the packets that have left the port by `now`. Unless the port is served, also
    /// subtracts the bytes of these packets from `queued`. Returns the number of packets that have not left the port.
    pub(super) fn settle_ledger(&mut self, link: usize, now: Time) -> usize {
        let port = &mut self.links.ports[link];
        let special = self.links.specials[link].get_or_insert_default();
        while let Some(packet) = special.ledger.pop_front_if(|packet| packet.sent <= now) {
            if !port.is_served {
                port.queued -= u64::from(packet.size); // a served port's queue counts its own bytes
            }
            if port.is_remote && packet.slot != NOWHERE {
                self.slab.remove(packet.slot);
            }
        }
        special.ledger.len()
    }

    /// For a port whose link leads to another partition, removes the records of packets that have left the port by
    /// `now`. Returns the number of packets that have not left the port.
    pub(super) fn settle_remote(&mut self, link: usize, now: Time) -> usize {
        let port = &mut self.links.ports[link];
        let left = port.wire.settle(now + self.links.classes[port.class as usize].delay);
        port.queued -= if port.is_served { 0 } else { left };
        while let Some(packet) = port.wire.pop_left() {
            if self.outbox.keeps_copies {
                self.slab.remove(packet.slot);
            }
        }
        port.wire.len()
    }

    /// Stores a packet that is still arriving by the port `arrival`. The packet waits until enough of it has arrived to
    /// deliver it or to send it by the port `out`.
    #[cold]
    pub(super) fn let_come(
        &mut self,
        place: &Place,
        slot: u32,
        arrival: Option<PortId>,
        until: Time,
        out: Option<PortId>,
    ) {
        let port = arrival.expect("a packet that is still arriving must have an ingress port");
        let link = self.links.ports[place.link(port)].reverse;
        self.slab.set_origin(slot, Origin { port: arrival, bound: NOWHERE });
        let coming = &mut self.links.specials[link as usize].get_or_insert_default().coming;
        debug_assert!(coming.is_none(), "a link must deliver its packets one after another");
        *coming = Some(Coming { until, slot, out });
        self.events.push(Event::new(until, Kind::Tail, link));
    }

    /// Puts a packet on the link behind a port. The transmission begins at `start`. Under cut-through it may begin
    /// later, because the last bit can leave only after it has arrived at the node. Returns the time at which the last
    /// bit leaves.
    #[allow(clippy::cast_possible_truncation, reason = "link indices fit `u32`")]
    pub(super) fn launch(&mut self, link: usize, slot: u32, start: Time) -> Time {
        let port = &mut self.links.ports[link];
        let class = &self.links.classes[port.class as usize];
        let packet = self.slab.get(slot);
        let size = packet.size;
        let time = class.serialisation_of(packet, size);
        let (mut sent, mut seen) = (start + time, start + time);
        if let Some(header) = self.header {
            // A packet from a slower link starts when this link can send it without a gap.
            let start = start.max(gapless(self.slab.tail(slot), time));
            sent = start + time;
            seen =
                if port.ends_here { sent } else { start + class.serialisation_of(packet, size.min(header)) };
        }
        let arrives = seen + class.delay;
        let arrived = sent + class.delay;
        port.free_at = port.free_at.max(sent);
        self.links.states[link].set_drains_at(port.free_at);
        let kind = packet.kind();
        port.stats.count(kind, size);
        self.totals.count_forwarded(kind, size);
        if self.log.forwarded {
            let heard = Heard::Forwarded { sent, link: self.links.ids[link], packet: packet.clone() };
            self.log.push(heard);
        }
        if port.has_ledger {
            let leaving = Leaving { sent, arrives, slot, size };
            self.links.specials[link].get_or_insert_default().ledger.push_back(leaving);
        }
        if self.links.ports[link].is_remote {
            self.launch_away(link, Travelling { arrives, slot, size }, arrived);
        } else {
            if self.header.is_some() {
                self.slab.set_tail(slot, arrived);
            }
            self.travel(link as u32, Travelling { arrives, slot, size });
        }
        sent
    }

    /// Puts a packet on a link whose far end is in this partition.
    #[inline]
    pub(super) fn travel(&mut self, link: u32, packet: Travelling) {
        let wire = &mut self.links.ports[link as usize].wire;
        wire.push_back(packet);
        if wire.len() == 1 {
            self.events.push(Event::new(packet.arrives, Kind::Arrival, link));
        }
    }

    /// Puts a packet on a link to another partition. The packet's last bit arrives there at `tail`.
    fn launch_away(&mut self, link: usize, packet: Travelling, tail: Time) {
        let port = &mut self.links.ports[link];
        if !port.has_ledger {
            port.wire.push_back(packet);
        }
        let Travelling { arrives, slot, .. } = packet;
        let packet =
            if self.outbox.keeps_copies { self.slab.get(slot).clone() } else { self.slab.remove(slot) };
        self.post(link, arrives, Content::Packet { tail, packet });
    }
}

/// Marks a packet with ECN. The function is cold, so that the common path without a mark stays short.
#[cold]
fn mark(packet: &mut Packet) {
    packet.mark_congestion();
}
