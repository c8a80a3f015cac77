//! `[compute] kind = "path-selection"`: how Expeditus selects paths in the figure's own experiment, in the packet
//! engine. Each of `cases` runs the experiment with other values of some keys, once with each seed.
//!
//! Quantities of each case:
//! - `loads of an edge switch`, `loads of an aggregation switch`: number of load values that such a switch keeps;
//! - `messages`: number of requests and answers for each path selection that an edge switch begins;
//! - `switches, first stage`, `switches, second stage`: number of switches that write or read loads in this stage, for
//!   each selection. The second stage exists only between pods;
//! - `switches on the paths`: number of edge and aggregation switches on the shortest paths from the first host to the
//!   last host;
//! - `time, mean`, `time, longest`: time from the request to the recording of the path, in us;
//! - `round trips, mean`, `round trips, most`: the time from the request to the recording of the path, divided by the
//!   time from the request to the first packet of the opposite direction;
//! - `forward before the SYN-ACK`, `reverse before the ACK`: share of connections whose path in this direction is
//!   already recorded when this packet reaches the edge switch that sent the request. The forward direction is that of
//!   the SYN;
//! - `forward before the second packet`, `reverse before the second packet`: share of connections whose path in this
//!   direction is already recorded when the direction's second packet reaches the edge switch;
//! - `reverse before data leaves`: share of connections whose reverse path is already recorded when the second packet
//!   of the forward direction reaches its first edge switch;
//! - `even choices`: share of the choices of an uplink that are between uplinks of equal effective load;
//! - `most entries`: largest number of entries in the path selection table of a switch.

use super::Context;
use super::case::{Case, Quantities, each_case};
use crate::analysis::path_selection::{Selection, Selections, watch};
use crate::experiment::{Problem, Section};
use crate::figure::runs::Run;
use raddle_core::{NodeId, Time};
use raddle_schemes::counter::Counter;
use raddle_schemes::routing::expeditus::{Counters, Expeditus};
use raddle_schemes::scheme::Plan;
use raddle_topology::Clos;
use raddle_wire::Opening;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs every case with every seed.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    each_case(section, context, quantities)
}

/// Runs a case, and returns its quantities. A quantity is left out if nothing that it counts happened.
fn quantities(mut case: Case<'_>) -> Result<Quantities, Problem> {
    let (scheme, seed) = (&case.prepared.experiment.scheme, case.prepared.experiment.engine.seed);
    if !case.is_of_packets() || scheme.routing != "expeditus" {
        return Err(case.refused(
            "a `path-selection` figure needs Expeditus and the packet engine",
            "choose routing = \"expeditus\" in [scheme] and kind = \"packet\" in [engine]",
        ));
    }
    let plan = Plan::new(&case.prepared.topology, &scheme.routing, &scheme.routing_settings, seed);
    let expeditus = Expeditus::new(&plan).map_err(|unfit| case.unfit(unfit))?;
    let clos = Clos::new(expeditus.size());
    let counters = Arc::clone(expeditus.counters());
    let kept = [1, 2].map(|level| expeditus.load_values(level) as f64);
    let on_the_paths = switches_on_the_paths(&clos);
    let selections = Arc::<Mutex<Selections>>::default();
    let (watched, host_ports) = (Arc::clone(&selections), clos.uplinks(1).start);
    let edges = clos.nodes_of(1);
    case.change_nodes(move |id, mut parts| {
        if parts.forwarder.is_some() {
            parts.forwarder = expeditus.forwarder(id);
        }
        if edges.contains(&id.0) {
            parts.forwarder = parts.forwarder.map(|forwarder| watch(forwarder, host_ports, &watched));
        }
        parts
    });
    case.run(&mut |_| Ok(()))?;
    let selections = selections.lock().unwrap_or_else(PoisonError::into_inner);
    let mut numbers = vec![
        ("loads of an edge switch", kept[0]),
        ("loads of an aggregation switch", kept[1]),
        ("switches on the paths", on_the_paths),
        ("most entries", counters.most_entries.get() as f64),
    ];
    numbers.extend(counted(&counters));
    numbers.extend(timed(&selections));
    Ok(numbers)
}

/// Number of edge and aggregation switches on shortest paths from the first host to the last host.
fn switches_on_the_paths(clos: &Clos) -> f64 {
    let (from, to) = (NodeId(0), NodeId(clos.hosts() - 1));
    let switches = clos.nodes_of(1).chain(clos.nodes_of(2)).map(NodeId);
    let is_between =
        |&at: &NodeId| clos.distance(from, at) + clos.distance(at, to) == clos.distance(from, to);
    switches.filter(is_between).count() as f64
}

fn counted(counters: &Counters) -> Vec<(&'static str, f64)> {
    let share = |quantity, parts: &[&Counter], whole: &Counter| {
        let sum: u64 = parts.iter().map(|part| part.get()).sum();
        (whole.get() > 0).then(|| (quantity, sum as f64 / whole.get() as f64))
    };
    let Counters { requests, responses, measured, merged, choices, even_choices, .. } = counters;
    let shares = [
        share("messages", &[requests, responses], requests),
        share("switches, first stage", &[requests, responses], requests),
        share("switches, second stage", &[measured, merged], merged),
        share("even choices", &[even_choices], choices),
    ];
    shares.into_iter().flatten().collect()
}

