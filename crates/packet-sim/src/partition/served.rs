//! Served ports. Such a port does not know a packet's departure time when the packet is queued. So the end of a
//! transmission may be a separate event. This module also handles credits between neighbours.

#![allow(clippy::cast_possible_truncation, reason = "link indices fit `u32`")]

use super::Partition;
use super::fabric::Fabric;
use crate::events::{Event, EventQueue, Kind};
use crate::mail::Content;
use crate::port::{Departure, InService, Served};
use crate::slab::Origin;
use raddle_core::{Admit, Bytes, Credit, DropReason, Duration, LinkId, Node, PortId, Time};

/// Minimum delay of a credit, so that no credit arrives at the instant at which it was sent.
const LEAST_CREDIT_DELAY: Duration = Duration::from_ps(1);

impl Fabric {
    /// Passes a packet that has arrived by a port to the agent of that port.
    pub(super) fn meet_agent(&mut self, link: usize, slot: u32) {
        if let Some(special) = &mut self.links.specials[link]
            && let Some(served) = &mut special.served
            && let Some(agent) = &mut served.agent
        {
            agent.arrive(self.now, self.slab.get_mut(slot), &self.links.states[link]);
        }
    }

    /// Queues a packet at a served port that is up. Returns true if the host must be polled, because a packet was
    /// dropped or the host received a packet that the agent sent.
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
            unreachable!("the caller must check that the port has `Served` state")
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
        let mut notice = None;
        if let Some(agent) = &mut served.agent {
            notice = agent.enqueue(now, packet, &self.links.states[link]);
            if served.tick == Time::NEVER {
                expect_tick(served, link, &mut self.events);
            }
        }
        let mut due = false;
        match served.queue.push(now, slot, packet) {
            Admit::Take => {
                let port = &mut self.links.ports[link];
                let time = self.links.classes[port.class as usize].serialisation_of(packet, size);
                let waiting = served.joined(now, size, time, port, &mut self.links.states[link]);
                self.slab.set_origin(slot, origin);
                self.count_waiting(link, waiting);
                if let Some(arrival) = arrival.filter(|_| self.controls) {
                    self.occupy(node, arrival, class, size, None);
                }
                self.serve_next(node, link);
            }
            Admit::Drop => {
                if let Some(agent) = &mut served.agent {
                    agent.left(now, class, size);
                }
                due = node.lose(self, slot, arrival, Some(node.place().port(link)), DropReason::QueueFull);
            }
            verdict @ (Admit::Evict(_) | Admit::Trim(_)) => {
                due = self.make_room(node, link, slot, origin, verdict);
                self.serve_next(node, link);
            }
        }
        if let Some(packet) = notice {
            due |= node.send(self, packet, None);
        }
        due
    }

    /// Asks the queue repeatedly which packet to drop or trim, until the queue takes the arriving packet or the packet
    /// is lost. Returns true if the host must be polled, because a packet was lost or the host received a packet that
    /// the agent sent.
    #[cold]
    fn make_room(
        &mut self,
        node: &mut Node<Self>,
        link: usize,
        slot: u32,
        origin: Origin,
        mut verdict: Admit,
    ) -> bool {
        let out = Some(node.place().port(link));
        let mut due = false;
        loop {
            match verdict {
                Admit::Take => {
                    self.has_joined(node, link, slot, origin);
                    return due;
                }
                Admit::Drop => {
                    self.agent_forgets(link, slot);
                    return due | node.lose(self, slot, origin.port, out, DropReason::QueueFull);
                }
                Admit::Evict(other) => {
                    let came_by = self.give_up(node, link, other);
                    due |= node.lose(self, other, came_by, out, DropReason::QueueFull);
                }
                Admit::Trim(own) if own == slot => {
                    self.agent_forgets(link, slot);
                    if !node.trim(self, &mut { slot }) {
                        return due | node.lose(self, slot, origin.port, out, DropReason::QueueFull);
                    }
                    due |= self.meet_agent_again(node, link, slot);
                }
                Admit::Trim(other) => {
                    let came_by = self.give_up(node, link, other);
                    if node.trim(self, &mut { other }) {
                        due |= self.meet_agent_again(node, link, other);
                        let verdict = self.ask_queue(link, other);
                        let origin = Origin { port: came_by, bound: link as u32 };
                        due |= self.make_room(node, link, other, origin, verdict);
                    } else {
                        due |= node.lose(self, other, came_by, out, DropReason::QueueFull);
                    }
                }
            }
            verdict = self.ask_queue(link, slot);
        }
    }

    /// Asks the queue of a served port to admit a packet.
    fn ask_queue(&mut self, link: usize, slot: u32) -> Admit {
        let now = self.now;
        let served = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut());
        let served = served.expect("the port must have `Served` state");
        served.queue.push(now, slot, self.slab.get(slot))
    }

    /// Records that the queue of a served port has accepted a packet.
    fn has_joined(&mut self, node: &mut Node<Self>, link: usize, slot: u32, origin: Origin) {
        let packet = self.slab.get(slot);
        let (class, size) = (packet.class(), packet.size);
        let port = &mut self.links.ports[link];
        let time = self.links.classes[port.class as usize].serialisation_of(packet, size);
        let served = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut());
        let served = served.expect("the port must have `Served` state");
        let waiting = served.joined(self.now, size, time, port, &mut self.links.states[link]);
        self.slab.set_origin(slot, origin);
        self.count_waiting(link, waiting);
        if let Some(arrival) = origin.port.filter(|_| self.controls) {
            self.occupy(node, arrival, class, size, None);
        }
    }

    /// Records that the queue of a served port has removed a packet without sending it. Returns the packet's ingress
    /// port.
    fn give_up(&mut self, node: &mut Node<Self>, link: usize, slot: u32) -> Option<PortId> {
        let packet = self.slab.get(slot);
        let (class, size) = (packet.class(), packet.size);
        let arrival = self.slab.origin(slot).port;
        let port = &mut self.links.ports[link];
        let time = self.links.classes[port.class as usize].serialisation_of(packet, size);
        let served = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut());
        let served = served.expect("the port must have `Served` state");
        served.given_up(size, time, port, &mut self.links.states[link]);
        self.release(node, link, class, size, arrival);
        arrival
    }

    /// Tells the agent that the queue has not accepted a packet with its present size. The agent has received this
    /// packet in `enqueue`.
    fn agent_forgets(&mut self, link: usize, slot: u32) {
        let (now, packet) = (self.now, self.slab.get(slot));
        let (class, size) = (packet.class(), packet.size);
        if let Some(agent) = self.links.served(link).and_then(|served| served.agent.as_mut()) {
            agent.left(now, class, size);
        }
    }

    /// Passes a trimmed packet, which joins the queue as a new packet, to the agent of a served port. Returns true if
    /// the host must be polled, because it received a packet that the agent sent, or because that packet was lost.
    fn meet_agent_again(&mut self, node: &mut Node<Self>, link: usize, slot: u32) -> bool {
        let served = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut());
        let agent = served.and_then(|served| served.agent.as_mut());
        let state = &self.links.states[link];
        let notice = agent.and_then(|agent| agent.enqueue(self.now, self.slab.get_mut(slot), state));
        notice.is_some_and(|notice| node.send(self, notice, None))
    }

    /// Records the queue length of a port, the packet in service included.
    #[inline]
    fn count_waiting(&mut self, link: usize, bytes: u64) {
        let stats = &mut self.links.ports[link].stats;
        stats.peak_queue = stats.peak_queue.max(bytes);
        if let Some(depths) = self.links.depths.get_mut(link) {
            depths.count(bytes);
        }
    }

    /// Begins the next transmission of a served port, if the port is idle and a packet waits whose class is not paused.
    /// If the port is busy and a packet waits, schedules the end of the present transmission as an event.
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

    /// Begins to send a packet by a served port. Returns the time at which the packet's last bit leaves.
    #[inline]
    fn serve(&mut self, node: &Node<Self>, link: usize, slot: u32, arrival: Option<PortId>) -> Time {
        let packet = self.slab.get(slot);
        let (class, size) = (packet.class(), packet.size);
        // If the node is told of the departure, the port keeps a copy of the packet. Under cut-through the packet
        // itself may begin to leave the next node before it has left this port.
        let heard_of = arrival.is_none() || node.hears_of_departures();
        let copy = heard_of.then(|| packet.clone());
        self.settle_served(link);
        let sent = self.launch(link, slot, self.now);
        if let Some(served) = self.links.specials[link].as_mut().and_then(|special| special.served.as_mut()) {
            let serving = heard_of || served.agent.is_some();
            debug_assert!(
                !served.is_heard,
                "the record of the previous packet must be removed before the next packet is sent"
            );
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

    /// Removes the records of packets that have left a served port whose link leads to another partition. Other served
    /// ports have no such records.
    fn settle_served(&mut self, link: usize) {
        let port = &self.links.ports[link];
        if port.has_ledger {
            self.settle_ledger(link, self.now);
        } else if port.is_remote {
            self.settle_remote(link, self.now);
        }
    }

    /// Bytes that wait or are in service at a port at `now`. `now` must be before the next event.
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

    /// The index in this partition of the node at which a link starts.
    pub(super) fn owner(&self, link: u32) -> usize {
        self.links.ports[self.links.ports[link as usize].reverse as usize].wire.to_node as usize
    }

    /// Sends a credit to the forwarder of a neighbour, unless the link is down.
    pub(super) fn send_credit(&mut self, link: usize, credit: Credit) {
        let port = &self.links.ports[link];
        if !port.up {
            return;
        }
        let delay = self.links.classes[port.class as usize].delay.max(LEAST_CREDIT_DELAY);
        let arrives = self.now + delay;
        if port.is_remote {
            self.post(link, arrives, Content::Credit(credit));
        } else {
            self.credit_travels(link, arrives, credit);
        }
    }

    /// Puts a credit on a link whose far end is in this partition.
    pub(super) fn credit_travels(&mut self, link: usize, arrives: Time, credit: Credit) {
        let credits = &mut self.links.specials[link].get_or_insert_default().credits;
        credits.push_back((arrives, credit));
        if credits.len() == 1 {
            let index = u32::try_from(link).expect("a link index must fit `u32`");
            self.events.push(Event::new(arrives, Kind::Credit, index));
        }
    }
}

/// Asks the agent of a served port for the time of its next tick, and schedules that tick.
#[cold]
fn expect_tick(served: &mut Served, link: usize, events: &mut EventQueue) {
    served.tick = served.agent.as_ref().map_or(Time::NEVER, |agent| agent.next_tick());
    if served.tick < Time::NEVER {
        events.push(Event::new(served.tick, Kind::PortTick, link as u32));
    }
}

impl Partition {
    /// Processes a tick of a served port's agent.
    pub(super) fn port_ticks(&mut self, link: u32) {
        let Fabric { now, links, events, .. } = &mut self.fabric;
        let (now, index) = (*now, link as usize);
        let Some(served) = links.specials[index].as_mut().and_then(|special| special.served.as_mut()) else {
            return;
        };
        let Some(agent) = &mut served.agent else { return };
        debug_assert_eq!(served.tick, now, "an agent must have at most one scheduled tick");
        agent.tick(now, &links.states[index]);
        debug_assert!(agent.next_tick() > now, "the next tick must be in the future");
        expect_tick(served, index, events);
    }

    /// Ends the transmission of a served port.
    pub(super) fn transmission_ends(&mut self, link: u32) {
        let Self { nodes, fabric, .. } = self;
        let (now, index) = (fabric.now, link as usize);
        let served = fabric.links.specials[index].as_mut().and_then(|special| special.served.as_mut());
        // If the time differs, the link has failed since the event was scheduled.
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

    /// Bytes that wait or are in service at a link's egress port at `now`; `None` if the port is in another partition.
    /// `now` must be before the next event.
    pub(crate) fn queued(&mut self, link: LinkId, now: Time) -> Option<u64> {
        let from = self.fabric.topology.link(link)?.from;
        let index = self.fabric.links.index(link).filter(|_| self.is_here(from))?;
        Some(self.fabric.queued(index, now))
    }

    /// Processes the neighbour's credits that have arrived over a link.
    pub(super) fn credits_arrive(&mut self, link: u32) {
        let Self { nodes, fabric, freed, .. } = self;
        let port = &fabric.links.ports[link as usize];
        let (node, in_port) = (&mut nodes[port.wire.to_node as usize], port.to_port);
        let now = fabric.now;
        while let Some(special) = &mut fabric.links.specials[link as usize]
            && let Some(&(arrives, credit)) = special.credits.front()
        {
            if arrives > now {
                fabric.events.push(Event::new(arrives, Kind::Credit, link));
                break;
            }
            special.credits.pop_front();
            let read = match &mut special.noise {
                None => Some(credit),
                Some(noise) => noise.credit(now, credit),
            };
            if let Some(credit) = read {
                node.credited(fabric, in_port, &credit, freed);
            }
        }
        if !freed.is_empty() {
            node.retry(fabric, |key| freed.contains(&key));
            freed.clear();
        }
    }
}
