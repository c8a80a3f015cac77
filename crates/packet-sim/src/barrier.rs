//! A barrier for threads that meet every few microseconds: they spin for a while, then yield.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where a fixed number of threads wait for each other, again and again.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    /// How long a thread waits for the others before it lets somebody else have its core.
    spins: u32,
    waiting: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
    /// A thread has panicked and will never come.
    broken: AtomicBool,
}

/// A thread has panicked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

const SPINS: u32 = 10_000;
/// With more threads than cores, those waited for need a core.
const SPINS_IN_A_CROWD: u32 = 100;

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            spins: if threads > cores { SPINS_IN_A_CROWD } else { SPINS },
            waiting: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads are here. What any of them wrote before, all can read after.
    pub(crate) fn wait(&self) -> Result<(), Broken> {
        let met = self.met.load(Ordering::Acquire);
        // Everyone's writes are released by this addition, and acquired by the last to come, who releases them to all.
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.met.store(met.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
        let mut spins = 0;
        while self.met.load(Ordering::Acquire) == met {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            spins += 1;
            if spins < self.spins {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// To be held while a thread works: breaks the barrier if the thread panics.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_a_round_ahead() {
        const THREADS: usize = 4;
        let barrier = Barrier::new(THREADS);
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

    #[test]
    fn a_panic_frees_those_who_wait() {
        let barrier = Barrier::new(2);
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
