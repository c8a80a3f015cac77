//! Flow control of links: memory that packets take of a node, pauses, and who waits for whom.

use super::Partition;
use crate::events::{Event, Kind};
use crate::port::{Departure, Served};
use crate::slab::{NOWHERE, Origin};
use raddle_core::{Bytes, Class, FlowControlAccount, LinkFlowControl, LinkId, Packet, PortId, Time};

impl Partition {
    fn served(&mut self, link: usize) -> Option<&mut Served> {
        self.specials[link].as_mut()?.served.as_mut()
    }

    fn flow_control(&mut self, link: usize) -> Option<&mut (dyn LinkFlowControl + 'static)> {
        self.served(link)?.flow_control.as_deref_mut()
    }

    /// A packet that came in by `arrival` takes memory of the node: in a queue or, if it is on its way out already, until
    /// it `leaves`.
    #[inline]
    pub(super) fn occupy(
        &mut self,
        node: u32,
        arrival: PortId,
        class: Class,
        size: u32,
        leaves: Option<Time>,
    ) {
        let (now, link) = (self.now, self.local_link(node, arrival));
        loop {
            let Some(served) = self.served(link) else { return };
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

    /// A packet that came in by `arrival` begins to leave the node.
    #[inline]
    pub(super) fn departs(&mut self, node: u32, arrival: PortId, departure: Departure) {
        let link = self.local_link(node, arrival);
        let Some(served) = self.served(link) else { return };
        if served.flow_control.is_none() {
            return;
        }
        served.departures.push(departure);
        if served.holds_back {
            self.set_flow_control_wake(link);
        }
    }

    /// A packet has come in by `arrival` for the node's host, which takes it out of the node's memory at a rate of its own.
    pub(super) fn drain(&mut self, node: u32, arrival: PortId, class: Class, size: u32) {
        let (now, link) = (self.now, self.local_link(node, arrival));
        let Some(rate) = self.flow_control(link).and_then(|control| control.drain_rate()) else { return };
        let Some(served) = self.served(link) else { return };
        served.drained_at = served.drained_at.max(now) + rate.time_for(Bytes(size.into()));
        let leaves = served.drained_at;
        self.occupy(node, arrival, class, size, Some(leaves));
    }

    /// Gives back the memory of what came in by a link and has left by now.
    #[inline]
    fn settle_departures(&mut self, node: u32, link: usize) {
        let now = self.now;
        while let Some(packet) = self.served(link).and_then(|served| served.settle_departures(now)) {
            self.tell(node, link, packet);
        }
    }

    /// A packet that waited for a served port is lost there.
    pub(super) fn release(&mut self, node: u32, link: usize, class: Class, size: u32, origin: Origin) {
        let now = self.now;
        if let Some(agent) = self.served(link).and_then(|served| served.agent.as_mut()) {
            agent.left(now, class, size);
        }
        let Some(arrival) = origin.port.filter(|_| self.controls) else { return };
        let link = self.local_link(node, arrival);
        let told = self.flow_control(link).and_then(|control| control.leave(now, class, size));
        if let Some(packet) = told {
            self.tell(node, link, packet);
        }
    }

    /// Sends the neighbour at the other end of a link what flow control has to say.
    #[cold]
    fn tell(&mut self, node: u32, link: usize, packet: Packet) {
        debug_assert_eq!(packet.class(), Class::CONTROL, "what flow control says is never held back");
        if let Some(served) = self.served(link) {
            served.holds_back = served.flow_control.as_ref().is_some_and(|control| control.holds_back());
        }
        if self.ports[link].up {
            let port = PortId::of(link - self.nodes[node as usize].first_link as usize);
            self.send(node, packet, Some(port));
        }
        self.set_flow_control_wake(link);
    }

    /// Shows a packet to flow control of the port by which it came in. Returns whether it was for it, and is gone.
    pub(super) fn heed(&mut self, node: u32, reverse: u32, slot: u32) -> bool {
        let (now, link) = (self.now, reverse as usize);
        let Some(served) = self.specials[link].as_mut().and_then(|special| special.served.as_mut()) else {
            return false;
        };
        let Some(control) = &mut served.flow_control else { return false };
        if !control.heed(now, self.slab.get(slot)) {
            return false;
        }
        self.totals.delivered += 1;
        self.slab.remove(slot);
        self.pauses_changed(node, link);
        true
    }

    /// Serves a port again if more may leave by it than before.
    fn pauses_changed(&mut self, node: u32, link: usize) {
        let Some(control) = self.flow_control(link) else { return };
        let (paused, before) = (control.paused(), self.states[link].paused);
        self.states[link].paused = paused;
        self.set_flow_control_wake(link);
        if before.0 & !paused.0 != 0 {
            self.expect_departures(link);
            self.serve_next(node, link);
            self.poll(node);
        }
    }

    /// A pause has put off when all that waits at a port will have left.
    fn expect_departures(&mut self, link: usize) {
        let now = self.now;
        let Some(served) = self.served(link) else { return };
        let begin = served.free_at.max(now);
        let waiting = u32::try_from(served.waiting).unwrap_or(u32::MAX);
        let port = &mut self.ports[link];
        port.free_at = port.free_at.max(begin + self.classes[port.class as usize].serialisation(waiting));
        self.states[link].free_at = port.free_at;
    }

    fn set_flow_control_wake(&mut self, link: usize) {
        let Some(served) = self.served(link) else { return };
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

    pub(super) fn flow_control_wakes(&mut self, link: u32) {
        let (now, index, node) = (self.now, link as usize, self.owner(link));
        if self.served(index).is_none_or(|served| served.wake != now) {
            return;
        }
        self.settle_departures(node, index);
        while let Some(control) = self.flow_control(index)
            && control.wake() <= now
        {
            if let Some(packet) = control.fire(now) {
                self.tell(node, index, packet);
            }
        }
        self.pauses_changed(node, index);
    }

    /// A link has come up again.
    pub(super) fn restart_flow_control(&mut self, link: usize) {
        let (now, node) = (self.now, self.owner(link as u32));
        let Some(control) = self.flow_control(link) else { return };
        if let Some(packet) = control.restart(now) {
            self.tell(node, link, packet);
        }
        self.pauses_changed(node, link);
    }

    /// What flow control of each link here has counted up to `now`.
    pub(crate) fn flow_control_accounts(
        &self,
        now: Time,
    ) -> impl Iterator<Item = (LinkId, FlowControlAccount)> {
        let account = move |(link, special): (&LinkId, &Option<Box<crate::port::Special>>)| {
            let control = special.as_ref()?.served.as_ref()?.flow_control.as_ref()?;
            Some((*link, control.account(now)))
        };
        self.links.iter().zip(&self.specials).filter_map(account)
    }

    /// Ports here at which something waits that is paused, with the data packets that have left each so far.
    pub(crate) fn held_ports(&self) -> impl Iterator<Item = (LinkId, u64)> {
        let is_held = |&link: &usize| {
            let served = self.specials[link].as_ref().and_then(|special| special.served.as_ref());
            self.states[link].paused.0 != 0 && served.is_some_and(|served| served.waiting > 0)
        };
        let links = (0..self.links.len()).filter(is_held);
        links.map(|link| (self.links[link], self.ports[link].stats.data_packets))
    }

    /// Which links, whose packets wait at nodes here, wait for which: a packet that came by the first waits for the second.
    pub(crate) fn waits(&self) -> Vec<(LinkId, LinkId)> {
        let mut waiting: Vec<bool> = Vec::new();
        for slot in self.slab.all() {
            waiting.resize(waiting.len().max(slot as usize + 1), false);
            waiting[slot as usize] = true;
        }
        // Of what is on its way to another partition this one has a copy at most.
        let on_the_way = self.ports.iter().filter(|port| self.keeps_copies || !port.is_remote);
        for packet in on_the_way.flat_map(|port| port.wire.all()) {
            if let Some(waiting) = waiting.get_mut(packet.slot as usize) {
                *waiting = false;
            }
        }
        let mut waits = Vec::new();
        for slot in (0..waiting.len()).filter(|&slot| waiting[slot]) {
            let origin = self.slab.origin(u32::try_from(slot).expect("slots fit 32 bits"));
            let Some(arrival) = origin.port.filter(|_| origin.bound != NOWHERE) else { continue };
            let node = self.owner(origin.bound);
            let arrived_by = self.topology.reverse(self.links[self.local_link(node, arrival)]);
            waits.push((arrived_by, self.links[origin.bound as usize]));
        }
        waits.sort_unstable();
        waits.dedup();
        waits
    }
}
