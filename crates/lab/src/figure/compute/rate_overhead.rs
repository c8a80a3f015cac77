//! `[compute] kind = "rate-overhead"`: wall-clock time of rate computations, as a percentage of the interval between
//! them. `[compute] kind = "counted-flows"`: number of flows that these computations count.

use super::keys::{
    INTERVALS, RATE_HEADROOM, RATE_TOPOLOGY, REFERENCE_TICKS, SEED, TICKS, TRACE_FABRIC, TRACE_LABEL,
    TRACE_WORKLOAD, TRACES,
};
use super::{needed, run};
use crate::analysis::rate_overhead::{Algorithm, Lifetime, Replay, Samples, counted};
use crate::experiment::{Document, Fraction, Problem, Section, TopologySpec, WorkloadSpec};
use crate::figure::runs::{Data, Run};
use raddle_core::Duration;
use raddle_records::stats;
use raddle_topology::routing::Protocol;

/// A trace of flows on its fabric.
struct Trace {
    label: String,
    replay: Replay,
    lifetimes: Vec<Lifetime>,
    samples: Samples,
}

/// Measures every algorithm on every trace at every interval.
pub(super) fn measure(section: &mut Section<'_>, document: &Document) -> Result<Vec<Run>, Problem> {
    let (traces, intervals) = read(section, document)?;
    let mut runs = Vec::new();
    for Trace { label, replay, lifetimes, samples } in &traces {
        for rho in &intervals {
            let overheads = replay.overheads(lifetimes, *rho, *samples);
            for (algorithm, percent) in Algorithm::ALL.into_iter().zip(overheads) {
                let labels =
                    [("trace", &**label), ("algorithm", algorithm.name()), ("rho", &*rho.to_string())];
                runs.push(run(&labels, Data::Timings(percent)));
            }
        }
    }
    Ok(runs)
}

/// Counts the flows that a computation counts, on every trace at every interval. The number of flows has three
/// quantities: `mean`, `median` and `p99`.
pub(super) fn count(section: &mut Section<'_>, document: &Document) -> Result<Vec<Run>, Problem> {
    let (traces, intervals) = read(section, document)?;
    let mut runs = Vec::new();
    for Trace { label, lifetimes, samples, .. } in &traces {
        for rho in &intervals {
            let counts = counted(lifetimes, *rho, samples.ticks);
            let quantities = [
                ("mean", stats::mean(&counts)),
                ("median", stats::percentile(&counts, 50.0)),
                ("p99", stats::percentile(&counts, 99.0)),
            ];
            for (quantity, number) in quantities {
                let labels = [("trace", &**label), ("quantity", quantity), ("rho", &*rho.to_string())];
                runs.extend(number.map(|number| run(&labels, Data::Number(number))));
            }
        }
    }
    Ok(runs)
}

/// Reads the traces and the intervals, and computes the lifetimes of the flows.
fn read(section: &mut Section<'_>, document: &Document) -> Result<(Vec<Trace>, Vec<Duration>), Problem> {
    let files = document.files()?;
    let Some(fabric) = section.section(&RATE_TOPOLOGY)? else { return Err(section.missing(&RATE_TOPOLOGY)) };
    let Fraction(headroom) = section.read(&RATE_HEADROOM)?;
    let seed = section.read(&SEED)?;
    let topology = TopologySpec::read(fabric, &files, &document.registry)?.0.build(seed)?;
    let (ticks, intervals) = (section.read(&TICKS)?, section.read(&INTERVALS)?);
    let mut traces = Vec::new();
    for mut trace in needed(section, &TRACES)? {
        let label = trace.read(&TRACE_LABEL)?;
        let reference = trace.or(&REFERENCE_TICKS, ticks)?;
        let topology = match trace.section(&TRACE_FABRIC)? {
            Some(fabric) => TopologySpec::read(fabric, &files, &document.registry)?.0.build(seed)?,
            None => topology.clone(),
        };
        let Some(workload) = trace.section(&TRACE_WORKLOAD)? else {
            return Err(trace.missing(&TRACE_WORKLOAD));
        };
        let flows = WorkloadSpec::read(workload, &files)?.0.flows(&topology, seed)?;
        trace.finish()?;
        let replay = Replay::new(topology, Protocol::Rps, headroom);
        let lifetimes = replay.lifetimes(&flows.iter().collect::<Vec<_>>());
        let samples = Samples { ticks: ticks as usize, reference: reference as usize };
        traces.push(Trace { label, replay, lifetimes, samples });
    }
    Ok((traces, intervals))
}
