//! Random values of the types that occur in an experiment.

use raddle_core::{Bytes, Duration, Rate, Stream};
use raddle_schemes::parameter::{Parameter, Value as Setting};
use toml::Value;

/// The random number generator of one experiment.
pub(super) struct Dice(Stream);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Stream::new(seed, 0, "torture"))
    }

    /// True with the given probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    /// One element of `of`. All elements are equally likely.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.index(of.len())]
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A number from `least` to `most`, uniformly distributed.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    /// Like [`between`](Self::between), as a TOML value.
    pub(super) fn number(&mut self, least: u64, most: u64) -> Value {
        Value::Integer(i64::try_from(self.between(least, most)).expect("a drawn number must fit in an `i64`"))
    }

    /// A number from `least`, which must be above 0, to `most`. The distribution is roughly log-uniform.
    pub(super) fn log_between(&mut self, least: u64, most: u64) -> u64 {
        let power = least << self.below(u64::from((most / least).ilog2()) + 1);
        (power + self.below(power)).min(most)
    }

    /// A time span from `least` to `most`. It is often a round number, so that events coincide.
    pub(super) fn span(&mut self, least: Duration, most: Duration) -> Value {
        let ps = self.log_between(least.as_ps().max(1), most.as_ps());
        let step = self.pick(&[1, 1_000, 100_000, 1_000_000]);
        let round = ps / step * step;
        Duration::from_ps(if round < least.as_ps() { ps } else { round }).to_string().into()
    }

    pub(super) fn size(&mut self, least: u64, most: u64) -> Value {
        Bytes(self.log_between(least, most)).to_string().into()
    }

    /// A fraction from 0 to `most`, in steps of a thousandth of `most`.
    pub(super) fn share(&mut self, most: f64) -> Value {
        (most * self.below(1_001) as f64 / 1_000.0).into()
    }

    pub(super) fn rate(&mut self) -> Value {
        let rates = ["333 Mbps", "1 Gbps", "7 Gbps", "10 Gbps", "25 Gbps", "40 Gbps", "100 Gbps", "400 Gbps"];
        self.pick(&rates).into()
    }

    pub(super) fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        self.0.shuffle(&mut items);
        items
    }

    /// A value within the parameter's range. Quantities and counts are mostly near the default, and sometimes at an end
    /// of the range. Half of the fractions are near the default. The others are anywhere from the least value to the
    /// largest value, but at most 1.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(super) fn parameter(&mut self, parameter: &Parameter) -> Value {
        let (least, most) = parameter.range;
        let mut near = |default: u64, if_none: u64| {
            let centre = if default == 0 { if_none } else { default };
            let end = self.below(10);
            let drawn = match end {
                0 if least <= 1e15 => least,
                1 if most <= 1e15 => most,
                _ => self.log_between((centre / 8).max(1), centre.saturating_mul(8)) as f64,
            };
            drawn.clamp(least, most) as u64
        };
        match parameter.default {
            Setting::Duration(default) => {
                Duration::from_ps(near(default.as_ps(), 10_000_000)).to_string().into()
            }
            Setting::Rate(default) => {
                Rate::from_bps(near(default.as_bps_f64() as u64, 1_000_000_000)).to_string().into()
            }
            Setting::Bytes(default) => Bytes(near(default, 10_000)).to_string().into(),
            Setting::Count(default) => i64::try_from(near(default, 4)).unwrap_or(i64::MAX).into(),
            Setting::Fraction(default) => match self.chance(0.5) {
                true => (default * (0.25 + 2.0 * self.0.unit())).clamp(least, most).into(),
                false => (least + (most.min(1.0) - least) * self.0.unit()).into(),
            },
            Setting::Flag(_) => self.0.coin().into(),
            Setting::Choice(_) => (self.pick(parameter.choices)).into(),
            Setting::Eight(default) => self.shuffled(default.map(i64::from).to_vec()).into(),
        }
    }
}
