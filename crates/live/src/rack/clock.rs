//! The clock of a live run: the processor's own counter where it is steady, the system's clock elsewhere; and virtual time,
//! which runs slower by the dilation.

use raddle_core::{Duration, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Virtual time since a beginning that all threads share.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    source: quanta::Clock,
    begin: u64,
    dilation: u64,
    /// Nanoseconds of real time in which virtual time stood still.
    held: Arc<AtomicU64>,
}

impl Clock {
    /// A clock that begins now, and on which a second is so many of real time.
    ///
    /// # Panics
    /// If the dilation is 0.
    pub(crate) fn new(dilation: u32) -> Self {
        assert!(dilation > 0, "time goes on");
        let source = quanta::Clock::new();
        Self { begin: source.raw(), source, dilation: dilation.into(), held: Arc::default() }
    }

    /// Nanoseconds of real time since the beginning.
    #[inline]
    pub(crate) fn real_ns(&self) -> u64 {
        self.source.delta_as_nanos(self.begin, self.source.raw())
    }

    /// Virtual time after so many nanoseconds of real time.
    #[inline]
    pub(crate) fn at(&self, real_ns: u64) -> Time {
        Time::from_ps(real_ns.saturating_sub(self.held_ns()) * 1_000 / self.dilation)
    }

    /// Holds virtual time, of all threads, for so much of it.
    #[cold]
    pub(crate) fn hold(&self, time: Duration) {
        self.held.fetch_add(time.as_ps() * self.dilation / 1_000, Ordering::Relaxed);
    }

    /// Nanoseconds of real time in which virtual time stood still.
    #[inline]
    pub(crate) fn held_ns(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// How often a second of virtual time fits into one of real time, turned around: at least 1.
    pub(crate) const fn dilation(&self) -> u64 {
        self.dilation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_slower_when_dilated() {
        let (real, slow) = (Clock::new(1), Clock::new(1_000));
        let before = real.real_ns();
        while real.real_ns() < before + 2_000_000 {}
        assert_eq!(slow.at(5_000_000), real.at(5_000));
        slow.clone().hold(Duration::from_us(2));
        assert_eq!(
            (slow.held_ns(), slow.at(5_000_000)),
            (2_000_000, real.at(3_000)),
            "a clone is the same clock"
        );
    }
}
