//! What a search finds.

use crate::run::summary;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a search looked at, and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The key that was varied.
    pub key: String,
    /// The greatest value that holds, without its unit: the search's first one if none above it does.
    pub value: f64,
    /// The same as an experiment would write it.
    pub shown: String,
    /// Whether it is the greatest that was allowed, so that a greater one may hold as well.
    pub at_end: bool,
    /// What the measure had to come to.
    pub at_least: f64,
    /// Runs at each value.
    pub seeds: u64,
    /// The values that were tried, in order.
    pub probes: Vec<Probe>,
    /// Of the results of all runs.
    pub digest: String,
}

/// A value that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The value as an experiment would write it.
    pub shown: String,
    /// The measure's mean over the runs made.
    pub measured: f64,
    /// Runs made: less than there are seeds if the mean over all could not have been large enough any more.
    pub runs: usize,
    /// Whether it was large enough.
    pub holds: bool,
}

impl Found {
    /// What to bear in mind of the value, if anything.
    #[must_use]
    pub fn remark(&self) -> Option<&'static str> {
        self.at_end.then_some("the greatest value allowed: more may hold")
    }

    /// Runs made in all.
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
            vec![
                probe.shown.clone(),
                format!("{:.4}", probe.measured),
                probe.runs.to_string(),
                holds.to_owned(),
            ]
        }));
        f.write_str(&summary::table(&rows))?;
        let remark = self.remark().map_or(String::new(), |remark| format!(" ({remark})"));
        write!(
            f,
            "\n{} = {} is the greatest at which the measure is at least {}, over {} seeds{remark}\ndigest       {}",
            self.key, self.shown, self.at_least, self.seeds, self.digest
        )
    }
}

/// What searches of these names found, a line each.
#[must_use]
pub fn table(found: &[(String, Found)]) -> String {
    let mut rows = vec![["search", "found", "runs", ""].map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(|(name, found)| {
        let remark = found.remark().unwrap_or_default();
        vec![name.clone(), found.shown.clone(), found.runs().to_string(), remark.to_owned()]
    }));
    summary::table(&rows)
}
