//! Routing on any graph, by distances to the destination. On Clos networks and BCube, distances are computed
//! by arithmetic. On other graphs, a search finds the distances.

use super::LEAST_WEIGHT;
use super::protocol::{Protocol, Tie};
use super::search::Search;
use super::spread::{Split, spread};
use crate::{Bcube, Clos, Grid, Memo, Shape, Topology};
use raddle_core::{LinkId, NodeId, PortId, Stream};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct General {
    topology: Arc<Topology>,
    hops: Hops,
    /// For each node, the expected traversals of each link by a Valiant packet from the node to its waypoint.
    scattered: Memo<NodeId, f64>,
    /// For each node, the expected traversals of each link by a Valiant packet from its waypoint to the node.
    gathered: Memo<NodeId, f64>,
    hosts: Vec<NodeId>,
    mesh: Option<Grid>,
}

/// The method that finds distances.
#[derive(Debug)]
enum Hops {
    Clos(Clos),
    Bcube(Bcube),
    Search(Search),
}

impl General {
    pub(super) fn new(topology: Arc<Topology>) -> Self {
        let (hops, mesh) = match topology.shape() {
            Shape::Clos(size) => (Hops::Clos(Clos::new(*size)), None),
            &Shape::Bcube(cube) => (Hops::Bcube(cube), None),
            Shape::Mesh(dims) => {
                (Hops::Search(Search::new(Arc::clone(&topology))), Some(Grid::new(dims, false)))
            }
            Shape::Torus(_) | Shape::Xgft(_) | Shape::General => {
                (Hops::Search(Search::new(Arc::clone(&topology))), None)
            }
        };
        let hosts = topology.hosts().collect();
        Self { topology, hops, scattered: Memo::default(), gathered: Memo::default(), hosts, mesh }
    }

    pub(super) fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        match &self.hops {
            Hops::Clos(clos) => Some(clos.distance(from, to)),
            Hops::Bcube(cube) => Some(cube.distance(from, to)),
            Hops::Search(search) => search.distance(from, to),
        }
    }

    pub(super) fn diameter(&self) -> usize {
        match (&self.hops, &self.mesh) {
            (Hops::Clos(clos), _) => clos.diameter() as usize,
            (Hops::Bcube(cube), _) => cube.diameter() as usize,
            (_, Some(grid)) => grid.dims().iter().map(|&k| k as usize - 1).sum(),
            (Hops::Search(search), None) => search.diameter(&self.hosts),
        }
    }

    pub(super) fn productive(&self, at: NodeId, to: NodeId, visit: impl FnMut(PortId, NodeId)) {
        match &self.hops {
            Hops::Clos(clos) => clos.productive(at, to, visit),
            Hops::Bcube(cube) => cube.productive(at, to, visit),
            Hops::Search(search) => search.productive(at, to, visit),
        }
    }

    pub(super) fn choose(&self, at: NodeId, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        if let Hops::Clos(clos) = &self.hops {
            return clos.choose(at, to, pick);
        }
        let mut count = 0;
        self.productive(at, to, |_, _| count += 1);
        if count == 0 {
            return None;
        }
        let mut left = pick(count);
        let mut chosen = None;
        self.productive(at, to, |port, _| {
            if left == 0 {
                chosen = Some(port);
            }
            left = left.wrapping_sub(1);
        });
        chosen
    }

    /// Returns the number of shortest paths from `from` to `to`.
    fn paths(&self, from: NodeId, to: NodeId) -> f64 {
        match &self.hops {
            Hops::Clos(clos) => clos.paths(from, to),
            Hops::Bcube(cube) => cube.paths(from, to),
            Hops::Search(search) => search.paths(from, to),
        }
    }

    fn minimal(&self, src: NodeId, dst: NodeId, split: Split, add: impl FnMut(LinkId, f64)) {
        let mut closer = |at: NodeId, out: &mut Vec<(LinkId, NodeId)>| {
            self.productive(at, dst, |port, next| out.push((self.topology.link_id(at, port), next)));
        };
        spread(src, dst, split, &mut closer, add);
    }

    fn valiant(&self, end: NodeId, from_it: bool) -> Vec<f64> {
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
        load
    }

    #[allow(clippy::cast_possible_truncation, reason = "an `f32` is precise enough for a weight")]
    pub(super) fn weights(&self, protocol: Protocol, src: NodeId, dst: NodeId, out: &mut Vec<(LinkId, f32)>) {
        match protocol {
            Protocol::Rps | Protocol::RpsPath => {
                let split = if protocol == Protocol::Rps { Split::Ports } else { Split::Paths };
                self.minimal(src, dst, split, |link, weight| out.push((link, weight as f32)));
            }
            Protocol::Vlb => {
                let there = self.scattered.get(src, || self.valiant(src, true));
                let on = self.gathered.get(dst, || self.valiant(dst, false));
                let sums = there.iter().zip(&*on).map(|(a, b)| a + b).enumerate();
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
                    at = self.topology.link(link).expect("each port of a path must have a link").to;
                }
            }
            Protocol::Wlb | Protocol::WlbHop | Protocol::Romm | Protocol::Ecmp => {
                panic!("`General` cannot compute link weights for `{protocol}`")
            }
        }
        out.retain(|&(_, weight)| f64::from(weight) >= LEAST_WEIGHT);
    }

    /// Writes the dimension-order path on a mesh. Without wrap-around, only one direction of a dimension
    /// leads to the destination.
    fn dimension_order(&self, src: NodeId, dst: NodeId, out: &mut Vec<PortId>) {
        let grid = self.mesh.as_ref().expect("dimension-order routing needs a grid");
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
                // Hosts that failures have cut off cannot be waypoints.
                let waypoint = loop {
                    let host = self.hosts[rng.index(self.hosts.len())];
                    if self.distance(src, host).is_some() && self.distance(host, dst).is_some() {
                        break host;
                    }
                };
                self.spray(src, waypoint, rng, out);
                self.spray(waypoint, dst, rng, out);
            }
            Protocol::Dor(Tie::Parity | Tie::Split | Tie::Plus) => self.dimension_order(src, dst, out),
            Protocol::Wlb | Protocol::WlbHop | Protocol::Romm | Protocol::Ecmp => {
                panic!("`General` cannot draw paths for `{protocol}`")
            }
        }
    }

    fn spray(&self, src: NodeId, dst: NodeId, rng: &mut Stream, out: &mut Vec<PortId>) {
        let mut at = src;
        while at != dst {
            let pick = |count: usize| if count > 1 { rng.index(count) } else { 0 };
            let port = self.choose(at, dst, pick).expect("there must be a path to `dst`");
            out.push(port);
            at = self.topology.link_at(at, port).expect("a port on a shortest path must have a link").to;
        }
    }

    fn spray_paths(&self, src: NodeId, dst: NodeId, rng: &mut Stream, out: &mut Vec<PortId>) {
        let mut at = src;
        while at != dst {
            let mut left = rng.unit() * self.paths(at, dst);
            let mut chosen = None;
            self.productive(at, dst, |port, to| {
                // If rounding leaves a remainder, the last port is chosen.
                if left >= 0.0 {
                    chosen = Some((port, to));
                }
                left -= self.paths(to, dst);
            });
            let (port, next) = chosen.expect("there must be a path to `dst`");
            out.push(port);
            at = next;
        }
    }
}
