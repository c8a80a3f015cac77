//! Hierarchical timing wheels (Varghese and Lauck, SOSP 1987). Each wheel has 64 slots. A slot of a wheel spans as much
//! time as the whole wheel below. When time reaches a slot of a higher wheel, its events move to the wheels below. When
//! time reaches a slot of the lowest wheel, its events are sorted.

#![allow(clippy::cast_possible_truncation, reason = "the numbers in the benchmarks are small")]

use crate::{Event, Queue};

/// Base-2 logarithm of the width, in ps, of a slot of the lowest wheel. The width is 2,048 ps.
const SHIFT: u32 = 11;
const BITS: u32 = 6;
/// Number of wheels: enough for 64-bit times.
const WHEELS: usize = 9;

pub(crate) struct Wheels {
    /// Number of the slot that is being served. Slots of the lowest wheel are numbered from time zero.
    current: u64,
    /// Events of the current slot, latest first.
    serving: Vec<Event>,
    occupied: [u64; WHEELS],
    slots: Vec<Vec<Event>>,
}

impl Wheels {
    fn insert(&mut self, event: Event) {
        let slot = event.0 >> SHIFT;
        let differs = slot ^ self.current;
        let wheel = differs.ilog2() / BITS;
        let place = (slot >> (wheel * BITS)) & 63;
        self.occupied[wheel as usize] |= 1 << place;
        self.slots[wheel as usize * 64 + place as usize].push(event);
    }

    /// Advances to the next slot that holds an event.
    fn advance(&mut self) -> Option<()> {
        while self.serving.is_empty() {
            let wheel = self.occupied.iter().position(|&slots| slots != 0)?;
            let place = self.occupied[wheel].trailing_zeros();
            self.occupied[wheel] &= self.occupied[wheel] - 1;
            let below = wheel as u32 * BITS;
            self.current = (self.current >> below >> BITS << BITS | u64::from(place)) << below;
            let index = wheel * 64 + place as usize;
            let mut events = std::mem::take(&mut self.slots[index]);
            for event in events.drain(..) {
                if event.0 >> SHIFT == self.current { self.serving.push(event) } else { self.insert(event) }
            }
            self.slots[index] = events;
        }
        self.serving.sort_unstable_by(|a, b| b.cmp(a));
        Some(())
    }
}

impl Queue for Wheels {
    fn new(_: usize) -> Self {
        Self {
            current: 0,
            serving: Vec::new(),
            occupied: [0; WHEELS],
            slots: (0..WHEELS * 64).map(|_| Vec::new()).collect(),
        }
    }

    fn push(&mut self, event: Event) {
        if event.0 >> SHIFT == self.current {
            let at = self.serving.partition_point(|&other| other > event);
            self.serving.insert(at, event);
        } else {
            self.insert(event);
        }
    }

    fn pop(&mut self) -> Option<Event> {
        if self.serving.is_empty() {
            self.advance()?;
        }
        self.serving.pop()
    }
}
