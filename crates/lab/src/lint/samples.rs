//! Warns of percentiles of few samples. With fewer than 100 flows the 99th percentile is the largest sample, and it
//! differs with each seed.

use super::{Finding, Subject};
use crate::experiment::table_in;

/// The smallest number of flows for which one percent is at least one flow.
const LEAST: usize = 100;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let flows = subject.prepared.flows.len();
    let drawn = table_in(subject.root, &["workload"]).and_then(|workload| workload.get("flows")).is_some();
    let random = table_in(subject.root, &["workload", "arrivals"]).is_some();
    // A figure defines its own measures and number of seeds.
    let is_figure = subject.root.get("figure").is_some();
    if !drawn || !random || is_figure || flows >= LEAST {
        return Vec::new();
    }
    vec![Finding::new(
        "workload.flows",
        format!("`flows` is {flows}: with fewer than {LEAST} flows, the 99th percentile is the maximum"),
        format!(
            "give `flows` at least {LEAST}, or at least 1000 for a 99th percentile that varies little between \
                 seeds"
        ),
    )]
}
