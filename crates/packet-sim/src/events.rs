//! The event queue: a calendar of short buckets with a heap for what lies beyond it.
//!
//! At most one event stands for each link and one for each node's wake-up, so the queue holds few entries and
//! nearly all of them lie within one packet time. A bucket is sorted when its turn comes.

#[cfg(feature = "event-trace")]
use crate::event_trace::Step;
use raddle_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event is about. The order of the variants breaks ties in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The packet at the head of a link's ring arrives.
    Arrival,
    /// The last bit of a packet for this node has come in by a link (cut-through only).
    Tail,
    /// A port ends a transmission.
    Sent,
    /// A flow-control signal arrives by a link.
    Signal,
    /// A node wakes up.
    Wake,
    /// The next flows of the workload start.
    Flow,
    /// A link or node changes state.
    Change,
    /// Every node learns of a change.
    Discovery,
}

const KINDS: [Kind; 8] = [
    Kind::Arrival,
    Kind::Tail,
    Kind::Sent,
    Kind::Signal,
    Kind::Wake,
    Kind::Flow,
    Kind::Change,
    Kind::Discovery,
];
const INDEX_BITS: u32 = 28;

/// An event: ordered by time, then kind, then the link, node or change it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) target: u32,
}

impl Event {
    pub(crate) fn new(time: Time, kind: Kind, index: u32) -> Self {
        debug_assert!(index < 1 << INDEX_BITS);
        Self { time: time.as_ps(), target: (kind as u32) << INDEX_BITS | index }
    }

    pub(crate) fn time(self) -> Time {
        Time::from_ps(self.time)
    }

    pub(crate) fn kind(self) -> Kind {
        KINDS[(self.target >> INDEX_BITS) as usize]
    }

    pub(crate) fn index(self) -> u32 {
        self.target & ((1 << INDEX_BITS) - 1)
    }
}

const BUCKETS: u64 = 4_096;
const WORDS: usize = (BUCKETS / 64) as usize;

#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A bucket spans `2^shift` picoseconds.
    shift: u32,
    /// The bucket being served, counted from time zero.
    current: u64,
    /// The current bucket's events, latest first.
    serving: Vec<Event>,
    /// The `BUCKETS - 1` buckets after the current one, at their number modulo `BUCKETS`.
    wheel: Vec<Vec<Event>>,
    /// One bit a bucket that is not empty.
    occupied: [u64; WORDS],
    /// Events beyond the wheel when they were pushed.
    far: BinaryHeap<Reverse<Event>>,
    #[cfg(feature = "event-trace")]
    pub(crate) trace: Vec<Step>,
}

impl EventQueue {
    /// A queue for a fabric of about `links` links: the more, the narrower the buckets, but the wheel always spans
    /// several packet times and pacing gaps.
    pub(crate) fn new(links: usize) -> Self {
        let width_ps = 8_000_000 / links.max(1) as u64;
        Self {
            shift: width_ps.clamp(1 << 11, 1 << 14).ilog2(),
            current: 0,
            serving: Vec::new(),
            wheel: (0..BUCKETS).map(|_| Vec::new()).collect(),
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
            #[cfg(feature = "event-trace")]
            trace: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        #[cfg(feature = "event-trace")]
        self.trace.push(Step::Push { time: event.time, target: event.target });
        let bucket = event.time >> self.shift;
        if bucket <= self.current {
            let at = self.serving.partition_point(|&other| other > event);
            self.serving.insert(at, event);
        } else if bucket - self.current < BUCKETS {
            let index = (bucket % BUCKETS) as usize;
            self.wheel[index].push(event);
            self.occupied[index / 64] |= 1 << (index % 64);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// The next event, if it comes before `end`.
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<Event> {
        loop {
            if let Some(event) = self.serving.pop_if(|event| event.time < end.as_ps()) {
                #[cfg(feature = "event-trace")]
                self.trace.push(Step::Pop);
                return Some(event);
            }
            if !self.serving.is_empty() {
                return None;
            }
            self.advance()?;
        }
    }

    /// When the next event comes.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        if self.serving.is_empty() {
            self.advance()?;
        }
        self.serving.last().map(|event| event.time())
    }

    /// Moves on to the next bucket that holds an event.
    fn advance(&mut self) -> Option<()> {
        let far = self.far.peek().map(|Reverse(event)| event.time >> self.shift);
        let next = match (self.next_occupied(), far) {
            (Some(near), Some(far)) => near.min(far),
            (near, far) => near.or(far)?,
        };
        self.current = next;
        let index = (next % BUCKETS) as usize;
        std::mem::swap(&mut self.serving, &mut self.wheel[index]);
        self.occupied[index / 64] &= !(1 << (index % 64));
        while let Some(Reverse(event)) = self.far.peek()
            && event.time >> self.shift <= next
        {
            self.serving.push(*event);
            self.far.pop();
        }
        self.serving.sort_unstable_by(|a, b| b.cmp(a));
        Some(())
    }

    /// The first bucket after the current one that is not empty.
    fn next_occupied(&self) -> Option<u64> {
        let start = ((self.current + 1) % BUCKETS) as usize;
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (start % 64);
            } else if step == WORDS {
                bits &= !(!0 << (start % 64));
            }
            if bits != 0 {
                let index = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                return Some(self.current + 1 + (index + BUCKETS - start as u64) % BUCKETS);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_by_kind_then_index() {
        let at = |kind, index| Event::new(Time::from_ps(5), kind, index);
        let order = [at(Kind::Arrival, 1), at(Kind::Arrival, 2), at(Kind::Wake, 0), at(Kind::Discovery, 0)];
        assert!(order.is_sorted());
        assert_eq!(order[2].kind(), Kind::Wake);
        assert_eq!(order[1].index(), 2);
    }

    proptest! {
        /// Against a heap: any mix of pushes (never into the past) and pops comes out in the same order.
        #[test]
        fn pops_in_order(steps in proptest::collection::vec((0_u64..40, 0_u32..64, any::<bool>()), 1..400)) {
            let mut queue = EventQueue::new(64);
            let mut model = BinaryHeap::new();
            let mut now = 0;
            for (magnitude, index, pop) in steps {
                if pop {
                    let event = queue.pop_before(Time::NEVER);
                    prop_assert_eq!(event, model.pop().map(|Reverse(event)| event));
                    now = event.map_or(now, |event| event.time);
                } else {
                    let event = Event { time: now + (1 << magnitude) - 1, target: index };
                    queue.push(event);
                    model.push(Reverse(event));
                }
            }
            while let Some(Reverse(event)) = model.pop() {
                prop_assert_eq!(queue.pop_before(Time::NEVER), Some(event));
            }
            prop_assert_eq!(queue.pop_before(Time::NEVER), None);
        }
    }
}
