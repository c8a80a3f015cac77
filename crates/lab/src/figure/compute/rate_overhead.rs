//! `[compute] kind = "rate-overhead"`: what rate computations take, as a share of the interval between them.

use super::{needed, run};
use crate::analysis::rate_overhead::{Algorithm, Lifetime, Replay, Samples};
use crate::experiment::{Document, Files, Fraction, Problem, Section, TopologySpec, WorkloadSpec};
use crate::figure::runs::{Data, Run};
use raddle_core::Duration;
use raddle_topology::routing::Protocol;

/// Every algorithm on every trace at every interval.
pub(super) fn measure(section: &mut Section<'_>, document: &Document) -> Result<Vec<Run>, Problem> {
    let files = Files::new(&document.folder);
    let Some(fabric) = section.section("topology")? else {
        return Err(section.missing("topology", "{ kind = \"torus\", dims = [8, 8, 8] }"));
    };
    let headroom = section.or("headroom", Fraction(0.05))?.0;
    let seed: u64 = section.or("seed", 1)?;
    let topology = TopologySpec::read(fabric, &files, &document.registry)?.0.build(seed)?;
    let ticks: u32 = section.required("ticks")?;
    let intervals: Vec<Duration> = section.required("intervals")?;
    let zero = ticks == 0 || intervals.contains(&Duration::ZERO);
    section.ensure(!zero, "intervals", "nothing to time", "give ticks and intervals above zero")?;
    let replay = Replay::new(topology.clone(), Protocol::Rps, headroom);
    let mut runs = Vec::new();
    for item in needed(section, "traces", "[{ label = \"10 MB\", workload = { … } }]")? {
        let mut trace = Section::of(item, "compute.traces")?;
        let label: String = trace.required("label")?;
        let reference: u32 = trace.or("reference_ticks", ticks)?;
        let Some(workload) = trace.section("workload")? else {
            return Err(trace.missing("workload", "{ pairs = \"uniform\", … }"));
        };
        let flows = WorkloadSpec::read(workload, &files)?.0.flows(&topology, seed)?;
        trace.finish()?;
        let lifetimes: Vec<Lifetime> = replay.lifetimes(&flows.iter().collect::<Vec<_>>());
        let samples = Samples { ticks: ticks as usize, reference: reference as usize };
        for rho in &intervals {
            let overheads = replay.overheads(&lifetimes, *rho, samples);
            for (algorithm, percent) in Algorithm::ALL.into_iter().zip(overheads) {
                let labels =
                    [("trace", &*label), ("algorithm", algorithm.name()), ("rho", &*rho.to_string())];
                runs.push(run(&labels, Data::Timings(percent)));
            }
        }
    }
    Ok(runs)
}
