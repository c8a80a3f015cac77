//! Flow control of links, in lockstep and in racks. Flow control counts the memory that packets occupy in a node, and
//! pauses the neighbour if they occupy too much.

use crate::served::{Carry, SERVED, Serve, Served};
use raddle_core::LinkId;
use raddle_core::{Bytes, Class, FlowControlAccount, LinkFlowControl, Node, Packet, PortId, Time};

/// Flow control at a port. It limits the memory that packets from the neighbour occupy, and applies the neighbour's
/// pauses to the link that leaves the port.
pub(crate) struct Control {
    part: Box<dyn LinkFlowControl>,
    /// True while flow control holds the neighbour back.
    holds_back: bool,
    /// Packets that arrived at the port and occupy memory of the node until a known time.
    departures: Vec<Departure>,
    /// Time of the next wake-up of flow control. Wake-ups that were scheduled for other times are ignored.
    wake: Time,
    /// For the packets that arrived at the port for the node's host: time at which the host will have freed all their
    /// memory.
    drained_at: Time,
}

/// A packet that occupies memory until the time `at`.
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

    /// The counters of flow control up to `now`.
    pub(crate) fn account(&self, now: Time) -> FlowControlAccount {
        self.part.account(now)
    }

    /// Frees the memory of the packets that have left by `now`, one packet after the other. As soon as flow control has
    /// a packet for the neighbour, stops and returns that packet. Returns `None` once all this memory is free.
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

    /// Time of the next wake-up of flow control: the time that flow control requests or, while it holds the neighbour
    /// back, the time of the next departure if this is earlier.
    fn next_wake(&self) -> Time {
        let departures = self.departures.iter().map(|departure| departure.at).filter(|_| self.holds_back);
        departures.fold(self.part.wake(), Time::min)
    }
}

/// A runtime whose links may have flow control.
pub(crate) trait ControlLinks: Serve {
    /// Flow control at the port from which a link leaves; `None` if the port has no flow control.
    fn control(&mut self, link: LinkId) -> Option<&mut Control> {
        self.served(link)?.0.control.as_mut()
    }

    /// Occupies memory of the node for a packet that arrived at the port `arrival`. `leaves` is the time at which the
    /// packet frees the memory, if this time is known already.
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

    /// Records that a packet that arrived at the port `arrival` begins to leave the node.
    fn departs(&mut self, node: &Node<Self>, arrival: Option<PortId>, departure: Departure) {
        let Some(arrival) = arrival else { return };
        let link = self.link_behind(node.place(), arrival);
        let Some(control) = self.control(link) else { return };
        control.departures.push(departure);
        self.expect_control(link);
    }

    /// Frees the memory of a packet that leaves a queue without being transmitted. The packet arrived at the port
    /// `arrival`.
    fn vacate(&mut self, node: &mut Node<Self>, arrival: Option<PortId>, class: Class, size: u32) {
        let Some(arrival) = arrival else { return };
        let (now, link) = (self.now(), self.link_behind(node.place(), arrival));
        let Some(control) = self.control(link) else { return };
        let told = control.part.leave(now, class, size);
        self.tell(node, link, told);
    }

    /// Occupies memory for a packet that arrived at the port `arrival` for the node's host. The host frees the memory
    /// at flow control's drain rate. Without a drain rate, such packets occupy no memory.
    fn drain(&mut self, node: &mut Node<Self>, arrival: PortId, packet: &Packet) {
        let (now, link) = (self.now(), self.link_behind(node.place(), arrival));
        let Some(control) = self.control(link) else { return };
        let Some(rate) = control.part.drain_rate() else { return };
        control.drained_at = control.drained_at.max(now) + rate.time_for(Bytes(packet.size.into()));
        let leaves = control.drained_at;
        self.occupy(node, Some(arrival), packet.class(), packet.size, Some(leaves));
    }

    /// Frees the memory of packets that arrived at the port of `link` and have left the node by now.
    fn settle_departures(&mut self, node: &mut Node<Self>, link: LinkId) {
        let now = self.now();
        while let Some(told) = self.control(link).and_then(|control| control.settle(now)) {
            self.tell(node, link, Some(told));
        }
    }

    /// Sends the flow control packet `told`, if any, to the neighbour, unless the port is down. Schedules the next
    /// wake-up of flow control.
    fn tell(&mut self, node: &mut Node<Self>, link: LinkId, told: Option<Packet>) {
        if let Some(control) = self.control(link) {
            control.holds_back = control.part.holds_back();
        }
        let port = self.port_of(link);
        if let Some(packet) = told
            && self.ports(node.place()).get(port).up
        {
            debug_assert_eq!(
                packet.class(),
                Class::CONTROL,
                "a flow control frame must have the class that is never paused"
            );
            node.send(self, packet, Some(port));
        }
        self.expect_control(link);
    }

    /// Passes an arrived packet to flow control if the packet has the control class. Returns true if the packet was for
    /// flow control. The node must then not handle the packet.
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

    /// Applies the neighbour's pauses to a port. If a class is no longer paused, tries to send the next packet.
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

    /// Updates the time at which all waiting packets of a port will have left, because a pause has delayed them.
    fn expect_departures(&mut self, link: LinkId) {
        let now = self.now();
        let waiting = self.served(link).map_or(0, |(served, _)| served.bytes().0);
        let time = self.time_for(link, u32::try_from(waiting).unwrap_or(u32::MAX));
        let (served, state) = self.served(link).expect(SERVED);
        state.set_drains_at(state.free_at(now).max(served.sent().max(now) + time));
    }

    /// Schedules the next wake-up of flow control.
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

    /// Handles a wake-up of a link's flow control that was scheduled for `at`.
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

    /// Restarts the flow control of a link that has come up again.
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
    /// The flow control account of the port up to `now`, if the port has flow control.
    pub(crate) fn flow_control(&self, now: Time) -> Option<FlowControlAccount> {
        self.control.as_ref().map(|control| control.account(now))
    }
}
