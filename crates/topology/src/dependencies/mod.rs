//! Dependencies between links with flow control. Before a run, they show whether a cycle of links can deadlock.
//!
//! A packet that arrived over a link keeps its buffer until its egress link sends it. A link therefore
//! depends on each link that its packets may take next, whatever their destinations. If the dependencies
//! have no cycle, paused links cannot deadlock. If the dependencies have a cycle, paused links can deadlock
//! (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", 1987).
//!
//! No path continues beyond a node with a single link, so no cycle leads through such a node.
//!
//! The running time is proportional to the number of links times the number of destinations, plus the time to list the
//! routing's ports.

use crate::Topology;
use crate::routing::Routing;
use raddle_core::{LinkId, NodeId, PortId};
use std::collections::VecDeque;

/// Finds a cycle of links that may wait for each other: each link waits for the next link, and the last link
/// waits for the first. Packets start at any host and go to one of `destinations`. `ways` gets a node, a
/// destination and an empty list. It fills the list with the ports by which a packet for this destination may
/// leave the node. Returns `None` if there is no cycle.
pub fn cycle(
    topology: &Topology,
    destinations: impl IntoIterator<Item = NodeId>,
    mut ways: impl FnMut(NodeId, NodeId, &mut Vec<PortId>),
) -> Option<Vec<LinkId>> {
    let mut dependencies = Dependencies::new(topology);
    let mut walk = Walk::new(topology);
    for to in destinations {
        dependencies.add(to, &mut walk, &mut ways);
    }
    dependencies.cycle()
}

/// Returns the nodes of a cycle as text, such as `0->1->2->0`.
///
/// # Panics
/// If the cycle is empty, or if one of its ids belongs to a port without a link.
#[must_use]
pub fn describe(topology: &Topology, cycle: &[LinkId]) -> String {
    let from = |&id: &LinkId| topology.link(id).expect("a port on a cycle must have a link").from;
    let around = cycle.iter().chain(&cycle[..1]);
    around.map(|id| from(id).to_string()).collect::<Vec<_>>().join("->")
}

impl Routing {
    /// Returns a [`cycle`] of links, if there is one, when packets take any shortest path between any two hosts.
    #[must_use]
    pub fn buffer_cycle(&self) -> Option<Vec<LinkId>> {
        let leaves = self.topology().leaves();
        // The same paths lead to all leaf nodes of a switch, so one leaf node per switch is enough.
        let mut seen = vec![false; leaves.len()];
        let mut first = |host: &NodeId| {
            leaves[host.index()].is_none_or(|switch| !std::mem::replace(&mut seen[switch.index()], true))
        };
        let destinations: Vec<NodeId> = self.topology().hosts().filter(|host| first(host)).collect();
        cycle(self.topology(), destinations, |at, to, ports| self.productive(at, to, ports))
    }
}

/// The dependencies of the links between nodes that are not leaf nodes.
struct Dependencies<'a> {
    topology: &'a Topology,
    leaf: Vec<bool>,
    /// The nodes from which walks start: hosts that are not leaf nodes, and the neighbours of hosts that are leaf
    /// nodes.
    starts: Vec<NodeId>,
    /// The 64-bit words of a link in `bits` are `bits[first[link]..first[link + 1]]`.
    first: Vec<usize>,
    /// For each link, one bit for each port of the node at the end of the link: set if packets from the link
    /// may leave by the port.
    bits: Vec<u64>,
}

/// The state of a walk over all paths from the `starts` to one destination. The next walk reuses the memory.
struct Walk {
    /// For each node, the number of the latest walk that reached the node, counted from 1; 0 if none has.
    reached: Vec<u32>,
    walks: u32,
    /// The 64-bit words of a node in `bits` are `bits[first[node]..first[node + 1]]`.
    first: Vec<usize>,
    /// For each node, one bit for each port of the node: set if packets of this walk may leave by the port.
    bits: Vec<u64>,
    order: Vec<NodeId>,
    links: Vec<LinkId>,
    ports: Vec<PortId>,
}

/// Returns the number of 64-bit words that hold one bit for each port of a node.
fn words(topology: &Topology, node: NodeId) -> usize {
    topology.port_count(node).div_ceil(64)
}

