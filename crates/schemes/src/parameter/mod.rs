//! Parameters of schemes. A scheme declares its parameters once, as a typed struct
//! ([`parameters!`](crate::parameters)). The parser of experiment files, the command `raddle explain` and the lints of
//! experiments read the same declaration as data.

mod declare;
#[cfg(test)]
mod tests;

pub use declare::{Field, Literal, declared, read};

use raddle_core::{Bytes, Duration, Rate};

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A span of time, written `"500 us"`.
    Duration(Duration),
    /// A rate in bits per second, written `"10 Gbps"`.
    Rate(Rate),
    /// A size, written `"9 KB"`.
    Bytes(u64),
    /// A whole number.
    Count(u64),
    /// A number from 0 to 1, or a percentage, written `"5%"`. If the parameter's range goes beyond 1, the number may be
    /// greater than 1.
    Fraction(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A number from 0 to 255 for each of eight priorities or classes, written `[0, 1, 2, 3, 4, 5, 6, 7]`.
    Eight([u8; 8]),
    /// One of the words that the parameter's `choices` list.
    Choice(&'static str),
}

/// The link rate and the propagation delay for which the default of a parameter, such as a queue threshold, is meant.
/// On faster or longer links the default grows in proportion. On slower or shorter links it keeps its value, because a
/// threshold in proportion would be less than a few packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// The rate of the fastest host link.
    pub rate: Rate,
    /// The longest propagation delay of a link; `None` if the default does not grow with the delay.
    pub delay: Option<Duration>,
}

impl Growth {
    /// `number` scaled to a fabric with this rate and this delay.
    fn of(self, number: u64, rate: Rate, delay: Duration) -> u64 {
        let grown = |number: u128, to: u64, from: u64| number * u128::from(to.max(from)) / u128::from(from);
        let number = grown(number.into(), rate.as_bps(), self.rate.as_bps());
        let number = self.delay.map_or(number, |from| grown(number, delay.as_ps(), from.as_ps()));
        u64::try_from(number).unwrap_or(u64::MAX)
    }
}

/// A parameter of a scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The parameter's key in the scheme's table of the experiment.
    pub name: &'static str,
    /// A description of the parameter.
    pub doc: &'static str,
    /// The value if the experiment does not set the parameter. Its variant is the kind of value that the parameter
    /// takes.
    pub default: Value,
    /// The allowed words, if the value is a [`Value::Choice`].
    pub choices: &'static [&'static str],
    /// Least and greatest value allowed: sizes in bytes, durations in ps, rates in bit/s.
    pub range: (f64, f64),
    /// The link rate and delay above which the default of a size or a rate grows; `None` for a fixed default.
    pub growth: Option<Growth>,
}

impl Parameter {
    /// A parameter that allows every value of its default's kind; a fraction may be at most 1.
    #[must_use]
    pub const fn new(name: &'static str, default: Value, doc: &'static str) -> Self {
        let most = match default {
            Value::Fraction(_) => 1.0,
            _ => f64::INFINITY,
        };
        Self { name, doc, default, choices: &[], range: (0.0, most), growth: None }
    }

    /// The same parameter with this range, bounds included.
    #[must_use]
    pub const fn within(mut self, least: f64, greatest: f64) -> Self {
        self.range = (least, greatest);
        self
    }

    /// The same parameter with a default that grows with the rate of host links above `rate` and, if `delay` is given,
    /// with the delay of links above `delay`.
    #[must_use]
    pub const fn growing(mut self, rate: Rate, delay: Option<Duration>) -> Self {
        self.growth = Some(Growth { rate, delay });
        self
    }

