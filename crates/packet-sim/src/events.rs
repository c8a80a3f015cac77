//! The event queue: a calendar of short buckets, with a heap for later events (the alternatives are in
//! `docs/src/decisions/0006-event-queue.md`).
//!
//! For each link and node, the queue holds at most one event of each kind, apart from outdated events. So it has few
//! entries, and nearly all entries are due within one packet time. A bucket is sorted when the clock reaches it. Its
//! entries are 64-bit integers, which sort fast and take half the memory of events.

#[cfg(feature = "event-trace")]
use crate::event_trace::Step;
use raddle_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kind of an event. The order of the variants breaks ties in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Links fail or come up again. This kind comes first, so that no packet is sent over a link in the instant of its
    /// failure.
    Change,
    /// Every node learns of a change. Only changes of links come before this kind, so that nodes know which links are
    /// down at time 0 before the first flows start.
    Discovery,
    /// A link's next packet arrives.
    Arrival,
    /// Enough of a packet has arrived over a link to deliver the packet or to forward it without a gap (cut-through
    /// only).
    Tail,
    /// A port ends a transmission.
    Sent,
    /// A credit arrives over a link.
    Credit,
    /// Flow control of a link must be called: its timer expires, or a packet that it counts has left the node.
    FlowControl,
    /// A tick of the agent at a link's port is due.
    PortTick,
    /// The forwarder or the topology discovery of a node ticks.
    Tick,
    /// The clock reaches a time at which a node has asked to be woken.
    Wake,
    /// The next flows of the workload start.
    Flow,
}

const KINDS: [Kind; 11] = [
    Kind::Change,
    Kind::Discovery,
    Kind::Arrival,
    Kind::Tail,
    Kind::Sent,
    Kind::Credit,
    Kind::FlowControl,
    Kind::PortTick,
    Kind::Tick,
    Kind::Wake,
    Kind::Flow,
];
const INDEX_BITS: u32 = 28;

/// An event. Events are ordered by time, then by kind, then by the index of their link, node or change.
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

    /// True if every partition processes the event.
    pub(crate) fn is_everywhere(self) -> bool {
        matches!(self.kind(), Kind::Change | Kind::Discovery)
    }

    /// True if the event is of this kind.
    #[inline]
    pub(crate) fn is(self, kind: Kind) -> bool {
        self.target >> INDEX_BITS == kind as u32
    }

    pub(crate) fn index(self) -> u32 {
        self.target & ((1 << INDEX_BITS) - 1)
    }
}

const BUCKETS: u64 = 1_024;
const WORDS: usize = (BUCKETS / 64) as usize;

/// An event of a bucket as an integer: the picoseconds since the bucket's start in the upper half, and the target in
/// the lower half. Entries are therefore in the same order as their events.
type Entry = u64;

#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A bucket spans `2^shift` picoseconds.
    shift: u32,
    /// Number of the bucket that is being served. Buckets are numbered from time zero.
    current: u64,
    /// The current bucket's events, latest first.
    serving: Vec<Entry>,
    /// The `BUCKETS - 1` buckets after the current bucket. A bucket's index is its number modulo `BUCKETS`.
    wheel: Vec<Vec<Entry>>,
    /// One bit per bucket of the wheel: set if the bucket is not empty. The current bucket's bit is clear.
    occupied: [u64; WORDS],
    /// Events that were beyond the wheel when they were pushed.
    far: BinaryHeap<Reverse<Event>>,
    #[cfg(feature = "event-trace")]
    pub(crate) trace: Option<Vec<Step>>,
}

impl EventQueue {
    /// Creates a queue for a fabric of about `links` links. The more links, the narrower the buckets, but all buckets
    /// together always span at least 8 us. No event may be pushed for a time before `now`.
    pub(crate) fn new(links: usize, now: Time) -> Self {
        let width_ps = 32_000_000 / links.max(1) as u64;
        let shift = width_ps.clamp(1 << 13, 1 << 16).ilog2();
        Self {
            shift,
            current: now.as_ps() >> shift,
            serving: Vec::new(),
            wheel: (0..BUCKETS).map(|_| Vec::new()).collect(),
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
            #[cfg(feature = "event-trace")]
            trace: Some(Vec::new()),
        }
    }

