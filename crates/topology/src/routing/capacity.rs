//! The capacity of shortest paths through each next hop.

use super::Routing;
use raddle_core::{NodeId, PortId, Rate};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Number of shortest paths for each bottleneck rate in bit/s. The number saturates.
type Bottlenecks = BTreeMap<u64, u64>;

impl Routing {
    /// Computes the capacity of the shortest paths that begin with each port of [`Routing::productive`], in the same
    /// order. A capacity is the sum of the paths' bottleneck rates, in bit/s. Clears `out` first. If the destination
    /// has only one link, all paths end with this link. The link then limits the capacity only if its other end is
    /// `at`.
    ///
    /// The capacity of each path is computed as if no other path shared its links. A switch that has lost half of its
    /// uplinks therefore has half the capacity, even if the remaining uplinks could carry all traffic of the link to
    /// this switch. The reason is that other traffic also needs the remaining uplinks. The function visits all nodes on
    /// the paths.
    pub fn capacities(&self, at: NodeId, to: NodeId, out: &mut Vec<(PortId, u128)>) {
        let mut links = self.topology().links_from(to);
        let end = match (links.next(), links.next()) {
            (Some((_, link)), None) if link.to != at => link.to,
            _ => to,
        };
        let mut ports = Vec::new();
        self.productive(at, to, &mut ports);
        let mut known = FxHashMap::default();
        out.clear();
        for port in ports {
            let (next, rate) = self.link_of(at, port);
            let below = self.bottlenecks(next, end, &mut known);
            let carries =
                |(&most, &paths): (&u64, &u64)| u128::from(most.min(rate.as_bps())) * u128::from(paths);
            out.push((port, below.iter().map(carries).sum()));
        }
    }

    fn bottlenecks<'a>(
        &self,
        at: NodeId,
        end: NodeId,
        known: &'a mut FxHashMap<NodeId, Bottlenecks>,
    ) -> &'a Bottlenecks {
        if !known.contains_key(&at) {
            let mut here = Bottlenecks::new();
            if at == end {
                here.insert(u64::MAX, 1);
            }
            let mut ports = Vec::new();
            self.productive(at, end, &mut ports);
            for port in ports {
                let (next, rate) = self.link_of(at, port);
                for (&most, &paths) in self.bottlenecks(next, end, known) {
                    let count = here.entry(most.min(rate.as_bps())).or_default();
                    *count = count.saturating_add(paths);
                }
            }
            known.insert(at, here);
        }
        &known[&at]
    }

    fn link_of(&self, at: NodeId, port: PortId) -> (NodeId, Rate) {
        let link = self.topology().link_at(at, port).expect("a port on a shortest path must have a link");
        (link.to, link.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::{self, ClosRates};
    use crate::{Builder, Shape, Topology};
    use raddle_core::Duration;
    use std::sync::Arc;

    const GBPS: u128 = 1_000_000_000;
    const DELAY: Duration = Duration::from_ns(100);

    fn capacities(topology: Topology, at: u32, to: u32) -> Vec<(u16, u128)> {
        let mut out = Vec::new();
        Routing::new(Arc::new(topology)).capacities(NodeId(at), NodeId(to), &mut out);
        out.into_iter().map(|(port, capacity)| (port.0, capacity / GBPS)).collect()
    }

    fn without(topology: &Topology, from: u32, to: u32) -> Topology {
        let ends = [NodeId(from), NodeId(to)];
        topology.surviving(|link| {
            let link = topology.link(link).expect("a link");
            !(ends.contains(&link.from) && ends.contains(&link.to))
        })
    }

    #[test]
    fn a_fat_tree_counts_its_cores() {
        let tree = builders::fat_tree(4, ClosRates::all(Rate::from_gbps(10)), DELAY).expect("an even k");
        // Edge switches begin at node 16, aggregation switches at 24, and cores at 32. Host 15 is in the last
        // pod.
        assert_eq!(capacities(tree.clone(), 16, 15), [(2, 20), (3, 20)]);
        assert_eq!(capacities(tree.clone(), 24, 15), [(2, 10), (3, 10)]);
        assert_eq!(capacities(tree.clone(), 16, 2), [(2, 10), (3, 10)], "in the pod: a path by each");
        assert_eq!(
            capacities(tree.clone(), 16, 0),
            [(0, 10)],
            "the last link counts where it is the only one"
        );
        // The first aggregation switch of the first or of the last pod loses its link to a core.
        assert_eq!(capacities(without(&tree, 24, 32), 16, 15), [(2, 10), (3, 20)]);
        assert_eq!(capacities(without(&tree, 30, 32), 16, 15), [(2, 10), (3, 20)]);
        assert_eq!(capacities(without(&tree, 24, 32), 16, 2), [(2, 10), (3, 10)]);
    }

    #[test]
    fn the_capacity_of_a_path_is_that_of_its_slowest_link() {
        // There are two hosts with one switch each. Two paths join these switches: one path has links of 40
        // and 10 Gb/s, and the other path has links of 40 and 25 Gb/s.
        let mut builder = Builder::default();
        let (a, b) = (builder.host(0), builder.host(0));
        let [near, far, slow, fast] = [(); 4].map(|()| builder.switch(0));
        let mut join = |a, b, gbps| builder.join(a, b, Rate::from_gbps(gbps), DELAY);
        join(a, near, 5);
        join(b, far, 5);
        join(near, slow, 40);
        join(near, fast, 40);
        join(slow, far, 10);
        join(fast, far, 25);
        assert_eq!(capacities(builder.build(Shape::General), near.0, b.0), [(1, 10), (2, 25)]);
    }

    #[test]
    fn no_path_no_capacity() {
        let line = builders::mesh(&[3], Rate::from_gbps(10), DELAY).expect("a line");
        assert_eq!(capacities(without(&line, 1, 2), 0, 2), []);
        assert_eq!(capacities(line, 1, 1), []);
    }
}
