//! Divides a fabric among threads into parts of about equal load. Few links connect the parts, and each of these links
//! has a delay.
//!
//! The method is recursive bisection. One half grows from the first node of the part that is divided. Each step adds
//! the node that reduces the total rate of the links between the halves most. The half grows until it has its share of
//! the load (greedy graph growing: Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998). A node's load is the sum of
//! its links' rates, with a higher weight at hosts. A Clos network is divided by pods if that gives equal parts.

use raddle_core::{Duration, LinkId, NodeId, PortId};
use raddle_topology::{Clos, Shape, Topology};
use std::collections::BinaryHeap;

/// The partition of each node, and the indices of nodes and links in their partition.
#[derive(Debug)]
pub(crate) struct Division {
    home: Vec<u32>,
    place: Vec<u32>,
    /// Per partition, the links that start or end in the partition, in order of id, each with the node at which it
    /// starts.
    links: Vec<Vec<(LinkId, NodeId)>>,
    /// The least delay of a link between two partitions.
    lookahead: Duration,
}

impl Division {
    /// Divides the fabric into at most `parts` parts. Nodes that are joined by links without delay stay in
    /// one part, so the division may have fewer parts than `parts`.
    pub(crate) fn new(topology: &Topology, parts: usize) -> Self {
        let home = match parts {
            0 | 1 => vec![0; topology.node_count()],
            _ => pods(topology, parts).unwrap_or_else(|| Growing::new(topology).divide(parts)),
        };
        let parts = home.iter().max().map_or(1, |&most| most as usize + 1);
        let mut counts = vec![0; parts];
        let place = home
            .iter()
            .map(|&home| {
                counts[home as usize] += 1;
                counts[home as usize] - 1
            })
            .collect();
        let mut links = vec![Vec::new(); parts];
        let mut lookahead = Duration::from_ps(u64::MAX);
        for node in topology.nodes() {
            let here = home[node.index()];
            for port in (0..topology.port_count(node)).map(PortId::of) {
                let id = topology.link_id(node, port);
                links[here as usize].push((id, node));
                let Some(link) = topology.link(id) else { continue };
                let there = home[link.to.index()];
                if there != here {
                    links[there as usize].push((id, node));
                    lookahead = lookahead.min(link.delay);
                }
            }
        }
        Self { home, place, links, lookahead }
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.links.len()
    }

    /// The partition of a node.
    pub(crate) fn home(&self, node: NodeId) -> usize {
        self.home[node.index()] as usize
    }

    /// A node's index in its partition.
    pub(crate) fn place(&self, node: NodeId) -> u32 {
        self.place[node.index()]
    }

    /// The links that start or end in a partition, in order of id, each with the node at which it starts.
    pub(crate) fn links(&self, part: usize) -> &[(LinkId, NodeId)] {
        &self.links[part]
    }

    /// A link's index in a partition where it starts or ends.
    pub(crate) fn place_of_link(&self, part: usize, link: LinkId) -> u32 {
        let place = if self.parts() == 1 {
            link.index()
        } else {
            self.links[part]
                .binary_search_by_key(&link, |&(id, _)| id)
                .expect("the link must start or end in this partition")
        };
        u32::try_from(place).expect("a link index must fit `u32`")
    }

    /// The least time after which an event in one partition can affect another partition.
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }
}

/// Divides a Clos network by its pods (by its edge switches if there is one pod), and returns the part of each node.
/// Every part then has about the same number of nodes of each level. Recursive bisection does not find such a division.
/// Returns `None` if the pods (or edge switches) cannot be divided evenly among the parts, if a link has no delay, or
/// if the fabric is no Clos network.
fn pods(topology: &Topology, parts: usize) -> Option<Vec<u32>> {
    let &Shape::Clos(size) = topology.shape() else { return None };
    let units = if size.pods > 1 { size.pods } else { size.edges };
    if !(units as usize).is_multiple_of(parts)
        || topology.links().any(|(_, link)| link.delay == Duration::ZERO)
    {
        return None;
    }
    let clos = Clos::new(size);
    let levels: Vec<usize> = topology.nodes().map(|node| clos.level(node)).collect();
    // Nodes of a level are numbered pod by pod.
    let mut home = Vec::with_capacity(levels.len());
    for level in levels.chunk_by(usize::eq) {
        home.extend((0..level.len()).map(|i| u32::try_from(i * parts / level.len()).expect("few parts")));
    }
    Some(home)
}

