//! Flow control of links: charges packets to the memory of nodes, pauses ports, and lists which links wait for which
//! other links.

use super::Partition;
use super::fabric::Fabric;
use crate::events::{Event, Kind};
use crate::port::Departure;
use crate::slab::NOWHERE;
use raddle_core::{Bytes, Class, FlowControlAccount, LinkId, Node, Packet, PortId, Time};

impl Fabric {
    /// If the port `arrival` has flow control, charges a packet that arrived by this port to the node's memory. If
    /// `leaves` is given, the packet occupies the memory until that time. Otherwise the packet occupies the memory
    /// until the time that [`departs`](Self::departs) records, or until [`release`](Self::release) frees the memory.
    #[inline]
    pub(super) fn occupy(
        &mut self,
        node: &mut Node<Self>,
        arrival: PortId,
        class: Class,
        size: u32,
        leaves: Option<Time>,
    ) {
        let (now, link) = (self.now, node.place().link(arrival));
        loop {
            let Some(served) = self.links.served(link) else { return };
            if let Some(packet) = served.settle_departures(now) {
                self.tell(node, link, packet);
                continue;
            }
            let Some(control) = &mut served.flow_control else { return };
            let told = control.enter(now, class, size);
            if let Some(at) = leaves {
                served.departures.push(Departure { at, size, class });
            }
            if let Some(packet) = told {
                self.tell(node, link, packet);
            } else if served.holds_back && leaves.is_some() {
                self.set_flow_control_wake(link);
            }
            return;
        }
    }

    /// Records that a packet that arrived by `arrival` begins to leave the node.
    #[inline]
    pub(super) fn departs(&mut self, node: &Node<Self>, arrival: PortId, departure: Departure) {
        let link = node.place().link(arrival);
        let Some(served) = self.links.served(link) else { return };
        if served.flow_control.is_none() {
            return;
        }
        served.departures.push(departure);
        if served.holds_back {
            self.set_flow_control_wake(link);
        }
    }

    /// Charges a packet for the node's host to the node's memory, if flow control of the packet's ingress port
    /// `arrival` has a drain rate. The host frees the memory at this rate.
    pub(super) fn drain(&mut self, node: &mut Node<Self>, arrival: PortId, class: Class, size: u32) {
        let (now, link) = (self.now, node.place().link(arrival));
        let Some(rate) = self.links.flow_control(link).and_then(|control| control.drain_rate()) else {
            return;
        };
        let Some(served) = self.links.served(link) else { return };
        served.drained_at = served.drained_at.max(now) + rate.time_for(Bytes(size.into()));
        let leaves = served.drained_at;
        self.occupy(node, arrival, class, size, Some(leaves));
    }

    /// Frees the memory of packets that arrived by the port at `link` and have left the node by now.
    #[inline]
    fn settle_departures(&mut self, node: &mut Node<Self>, link: usize) {
        let now = self.now;
        while let Some(packet) = self.links.served(link).and_then(|served| served.settle_departures(now)) {
            self.tell(node, link, packet);
        }
    }

    /// Handles a packet that leaves the queue of the port at `link` without being sent. Informs the port's agent, and
    /// frees the node's memory that the packet occupied. `arrival` is the port by which the packet arrived.
    pub(super) fn release(
        &mut self,
        node: &mut Node<Self>,
        link: usize,
        class: Class,
        size: u32,
        arrival: Option<PortId>,
    ) {
        let now = self.now;
        if let Some(agent) = self.links.served(link).and_then(|served| served.agent.as_mut()) {
            agent.left(now, class, size);
        }
        let Some(arrival) = arrival.filter(|_| self.controls) else { return };
        let link = node.place().link(arrival);
        let told = self.links.flow_control(link).and_then(|control| control.leave(now, class, size));
        if let Some(packet) = told {
            self.tell(node, link, packet);
        }
    }

    /// Sends a frame of flow control to the neighbour at the other end of a link. If the link is down, the frame is
    /// discarded.
    #[cold]
    fn tell(&mut self, node: &mut Node<Self>, link: usize, packet: Packet) {
        debug_assert_eq!(
            packet.class(),
            Class::CONTROL,
            "a flow control frame must have the class that is never paused"
        );
        if let Some(served) = self.links.served(link) {
            served.holds_back = served.flow_control.as_ref().is_some_and(|control| control.holds_back());
        }
        if self.links.ports[link].up {
            node.send(self, packet, Some(node.place().port(link)));
        }
        self.set_flow_control_wake(link);
    }

    /// Passes a packet to the flow control of its ingress port. Returns true if flow control has consumed the packet.
    pub(super) fn heed(&mut self, node: &mut Node<Self>, reverse: u32, slot: u32) -> bool {
        let (now, link) = (self.now, reverse as usize);
        let Some(control) = self.links.flow_control(link) else { return false };
        if !control.heed(now, self.slab.get(slot)) {
            return false;
        }
        let packet = self.slab.remove(slot);
        self.totals.count_delivered(&packet);
        self.pauses_changed(node, link);
        true
    }

    /// Updates the paused classes in a port's state from the link's flow control. If some class is no longer paused,
    /// tries to send the port's next packet, and polls the node's host.
    fn pauses_changed(&mut self, node: &mut Node<Self>, link: usize) {
        let Some(control) = self.links.flow_control(link) else { return };
        let (paused, before) = (control.paused(), self.links.states[link].paused);
        self.links.states[link].paused = paused;
        self.set_flow_control_wake(link);
        if before.0 & !paused.0 != 0 {
            self.expect_departures(link);
            self.serve_next(node, link);
            node.poll(self);
        }
    }

