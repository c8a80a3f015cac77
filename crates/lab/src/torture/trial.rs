//! Checks all properties of one experiment.

use super::bench::{self, Bench};
use super::ran::{self, Ran};
use super::{Violation, fluid, invariants, parse};
use crate::experiment::{Document, EngineKind};
use crate::run::prepare::Prepared;
use crate::{Error, Threads};
use raddle_core::Drops;
use raddle_schemes::registry::Registry;
use std::sync::Arc;
use toml::Table;

/// The outcome of an experiment that violates nothing.
pub(super) enum Trial {
    /// The checks of [`Document::prepare`] refused the experiment.
    Refused,
    /// The experiment took too many packet hops or too much time, and was stopped.
    CutShort,
    /// All checked properties hold.
    Held {
        /// True if the experiment also ran in lockstep.
        lockstep: bool,
        /// True if the experiment ran on both the packet and the flow engine.
        fluid: bool,
    },
}

/// The properties that [`trial`] checks itself. [`invariants`] and [`fluid`] check the properties of a run's results.
mod properties {
    pub(super) const RUNS: &str = "every experiment that passes the checks can run";
    pub(super) const RESOLVED: &str = "resolving a resolved experiment changes nothing";
    pub(super) const THREADS: &str = "results do not depend on the number of threads";
    pub(super) const LOCKSTEP: &str = "the lockstep engine gives the same records as the packet engine";
    pub(super) const REPEATS: &str = "two runs of an experiment give the same results";
}

/// Runs [`trial`] on a new thread.
pub(super) fn guarded_trial(experiment: Table, registry: &Arc<Registry>) -> Result<Trial, Violation> {
    let registry = Arc::clone(registry);
    bench::guarded(move |bench| trial(&experiment, &registry, bench))?
}

/// Runs the experiment several times, and checks all properties. `bench` shows other threads which experiment is under
/// test.
fn trial(experiment: &Table, registry: &Arc<Registry>, bench: &Bench) -> Result<Trial, Violation> {
    bench.put(experiment);
    let violation = |property, seen: String| Violation { property, seen, experiment: experiment.clone() };
    let Ok((document, prepared)) =
        parse(experiment, registry).and_then(|document| Ok((document.clone(), document.prepare()?)))
    else {
        return Ok(Trial::Refused);
    };
    let again = resolved(&prepared, registry).map_err(|seen| violation(properties::RESOLVED, seen))?;
    let first = ran::run(&document, Threads::Always(1));
    if first.as_ref().is_ok_and(|ran| !ran.outcome.complete) {
        return Ok(Trial::CutShort);
    }
    let differs = |other: &Result<Ran, Error>| differs(&first, other);
    let engine = prepared.experiment.engine.kind;
    let others: Vec<Threads> = match engine {
        EngineKind::Packet => [2, 3].map(|threads| Threads::Drawn { threads, seed: 1 }).into(),
        _ => vec![Threads::Always(1)],
    };
    for threads in others {
        // This run uses the resolved experiment, which must be equivalent to the drawn experiment.
        let other = ran::run(&again, threads);
        // A run checks its number of packet hops only at some instants, which depend on the number of threads. So one
        // run may be stopped although the other run reached its end.
        if other.as_ref().is_ok_and(|ran| !ran.outcome.complete) {
            return Ok(Trial::CutShort);
        }
        if let Some(difference) = differs(&other) {
            let property =
                if engine == EngineKind::Packet { properties::THREADS } else { properties::REPEATS };
            return Err(violation(property, format!("{threads:?}: {difference}")));
        }
    }
    let first = match first {
        Ok(first) => first,
        Err(error) if invariants::may_fail(&error, &prepared) => {
            return Ok(Trial::Held { lockstep: false, fluid: false });
        }
        Err(error) => return Err(violation(properties::RUNS, error.to_string())),
    };
    invariants::check(&first, &prepared).map_err(|(property, seen)| violation(property, seen))?;
    if engine != EngineKind::Packet {
        fluid::check(&first, &prepared).map_err(|(property, seen)| violation(property, seen))?;
        return Ok(Trial::Held { lockstep: false, fluid: false });
    }
    let lockstep =
        on(&document, "lockstep").and_then(|(document, _)| ran::run(&document, Threads::Always(1)).ok());
    if let Some(lockstep) = &lockstep
        && lockstep.outcome.complete
        && let Some(difference) = lockstep_differs(&first, lockstep)
    {
        return Err(violation(properties::LOCKSTEP, difference));
    }
    let fluid = on(&document, "flow");
    if let Some((document, prepared)) = &fluid {
        let fluid = ran::run(document, Threads::Always(1))
            .map_err(|error| violation(properties::RUNS, format!("on the flow engine: {error}")))?;
        invariants::check(&fluid, prepared)
            .and_then(|()| fluid::check(&fluid, prepared))
            .map_err(|(property, seen)| violation(property, format!("on the flow engine: {seen}")))?;
    }
    Ok(Trial::Held { lockstep: lockstep.is_some(), fluid: fluid.is_some() })
}

/// The resolved experiment, parsed again from its text. Returns an error if it does not resolve to itself.
fn resolved(prepared: &Prepared, registry: &Arc<Registry>) -> Result<Document, String> {
    let resolved = &prepared.experiment.resolved;
    let again = parse(resolved, registry).map_err(|problem| problem.to_string())?;
    let experiment = again.prepare().map_err(|problem| problem.to_string())?.experiment;
    match experiment.resolved == *resolved {
        true => Ok(again),
        false => Err(format!(
            "the experiment resolves to\n{}\nand the resolved experiment resolves to\n{}",
            resolved, experiment.resolved
        )),
    }
}

/// The experiment on another engine, if that engine can run it.
fn on(document: &Document, engine: &str) -> Option<(Document, Prepared)> {
    let engine = format!("engine.kind={engine}");
    let document = document.clone().with_overrides([engine.as_str()]).ok()?;
    let prepared = document.prepare().ok()?;
    Some((document, prepared))
}

fn differs(one: &Result<Ran, Error>, other: &Result<Ran, Error>) -> Option<String> {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            let tables = one.differs(other);
            (!tables.is_empty()).then(|| tables.join(", "))
        }
        (Err(one), Err(other)) => {
            let (one, other) = (one.to_string(), other.to_string());
            (one != other).then(|| format!("one run: {one}; the other run: {other}"))
        }
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Some(format!("only one of two runs fails: {error}")),
    }
}

/// Compares the results that lockstep and the packet engine must share: the records of flows and ranks, the drops, and
/// the counts of data packets.
fn lockstep_differs(packets: &Ran, lockstep: &Ran) -> Option<String> {
    if let Some((one, other)) = packets.flows.iter().zip(&lockstep.flows).find(|(one, other)| one != other) {
        return Some(format!("packet engine {one:?}\nlockstep {other:?}"));
    }
    let (one, other) = (&packets.outcome, &lockstep.outcome);
    // Lockstep cannot recognize a damaged packet as part of a handshake.
    let drops = |ran: &Ran| Drops { handshake: 0, ..ran.outcome.totals.drops };
    let tables = [
        ("flows", packets.flows.len() == lockstep.flows.len()),
        ("ranks", one.ranks == other.ranks),
        ("drops", drops(packets) == drops(lockstep)),
        ("data", one.totals.data == other.totals.data),
    ];
    tables.into_iter().find(|(_, same)| !same).map(|(table, _)| table.to_owned())
}
