//! A comparison of Raddle's numbers with those of an independent witness.

use std::ops::RangeInclusive;

/// A witness and the cases in which it was asked.
pub(crate) struct Witness {
    /// The quantity that is compared.
    pub(crate) quantity: &'static str,
    /// The closed form, bound or program, and its source.
    pub(crate) form: &'static str,
    /// The experiment that gives Raddle's numbers, in a sentence or two.
    pub(crate) experiment: &'static str,
    /// One row of the page each.
    pub(crate) cases: Vec<Case>,
}

/// Raddle's number and the witness's.
pub(crate) struct Case {
    /// The parameters of the case.
    pub(crate) name: String,
    /// Raddle's number.
    pub(crate) ours: f64,
    /// The witness's number.
    pub(crate) theirs: f64,
    /// The range in which [`Case::difference`] has to lie.
    pub(crate) within: RangeInclusive<f64>,
}

impl Case {
    /// The difference of the two numbers, as a share of the witness's.
    pub(crate) fn difference(&self) -> f64 {
        self.ours / self.theirs - 1.0
    }

    /// True if the difference lies in the range. A number that is not finite never does.
    pub(crate) fn agrees(&self) -> bool {
        self.within.contains(&self.difference())
    }
}

/// Differences of at most this share, either way.
pub(crate) fn at_most(share: f64) -> RangeInclusive<f64> {
    -share..=share
}
