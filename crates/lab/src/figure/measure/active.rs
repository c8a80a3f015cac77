//! The number of flows that are active at the same time. A flow is active from its start to its completion, or to the
//! end of the run.

use crate::run::records::FlowRow;
use std::collections::BTreeMap;

/// The maximum number of flows that are active at the same time.
pub(super) fn peak<'a>(flows: impl IntoIterator<Item = &'a FlowRow>) -> f64 {
    let changes = |flow: &FlowRow| {
        let end = flow.fct_us.map(|fct| (flow.start_us + fct, -1_i32));
        [(flow.start_us, 1)].into_iter().chain(end)
    };
    let mut changes: Vec<(f64, i32)> = flows.into_iter().flat_map(changes).collect();
    // If a flow ends at the instant at which another flow starts, the two flows are not active at the same time.
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let active = changes.iter().scan(0, |active, &(_, change)| {
        *active += change;
        Some(*active)
    });
    f64::from(active.max().unwrap_or(0))
}

/// For each node that sends flows: the node, and the maximum number of its flows that are active at the same time.
pub(super) fn peak_by_source<'a>(flows: impl IntoIterator<Item = &'a FlowRow>) -> Vec<(u64, f64)> {
    let mut sent: BTreeMap<u64, Vec<&FlowRow>> = BTreeMap::new();
    for flow in flows {
        sent.entry(flow.src).or_default().push(flow);
    }
    sent.into_iter().map(|(node, flows)| (node, peak(flows))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_active_from_start_to_end() {
        let flow = |src, start_us, fct_us| FlowRow { src, start_us, fct_us, ..FlowRow::default() };
        // The first flow of node 0 never ends. The third flow of node 0 starts when the second flow of node 0 ends.
        let flows = [
            flow(0, 0.0, None),
            flow(0, 1.0, Some(2.0)),
            flow(0, 3.0, Some(1.0)),
            flow(7, 1.5, Some(0.5)),
            flow(7, 9.0, Some(0.5)),
        ];
        assert_eq!([peak(&flows), peak([])].to_vec(), [3.0, 0.0]);
        assert_eq!(peak_by_source(&flows), [(0, 2.0), (7, 1.0)]);
    }
}