/// Computing time of a packet at a host, relative to its computing time at a switch. A host takes more time, because a
/// packet ends there and triggers other packets.
const HOST_LOAD: u64 = 3;

/// The graph that the bisection divides. Nodes that are joined by links without delay form a group, which is never
/// split.
struct Growing {
    /// The group of each node.
    group: Vec<u32>,
    load: Vec<u64>,
    /// For each group, one entry per link to another group: the other group, and the link's rate in Mbit/s.
    neighbours: Vec<Vec<(u32, u64)>>,
}

impl Growing {
    fn new(topology: &Topology) -> Self {
        fn find(leader: &mut [u32], node: u32) -> u32 {
            let mut at = node;
            while leader[at as usize] != at {
                leader[at as usize] = leader[leader[at as usize] as usize];
                at = leader[at as usize];
            }
            at
        }
        let mut leader: Vec<u32> = (0..).take(topology.node_count()).collect();
        for (_, link) in topology.links().filter(|(_, link)| link.delay == Duration::ZERO) {
            let (a, b) = (find(&mut leader, link.from.0), find(&mut leader, link.to.0));
            leader[a.max(b) as usize] = a.min(b);
        }
        let mut number = vec![u32::MAX; leader.len()];
        let mut count = 0;
        let group: Vec<u32> = (0..)
            .take(leader.len())
            .map(|node| {
                let leader = find(&mut leader, node) as usize;
                if number[leader] == u32::MAX {
                    number[leader] = count;
                    count += 1;
                }
                number[leader]
            })
            .collect();
        let mut load = vec![0; count as usize];
        let mut neighbours = vec![Vec::new(); count as usize];
        for (_, link) in topology.links() {
            let (from, to) = (group[link.from.index()], group[link.to.index()]);
            let rate = (link.rate.as_bps() / 1_000_000).max(1);
            load[from as usize] += rate * if topology.is_host(link.from) { HOST_LOAD } else { 1 };
            if from != to {
                neighbours[from as usize].push((to, rate));
            }
        }
        Self { group, load, neighbours }
    }

    /// Returns the part of each node, for a division into at most `parts` parts.
    fn divide(&self, parts: usize) -> Vec<u32> {
        let mut part = vec![0; self.load.len()];
        let all: Vec<u32> = (0..).take(self.load.len()).collect();
        let mut next = 0;
        self.bisect(&all, parts, &mut next, &mut part);
        self.group.iter().map(|&group| part[group as usize]).collect()
    }

    fn bisect(&self, groups: &[u32], parts: usize, next: &mut u32, part: &mut [u32]) {
        if parts <= 1 || groups.len() <= 1 {
            for &group in groups {
                part[group as usize] = *next;
            }
            *next += u32::from(!groups.is_empty());
            return;
        }
        let left = parts / 2;
        let total: u64 = groups.iter().map(|&group| self.load[group as usize].max(1)).sum();
        let share = u64::try_from(u128::from(total) * left as u128 / parts as u128)
            .expect("the load of one half must be at most the total load, which fits 64 bits");
        let (a, b) = self.grow(groups, share);
        self.bisect(&a, left, next, part);
        self.bisect(&b, parts - left, next, part);
    }

