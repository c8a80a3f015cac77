//! An axis of a plot: its range, and its ticks with their labels.

#![allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]

use crate::notation::{brief, plain};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Maximum number of significant digits in the label of a tick, such as `0.5` or `1.5k`, unless neighboring ticks need
/// more digits to differ. Further digits would show the rounding errors of floats.
const TICK_DIGITS: usize = 5;

/// An axis of a plot. On a logarithmic axis, the range and the ticks are logarithms to base 10.
pub(super) struct Axis {
    pub(super) range: Range<f64>,
    ticks: Vec<f64>,
    log: bool,
    names: Option<Vec<String>>,
    /// Number of significant digits that distinguish neighboring ticks of a linear axis.
    digits: usize,
}

impl Ranged for &Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (f64::from(limit.1 - limit.0) * self.share(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for &Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.name(*value)
    }
}

impl Axis {
    /// An axis of named positions, evenly spaced.
    pub(super) fn named(names: &[String]) -> Self {
        let ticks = (0..names.len()).map(|i| i as f64).collect();
        Self {
            range: -0.5..names.len() as f64 - 0.5,
            ticks,
            log: false,
            names: Some(names.to_vec()),
            digits: 0,
        }
    }

    /// An axis for `values`, which are logarithms if `log` is set. A linear axis includes zero in three cases:
    /// `from_zero` is set, all values are equal, or the least value is at most a quarter of the values' range.
    /// Otherwise the axis covers only the range of the values, with a margin.
    pub(super) fn new(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Self {
        let values = values.filter(|value| value.is_finite());
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if !least.is_finite() {
            return Self { range: 0.0..1.0, ticks: vec![0.0, 1.0], log, names: None, digits: 0 };
        }
        if log {
            return Self::logarithmic(least, most);
        }
        let edge = 0.05 * (most - least);
        let apart = !from_zero && least > (most - least) / 4.0 && edge > 0.0;
        let low = if apart { least - edge } else { least.min(0.0) };
        let high = if apart {
            most + edge
        } else if most > 0.0 {
            most * 1.05
        } else {
            1.0
        };
        let step = nice((high - low) / 6.0);
        let ticks = ((low / step).ceil() as i64..=(high / step) as i64).map(|i| i as f64 * step).collect();
        let place = |value: f64| (value.abs().log10() + 1e-9).floor();
        let digits = (place(low.abs().max(high.abs())) - place(step) + 1.0).max(0.0) as usize;
        Self { range: low..high, ticks, log, names: None, digits }
    }

    /// A logarithmic axis. It begins and ends at powers of ten. If the values span less than two decades, it can also
    /// begin and end at 2 or 5 times a power of ten.
    fn logarithmic(least: f64, most: f64) -> Self {
        let factors: &[f64] = if most - least < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = least.floor() as i32..=most.floor() as i32 + 1;
        let ticks: Vec<f64> = decades
            .flat_map(|decade| factors.iter().map(move |factor| f64::from(decade) + factor.log10()))
            .collect();
        let first = ticks.iter().rposition(|&tick| tick <= least).unwrap_or(0);
        let last =
            ticks.iter().position(|&tick| tick >= most.max(ticks[first] + 1e-9)).unwrap_or(ticks.len() - 1);
        let range = ticks[first]..ticks[last];
        Self { range, ticks: ticks[first..=last].to_vec(), log: true, names: None, digits: 0 }
    }

    /// The position of a value along the axis: 0 at the start of the axis, 1 at its end.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value - self.range.start) / (self.range.end - self.range.start)
    }

    /// The labels of all ticks.
    pub(super) fn names(&self) -> Vec<String> {
        self.ticks.iter().map(|&tick| self.name(tick)).collect()
    }

    /// The label of a tick: its name on an axis of named positions, otherwise its number. If neighboring ticks differ
    /// only beyond [`TICK_DIGITS`] significant digits, the number has the digits that distinguish these ticks, and no
    /// unit prefix.
    pub(super) fn name(&self, tick: f64) -> String {
        match &self.names {
            Some(names) => names.get(tick.round().max(0.0) as usize).cloned().unwrap_or_default(),
            None if self.digits > TICK_DIGITS => plain(tick, self.digits),
            None => brief(if self.log { 10_f64.powf(tick) } else { tick }, TICK_DIGITS),
        }
    }
}

/// The smallest number that is at least `about` and is 1, 2 or 5 times a power of ten.
fn nice(about: f64) -> f64 {
    let decade = 10_f64.powf(about.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= about).unwrap_or(10.0);
    factor * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_of_one_two_and_five() {
        let steps = [0.9, 1.3, 3.0, 7.0].map(nice);
        for (step, expected) in steps.into_iter().zip([1.0, 2.0, 5.0, 10.0]) {
            assert!((step - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_logarithmic_axis_of_few_decades_names_steps_between_them() {
        let named =
            |least: f64, most: f64| Axis::new([least.log10(), most.log10()].into_iter(), true, false).names();
        assert_eq!(named(0.14, 2.3), ["0.1", "0.2", "0.5", "1", "2", "5"]);
        assert_eq!(named(3.0, 40_000.0), ["1", "10", "100", "1k", "10k", "100k"]);
        assert_eq!(named(1.0, 1.0), ["1", "2"]);
        assert_eq!(named(20.0, 50.0), ["20", "50"]);
    }

    #[test]
    fn neighboring_ticks_have_different_names() {
        let names = |least: f64, most: f64| Axis::new([least, most].into_iter(), false, false).names();
        assert_eq!(names(2000.1, 2000.31), ["2000.1", "2000.15", "2000.2", "2000.25", "2000.3"]);
        assert_eq!(names(2_000_100.0, 2_000_300.0)[..2], ["2000100", "2000150"]);
        assert_eq!(names(20_000.0, 25_000.0)[..2], ["20k", "21k"]);
    }

    #[test]
    fn an_axis_begins_at_zero_where_that_is_near() {
        let begins =
            |values: [f64; 2], from_zero| Axis::new(values.into_iter(), false, from_zero).range.start;
        assert!(begins([0.1, 0.8], false) == 0.0 && begins([40.0, 50.0], true) == 0.0);
        assert!(begins([40.0, 50.0], false) > 39.0 && begins([-2.0, 1.0], true) < -1.9);
    }
}
