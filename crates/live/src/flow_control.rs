//! Flow control of links, in both runtimes: the memory of a node that packets occupy, and pauses.

use crate::served::{Carry, SERVED, Serve, Served};
use raddle_core::LinkId;
use raddle_core::{Bytes, Class, FlowControlAccount, LinkFlowControl, Node, Packet, PortId, Time};

/// Flow control of a link, at the port behind it.
pub(crate) struct Control {
    part: Box<dyn LinkFlowControl>,
    /// True while it holds the neighbour back.
    holds_back: bool,
    /// Packets that came in by the port and take of the node's memory until a time that is known.
    departures: Vec<Departure>,
    /// The time of its next wake-up, for itself or for a departure; events for other times are stale.
    wake: Time,
    /// When the host will have taken all that has come in for it.
    drained_at: Time,
}

/// A packet that takes memory until a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    pub(crate) class: Class,
    pub(crate) size: u32,
}

impl Control {
    pub(crate) fn new(part: Box<dyn LinkFlowControl>) -> Self {
        Self { part, holds_back: false, departures: Vec::new(), wake: Time::NEVER, drained_at: Time::ZERO }
    }

    /// Its counters up to `now`.
    pub(crate) fn account(&self, now: Time) -> FlowControlAccount {
        self.part.account(now)
    }

    /// Gives back the memory of what has left by now, until it has something to say.
    fn settle(&mut self, now: Time) -> Option<Packet> {
        let mut place = 0;
        while let Some(&Departure { at, class, size }) = self.departures.get(place) {
            if at > now {
                place += 1;
                continue;
            }
            self.departures.swap_remove(place);
            if let told @ Some(_) = self.part.leave(at, class, size) {
                return told;
            }
        }
        None
    }

    /// When it wants to be asked.
    fn next_wake(&self) -> Time {
        let departures = self.departures.iter().map(|departure| departure.at).filter(|_| self.holds_back);
        departures.fold(self.part.wake(), Time::min)
    }
}

/// A runtime whose links may have flow control.
pub(crate) trait ControlLinks: Serve {
    /// Flow control of the link behind a port, if it has any.
    fn control(&mut self, link: LinkId) -> Option<&mut Control> {
        self.served(link)?.0.control.as_mut()
    }

    /// A packet that came in by `arrival` takes memory of the node: in a queue or, if that is known, until it `leaves`.
    fn occupy(
        &mut self,
        node: &mut Node<Self>,
        arrival: Option<PortId>,
        class: Class,
        size: u32,
        leaves: Option<Time>,
    ) {
        let Some(arrival) = arrival else { return };
        let (now, link) = (self.now(), self.link_behind(node.place(), arrival));
        self.settle_departures(node, link);
        let Some(control) = self.control(link) else { return };
        let told = control.part.enter(now, class, size);
        control.departures.extend(leaves.map(|at| Departure { at, class, size }));
        self.tell(node, link, told);
    }

    /// A packet that came in by `arrival` begins to leave the node.
    fn departs(&mut self, node: &Node<Self>, arrival: Option<PortId>, departure: Departure) {
        let Some(arrival) = arrival else { return };
        let link = self.link_behind(node.place(), arrival);
        let Some(control) = self.control(link) else { return };
        control.departures.push(departure);
        self.expect_control(link);
    }

    /// A packet that waited at a port is lost there, or leaves it otherwise than by its link.
    fn vacate(&mut self, node: &mut Node<Self>, arrival: Option<PortId>, class: Class, size: u32) {
        let Some(arrival) = arrival else { return };
        let (now, link) = (self.now(), self.link_behind(node.place(), arrival));
        let Some(control) = self.control(link) else { return };
        let told = control.part.leave(now, class, size);
        self.tell(node, link, told);
    }

    /// A packet has come in by `arrival` for the node's host, which takes it out of the node's memory at a rate of its own.
    fn drain(&mut self, node: &mut Node<Self>, arrival: PortId, packet: &Packet) {
        let (now, link) = (self.now(), self.link_behind(node.place(), arrival));
        let Some(control) = self.control(link) else { return };
        let Some(rate) = control.part.drain_rate() else { return };
        control.drained_at = control.drained_at.max(now) + rate.time_for(Bytes(packet.size.into()));
        let leaves = control.drained_at;
        self.occupy(node, Some(arrival), packet.class(), packet.size, Some(leaves));
    }

