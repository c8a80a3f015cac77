//! Cases of a computation: the figure's own experiment, in the packet engine, with other values of some keys. The
//! computation may replace parts of the nodes, in order to count what they do.

use super::keys::{CASE_SET, KIND, RUN_CASES, RUN_LABEL, RUN_SEEDS};
use super::{Context, needed, run};
use crate::Error;
use crate::experiment::{At, Cause, EngineKind, Problem, Section};
use crate::figure::runs::{Data, Run, SEED};
use crate::run::Control;
use crate::run::prepare::Prepared;
use raddle_core::{NodeId, Parts};
use raddle_packet_sim::Threads;
use raddle_records::FlowRecord;
use raddle_schemes::scheme::Unfit;
use std::sync::atomic::AtomicBool;

/// The numbers that a run gives, each with the name of its quantity.
pub(super) type Quantities = Vec<(&'static str, f64)>;

/// One of the section's `cases` with one seed, before its run.
pub(super) struct Case<'a> {
    pub(super) prepared: Prepared,
    /// The kind of computation in the experiment's text, to which problems point.
    kind: &'a At,
    stop: &'a AtomicBool,
}

/// Computes the `quantities` of each of the section's cases with each of its seeds.
pub(super) fn each_case(
    section: &mut Section<'_>,
    context: &Context<'_>,
    quantities: fn(Case<'_>) -> Result<Quantities, Problem>,
) -> Result<Vec<Run>, Problem> {
    let seeds = section.read(&RUN_SEEDS)?;
    let mut runs = Vec::new();
    for mut case in needed(section, &RUN_CASES)? {
        let (label, set) = (case.read(&RUN_LABEL)?, case.read(&CASE_SET)?);
        case.finish()?;
        let document = context.document.clone().with_overrides(set.iter().map(String::as_str))?;
        let first = document.prepare()?.experiment.engine.seed;
        for seed in (first..).take(seeds as usize).take_while(|_| !context.is_stopped()) {
            let with_seed = format!("engine.seed={seed}");
            let prepared = document.clone().with_overrides([with_seed.as_str()])?.prepare()?;
            let seed = seed.to_string();
            for (quantity, number) in
                quantities(Case { prepared, kind: section.at_key(&KIND), stop: context.stop })?
            {
                let labels = [("quantity", quantity), ("case", &label), (SEED, &seed)];
                runs.push(run(&labels, Data::Number(number)));
            }
        }
    }
    Ok(runs)
}

impl Case<'_> {
    /// True if the case runs in the packet engine.
    pub(super) fn is_of_packets(&self) -> bool {
        self.prepared.experiment.engine.kind == EngineKind::Packet
    }

    /// The problem that the experiment does not fit the computation.
    pub(super) fn refused(&self, what: impl Into<String>, hint: &str) -> Problem {
        refused(self.kind, what.into(), hint)
    }

    /// The problem that a scheme does not fit the experiment.
    pub(super) fn unfit(&self, unfit: Unfit) -> Problem {
        self.refused(unfit.problem, &unfit.hint)
    }

    /// Replaces the parts of each node by what `change` makes of them.
    pub(super) fn change_nodes(&mut self, mut change: impl FnMut(NodeId, Parts) -> Parts + 'static) {
        let mut bare = std::mem::replace(&mut self.prepared.parts.node, Box::new(|_| Parts::default()));
        self.prepared.parts.node = Box::new(move |id| change(id, bare(id)));
    }

    /// Runs the case, and calls `flow` with each flow that ended.
    pub(super) fn run(self, flow: &mut dyn FnMut(&FlowRecord) -> Result<(), Error>) -> Result<(), Problem> {
        let control = Control { stop: self.stop, progress: &mut |_| (), threads: Threads::Always(1) };
        let hint = "run the experiment without [compute] to find the cause";
        crate::run::run(self.prepared, flow, control)
            .map_err(|error| refused(self.kind, error.to_string(), hint))?;
        Ok(())
    }
}

fn refused(kind: &At, what: String, hint: &str) -> Problem {
    Problem::at(kind, Cause::Contradiction { what, hint: hint.to_owned() })
}
