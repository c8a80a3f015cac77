//! Egress: packets wait for their port, cross the link, and are handed to the partition at its far end.

use super::Partition;
use crate::events::{Event, Kind};
use crate::mail::Content;
use crate::observer::Heard;
use crate::port::Leaving;
use crate::slab::{NOWHERE, Origin};
use crate::wire::Travelling;
use raddle_core::{DropReason, Packet, PacketKind, PortId, Time};

impl Partition {
    /// Queues a packet at a port. Returns whether the host is now due a poll, because the packet was dropped.
    pub(super) fn enqueue(&mut self, node: u32, out: PortId, slot: u32, origin: Origin) -> bool {
        let link = self.local_link(node, out);
        let port = &mut self.ports[link];
        if !port.up {
            return self.lose(node, Some(out), slot, origin, DropReason::LinkDown);
        }
        let class = &self.classes[port.class as usize];
        let packet = self.slab.get(slot);
        let size = packet.size;
        if port.is_served {
            if origin.tail > self.now {
                // What comes in more slowly than it leaves joins when it can go without running dry: it keeps nobody waiting.
                let time = class.serialisation_of(packet, size);
                let ready = Time::ZERO + origin.tail.since(Time::ZERO + time);
                if ready > self.now {
                    self.let_come(node, slot, origin, ready, Some(out));
                    return false;
                }
            }
            return self.enqueue_served(node, link, slot, origin);
        }
        let waiting = if port.has_ledger {
            self.settle_ledger(link, self.now)
        } else if port.is_remote {
            self.settle_remote(link, self.now)
        } else {
            port.settle(self.now, class);
            port.wire.waiting()
        };
        let port = &mut self.ports[link];
        if !port.has_room(waiting, size, &self.classes[port.class as usize]) {
            return self.lose(node, Some(out), slot, origin, DropReason::QueueFull);
        }
        port.queued += u64::from(size);
        let stats = &mut port.stats;
        stats.peak_queue = stats.peak_queue.max(port.queued);
        if let Some(depths) = self.depths.get_mut(link) {
            depths.count(port.queued);
        }
        if port.marks(waiting, &self.classes[port.class as usize]) {
            mark(self.slab.get_mut(slot));
        }
        let start = port.free_at.max(self.now);
        self.launch(link, slot, start, origin.tail);
        false
    }

    /// Brings `queued` of a port with a ledger up to `now`. Returns how many packets wait.
    pub(super) fn settle_ledger(&mut self, link: usize, now: Time) -> usize {
        let port = &mut self.ports[link];
        let special = self.specials[link].get_or_insert_default();
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

    /// Forgets what has left a port to another partition by `now`. Returns how many packets wait.
    pub(super) fn settle_remote(&mut self, link: usize, now: Time) -> usize {
        let port = &mut self.ports[link];
        let left = port.wire.settle(now + self.classes[port.class as usize].delay);
        port.queued -= if port.is_served { 0 } else { left };
        while let Some(packet) = port.wire.pop_left() {
            if self.keeps_copies {
                self.slab.remove(packet.slot);
            }
        }
        port.wire.len()
    }

    /// Puts a packet, whose last bit is in at `tail`, on the wire behind a port from `start` on. Returns when its last
    /// bit leaves.
    pub(super) fn launch(&mut self, link: usize, slot: u32, start: Time, tail: Time) -> Time {
        let port = &mut self.ports[link];
        let class = &self.classes[port.class as usize];
        let packet = self.slab.get(slot);
        let size = packet.size;
        let sent = (start + class.serialisation_of(packet, size)).max(tail);
        let arrives = match self.header {
            Some(header) if !port.ends_here => {
                start + class.serialisation_of(packet, size.min(header)) + class.delay
            }
            _ => sent + class.delay,
        };
        let arrived = sent + class.delay;
        port.free_at = port.free_at.max(sent);
        self.states[link].free_at = port.free_at;
        let stats = &mut port.stats;
        let kind = packet.kind();
        if kind == PacketKind::Data {
            stats.data_packets += 1;
            stats.data_bytes += u64::from(size);
        } else {
            stats.control_packets += 1;
            stats.control_bytes += u64::from(size);
        }
        self.totals.kinds[kind as usize].count(size);
        if self.log.forwarded {
            let heard = Heard::Forwarded { sent, link: self.links[link], packet: packet.clone() };
            self.log.push(heard);
        }
        if port.has_ledger {
            let leaving = Leaving { sent, arrives, slot, size };
            self.specials[link].get_or_insert_default().ledger.push_back(leaving);
        }
        if self.ports[link].is_remote {
            self.launch_away(link, Travelling { arrives, slot, size }, arrived);
        } else {
            if self.header.is_some() {
                self.slab.set_tail(slot, arrived);
            }
            self.travel(link as u32, Travelling { arrives, slot, size });
        }
        sent
    }

    /// Puts a packet on a link.
    #[inline]
    pub(super) fn travel(&mut self, link: u32, packet: Travelling) {
        let wire = &mut self.ports[link as usize].wire;
        wire.push_back(packet);
        if wire.len() == 1 {
            self.events.push(Event::new(packet.arrives, Kind::Arrival, link));
        }
    }

    /// Puts a packet, whose last bit will be in at `tail`, on a link to another partition.
    fn launch_away(&mut self, link: usize, packet: Travelling, tail: Time) {
        let port = &mut self.ports[link];
        if !port.has_ledger {
            port.wire.push_back(packet);
        }
        let Travelling { arrives, slot, .. } = packet;
        let packet = if self.keeps_copies { self.slab.get(slot).clone() } else { self.slab.remove(slot) };
        self.post(link, arrives, Content::Packet { tail, packet });
    }
}

/// Marks a packet as one that met congestion. Apart, so that the way of others stays short.
#[cold]
fn mark(packet: &mut Packet) {
    packet.mark_congestion();
}
