//! Runs the barrier's source, compiled with loom's atomics and locks, through interleavings of two and three threads.
//! The tests check that no thread passes a round of the barrier before all threads have reached it, that each thread
//! sees all writes that other threads made before the barrier, and that no thread sleeps forever. If a thread fails and
//! will never reach the barrier, the other threads must be released.

#[path = "../src/barrier.rs"]
#[expect(dead_code, reason = "the threads of these tests do not panic, so they need no guard")]
mod barrier;

mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
    pub(crate) use std::thread::panicking;

    /// Number of spins before a waiting thread sleeps. It is small, because loom may switch threads at each
    /// spin.
    pub(crate) const SPINS: u32 = 1;
}

use barrier::{Barrier, Broken};
use loom::sync::Arc;
use loom::thread;
use sync::{AtomicUsize, Ordering};

/// Runs `work` on `threads` threads through all interleavings with at most `preemptions` preemptions.
/// `cores` decides whether threads spin. Loom fails if a thread sleeps forever.
fn check(threads: usize, cores: usize, preemptions: usize, work: fn(usize, &Barrier, &[AtomicUsize])) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let barrier = Arc::new(Barrier::new(threads, cores));
        let rounds: Arc<Vec<_>> = Arc::new((0..threads).map(|_| AtomicUsize::new(0)).collect());
        let others: Vec<_> = (1..threads)
            .map(|me| {
                let (barrier, rounds) = (Arc::clone(&barrier), Arc::clone(&rounds));
                thread::spawn(move || work(me, &barrier, &rounds))
            })
            .collect();
        work(0, &barrier, &rounds);
        others.into_iter().for_each(|other| other.join().expect("no thread panics"));
    });
}

/// Checks the order of memory accesses. Loom may return stale values for relaxed loads, unless the barrier orders the
/// loads after the stores.
fn rounds(me: usize, barrier: &Barrier, rounds: &[AtomicUsize]) {
    for round in 1..=2 {
        rounds[me].store(round, Ordering::Relaxed);
        barrier.wait().expect("nobody panics");
        for other in rounds {
            let other = other.load(Ordering::Relaxed);
            assert!(other == round || other == round + 1, "{other} against {round}");
        }
    }
}

#[test]
fn two_threads_that_spin_and_sleep_meet() {
    check(2, 2, 3, rounds);
}

#[test]
fn two_threads_that_sleep_at_once_meet() {
    check(2, 1, 3, rounds);
}

#[test]
fn three_threads_meet() {
    check(3, 1, 2, rounds);
}

#[test]
fn a_thread_that_will_never_come_frees_the_others() {
    check(3, 1, 2, |me, barrier, _| {
        if me == 0 {
            barrier.break_up();
        } else {
            assert_eq!(barrier.wait(), Err(Broken));
        }
    });
}
