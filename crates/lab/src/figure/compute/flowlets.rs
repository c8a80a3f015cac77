//! `[compute] kind = "flowlets"`: the choices of uplinks by CONGA or CONGA-Flow in the figure's own experiment, in the
//! packet engine. Each of `cases` runs the experiment with other values of some keys, once with each seed.
//!
//! Quantities of each case:
//! - `flowlets of a flow`: mean number of flowlets of a flow between leaves, in the direction of its data;
//! - `uplinks not seen`: share of the uplinks, mean over the choices, about whose path the leaf has not been told
//!   within the time constant of the load estimate;
//! - `choices in part`: share of choices at which this is so of at least one uplink.

use super::Context;
use super::case::{Case, Quantities, each_case};
use crate::experiment::{Problem, Section};
use crate::figure::runs::Run;
use raddle_core::NodeId;
use raddle_schemes::routing::conga::Fabric;
use raddle_schemes::scheme::Plan;
use std::sync::Arc;

/// Runs every case with every seed.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    each_case(section, context, quantities)
}

/// Runs a case, and returns its quantities. A quantity is left out if nothing that it counts happened.
fn quantities(mut case: Case<'_>) -> Result<Quantities, Problem> {
    let (scheme, seed) = (&case.prepared.experiment.scheme, case.prepared.experiment.engine.seed);
    if !case.is_of_packets() || !["conga", "conga-flow"].contains(&scheme.routing.as_str()) {
        return Err(case.refused(
            "a `flowlets` figure needs CONGA and the packet engine",
            "choose routing = \"conga\" or \"conga-flow\" in [scheme] and kind = \"packet\" in [engine]",
        ));
    }
    let plan = Plan::new(&case.prepared.topology, &scheme.routing, &scheme.routing_settings, seed);
    let fabric = Arc::new(Fabric::new(&plan).map_err(|unfit| case.unfit(unfit))?);
    let switches = Arc::clone(&fabric);
    case.change_nodes(move |id, mut parts| {
        if parts.forwarder.is_some() {
            parts.forwarder = switches.forwarder(id);
        }
        parts
    });
    let mut flows: u64 = 0;
    let mut flow = |flow: &raddle_records::FlowRecord| {
        let [from, to] = [flow.src, flow.dst].map(|host| fabric.leaf_of(NodeId(host)));
        flows += u64::from(from != to);
        Ok(())
    };
    case.run(&mut flow)?;
    let counters = fabric.counters();
    let [choices, of_senders, uplinks, recent, all_recent] =
        [&counters.choices, &counters.of_senders, &counters.uplinks, &counters.recent, &counters.all_recent]
            .map(|counter| counter.get() as f64);
    if flows == 0 || choices == 0.0 {
        return Ok(Vec::new());
    }
    Ok(vec![
        ("flowlets of a flow", of_senders / flows as f64),
        ("uplinks not seen", 1.0 - recent / uplinks),
        ("choices in part", 1.0 - all_recent / choices),
    ])
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "counts and shares are exact")]
mod tests {
    use super::super::tests::numbers;
    use crate::experiment::Problem;
    use std::collections::BTreeMap;

    /// Measures two flows of one packet each, 5 ms apart and in opposite directions, between two leaves with two
    /// uplinks, and a flow within a leaf.
    fn measured(routing: &str) -> Result<BTreeMap<String, f64>, Problem> {
        let text = format!(
            r#"
[topology]
kind = "folded_clos"
leaves = 2
spines = 2
hosts_per_leaf = 2
link_rate = "10 Gbps"
link_delay = "2 us"

[workload]
list = [
    {{ src = 0, dst = 2, size = "1 KB" }},
    {{ src = 0, dst = 1, size = "1 KB" }},
    {{ src = 3, dst = 1, size = "1 KB", start = "5 ms" }},
]

[scheme]
transport = "tcp-newreno"
routing = "{routing}"

[compute]
kind = "flowlets"
cases = [{{ label = "a" }}]
"#
        );
        let quantity = |labels: Vec<(String, String)>| labels.into_iter().map(|(_, label)| label).next();
        Ok(numbers(&text)?
            .into_iter()
            .map(|(labels, number)| (quantity(labels).expect("a quantity"), number))
            .collect())
    }

    #[test]
    fn each_direction_of_a_short_flow_chooses_once_and_sees_little() {
        for routing in ["conga", "conga-flow"] {
            let of = measured(routing).expect("quantities");
            assert_eq!(of["flowlets of a flow"], 1.0, "the flow within a leaf must not count");
            // At 0 ms the metrics are as old as the run. At 5 ms all are too old, until the data has told the second
            // leaf of one uplink. The two leaves choose four times in all: for data, and for acknowledgements.
            assert_eq!(of["choices in part"], 2.0 / 4.0);
            assert_eq!(of["uplinks not seen"], 3.0 / 8.0);
        }
    }

    #[test]
    fn other_routings_are_refused() {
        let problem = measured("ecmp").expect_err("a problem").to_string();
        assert!(problem.contains("needs CONGA"), "{problem}");
    }
}
