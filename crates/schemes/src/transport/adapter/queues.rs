//! The queues of an adapter. A queue is ready if it has frames and its rate limiter allows one now. The adapter serves
//! the highest priority that is not paused and has a ready queue. The ready queues of this priority take turns.

use super::{Lane, RateLimiter};
use raddle_core::{Paused, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of one flow that joined a queue at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The flow's index in the host's list of outgoing flows.
    pub(super) flow: u32,
    pub(super) bytes: u64,
    pub(super) birth: Time,
}

/// One queue.
#[derive(Debug)]
struct Queue<L> {
    priority: u8,
    chunks: VecDeque<Chunk>,
    limiter: L,
    state: State,
}

/// The state of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The queue has been removed, and its index can be reused.
    Vacant,
    Empty,
    /// The queue waits for its turn.
    Waiting,
    /// The queue's rate limiter allows no frame before this time.
    Limited(Time),
}

impl<L: RateLimiter> Queue<L> {
    /// True if the queue exists and its limiter's timer is due at time `at`.
    fn has_timer(&self, at: Time) -> bool {
        self.state != State::Vacant && self.limiter.timer() == at
    }
}

/// All queues of an adapter.
#[derive(Debug)]
pub(super) struct Queues<L> {
    places: FxHashMap<Lane, u32>,
    queues: Vec<Queue<L>>,
    /// Indices of removed queues, which new queues reuse.
    vacant: Vec<u32>,
    /// Indexed by priority: the waiting queues, in order of their turns.
    turns: [VecDeque<u32>; 8],
    /// One bit per priority: set if a queue of this priority waits for its turn.
    waiting: u8,
    /// Times at which rate limiters release queues, each with the queue's index. An entry is stale unless the queue's
    /// state is [`State::Limited`] with the time of the entry.
    limited: BinaryHeap<Reverse<(Time, u32)>>,
    /// Times of the rate limiters' timers, each with the queue's index. An entry is stale unless the queue exists and
    /// its limiter's timer has the time of the entry.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
}

impl<L: RateLimiter> Queues<L> {
    pub(super) fn new() -> Self {
        Self {
            places: FxHashMap::default(),
            queues: Vec::new(),
            vacant: Vec::new(),
            turns: Default::default(),
            waiting: 0,
            limited: BinaryHeap::new(),
            timers: BinaryHeap::new(),
        }
    }

    /// Returns the index of a queue, and creates the queue if it does not exist. The index stays the same until the
    /// queue is removed.
    pub(super) fn place(&mut self, lane: Lane, priority: u8, limiter: impl FnOnce() -> L) -> u32 {
        let Self { places, queues, vacant, .. } = self;
        *places.entry(lane).or_insert_with(|| {
            let (chunks, state) = (VecDeque::new(), State::Empty);
            let queue = Queue { priority, chunks, limiter: limiter(), state };
            match vacant.pop() {
                Some(place) => {
                    queues[place as usize] = queue;
                    place
                }
                None => {
                    queues.push(queue);
                    u32::try_from(queues.len() - 1).expect("a host must have fewer than 2^32 queues")
                }
            }
        })
    }

    /// Appends bytes of a flow to the queue at index `place`.
    pub(super) fn push(&mut self, now: Time, place: u32, chunk: Chunk) {
        let queue = &mut self.queues[place as usize];
        queue.chunks.push_back(chunk);
        if queue.state == State::Empty {
            self.enter(now, place);
        }
    }

    /// Makes a non-empty queue wait for its turn, or for its rate limiter if the limiter allows no frame now.
    fn enter(&mut self, now: Time, place: u32) {
        let queue = &mut self.queues[place as usize];
        let ready = queue.limiter.ready_at();
        if ready <= now {
            queue.state = State::Waiting;
            let priority = queue.priority;
            self.turns[usize::from(priority)].push_back(place);
            self.waiting |= 1 << priority;
        } else {
            queue.state = State::Limited(ready);
            self.limited.push(Reverse((ready, place)));
        }
    }

