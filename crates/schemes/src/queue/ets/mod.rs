//! Enhanced transmission selection: strict traffic classes are served first, and the other classes share the remaining
//! bandwidth by weight (IEEE 802.1Qaz, IEEE 802.1Q §8.6.8; specifications/cee.md §4.4).
//!
//! Each priority belongs to a traffic class. Control frames are served first, then the highest strict class that is
//! backlogged and not paused. The other classes follow by deficit round robin in bytes (Shreedhar and Varghese, 1995).
//! Each of these classes has a quantum per turn in proportion to its weight. The smallest quantum is at least the size
//! of the largest frame, so that every turn serves at least one frame. If a class leaves bandwidth unused, the other
//! classes use this bandwidth. An empty or paused class gets no quantum, and gets no compensation later.
//!
//! Cost per frame served: a few passes over the eight priorities.

mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use scheme::{Params, QUEUE};

use raddle_core::{Admit, Bytes, Class, Packet, Paused, Queue, Time};
use std::collections::VecDeque;

/// Number of priorities, and also the number of traffic classes.
const COUNT: usize = 8;

/// A frame in the queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    slot: u32,
    size: u32,
    /// Number of frames of any class that joined the queue before this frame.
    before: u64,
}

/// The queue of one port.
#[derive(Debug)]
pub(crate) struct Ets {
    params: Params,
    /// One queue per [class of packets](Packet::class): the eight priorities, then control frames.
    queues: [VecDeque<Waiting>; COUNT + 1],
    /// One bit for each backlogged queue.
    backlogged: u16,
    /// For each traffic class, the number of bytes that the class may still send in its turn.
    deficits: [u64; COUNT],
    /// The traffic class whose turn it is.
    turn: usize,
    /// True if the traffic class `turn` has already received its quantum for this turn.
    granted: bool,
    joined: u64,
    bytes: u64,
}

impl Ets {
    /// An empty queue.
    #[must_use]
    pub(crate) fn new(params: Params) -> Self {
        Self {
            params,
            queues: Default::default(),
            backlogged: 0,
            deficits: [0; COUNT],
            turn: 0,
            granted: false,
            joined: 0,
            bytes: 0,
        }
    }

    /// Among the `ready` priorities of a traffic class, the priority whose first frame has waited longest, and the size
    /// of this frame.
    fn first(&self, class: usize, ready: u16) -> (usize, u32) {
        let of_class = (0..COUNT).filter(|&i| ready >> i & 1 == 1 && self.params.class_of(i) == class);
        let fronts = of_class.filter_map(|i| Some((i, *self.queues[i].front()?)));
        let first = fronts.min_by_key(|(_, front)| front.before);
        first.map(|(i, front)| (i, front.size)).expect("the class must have a priority that can send")
    }

    fn take(&mut self, priority: usize) -> u32 {
        let queue = &mut self.queues[priority];
        let Waiting { slot, size, .. } =
            queue.pop_front().expect("a queue whose bit in `backlogged` is set must not be empty");
        if queue.is_empty() {
            self.backlogged &= !(1 << priority);
        }
        self.bytes -= u64::from(size);
        slot
    }

    /// The priority to serve next among the ready priorities of the weighted traffic classes. `ready` has one bit per
    /// ready priority, and `classes` has one bit per traffic class with a ready priority.
    fn round_robin(&mut self, ready: u16, classes: u8) -> usize {
        loop {
            if classes >> self.turn & 1 == 1 {
                let (priority, size) = self.first(self.turn, ready);
                let deficit = &mut self.deficits[self.turn];
                if !std::mem::replace(&mut self.granted, true) {
                    *deficit += self.params.quantum(self.turn);
                }
                if *deficit >= u64::from(size) {
                    *deficit -= u64::from(size);
                    return priority;
                }
            } else {
                self.deficits[self.turn] = 0;
            }
            self.turn = (self.turn + 1) % COUNT;
            self.granted = false;
        }
    }
}

impl Queue for Ets {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let class = packet.class();
        self.bytes += u64::from(packet.size);
        self.backlogged |= 1 << class.0;
        self.queues[class.index()].push_back(Waiting { slot, size: packet.size, before: self.joined });
        self.joined += 1;
        Admit::Take
    }

    fn pop(&mut self, _: Time, paused: Paused) -> Option<u32> {
        let ready = self.backlogged & !u16::from(paused.0);
        if ready >> Class::CONTROL.0 & 1 == 1 {
            return Some(self.take(Class::CONTROL.index()));
        }
        let of_ready = (0..COUNT).filter(|&i| ready >> i & 1 == 1).map(|i| self.params.class_of(i));
        let classes = of_ready.fold(0_u8, |classes, class| classes | 1 << class);
        if let Some(class) = (classes & self.params.strict()).checked_ilog2() {
            let (priority, _) = self.first(class as usize, ready);
            return Some(self.take(priority));
        }
        if classes == 0 {
            return None;
        }
        let priority = self.round_robin(ready, classes);
        let slot = self.take(priority);
        let class = self.params.class_of(priority);
        let waits = (0..COUNT).any(|i| self.backlogged >> i & 1 == 1 && self.params.class_of(i) == class);
        if !waits {
            self.deficits[class] = 0;
        }
        Some(slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.queues.iter_mut().flatten().for_each(|waiting| visit(&mut waiting.slot));
    }
}
