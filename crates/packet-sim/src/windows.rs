//! Runs each partition on a separate thread. The threads advance together, in windows of simulated time (conservative
//! synchronisation in windows: Nicol, J. ACM 40(2), 1993).
//!
//! Every link between partitions has a delay. If a window is not longer than the smallest of these delays, its events
//! affect other partitions only after the window. In a window every thread processes its partition's events. Then all
//! threads meet at a barrier and receive the packets from other partitions. The next window begins with the earliest
//! event of any partition. Every failure and every repair begins a new window. At a failure, the partition at the
//! link's far end therefore already has all packets that are on the link.
//!
//! Two sets of mailboxes are used in turn, so no thread fills a mailbox that another thread is still
//! emptying. One barrier per window is therefore enough.

use crate::barrier::{Barrier, Broken};
use crate::events::Event;
use crate::mail::Mail;
use crate::observer::Heard;
use crate::partition::Partition;
use raddle_core::{Duration, Progress, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State that the threads share.
pub(crate) struct Windows<'a> {
    barrier: Barrier,
    lookahead: Duration,
    /// End of the run: events from this time on are not processed.
    end: Time,
    /// Times at which links fail and recover, in order.
    changes: &'a [Time],
    /// The two sets of mailboxes, used in turn.
    boxes: [Boxes; 2],
}

struct Boxes {
    /// Indexed by partition: the state that the partition reports.
    desks: Vec<Desk>,
    /// The first partition's thread sets this flag to stop the run of all partitions.
    stop: AtomicBool,
    /// A mailbox for each pair of partitions, indexed by the sender and then by the receiver.
    mail: Vec<Vec<Mutex<Vec<Mail>>>>,
}

/// State that a partition reports after a window.
#[derive(Default)]
#[repr(align(64))]
struct Desk {
    next_event: AtomicU64,
    events: AtomicU64,
    packet_hops: AtomicU64,
    flows_delivered: AtomicU64,
    log: Mutex<Vec<(Event, u64, Heard)>>,
}

impl Boxes {
    /// Returns the sum of a counter over all partitions.
    fn sum(&self, of: fn(&Desk) -> &AtomicU64) -> u64 {
        self.desks.iter().map(|desk| of(desk).load(Ordering::Relaxed)).sum()
    }
}

/// The reason why the partitions have stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// No partition has an event left before the time `end` of the run.
    End,
    /// The caller stopped the run.
    Stopped,
    /// The fabric must be divided in another way.
    Divide,
}

/// A view of all partitions between two windows.
pub(crate) struct Look<'a> {
    boxes: &'a Boxes,
    now: Time,
}

impl Look<'_> {
    /// Number of events processed since the start of the run.
    pub(crate) fn events(&self) -> u64 {
        self.boxes.sum(|desk| &desk.events)
    }

    pub(crate) fn progress(&self) -> Progress {
        let packet_hops = self.boxes.sum(|desk| &desk.packet_hops);
        let flows_delivered = self.boxes.sum(|desk| &desk.flows_delivered);
        Progress { now: self.now, packet_hops, flows_delivered }
    }

    /// Moves the log entries of the latest window to the end of `all`.
    pub(crate) fn hear(&self, all: &mut Vec<(Event, u64, Heard)>) {
        for desk in &self.boxes.desks {
            all.append(&mut locked(&desk.log));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Windows<'a> {
    /// Creates the shared state of `parts` partitions on a machine with `cores` cores.
    pub(crate) fn new(
        parts: usize,
        cores: usize,
        lookahead: Duration,
        end: Time,
        changes: &'a [Time],
    ) -> Self {
        let boxes = || Boxes {
            desks: (0..parts).map(|_| Desk::default()).collect(),
            stop: AtomicBool::new(false),
            mail: (0..parts).map(|_| (0..parts).map(|_| Mutex::default()).collect()).collect(),
        };
        Self { barrier: Barrier::new(parts, cores), lookahead, end, changes, boxes: [boxes(), boxes()] }
    }

    /// Runs the partitions until no partition has an event before the time `end`, or until `watch` returns a reason to
    /// stop. In the latter case, one more window is run. `watch` is called before the first window and after every
    /// window. The first partition runs on this thread. Returns why the run has stopped.
    pub(crate) fn run(
        &self,
        partitions: &mut [Partition],
        mut watch: impl FnMut(&Look<'_>) -> Option<Ended>,
    ) -> Ended {
        let (first, others) = partitions.split_first_mut().expect("there must be at least one partition");
        std::thread::scope(|scope| {
            for partition in others {
                scope.spawn(move || {
                    let _guard = self.barrier.guard();
                    // The thread that panicked reports its panic.
                    let _ = self.work(partition, |_, _| false);
                });
            }
            let _guard = self.barrier.guard();
            let mut why = None;
            let result = self.work(first, |boxes, now| {
                let reason = watch(&Look { boxes, now });
                why = why.or(reason);
                why.is_some()
            });
            match result {
                Ok(true) => why.filter(|&why| why == Ended::Divide).unwrap_or(Ended::End),
                Ok(false) => why.expect("a stopped run must have a reason"),
                // A thread has panicked, so the scope panics too, and this value is never used.
                Err(Broken) => Ended::Stopped,
            }
        })
    }

    /// Runs one partition, window by window. Calls `after` before the first window and after every window. If `after`
    /// returns true, the run of all partitions stops after one more window. Returns true if no event is left before the
    /// time `end`, and false if the run was stopped.
    fn work(
        &self,
        partition: &mut Partition,
        mut after: impl FnMut(&Boxes, Time) -> bool,
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
            desk.events.store(partition.totals().events, Ordering::Relaxed);
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
            let next = Time::from_ps(next.expect("there must be at least one partition"));
            // On the thread of the first partition, `after` decides whether to stop the run. All threads act on this
            // decision after the next barrier.
            stop = after(boxes, next);
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
        unreachable!("only a `return` ends the loop over windows")
    }
}
