//! Warnings about experiments that can run, but whose results are probably not what their authors want. Each lint is a
//! file with its rule and its reason, and a line in `LINTS`.
//!
//! A warning names the key that it is about. It usually also states the value of the key, the number with which the
//! value is compared, and a better value. A warning does not affect the run, unless the user denies warnings
//! (`--deny-warnings`).

mod idle;
mod late_flows;
mod load;
mod marks;
mod queue;
mod relay;
mod rto;
mod samples;
mod thresholds;
mod unused;
mod warm_up;

use crate::Error;
use crate::experiment::{At, EngineKind, Note, Table, place};
use crate::run::prepare::Prepared;
use raddle_core::{Duration, NodeId, Rate};
use raddle_schemes::parameter::{Settings, Value};
use serde_json::json;
use std::fmt;

/// The name of a lint, and its rule.
type Lint = (&'static str, fn(&Subject<'_>) -> Vec<Finding>);

const LINTS: [Lint; 11] = [
    ("idle", idle::find),
    ("late-flows", late_flows::find),
    ("load", load::find),
    ("marks", marks::find),
    ("queue", queue::find),
    ("relay", relay::find),
    ("rto", rto::find),
    ("samples", samples::find),
    ("thresholds", thresholds::find),
    ("unused", unused::find),
    ("warm-up", warm_up::find),
];

/// A warning about a setting that is probably not intended, or a note on how a value was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// The name of the lint.
    pub lint: &'static str,
    /// The dotted name of the key that the warning is about.
    pub key: String,
    /// The problem.
    pub what: String,
    /// A suggested correction.
    pub hint: String,
    at: At,
}

/// A problem that a lint has found.
struct Finding {
    key: String,
    what: String,
    hint: String,
}

impl Finding {
    fn new(key: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.into(), what: what.into(), hint: hint.into() }
    }
}

/// The name that notes about aliases have in place of a lint's name.
const ALIAS: &str = "alias";

/// One note for each alias in the experiment's text (`notes`), followed by the warnings of all lints. `root` is the
/// root table of the text.
pub(crate) fn warnings(root: &Table, prepared: &Prepared, notes: &[Note]) -> Vec<Warning> {
    let subject = Subject { root, prepared };
    let of_lint = |&(lint, find): &Lint| {
        let findings = find(&subject).into_iter();
        findings.map(move |Finding { key, what, hint }| Warning {
            lint,
            at: place(root, &key),
            key,
            what,
            hint,
        })
    };
    let of_alias = |Note { key, alias, meant }: &Note| Warning {
        lint: ALIAS,
        at: place(root, key),
        key: key.clone(),
        what: format!("`{alias}` is read as `{meant}`"),
        hint: format!("write `{meant}` to make the meaning explicit"),
    };
    notes.iter().map(of_alias).chain(LINTS.iter().flat_map(of_lint)).collect()
}

impl Warning {
    /// True for a note on how a value was read. Notes are never errors.
    fn is_note(&self) -> bool {
        self.lint == ALIAS
    }

    /// The warning as JSON: the lint, the key, the message, the hint, the file (or `--set`), and the line.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let Self { lint, key, what, hint, at } = self;
        let line = at.position().map(|(line, _)| line);
        let file = Some(&at.source.name).filter(|name| !name.is_empty());
        json!({ "lint": lint, "key": key, "message": what, "hint": hint, "file": file, "line": line })
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lint, key, what, hint, at } = self;
        let level = if self.is_note() { "note" } else { "warning" };
        let name = Some(&at.source.name).filter(|name| !name.is_empty()).unwrap_or(key);
        write!(f, "{level}[{lint}] {name}")?;
        if let Some((line, _)) = at.position() {
            write!(f, ":{line}")?;
        }
        write!(f, ": {what}\n  help: {hint}")
    }
}

/// The error for a user who denies warnings; `None` if there are only notes, or no warnings at all.
#[must_use]
pub fn denied(warnings: &[Warning]) -> Option<Error> {
    let mut warnings = warnings.iter().filter(|warning| !warning.is_note());
    let first = warnings.next()?;
    let what = match warnings.count() {
        0 => first.what.clone(),
        more => format!("{}; further warnings: {more}", first.what),
    };
    Some(Error::Usage {
        what: format!(
            "refused because of a warning (--deny-warnings): \
                                       {what}"
        ),
        hint: first.hint.clone(),
    })
}

/// The experiment that lints examine.
struct Subject<'a> {
    root: &'a Table,
    prepared: &'a Prepared,
}

impl Subject<'_> {
    /// True if the experiment's engine has ports with queues.
    fn has_queues(&self) -> bool {
        self.prepared.experiment.engine.kind != EngineKind::Flow
    }

    /// Bytes of a full packet, headers included.
    fn packet(&self) -> u64 {
        u64::from(self.prepared.parts.mtu + self.prepared.parts.header_bytes)
    }

    /// The rate of the fastest host link.
    fn line_rate(&self) -> Rate {
        let topology = &self.prepared.topology;
        let links = topology.hosts().flat_map(|host| topology.links_from(host));
        links.map(|(_, link)| link.line_rate).max().unwrap_or(Rate::ZERO)
    }

    /// The longest propagation delay of a link.
    fn longest_delay(&self) -> Duration {
        self.prepared.topology.links().map(|(_, link)| link.delay).max().unwrap_or_default()
    }

    /// The longest base round trip, and its two nodes; `None` without flows and ranks. A pair of nodes is examined if
    /// the nodes are the source and the destination of one of the first flows, or if a program's first rank and one of
    /// the next ranks are on these nodes. A base round trip is the time in an empty fabric in which a full packet goes
    /// from one node to the other and a packet without payload comes back.
    fn base_round_trip(&self) -> Option<(Duration, NodeId, NodeId)> {
        /// Maximum number of flows, and of ranks, that are examined.
        const LOOKED_AT: usize = 256;
        let ideals = self.prepared.ideals();
        let of_flows = self.prepared.flows.iter().take(LOOKED_AT).map(|flow| (flow.src, flow.dst));
        let hosts = self.prepared.job.as_ref().map_or(&[][..], |job| job.nodes());
        let of_ranks = hosts.iter().skip(1).take(LOOKED_AT).map(|&host| (hosts[0], host));
        let mut pairs: Vec<_> = of_flows.chain(of_ranks).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let round_trips = pairs.into_iter().map(|(src, dst)| (ideals.round_trip(src, dst), src, dst));
        round_trips.max_by_key(|&(time, src, dst)| (time, std::cmp::Reverse((src, dst))))
    }
}

/// The value of a parameter; `None` if there is no such parameter.
fn setting(settings: &Settings, name: &str) -> Option<Value> {
    settings.iter().find(|(parameter, _)| parameter.name == name).map(|(_, value)| value)
}

/// The value of a parameter in bytes; `None` if there is no such parameter, or if it is not a size.
fn bytes(settings: &Settings, name: &str) -> Option<u64> {
    match setting(settings, name)? {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The value of a parameter as a time; `None` if there is no such parameter, or if it is not a time.
fn duration(settings: &Settings, name: &str) -> Option<Duration> {
    match setting(settings, name)? {
        Value::Duration(span) => Some(span),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
