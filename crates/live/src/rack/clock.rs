//! The clock of a live run. In a run of one process, it reads the processor's counter if the counter is steady, and the
//! system's clock otherwise. In a run of several processes, it reads the system's clock. Virtual time runs slower than
//! the clock by the factor `dilation`. If a polling thread is far behind, the rack holds virtual time: it subtracts the
//! excess delay from virtual time, as if virtual time had stood still.

use super::shared::Words;
use raddle_core::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The clock of virtual time, which is zero at the start of the run. All threads have the same virtual time.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    source: Source,
    dilation: u64,
    /// A word that all threads with the same memory share: the real time, in ns, for which virtual time was held.
    /// `None` if virtual time is never held.
    held: Option<Words>,
}

#[derive(Debug, Clone)]
enum Source {
    /// The processor's counter, and its value at the start. Only a rack of one process uses the counter, because each
    /// process measures the counter's frequency itself.
    Counter(quanta::Clock, u64),
    /// The start of the run, in ns of the system clock of the party's host process, and the offset of that clock from
    /// this machine's. All processes have the same start. A party is the set of processes that share the rack. One of
    /// them is the party's host.
    System(u64, Arc<Offset>),
}

/// The system clock of the party's host process minus the system clock of this machine, in ns. The offset is 0 if the
/// processes meet at a Unix socket, because they then have the same clock.
#[derive(Debug, Default)]
pub(crate) struct Offset {
    ns: AtomicI64,
}

impl Offset {
    /// An offset of `ns` ns.
    pub(crate) fn new(ns: i64) -> Self {
        Self { ns: AtomicI64::new(ns) }
    }

    /// The offset, in ns.
    #[inline]
    pub(crate) fn ns(&self) -> i64 {
        self.ns.load(Ordering::Relaxed)
    }

    /// The system clock of the party's host process, in ns.
    #[inline]
    pub(crate) fn host_ns(&self) -> u64 {
        system_ns().saturating_add_signed(self.ns())
    }

    /// Moves the offset toward the range `bounds`, by at most `most` ns. A comparison of the two clocks has measured
    /// this range. An empty range has no effect.
    pub(crate) fn follow(&self, bounds: &RangeInclusive<i64>, most: i64) {
        let is = self.ns();
        if !bounds.is_empty() {
            let to = is.clamp(*bounds.start(), *bounds.end());
            self.ns.store(to.clamp(is.saturating_sub(most), is.saturating_add(most)), Ordering::Relaxed);
        }
    }
}

/// The system's monotonic clock, in ns.
pub(crate) fn system_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Clock {
    /// Creates a clock for the threads of this process. The clock starts now, and runs `dilation` times slower than
    /// real time. The word `held` counts the real time for which virtual time is held. Without this word, virtual time
    /// is never held.
    ///
    /// # Panics
    /// If the dilation is 0.
    pub(crate) fn new(dilation: u32, held: Option<Words>) -> Self {
        assert!(dilation > 0, "the dilation must be at least 1");
        let counter = quanta::Clock::new();
        let begin = counter.raw();
        Self { source: Source::Counter(counter, begin), dilation: dilation.into(), held }
    }

    /// Returns a clock that starts now, with the dilation and the `held` word of this clock.
    #[allow(clippy::cast_possible_truncation, reason = "a dilation comes from a `u32`")]
    pub(crate) fn begun(&self) -> Self {
        Self::new(self.dilation as u32, self.held.clone())
    }

    /// Returns a version of this clock for several processes. The returned clock starts when the system clock of the
    /// party's host process shows `host_ns`.
    pub(crate) fn begun_at(&self, host_ns: u64, offset: &Arc<Offset>) -> Self {
        Self { source: Source::System(host_ns, Arc::clone(offset)), ..self.clone() }
    }

    /// Real time since the start, in ns. If the clock follows another machine's clock, the returned time may go back by
    /// some µs.
    #[inline]
    pub(crate) fn real_ns(&self) -> u64 {
        match &self.source {
            Source::Counter(counter, begin) => counter.delta_as_nanos(*begin, counter.raw()),
            Source::System(begin, offset) => offset.host_ns().saturating_sub(*begin),
        }
    }

    /// Virtual time after `real_ns` ns of real time.
    #[inline]
    pub(crate) fn at(&self, real_ns: u64) -> Time {
        Time::from_ps(real_ns.saturating_sub(self.held_ns()) * 1_000 / self.dilation)
    }

    /// Holds the virtual time of all threads for `time`, a duration in virtual time.
    #[cold]
    pub(crate) fn hold(&self, time: Duration) {
        if let Some(held) = &self.held {
            held[0].fetch_add(time.as_ps() * self.dilation / 1_000, Ordering::Relaxed);
        }
    }

    /// Another machine has reported that it has held virtual time for `held_ns` ns of real time in total. If the total
    /// of this clock is smaller, raises it to `held_ns`, but not above the real time since the start.
    #[cfg_attr(
        not(feature = "libfabric"),
        expect(dead_code, reason = "only racks over several machines use this function")
    )]
    pub(crate) fn hold_as(&self, held_ns: u64) {
        if let Some(held) = &self.held {
            held[0].fetch_max(held_ns.min(self.real_ns()), Ordering::Relaxed);
        }
    }

    /// Real time during which virtual time stood still, in ns.
    #[inline]
    pub(crate) fn held_ns(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held[0].load(Ordering::Relaxed))
    }

    /// Seconds of real time per second of virtual time, at least 1.
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
        let offset = Arc::default();
        let clocks = [clock(1).begun_at(begin, &offset), clock(1).begun_at(begin, &offset)];
        assert_eq!(clocks[0].real_ns(), 0, "the clocks have not started");
        while clocks[1].real_ns() == 0 {}
        let [first, second] = clocks.map(|clock| clock.real_ns());
        assert!(first > 0 && second >= first);
    }

    #[test]
    fn the_clock_of_another_machine_is_followed_slowly_and_only_if_it_is_elsewhere() {
        let offset = Offset::new(1_000);
        offset.follow(&(900..=2_000), 50);
        assert_eq!(offset.ns(), 1_000, "the offset is already in the measured range");
        offset.follow(&(1_020..=2_000), 50);
        assert_eq!(offset.ns(), 1_020);
        offset.follow(&(-5_000..=-4_000), 50);
        assert_eq!(offset.ns(), 970);
        #[expect(clippy::reversed_empty_ranges, reason = "the host may send an empty range")]
        offset.follow(&(9..=3), 50);
        assert_eq!(offset.ns(), 970, "an empty range has no effect");
        offset.follow(&(i64::MIN..=i64::MIN), i64::MAX);
        offset.follow(&(i64::MAX..=i64::MAX), i64::MAX);
        assert_eq!(Offset::new(i64::MIN).host_ns(), 0);
    }

    #[cfg(feature = "libfabric")]
    #[test]
    fn time_is_held_as_long_as_at_other_machines_and_no_longer_than_it_has_passed() {
        let clock = clock(1).begun_at(system_ns() - 5_000_000, &Arc::default());
        clock.hold_as(3_000_000);
        clock.hold_as(2_000_000);
        assert_eq!(clock.held_ns(), 3_000_000);
        clock.hold_as(u64::MAX);
        assert!((5_000_000..1_000_000_000).contains(&clock.held_ns()));
        assert!(clock.at(clock.real_ns()) < Time::ZERO + Duration::from_ms(100));
    }
}
