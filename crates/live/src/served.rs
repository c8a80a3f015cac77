//! Ports with an agent or a queue of their own, in lockstep and in racks. Such a port chooses its next packet when it
//! becomes free.

use crate::fifo::Limits;
use crate::flow_control::{Control, ControlLinks, Departure};
use raddle_core::{
    Admit, Bytes, Class, DropReason, Duration, LinkId, Node, Packet, Paused, PortAgent, PortId, PortState,
    Queue, Rate, Runtime, Time,
};
use raddle_topology::Topology;
use std::collections::VecDeque;

/// A packet that a node is handling, with the runtime's data about the packet.
pub(crate) trait Carry {
    /// The packet.
    fn packet(&self) -> &Packet;

    /// Mutable access to the packet.
    fn packet_mut(&mut self) -> &mut Packet;
}

/// A runtime in which ports may have an agent or a queue of their own.
pub(crate) trait Serve: Runtime<Slot: Carry> {
    /// The [`Served`] state and the port state of the port from which a link leaves. `None` if the port is a plain
    /// FIFO.
    fn served(&mut self, link: LinkId) -> Option<(&mut Served<Self::Slot>, &mut PortState)>;

    /// The port from which a link leaves.
    fn port_of(&self, link: LinkId) -> PortId;

    /// The link that leaves a node by this port.
    fn link_behind(&self, place: &Self::Place, port: PortId) -> LinkId;

    /// The topology of the fabric.
    fn topology(&self) -> &Topology;

    /// Serialization delay of `bytes` bytes on a link, at the link's rate for packets that are not control frames.
    fn time_for(&self, link: LinkId, bytes: u32) -> Duration {
        let bytes = self.topology().link_layer().on_wire(bytes);
        link_rate(self.topology(), link).time_for(Bytes(bytes.into()))
    }

    /// Serialization delay of a packet on a link. On some links, control frames are sent at another rate than other
    /// packets.
    fn time_on(&self, link: LinkId, packet: &Packet) -> Duration {
        let topology = self.topology();
        let rate = match topology.link(link) {
            Some(link) if link.line_rate != link.rate && packet.class() == Class::CONTROL => link.line_rate,
            _ => link_rate(topology, link),
        };
        rate.time_for(Bytes(topology.link_layer().on_wire_of(packet).into()))
    }

    /// Puts a packet, whose last bit leaves at `sent`, on a link. Returns false if the runtime has no room for the
    /// packet, or cannot write the packet. The caller must then drop the packet.
    fn launch(&mut self, link: LinkId, sent: Time, slot: &mut Self::Slot) -> bool;

    /// Takes back a packet that was [launched](Self::launch), when its last bit has left.
    fn launched(&mut self, slot: Self::Slot) -> Packet;

    /// Schedules the [end of the transmission](Self::transmission_ends) at the egress port of a link.
    fn ends_at(&mut self, at: Time, link: LinkId);

    /// Schedules a [tick](Self::port_ticks) of the agent at the egress port of a link.
    fn port_ticks_at(&mut self, at: Time, link: LinkId);

    /// Schedules a [wake-up](ControlLinks::control_wakes) of a link's flow control.
    fn control_wakes_at(&mut self, at: Time, link: LinkId);

    /// Records that `bytes` bytes wait or are in service at the egress port of a link.
    fn waits(&mut self, link: LinkId, bytes: u64);

    /// Handles a packet that is to leave by a port with an agent or a queue of its own. Returns true if the caller must
    /// poll the node's host, because a packet was lost or the host received a packet that the agent sent.
    fn come(&mut self, node: &mut Node<Self>, link: LinkId, mut queued: Queued<Self::Slot>) -> bool {
        let now = self.now();
        let (served, state) = self.served(link).expect(SERVED);
        let notice = served.meet(now, queued.slot.packet_mut(), state);
        self.expect_port_tick(link);
        let due = self.join(node, link, queued) | self.serve(node, link);
        due | notice.is_some_and(|notice| node.send(self, notice, None))
    }

