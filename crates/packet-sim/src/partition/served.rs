//! Ports whose departures are not known when a packet is queued, and the answers that neighbours give each other.

use super::Partition;
use super::fabric::Fabric;
use crate::events::{Event, Kind};
use crate::mail::Content;
use crate::port::{Departure, InService};
use crate::slab::Origin;
use raddle_core::{Admit, Bytes, DropReason, Duration, LinkId, Node, PortId, Signal, Time};

/// What a signal takes at least, so that none comes in the instant in which it was sent.
const LEAST_SIGNAL_DELAY: Duration = Duration::from_ps(1);

impl Fabric {
    /// Shows a packet that has come in to the port's agent.
    pub(super) fn meet_agent(&mut self, link: usize, slot: u32) {
        if let Some(special) = &mut self.links.specials[link]
            && let Some(served) = &mut special.served
            && let Some(agent) = &mut served.agent
        {
            agent.arrive(self.now, self.slab.get_mut(slot), &self.links.states[link]);
        }
    }

    /// Queues a packet at a served port that is up. Returns whether the host is now due a poll, because a packet was
    /// dropped.
    pub(super) fn enqueue_served(
        &mut self,
        node: &mut Node<Self>,
        link: usize,
        slot: u32,
        arrival: Option<PortId>,
    ) -> bool {
        let now = self.now;
        let packet = self.slab.get_mut(slot);
        let (class, size) = (packet.class(), packet.size);
        let Some(served) = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut())
        else {
            unreachable!("the caller has looked")
        };
        let origin = Origin { port: arrival, bound: link as u32 };
        let is_free = served.free_at <= now && !served.is_due && served.waiting == 0;
        if is_free && served.may_pass && !self.links.states[link].paused.holds(class) {
            self.count_waiting(link, size.into());
            self.slab.set_origin(slot, origin);
            let sent = self.serve(node, link, slot, arrival);
            if let Some(arrival) = arrival.filter(|_| self.controls) {
                self.occupy(node, arrival, class, size, Some(sent));
            }
            return false;
        }
        let notice =
            served.agent.as_mut().and_then(|agent| agent.enqueue(now, packet, &self.links.states[link]));
        let mut due = false;
        if served.queue.push(now, slot, packet) == Admit::Drop {
            if let Some(agent) = &mut served.agent {
                agent.left(now, class, size);
            }
            due = node.lose(self, slot, arrival, Some(node.place().port(link)), DropReason::QueueFull);
        } else {
            served.waiting += u64::from(size);
            let waiting = served.bytes(now);
            let port = &mut self.links.ports[link];
            let time = self.links.classes[port.class as usize].serialisation_of(packet, size);
            port.free_at = port.free_at.max(now) + time;
            let state = &mut self.links.states[link];
            state.set_drains_at(port.free_at);
            state.set_waiting(Bytes(served.waiting));
            self.slab.set_origin(slot, origin);
            debug_assert_eq!(served.waiting, served.queue.bytes().0);
            self.count_waiting(link, waiting);
            if let Some(arrival) = arrival.filter(|_| self.controls) {
                self.occupy(node, arrival, class, size, None);
            }
            self.serve_next(node, link);
        }
        if let Some(packet) = notice {
            due |= node.send(self, packet, None);
        }
        due
    }

    /// Remembers how many bytes wait at a port, what is in service included.
    #[inline]
    fn count_waiting(&mut self, link: usize, bytes: u64) {
        let stats = &mut self.links.ports[link].stats;
        stats.peak_queue = stats.peak_queue.max(bytes);
        if let Some(depths) = self.links.depths.get_mut(link) {
            depths.count(bytes);
        }
    }

    /// Begins the next transmission of a served port, if none is under way and anything waits that is not paused.
    pub(super) fn serve_next(&mut self, node: &Node<Self>, link: usize) {
        let now = self.now;
        let served = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut());
        let Some(served) = served.filter(|served| !served.is_due && served.waiting > 0) else { return };
        if served.free_at > now {
            served.is_due = true;
            self.events.push(Event::new(served.free_at, Kind::Sent, link as u32));
            return;
        }
        let Some(slot) = served.queue.pop(now, self.links.states[link].paused) else { return };
        let packet = self.slab.get_mut(slot);
        served.waiting -= u64::from(packet.size);
        self.links.states[link].set_waiting(Bytes(served.waiting));
        debug_assert_eq!(served.waiting, served.queue.bytes().0);
        if let Some(agent) = &mut served.agent {
            agent.dequeue(now, packet, &self.links.states[link]);
        }
        let (class, size, arrival) = (packet.class(), packet.size, self.slab.origin(slot).port);
        let sent = self.serve(node, link, slot, arrival);
        if let Some(arrival) = arrival.filter(|_| self.controls) {
            self.departs(node, arrival, Departure { at: sent, size, class });
        }
    }

    /// Begins to send a packet by a served port. Returns when its last bit leaves.
    #[inline]
    fn serve(&mut self, node: &Node<Self>, link: usize, slot: u32, arrival: Option<PortId>) -> Time {
        let packet = self.slab.get(slot);
        let (class, size) = (packet.class(), packet.size);
        // Under cut-through its header may be past the next node when it has left, so it is a copy.
        let heard_of = arrival.is_none() || node.hears_of_departures();
        let copy = heard_of.then(|| packet.clone());
        self.settle_served(link);
        let sent = self.launch(link, slot, self.now);
        if let Some(served) = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut()) {
            let serving = heard_of || served.agent.is_some();
            debug_assert!(!served.is_heard, "what was served before has been taken");
            if serving {
                served.is_heard = true;
                served.serving = Some(InService { packet: copy, class, size, arrival });
            }
            served.free_at = sent;
            served.in_service = size;
            served.is_due = serving || served.waiting > 0;
            if served.is_due {
                self.events.push(Event::new(sent, Kind::Sent, link as u32));
            }
        }
        sent
    }

    /// Forgets what has left a served port under cut-through or to another partition.
    fn settle_served(&mut self, link: usize) {
        let port = &self.links.ports[link];
        if port.has_ledger {
            self.settle_ledger(link, self.now);
        } else if port.is_remote {
            self.settle_remote(link, self.now);
        }
    }

    /// Bytes that wait or are in service at a port, at `now`: before the next event.
    fn queued(&mut self, index: usize, now: Time) -> u64 {
        let served = self.links.specials[index].as_ref().and_then(|special| special.served.as_ref());
        if let Some(served) = served {
            return served.bytes(now);
        }
        let port = &mut self.links.ports[index];
        if port.has_ledger {
            self.settle_ledger(index, now);
        } else if port.is_remote {
            self.settle_remote(index, now);
        } else {
            port.settle(now, &self.links.classes[port.class as usize]);
        }
        self.links.ports[index].queued
    }

    /// The index of the node, of this partition, that a link leaves.
    pub(super) fn owner(&self, link: u32) -> usize {
        self.links.ports[self.links.ports[link as usize].reverse as usize].wire.to_node as usize
    }

    /// Sends a neighbour's forwarder an answer.
    pub(super) fn send_signal(&mut self, link: usize, signal: Signal) {
        let port = &self.links.ports[link];
        if !port.up {
            return;
        }
        let delay = self.links.classes[port.class as usize].delay.max(LEAST_SIGNAL_DELAY);
        let arrives = self.now + delay;
        if port.is_remote {
            self.post(link, arrives, Content::Signal(signal));
        } else {
            self.signal_travels(link, arrives, signal);
        }
    }

    /// Puts a signal onto a link of which this partition has the far end.
    pub(super) fn signal_travels(&mut self, link: usize, arrives: Time, signal: Signal) {
        let signals = &mut self.links.specials[link].get_or_insert_default().signals;
        signals.push_back((arrives, signal));
        if signals.len() == 1 {
            let index = u32::try_from(link).expect("link ids fit 28 bits");
            self.events.push(Event::new(arrives, Kind::Signal, index));
        }
    }
}

