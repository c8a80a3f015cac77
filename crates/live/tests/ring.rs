//! Compiles the ring's source with loom's atomics, and tests all interleavings of the producer and the consumer with at
//! most three preemptions. Packets come out complete, once, and in order, and a full ring refuses packets.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

#[path = "../src/rack/ring.rs"]
mod ring;

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

use loom::sync::Arc;
use loom::thread;
use ring::{Consumer, Entry, Producer, words};
use std::ops::Deref;
use sync::AtomicU64;

#[derive(Clone)]
struct Shared(Arc<Vec<AtomicU64>>);

impl Deref for Shared {
    type Target = [AtomicU64];
    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

fn entry(number: u32) -> Entry {
    Entry { due: u64::from(number) * 10, slot: number, len: number + 100, tag: number as u8 + 7 }
}

fn check(capacity: usize, packets: u32) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let memory = Shared(Arc::new((0..words(capacity)).map(|_| AtomicU64::new(0)).collect()));
        let mut producer = Producer::new(memory.clone());
        let producing = thread::spawn(move || {
            let mut next = 0;
            while next < packets {
                if producer.push(entry(next)).expect("an honest consumer") {
                    next += 1;
                } else {
                    assert!(packets as usize > capacity, "a ring with room for all never refuses");
                    thread::yield_now();
                }
            }
        });
        let mut consumer = Consumer::new(memory);
        let mut next = 0;
        while next < packets {
            match consumer.peek().expect("an honest producer") {
                Some(found) => {
                    assert_eq!(found, entry(next));
                    consumer.take();
                    next += 1;
                }
                None => thread::yield_now(),
            }
        }
        producing.join().expect("no panic");
    });
}

#[test]
fn packets_come_out_in_order() {
    check(4, 3);
}

#[test]
fn a_full_ring_refuses_until_there_is_room() {
    check(1, 3);
    check(2, 4);
}

#[test]
fn a_ring_tells_when_half_of_it_is_full() {
    loom::model(|| {
        let memory = Shared(Arc::new((0..words(4)).map(|_| AtomicU64::new(0)).collect()));
        let (mut producer, mut consumer) = (Producer::new(memory.clone()), Consumer::new(memory));
        let mut seen = vec![producer.is_half_full()];
        for number in 0..2 {
            producer.push(entry(number)).expect("an honest consumer");
            seen.push(producer.is_half_full());
        }
        consumer.peek().expect("an honest producer").expect("a packet");
        consumer.take();
        seen.push(producer.is_half_full());
        assert_eq!(seen, [false, false, true, false]);
    });
}
