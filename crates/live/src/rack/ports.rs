//! Ports of a rack that have an agent or a queue of their own, and the credits that forwarders give their neighbours.
//!
//! The ring of such a port holds only packets whose transmission has begun. The other packets wait in the port's queue.
//! A waiting packet that arrived in a slot keeps this slot.
//!
//! A credit crosses a link through the link's ring, as a separate entry behind all packets in the ring. These are the
//! packet in transmission and, at a plain FIFO, also the packets that wait. The credit uses no bandwidth, but does not
//! arrive before the packets in front of it. In the packet engine, a credit may overtake these packets.

use super::events::Event;
use super::fabric::{Fabric, Inside, Place};
use super::failures::CREDIT;
use super::ring::Entry;
use super::{Rack, Worker};
use crate::fifo::{Fifo, Limits};
use crate::flow_control::{Control, ControlLinks};
use crate::served::{Carry, Queued, Serve, Served};
use raddle_core::{
    Credit, DropReason, Duration, Header, LinkFlowControl, LinkId, Node, Packet, PortAgent, PortId,
    PortState, Queue, Time,
};
use raddle_topology::{Link, Topology};

/// The [`Served`] state of a port; `None` for a plain FIFO.
pub(super) type MayServe = Option<Box<Served<Inside>>>;

/// The shortest delay of a credit. With this delay, a credit arrives later than the instant at which it was sent.
const LEAST_CREDIT_DELAY: Duration = Duration::from_ps(1);

impl Rack {
    /// Gives each port the agent, if any, that `agent` makes for the link that leaves the port. A port that has an
    /// agent but no queue [of its own](Self::with_queues) gets a FIFO with the limits that were set
    /// [before](Self::with_limits), but without their marking thresholds. The limits of this FIFO do not count the
    /// packet in service.
    #[must_use]
    pub fn with_agents(mut self, agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>) -> Self {
        self.serve(agent, |_, served, agent| served.set_agent(agent));
        for Worker { fabric, incoming, .. } in &mut self.workers {
            for incoming in incoming {
                let port = fabric.topology.reverse(incoming.link);
                if fabric.served.get(port.index()).is_some_and(has_agent) {
                    incoming.plain = None;
                }
            }
        }
        self
    }

    /// Sets the limits and the marking thresholds of the plain FIFOs of all ports. The limits of the rings also apply.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        if limits == Limits::default() {
            return self;
        }
        for Worker { fabric, .. } in &mut self.workers {
            let room = |port: &PortState| port.room(Time::ZERO);
            for port in &mut fabric.ports {
                let limited = limits.of_port(*port);
                *port = if room(&limited) < room(port) { limited } else { *port };
            }
            fabric.fifos = vec![Fifo::new(limits); fabric.ports.len()];
        }
        self
    }

    /// Gives each port the queue that `queue` makes for the link that leaves the port. A port keeps its plain FIFO if
    /// `queue` returns `None`.
    #[must_use]
    pub fn with_queues(mut self, queue: impl FnMut(LinkId) -> Option<Box<dyn Queue>>) -> Self {
        self.serve(queue, |port, served, queue| {
            *port = port.limited(queue.limit().unwrap_or(PortState::UNLIMITED));
            served.queue = queue;
        });
        self
    }

    /// Gives each port the flow control, if any, that `control` makes for the link that leaves the port. Flow control
    /// holds back the neighbour at the other end of that link.
    ///
    /// A port with flow control must have a queue [of its own](Self::with_queues) that obeys pauses. The
    /// runtime's own FIFOs ignore pauses.
    #[must_use]
    pub fn with_flow_control(
        mut self,
        control: impl FnMut(LinkId) -> Option<Box<dyn LinkFlowControl>>,
    ) -> Self {
        self.serve(control, |_, served, control| served.control = Some(Control::new(control)));
        for Worker { fabric, incoming, .. } in &mut self.workers {
            for incoming in incoming {
                let port = fabric.topology.reverse(incoming.link);
                if fabric.served.get(port.index()).is_some_and(has_control) {
                    incoming.plain = None;
                }
            }
        }
        self
    }

    /// For each port, calls `part` with the link that leaves the port. If `part` returns a value, calls `give`, which
    /// gives the value to the port.
    fn serve<T>(
        &mut self,
        mut part: impl FnMut(LinkId) -> Option<T>,
        give: impl Fn(&mut PortState, &mut Served<Inside>, T),
    ) {
        let mut parts: Vec<_> =
            (0..self.workers[0].fabric.out.len()).map(|link| part(LinkId::of(link))).collect();
        if parts.iter().all(Option::is_none) {
            return;
        }
        for Worker { fabric, incoming, .. } in &mut self.workers {
            for incoming in incoming {
                incoming.is_from_queue |= parts[incoming.link.index()].is_some();
            }
            fabric.served.resize_with(fabric.out.len(), || None);
        }
        for Worker { fabric, .. } in &mut self.workers {
            let limits = fabric.fifos.first().map_or(Limits::default(), |fifo| fifo.limits);
            for (link, served) in
                fabric.served.iter_mut().enumerate().filter(|&(link, _)| fabric.out[link].is_some())
            {
                if let Some(part) = parts[link].take() {
                    give(
                        &mut fabric.ports[link],
                        served.get_or_insert_with(|| Box::new(Served::within(limits))),
                        part,
                    );
                }
            }
        }
    }
}

