//! Routing on any graph: by distances to the destination, found when it is first used.

use super::LEAST_WEIGHT;
use super::protocol::{Protocol, Tie};
use super::spread::{Split, spread};
use crate::{Grid, Shape, Topology};
use raddle_core::{LinkId, NodeId, PortId, Stream};
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(super) struct General {
    topology: Arc<Topology>,
    /// Where links come from, per node.
    incoming: Vec<Vec<NodeId>>,
    /// Per destination, hops from every node; `u16::MAX` where there is no path.
    distances: Vec<OnceLock<Box<[u16]>>>,
    /// Per destination, shortest paths from every node.
    paths: Vec<OnceLock<Box<[f64]>>>,
    /// Per node, what Valiant routing puts on each link on the way from it, and to it.
    scattered: Vec<OnceLock<Box<[f64]>>>,
    gathered: Vec<OnceLock<Box<[f64]>>>,
    hosts: Vec<NodeId>,
    mesh: Option<Grid>,
}

const UNREACHABLE: u16 = u16::MAX;

fn empty<T>(count: usize) -> Vec<OnceLock<T>> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl General {
    pub(super) fn new(topology: Arc<Topology>) -> Self {
        let nodes = topology.node_count();
        let mut incoming = vec![Vec::new(); nodes];
        for (_, link) in topology.links() {
            incoming[link.to.index()].push(link.from);
        }
        let mesh = match topology.shape() {
            Shape::Mesh(dims) => Some(Grid::new(dims, false)),
            _ => None,
        };
        Self {
            incoming,
            distances: empty(nodes),
            paths: empty(nodes),
            scattered: empty(nodes),
            gathered: empty(nodes),
            hosts: topology.hosts().collect(),
            mesh,
            topology,
        }
    }

    fn distances(&self, to: NodeId) -> &[u16] {
        self.distances[to.index()].get_or_init(|| {
            let mut distance = vec![UNREACHABLE; self.incoming.len()];
            distance[to.index()] = 0;
            let mut order = vec![to];
            let mut next = 0;
            while let Some(&at) = order.get(next) {
                next += 1;
                for &from in &self.incoming[at.index()] {
                    if distance[from.index()] == UNREACHABLE {
                        distance[from.index()] = distance[at.index()] + 1;
                        order.push(from);
                    }
                }
            }
            distance.into()
        })
    }

    pub(super) fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let hops = self.distances(to)[from.index()];
        (hops != UNREACHABLE).then_some(hops.into())
    }

    pub(super) fn diameter(&self) -> usize {
        let hops = |&to: &NodeId| {
            let distances = self.distances(to);
            self.hosts.iter().map(|from| distances[from.index()]).filter(|&hops| hops != UNREACHABLE).max()
        };
        self.hosts.iter().filter_map(hops).max().unwrap_or(0).into()
    }

    pub(super) fn productive(&self, at: NodeId, to: NodeId, mut port: impl FnMut(PortId, NodeId)) {
        let distances = self.distances(to);
        let here = distances[at.index()];
        if here == UNREACHABLE {
            return;
        }
        for (_, link) in self.topology.links_from(at) {
            if distances[link.to.index()] < here {
                port(link.from_port, link.to);
            }
        }
    }

    /// Shortest paths to `to` from every node.
    fn paths(&self, to: NodeId) -> &[f64] {
        self.paths[to.index()].get_or_init(|| {
            let distances = self.distances(to);
            let mut order: Vec<NodeId> = self.topology.nodes().collect();
            order.sort_by_key(|node| distances[node.index()]);
            let mut paths = vec![0.0; distances.len()];
            paths[to.index()] = 1.0;
            for &node in order.iter().filter(|&&node| node != to) {
                let mut count = 0.0;
                self.productive(node, to, |_, next| count += paths[next.index()]);
                paths[node.index()] = count;
            }
            paths.into()
        })
    }

    fn minimal(&self, src: NodeId, dst: NodeId, split: Split, add: impl FnMut(LinkId, f64)) {
        let mut closer = |at: NodeId, out: &mut Vec<(LinkId, NodeId)>| {
            self.productive(at, dst, |port, next| out.push((self.topology.link_id(at, port), next)));
        };
        spread(src, dst, split, &mut closer, add);
    }

    fn valiant(&self, end: NodeId, from_it: bool) -> Box<[f64]> {
        let mut load = vec![0.0; self.topology.link_slots()];
        let ends = |waypoint| if from_it { (end, waypoint) } else { (waypoint, end) };
        let connected = |&&waypoint: &&NodeId| {
            let (src, dst) = ends(waypoint);
            self.distance(src, dst).is_some()
        };
        let share = 1.0 / self.hosts.iter().filter(connected).count() as f64;
        for &waypoint in self.hosts.iter().filter(connected) {
            let (src, dst) = ends(waypoint);
            self.minimal(src, dst, Split::Ports, |link, weight| load[link.index()] += share * weight);
        }
        load.into()
    }

    pub(super) fn weights(&self, protocol: Protocol, src: NodeId, dst: NodeId, out: &mut Vec<(LinkId, f32)>) {
        match protocol {
            Protocol::Rps | Protocol::RpsPath => {
                let split = if protocol == Protocol::Rps { Split::Ports } else { Split::Paths };
                self.minimal(src, dst, split, |link, weight| out.push((link, weight as f32)));
            }
            Protocol::Vlb => {
                let there = self.scattered[src.index()].get_or_init(|| self.valiant(src, true));
                let on = self.gathered[dst.index()].get_or_init(|| self.valiant(dst, false));
                let sums = there.iter().zip(on).map(|(a, b)| a + b).enumerate();
                out.extend(
                    sums.filter(|&(_, weight)| weight >= LEAST_WEIGHT)
                        .map(|(link, weight)| (LinkId::of(link), weight as f32)),
                );
            }
            Protocol::Dor(_) => {
                let mut path = Vec::new();
                self.dimension_order(src, dst, &mut path);
                let mut at = src;
                for port in path {
                    let link = self.topology.link_id(at, port);
                    out.push((link, 1.0));
                    at = self.topology.link(link).expect("dimension order follows links").to;
                }
            }
            Protocol::Wlb | Protocol::WlbHop | Protocol::Romm | Protocol::Ecmp => {
                panic!("`{protocol}` has no weights of its own here")
            }
        }
        out.retain(|&(_, weight)| f64::from(weight) >= LEAST_WEIGHT);
    }

    /// Dimension order on a mesh, which has no ties.
    fn dimension_order(&self, src: NodeId, dst: NodeId, out: &mut Vec<PortId>) {
        let grid = self.mesh.as_ref().expect("dimension order needs a grid");
        for i in 0..grid.dims().len() {
            let (from, to) = (grid.coordinate(src, i), grid.coordinate(dst, i));
            let port = PortId::of(if to > from { 2 * i } else { 2 * i + 1 });
            out.extend((0..from.abs_diff(to)).map(|_| port));
        }
    }

    pub(super) fn sample(
        &self,
        protocol: Protocol,
        src: NodeId,
        dst: NodeId,
        rng: &mut Stream,
        out: &mut Vec<PortId>,
    ) {
        match protocol {
            Protocol::Rps => self.spray(src, dst, rng, out),
            Protocol::RpsPath => self.spray_paths(src, dst, rng, out),
            Protocol::Vlb => {
                // Hosts that failures have cut off are no waypoints.
                let waypoint = loop {
                    let host = self.hosts[rng.below(self.hosts.len() as u64) as usize];
                    if self.distance(src, host).is_some() && self.distance(host, dst).is_some() {
                        break host;
                    }
                };
                self.spray(src, waypoint, rng, out);
                self.spray(waypoint, dst, rng, out);
            }
            Protocol::Dor(Tie::Parity | Tie::Split | Tie::Plus) => self.dimension_order(src, dst, out),
            Protocol::Wlb | Protocol::WlbHop | Protocol::Romm | Protocol::Ecmp => {
                panic!("`{protocol}` has no sampler of its own here")
            }
        }
    }

    fn spray(&self, src: NodeId, dst: NodeId, rng: &mut Stream, out: &mut Vec<PortId>) {
        let mut at = src;
        while at != dst {
            let mut count = 0;
            self.productive(at, dst, |_, _| count += 1);
            assert!(count > 0, "there is a path from {src} to {dst}");
            let mut choice = if count > 1 { rng.below(count) } else { 0 };
            let mut next = at;
            self.productive(at, dst, |port, to| {
                if choice == 0 {
                    out.push(port);
                    next = to;
                }
                choice = choice.wrapping_sub(1);
            });
            at = next;
        }
    }

    fn spray_paths(&self, src: NodeId, dst: NodeId, rng: &mut Stream, out: &mut Vec<PortId>) {
        let paths = self.paths(dst);
        let mut at = src;
        while at != dst {
            let mut left = rng.unit() * paths[at.index()];
            let mut chosen = None;
            self.productive(at, dst, |port, to| {
                // Rounding may leave a little at the end: the last port takes it.
                if left >= 0.0 {
                    chosen = Some((port, to));
                }
                left -= paths[to.index()];
            });
            let (port, next) = chosen.expect("there is a path");
            out.push(port);
            at = next;
        }
    }
}