    /// Removes at most `most` bytes for the next frame from the queue whose turn it is. Returns them as a chunk, or
    /// `None` if no queue may send now.
    #[allow(clippy::cast_possible_truncation, reason = "a frame's payload is at most the MTU")]
    pub(super) fn next(&mut self, now: Time, most: u32, paused: Paused) -> Option<Chunk> {
        self.free(now);
        loop {
            let priority = (self.waiting & !paused.0).checked_ilog2()?;
            let turn = &mut self.turns[priority as usize];
            let place = turn.pop_front()?;
            if turn.is_empty() {
                self.waiting &= !(1 << priority);
            }
            let queue = &mut self.queues[place as usize];
            if queue.limiter.ready_at() > now {
                self.enter(now, place); // a notice that arrived while the queue waited has limited the queue
                continue;
            }
            let front = queue.chunks.front_mut().expect("a queue must not be empty when its turn comes");
            let bytes = front.bytes.min(most.into());
            let taken = Chunk { bytes, ..*front };
            front.bytes -= bytes;
            if front.bytes == 0 {
                queue.chunks.pop_front();
            }
            let empty = queue.chunks.is_empty();
            queue.limiter.sent(now, bytes as u32, empty);
            if empty {
                queue.state = State::Empty;
            } else {
                self.enter(now, place);
            }
            return Some(taken);
        }
    }

    /// Handles each queue whose release time has come. The queue then waits for its turn, or for its rate limiter again
    /// if the limiter still allows no frame.
    fn free(&mut self, now: Time) {
        while let Some(&Reverse((at, place))) = self.limited.peek()
            && at <= now
        {
            self.limited.pop();
            if self.queues[place as usize].state == State::Limited(at) {
                self.enter(now, place);
            }
        }
    }

    /// Replaces the contents of a queue by `chunk`, or empties the queue if there is no chunk.
    pub(super) fn replace(&mut self, now: Time, place: u32, chunk: Option<Chunk>) {
        let Queue { chunks, state, priority, .. } = &mut self.queues[place as usize];
        chunks.clear();
        chunks.extend(chunk);
        match (chunk, *state) {
            (Some(_), State::Empty) => self.enter(now, place),
            (None, State::Waiting) => {
                *state = State::Empty;
                let turn = &mut self.turns[usize::from(*priority)];
                turn.retain(|&other| other != place);
                if turn.is_empty() {
                    self.waiting &= !(1 << *priority);
                }
            }
            (None, _) => *state = State::Empty,
            (Some(_), _) => {} // the queue already waits
        }
    }

    /// Removes the queue if it exists and is empty, without waiting for its rate limiter's timer. Entries of `limited`
    /// and `timers` for this index remain, but do no harm. For the next queue at this index, such an entry is stale or
    /// happens to have the correct time.
    pub(super) fn forget(&mut self, lane: Lane) {
        if let Entry::Occupied(entry) = self.places.entry(lane)
            && let state @ State::Empty = &mut self.queues[*entry.get() as usize].state
        {
            *state = State::Vacant;
            self.vacant.push(entry.remove());
        }
    }

    /// Number of queue indices, both used and vacant.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.queues.len()
    }

    /// Calls `tell` with the limiter of a queue, if the queue exists.
    pub(super) fn tell(&mut self, now: Time, lane: Lane, tell: impl FnOnce(&mut L)) {
        let Some(&place) = self.places.get(&lane) else { return };
        tell(&mut self.queues[place as usize].limiter);
        self.changed(now, place);
    }

    /// Updates the timer and the release time of a queue whose rate limiter may have changed.
    fn changed(&mut self, now: Time, place: u32) {
        let queue = &self.queues[place as usize];
        let timer = queue.limiter.timer();
        if timer < Time::NEVER {
            self.timers.push(Reverse((timer, place)));
        }
        if matches!(queue.state, State::Limited(at) if at != queue.limiter.ready_at()) {
            self.enter(now, place);
        }
    }

    /// Fires the limiters' timers that are due.
    pub(super) fn fire(&mut self, now: Time) {
        while let Some(&Reverse((at, place))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let queue = &mut self.queues[place as usize];
            if queue.has_timer(at) {
                queue.limiter.fire(now);
                self.changed(now, place);
            }
        }
    }

    /// Time of the next timer of a rate limiter, or [`Time::NEVER`].
    pub(super) fn next_timer(&mut self) -> Time {
        let Self { timers, queues, .. } = self;
        earliest(timers, |place, at| queues[place as usize].has_timer(at))
    }

    /// Time of the next release of a queue by its limiter, or [`Time::NEVER`].
    pub(super) fn next_free(&mut self) -> Time {
        let Self { limited, queues, .. } = self;
        earliest(limited, |place, at| queues[place as usize].state == State::Limited(at))
    }
}

/// The time of the first entry that is not stale, or [`Time::NEVER`]. Removes the stale entries before this entry.
/// `counts` returns false for stale entries.
fn earliest(heap: &mut BinaryHeap<Reverse<(Time, u32)>>, counts: impl Fn(u32, Time) -> bool) -> Time {
    while let Some(&Reverse((at, place))) = heap.peek() {
        if counts(place, at) {
            return at;
        }
        heap.pop();
    }
    Time::NEVER
}