fn timed(selections: &Selections) -> Vec<(&'static str, f64)> {
    let of = |opening| selections.iter().filter(move |(_, selection)| selection.opening == opening);
    let share = |opening, quantity, event: fn(&Selection) -> Option<Time>| {
        let all = of(opening).count();
        let early = of(opening).filter(|(_, selection)| selection.is_recorded_by(event(selection))).count();
        (all > 0).then(|| (quantity, early as f64 / all as f64))
    };
    let mut numbers: Vec<_> = [
        share(Opening::Syn, "forward before the SYN-ACK", |selection| selection.replied),
        share(Opening::SynAck, "reverse before the ACK", |selection| selection.replied),
        share(Opening::Syn, "forward before the second packet", |selection| selection.second),
        share(Opening::SynAck, "reverse before the second packet", |selection| selection.second),
    ]
    .into_iter()
    .flatten()
    .collect();
    let data_leaves = |(flow, selection): &(&raddle_wire::FiveTuple, &Selection)| {
        let second = selections.get(&flow.opposite()).and_then(|forward| forward.second);
        selection.is_recorded_by(second)
    };
    let reverse = of(Opening::SynAck).count();
    if reverse > 0 {
        let early = of(Opening::SynAck).filter(data_leaves).count();
        numbers.push(("reverse before data leaves", early as f64 / reverse as f64));
    }
    let since = |selection: &Selection, event: Option<Time>| {
        event.map(|event| event.since(selection.requested).as_ns_f64() / 1e3)
    };
    let times: Vec<f64> =
        selections.values().filter_map(|selection| since(selection, selection.recorded)).collect();
    let round_trips: Vec<f64> = selections
        .values()
        .filter_map(|selection| {
            Some(since(selection, selection.recorded)? / since(selection, selection.replied)?)
        })
        .collect();
    let both =
        [("time, mean", "time, longest", times), ("round trips, mean", "round trips, most", round_trips)];
    for (mean, most, values) in both {
        if let Some(greatest) = values.iter().copied().reduce(f64::max) {
            numbers.push((mean, values.iter().sum::<f64>() / values.len() as f64));
            numbers.push((most, greatest));
        }
    }
    numbers
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "counts and shares are exact")]
mod tests {
    use super::super::tests::numbers;
    use crate::experiment::Problem;
    use std::collections::BTreeMap;

    /// Measures one connection between pods of an idle network. The quantities of this connection can be calculated
    /// by hand.
    fn measured(routing: &str, section: &str) -> Result<BTreeMap<String, f64>, Problem> {
        let text = format!(
            r#"
[topology]
kind = "clos"
pods = 3
edges_per_pod = 3
aggregations_per_pod = 2
cores_per_plane = 4
hosts_per_edge = 2
link_rate = "10 Gbps"
link_delay = "2 us"
framing = "ethernet"

[workload]
list = [{{ src = 0, dst = 17, size = "5 KB" }}]

[scheme]
transport = "tcp-newreno"
routing = "{routing}"

[scheme.tcp-newreno]
handshake = true

[compute]
kind = "path-selection"
{section}
"#
        );
        let label =
            |labels: Vec<(String, String)>| labels.into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        Ok(numbers(&text)?.into_iter().map(|(labels, number)| (label(labels).join(", "), number)).collect())
    }

    const ONE: &str = "cases = [{ label = \"idle\" }]";

    #[test]
    fn one_connection_in_an_idle_network_selects_in_time() {
        let of = measured("expeditus", ONE).expect("quantities");
        let of = |quantity: &str| of[&format!("{quantity}, idle, 1")];
        assert_eq!([of("loads of an edge switch"), of("loads of an aggregation switch")], [4.0, 8.0]);
        assert_eq!(of("switches on the paths"), 2.0 * 2.0 + 2.0);
        assert_eq!(
            ["messages", "switches, first stage", "switches, second stage", "even choices"].map(of),
            [2.0, 2.0, 2.0, 1.0]
        );
        assert_eq!(
            of("most entries"),
            2.0 - 1.0,
            "each switch must have an entry for only one direction of the connection"
        );
        for early in
            ["forward before the SYN-ACK", "reverse before the ACK", "forward before the second packet"]
        {
            assert_eq!(of(early), 1.0, "{early}");
        }
        assert_eq!(
            of("reverse before data leaves"),
            0.0,
            "data must leave before the answer about the reverse path arrives"
        );
        // The request and the answer each cross four links between switches. A packet and its reply also cross the link
        // of the receiving host, once each (specifications/expeditus.md §5.5).
        assert!((of("time, mean") - 8.0 * 2.0672).abs() < 0.02, "{}", of("time, mean"));
        assert!((of("round trips, most") - 0.8).abs() < 0.01, "{}", of("round trips, most"));
    }

    #[test]
    fn a_case_sets_keys_and_has_a_run_for_each_seed() {
        let two = "seeds = 2\ncases = [{ label = \"a\" }, { label = \"b\", set = [\"topology.cores_per_plane=2\"] }]";
        let of = measured("expeditus", two).expect("quantities");
        let kept = ["a, 1", "a, 2", "b, 1", "b, 2"]
            .map(|case| of[&format!("loads of an aggregation switch, {case}")]);
        assert_eq!(kept, [8.0, 8.0, 4.0, 4.0]);
    }

    #[test]
    fn other_routings_are_refused() {
        let problem = measured("ecmp", ONE).expect_err("a problem").to_string();
        assert!(problem.contains("needs Expeditus"), "{problem}");
        assert!(measured("expeditus", "").expect_err("a problem").to_string().contains("cases"));
    }
}
