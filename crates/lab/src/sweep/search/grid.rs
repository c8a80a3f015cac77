//! The range of values that a search tries.

use crate::experiment::keys::{Key, keys};
use crate::experiment::{At, Item, Problem, Read, Section, Value, list, out_of_range};

/// Evenly spaced values. The first value is never tried: the measure is assumed to reach the threshold there.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    from: Number,
    step: Number,
    /// The index of the greatest value.
    last: u64,
    /// The unit that follows the number in the experiment, such as `/ s`.
    unit: Option<String>,
    /// The location of the range in the experiment's file.
    at: At,
}

/// A number in TOML.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    fn read(item: &Item) -> Result<Self, Problem> {
        match item.value {
            Value::Integer(number) => Ok(Self::Integer(number)),
            _ => f64::read(item).map(Self::Real),
        }
    }

    fn show(self) -> toml::Value {
        match self {
            Self::Integer(number) => number.into(),
            Self::Real(number) => number.into(),
        }
    }

    fn real(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

keys! {
    /// The values among which a search chooses.
    pub(super) GRID = "search" {
        /// The first value and an upper limit for the last value. The first value is assumed to hold and is never
        /// tried.
        RANGE: Vec<f64> = Key::new("range").required().example("[0, 64]");
        /// Distance between two neighboring values. Required unless the range has whole numbers.
        STEP: f64 = Key::new("step").computed("1 for whole numbers").example("0.1");
        /// Unit that follows the number in the experiment.
        UNIT: String = Key::new("unit").example("\"/ s\"");
    }
}

impl Grid {
    /// Reads the keys `range`, `step` and `unit` of a section.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(super) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let Some(range) = section.item(&RANGE) else { return Err(section.missing(&RANGE)) };
        let [from, to] = list(range)? else {
            return Err(out_of_range(
                &range.at,
                "`range` must have two numbers",
                "for example: range = [0, 64]",
            ));
        };
        let (from, to) = (Number::read(from)?, Number::read(to)?);
        section.resolve(&RANGE, vec![from.show(), to.show()]);
        let whole = matches!((from, to), (Number::Integer(_), Number::Integer(_)));
        let step = match section.item(&STEP) {
            None if whole => Number::Integer(1),
            None => return Err(section.missing(&STEP)),
            Some(item) => Number::read(item)?,
        };
        section.resolve(&STEP, step.show());
        let some = step.real() > 0.0;
        section.ensure(some, &STEP, "`step` must be greater than 0", "give a `step` above 0")?;
        let steps = (to.real() - from.real()) / step.real();
        let hint = "give a second number that is 1 to 2^32 steps above the first";
        section.ensure(
            (1.0..=4_294_967_296.0).contains(&steps),
            &RANGE,
            "`range` must have from 1 to 2^32 steps",
            hint,
        )?;
        // If rounding makes the range slightly shorter than a whole number of steps, the last step still counts.
        let last = (steps + 1e-9).floor() as u64;
        let unit = section.get(&UNIT)?;
        Ok(Self { from, step, last, unit, at: range.at.clone() })
    }

    /// The index of the greatest value. The first value has index 0.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    fn at_place(&self, place: u64) -> Number {
        match (self.from, self.step) {
            (Number::Integer(from), Number::Integer(step)) => {
                Number::Integer(from + step * place.cast_signed())
            }
            (from, step) => Number::Real(from.real() + step.real() * place as f64),
        }
    }

    /// The value at an index, without its unit.
    pub(super) fn number(&self, place: u64) -> f64 {
        self.at_place(place).real()
    }

    /// The value at an index, as written in an experiment.
    pub(super) fn shown(&self, place: u64) -> String {
        let number = match self.at_place(place) {
            Number::Integer(number) => number.to_string(),
            Number::Real(number) => number.to_string(),
        };
        self.unit.as_ref().map_or(number.clone(), |unit| format!("{number} {unit}"))
    }

    /// The value at an index, as an item of the experiment.
    pub(super) fn item(&self, place: u64) -> Item {
        let value = match (self.at_place(place), &self.unit) {
            (_, Some(_)) => Value::String(self.shown(place)),
            (Number::Integer(number), None) => Value::Integer(number),
            (Number::Real(number), None) => Value::Float(number),
        };
        Item { value, at: self.at.clone() }
    }
}
