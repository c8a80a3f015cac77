//! A reproduction as text and as JSON.

use super::super::ledger::{Ledger, Moved};
use super::{Outcome, Reproduction};
use crate::figure::Spread;
use crate::notation::{shown, shown_or_dash, with_margin};
use crate::table;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};

/// Writes a table in which each claim has a row with the paper's number and the measured number. Below the table are,
/// among others, the reasons why claims do not hold, remarks, and the digest of the results. The text ends with the
/// differences from the ledger. If there was no comparison, it ends with the number of failed claims, if any.
impl fmt::Display for Reproduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["claim", "section", "paper", "measured", "n", "accepted", "verdict", "the paper says"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(self.outcomes().map(row));
        write!(f, "{}", table(&rows))?;
        for outcome in self.outcomes().filter(|outcome| outcome.ok == Some(false)) {
            let reason = match &outcome.deviation {
                Some(deviation) => format!("{} (shown by {})", deviation.cause, deviation.shown_by),
                None => format!("outside the accepted range (reason for this range: {})", outcome.why),
            };
            write!(f, "\n{} {}: {reason}", outcome.claim, outcome.verdict())?;
        }
        for figure in &self.figures {
            write!(f, "\nfigure   {}", figure.folder.join("figure.svg").display())?;
        }
        for outcome in self.outcomes() {
            if let Some(remark) = &outcome.remark {
                write!(f, "\n{}: {remark}", outcome.claim)?;
            }
        }
        for figure in &self.left_out {
            write!(f, "\nleft out {figure}, which runs only if you name this figure")?;
        }
        write!(f, "{}", self.unfinished_flows())?;
        write!(f, "\nscale    {}\ndigest   {:032x}", self.scale.name(), self.digest)?;
        match &self.moved {
            Some(moved) => write!(f, "\n\n{}", self.ledger(moved)),
            None => write!(f, "{}", self.failures()),
        }
    }
}

impl Reproduction {
    /// The claims as a JSON list. If the results were compared with the ledger, the list is in a JSON object, together
    /// with the differences.
    #[must_use]
    pub fn json(&self) -> Value {
        let scale = self.scale.name();
        let claims: Vec<Value> = self.outcomes().map(|outcome| outcome.json(scale)).collect();
        match &self.moved {
            None => claims.into(),
            Some(moved) => {
                json!({ "claims": claims, "moved": moved.results, "measured_otherwise": moved.measured })
            }
        }
    }

    /// A table of the runs with unfinished flows; empty if there are none.
    fn unfinished_flows(&self) -> String {
        let Some(first) = self.unfinished.first() else { return String::new() };
        let heads = first.flows.iter().map(|&(class, _)| class.to_owned());
        let title = "flows that never finished (most measures of flows leave them out)".to_owned();
        let mut rows = vec![std::iter::once(title).chain(heads).collect()];
        rows.extend(self.unfinished.iter().map(|unfinished| {
            let counts = unfinished.flows.iter().map(|(_, count)| count.to_string());
            std::iter::once(unfinished.run.clone()).chain(counts).collect::<Vec<_>>()
        }));
        format!("\n\n{}", table(&rows))
    }

    /// A sentence that counts the claims that fail without a known deviation, and those of them that also fail in the
    /// ledger. Empty if no claim fails without a known deviation.
    fn failures(&self) -> String {
        let failed: Vec<_> = self.outcomes().filter(|outcome| outcome.is_unexpected()).collect();
        if failed.is_empty() {
            return String::new();
        }
        let ledger = Ledger::builtin();
        let is_known = |outcome: &&&Outcome| {
            ledger.as_ref().is_ok_and(|ledger| ledger.knows(&outcome.claim, outcome.verdict(), self.scale))
        };
        let known = failed.iter().filter(is_known).count();
        let hint = match known {
            0 => "",
            _ => ". With `--check`, the exit code is 0 if all results match the ledger",
        };
        format!(
            "\n\n{} of {} claims failed, so the exit code is 1; \
             {known} of the failed claims also fail in Raddle's ledger{hint}",
            failed.len(),
            self.outcomes().count()
        )
    }

    /// The differences from the ledger, as text.
    fn ledger(&self, moved: &Moved) -> String {
        let (claims, figures) = (self.outcomes().count(), self.figures.len());
        let mut text = match moved.results.len() {
            0 => format!("ledger   unchanged: {claims} claims of {figures} figures"),
            _ => "ledger   changed:".to_owned(),
        };
        for sentence in &moved.results {
            let _ = write!(text, "\n         {sentence}");
        }
        for sentence in &moved.measured {
            let _ = write!(text, "\n         {sentence} (a measured time, which may differ between runs)");
        }
        text
    }
}

/// The row of a claim in the table.
fn row(outcome: &Outcome) -> Vec<String> {
    let bound = |number: f64| if number.is_finite() { shown(number) } else { "any".to_owned() };
    vec![
        outcome.claim.clone(),
        outcome.section.clone(),
        shown_or_dash(outcome.paper),
        outcome.measured.map_or("-".to_owned(), |measured| measured_with(measured, outcome.spread)),
        outcome.samples.map_or("-".to_owned(), |samples| samples.to_string()),
        format!("{} to {}", bound(outcome.accept.0), bound(outcome.accept.1)),
        outcome.verdict().to_owned(),
        outcome.says.clone(),
    ]
}

/// The measured number. If there is a spread over seeds, half the width of the 95% confidence interval, the range over
/// the seeds, and the number of seeds follow.
fn measured_with(measured: f64, spread: Option<Spread>) -> String {
    let Some(Spread { margin, least, most, seeds }) = spread else { return shown(measured) };
    format!("{} ({} to {}, {seeds} seeds)", with_margin(measured, margin), shown(least), shown(most))
}
