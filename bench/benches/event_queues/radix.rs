//! A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, J. ACM 37(2), 1990) keyed by event time. An event is in bucket `i` if
//! `i` is the highest bit in which its time differs from the time of the most recently popped event. Events with
//! exactly that time are in a separate sorted list.

use crate::{Event, Queue};

pub(crate) struct RadixHeap {
    last: u64,
    /// Bit `i` is set if bucket `i` is not empty.
    occupied: u64,
    /// Events whose time is `last`, in descending order: the next event to pop is at the end.
    now: Vec<Event>,
    buckets: [Vec<Event>; 64],
}

impl Queue for RadixHeap {
    fn new(_: usize) -> Self {
        Self { last: 0, occupied: 0, now: Vec::new(), buckets: std::array::from_fn(|_| Vec::new()) }
    }

    fn push(&mut self, event: Event) {
        let differs = event.0 ^ self.last;
        if differs == 0 {
            let at = self.now.partition_point(|&other| other > event);
            self.now.insert(at, event);
        } else {
            let bucket = differs.ilog2();
            self.occupied |= 1 << bucket;
            self.buckets[bucket as usize].push(event);
        }
    }

    fn pop(&mut self) -> Option<Event> {
        if self.now.is_empty() {
            if self.occupied == 0 {
                return None;
            }
            let bucket = self.occupied.trailing_zeros() as usize;
            self.occupied &= self.occupied - 1;
            let mut events = std::mem::take(&mut self.buckets[bucket]);
            self.last = events.iter().map(|event| event.0).min()?;
            for event in events.drain(..) {
                match event.0 ^ self.last {
                    0 => self.now.push(event),
                    differs => {
                        self.occupied |= 1 << differs.ilog2();
                        self.buckets[differs.ilog2() as usize].push(event);
                    }
                }
            }
            self.buckets[bucket] = events;
            self.now.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.now.pop()
    }
}
