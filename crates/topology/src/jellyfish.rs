//! Random regular graphs of switches for Jellyfish.
//!
//! Singla et al., "Jellyfish: Networking Data Centers Randomly" (NSDI 2012), §3; specifications/pdq.md §12. First,
//! random pairs of switches that are not neighbours and have free ports are joined until no such pair is left. If a
//! switch then has two free ports, a random link between two switches that are not its neighbours is replaced by links
//! from the switch to both ends of this link. If two neighbours have one free port each, a random link is removed, and
//! each of the two switches gets a link to one end of the removed link. At the end, all ports are used, except one port
//! if the total number of ports is odd. The draw fails if there is no suitable link, or if the finished graph is not
//! connected.

use raddle_core::Stream;
use rustc_hash::FxHashSet;

/// A graph under construction.
struct Graph {
    degree: usize,
    /// Neighbours of each switch, in arbitrary order.
    neighbours: Vec<Vec<u32>>,
    joined: FxHashSet<(u32, u32)>,
}

/// Draws a random simple graph of `switches` nodes of this degree. Returns the neighbours of each node, in ascending
/// order. The degree must be less than the number of nodes. If both numbers are odd, one node has one neighbour fewer.
/// Returns `None` if the random graph cannot be completed or is not connected.
pub(crate) fn random_regular(switches: usize, degree: usize, stream: &mut Stream) -> Option<Vec<Vec<u32>>> {
    let neighbours = (0..switches).map(|_| Vec::with_capacity(degree)).collect();
    let mut graph = Graph { degree, neighbours, joined: FxHashSet::default() };
    graph.join_pairs(stream);
    graph.use_free_ports(stream)?;
    if !graph.is_connected() {
        return None;
    }
    graph.neighbours.iter_mut().for_each(|neighbours| neighbours.sort_unstable());
    Some(graph.neighbours)
}

impl Graph {
    fn are_joined(&self, a: u32, b: u32) -> bool {
        self.joined.contains(&(a.min(b), a.max(b)))
    }

    fn join(&mut self, a: u32, b: u32) {
        self.neighbours[a as usize].push(b);
        self.neighbours[b as usize].push(a);
        self.joined.insert((a.min(b), a.max(b)));
    }

    fn part(&mut self, a: u32, b: u32) {
        self.neighbours[a as usize].retain(|&other| other != b);
        self.neighbours[b as usize].retain(|&other| other != a);
        self.joined.remove(&(a.min(b), a.max(b)));
    }

    fn free_ports(&self, switch: u32) -> usize {
        self.degree - self.neighbours[switch as usize].len()
    }

    fn switches(&self) -> impl Iterator<Item = u32> + use<> {
        (0..).take(self.neighbours.len())
    }

