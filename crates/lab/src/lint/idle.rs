//! Warns of queue samples that are taken before the first flow starts. In flow files of other simulators, the first
//! flow often starts at 2 s. A short sampling interval then gives millions of empty rows.

use super::{Finding, Subject};
use raddle_core::Time;

/// Smallest number of empty samples of each queue for which the lint warns.
const EMPTY: u64 = 1_000;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(asked) = &subject.prepared.experiment.record.queue_lengths else { return Vec::new() };
    let first = subject.prepared.survey.first.since(Time::ZERO);
    let samples = first.as_ps() / asked.interval.as_ps();
    if samples < EMPTY {
        return Vec::new();
    }
    vec![Finding::new(
        "record.queue_lengths",
        format!("the first flow starts at {first}, so the first {samples} samples of each queue are empty"),
        format!("subtract {first} from the start of every flow, or give a longer interval"),
    )]
}
