//! Distances on any graph, by a breadth-first search from each destination on its first use.
//!
//! A leaf node ([`Topology::leaves`]) is one hop farther from all other nodes than its only
//! neighbour is. A search therefore covers only the other nodes, and all leaf nodes of a switch
//! share the switch's distances. For n hosts under s switches, each table has at most s² numbers
//! instead of (n + s)².

use crate::Topology;
use raddle_core::{NodeId, PortId};
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(super) struct Search {
    topology: Arc<Topology>,
    /// For each node, its place. The places number the nodes that are not leaf nodes. A leaf node has the place of its
    /// only neighbour.
    place: Vec<u32>,
    leaf: Vec<bool>,
    /// For each place, true if the place's node (not its leaf nodes) forwards packets of other nodes.
    relays: Vec<bool>,
    /// The slice `from[first[p]..first[p + 1]]` lists the places that have a link to place p.
    first: Vec<u32>,
    from: Vec<u32>,
    /// For each place of a destination, the number of hops from every place; `u16::MAX` if there is no path.
    distances: Vec<OnceLock<Box<[u16]>>>,
    /// For each place of a destination, the number of shortest paths from every place.
    paths: Vec<OnceLock<Box<[f64]>>>,
}

const UNREACHABLE: u16 = u16::MAX;

