//! `[compute] kind = "forwarding-cost"`: processor time that a switch takes to decide how to forward a packet, and to
//! count the packet, in ns. The figure's own live experiment is run with each of the routings.
//!
//! Quantities of each routing:
//! - `forward`: the time of a forwarding decision, one value for each packet
//! - `dre`: the time to count the packet in a rate estimator, one value for each packet
//! - `faithful`: 1 if the run was faithful, otherwise 0

use super::keys::{KIND, ROUTINGS, SWITCH};
use super::{Context, run};
use crate::experiment::keys::Declared;
use crate::experiment::{Cause, EngineKind, Problem, Section};
use crate::figure::runs::{Data, Run};
use crate::run::Control;
use raddle_core::{NodeId, Parts};
use raddle_live::rack::Verdict;
use raddle_live::timed::{Times, time};
use raddle_packet_sim::Threads;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// Maximum number of live runs with each routing. The results come from the first faithful run, or from the last run if
/// no run is faithful.
const TRIES: u32 = 5;

/// Measures every routing at one switch.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    let switch = NodeId(section.read(&SWITCH)?);
    let routings = section.read(&ROUTINGS)?;
    let mut runs = Vec::new();
    for routing in routings.iter().take_while(|_| !context.is_stopped()) {
        let mut measured = attempt(section, context, switch, routing)?;
        for _ in 1..TRIES {
            if measured.is_faithful || context.is_stopped() {
                break;
            }
            measured = attempt(section, context, switch, routing)?;
        }
        let Measured { times: Times { mut forward, mut dre }, is_faithful } = measured;
        forward.sort_unstable_by(f64::total_cmp);
        dre.sort_unstable_by(f64::total_cmp);
        let faithful = vec![f64::from(u8::from(is_faithful))];
        for (quantity, values) in [("forward", forward), ("dre", dre), ("faithful", faithful)] {
            runs.push(run(&[("quantity", quantity), ("routing", routing)], Data::Timings(values)));
        }
    }
    Ok(runs)
}

struct Measured {
    times: Times,
    is_faithful: bool,
}

/// Makes one live run with a routing.
fn attempt(
    section: &Section<'_>,
    context: &Context<'_>,
    switch: NodeId,
    routing: &str,
) -> Result<Measured, Problem> {
    let refused = |key: &dyn Declared, what: String, hint: &str| {
        let cause = Cause::Contradiction { what, hint: hint.to_owned() };
        Problem::at(section.at_key(key), cause)
    };
    let assignment = format!("scheme.routing={routing}");
    let document = context.document.clone().with_overrides([assignment.as_str()])?;
    let mut prepared = document.prepare()?;
    if prepared.experiment.engine.kind != EngineKind::Live {
        let hint = "choose kind = \"live\" in [engine]";
        return Err(refused(&KIND, "forwarding decisions can be timed only in a live run".to_owned(), hint));
    }
    let (tell, told) = mpsc::channel();
    let mut bare = std::mem::replace(&mut prepared.parts.node, Box::new(|_| Parts::default()));
    prepared.parts.node = Box::new(move |id| {
        let mut parts = bare(id);
        if id == switch {
            parts.forwarder = parts.forwarder.map(|forwarder| {
                let (forwarder, times) = time(forwarder);
                let _ = tell.send(times);
                forwarder
            });
        }
        parts
    });
    let control = Control { stop: context.stop, progress: &mut |_| (), threads: Threads::Always(1) };
    let outcome = crate::run::run(prepared, &mut |_| Ok(()), control).map_err(|error| {
        refused(&KIND, error.to_string(), "run `raddle doctor` to see whether this machine can do live runs")
    })?;
    let Ok(times) = told.try_recv() else {
        let hint = "give the number of a switch; `raddle topo show` prints the numbers";
        return Err(refused(&SWITCH, format!("node {switch} does not forward packets"), hint));
    };
    let taken =
        |times: Arc<Mutex<Times>>| std::mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
    let is_faithful = outcome.fidelity.is_some_and(|fidelity| fidelity.verdict == Verdict::Faithful);
    Ok(Measured { times: taken(times), is_faithful })
}

#[cfg(test)]
mod tests {
    use super::super::compute;
    use super::*;
    use crate::experiment::Document;

    /// Computes a figure whose live experiment has a leaf-spine network. `section` is added to `[compute]`.
    fn measured(section: &str) -> Result<Vec<Run>, Problem> {
        let text = format!(
            r#"
[topology]
kind = "folded_clos"
leaves = 2
spines = 2
hosts_per_leaf = 2
link_rate = "100 Mbps"
link_delay = "10 us"

[workload]
list = [{{ src = 0, dst = 3, size = "100 KB" }}]

[scheme]
transport = "tcp-cubic"

[engine]
kind = "live"

[compute]
kind = "forwarding-cost"
{section}
"#
        );
        let document = Document::parse("test.toml", text, "".into())?;
        Ok(compute(&document, 1, &false.into())?.unwrap_or_default())
    }

    #[test]
    fn every_packet_that_a_switch_decides_on_is_timed() {
        let runs = measured("switch = 4\nroutings = [\"ecmp\", \"expeditus\"]").expect("a figure");
        let of = |run: &Run| match &run.data {
            Data::Timings(values) => (format!("{:?}", run.labels), values.len()),
            _ => panic!("no run with a digest"),
        };
        let all: Vec<(String, usize)> = runs.iter().map(of).collect();
        assert_eq!(all.len(), 6);
        // 100 KB make 69 segments of at most 1,460 bytes. The acknowledgements are additional packets.
        for (labels, count) in all.iter().filter(|(labels, _)| !labels.contains("faithful")) {
            assert!(*count > 69, "{labels}: {count}");
        }
    }

    #[test]
    fn what_cannot_be_timed_is_refused() {
        let refused = |section: &str| measured(section).err().expect("a problem").to_string();
        assert!(refused("routings = [\"ecmp\"]").contains("switch"));
        assert!(refused("switch = 4\nroutings = []").contains("`routings` must be one or more names"));
        assert!(refused("switch = 99\nroutings = [\"ecmp\"]").contains("does not forward packets"));
    }
}
