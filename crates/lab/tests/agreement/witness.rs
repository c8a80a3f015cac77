//! A comparison of Raddle's numbers with those of an independent witness.

use std::ops::RangeInclusive;

/// A witness and the cases in which it is compared.
pub(crate) struct Witness {
    /// The quantity that is compared.
    pub(crate) quantity: &'static str,
    /// The closed form, bound or program, and its source.
    pub(crate) form: &'static str,
    /// The experiment that gives Raddle's numbers, in a sentence or two.
    pub(crate) experiment: &'static str,
    /// The cases; each is one row of the page.
    pub(crate) cases: Vec<Case>,
}

/// One number from Raddle and from the witness.
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
    /// The relative difference between the two numbers.
    pub(crate) fn difference(&self) -> f64 {
        self.ours / self.theirs - 1.0
    }

    /// True if the difference is within the range. A number that is not finite never agrees.
    pub(crate) fn agrees(&self) -> bool {
        self.difference().is_finite() && self.within.contains(&self.difference())
    }
}

/// The range of relative differences up to this value, in either direction.
pub(crate) fn at_most(share: f64) -> RangeInclusive<f64> {
    -share..=share
}

/// The range for a case whose difference is not tested. The page shows the numbers and explains the difference.
pub(crate) const MEASURED: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;