    /// Gives back the memory of what came in by a link and has left by now.
    fn settle_departures(&mut self, node: &mut Node<Self>, link: LinkId) {
        let now = self.now();
        while let Some(told) = self.control(link).and_then(|control| control.settle(now)) {
            self.tell(node, link, Some(told));
        }
    }

    /// Sends the neighbour what flow control has to say, if it has, and asks when it wants to be asked.
    fn tell(&mut self, node: &mut Node<Self>, link: LinkId, told: Option<Packet>) {
        if let Some(control) = self.control(link) {
            control.holds_back = control.part.holds_back();
        }
        let port = self.port_of(link);
        if let Some(packet) = told
            && self.ports(node.place()).get(port).up
        {
            debug_assert_eq!(packet.class(), Class::CONTROL, "what flow control says is never held back");
            node.send(self, packet, Some(port));
        }
        self.expect_control(link);
    }

    /// Shows a packet that has come in by a port to flow control. Returns whether it was for that, and ends here.
    fn heed(&mut self, node: &mut Node<Self>, port: PortId, packet: &Packet) -> bool {
        let (now, link) = (self.now(), self.link_behind(node.place(), port));
        let Some(control) = self.control(link).filter(|_| packet.class() == Class::CONTROL) else {
            return false;
        };
        if !control.part.heed(now, packet) {
            return false;
        }
        self.pauses_changed(node, link);
        true
    }

    /// Serves a port again if more may leave by it than before.
    fn pauses_changed(&mut self, node: &mut Node<Self>, link: LinkId) {
        let Some(control) = self.control(link) else { return };
        let paused = control.part.paused();
        let (_, state) = self.served(link).expect(SERVED);
        let before = std::mem::replace(&mut state.paused, paused);
        self.expect_control(link);
        if before.0 & !paused.0 != 0 {
            self.expect_departures(link);
            self.serve(node, link);
            node.poll(self);
        }
    }

    /// A pause has put off when all that waits at a port will have left.
    fn expect_departures(&mut self, link: LinkId) {
        let now = self.now();
        let waiting = self.served(link).map_or(0, |(served, _)| served.bytes().0);
        let time = self.time_for(link, u32::try_from(waiting).unwrap_or(u32::MAX));
        let (served, state) = self.served(link).expect(SERVED);
        state.set_drains_at(state.free_at(now).max(served.sent().max(now) + time));
    }

    /// Asks flow control when it wants to be asked.
    fn expect_control(&mut self, link: LinkId) {
        let Some(control) = self.control(link) else { return };
        let wake = control.next_wake();
        if wake != control.wake {
            control.wake = wake;
            if wake < Time::NEVER {
                self.control_wakes_at(wake, link);
            }
        }
    }

    /// The time `at` has come, at which flow control of a link may want to be asked.
    fn control_wakes(&mut self, node: &mut Node<Self>, link: LinkId, at: Time) {
        let now = self.now();
        if self.control(link).is_none_or(|control| control.wake != at) {
            return;
        }
        self.settle_departures(node, link);
        while let Some(control) = self.control(link)
            && control.part.wake() <= now
        {
            let told = control.part.fire(now);
            self.tell(node, link, told);
        }
        self.pauses_changed(node, link);
    }

    /// A link has come up again, whose port this is.
    fn restart_control(&mut self, node: &mut Node<Self>, link: LinkId) {
        let now = self.now();
        let Some(control) = self.control(link) else { return };
        let told = control.part.restart(now);
        self.tell(node, link, told);
        self.pauses_changed(node, link);
    }
}

impl<R: Serve> ControlLinks for R {}

impl<S: Carry> Served<S> {
    /// The flow control account of the link up to `now`, if the link has flow control.
    pub(crate) fn flow_control(&self, now: Time) -> Option<FlowControlAccount> {
        self.control.as_ref().map(|control| control.account(now))
    }
}