    /// After a pause, recomputes the time at which a port will have sent all waiting packets.
    fn expect_departures(&mut self, link: usize) {
        let now = self.now;
        let Some(served) = self.links.served(link) else { return };
        let begin = served.free_at.max(now);
        let waiting = u32::try_from(served.waiting).unwrap_or(u32::MAX);
        let port = &mut self.links.ports[link];
        port.free_at =
            port.free_at.max(begin + self.links.classes[port.class as usize].serialisation(waiting));
        self.links.states[link].set_drains_at(port.free_at);
    }

    #[allow(clippy::cast_possible_truncation, reason = "link indices fit `u32`")]
    fn set_flow_control_wake(&mut self, link: usize) {
        let Some(served) = self.links.served(link) else { return };
        let Some(control) = &served.flow_control else { return };
        let mut wake = control.wake();
        if served.holds_back {
            wake = served.departures.iter().map(|departure| departure.at).fold(wake, Time::min);
        }
        if wake != served.wake {
            served.wake = wake;
            if wake < Time::NEVER {
                self.events.push(Event::new(wake, Kind::FlowControl, link as u32));
            }
        }
    }

    /// Processes a wake-up of flow control at a link's port.
    fn flow_control_wakes(&mut self, node: &mut Node<Self>, link: usize) {
        let now = self.now;
        if self.links.served(link).is_none_or(|served| served.wake != now) {
            return;
        }
        self.settle_departures(node, link);
        while let Some(control) = self.links.flow_control(link)
            && control.wake() <= now
        {
            if let Some(packet) = control.fire(now) {
                self.tell(node, link, packet);
            }
        }
        self.pauses_changed(node, link);
    }

    /// Restarts flow control of a link that is up again after a failure.
    pub(super) fn restart_flow_control(&mut self, node: &mut Node<Self>, link: usize) {
        let now = self.now;
        let Some(control) = self.links.flow_control(link) else { return };
        if let Some(packet) = control.restart(now) {
            self.tell(node, link, packet);
        }
        self.pauses_changed(node, link);
    }
}

impl Partition {
    /// Processes a wake-up of flow control at a link's port.
    pub(super) fn flow_control_wakes(&mut self, link: u32) {
        let owner = self.fabric.owner(link);
        self.fabric.flow_control_wakes(&mut self.nodes[owner], link as usize);
    }

    /// Counters of flow control for each link of this partition that has flow control, up to `now`.
    pub(crate) fn flow_control_accounts(
        &self,
        now: Time,
    ) -> impl Iterator<Item = (LinkId, FlowControlAccount)> {
        let account = move |(link, special): (&LinkId, &Option<Box<crate::port::Special>>)| {
            let control = special.as_ref()?.served.as_ref()?.flow_control.as_ref()?;
            Some((*link, control.account(now)))
        };
        self.fabric.links.ids.iter().zip(&self.fabric.links.specials).filter_map(account)
    }

    /// Ports of this partition that have a paused class and waiting packets. For each port, the number of data packets
    /// whose transmission has begun.
    pub(crate) fn held_ports(&self) -> impl Iterator<Item = (LinkId, u64)> {
        let links = &self.fabric.links;
        let is_held = |&link: &usize| {
            let served = links.specials[link].as_ref().and_then(|special| special.served.as_ref());
            links.states[link].paused.0 != 0 && served.is_some_and(|served| served.waiting > 0)
        };
        let held = (0..links.ids.len()).filter(is_held);
        held.map(|link| (links.ids[link], links.ports[link].stats.data_packets))
    }

    /// Pairs of links at nodes of this partition: a packet that arrived over the first link waits for the second link.
    pub(crate) fn waits(&self) -> Vec<(LinkId, LinkId)> {
        let Fabric { links, slab, outbox, topology, .. } = &self.fabric;
        let mut waiting: Vec<bool> = Vec::new();
        for slot in slab.all() {
            waiting.resize(waiting.len().max(slot as usize + 1), false);
            waiting[slot as usize] = true;
        }
        // The records of a link to another partition have slots of packets only if this partition keeps copies of the
        // packets on their way.
        let on_the_way = links.ports.iter().filter(|port| outbox.keeps_copies || !port.is_remote);
        let on_the_way = on_the_way.flat_map(|port| port.wire.all()).map(|packet| packet.slot);
        let remote = links.ports.iter().zip(&links.specials).filter(|(port, _)| port.is_remote);
        let leaving = remote.flat_map(|(_, special)| special).flat_map(|special| &special.ledger);
        let leaving = leaving.map(|packet| packet.slot);
        // A packet that a forwarder holds waits for no link.
        let held = self.nodes.iter().flat_map(Node::held).copied();
        for slot in on_the_way.chain(leaving).chain(held) {
            if let Some(waiting) = waiting.get_mut(slot as usize) {
                *waiting = false;
            }
        }
        let mut waits = Vec::new();
        for slot in (0..waiting.len()).filter(|&slot| waiting[slot]) {
            let origin = slab.origin(u32::try_from(slot).expect("a slot number must fit 32 bits"));
            let Some(arrival) = origin.port.filter(|_| origin.bound != NOWHERE) else { continue };
            let node = &self.nodes[self.fabric.owner(origin.bound)];
            let arrived_by = topology.reverse(links.ids[node.place().link(arrival)]);
            waits.push((arrived_by, links.ids[origin.bound as usize]));
        }
        waits.sort_unstable();
        waits.dedup();
        waits
    }
}
