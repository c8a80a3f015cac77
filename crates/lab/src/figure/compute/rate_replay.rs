//! `[compute] kind = "rate-replay"`: processor time of rate computations in live nodes. The packet engine first runs
//! the figure's own experiment up to the start of the last flow, and records the events that `nodes` of the hosts
//! receive. Live nodes then receive the same events. Both quantities are in percent of the interval between rate
//! computations: `computation`, the time of a rate computation, and `lateness`, the p99 of the delay with which a node
//! on this machine's core handles packets and timers in real time.

use super::keys::{INTERVALS, KIND, NODES, SLOW};
use super::{Context, run};
use crate::analysis::rate_overhead::{Core, Measured, Recorded};
use crate::experiment::{Cause, EngineKind, Problem, Section};
use crate::figure::runs::{Data, Run};

/// Measures this machine's core and the slow core at every interval.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    let (nodes, intervals, slow) = (section.read(&NODES)?, section.read(&INTERVALS)?, section.read(&SLOW)?);

    let mut prepared = context.document.prepare()?;
    let hosts = prepared.topology.hosts().count();
    let are_there = (1..=hosts).contains(&(nodes as usize));
    section.ensure(
        are_there,
        &NODES,
        "`nodes` must be at least 1 and at most the number of hosts",
        "give a smaller number, or a larger topology",
    )?;
    let experiment = &prepared.experiment;
    if experiment.scheme.transport.info.name != "r2c2" || experiment.engine.kind != EngineKind::Packet {
        let what = "a `rate-replay` figure needs R2C2 and the packet engine".to_owned();
        let hint = "choose transport = \"r2c2\" in [scheme] and kind = \"packet\" in [engine]".to_owned();
        return Err(Problem::at(section.at_key(&KIND), Cause::Contradiction { what, hint }));
    }
    if !prepared.changes.is_empty() || experiment.errors.is_some() {
        let what = "a `rate-replay` figure does not support failures and link errors".to_owned();
        let hint = "remove [[failure]], [faults] and [errors]".to_owned();
        return Err(Problem::at(section.at_key(&KIND), Cause::Contradiction { what, hint }));
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

#[cfg(test)]
mod tests {
    use super::super::compute;
    use super::*;
    use crate::experiment::Document;

    /// Computes a figure whose experiment is a small rack with the transport `scheme`. `section` is added to
    /// `[compute]`.
    fn measured(scheme: &str, section: &str) -> Result<Vec<Run>, Problem> {
        let text = format!(
            r#"
[topology]
kind = "torus"
dims = [3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = {{ kind = "poisson", mean_gap = "20 us" }}
pairs = "uniform"
sizes = {{ kind = "fixed", size = "50 KB" }}
flows = 40

[scheme]
transport = "{scheme}"

[compute]
kind = "rate-replay"
{section}
"#
        );
        let document = Document::parse("test.toml", text, "".into())?;
        Ok(compute(&document, 1, &false.into())?.unwrap_or_default())
    }

    #[test]
    fn every_core_is_measured_at_every_interval() {
        let runs = measured("r2c2", "intervals = [\"50 us\", \"100 us\"]\nslow = 2").expect("a figure");
        let labels: Vec<String> = runs
            .iter()
            .map(|run| run.labels.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "computation this 50 us",
            "lateness this 50 us",
            "computation this 100 us",
            "lateness this 100 us",
            "computation slow 50 us",
            "computation slow 100 us",
        ];
        assert_eq!(labels, expected);
        assert!(runs.iter().all(|run| matches!(run.data, Data::Timings(_))), "no run with a digest");
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let errors = "intervals = [\"50 us\"]\n[errors]\nloss = 0.1";
        let refused = |scheme: &str, section: &str| match measured(scheme, section) {
            Err(problem) => problem.to_string(),
            Ok(_) => panic!("a problem"),
        };
        assert!(refused("tcp-newreno", "intervals = [\"50 us\"]").contains("needs R2C2"));
        assert!(refused("r2c2", "intervals = [\"0 us\"]").contains("greater than 0"));
        assert!(refused("r2c2", "intervals = []\nnodes = 10").contains("the number of hosts"));
        assert!(refused("r2c2", "intervals = []\nslow = 0").contains("`slow` must be greater than 0"));
        assert!(refused("r2c2", "").contains("intervals"));
        assert!(refused("r2c2", errors).contains("does not support failures"), "{}", refused("r2c2", errors));
    }
}
