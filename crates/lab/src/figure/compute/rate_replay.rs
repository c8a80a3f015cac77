//! `[compute] kind = "rate-replay"`: what rate computations take in live nodes that hear what nodes of the figure's own
//! experiment heard in the packet engine. What is measured is a share of the interval: a `computation`, or the `lateness` at the p99
//! of all that a node heard or woke up for on the real clock.

use super::{Context, run};
use crate::analysis::rate_overhead::{Core, Measured, Recorded};
use crate::experiment::{Cause, EngineKind, Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_core::Duration;

/// Every core at every interval.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    let nodes: u32 = section.or("nodes", 1)?;
    let intervals: Vec<Duration> = section.required("intervals")?;
    let slow: u32 = section.or("slow", 20)?;
    let zero = intervals.contains(&Duration::ZERO);
    section.ensure(!zero, "intervals", "the interval must be greater than 0", "for example: [\"500 us\"]")?;
    section.ensure(slow > 0, "slow", "a core that is 0 times slower", "for example: slow = 20")?;

    let mut prepared = context.document.prepare()?;
    let hosts = prepared.topology.hosts().count();
    let are_there = (1..=hosts).contains(&(nodes as usize));
    section.ensure(are_there, "nodes", "no such number of nodes", "from 1 to the hosts of the fabric")?;
    let experiment = &prepared.experiment;
    if experiment.scheme.transport.info.name != "r2c2" || experiment.engine.kind != EngineKind::Packet {
        let what = "flow events are those of R2C2 in the packet engine".to_owned();
        let hint = "choose transport = \"r2c2\" in [scheme] and kind = \"packet\" in [engine]".to_owned();
        return Err(Problem::at(section.at_key("kind"), Cause::Contradiction { what, hint }));
    }
    let Some(recorded) = Recorded::of(&mut prepared, nodes as usize, || !context.is_stopped()) else {
        return Ok(Vec::new());
    };
    let mut runs = Vec::new();
    for (core_label, core) in [("this", Core::This), ("slow", Core::Slow(slow))] {
        for rho in intervals.iter().take_while(|_| !context.is_stopped()) {
            let Measured { computations, lateness } = recorded.overheads(*rho, core);
            for (quantity, percent) in [("computation", computations), ("lateness", lateness)] {
                if !percent.is_empty() {
                    let labels = [("quantity", quantity), ("core", core_label), ("rho", &*rho.to_string())];
                    runs.push(run(&labels, Data::Timings(percent)));
                }
            }
        }
    }
    Ok(runs)
}
