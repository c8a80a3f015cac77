//! Oversubscription of the tiers of a Clos network (specifications/expeditus.md §1.2).

use crate::builders::ClosRates;
use crate::{ClosSize, Shape, Topology};
use raddle_core::{NodeId, PortId, Rate};

/// The total rate of the links below a tier of switches, divided by the total rate of the links above it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Oversubscription {
    /// Oversubscription of an edge switch: the total rate of its hosts' links divided by the total rate of its uplinks.
    pub edge: f64,
    /// Oversubscription of an aggregation switch: the total rate towards its edge switches divided by the total rate
    /// towards its cores. 1 if there is only one pod.
    pub core: f64,
}

impl Oversubscription {
    /// Returns the total rate of the hosts' links, divided by the total rate of the narrowest tier of links that their
    /// traffic crosses when all hosts send across the network. The hosts' own links also count as a tier of links, so
    /// the result is at least 1.
    #[must_use]
    pub fn total(&self) -> f64 {
        (self.edge * self.core).max(self.edge).max(1.0)
    }
}

impl ClosSize {
    /// Returns the network's oversubscription with links of these rates. With [`ClosRates::all`], only the
    /// numbers of links matter.
    #[must_use]
    pub fn oversubscription(&self, rates: ClosRates) -> Oversubscription {
        let sum = |links: u32, rate: Rate| f64::from(links) * rate.as_bps_f64();
        let core = match self.pods {
            1 => 1.0,
            _ => sum(self.edges, rates.uplink) / sum(self.cores, rates.core),
        };
        Oversubscription { edge: sum(self.hosts, rates.host) / sum(self.aggregations, rates.uplink), core }
    }

    /// Returns the number of shortest paths between two edge switches of different pods; 0 if there is one pod.
    #[must_use]
    pub fn paths_between_pods(&self) -> u64 {
        if self.pods > 1 { u64::from(self.aggregations) * u64::from(self.cores) } else { 0 }
    }

    /// Returns the number of shortest paths between two edge switches of one pod.
    #[must_use]
    pub fn paths_within_a_pod(&self) -> u64 {
        self.aggregations.into()
    }
}

