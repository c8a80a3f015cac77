//! `[compute] kind = "paths"`: numbers of shortest paths between the hosts of topologies, counted by breadth-first
//! search.
//!
//! Quantities of each topology:
//! - `mean`, `most`: the mean and the largest number of shortest paths between an ordered pair of connected hosts
//! - `mean, divided by the preceding mean`: the mean divided by the mean of the preceding topology in the list
//! - `of one host`: the `mean` multiplied by the number of other hosts. If all hosts are connected, this is the mean
//!   number of shortest paths from one host to all others. With one host for each edge switch, this is the number of
//!   paths from an edge switch to all others.
//! - `uplinks of an edge switch`, `uplinks of an aggregation switch`: the number of uplinks, only in Clos networks

use super::keys::FABRICS;
use super::{Context, fabrics, run};
use crate::experiment::{Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_topology::{Clos, Hops, Shape};

/// Computes every quantity of every topology.
pub(super) fn count(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    let mut runs = Vec::new();
    let mut before = None;
    for (label, topology) in fabrics(section, context)? {
        let mut put = |quantity, number| {
            runs.push(run(&[("quantity", quantity), ("fabric", &label)], Data::Number(number)));
        };
        let hops = Hops::of(&topology);
        let (Some(mean), Some(most)) = (hops.mean_paths(), hops.most_paths()) else {
            let hint = "give a topology in which at least two hosts are connected";
            return Err(section.contradiction(
                &FABRICS,
                format!("`{label}` has no pair of connected hosts"),
                hint,
            ));
        };
        put("mean", mean);
        put("most", most);
        put("of one host", mean * (topology.hosts().count() - 1) as f64);
        if let Some(before) = before.replace(mean) {
            put("mean, divided by the preceding mean", mean / before);
        }
        if let &Shape::Clos(size) = topology.shape() {
            let uplinks = |level| Clos::new(size).uplinks(level).len() as f64;
            put("uplinks of an edge switch", uplinks(1));
            put("uplinks of an aggregation switch", uplinks(2));
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    const FABRICS: &str = r#"[compute]
kind = "paths"
fabrics = [
    { label = "small", topology = { kind = "torus", dims = [3, 3], link_rate = "1 Gbps", link_delay = "0 ns" } },
    { label = "Clos", topology = { kind = "clos", pods = 3, edges_per_pod = 2, aggregations_per_pod = 4, cores_per_plane = 5, hosts_per_edge = 1, link_rate = "1 Gbps", link_delay = "0 ns" } },
]
"#;

    #[test]
    fn paths_of_a_clos_network_are_those_of_its_edge_switches() {
        let numbers = numbers(FABRICS).expect("fabrics");
        let of = |quantity: &str, fabric: &str| {
            let labels =
                [("quantity", quantity), ("fabric", fabric)].map(|(a, b)| (a.to_owned(), b.to_owned()));
            numbers.iter().find(|(there, _)| there[..] == labels).map(|&(_, number)| number)
        };
        // Four of the eight other nodes are one hop away, by one path each. The other four nodes are two hops away, by
        // two paths each.
        assert_eq!(of("mean", "small"), Some(1.5));
        assert_eq!(of("of one host", "small"), Some(12.0));
        assert_eq!(of("uplinks of an edge switch", "small"), None);
        // Four paths lead to the other edge switch of the pod, and 20 paths lead to each of the four edge switches in
        // other pods.
        assert_eq!(of("of one host", "Clos"), Some(84.0));
        assert_eq!(of("most", "Clos"), Some(20.0));
        assert_eq!(of("mean, divided by the preceding mean", "Clos"), Some(84.0 / 5.0 / 1.5));
        assert_eq!(of("uplinks of an edge switch", "Clos"), Some(4.0));
        assert_eq!(of("uplinks of an aggregation switch", "Clos"), Some(5.0));
    }

    #[test]
    fn a_fabric_of_one_host_is_refused() {
        let one = FABRICS.replace(r#""torus", dims = [3, 3]"#, r#""single_switch", hosts = 1"#);
        assert!(numbers(&one).expect_err("a problem").to_string().contains("no pair of connected hosts"));
        assert!(
            numbers("[compute]\nkind = \"paths\"").expect_err("a problem").to_string().contains("fabrics")
        );
    }
}