    /// Inserts an event. Its time must not be before the latest event popped, nor before an `end` for which
    /// [`pop_before`](Self::pop_before) has returned `None`.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        #[cfg(feature = "event-trace")]
        self.record(Step::Push { time: event.time, target: event.target });
        let bucket = self.bucket(event);
        debug_assert!(bucket >= self.current, "an event must not be before the bucket that is being served");
        if (1..BUCKETS).contains(&bucket.wrapping_sub(self.current)) {
            let index = (bucket % BUCKETS) as usize;
            let entry = self.entry(event);
            self.wheel[index].push(entry);
            self.occupied[index / 64] |= 1 << (index % 64);
        } else {
            self.push_apart(event);
        }
    }

    /// Inserts an event of the current bucket, or an event beyond the wheel.
    #[inline(never)]
    fn push_apart(&mut self, event: Event) {
        if self.bucket(event) == self.current {
            let entry = self.entry(event);
            let at = self.serving.partition_point(|&other| other > entry);
            self.serving.insert(at, entry);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Advances to the next bucket that holds an event, if the current bucket is empty and that bucket begins before
    /// `end`. Returns true if the queue has advanced.
    #[inline]
    pub(crate) fn turn(&mut self, end: Time) -> bool {
        self.serving.is_empty() && self.advance(end).is_some()
    }

    /// The events that are now in the current bucket, in order.
    pub(crate) fn present(&self) -> impl Iterator<Item = Event> {
        self.serving.iter().rev().map(|&entry| self.event(self.current, entry))
    }

    /// The events that are now in the next bucket, in arbitrary order.
    pub(crate) fn following(&self) -> impl Iterator<Item = Event> {
        let bucket = self.current + 1;
        self.wheel[(bucket % BUCKETS) as usize].iter().map(move |&entry| self.event(bucket, entry))
    }

    /// The event `distance` places after the next event; `None` if the current bucket has no such event.
    #[inline]
    pub(crate) fn ahead(&self, distance: usize) -> Option<Event> {
        let i = self.serving.len().checked_sub(distance + 1)?;
        Some(self.event(self.current, self.serving[i]))
    }

    /// Removes and returns the next event, if its time is before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<Event> {
        if self.serving.is_empty() {
            self.advance(end)?;
        }
        let event = self.event(self.current, *self.serving.last()?);
        if event.time >= end.as_ps() {
            return None;
        }
        self.serving.pop();
        #[cfg(feature = "event-trace")]
        self.record(Step::Pop);
        Some(event)
    }

    #[cfg(feature = "event-trace")]
    fn record(&mut self, step: Step) {
        if let Some(trace) = &mut self.trace {
            trace.push(step);
        }
    }

    /// Time of the next event; `None` if the queue is empty.
    pub(crate) fn next_time(&self) -> Option<Time> {
        if let Some(&entry) = self.serving.last() {
            return Some(self.event(self.current, entry).time());
        }
        let near = self.next_occupied().and_then(|bucket| {
            let first = self.wheel[(bucket % BUCKETS) as usize].iter().min()?;
            Some(self.event(bucket, *first))
        });
        let far = self.far.peek().map(|&Reverse(event)| event);
        near.into_iter().chain(far).min().map(Event::time)
    }

    /// All events, in arbitrary order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Event> {
        let following = (self.current + 1..self.current + BUCKETS).flat_map(move |bucket| {
            let entries = self.wheel[(bucket % BUCKETS) as usize].iter();
            entries.map(move |&entry| self.event(bucket, entry))
        });
        self.present().chain(following).chain(self.far.iter().map(|&Reverse(event)| event))
    }

    fn bucket(&self, event: Event) -> u64 {
        event.time >> self.shift
    }

    fn entry(&self, event: Event) -> Entry {
        let since_start = event.time & ((1 << self.shift) - 1);
        since_start << 32 | u64::from(event.target)
    }

    #[allow(clippy::cast_possible_truncation, reason = "the lower half of an entry is its target")]
    fn event(&self, bucket: u64, entry: Entry) -> Event {
        Event { time: bucket << self.shift | entry >> 32, target: entry as u32 }
    }

    /// Advances to the next bucket that holds an event, if that bucket begins before `end`. No event may be pushed for
    /// an earlier bucket afterwards.
    #[inline(never)]
    fn advance(&mut self, end: Time) -> Option<()> {
        let far = self.far.peek().map(|&Reverse(event)| self.bucket(event));
        let next = match (self.next_occupied(), far) {
            (Some(near), Some(far)) => near.min(far),
            (near, far) => near.or(far)?,
        };
        if next << self.shift >= end.as_ps() {
            return None;
        }
        self.current = next;
        let index = (next % BUCKETS) as usize;
        std::mem::swap(&mut self.serving, &mut self.wheel[index]);
        self.occupied[index / 64] &= !(1 << (index % 64));
        while let Some(&Reverse(event)) = self.far.peek()
            && self.bucket(event) == next
        {
            let entry = self.entry(event);
            self.serving.push(entry);
            self.far.pop();
        }
        self.serving.sort_unstable_by(|a, b| b.cmp(a));
        Some(())
    }

    /// Number of the first bucket of the wheel, after the current bucket, that is not empty.
    fn next_occupied(&self) -> Option<u64> {
        let after = self.current + 1;
        let start = (after % BUCKETS) as usize;
        let bits = self.occupied[start / 64] >> (start % 64);
        if bits != 0 {
            return Some(after + u64::from(bits.trailing_zeros()));
        }
        // The last step examines the word of `start` again, for the buckets below `start`.
        (1..=WORDS).find_map(|step| {
            let bits = self.occupied[(start / 64 + step) % WORDS];
            let ahead = (64 * step - start % 64) as u64 + u64::from(bits.trailing_zeros());
            (bits != 0).then_some(after + ahead)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_by_kind_then_index() {
        let at = |kind, index| Event::new(Time::from_ps(5), kind, index);
        let order = [at(Kind::Discovery, 0), at(Kind::Arrival, 1), at(Kind::Arrival, 2), at(Kind::Wake, 0)];
        assert!(order.is_sorted());
        assert_eq!(order[3].kind(), Kind::Wake);
        assert_eq!(order[2].index(), 2);
    }

    #[test]
    fn the_calendar_wraps() {
        let mut queue = EventQueue::new(10_000, Time::ZERO);
        let at = |bucket: u64| Event { time: bucket << queue.shift, target: 1 };
        let (first, last) = (at(5), at(5 + BUCKETS - 1));
        queue.push(first);
        assert_eq!(queue.pop_before(Time::NEVER), Some(first));
        queue.push(last);
        assert!(queue.far.is_empty());
        assert_eq!(queue.pop_before(last.time()), None);
        assert_eq!(queue.pop_before(Time::NEVER), Some(last));
    }

    proptest! {
        /// Compares the queue with a heap: any sequence of pushes (never into the past), pops and calls of `next_time`
        /// gives the same events and times.
        #[test]
        fn pops_in_order(
            links in 1_usize..10_000,
            steps in proptest::collection::vec((0_u32..40, 0_u32..64, 0_u8..6), 1..400),
        ) {
            let mut queue = EventQueue::new(links, Time::ZERO);
            let mut model = BinaryHeap::new();
            let mut now = 0;
            for (magnitude, index, step) in steps {
                let time = now + (1 << magnitude) - 1;
                match step {
                    0 => {
                        let event = queue.pop_before(Time::NEVER);
                        prop_assert_eq!(event, model.pop().map(|Reverse(event)| event));
                        now = event.map_or(now, |event| event.time);
                    }
                    1 => {
                        let next = model.peek().is_some_and(|&Reverse(event): &Reverse<Event>| event.time < time);
                        let expected = next.then(|| model.pop()).flatten().map(|Reverse(event)| event);
                        prop_assert_eq!(queue.pop_before(Time::from_ps(time)), expected);
                        now = expected.map_or(time, |event| event.time);
                    }
                    2 => {
                        let next = model.peek().map(|Reverse(event)| event.time());
                        prop_assert_eq!(queue.next_time(), next);
                    }
                    _ => {
                        let event = Event { time, target: index };
                        queue.push(event);
                        model.push(Reverse(event));
                    }
                }
            }
            while let Some(Reverse(event)) = model.pop() {
                prop_assert_eq!(queue.pop_before(Time::NEVER), Some(event));
            }
            prop_assert_eq!(queue.pop_before(Time::NEVER), None);
        }
    }
}
