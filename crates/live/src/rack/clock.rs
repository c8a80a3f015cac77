//! The clock of a live run: the processor's own counter where it is steady, the system's clock elsewhere; and virtual time,
//! which runs slower by the dilation.

use super::shared::Words;
use raddle_core::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering;

/// Virtual time since a beginning that all threads share.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    source: Source,
    dilation: u64,
    /// A word that all threads of all processes share: nanoseconds of real time in which virtual time stood still. Nothing if time
    /// never stands still.
    held: Option<Words>,
}

#[derive(Debug, Clone)]
enum Source {
    /// The processor's counter, if it is steady, and its value at the beginning. Each process measures for itself how fast the
    /// counter is.
    Counter(quanta::Clock, u64),
    /// The system's clock, and what it showed at the beginning, in ns: the same for all processes.
    System(u64),
}

/// What the system's clock shows, in ns.
pub(crate) fn system_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Clock {
    /// A clock for the threads of this process, that begins now, and on which a second is so many of real time. The word `held`
    /// says how long it has stood still; it never does if there is none.
    ///
    /// # Panics
    /// If the dilation is 0.
    pub(crate) fn new(dilation: u32, held: Option<Words>) -> Self {
        assert!(dilation > 0, "time goes on");
        let counter = quanta::Clock::new();
        let begin = counter.raw();
        Self { source: Source::Counter(counter, begin), dilation: dilation.into(), held }
    }

    /// The same clock, beginning now.
    pub(crate) fn begun(&self) -> Self {
        Self::new(self.dilation as u32, self.held.clone())
    }

    /// The same clock for several processes, which begins when the system's shows so many ns.
    pub(crate) fn begun_at(&self, system_ns: u64) -> Self {
        Self { source: Source::System(system_ns), ..self.clone() }
    }

    /// Nanoseconds of real time since the beginning.
    #[inline]
    pub(crate) fn real_ns(&self) -> u64 {
        match &self.source {
            Source::Counter(counter, begin) => counter.delta_as_nanos(*begin, counter.raw()),
            Source::System(begin) => system_ns().saturating_sub(*begin),
        }
    }

    /// Virtual time after so many nanoseconds of real time.
    #[inline]
    pub(crate) fn at(&self, real_ns: u64) -> Time {
        Time::from_ps(real_ns.saturating_sub(self.held_ns()) * 1_000 / self.dilation)
    }

    /// Holds virtual time, of all threads, for so much of it.
    #[cold]
    pub(crate) fn hold(&self, time: Duration) {
        if let Some(held) = &self.held {
            held[0].fetch_add(time.as_ps() * self.dilation / 1_000, Ordering::Relaxed);
        }
    }

    /// Nanoseconds of real time in which virtual time stood still.
    #[inline]
    pub(crate) fn held_ns(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held[0].load(Ordering::Relaxed))
    }

    /// How often a second of virtual time fits into one of real time, turned around: at least 1.
    pub(crate) const fn dilation(&self) -> u64 {
        self.dilation
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::Region;
    use super::*;

    fn clock(dilation: u32) -> Clock {
        Clock::new(dilation, Some(Region::new(1).expect("a word of memory").words(0..1)))
    }

    #[test]
    fn time_goes_on_and_slower_when_dilated() {
        let (real, slow) = (clock(1), clock(1_000));
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

    #[test]
    fn processes_begin_together() {
        let begin = system_ns() + 1_000_000;
        let clocks = [clock(1).begun_at(begin), clock(1).begun_at(begin)];
        assert_eq!(clocks[0].real_ns(), 0, "they have not begun");
        while clocks[1].real_ns() == 0 {}
        let [first, second] = clocks.map(|clock| clock.real_ns());
        assert!(first > 0 && second >= first);
    }
}
