//! Percentiles of few samples: of fewer than 100 flows the 99th percentile is the largest one, and of another seed another.

use super::{Finding, Subject};
use crate::experiment::table_in;

/// The least number of flows of which a hundredth is one.
const LEAST: usize = 100;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let flows = subject.prepared.flows.len();
    let drawn = table_in(subject.root, &["workload"]).and_then(|workload| workload.get("flows")).is_some();
    let random = table_in(subject.root, &["workload", "arrivals"]).is_some();
    // A figure says itself what it measures, and of how many seeds.
    let is_figure = subject.root.get("figure").is_some();
    if !drawn || !random || is_figure || flows >= LEAST {
        return Vec::new();
    }
    vec![Finding::new(
        "workload.flows",
        format!(
            "`flows` is {flows}: the 99th percentile of fewer than {LEAST} flows is the greatest of them"
        ),
        format!("give `flows` at least {LEAST}, and 1000 for a 99th percentile that another seed repeats"),
    )]
}
