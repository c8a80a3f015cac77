//! Measures the rack's rings alone: packets per second through a ring in one thread and between two threads, and the
//! time that a packet takes from one core to another.
//!
//! `cargo bench --bench rings`

#![allow(clippy::cast_possible_truncation, reason = "the numbers in the benchmarks are small")]

#[path = "../../crates/live/src/rack/ring.rs"]
#[expect(dead_code, reason = "this benchmark does not use all functions of the module `ring`")]
mod ring;

mod sync {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}

use ring::{Consumer, Entry, Producer, words};
use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use sync::AtomicU64;

const CAPACITY: usize = 1 << 10;
const PACKETS: u32 = 50_000_000;
const HOPS: usize = 1_000_000;

#[derive(Clone)]
struct Shared(Arc<Vec<AtomicU64>>);

impl Shared {
    fn new() -> Self {
        Self(Arc::new((0..words(CAPACITY)).map(|_| AtomicU64::new(0)).collect()))
    }
}

impl Deref for Shared {
    type Target = [AtomicU64];
    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

fn entry(number: u32) -> Entry {
    Entry { due: u64::from(number), slot: number, len: 8_192, tag: 0 }
}

/// Pushes bursts that fill half of the ring, and takes each burst out. Returns millions of packets per second.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn one_thread() -> f64 {
    let memory = Shared::new();
    let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
    let begin = Instant::now();
    let mut number = 0;
    while number < PACKETS {
        for _ in 0..CAPACITY / 2 {
            assert_eq!(producer.push(entry(number)), Ok(true));
            number += 1;
        }
        while let Ok(Some(_)) = consumer.peek() {
            consumer.take();
        }
    }
    f64::from(number) / begin.elapsed().as_secs_f64() / 1e6
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn two_threads() -> f64 {
    let memory = Shared::new();
    let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut number = 0;
            while number < PACKETS {
                if producer.push(entry(number)) == Ok(true) {
                    number += 1;
                } else {
                    std::hint::spin_loop();
                }
            }
        });
        let mut taken = 0;
        while taken < PACKETS {
            if let Ok(Some(_)) = consumer.peek() {
                consumer.take();
                taken += 1;
            } else {
                std::hint::spin_loop();
            }
        }
    });
    f64::from(PACKETS) / begin.elapsed().as_secs_f64() / 1e6
}

/// Returns half of a packet's round-trip time to another core, in ns: p50 and p99.
fn between_cores() -> [f64; 2] {
    let (there, back) = (Shared::new(), Shared::new());
    let (mut put, mut arrived) = (Producer::new(there.clone()), Consumer::new(there));
    let (mut answer, mut answered) = (Producer::new(back.clone()), Consumer::new(back));
    let mut took = Vec::with_capacity(HOPS);
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..HOPS {
                while !matches!(arrived.peek(), Ok(Some(_))) {
                    std::hint::spin_loop();
                }
                arrived.take();
                let _ = answer.push(entry(0));
            }
        });
        let clock = quanta::Clock::new();
        for number in 0..HOPS {
            let begin = clock.raw();
            let _ = put.push(entry(number as u32));
            while !matches!(answered.peek(), Ok(Some(_))) {
                std::hint::spin_loop();
            }
            answered.take();
            took.push(clock.delta_as_nanos(begin, clock.raw()) as f64 / 2.0);
        }
    });
    took.sort_unstable_by(f64::total_cmp);
    [0.5, 0.99].map(|share| took[(share * HOPS as f64) as usize])
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    println!("one thread    {:.1} M packets/s", one_thread());
    println!("two threads   {:.1} M packets/s", two_threads());
    let [p50, p99] = between_cores();
    println!("one-way delay {p50:.0} ns (p50), {p99:.0} ns (p99), between two cores");
}
