//! Warns of a table of parameters, such as `[scheme.pdq]`, if the experiment does not choose this scheme: the table
//! then has no effect. Also warns of a profile for another transport. There is no warning if another run of the sweep
//! may choose the scheme.

use super::{Finding, Subject};
use crate::experiment::{Entry, Item, Table, Value, table_in};

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let scheme = &subject.prepared.experiment.scheme;
    let Some(table) = table_in(subject.root, &["scheme"]) else { return Vec::new() };
    let chosen: Vec<&str> = scheme.chosen().collect();
    let is_idle = |name: &str| !chosen.contains(&name) && !is_for_others(subject.root, name);
    let tables = table.entries.iter().filter(|entry| matches!(entry.item.value, Value::Table(_)));
    let names = tables.map(|entry| entry.key.as_str()).filter(|&name| name != "queue" && is_idle(name));
    let mut findings: Vec<Finding> = names
        .map(|name| {
            Finding::new(
                format!("scheme.{name}"),
                format!("[scheme.{name}] has no effect: the experiment uses {}", chosen.join(", ")),
                format!("choose `{name}`, or leave this table out"),
            )
        })
        .collect();
    if let Some(profile) = &scheme.profile
        && is_idle(profile.transport)
    {
        let (name, of) = (profile.name, profile.transport);
        let what = format!("the profile {name} is for `{of}`, but the transport is `{}`", chosen[0]);
        findings.push(Finding::new(
            "scheme.profile",
            what,
            format!("choose transport = \"{of}\", or leave `profile` out"),
        ));
    }
    findings
}

/// Keys that select a scheme.
const CHOICES: [&str; 6] = [
    "scheme",
    "scheme.transport",
    "scheme.routing",
    "scheme.queue",
    "scheme.flow_control",
    "scheme.congestion_points",
];

/// True if another run of the sweep may choose the scheme `name`. This is so if a table that varies the experiment,
/// such as `[[sweep]]`, contains the name as a value. It is also so if such a table sets any key that selects a scheme,
/// because a run that does not set this key may use `name`.
fn is_for_others(root: &Table, name: &str) -> bool {
    let variations = ["sweep", "search", "scale", "compute"];
    variations.iter().filter_map(|key| root.get(key)).any(|item| names(item, name) || chooses(item))
}

fn chooses(item: &Item) -> bool {
    match &item.value {
        Value::String(text) => CHOICES.contains(&text.as_str()), // This is, for example, the `key` of a sweep.
        Value::Array(items) => items.iter().any(chooses),
        Value::Table(table) => {
            let is_choice = |entry: &Entry| CHOICES.contains(&entry.key.as_str()) || chooses(&entry.item);
            table.entries.iter().any(is_choice)
        }
        _ => false,
    }
}

fn names(item: &Item, name: &str) -> bool {
    match &item.value {
        Value::String(text) => text == name,
        Value::Array(items) => items.iter().any(|item| names(item, name)),
        Value::Table(table) => table.entries.iter().any(|entry| names(&entry.item, name)),
        _ => false,
    }
}
