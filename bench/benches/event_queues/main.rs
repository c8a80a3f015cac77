//! Compares data structures for the packet engine's event queue on recorded queue operations of the benchmarks'
//! workloads (`docs/src/decisions/0006-event-queue.md` has the results).
//!
//! `cargo bench -p raddle-bench --features event-trace --bench event_queues [-- WORK [STRUCTURE]]`.
//! The benchmark runs each workload for a short simulated time and records the pushes and pops.
//! Then the benchmark replays these pushes and pops on each structure. All structures must pop the
//! same events in the same order. Under `valgrind --tool=callgrind --toggle-collect='*answer*'`,
//! only the instructions of the replays are counted.

mod heaps;
mod radix;
mod wheel;

use raddle_bench::works::{WORKS, Work};
use raddle_core::Duration;
use raddle_packet_sim::event_trace::{EngineQueue, Step};
use std::hint::black_box;
use std::time::Instant;

/// An event: its time in picoseconds, and its target (the event's kind and the index of its link, node or change).
/// Events are ordered by time, then by target.
type Event = (u64, u32);

/// A priority queue of events. The time of a pushed event is never before the time of the most recently popped event.
trait Queue {
    /// Creates an empty queue for a fabric with `links` links.
    fn new(links: usize) -> Self;
    fn push(&mut self, event: Event);
    fn pop(&mut self) -> Option<Event>;
}

impl Queue for EngineQueue {
    fn new(links: usize) -> Self {
        Self::new(links)
    }

    fn push(&mut self, (time, target): Event) {
        self.push(time, target);
    }

    fn pop(&mut self) -> Option<Event> {
        self.pop()
    }
}

type Answer = fn(usize, &[Step]) -> u64;

const STRUCTURES: [(&str, Answer); 5] = [
    ("binary-heap", answer::<heaps::Binary>),
    ("4-ary-heap", answer::<heaps::Quaternary>),
    ("radix-heap", answer::<radix::RadixHeap>),
    ("timing-wheels", answer::<wheel::Wheels>),
    ("engine", answer::<EngineQueue>),
];

/// Returns the simulated time for which a workload is recorded.
fn recorded(work: &Work) -> Duration {
    match work.name {
        "fat-tree-16" => Duration::from_us(200),
        "torus" | "pfq" => Duration::from_us(400),
        "incast" => Duration::from_us(200_000),
        _ => Duration::from_us(1_000),
    }
}

/// Least number of events that a measurement pops.
const EVENTS: usize = 5_000_000;

/// Replays a trace on an initially empty queue. Returns a hash of the popped events in their order.
#[inline(never)]
fn answer<Q: Queue>(links: usize, steps: &[Step]) -> u64 {
    let mut queue = Q::new(links);
    let mut hash = 0_u64;
    for step in steps {
        match *step {
            Step::Push { time, target } => queue.push((time, target)),
            Step::Pop => {
                let (time, target) = queue.pop().expect("the queue must have an event for each pop");
                hash = (hash ^ time ^ u64::from(target) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
        }
    }
    hash
}

#[expect(clippy::disallowed_methods, reason = "a benchmark must read the clock")]
#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn compare(work: &Work, only: Option<&str>) {
    let mut simulation = work.run(recorded(work));
    let trace = simulation.take_event_trace().remove(0);
    let links = simulation.link_stats().len();
    let pops = trace.iter().filter(|step| **step == Step::Pop).count();
    let mut waiting = 0_usize;
    let mut most = 0;
    for step in &trace {
        waiting = if *step == Step::Pop { waiting - 1 } else { waiting + 1 };
        most = most.max(waiting);
    }
    println!("{}: {pops} events, at most {most} in the queue at once, {links} links", work.name);
    let mut expected = None;
    for (name, answer) in STRUCTURES {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let repeats = EVENTS.div_ceil(pops);
        let start = Instant::now();
        let mut hash = 0;
        for _ in 0..repeats {
            hash = answer(links, black_box(&trace));
        }
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(
            *expected.get_or_insert(hash),
            hash,
            "the event queue `{name}` must pop the same events as the first queue"
        );
        println!("  {name:13} {:6.1} ns per event", seconds * 1e9 / (repeats * pops) as f64);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for work in WORKS {
        if words.first().is_none_or(|word| word == work.name) {
            compare(work, words.get(1).map(String::as_str));
        }
    }
}
