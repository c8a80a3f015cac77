//! The number of flows that are active at the same time. A flow is active from its start to its completion, or to the
//! end of the run.

use crate::run::records::{FlowRow, LinkRow};
use std::collections::{BTreeMap, VecDeque};

/// The starts and ends of flows in order of time: +1 with the flow that starts, or -1 with the flow that ends.
fn changes<'a>(flows: impl IntoIterator<Item = &'a FlowRow>) -> Vec<(i32, &'a FlowRow)> {
    let of_flow = |flow: &'a FlowRow| {
        let end = flow.fct_us.map(|fct| (flow.start_us + fct, -1, flow));
        [(flow.start_us, 1, flow)].into_iter().chain(end)
    };
    let mut changes: Vec<(f64, i32, &FlowRow)> = flows.into_iter().flat_map(of_flow).collect();
    // If a flow ends at the instant at which another flow starts, the two flows are not active at the same time.
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    changes.into_iter().map(|(_, change, flow)| (change, flow)).collect()
}

/// The maximum number of flows that are active at the same time.
pub(super) fn peak<'a>(flows: impl IntoIterator<Item = &'a FlowRow>) -> f64 {
    let changes = changes(flows);
    let active = changes.iter().scan(0, |active, &(change, _)| {
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

/// For each link, by its number: the maximum number of flows that are active at the same time and have the link on one
/// of their shortest paths.
pub(super) fn peak_by_link(flows: &[FlowRow], links: &[LinkRow]) -> BTreeMap<u64, f64> {
    let mut paths = ShortestPaths::of(links);
    let mut active = vec![(0_i32, 0_i32); links.len()];
    for (change, flow) in changes(flows) {
        for place in paths.links(flow.src, flow.dst) {
            let (now, most) = &mut active[place];
            *now += change;
            *most = (*most).max(*now);
        }
    }
    links.iter().zip(active).map(|(link, (_, most))| (link.link, f64::from(most))).collect()
}

/// The shortest paths between nodes, from a list of links.
struct ShortestPaths<'a> {
    links: &'a [LinkRow],
    /// For each node, the places in `links` of the links that leave the node.
    leaving: BTreeMap<u64, Vec<usize>>,
    /// For each node, the places in `links` of the links that lead to the node.
    entering: BTreeMap<u64, Vec<usize>>,
    /// For each destination that was asked for, the number of hops from each node that has a path to it.
    hops: BTreeMap<u64, BTreeMap<u64, u32>>,
}

impl<'a> ShortestPaths<'a> {
    fn of(links: &'a [LinkRow]) -> Self {
        let (mut leaving, mut entering): (BTreeMap<u64, Vec<usize>>, BTreeMap<u64, Vec<usize>>) =
            <_>::default();
        for (place, link) in links.iter().enumerate() {
            leaving.entry(link.ends.0).or_default().push(place);
            entering.entry(link.ends.1).or_default().push(place);
        }
        Self { links, leaving, entering, hops: BTreeMap::new() }
    }

    /// The places of the links on all shortest paths from `src` to `dst`.
    fn links(&mut self, src: u64, dst: u64) -> Vec<usize> {
        let (links, entering) = (self.links, &self.entering);
        let hops = self.hops.entry(dst).or_insert_with(|| hops_to(dst, links, entering));
        let (mut found, mut nodes) = (Vec::new(), vec![src]);
        // One round for each hop, so that all `nodes` of a round are equally far from `dst`.
        while let Some(left) = nodes.first().and_then(|node| hops.get(node)).filter(|&&left| left > 0) {
            let closer = |&&place: &&usize| hops.get(&links[place].ends.1) == Some(&(left - 1));
            let out = nodes.iter().filter_map(|node| self.leaving.get(node)).flatten().filter(closer);
            let round: Vec<usize> = out.copied().collect();
            nodes = round.iter().map(|&place| links[place].ends.1).collect();
            nodes.sort_unstable();
            nodes.dedup();
            found.extend(round);
        }
        found
    }
}

/// The number of hops to `dst` from each node that has a path to it.
fn hops_to(dst: u64, links: &[LinkRow], entering: &BTreeMap<u64, Vec<usize>>) -> BTreeMap<u64, u32> {
    let (mut hops, mut next) = (BTreeMap::from([(dst, 0)]), VecDeque::from([(dst, 0)]));
    while let Some((node, count)) = next.pop_front() {
        for &place in entering.get(&node).into_iter().flatten() {
            let from = links[place].ends.0;
            hops.entry(from).or_insert_with(|| {
                next.push_back((from, count + 1));
                count + 1
            });
        }
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_counts_the_flows_that_have_it_on_a_shortest_path() {
        // Two paths of two hops lead from node 0 to node 3, and one link from node 3 back to node 0.
        let ends = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)];
        let link = |(number, ends)| LinkRow { link: number, ends, ..LinkRow::default() };
        let links: Vec<LinkRow> = (10..).zip(ends).map(link).collect();
        let flow =
            |src, dst, start_us| FlowRow { src, dst, start_us, fct_us: Some(2.0), ..FlowRow::default() };
        // The third flow starts when the first flow ends.
        let flows = [flow(0, 3, 0.0), flow(0, 1, 1.0), flow(0, 3, 2.0), flow(2, 3, 3.0)];
        let peaks: Vec<(u64, f64)> = peak_by_link(&flows, &links).into_iter().collect();
        assert_eq!(peaks, [(10, 2.0), (11, 1.0), (12, 1.0), (13, 2.0), (14, 0.0)]);
    }

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
