//! The values that a search may find.

use crate::experiment::{At, Item, Problem, Section, Value};

/// Evenly spaced values: the first is taken to hold and never run.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    from: Number,
    step: Number,
    /// The place of the greatest value.
    last: u64,
    /// What follows a value's number where the experiment writes it, such as `/ s`.
    unit: Option<String>,
    /// Where the experiment says so.
    at: At,
}

/// A number as TOML has it.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    fn real(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl Grid {
    /// Reads the keys `from`, `to`, `step` and `unit` of a section.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let from = number(section, "from", "0")?;
        let to = number(section, "to", "64")?;
        let whole = matches!((from, to), (Number::Integer(_), Number::Integer(_)));
        let step = match section.item("step") {
            None if whole => {
                section.resolve("step", 1);
                Number::Integer(1)
            }
            _ => number(section, "step", "0.1")?,
        };
        let some = step.real() > 0.0;
        section.ensure(some, "step", "steps that lead nowhere", "give a step above zero")?;
        let steps = (to.real() - from.real()) / step.real();
        let hint = "`to` is at least a step above `from`, and at most 2^32 of them";
        section.ensure((1.0..=4_294_967_296.0).contains(&steps), "to", "a search of no range", hint)?;
        // A last step that falls short of `to` by rounding is one.
        let last = (steps + 1e-9).floor() as u64;
        let unit = section.optional("unit")?;
        Ok(Self { from, step, last, unit, at: section.at_key("from").clone() })
    }

    /// The place of the greatest value; the first is 0.
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

    /// The value at a place, without its unit.
    pub(super) fn number(&self, place: u64) -> f64 {
        self.at_place(place).real()
    }

    /// The value at a place as the experiment would write it.
    pub(super) fn shown(&self, place: u64) -> String {
        let number = match self.at_place(place) {
            Number::Integer(number) => number.to_string(),
            Number::Real(number) => number.to_string(),
        };
        self.unit.as_ref().map_or(number.clone(), |unit| format!("{number} {unit}"))
    }

    /// The value at a place, as if it stood in the experiment.
    pub(super) fn item(&self, place: u64) -> Item {
        let value = match (self.at_place(place), &self.unit) {
            (_, Some(_)) => Value::String(self.shown(place)),
            (Number::Integer(number), None) => Value::Integer(number),
            (Number::Real(number), None) => Value::Float(number),
        };
        Item { value, at: self.at.clone() }
    }
}

/// A whole or real number that must be there.
fn number(section: &mut Section<'_>, key: &str, example: &str) -> Result<Number, Problem> {
    let Some(item) = section.item(key) else { return Err(section.missing(key, example)) };
    if let Value::Integer(number) = item.value {
        section.resolve(key, number);
        return Ok(Number::Integer(number));
    }
    section.required(key).map(Number::Real)
}
