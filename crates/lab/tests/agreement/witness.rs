//! A comparison of Raddle's results with the results of an independent computation, the witness.

use std::ops::RangeInclusive;

/// A witness, and the cases in which Raddle is compared with the witness.
pub(crate) struct Witness {
    /// The quantity that is compared.
    pub(crate) quantity: &'static str,
    /// The closed form, the bound or the linear program that gives the witness's results, and its source.
    pub(crate) form: &'static str,
    /// A description of the experiment that gives Raddle's results.
    pub(crate) experiment: &'static str,
    /// The cases. The page shows each case as one row.
    pub(crate) cases: Vec<Case>,
}

/// A result of Raddle and the result of the witness for the same parameters.
pub(crate) struct Case {
    /// The parameters of the case.
    pub(crate) name: String,
    /// Raddle's result.
    pub(crate) ours: f64,
    /// The witness's result.
    pub(crate) theirs: f64,
    /// The range in which [`Case::difference`] must lie.
    pub(crate) within: RangeInclusive<f64>,
}

impl Case {
    /// Returns the relative difference between the two results.
    pub(crate) fn difference(&self) -> f64 {
        self.ours / self.theirs - 1.0
    }

    /// True if the relative difference is within the range. A difference that is not finite is never within the range.
    pub(crate) fn agrees(&self) -> bool {
        self.difference().is_finite() && self.within.contains(&self.difference())
    }
}

/// Returns the range of relative differences from -`share` to `share`.
pub(crate) fn at_most(share: f64) -> RangeInclusive<f64> {
    -share..=share
}

/// The range for a case that is shown but not tested. The page shows both results and explains their
/// difference.
pub(crate) const MEASURED: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;
