//! A barrier for threads that meet every few microseconds. A waiting thread spins for about the time that it takes to
//! wake a thread, and then sleeps. If there are more threads than cores, it sleeps at once.
//!
//! The two pure strategies are always to spin and always to sleep. A thread that spins for the time of a wake-up and
//! then sleeps uses at most about twice the processor time of the better strategy (Karlin et al., SOSP 1991). If some
//! thread has no core, a waiting thread soon sleeps and frees its core.

use crate::sync::{
    AtomicBool, AtomicU32, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, SPINS, panicking,
    spin_loop,
};

/// A reusable barrier for a fixed number of threads.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    /// Number of spins before a waiting thread sleeps.
    spins: u32,
    waiting: AtomicUsize,
    /// Number of completed rounds. It changes only while `asleep` is locked, so that no thread falls asleep just after
    /// the change and misses the wake-up.
    met: AtomicU32,
    /// True if a thread has panicked and will never reach the barrier. Set only while `asleep` is locked.
    broken: AtomicBool,
    /// Number of threads that sleep.
    asleep: Mutex<usize>,
    wake: Condvar,
}

/// The error that [`Barrier::wait`] returns if a thread has panicked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Barrier {
    /// Creates a barrier for `threads` threads on a machine with `cores` cores.
    pub(crate) fn new(threads: usize, cores: usize) -> Self {
        Self {
            threads,
            // With more threads than cores, a spinning thread would take the core from a thread that it waits for.
            spins: if threads > cores { 0 } else { SPINS },
            waiting: AtomicUsize::new(0),
            met: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits until all threads have called this function, or until a thread has panicked. The writes of each thread
    /// before its call are visible to all threads after their calls.
    pub(crate) fn wait(&self) -> Result<(), Broken> {
        let met = self.met.load(Ordering::Acquire);
        // This addition releases each thread's writes. The last thread acquires them and releases them to all threads.
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.free(|| self.met.store(met.wrapping_add(1), Ordering::Release));
            return Ok(());
        }
        for _ in 0..self.spins {
            if let Some(result) = self.result(met) {
                return result;
            }
            spin_loop();
        }
        self.sleep(met)
    }

    /// The result of a wait that began after `met` rounds; `None` if the wait has not ended.
    fn result(&self, met: u32) -> Option<Result<(), Broken>> {
        if self.met.load(Ordering::Acquire) != met {
            return Some(Ok(()));
        }
        self.broken.load(Ordering::Relaxed).then_some(Err(Broken))
    }

    #[cold]
    fn sleep(&self, met: u32) -> Result<(), Broken> {
        let mut asleep = self.lock();
        *asleep += 1;
        let result = loop {
            if let Some(result) = self.result(met) {
                break result;
            }
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        };
        *asleep -= 1;
        result
    }

    /// Applies `change`, which ends the wait of all threads, and wakes the threads that sleep.
    fn free(&self, change: impl FnOnce()) {
        let asleep = self.lock();
        change();
        if *asleep > 0 {
            self.wake.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a guard that a thread holds while it works. If the thread panics, the guard breaks the
    /// barrier.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }

    /// Releases the waiting threads and all later waits, because a thread will never reach the barrier.
    pub(crate) fn break_up(&self) {
        self.free(|| self.broken.store(true, Ordering::Relaxed));
    }
}

pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.break_up();
        }
    }
}
