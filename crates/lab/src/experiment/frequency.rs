//! Frequencies of random events: `"1.2 / year"`, `"3 / ms"`.

use super::problem::{Cause, Problem};
use super::quantity::QuantityError;
use super::section::{Read, described, out_of_range, wrong_type};
use super::value::{Item, Value};
use raddle_core::Duration;
use std::fmt;

/// The mean frequency of a random event.
///
/// If each CPU suffers 0.3 faults a year (R2C2, §3.2), a node with four CPUs suffers 1.2 faults a year. A rack of 512
/// such nodes suffers 1.683 faults a day:
///
/// ```
/// # use raddle_lab::experiment::Frequency;
/// let node = 4.0 * Frequency::parse("0.3 / year").unwrap().per_second();
/// let rack_a_day = 512.0 * node * 86_400.0;
/// assert!((rack_a_day - 1.683).abs() < 0.0005);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Frequency(f64);

const WHAT: &str = "a frequency such as \"1.2 / year\"";
/// Units of time: name, and length in seconds. A year has 365 days.
const UNITS: [(&str, f64); 9] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("hour", 3_600.0),
    ("day", 86_400.0),
    ("year", 365.0 * 86_400.0),
];

impl Frequency {
    /// The mean number of events in a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.0
    }

    /// Mean time between two events, in picoseconds; infinite if the frequency is 0.
    #[must_use]
    pub fn mean_gap_ps(self) -> f64 {
        1e12 / self.0
    }

    /// The expected number of events in a time span.
    #[must_use]
    pub fn expected_in(self, span: Duration) -> f64 {
        self.0 * span.as_secs_f64()
    }

    /// Reads a number and a unit of time, with a slash between them.
    ///
    /// # Errors
    /// If the number or the unit is missing, the number is negative or not finite, or the unit is unknown.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let owned = || text.trim().to_owned();
        let units = || UNITS.iter().map(|&(name, _)| name).collect::<Vec<_>>();
        let (number, unit) = text.split_once('/').unwrap_or((text, ""));
        let (number, unit) = (number.trim(), unit.trim());
        let count: f64 = number
            .parse()
            .ok()
            .filter(|count: &f64| count.is_finite())
            .ok_or_else(|| QuantityError::NoNumber { text: owned(), what: WHAT })?;
        if count < 0.0 {
            return Err(QuantityError::Negative { text: owned(), what: WHAT });
        }
        if unit.is_empty() {
            return Err(QuantityError::NoUnit { text: owned(), units: units() });
        }
        match UNITS.iter().find(|&&(name, _)| name == unit) {
            Some(&(_, seconds)) => Ok(Self(count / seconds)),
            None => Err(QuantityError::UnknownUnit {
                number: format!("{number} /"),
                unit: unit.to_owned(),
                units: units(),
            }),
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / s", self.0)
    }
}

impl Read for Frequency {
    const EXAMPLE: &'static str = "\"1.2 / year\"";
    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::String(text) = &item.value else { return Err(wrong_type(item, WHAT)) };
        let frequency = Self::parse(text).map_err(|error| Problem::at(&item.at, Cause::from(error)))?;
        if frequency.0.is_finite() {
            Ok(frequency)
        } else {
            Err(out_of_range(&item.at, "the frequency is too high to be represented", WHAT))
        }
    }
    fn show(&self) -> toml::Value {
        self.to_string().into()
    }
    described!("frequency", { "type": "string" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_read_and_shown_without_loss() {
        for (text, per_second) in
            [("3 / ms", 3_000.0), ("0.5/s", 0.5), ("2.4 / min", 0.04), ("0 / year", 0.0)]
        {
            let read = Frequency::parse(text).unwrap();
            assert!((read.per_second() - per_second).abs() < 1e-12 * per_second.max(1.0), "{text}");
            assert_eq!(Frequency::parse(&read.to_string()), Ok(read));
        }
    }

    #[test]
    fn invalid_frequencies_are_refused() {
        let hint = |text| Frequency::parse(text).map_err(|error| error.hint());
        assert_eq!(hint("3 / mss"), Err("did you mean \"3 / ms\"?".to_owned()));
        assert_eq!(hint("often"), Err(format!("write {WHAT}")));
        assert!(matches!(Frequency::parse("3"), Err(QuantityError::NoUnit { .. })));
        assert!(matches!(Frequency::parse("-3 / s"), Err(QuantityError::Negative { .. })));
    }
}