fn has_agent(served: &MayServe) -> bool {
    served.as_ref().is_some_and(|served| served.agent.is_some())
}

fn has_control(served: &MayServe) -> bool {
    served.as_ref().is_some_and(|served| served.control.is_some())
}

impl Worker {
    /// Handles a wake-up of a link's flow control that was scheduled for `at`.
    pub(super) fn control_wakes(&mut self, link: LinkId, at: Time) {
        if let Some(&Link { from, .. }) = self.fabric.topology.link(link)
            && let Some(place) = self.place(from)
        {
            self.tell_time(from);
            self.fabric.control_wakes(&mut self.nodes[place], link, at);
        }
    }

    /// Restarts the flow control of a link that has come up again.
    pub(super) fn restart_control(&mut self, link: LinkId) {
        if self.fabric.ports[link.index()].up
            && let Some(&Link { from, .. }) = self.fabric.topology.link(link)
            && let Some(place) = self.place(from)
        {
            self.fabric.restart_control(&mut self.nodes[place], link);
        }
    }

    /// Handles the end of a port's transmission.
    pub(super) fn transmission_ends(&mut self, link: LinkId) {
        if let Some(&Link { from, .. }) = self.fabric.topology.link(link)
            && let Some(place) = self.place(from)
        {
            self.fabric.transmission_ends(&mut self.nodes[place], link);
        }
    }

    /// Drops the packets that had not left a port when its link failed at `at`.
    pub(super) fn cut_queue(&mut self, link: LinkId, at: Time) {
        let now = self.fabric.now;
        let Some((served, _)) = self.fabric.served(link) else { return };
        let (leaving, waiting) = served.cut(now, at);
        self.fabric.events.forget(Event::Sent(link.0));
        let Link { from, from_port, .. } =
            *self.fabric.topology.link(link).expect("the topology must have the link");
        let Some(place) = self.place(from) else { return };
        let node = &mut self.nodes[place];
        // For flow control, the memory of a waiting packet is freed now. The memory of the packet in transmission is
        // freed when that packet would have left.
        for Queued { slot, arrival } in &waiting {
            self.fabric.vacate(node, *arrival, slot.packet.class(), slot.packet.size);
        }
        for Queued { slot, arrival } in leaving.into_iter().chain(waiting) {
            node.lose(&mut self.fabric, slot, arrival, Some(from_port), DropReason::LinkDown);
        }
    }
}

impl Fabric {
    /// Shows the port's agent a packet that has arrived at the port.
    pub(super) fn meet_agent(&mut self, place: &Place, port: PortId, packet: &mut Packet) {
        let link = place.link(port);
        if let Some(Some(served)) = self.served.get_mut(link)
            && let Some(agent) = &mut served.agent
        {
            agent.arrive(self.now, packet, &self.ports[link]);
        }
    }