    /// Begins the port's next transmission if the port is free and a packet waits that is not paused. Returns true if
    /// the caller must poll the node's host, because a packet was lost.
    fn serve(&mut self, node: &mut Node<Self>, link: LinkId) -> bool {
        let now = self.now();
        let mut due = false;
        while let Some((served, state)) = self.served(link)
            && let Some(Queued { mut slot, arrival }) = served.next(now, state)
        {
            let sent = now + self.time_on(link, slot.packet());
            let (class, size) = (slot.packet().class(), slot.packet().size);
            if self.launch(link, sent, &mut slot) {
                self.ends_at(sent, link);
                self.departs(node, arrival, Departure { at: sent, class, size });
                let (served, _) = self.served(link).expect(SERVED);
                served.begin_transmission(sent, Queued { slot, arrival });
                break;
            }
            let (served, _) = self.served(link).expect(SERVED);
            served.tell_left(now, slot.packet());
            self.vacate(node, arrival, class, size);
            let out = Some(self.port_of(link));
            due |= node.lose(self, slot, arrival, out, DropReason::QueueFull);
        }
        due
    }

    /// Offers a packet to the port's queue, and executes the queue's decision. The port's agent has already seen the
    /// packet. Returns true if the caller must poll the node's host, because a packet was lost or the host received a
    /// packet that the agent sent.
    fn join(&mut self, node: &mut Node<Self>, link: LinkId, queued: Queued<Self::Slot>) -> bool {
        let out = Some(self.port_of(link));
        let mut due = false;
        let now = self.now();
        let time = self.time_on(link, queued.slot.packet());
        let (class, size, arrival) =
            (queued.slot.packet().class(), queued.slot.packet().size, queued.arrival);
        let place = self.served(link).expect(SERVED).0.insert(queued);
        loop {
            match self.served(link).expect(SERVED).0.ask(now, place) {
                Admit::Take => {
                    let (served, state) = self.served(link).expect(SERVED);
                    state.set_drains_at(state.free_at(now).max(now) + time);
                    state.set_waiting(served.bytes());
                    let waits = served.bytes_inside(now);
                    self.waits(link, waits);
                    self.occupy(node, arrival, class, size, None);
                    return due;
                }
                Admit::Drop => {
                    let Queued { slot, arrival } = self.served(link).expect(SERVED).0.forget(now, place);
                    return due | node.lose(self, slot, arrival, out, DropReason::QueueFull);
                }
                Admit::Evict(other) => {
                    let Queued { slot, arrival } = self.give_up(node, link, other);
                    due |= node.lose(self, slot, arrival, out, DropReason::QueueFull);
                }
                Admit::Trim(cut) => {
                    let is_own = cut == place;
                    let Queued { mut slot, arrival } = if is_own {
                        self.served(link).expect(SERVED).0.forget(now, cut)
                    } else {
                        self.give_up(node, link, cut)
                    };
                    if !node.trim(self, &mut slot) {
                        due |= node.lose(self, slot, arrival, out, DropReason::QueueFull);
                        if is_own {
                            return due;
                        }
                        continue;
                    }
                    let (served, state) = self.served(link).expect(SERVED);
                    if let Some(notice) = served.meet(now, slot.packet_mut(), state) {
                        due |= node.send(self, notice, None);
                    }
                    due |= self.join(node, link, Queued { slot, arrival });
                    if is_own {
                        return due;
                    }
                }
            }
        }
    }

    /// Removes a packet that the queue of a port has evicted or trimmed.
    fn give_up(&mut self, node: &mut Node<Self>, link: LinkId, place: u32) -> Queued<Self::Slot> {
        let now = self.now();
        let queued = self.served(link).expect(SERVED).0.forget(now, place);
        let time = self.time_on(link, queued.slot.packet());
        let (served, state) = self.served(link).expect(SERVED);
        state.set_drains_at(now.max(Time::ZERO + state.free_at(now).since(Time::ZERO + time)));
        state.set_waiting(served.bytes());
        let (class, size) = (queued.slot.packet().class(), queued.slot.packet().size);
        self.vacate(node, queued.arrival, class, size);
        queued
    }

