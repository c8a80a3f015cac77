//! Warns of measurements that would measure nothing: a warm-up of a figure that covers all flows, record intervals
//! longer than the time limit, and plots or claims whose window opens at the time limit or later.

use super::{Finding, Subject};
use crate::experiment::{Fraction, Read as _, Table, Value, list, table_in};
use raddle_core::{Duration, Time};

#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let flows = subject.prepared.flows.len();
    let warm_up = table_in(subject.root, &["figure"]).and_then(|figure| figure.get("warm_up"));
    if let Some(Ok(Fraction(share))) = warm_up.map(Fraction::read)
        && flows > 0
        && (flows as f64 * share) as usize >= flows
    {
        findings.push(Finding::new(
            "figure.warm_up",
            format!("`warm_up` = {share} excludes all {flows} flows, so no flow is left to measure"),
            "give a share below 1, such as warm_up = 0.05",
        ));
    }
    let record = &subject.prepared.experiment.record;
    let Some(limit) = subject.prepared.experiment.engine.time_limit else { return findings };
    let limit: Duration = limit.since(Time::ZERO);
    let intervals = [
        ("imbalance", record.imbalance),
        ("throughput", record.throughput),
        ("queue_lengths", record.queue_lengths.as_ref().map(|asked| asked.interval)),
    ];
    for (key, interval) in intervals {
        if let Some(interval) = interval.filter(|&interval| interval > limit) {
            findings.push(Finding::new(
                format!("record.{key}"),
                format!("`{key}` is {interval}, but the run ends earlier, at `time_limit` = {limit}"),
                format!("give an interval of at most {limit}"),
            ));
        }
    }
    findings.extend(windows(subject.root).filter(|&(_, from)| from >= limit).map(|(key, from)| {
        Finding::new(
            key,
            format!("`from` is {from}, but the run ends at `time_limit` = {limit}, so nothing is measured"),
            format!("give a `from` before {limit}"),
        )
    }));
    findings
}

/// For each plot and claim with a `from`: the name of its array of tables (`plot` or `claim`), and `from`, the start of
/// its window.
fn windows(root: &Table) -> impl Iterator<Item = (&'static str, Duration)> {
    let tables = ["plot", "claim"].into_iter().flat_map(|key| {
        let items = root.get(key).and_then(|item| list(item).ok()).unwrap_or_default();
        items.iter().map(move |item| (key, item))
    });
    tables.filter_map(|(key, item)| {
        let Value::Table(table) = &item.value else { return None };
        let measure = if key == "claim" { table_in(table, &["measure"])? } else { table };
        Some((key, Duration::read(measure.get("from")?).ok()?))
    })
}
