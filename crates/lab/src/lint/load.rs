//! Warns of a load above 1. Flows then arrive faster than the fabric can carry them, and queues grow until the last
//! flow has started. Completion times then depend on the number of flows.
//!
//! The load is computed from the drawn flows. It differs from the requested load if there are few flows with
//! heavy-tailed sizes. There is no check of listed flows, of flows with arrivals of kind `fixed`, or of flows that
//! start together.

use super::{Finding, Subject};
use crate::experiment::table_in;

/// Smallest number of flows whose load is checked. Fewer flows are treated as a burst.
const LEAST_FLOWS: usize = 100;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let arrivals = table_in(subject.root, &["workload", "arrivals"]);
    let is_random = arrivals
        .is_some_and(|arrivals| ["load", "mean_gap", "rate"].iter().any(|key| arrivals.get(key).is_some()));
    if !is_random || subject.prepared.flows.len() < LEAST_FLOWS {
        return Vec::new();
    }
    // If a host has several links, the bottleneck may be neither the hosts' links nor a level of switches. The load of
    // all links is checked instead.
    let topology = &subject.prepared.topology;
    let facts = subject.prepared.facts();
    let has_one_link = topology.hosts().all(|host| topology.links_from(host).nth(1).is_none());
    let loads = if has_one_link {
        let bisection = facts.network_load.filter(|_| facts.network_load > facts.host_load);
        vec![
            ("host load", facts.host_load, "hosts' links"),
            ("bisection load", bisection, "narrowest level of switches"),
        ]
    } else {
        vec![("load of all links", facts.fabric_load, "links")]
    };
    let above = loads.into_iter().filter_map(|(name, load, of)| {
        let load = load.filter(|&load| load > 1.0)?;
        Some(Finding::new(
            "workload.arrivals",
            format!(
                "the {name} is {load:.3}, more than the {of} can carry, so queues grow until the last \
                 flow has started"
            ),
            "give a smaller `load` or longer gaps between flows; with `exact = true`, the offered load is \
             exactly `load`",
        ))
    });
    above.collect()
}