    /// Handles the end of a port's transmission.
    fn transmission_ends(&mut self, node: &mut Node<Self>, link: LinkId) {
        let now = self.now();
        let Some((served, _)) = self.served(link) else { return };
        let Queued { slot, arrival } = served.end_transmission(now);
        let packet = self.launched(slot);
        let due = self.serve(node, link);
        if node.left(self, &packet, arrival) | due {
            node.poll(self);
        }
    }

    /// Runs a tick of a port's agent.
    fn port_ticks(&mut self, link: LinkId) {
        let now = self.now();
        let Some((served, state)) = self.served(link) else { return };
        if let Some(agent) = &mut served.agent {
            agent.tick(now, state);
        }
        served.tick = Time::NEVER;
        self.expect_port_tick(link);
    }

    /// Schedules the next tick of a port's agent, unless a tick is already scheduled.
    fn expect_port_tick(&mut self, link: LinkId) {
        let Some((served, _)) = self.served(link) else { return };
        if served.tick == Time::NEVER {
            served.tick = served.agent.as_ref().map_or(Time::NEVER, |agent| agent.next_tick());
            let at = served.tick;
            if at < Time::NEVER {
                self.port_ticks_at(at, link);
            }
        }
    }
}

/// The rate of a link. Zero if the link does not exist.
fn link_rate(topology: &Topology, link: LinkId) -> Rate {
    topology.link(link).map_or(Rate::ZERO, |link| link.rate)
}

/// Panic message for a port that has no [`Served`] state although it must have this state.
pub(crate) const SERVED: &str = "the port must have `Served` state: an agent or a queue of its own";

/// A port with an agent or a queue of its own.
pub(crate) struct Served<S> {
    pub(crate) agent: Option<Box<dyn PortAgent>>,
    /// The time of the scheduled tick of the agent. [`Time::NEVER`] means that the agent must be asked for its next
    /// tick, and [`Time::ZERO`] that there is no agent, or the agent has no timer.
    pub(crate) tick: Time,
    pub(crate) queue: Box<dyn Queue>,
    pub(crate) control: Option<Control>,
    /// The packets in the queue, by slot.
    slots: Vec<Option<Queued<S>>>,
    free: Vec<u32>,
    /// The packet in transmission. Its last bit leaves at the time `sent`.
    sending: Option<Queued<S>>,
    sent: Time,
}

/// A packet at a port.
pub(crate) struct Queued<S> {
    pub(crate) slot: S,
    /// The port by which the packet arrived; `None` if the node sent it.
    pub(crate) arrival: Option<PortId>,
}

/// Panic message for a slot that the queue names although no packet waits there.
const PRESENT: &str = "the slot must hold a waiting packet";

impl<S> Served<S> {
    /// A plain FIFO with the limits in `limits`, without marking and without an agent. The limits do not count the
    /// packet in service.
    pub(crate) fn within(limits: Limits) -> Self {
        Self {
            agent: None,
            tick: Time::ZERO,
            queue: Box::new(Fifo { limits, packets: VecDeque::new(), bytes: 0 }),
            control: None,
            slots: Vec::new(),
            free: Vec::new(),
            sending: None,
            sent: Time::ZERO,
        }
    }
}

impl<S: Carry> Served<S> {
    pub(crate) fn set_agent(&mut self, agent: Box<dyn PortAgent>) {
        self.tick = if agent.has_timer() { Time::NEVER } else { Time::ZERO };
        self.agent = Some(agent);
    }

    /// The time at which the last bit of the most recently launched packet leaves. After a failure of the link, the
    /// time at which the port was emptied, until the next launch.
    pub(crate) fn sent(&self) -> Time {
        self.sent
    }

    /// Number of packets that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of bytes that wait.
    pub(crate) fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// Number of bytes that wait or are in service.
    fn bytes_inside(&self, now: Time) -> u64 {
        let in_service = self.sending.as_ref().filter(|_| self.sent > now);
        self.bytes().0 + in_service.map_or(0, |queued| u64::from(queued.slot.packet().size))
    }

