//! Partitions on threads of their own, in step (conservative synchronisation in windows: Nicol, J. ACM 40(2), 1993).
//!
//! No link between partitions is without delay, so what happens in a window no longer than the least of these delays
//! concerns other partitions only after it. In a window every thread takes its partition's events; then all meet, and
//! take in what the others have sent. The next window begins with the earliest event anywhere. Failures begin windows:
//! by then all that was on its way over a link is known where it arrives.
//!
//! Boxes are used in turn, so that one meeting a window is enough: nobody fills a box that somebody may still empty.

use crate::barrier::{Barrier, Broken};
use crate::events::Event;
use crate::mail::Mail;
use crate::observer::Heard;
use crate::partition::Partition;
use raddle_core::{Duration, Progress, Time};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What threads share.
pub(crate) struct Windows<'a> {
    barrier: Barrier,
    lookahead: Duration,
    /// Nothing happens from here on.
    end: Time,
    /// When links fail and recover, in order.
    changes: &'a [Time],
    /// By turn.
    boxes: [Boxes; 2],
}

struct Boxes {
    /// By partition.
    desks: Vec<Desk>,
    /// The first partition's thread says that this is the end.
    stop: AtomicBool,
    /// From each partition to each.
    mail: Vec<Vec<Mutex<Vec<Mail>>>>,
}

/// What a partition says of itself after a window.
#[derive(Default)]
#[repr(align(64))]
struct Desk {
    next_event: AtomicU64,
    packet_hops: AtomicU64,
    flows_delivered: AtomicU64,
    log: Mutex<Vec<(Event, u64, Heard)>>,
}

/// How many windows pass before the caller is asked whether to go on, and told what was heard.
const WINDOWS_A_CHECK: u32 = 256;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Windows<'a> {
    pub(crate) fn new(parts: usize, lookahead: Duration, end: Time, changes: &'a [Time]) -> Self {
        let boxes = || Boxes {
            desks: (0..parts).map(|_| Desk::default()).collect(),
            stop: AtomicBool::new(false),
            mail: (0..parts).map(|_| (0..parts).map(|_| Mutex::default()).collect()).collect(),
        };
        Self { barrier: Barrier::new(parts), lookahead, end, changes, boxes: [boxes(), boxes()] }
    }

    /// Runs partitions until none has an event before the end, or `check` says stop. The first of them runs on this
    /// thread, which hands what was heard to `tell`. Returns whether the end was reached.
    pub(crate) fn run(
        &self,
        partitions: &mut [Partition],
        mut tell: impl FnMut(&mut Vec<(Event, u64, Heard)>),
        mut check: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> bool {
        let (first, others) = partitions.split_first_mut().expect("a fabric has a part");
        std::thread::scope(|scope| {
            for partition in others {
                scope.spawn(move || {
                    let _guard = self.barrier.guard();
                    // A panic elsewhere is told there.
                    let _ = self.work(partition, |_, _| ControlFlow::Continue(()));
                });
            }
            let _guard = self.barrier.guard();
            let mut heard = Vec::new();
            let mut windows = 0;
            let ended = self.work(first, |boxes, now| {
                for desk in &boxes.desks {
                    heard.append(&mut locked(&desk.log));
                }
                windows += 1;
                if windows == WINDOWS_A_CHECK {
                    windows = 0;
                    tell(&mut heard);
                    let sum = |of: fn(&Desk) -> &AtomicU64| {
                        boxes.desks.iter().map(|desk| of(desk).load(Ordering::Relaxed)).sum()
                    };
                    let (packet_hops, flows_delivered) =
                        (sum(|desk| &desk.packet_hops), sum(|desk| &desk.flows_delivered));
                    return check(&Progress { now, packet_hops, flows_delivered });
                }
                ControlFlow::Continue(())
            });
            tell(&mut heard);
            // If a thread has panicked, the scope panics.
            ended == Ok(true)
        })
    }

    /// Runs one partition. Returns whether the end was reached, rather than being stopped.
    fn work(
        &self,
        partition: &mut Partition,
        mut after: impl FnMut(&Boxes, Time) -> ControlFlow<()>,
    ) -> Result<bool, Broken> {
        let mut stop = false;
        for boxes in self.boxes.iter().cycle() {
            let number = partition.number;
            let desk = &boxes.desks[number];
            for (mail, to) in partition.outgoing().zip(&boxes.mail[number]) {
                if !mail.is_empty() {
                    std::mem::swap(mail, &mut locked(to));
                }
            }
            if partition.has_heard() {
                partition.drain_log(&mut locked(&desk.log));
            }
            desk.next_event.store(partition.next_event().as_ps(), Ordering::Relaxed);
            desk.packet_hops.store(partition.totals().packet_hops, Ordering::Relaxed);
            desk.flows_delivered.store(partition.totals().flows_delivered, Ordering::Relaxed);
            if stop {
                boxes.stop.store(true, Ordering::Relaxed);
            }
            self.barrier.wait()?;
            for from in &boxes.mail {
                let mut mail = locked(&from[partition.number]);
                mail.drain(..).for_each(|mail| partition.receive(mail));
            }
            let next = boxes.desks.iter().map(|desk| desk.next_event.load(Ordering::Relaxed)).min();
            let next = Time::from_ps(next.expect("a fabric has a part"));
            // Only the first partition's thread has a say, and everyone hears it after the next meeting.
            stop = after(boxes, next).is_break();
            if next >= self.end {
                return Ok(true);
            }
            if boxes.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let change = self.changes.partition_point(|&change| change <= next);
            let change = self.changes.get(change).copied().unwrap_or(Time::NEVER);
            partition.run((next + self.lookahead).min(self.end).min(change), u64::MAX);
        }
        unreachable!("turns never end")
    }
}