    /// Joins random pairs of switches that are not neighbours and have free ports, until no such pair is left.
    fn join_pairs(&mut self, stream: &mut Stream) {
        let mut open: Vec<u32> = self.switches().filter(|&switch| self.free_ports(switch) > 0).collect();
        let mut failures = 0;
        while open.len() > 1 {
            let any = |stream: &mut Stream| stream.index(open.len());
            let (mut i, mut j) = (any(stream), any(stream));
            if i == j || self.are_joined(open[i], open[j]) {
                failures += 1;
                if failures <= open.len() {
                    continue;
                }
                // So many failed draws in a row suggest that few or no pairs can still be joined. The code therefore
                // lists all such pairs and draws one of them.
                let pairs = (0..open.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
                let pairs: Vec<_> = pairs.filter(|&(i, j)| !self.are_joined(open[i], open[j])).collect();
                if pairs.is_empty() {
                    return;
                }
                (i, j) = pairs[stream.index(pairs.len())];
            }
            failures = 0;
            self.join(open[i], open[j]);
            for place in [i.max(j), i.min(j)] {
                if self.free_ports(open[place]) == 0 {
                    open.swap_remove(place);
                }
            }
        }
    }

    /// Uses free ports of switches that cannot be paired: removes random links and joins their ends to these
    /// ports. Returns `None` if no link is suitable.
    fn use_free_ports(&mut self, stream: &mut Stream) -> Option<()> {
        loop {
            let mut free = self.switches().flat_map(|a| std::iter::repeat_n(a, self.free_ports(a)));
            let (Some(a), Some(b)) = (free.next(), free.next()) else { return Some(()) };
            let serves = |u: u32, v: u32| {
                [u, v].iter().all(|&end| end != a && end != b)
                    && !self.are_joined(a, u)
                    && !self.are_joined(b, v)
            };
            let links =
                self.switches().flat_map(|u| self.neighbours[u as usize].iter().map(move |&v| (u, v)));
            let links: Vec<_> = links.filter(|&(u, v)| serves(u, v)).collect();
            if links.is_empty() {
                return None;
            }
            let (u, v) = links[stream.index(links.len())];
            self.part(u, v);
            self.join(a, u);
            self.join(b, v);
        }
    }

    fn is_connected(&self) -> bool {
        let mut reached = vec![false; self.neighbours.len()];
        let mut order = vec![0];
        reached[0] = true;
        while let Some(at) = order.pop() {
            for &next in &self.neighbours[at as usize] {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    order.push(next);
                }
            }
        }
        reached.into_iter().all(|reached| reached)
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use crate::builders::{self, BuildError};
    use raddle_core::{Duration, NodeId, PortId, Rate};

    fn draw(switches: usize, degree: usize, seed: u64) -> Option<Vec<Vec<u32>>> {
        random_regular(switches, degree, &mut Stream::new(seed, 0, "jellyfish"))
    }

    #[test]
    fn graphs_are_simple_and_regular() {
        for (switches, degree) in
            [(2, 1), (5, 2), (5, 4), (6, 3), (8, 5), (10, 7), (20, 3), (45, 12), (17, 16)]
        {
            let graphs: Vec<_> = (0..40).filter_map(|seed| draw(switches, degree, seed)).collect();
            assert!(graphs.len() >= 20, "{switches} switches: {} of 40 graphs are connected", graphs.len());
            for graph in graphs {
                for (a, neighbours) in (0_u32..).zip(&graph) {
                    assert_eq!(neighbours.len(), degree, "{switches} switches");
                    assert!(neighbours.is_sorted_by(|b, c| b < c) && !neighbours.contains(&a));
                    assert!(neighbours.iter().all(|&b| graph[b as usize].contains(&a)));
                }
            }
        }
    }

    #[test]
    fn with_an_odd_number_of_ports_one_stays_free() {
        for seed in 0..20 {
            let degrees = draw(15, 5, seed).expect("a graph").into_iter().map(|neighbours| neighbours.len());
            assert_eq!(degrees.clone().filter(|&degree| degree == 4).count(), 1);
            assert_eq!(degrees.sum::<usize>(), 15 * 5 - 1);
        }
    }

    #[test]
    fn a_graph_that_falls_apart_is_refused() {
        assert_eq!(draw(4, 1, 1), None, "two pairs");
        let whole = (0..200).filter(|&seed| draw(8, 2, seed).is_some()).count();
        assert!((1..200).contains(&whole), "some of 200 graphs must be connected, but not all (got {whole})");
    }

    #[test]
    fn seeds_draw_and_repeat() {
        assert_eq!(draw(20, 4, 1), draw(20, 4, 1));
        assert_ne!(draw(20, 4, 1), draw(20, 4, 2));
    }

    #[test]
    fn oracle_12_17_switches_of_24_ports_are_all_neighbours() {
        let topology = builders::jellyfish(17, 24, 16, 1, Rate::from_gbps(1), Duration::from_ns(100));
        let topology = topology.expect("a complete graph");
        assert_eq!((topology.hosts().count(), topology.node_count()), (136, 153));
        assert!(topology.hosts().eq((0..136).map(NodeId)), "hosts first");
        for host in topology.hosts() {
            let link = topology.link_at(host, PortId(0)).expect("an uplink");
            assert_eq!((link.to, link.to_port), (NodeId(136 + host.0 / 8), PortId(host.0 as u16 % 8)));
        }
        for switch in (136..153).map(NodeId) {
            assert_eq!(topology.port_count(switch), 24);
            let mut others: Vec<_> = topology.links_from(switch).skip(8).map(|(_, link)| link.to).collect();
            others.sort_unstable();
            assert!(others.into_iter().eq((136..153).map(NodeId).filter(|&other| other != switch)));
        }
    }

    #[test]
    fn impossible_bcubes_are_refused() {
        let jellyfish = |switches, ports, network_ports| {
            builders::jellyfish(switches, ports, network_ports, 1, Rate::from_gbps(1), Duration::ZERO).err()
        };
        assert_eq!(jellyfish(16, 24, 16), Some(BuildError::Degree { degree: 16, others: 15 }));
        assert_eq!(jellyfish(4, 3, 1), Some(BuildError::Apart { switches: 4, degree: 1 }));
        assert_eq!(jellyfish(4, 3, 3), Some(BuildError::Empty("ports - network_ports")));
        assert_eq!(jellyfish(4, 3, 0), Some(BuildError::Empty("network_ports")));
        assert_eq!(jellyfish(4, 3, 2), None);
    }
}
