//! Which links wait for which, when links have flow control: a check, before anything runs, that no circle of them can.
//!
//! A packet that came in by a link keeps its buffer until the link that it leaves by takes it. So each link depends on
//! those that packets may leave by after they came in by it, for some destination to which they can be on their way
//! there. Where these dependencies have no cycle, pauses of links cannot deadlock; where they have one, they can (Dally
//! and Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", 1987).
//!
//! A node with a single link is the end of all paths there: no cycle leads through it.
//!
//! Cost: links times destinations, and what the routing takes to say its ways.

use crate::Topology;
use crate::routing::Routing;
use raddle_core::{LinkId, NodeId, PortId};
use std::collections::VecDeque;

/// A cycle of links that may wait for each other, each for the next and the last for the first, if there is any.
/// Packets start at any host, for one of `destinations`. `ways` puts into an empty list the ports by which one for the
/// second node may leave the first.
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

/// A cycle in words: its nodes, `0->1->2->0`.
///
/// # Panics
/// If it is empty, or one of its ports has no link.
#[must_use]
pub fn describe(topology: &Topology, cycle: &[LinkId]) -> String {
    let from = |&id: &LinkId| topology.link(id).expect("links wait, ports do not").from;
    let around = cycle.iter().chain(&cycle[..1]);
    around.map(|id| from(id).to_string()).collect::<Vec<_>>().join("->")
}

impl Routing {
    /// [`cycle`] of shortest paths between all hosts.
    #[must_use]
    pub fn buffer_cycle(&self) -> Option<Vec<LinkId>> {
        let leaves = self.topology().leaves();
        // To all leaves of a switch the same ways lead: one of them will do.
        let mut seen = vec![false; leaves.len()];
        let mut first = |host: &NodeId| {
            leaves[host.index()].is_none_or(|switch| !std::mem::replace(&mut seen[switch.index()], true))
        };
        let destinations: Vec<NodeId> = self.topology().hosts().filter(|host| first(host)).collect();
        cycle(self.topology(), destinations, |at, to, ports| self.productive(at, to, ports))
    }
}

/// The dependencies of the links between nodes that are no leaves.
struct Dependencies<'a> {
    topology: &'a Topology,
    leaf: Vec<bool>,
    /// Nodes at which packets start, or that hosts with a single link pass theirs to.
    starts: Vec<NodeId>,
    /// Per link, a bit for each port of the node that it leads to: `bits[first[link]..first[link + 1]]`.
    first: Vec<usize>,
    bits: Vec<u64>,
}

/// What a walk from the sources to one destination finds, in memory that the next one uses again.
struct Walk {
    /// Per node, the last walk that came by.
    reached: Vec<u32>,
    walks: u32,
    /// Per node, a bit for each port that packets may leave by: from `first[node]` on.
    first: Vec<usize>,
    bits: Vec<u64>,
    order: Vec<NodeId>,
    links: Vec<LinkId>,
    ports: Vec<PortId>,
}

/// Words that hold a bit for each port of a node.
fn words(topology: &Topology, node: NodeId) -> usize {
    topology.port_count(node).div_ceil(64)
}

/// Where each item's words begin, and where the last one's end.
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

    /// Comes by a node, unless it has.
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

    /// Adds the dependencies of packets for `to`.
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
            let onward = walk.first[self.topology.link(id).expect("one that was followed").to.index()];
            let here = &mut self.bits[self.first[id.index()]..self.first[id.index() + 1]];
            here.iter_mut().zip(&walk.bits[onward..]).for_each(|(bits, onward)| *bits |= onward);
        }
    }

    /// The links that `id` depends on.
    fn after(&self, id: LinkId) -> impl Iterator<Item = LinkId> + '_ {
        let bits = &self.bits[self.first[id.index()]..self.first[id.index() + 1]];
        let to = self.topology.link(id).map(|link| link.to);
        let ports = (0..bits.len() * 64).filter(|&port| bits[port / 64] >> (port % 64) & 1 == 1);
        ports.filter_map(move |port| Some(self.topology.link_id(to?, PortId::of(port))))
    }

    /// A shortest cycle through some link that is on one.
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

    /// A link that depends on itself, by others: depth-first search, which meets one again before it is done with it.
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