    /// Splits `groups` into two parts. The first part has a load of about `share`.
    fn grow(&self, groups: &[u32], share: u64) -> (Vec<u32>, Vec<u32>) {
        #[derive(Clone, Copy, PartialEq)]
        enum Side {
            Outside,
            Rest,
            Grown,
        }
        let mut side = vec![Side::Outside; self.load.len()];
        for &group in groups {
            side[group as usize] = Side::Rest;
        }
        // For each group, the decrease of the total rate of the links between the halves if the group joins the growing
        // half. It is the rate of the group's links into the growing half, less the rate of the group's links into the
        // other half.
        let mut gain: Vec<i64> = vec![0; self.load.len()];
        for &group in groups {
            let inside =
                self.neighbours[group as usize].iter().filter(|&&(to, _)| side[to as usize] == Side::Rest);
            gain[group as usize] = -inside.map(|&(_, rate)| rate as i64).sum::<i64>();
        }
        let mut heap = BinaryHeap::new();
        let mut seeds = groups.iter();
        let mut grown = 0;
        let mut first = Vec::new();
        while grown < share {
            let (reached, group) = match heap.pop() {
                Some((reached, std::cmp::Reverse(group))) => (reached, group),
                // No remaining group has a link to the growing half.
                None => match seeds.find(|&&seed| side[seed as usize] == Side::Rest) {
                    Some(&seed) => (gain[seed as usize], seed),
                    None => break,
                },
            };
            if side[group as usize] != Side::Rest || reached != gain[group as usize] {
                continue; // stale entry: the group has joined the half, or another entry has its new gain
            }
            side[group as usize] = Side::Grown;
            grown += self.load[group as usize].max(1);
            first.push(group);
            for &(to, rate) in &self.neighbours[group as usize] {
                if side[to as usize] == Side::Rest {
                    gain[to as usize] += 2 * rate as i64;
                    heap.push((gain[to as usize], std::cmp::Reverse(to)));
                }
            }
        }
        let rest = groups.iter().copied().filter(|&group| side[group as usize] == Side::Rest).collect();
        (first, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Rate;
    use raddle_topology::builders::{ClosRates, dumbbell, fat_tree, torus};

    const RATE: Rate = Rate::from_gbps(10);
    const DELAY: Duration = Duration::from_ns(100);

    fn loads(topology: &Topology, division: &Division) -> Vec<u64> {
        let mut loads = vec![0; division.parts()];
        for (_, link) in topology.links() {
            loads[division.home(link.from)] += if topology.is_host(link.from) { HOST_LOAD } else { 1 };
        }
        loads
    }

    #[test]
    fn parts_are_of_about_equal_load_and_few_links_are_cut() {
        let rates = ClosRates { host: RATE, uplink: RATE, core: RATE };
        // The greatest number of directed links that a division into two halves may cut. Torus of 8x8x8: two planes of
        // 64 links in two directions each, 256 in total. Fat-tree with k = 8: each of the 8 pods has 8 uplinks to the
        // cores in the other half, in two directions, 128 in total.
        let fabrics = [(torus(&[8, 8, 8], RATE, DELAY), 256), (fat_tree(8, rates, DELAY), 128)];
        for (topology, most_cut) in fabrics {
            let topology = topology.expect("valid sizes");
            for parts in 1..=8 {
                let division = Division::new(&topology, parts);
                let loads = loads(&topology, &division);
                let share = loads.iter().sum::<u64>() / parts as u64;
                assert_eq!(loads.len(), parts);
                assert!(loads.iter().all(|load| load.abs_diff(share) < share / 5), "{loads:?}");
                if parts == 2 {
                    let is_cut =
                        |link: &raddle_topology::Link| division.home(link.from) != division.home(link.to);
                    let cut = topology.links().filter(|(_, link)| is_cut(link)).count();
                    assert!((1..=most_cut).contains(&cut), "{cut} links are cut");
                    assert_eq!(division.lookahead(), DELAY);
                }
            }
        }
    }

    #[test]
    fn nodes_joined_by_links_without_delay_stay_in_one_part() {
        let topology = dumbbell(4, 4, RATE, RATE, Duration::ZERO).expect("valid sizes");
        assert_eq!(Division::new(&topology, 4).parts(), 1);
    }

    #[test]
    fn nodes_and_links_keep_their_order() {
        let topology = torus(&[4, 4], RATE, DELAY).expect("valid sizes");
        let division = Division::new(&topology, 3);
        for part in 0..3 {
            let links = division.links(part);
            assert!(links.is_sorted_by_key(|&(link, _)| link));
            for (place, &(link, _)) in (0..).zip(links) {
                assert_eq!(division.place_of_link(part, link), place);
            }
            let places =
                topology.nodes().filter(|&node| division.home(node) == part).map(|node| division.place(node));
            assert!(places.enumerate().all(|(i, place)| i == place as usize));
        }
    }
}
