//! Flows that start when the run is over: they are counted as unfinished, and say nothing about the scheme.

use super::{Finding, Subject};
use raddle_core::Time;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let flows = &subject.prepared.flows;
    let Some(limit) = subject.prepared.experiment.engine.time_limit else { return Vec::new() };
    let late = flows.iter().filter(|flow| flow.start >= limit).count();
    let Some(last) = flows.iter().map(|flow| flow.start).max().filter(|_| late > 0) else {
        return Vec::new();
    };
    let [limit, last] = [limit, last].map(|at| at.since(Time::ZERO));
    vec![Finding::new(
        "engine.time_limit",
        format!(
            "`time_limit` is {limit}, and {late} of {} flows start then or later, the last one at {last}",
            flows.len()
        ),
        format!("give `time_limit` more than {last}, or fewer flows"),
    )]
}
