//! Warns of flows that start at the time limit or later. They count as unfinished, although the scheme had
//! no chance to deliver them.

use super::{Finding, Subject};
use crate::run::survey::Survey;
use raddle_core::Time;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(limit) = subject.prepared.experiment.engine.time_limit else { return Vec::new() };
    let Survey { facts, late, last, .. } = subject.prepared.survey;
    if late == 0 {
        return Vec::new();
    }
    let [limit, last] = [limit, last].map(|at| at.since(Time::ZERO));
    vec![Finding::new(
        "engine.time_limit",
        format!(
            "{late} of {} flows start at or after `time_limit` = {limit}; the last flow starts at {last}",
            facts.flows
        ),
        format!("give a `time_limit` later than {last}, or fewer flows"),
    )]
}
