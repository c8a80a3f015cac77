//! The synchronisation primitives of the barrier. The barrier's test (`tests/barrier.rs`) replaces this module with a
//! module of loom's primitives.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread::panicking;

/// Number of spins before a waiting thread sleeps. The spins take about 50 us, which is about the time to wake a
/// thread.
pub(crate) const SPINS: u32 = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barrier::{Barrier, Broken};

    /// The test runs twice: with one core per thread, where waiting threads spin, and with one core in
    /// total, where waiting threads sleep.
    #[test]
    fn no_thread_is_a_round_ahead() {
        const THREADS: usize = 4;
        for cores in [THREADS, 1] {
            let barrier = Barrier::new(THREADS, cores);
            let rounds: [AtomicUsize; THREADS] = Default::default();
            std::thread::scope(|scope| {
                for me in 0..THREADS {
                    let (barrier, rounds) = (&barrier, &rounds);
                    scope.spawn(move || {
                        for round in 1..=500 {
                            rounds[me].store(round, Ordering::Relaxed);
                            barrier.wait().expect("nobody panics");
                            for other in rounds {
                                let other = other.load(Ordering::Relaxed);
                                assert!(other == round || other == round + 1, "{other} against {round}");
                            }
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_panic_releases_waiting_threads() {
        for cores in [2, 1] {
            let barrier = Barrier::new(2, cores);
            let ended = std::thread::scope(|scope| {
                let failing = scope.spawn(|| {
                    let _guard = barrier.guard();
                    panic!("as it should");
                });
                let ended = barrier.wait();
                assert!(failing.join().is_err());
                ended
            });
            assert_eq!(ended, Err(Broken));
        }
    }
}