    /// Shows the agent a packet that is about to join the queue. Returns the packet that the agent wants the node to
    /// send, if any.
    pub(crate) fn meet(&mut self, now: Time, packet: &mut Packet, state: &PortState) -> Option<Packet> {
        self.agent.as_mut()?.enqueue(now, packet, state)
    }

    /// Stores a packet in a free slot, and returns the slot.
    pub(crate) fn insert(&mut self, queued: Queued<S>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(queued);
            return slot;
        }
        self.slots.push(Some(queued));
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets must wait at a port")
    }

    fn remove(&mut self, slot: u32) -> Queued<S> {
        self.free.push(slot);
        self.slots[slot as usize].take().expect(PRESENT)
    }

    /// Asks the queue whether to admit a packet.
    pub(crate) fn ask(&mut self, now: Time, slot: u32) -> Admit {
        let Self { queue, slots, .. } = self;
        queue.push(now, slot, slots[slot as usize].as_ref().expect(PRESENT).slot.packet())
    }

    /// Removes a packet that the queue has dropped, evicted or trimmed, and tells the agent that the packet is gone.
    pub(crate) fn forget(&mut self, now: Time, slot: u32) -> Queued<S> {
        let queued = self.remove(slot);
        self.tell_left(now, queued.slot.packet());
        queued
    }

    /// Tells the agent that a packet is no longer at the port.
    fn tell_left(&mut self, now: Time, packet: &Packet) {
        if let Some(agent) = &mut self.agent {
            agent.left(now, packet.class(), packet.size);
        }
    }

    /// Starts the transmission of a packet, whose last bit leaves at `sent`.
    fn begin_transmission(&mut self, sent: Time, queued: Queued<S>) {
        self.sent = sent;
        self.sending = Some(queued);
    }

    /// Empties the port, whose link went down at `at`. Returns the packets that had not left the port by that time: the
    /// packet in transmission, and the packets that wait.
    pub(crate) fn cut(&mut self, now: Time, at: Time) -> (Option<Queued<S>>, Vec<Queued<S>>) {
        let is_cut = self.sent > at;
        let leaving = self.sending.take().filter(|_| is_cut);
        let mut waiting = Vec::new();
        while let Some(slot) = self.queue.pop(now, Paused::NONE) {
            waiting.push(self.remove(slot));
        }
        for queued in leaving.iter().chain(&waiting) {
            self.tell_left(now, queued.slot.packet());
        }
        self.sent = now;
        (leaving, waiting)
    }

    /// Takes the next packet to transmit, if the port is free and a packet waits that is not paused.
    pub(crate) fn next(&mut self, now: Time, state: &mut PortState) -> Option<Queued<S>> {
        if self.sending.is_some() {
            return None;
        }
        let slot = self.queue.pop(now, state.paused)?;
        let mut queued = self.remove(slot);
        state.set_waiting(self.queue.bytes());
        if let Some(agent) = &mut self.agent {
            agent.dequeue(now, queued.slot.packet_mut(), state);
        }
        Some(queued)
    }

    /// Ends the transmission of the current packet, whose last bit has left.
    pub(crate) fn end_transmission(&mut self, now: Time) -> Queued<S> {
        let queued = self.sending.take().expect("the port must have a packet in transmission");
        self.tell_left(now, queued.slot.packet());
        queued
    }
}

/// A FIFO of packets that wait. Its limits do not count the packet in service.
struct Fifo {
    limits: Limits,
    packets: VecDeque<(u32, u32)>,
    bytes: u64,
}

impl Queue for Fifo {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let Limits { bytes, packets, .. } = self.limits;
        let size = u64::from(packet.size);
        if bytes.is_some_and(|most| self.bytes + size > most)
            || packets.is_some_and(|most| self.packets.len() >= most)
        {
            return Admit::Drop;
        }
        self.packets.push_back((slot, packet.size));
        self.bytes += size;
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        let (slot, size) = self.packets.pop_front()?;
        self.bytes -= u64::from(size);
        Some(slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.packets.iter_mut().for_each(|(slot, _)| visit(slot));
    }
}