    /// The default on a fabric whose fastest host link has `rate` and whose longest link has `delay`, limited to the
    /// range. `None` if the default is the same on every fabric.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn default_on(&self, rate: Rate, delay: Duration) -> Option<Value> {
        let grown =
            |number| self.growth.map(|growth| growth.of(number, rate, delay).min(self.range.1 as u64));
        match self.default {
            Value::Bytes(bytes) => grown(bytes).map(Value::Bytes),
            Value::Rate(rate) => grown(rate.as_bps()).map(|bps| Value::Rate(Rate::from_bps(bps))),
            _ => None,
        }
    }

    /// A parameter whose value is one of `choices`, the first by default.
    #[must_use]
    pub const fn choice(name: &'static str, choices: &'static [&'static str], doc: &'static str) -> Self {
        Self {
            name,
            doc,
            default: Value::Choice(choices[0]),
            choices,
            range: (0.0, f64::INFINITY),
            growth: None,
        }
    }

    /// The parameter's range in words and units, such as `from 1 ps to 60 s`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn limits(&self) -> String {
        // All bounds except the bounds of fractions are whole numbers.
        let shown = |bound: f64| match self.default {
            Value::Duration(_) => Duration::from_ps(bound as u64).to_string(),
            Value::Rate(_) => Rate::from_bps(bound as u64).to_string(),
            Value::Bytes(_) => Bytes(bound as u64).to_string(),
            Value::Count(_) | Value::Fraction(_) | Value::Eight(_) | Value::Flag(_) | Value::Choice(_) => {
                bound.to_string()
            }
        };
        match self.range {
            (least, f64::INFINITY) => format!("at least {}", shown(least)),
            (least, greatest) => format!("from {} to {}", shown(least), shown(greatest)),
        }
    }

    /// True if the value is of the parameter's kind and in its range.
    #[must_use]
    pub const fn allows(&self, value: &Value) -> bool {
        let number = match (*value, self.default) {
            (Value::Duration(span), Value::Duration(_)) => span.as_ps() as f64,
            (Value::Rate(rate), Value::Rate(_)) => rate.as_bps_f64(),
            (Value::Bytes(n), Value::Bytes(_)) | (Value::Count(n), Value::Count(_)) => n as f64,
            (Value::Fraction(x), Value::Fraction(_)) => x,
            (Value::Eight(numbers), Value::Eight(_)) => {
                let mut i = 0;
                while i < numbers.len() && self.spans(numbers[i] as f64) {
                    i += 1;
                }
                return i == numbers.len();
            }
            (Value::Flag(_), Value::Flag(_)) => return true,
            (Value::Choice(word), Value::Choice(_)) => {
                let mut i = 0;
                while i < self.choices.len() && !is_same(self.choices[i], word) {
                    i += 1;
                }
                return i < self.choices.len();
            }
            _ => return false,
        };
        self.spans(number)
    }

    const fn spans(&self, number: f64) -> bool {
        let (least, greatest) = self.range;
        least <= number && number <= greatest
    }
}

/// The parameters of `list`, with new defaults for the parameters named in `defaults`.
///
/// # Panics
/// If `list` has no parameter with one of the names, or if a parameter does not allow the new default.
#[must_use]
pub const fn with_defaults<const N: usize>(
    mut list: [Parameter; N],
    defaults: &[(&str, Value)],
) -> [Parameter; N] {
    let mut i = 0;
    while i < defaults.len() {
        let (name, value) = defaults[i];
        let mut place = 0;
        while !is_same(list[place].name, name) {
            place += 1;
        }
        assert!(list[place].allows(&value), "a default must be of the parameter's kind and in its range");
        list[place].default = value;
        i += 1;
    }
    list
}

/// True if two texts are equal. Constants can use this function, but not `==` on `str`.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

/// The values of a scheme's parameters.
#[derive(Debug, Clone)]
pub struct Settings {
    parameters: &'static [Parameter],
    values: Vec<Value>,
}

impl Settings {
    /// All parameters with their default values.
    #[must_use]
    pub fn defaults(parameters: &'static [Parameter]) -> Self {
        Self { parameters, values: parameters.iter().map(|parameter| parameter.default).collect() }
    }

    /// Sets a parameter. The caller checks the value with [`Parameter::allows`] first.
    ///
    /// # Panics
    /// If there is no such parameter, or if the parameter does not allow the value.
    pub fn set(&mut self, name: &str, value: Value) {
        let place = self.parameters.iter().position(|parameter| parameter.name == name);
        let place = place.unwrap_or_else(|| panic!("the scheme must declare the parameter `{name}`"));
        assert!(self.parameters[place].allows(&value), "the parameter `{name}` does not allow {value:?}");
        self.values[place] = value;
    }

    /// All parameters with their values, in the order in which the scheme declares them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, Value)> + '_ {
        self.parameters.iter().zip(self.values.iter().copied())
    }
}