    /// Number of packets that wait at ports with an agent or a queue of their own.
    pub(super) fn waiting(&self) -> usize {
        self.served.iter().flatten().map(|served| served.waiting()).sum()
    }

    /// Sends a credit to the neighbour at a port. The credit is lost if the link is down, if no slot is free, or if the
    /// ring is full.
    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    pub(super) fn send_credit(&mut self, place: &Place, port: PortId, credit: Credit) {
        let link = place.link(port);
        if !self.ports.get(link).is_some_and(|port| port.up) {
            return;
        }
        let begins = match self.served.get(link) {
            Some(Some(served)) => served.sent().max(self.now),
            _ => self.ports[link].free_at(self.now).max(self.now),
        };
        let Some(slot) = self.take_slot() else { return };
        self.slots.write(slot, &credit.encode());
        let put = self.out[link].as_mut().and_then(|outgoing| {
            let due = begins + outgoing.delay.max(LEAST_CREDIT_DELAY);
            let tag = outgoing.tag | CREDIT;
            let entry = Entry { due: due.as_ps(), slot, len: Credit::LEN as u32, tag };
            outgoing.ring.push(entry).ok().filter(|&is_put| is_put)?;
            Some((due, outgoing.incoming))
        });
        let Some((due, incoming)) = put else { return self.free(slot) };
        self.put += 1;
        if let Some(incoming) = incoming {
            self.expect(incoming, due);
        }
    }

    /// Handles a credit that has arrived from the neighbour at a port.
    #[cold]
    pub(super) fn credit_arrives(&mut self, node: &mut Node<Self>, entry: Entry, link: LinkId, port: PortId) {
        let packet = self.open_whole(entry);
        if self.is_slot(entry) {
            self.free(entry.slot);
        }
        let Ok(Packet { header: Header::Credit(credit), .. }) = packet else { return };
        let now = self.now;
        let read = match self.trouble.noise(link) {
            Some(noise) => noise.credit(now, credit),
            None => Some(credit),
        };
        let Some(credit) = read else { return };
        let mut freed = Vec::new();
        node.credited(self, port, &credit, &mut freed);
        if !freed.is_empty() {
            node.retry(self, |key| freed.contains(&key));
        }
    }
}

impl Carry for Inside {
    fn packet(&self) -> &Packet {
        &self.packet
    }

    fn packet_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}

impl Serve for Fabric {
    fn served(&mut self, link: LinkId) -> Option<(&mut Served<Inside>, &mut PortState)> {
        Some((self.served.get_mut(link.index())?.as_mut()?, &mut self.ports[link.index()]))
    }

    fn port_of(&self, link: LinkId) -> PortId {
        self.topology.link(link).expect("the topology must have the link").from_port
    }

    fn link_behind(&self, place: &Place, port: PortId) -> LinkId {
        LinkId::of(place.link(port))
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn launch(&mut self, link: LinkId, sent: Time, inside: &mut Inside) -> bool {
        let held = inside.slot;
        let has_room =
            self.out[link.index()].as_mut().is_some_and(|out| out.ring.room().is_ok_and(|room| room > 0));
        let slot = held.map(|held| held.slot).or_else(|| if has_room { self.take_slot() } else { None });
        let Some(slot) = slot.filter(|_| has_room) else { return false };
        if !self.transmit(link, sent, slot, &inside.packet, held) {
            if held.is_none() {
                self.free(slot);
            }
            return false;
        }
        inside.slot = None;
        true
    }

    /// Returns only the packet: its slot now belongs to the receiver.
    fn launched(&mut self, inside: Inside) -> Packet {
        inside.packet
    }

    fn ends_at(&mut self, at: Time, link: LinkId) {
        self.events.push(at, Event::Sent(link.0));
    }

    fn port_ticks_at(&mut self, at: Time, link: LinkId) {
        self.events.push(at, Event::PortTick(link.0));
    }

    fn control_wakes_at(&mut self, at: Time, link: LinkId) {
        self.events.push(at, Event::FlowControl(link.0));
    }

    fn waits(&mut self, link: LinkId, bytes: u64) {
        let peak = &mut self.stats[link.index()].peak_queue;
        *peak = (*peak).max(bytes);
    }
}
