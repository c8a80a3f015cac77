//! The result of a search.

use crate::notation::shown;
use crate::run::summary;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The values that a search tried, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The key that was varied.
    pub key: String,
    /// The greatest tried value at which the measure reached the threshold, without its unit. If there is no such
    /// value, this is the first value of the range.
    pub value: f64,
    /// The value as written in an experiment.
    pub shown: String,
    /// True if the value is the last value of the range. If so, the measure may reach the threshold at greater values
    /// too.
    pub at_end: bool,
    /// The threshold for the measure.
    pub at_least: f64,
    /// Number of seeds at each value. There is at most one run per seed.
    pub seeds: u64,
    /// The values that were tried, in the order in which they were tried.
    pub probes: Vec<Probe>,
    /// The digest of all runs' results.
    pub digest: String,
}

/// A value that was tried, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The value as written in an experiment.
    pub shown: String,
    /// Mean of the measure over the runs.
    pub measured: f64,
    /// Number of runs that had something to measure. It is less than the number of seeds if a run had nothing to
    /// measure. It is also less if runs were skipped because the mean could no longer reach the threshold.
    pub runs: usize,
    /// True if the measure reached the threshold.
    pub holds: bool,
}

impl Found {
    /// A caveat about the value, if there is one.
    #[must_use]
    pub fn remark(&self) -> Option<&'static str> {
        self.at_end.then_some("this value is the end of `range`; larger values may also reach the threshold")
    }

    /// Total number of runs that had something to measure.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.probes.iter().map(|probe| probe.runs).sum()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![[self.key.as_str(), "measured", "runs", "holds"].map(str::to_owned).to_vec()];
        rows.extend(self.probes.iter().map(|probe| {
            let holds = if probe.holds { "yes" } else { "no" };
            vec![probe.shown.clone(), shown(probe.measured), probe.runs.to_string(), holds.to_owned()]
        }));
        f.write_str(&summary::table(&rows))?;
        let remark = self.remark().map_or(String::new(), |remark| format!(" ({remark})"));
        write!(
            f,
            "\n{} = {} is the greatest value at which the measure is at least {}, averaged over {} \
                 seeds{remark}\ndigest     {}",
            self.key, self.shown, self.at_least, self.seeds, self.digest
        )
    }
}

/// A table with a row for each search: its name and its result.
#[must_use]
pub fn table(found: &[(String, Found)]) -> String {
    let mut rows = vec![["search", "found", "runs", ""].map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(|(name, found)| {
        let remark = found.remark().unwrap_or_default();
        vec![name.clone(), found.shown.clone(), found.runs().to_string(), remark.to_owned()]
    }));
    summary::table(&rows)
}