/// Returns the index at which each item's words begin, followed by the index at which the last item's words
/// end.
fn begins(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let ends = sizes.scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

impl Walk {
    fn new(topology: &Topology) -> Self {
        let first = begins(topology.nodes().map(|node| words(topology, node)));
        Self {
            reached: vec![0; topology.node_count()],
            walks: 0,
            bits: vec![0; first[topology.node_count()]],
            first,
            order: Vec::new(),
            links: Vec::new(),
            ports: Vec::new(),
        }
    }

    /// Marks a node as reached by this walk, unless it is already marked.
    fn reach(&mut self, node: NodeId) {
        if self.reached[node.index()] < self.walks {
            self.reached[node.index()] = self.walks;
            self.bits[self.first[node.index()]..self.first[node.index() + 1]].fill(0);
            self.order.push(node);
        }
    }
}

impl<'a> Dependencies<'a> {
    fn new(topology: &'a Topology) -> Self {
        let neighbours = topology.leaves();
        let leaf: Vec<bool> = neighbours.iter().map(Option::is_some).collect();
        let mut starts: Vec<NodeId> =
            topology.hosts().map(|host| neighbours[host.index()].unwrap_or(host)).collect();
        starts.sort_unstable();
        starts.dedup();
        let inner = |id: usize| {
            let link = topology.link(LinkId::of(id))?;
            (!leaf[link.from.index()] && !leaf[link.to.index()]).then_some(link.to)
        };
        let sizes = (0..topology.link_slots()).map(|id| inner(id).map_or(0, |to| words(topology, to)));
        let first = begins(sizes);
        Self { topology, starts, bits: vec![0; first[topology.link_slots()]], first, leaf }
    }

    /// Adds the dependencies of packets with destination `to`.
    fn add(&mut self, to: NodeId, walk: &mut Walk, ways: &mut impl FnMut(NodeId, NodeId, &mut Vec<PortId>)) {
        walk.walks += 1;
        walk.order.clear();
        walk.links.clear();
        self.starts.iter().for_each(|&start| walk.reach(start));
        let mut next = 0;
        while let Some(&at) = walk.order.get(next) {
            next += 1;
            if at == to {
                continue;
            }
            let mut ports = std::mem::take(&mut walk.ports);
            ports.clear();
            ways(at, to, &mut ports);
            for &port in &ports {
                let id = self.topology.link_id(at, port);
                let Some(link) = self.topology.link(id) else { continue };
                if !self.leaf[link.to.index()] {
                    set(&mut walk.bits[walk.first[at.index()]..], port);
                    walk.links.push(id);
                    walk.reach(link.to);
                }
            }
            walk.ports = ports;
        }
        for &id in &walk.links {
            let onward =
                walk.first[self.topology.link(id).expect("each link of a walk must exist").to.index()];
            let here = &mut self.bits[self.first[id.index()]..self.first[id.index() + 1]];
            here.iter_mut().zip(&walk.bits[onward..]).for_each(|(bits, onward)| *bits |= onward);
        }
    }

    /// Returns the links on which `id` depends.
    fn after(&self, id: LinkId) -> impl Iterator<Item = LinkId> + '_ {
        let bits = &self.bits[self.first[id.index()]..self.first[id.index() + 1]];
        let to = self.topology.link(id).map(|link| link.to);
        let ports = (0..bits.len() * 64).filter(|&port| bits[port / 64] >> (port % 64) & 1 == 1);
        ports.filter_map(move |port| Some(self.topology.link_id(to?, PortId::of(port))))
    }

    /// Picks a link that is on a cycle, and returns a shortest cycle through this link; `None` if there is no cycle.
    fn cycle(&self) -> Option<Vec<LinkId>> {
        let start = self.on_a_cycle()?;
        let mut before = vec![None; self.topology.link_slots()];
        let mut queue = VecDeque::from([start]);
        while let Some(id) = queue.pop_front() {
            for next in self.after(id) {
                if before[next.index()].is_none() {
                    before[next.index()] = Some(id);
                    queue.push_back(next);
                }
            }
            if before[start.index()].is_some() {
                break;
            }
        }
        let mut cycle = vec![start];
        let mut at = before[start.index()]?;
        while at != start {
            cycle.push(at);
            at = before[at.index()]?;
        }
        cycle[1..].reverse();
        Some(cycle)
    }

    /// Returns a link that depends on itself through other links. A depth-first search meets such a link
    /// again before the search has finished with this link.
    fn on_a_cycle(&self) -> Option<LinkId> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; self.topology.link_slots()];
        for (root, _) in self.topology.links() {
            if state[root.index()] != State::New {
                continue;
            }
            state[root.index()] = State::Open;
            let mut path = vec![(root, self.after(root))];
            while let Some((id, after)) = path.last_mut() {
                let Some(next) = after.next() else {
                    state[id.index()] = State::Done;
                    path.pop();
                    continue;
                };
                match state[next.index()] {
                    State::Open => return Some(next),
                    State::Done => {}
                    State::New => {
                        state[next.index()] = State::Open;
                        path.push((next, self.after(next)));
                    }
                }
            }
        }
        None
    }
}

fn set(bits: &mut [u64], port: PortId) {
    bits[port.index() / 64] |= 1 << (port.index() % 64);
}

#[cfg(test)]
mod tests;