impl Topology {
    /// Returns the oversubscription of a Clos network; `None` for other topologies, and if links have been removed. The
    /// function uses the line rates of the links, so slowed links count as not slowed.
    #[must_use]
    pub fn oversubscription(&self) -> Option<Oversubscription> {
        let &Shape::Clos(size) = self.shape() else { return None };
        // The builder gives all links of a tier the same line rate, so one path from a host to a core has the
        // rates of all tiers.
        let up = |node: NodeId, port: u32| self.link_at(node, PortId::of(port as usize));
        let host = up(NodeId(0), 0)?;
        let edge = up(host.to, size.hosts)?;
        let core = up(edge.to, size.edges).map_or(Rate::ZERO, |link| link.line_rate);
        Some(size.oversubscription(ClosRates { host: host.line_rate, uplink: edge.line_rate, core }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::{clos, torus};
    use raddle_core::Duration;

    const TEN: Rate = Rate::from_gbps(10);
    const DELAY: Duration = Duration::from_us(2);

    fn clos_size([pods, edges, aggregations, cores, hosts]: [u32; 5]) -> ClosSize {
        ClosSize { pods, edges, aggregations, cores, hosts }
    }

    /// The table of specifications/expeditus.md §1.3. Columns: name; pods, edge and aggregation switches per pod,
    /// cores per plane, hosts per edge switch; link rates; hosts, cores, paths between pods; oversubscription of edge
    /// switches and of aggregation switches; total.
    #[test]
    fn oracle_named_instances() {
        let equal = ClosRates::all(TEN);
        let wide = ClosRates { uplink: Rate::from_gbps(40), core: Rate::from_gbps(40), ..equal };
        let limited = ClosRates { core: Rate::from_bps(2_500_000_000), ..equal };
        for (name, numbers, rates, [hosts, cores, paths], [edge, core], total) in [
            ("k=12", [12, 6, 6, 6, 6], equal, [432, 36, 36], [1.0, 1.0], 1.0),
            ("baseline", [12, 6, 6, 3, 6], equal, [432, 18, 18], [1.0, 2.0], 2.0),
            ("1.5:1 core", [12, 6, 6, 4, 6], equal, [432, 24, 24], [1.0, 1.5], 1.5),
            ("3:1 core", [12, 6, 6, 2, 6], equal, [432, 12, 12], [1.0, 3.0], 3.0),
            ("2:1 ToR", [12, 6, 6, 6, 12], equal, [864, 36, 36], [2.0, 1.0], 2.0),
            ("3:1 ToR", [12, 6, 6, 6, 18], equal, [1296, 36, 36], [3.0, 1.0], 3.0),
            ("stress", [4, 2, 2, 2, 2], equal, [16, 4, 4], [1.0, 1.0], 1.0),
            ("testbed", [2, 2, 2, 2, 2], equal, [8, 4, 4], [1.0, 1.0], 1.0),
            ("testbed, rate-limited", [2, 2, 2, 2, 2], limited, [8, 4, 4], [1.0, 4.0], 4.0),
            ("leaf-spine", [1, 8, 8, 0, 16], equal, [128, 0, 0], [2.0, 1.0], 2.0),
            ("Altoona-like", [96, 48, 4, 12, 16], wide, [73_728, 48, 48], [1.0, 4.0], 4.0),
        ] {
            let size = clos_size(numbers);
            let of = size.oversubscription(rates);
            assert_eq!((of.edge, of.core, of.total()), (edge, core, total), "{name}");
            assert_eq!(size.paths_between_pods(), paths, "{name}");
            let topology = clos(size, rates, DELAY).unwrap();
            assert_eq!(topology.hosts().count() as u64, hosts, "{name}");
            assert_eq!(u64::from(size.aggregations * size.cores), cores, "{name}");
            assert_eq!(topology.oversubscription(), Some(of), "{name}");
        }
        assert_eq!(ClosSize::fat_tree(12), clos_size([12, 6, 6, 6, 6]));
    }

    /// Compares the counts of nodes, links and paths with specifications/expeditus.md §11.9.
    #[test]
    fn oracle_counts_of_the_baseline() {
        let size = clos_size([12, 6, 6, 3, 6]);
        let topology = clos(size, ClosRates::all(TEN), DELAY).unwrap();
        let network = crate::Clos::new(size);
        let nodes_at = |level| topology.nodes().filter(|&node| network.level(node) == level).count();
        assert_eq!([0, 1, 2, 3].map(nodes_at), [432, 72, 72, 18]);
        let links_from = |level| {
            let up =
                |link: &crate::Link| network.level(link.from) == level && network.level(link.to) == level + 1;
            topology.links().filter(|(_, link)| up(link)).count()
        };
        assert_eq!([0, 1, 2].map(links_from), [432, 432, 216]);
        let altoona = clos_size([96, 48, 4, 12, 16]);
        let edges = u64::from(altoona.pods * altoona.edges);
        assert_eq!(altoona.paths_between_pods() * edges, 221_184);
    }

    #[test]
    fn levels_with_rates_to_spare_do_not_make_up_for_hosts() {
        let spare = |edge, core| Oversubscription { edge, core }.total();
        assert_eq!(
            [spare(0.25, 1.0), spare(0.5, 2.0), spare(2.0, 0.5)].map(f64::to_bits),
            [1.0, 1.0, 2.0].map(f64::to_bits)
        );
    }

    /// A spine has no uplinks. The link slot after its last port does not exist or belongs to the next spine.
    #[test]
    fn a_leaf_spine_is_limited_by_its_leaves_alone_even_with_one_spine() {
        for (spines, edge) in [(1, 3.0), (2, 1.5)] {
            let size = ClosSize::leaf_spine(4, 3, spines);
            let topology = clos(size, ClosRates::all(TEN), DELAY).unwrap();
            assert_eq!(
                topology.oversubscription(),
                Some(Oversubscription { edge, core: 1.0 }),
                "{spines} spines"
            );
            let spine = NodeId(16);
            assert!(
                topology.link_at(spine, PortId(3)).is_some() && topology.link_at(spine, PortId(4)).is_none()
            );
        }
    }

    #[test]
    fn other_fabrics_and_damaged_ones_have_none() {
        assert_eq!(torus(&[4, 4], TEN, DELAY).unwrap().oversubscription(), None);
        let tree = clos(ClosSize::fat_tree(4), ClosRates::all(TEN), DELAY).unwrap();
        let first = tree.link_id(NodeId(0), PortId(0));
        assert_eq!(tree.surviving(|link| link != first).oversubscription(), None);
    }
}
