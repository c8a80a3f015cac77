//! Queues of an adapter: the highest priority first that is not paused, and in it each in turn as far as
//! limiters allow.

use super::{Lane, RateLimiter};
use raddle_core::{Paused, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, VecDeque};

/// What waits in a queue: bytes of a flow, born together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The flow's place among those that the host sends.
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

/// Where a queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The queue is forgotten, and its place to be used again.
    Vacant,
    Empty,
    /// Its turn will come.
    Waiting,
    /// Its limiter holds it back until then.
    Limited(Time),
}

impl<L: RateLimiter> Queue<L> {
    /// Whether the limiter wants to be asked at that time.
    fn has_timer(&self, at: Time) -> bool {
        self.state != State::Vacant && self.limiter.timer() == at
    }
}

/// All queues of an adapter.
#[derive(Debug)]
pub(super) struct Queues<L> {
    places: FxHashMap<Lane, u32>,
    queues: Vec<Queue<L>>,
    /// Places of queues that are forgotten, to use again.
    vacant: Vec<u32>,
    /// By priority, queues whose turn will come, next one first.
    turns: [VecDeque<u32>; 8],
    /// One bit a priority of which a queue waits.
    waiting: u8,
    /// Queues that may be free again; out of date unless the queue agrees.
    limited: BinaryHeap<Reverse<(Time, u32)>>,
    /// When limiters want to be asked; out of date unless the limiter agrees.
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

    /// The place of a queue, which may be new. It stays the same until the queue is forgotten.
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
                    u32::try_from(queues.len() - 1).expect("fewer than 2^32 queues")
                }
            }
        })
    }

    /// Puts bytes of a flow behind what waits in the queue of that place.
    pub(super) fn push(&mut self, now: Time, place: u32, chunk: Chunk) {
        let queue = &mut self.queues[place as usize];
        queue.chunks.push_back(chunk);
        if queue.state == State::Empty {
            self.enter(now, place);
        }
    }

    /// A queue that is not empty waits for its turn, or for its limiter.
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

    /// Takes bytes for the next frame, `most` at most, off the queue whose turn it is. Returns them as a chunk.
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
                self.enter(now, place); // a notice came while it waited
                continue;
            }
            let front = queue.chunks.front_mut().expect("only queues with something in them take turns");
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

    /// Queues whose limiters have let go take turns again.
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

    /// Puts `chunk` in the place of all that waits in a queue, or empties the queue.
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
            (Some(_), _) => {} // its turn comes as before
        }
    }

    /// Forgets a queue in which nothing waits; its limiter's timer is not waited for. What `limited` and `timers` still say of its
    /// place does no harm: where it agrees with the next queue there, that one is asked when it wants to be.
    pub(super) fn forget(&mut self, lane: Lane) {
        if let Entry::Occupied(entry) = self.places.entry(lane)
            && let state @ State::Empty = &mut self.queues[*entry.get() as usize].state
        {
            *state = State::Vacant;
            self.vacant.push(entry.remove());
        }
    }

    /// Places of queues, those to use again included.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.queues.len()
    }

    /// Tells the limiter of a queue something, if there is such a queue.
    pub(super) fn tell(&mut self, now: Time, lane: Lane, tell: impl FnOnce(&mut L)) {
        let Some(&place) = self.places.get(&lane) else { return };
        tell(&mut self.queues[place as usize].limiter);
        self.changed(now, place);
    }

    /// A limiter may have changed its mind.
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

    /// Asks the limiters whose timers are due.
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

    /// When a timer is due.
    pub(super) fn next_timer(&mut self) -> Time {
        let Self { timers, queues, .. } = self;
        earliest(timers, |place, at| queues[place as usize].has_timer(at))
    }

    /// When a queue that its limiter holds back may be free again.
    pub(super) fn next_free(&mut self) -> Time {
        let Self { limited, queues, .. } = self;
        earliest(limited, |place, at| queues[place as usize].state == State::Limited(at))
    }
}

/// The first time of those that still count.
fn earliest(heap: &mut BinaryHeap<Reverse<(Time, u32)>>, counts: impl Fn(u32, Time) -> bool) -> Time {
    while let Some(&Reverse((at, place))) = heap.peek() {
        if counts(place, at) {
            return at;
        }
        heap.pop();
    }
    Time::NEVER
}
