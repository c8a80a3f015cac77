//! A port with an agent or a queue of its own: what leaves next is known when the port is free.

use super::Carried;
use raddle_core::{Admit, Bytes, Packet, Paused, PortAgent, PortId, PortState, Queue, Time};
use std::collections::VecDeque;

/// Such a port.
pub(super) struct Served {
    pub(super) agent: Option<Box<dyn PortAgent>>,
    /// When the agent ticks; [`Time::NEVER`] if it has to be asked, [`Time::ZERO`] if it never has to.
    pub(super) tick: Time,
    pub(super) queue: Box<dyn Queue>,
    /// The packets in the queue, by slot.
    slots: Vec<Option<Queued>>,
    free: Vec<u32>,
    /// What is leaving.
    pub(super) sending: Option<Queued>,
}

/// A packet at a port.
pub(super) struct Queued {
    pub(super) carried: Carried,
    /// The port by which it came; `None` if the node sent it.
    pub(super) arrival: Option<PortId>,
}

/// What is true of every slot that somebody names.
const PRESENT: &str = "a packet that waits";

impl Default for Served {
    /// A plain FIFO without an agent.
    fn default() -> Self {
        Self {
            agent: None,
            tick: Time::ZERO,
            queue: Box::<Fifo>::default(),
            slots: Vec::new(),
            free: Vec::new(),
            sending: None,
        }
    }
}

impl Served {
    pub(super) fn set_agent(&mut self, agent: Box<dyn PortAgent>) {
        self.tick = if agent.has_timer() { Time::NEVER } else { Time::ZERO };
        self.agent = Some(agent);
    }

    /// Packets that wait.
    pub(super) fn waiting(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// Shows a packet that is to join to the agent. Returns the agent's notice.
    pub(super) fn meet(&mut self, now: Time, packet: &mut Packet, state: &PortState) -> Option<Packet> {
        self.agent.as_mut()?.enqueue(now, packet, state)
    }

    /// Gives a packet a slot.
    pub(super) fn insert(&mut self, queued: Queued) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(queued);
            return slot;
        }
        self.slots.push(Some(queued));
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets wait")
    }

    fn remove(&mut self, slot: u32) -> Queued {
        self.free.push(slot);
        self.slots[slot as usize].take().expect(PRESENT)
    }

    /// Asks the queue about a packet.
    pub(super) fn ask(&mut self, now: Time, slot: u32) -> Admit {
        let Self { queue, slots, .. } = self;
        queue.push(now, slot, &slots[slot as usize].as_ref().expect(PRESENT).carried.packet)
    }

    /// A packet that the agent has seen join does not wait any more, and does not leave by the port.
    pub(super) fn forget(&mut self, now: Time, slot: u32) -> Queued {
        let queued = self.remove(slot);
        if let Some(agent) = &mut self.agent {
            agent.left(now, queued.carried.packet.class(), queued.carried.packet.size);
        }
        queued
    }

    /// The packet that leaves next, if none is leaving and anything waits.
    pub(super) fn next(&mut self, now: Time, state: &mut PortState) -> Option<Queued> {
        if self.sending.is_some() {
            return None;
        }
        let slot = self.queue.pop(now, Paused::NONE)?;
        let mut queued = self.remove(slot);
        state.set_waiting(self.queue.bytes());
        if let Some(agent) = &mut self.agent {
            agent.dequeue(now, &mut queued.carried.packet, state);
        }
        Some(queued)
    }

    /// The last bit of the packet that is leaving has left.
    pub(super) fn end_transmission(&mut self, now: Time) -> Queued {
        let queued = self.sending.take().expect("a transmission that ends was begun");
        if let Some(agent) = &mut self.agent {
            agent.left(now, queued.carried.packet.class(), queued.carried.packet.size);
        }
        queued
    }
}

/// An unbounded FIFO.
#[derive(Default)]
struct Fifo {
    packets: VecDeque<(u32, u32)>,
    bytes: u64,
}

impl Queue for Fifo {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        self.packets.push_back((slot, packet.size));
        self.bytes += u64::from(packet.size);
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