impl Partition {
    /// The transmission of a served port ends.
    pub(super) fn transmission_ends(&mut self, link: u32) {
        let Self { nodes, fabric, .. } = self;
        let (now, index) = (fabric.now, link as usize);
        let served = fabric.links.specials[index].as_mut().and_then(|special| special.served.as_mut());
        // Otherwise the link went down in between.
        let Some(served) = served.filter(|served| served.is_due && served.free_at == now) else { return };
        served.is_due = false;
        let node = &mut nodes[served.node as usize];
        let serving = if std::mem::take(&mut served.is_heard) { served.serving.take() } else { None };
        if let Some(InService { class, size, .. }) = &serving
            && let Some(agent) = &mut served.agent
        {
            agent.left(now, *class, *size);
        }
        fabric.serve_next(node, index);
        if let Some(InService { packet: Some(packet), arrival, .. }) = serving
            && node.left(fabric, &packet, arrival)
        {
            node.poll(fabric);
        }
    }

    /// Bytes that wait or are in service at the port that a link leaves, if it is here, at `now`: before the next
    /// event.
    pub(crate) fn queued(&mut self, link: LinkId, now: Time) -> Option<u64> {
        let from = self.fabric.topology.link(link)?.from;
        let index = self.fabric.links.index(link).filter(|_| self.is_here(from))?;
        Some(self.fabric.queued(index, now))
    }

    /// Answers of the neighbour come in by a link.
    pub(super) fn signal_arrives(&mut self, link: u32) {
        let Self { nodes, fabric, freed, .. } = self;
        let port = &fabric.links.ports[link as usize];
        let (node, in_port) = (&mut nodes[port.wire.to_node as usize], port.to_port);
        let Some(special) = &mut fabric.links.specials[link as usize] else { return };
        while let Some(&(arrives, signal)) = special.signals.front() {
            if arrives > fabric.now {
                fabric.events.push(Event::new(arrives, Kind::Signal, link));
                break;
            }
            special.signals.pop_front();
            freed.extend(node.signalled(in_port, signal));
        }
        if !freed.is_empty() {
            node.retry(fabric, |key| freed.contains(&key));
            freed.clear();
        }
    }
}
