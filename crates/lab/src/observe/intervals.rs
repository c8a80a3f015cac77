//! Values in intervals of equal length, in bounded memory. When a run outgrows the intervals, they are merged in pairs
//! and their length doubles.

use raddle_core::{Duration, Time};

/// A value of an interval. The values of two adjacent intervals can be merged into one value.
pub(crate) trait Merge: Copy + Default {
    /// The value of the interval that covers both intervals.
    fn merge(self, other: Self) -> Self;
}

/// Values of successive intervals from `begin` on. Each interval has a row of `columns` values, and there are at most
/// `most` intervals.
#[derive(Debug)]
pub(crate) struct Intervals<T> {
    begin: Time,
    length: Duration,
    most: usize,
    columns: usize,
    rows: Vec<Box<[T]>>,
}

impl<T: Merge> Intervals<T> {
    /// Intervals of this length from `begin` on, with `columns` values each. `most` must be even.
    pub(crate) fn new(begin: Time, length: Duration, most: usize, columns: usize) -> Self {
        assert!(most > 0 && most.is_multiple_of(2), "`most` must be even and above 0 (got {most})");
        Self { begin, length, most, columns, rows: Vec::new() }
    }

    /// The present length of an interval, which doubles whenever intervals are merged.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// The values of the interval that holds `at`, or of the first interval if `at` is earlier.
    #[allow(clippy::cast_possible_truncation, reason = "the index of the interval is below `most`")]
    pub(crate) fn at(&mut self, at: Time) -> &mut [T] {
        let since = at.max(self.begin).since(self.begin).as_ps();
        while since / self.length.as_ps() >= self.most as u64 {
            self.double();
        }
        let interval = (since / self.length.as_ps()) as usize;
        while self.rows.len() <= interval {
            self.rows.push(vec![T::default(); self.columns].into());
        }
        &mut self.rows[interval]
    }

    /// Divides the time from `from` to `to` among the intervals. For each interval, `add` gets the interval's value in
    /// `column` and the part of the time that lies in the interval. Time before the first interval is left out.
    #[allow(clippy::cast_possible_truncation, reason = "the index of the interval is below `most`")]
    pub(crate) fn spread(
        &mut self,
        from: Time,
        to: Time,
        column: usize,
        mut add: impl FnMut(&mut T, Duration),
    ) {
        let mut from = from.max(self.begin);
        if from >= to {
            return;
        }
        self.at(Time::from_ps(to.as_ps() - 1));
        while from < to {
            let interval = (from.since(self.begin).as_ps() / self.length.as_ps()) as usize;
            let until = to.min(self.start(interval + 1));
            add(&mut self.rows[interval][column], until.since(from));
            from = until;
        }
    }

    /// Sets all values of a column to the default.
    pub(crate) fn clear(&mut self, column: usize) {
        for row in &mut self.rows {
            row[column] = T::default();
        }
    }

    /// Merges intervals until they are at least as long as `length`.
    pub(crate) fn coarsen(&mut self, length: Duration) {
        while self.length < length {
            self.double();
        }
    }

    /// Number of intervals up to the latest interval that [`Self::at`] or [`Self::spread`] has reached.
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// The start of interval `i`.
    pub(crate) fn start(&self, i: usize) -> Time {
        self.begin + self.length * i as u64
    }

    /// The value of interval `i` in `column`; the default value if `i` is after the last interval.
    pub(crate) fn value(&self, i: usize, column: usize) -> T {
        self.rows.get(i).map_or_else(T::default, |row| row[column])
    }

    fn double(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let mut rows = rows.into_iter();
        while let Some(mut first) = rows.next() {
            let second = rows.next();
            for (value, other) in first.iter_mut().zip(second.iter().flatten()) {
                *value = value.merge(*other);
            }
            self.rows.push(first);
        }
        self.length = self.length + self.length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    struct Sum(u64);

    impl Merge for Sum {
        fn merge(self, other: Self) -> Self {
            Self(self.0 + other.0)
        }
    }

    const BEGIN: Time = Time::from_ps(700);
    const LENGTH: Duration = Duration::from_ps(10);

    /// Pseudo-random numbers below `below`.
    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    #[test]
    fn sums_are_kept_and_intervals_bounded_however_long_the_run() {
        let mut state = 1;
        for span in [1, 79, 80, 81, 1_000, 123_457, 10_000_000] {
            let mut intervals = Intervals::<Sum>::new(BEGIN, LENGTH, 8, 3);
            let (mut sums, mut latest) = ([0; 3], 0);
            for _ in 0..500 {
                let (at, value) = (draw(&mut state, span), draw(&mut state, 1_000));
                let column = usize::try_from(draw(&mut state, 3)).expect("a column");
                intervals.at(BEGIN + Duration::from_ps(at))[column].0 += value;
                sums[column] += value;
                latest = latest.max(at);
            }
            let kept = |column| (0..intervals.count()).map(|i| intervals.value(i, column).0).sum::<u64>();
            assert_eq!([kept(0), kept(1), kept(2)], sums, "{span}");
            let (count, length) = (intervals.count() as u64, intervals.length().as_ps());
            assert!(count <= 8 && count == latest / length + 1, "{count} intervals of {length} ps, {span}");
            assert!(length == 10 || latest >= 4 * length, "{length} ps is longer than {span} needs");
        }
    }

    #[test]
    fn a_value_stays_in_the_interval_that_holds_its_time() {
        let mut intervals = Intervals::<Sum>::new(BEGIN, LENGTH, 4, 1);
        for at in [0, 9, 10, 35, 39, 41] {
            intervals.at(BEGIN + Duration::from_ps(at))[0].0 += 1;
        }
        let rows = |intervals: &Intervals<Sum>| {
            let row = |i| (intervals.start(i).as_ps(), intervals.value(i, 0).0);
            (0..intervals.count()).map(row).collect::<Vec<_>>()
        };
        assert_eq!(rows(&intervals), [(700, 3), (720, 2), (740, 1)]);
        intervals.coarsen(Duration::from_ps(21));
        assert_eq!(rows(&intervals), [(700, 5), (740, 1)]);
    }

    #[test]
    fn a_time_is_divided_among_the_intervals_that_it_meets() {
        let mut intervals = Intervals::<Sum>::new(BEGIN, LENGTH, 4, 2);
        let at = |ps| BEGIN + Duration::from_ps(ps);
        let add = |value: &mut Sum, part: Duration| value.0 += part.as_ps();
        intervals.spread(Time::ZERO, at(3), 1, add);
        intervals.spread(at(8), at(20), 1, add);
        intervals.spread(at(25), at(25), 1, add);
        let sums = |intervals: &Intervals<Sum>| -> Vec<u64> {
            (0..intervals.count()).map(|i| intervals.value(i, 1).0).collect()
        };
        assert_eq!(sums(&intervals), [5, 10]);
        intervals.spread(at(39), at(41), 1, add);
        assert_eq!((sums(&intervals), intervals.length().as_ps()), (vec![15, 1, 1], 20));
        intervals.clear(1);
        assert_eq!(sums(&intervals), [0, 0, 0]);
    }
}