pub(super) fn empty<T>(count: usize) -> Vec<OnceLock<T>> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl Search {
    pub(super) fn new(topology: Arc<Topology>) -> Self {
        let neighbours = topology.leaves();
        let mut place = vec![0; neighbours.len()];
        let mut places = 0;
        let mut relays = Vec::new();
        for node in topology.nodes().filter(|node| neighbours[node.index()].is_none()) {
            place[node.index()] = places;
            places += 1;
            relays.push(topology.relays(node));
        }
        for (node, neighbour) in neighbours.iter().enumerate() {
            if let Some(neighbour) = neighbour {
                place[node] = place[neighbour.index()];
            }
        }
        let leaf: Vec<bool> = neighbours.iter().map(Option::is_some).collect();
        let between = || topology.links().filter(|(_, l)| !leaf[l.from.index()] && !leaf[l.to.index()]);
        let mut first = vec![0; places as usize + 1];
        between().for_each(|(_, link)| first[place[link.to.index()] as usize + 1] += 1);
        for p in 0..places as usize {
            first[p + 1] += first[p];
        }
        let mut from = vec![0; first[places as usize] as usize];
        let mut next = first.clone();
        for (_, link) in between() {
            let slot = &mut next[place[link.to.index()] as usize];
            from[*slot as usize] = place[link.from.index()];
            *slot += 1;
        }
        Self {
            place,
            leaf,
            relays,
            first,
            from,
            distances: empty(places as usize),
            paths: empty(places as usize),
            topology,
        }
    }

    fn place(&self, node: NodeId) -> usize {
        self.place[node.index()] as usize
    }

    /// Returns the number of hops from every place to the place `to`.
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 nodes")]
    fn search(&self, to: usize) -> Box<[u16]> {
        let mut distance = vec![UNREACHABLE; self.distances.len()];
        distance[to] = 0;
        let mut order = vec![to as u32];
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            let at = at as usize;
            if !self.leads_to(at, to) {
                continue; // `at` does not forward packets, so no path leads through it
            }
            for &from in &self.from[self.first[at] as usize..self.first[at + 1] as usize] {
                if distance[from as usize] == UNREACHABLE {
                    distance[from as usize] = distance[at] + 1;
                    order.push(from);
                }
            }
        }
        distance.into()
    }

    /// Returns true if a path to the place `to` may enter the place `next`.
    #[inline]
    fn leads_to(&self, next: usize, to: usize) -> bool {
        self.relays[next] || next == to
    }

    fn distances(&self, to: NodeId) -> &[u16] {
        let to = self.place(to);
        self.distances[to].get_or_init(|| self.search(to))
    }

    /// Returns the number of hops between two nodes, computed from `distances`: the distances from all places to the
    /// place of `to`.
    fn hops(&self, distances: &[u16], from: NodeId, to: NodeId) -> Option<u32> {
        let between = distances[self.place(from)];
        let ends = u32::from(self.leaf[from.index()]) + u32::from(self.leaf[to.index()]);
        match between {
            _ if from == to => Some(0),
            UNREACHABLE => None,
            hops => Some(u32::from(hops) + ends),
        }
    }

    pub(super) fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        self.hops(self.distances(to), from, to)
    }

    /// Returns the number of hops between the two connected `hosts` that are farthest apart. Runs one search for each
    /// place of a host and does not store the results.
    pub(super) fn diameter(&self, hosts: &[NodeId]) -> usize {
        // Two hosts per place are enough. One host would not be enough, because the two farthest hosts may be leaf
        // nodes at the same place. Leaf nodes are sorted first, because they are one hop farther away than their
        // neighbour, which has the same place.
        let mut ends: Vec<NodeId> = hosts.to_vec();
        ends.sort_by_key(|&host| (self.place(host), !self.leaf[host.index()]));
        let mut ends: Vec<&[NodeId]> = ends.chunk_by(|a, b| self.place(*a) == self.place(*b)).collect();
        ends.iter_mut().for_each(|at| *at = &at[..at.len().min(2)]);
        let farthest = |there: &&[NodeId]| {
            let distances = self.search(self.place(there[0]));
            let pairs =
                ends.iter().flat_map(|here| here.iter().flat_map(|&a| there.iter().map(move |&b| (a, b))));
            pairs.filter_map(|(from, to)| self.hops(&distances, from, to)).max()
        };
        ends.iter().filter_map(farthest).max().unwrap_or(0) as usize
    }

    /// Calls `visit` with each port of `at` that leads one hop closer to `to`, and the node to which the port leads.
    #[inline]
    pub(super) fn productive(&self, at: NodeId, to: NodeId, mut visit: impl FnMut(PortId, NodeId)) {
        let distances = self.distances(to);
        let here = distances[self.place(at)];
        if here == UNREACHABLE || at == to {
            return;
        }
        if self.leaf[at.index()] {
            self.topology.links_from(at).for_each(|(_, link)| visit(link.from_port, link.to));
        } else if here == 0 {
            // `to` is a leaf node whose only neighbour is `at`.
            self.topology.links_from(to).for_each(|(_, link)| visit(link.to_port, to));
        } else {
            // A leaf node has its neighbour's place, so a step to a leaf node never leads closer to `to`.
            for (_, link) in self.topology.links_from(at) {
                let next = self.place(link.to);
                if distances[next] < here && self.leads_to(next, self.place(to)) {
                    visit(link.from_port, link.to);
                }
            }
        }
    }

    /// Returns the number of shortest paths from `from` to `to`; 0 if there is no path.
    pub(super) fn paths(&self, from: NodeId, to: NodeId) -> f64 {
        let paths = self.paths[self.place(to)].get_or_init(|| {
            let distances = self.distances(to);
            let mut order: Vec<NodeId> =
                self.topology.nodes().filter(|node| !self.leaf[node.index()]).collect();
            order.sort_by_key(|&node| distances[self.place(node)]);
            let mut paths = vec![0.0; distances.len()];
            for node in order {
                paths[self.place(node)] = match distances[self.place(node)] {
                    0 => 1.0,
                    UNREACHABLE => 0.0,
                    here => {
                        let next = self.topology.links_from(node).map(|(_, link)| self.place(link.to));
                        let next = next
                            .filter(|&next| distances[next] < here && self.leads_to(next, self.place(to)));
                        next.map(|next| paths[next]).sum()
                    }
                };
            }
            paths.into()
        });
        paths[self.place(from)]
    }
}

#[cfg(test)]
mod tests;
