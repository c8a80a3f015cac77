//! Routing. Each protocol has a sampler that draws one packet's path, and the weights that the sampler
//! implies: the expected traversals of each link by a packet. Sampler and weights must agree. Otherwise rates
//! would be allocated to links that packets do not use.
//!
//! On tori of at most 16 dimensions with at most 256 nodes each, all routing is arithmetic on coordinates. Most weights
//! are computed once per offset from source to destination, and then shifted to the source. On Clos networks and BCube,
//! distances are arithmetic. On other graphs, a search finds the distances when a destination is first used.

mod box_rows;
mod capacity;
mod general;
mod local;
mod protocol;
mod search;
mod spread;
mod throughput;
mod torus;

pub use local::LocalRouting;
pub use protocol::{Protocol, Tie, UnknownProtocol};
pub use throughput::{Pattern, throughput_fraction};

use crate::{Memo, Shape, Topology};
use general::General;
use raddle_core::{LinkId, NodeId, PortId, Stream};
use std::sync::Arc;
use torus::Torus;

/// The reason why a protocol cannot run on a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// The protocol needs the directions of a torus.
    #[error("the routing `{0}` needs a torus of at most 16 dimensions with at most 256 nodes each")]
    TorusOnly(Protocol),
    /// The protocol needs the dimensions of a grid.
    #[error(
        "the routing `{0}` needs a mesh, or a torus of at most 16 dimensions with at most 256 nodes each"
    )]
    GridOnly(Protocol),
}

/// Routing over one fabric, shared by all its nodes.
#[derive(Debug)]
pub struct Routing {
    topology: Arc<Topology>,
    metric: Metric,
    /// For each protocol, source and destination, the expected traversals of links. Unused with [`Metric::Torus`],
    /// whose symmetry allows a smaller table.
    rows: Memo<(Protocol, NodeId, NodeId), (LinkId, f32)>,
}

/// Weights below this value are left out.
const LEAST_WEIGHT: f64 = 1e-9;

#[derive(Debug)]
enum Metric {
    Torus(Torus),
    General(General),
}

impl Routing {
    /// Creates the routing over `topology`.
    #[must_use]
    pub fn new(topology: Arc<Topology>) -> Self {
        let metric = match topology.shape() {
            Shape::Torus(dims) if Torus::fits(dims) => Metric::Torus(Torus::new(dims)),
            _ => Metric::General(General::new(Arc::clone(&topology))),
        };
        Self { topology, metric, rows: Memo::default() }
    }

    /// Returns the fabric.
    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Checks that the protocol is defined on this fabric.
    ///
    /// # Errors
    /// If the protocol is not defined on this fabric.
    pub fn supports(&self, protocol: Protocol) -> Result<(), RoutingError> {
        match (protocol, &self.metric, self.topology.shape()) {
            (_, Metric::Torus(_), _) | (Protocol::Dor(_), _, Shape::Mesh(_)) => Ok(()),
            (Protocol::Wlb | Protocol::WlbHop | Protocol::Romm, ..) => Err(RoutingError::TorusOnly(protocol)),
            (Protocol::Dor(_), ..) => Err(RoutingError::GridOnly(protocol)),
            _ => Ok(()),
        }
    }

    /// Returns the number of hops on a shortest path; `None` if there is no path.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        match &self.metric {
            Metric::Torus(torus) => Some(torus.distance(from, to)),
            Metric::General(general) => general.distance(from, to),
        }
    }

    /// Returns true if there is a path from `from` to `to`, so that the nodes have a
    /// [distance](Self::distance).
    #[must_use]
    #[inline]
    pub fn has_path(&self, from: NodeId, to: NodeId) -> bool {
        match &self.metric {
            Metric::Torus(_) => true,
            Metric::General(general) => general.distance(from, to).is_some(),
        }
    }

    /// Writes to `out` the ports of `at` that lead one hop closer to `to`, in ascending order. Each parallel link has
    /// its own port. Clears `out` first.
    pub fn productive(&self, at: NodeId, to: NodeId, out: &mut Vec<PortId>) {
        out.clear();
        match &self.metric {
            Metric::Torus(torus) => torus.productive(at, to, |port| out.push(port)),
            Metric::General(general) => general.productive(at, to, |port, _| out.push(port)),
        }
    }

    /// Returns the egress port of `at` for the next hop of a shortest path to `to`. `pick` gets the number of ports
    /// that [`Routing::productive`] lists and returns the index of one of these ports. If the list is empty, returns
    /// `None` without calling `pick`. The list is empty if there is no path or if `at` is `to`. On Clos networks,
    /// BCube, and tori of at most 16 dimensions with at most 256 nodes each, the function uses only arithmetic. On
    /// other graphs, it allocates memory only when a destination is first used.
    ///
    /// # Panics
    /// If `pick` returns an index that is not below the number of ports.
    #[inline]
    pub fn choose(&self, at: NodeId, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        let pick = |count| {
            let choice = pick(count);
            assert!(choice < count, "`pick` must return an index below {count} (got {choice})");
            choice
        };
        match &self.metric {
            Metric::Torus(torus) => torus.choose(at, to, pick),
            Metric::General(general) => general.choose(at, to, pick),
        }
    }

    /// Returns an upper bound on the number of hops of the protocol's routes between two hosts.
    #[must_use]
    pub fn longest_route(&self, protocol: Protocol) -> usize {
        let diameter = || match &self.metric {
            Metric::Torus(torus) => torus.diameter(),
            Metric::General(general) => general.diameter(),
        };
        let around = |torus: &Torus| torus.dims().iter().map(|&k| k as usize - 1).sum();
        match (protocol, &self.metric) {
            (Protocol::Vlb, _) => 2 * diameter(),
            (Protocol::Wlb | Protocol::WlbHop, Metric::Torus(torus)) => around(torus),
            _ => diameter(),
        }
    }

    /// Computes the expected traversals of each link by one packet from `src` to `dst`. The links are in no
    /// particular order. Clears `out` first. Only [`Protocol::Ecmp`] uses `flow_key`.
    ///
    /// # Panics
    /// If the protocol is not defined on this fabric, or if there is no path. [`Protocol::Vlb`] does not check for a
    /// path.
    pub fn weights(
        &self,
        protocol: Protocol,
        src: NodeId,
        dst: NodeId,
        flow_key: u64,
        out: &mut Vec<(LinkId, f32)>,
    ) {
        out.clear();
        match (&self.metric, protocol) {
            (_, Protocol::Ecmp) => {
                let mut path = Vec::new();
                self.hashed_path(src, dst, flow_key, &mut path);
                let mut at = src;
                for port in path {
                    let link = self.topology.link_id(at, port);
                    out.push((link, 1.0));
                    at = self.topology.link(link).expect("each port of a path must have a link").to;
                }
            }
            (Metric::Torus(torus), _) => torus.weights(protocol, src, dst, out),
            (Metric::General(general), _) => {
                let row = self.rows.get((protocol, src, dst), || {
                    let mut row = Vec::new();
                    general.weights(protocol, src, dst, &mut row);
                    row
                });
                out.extend_from_slice(&row);
            }
        }
    }

    /// Clears `out`, and then writes to `out` the egress ports of the path that [`Protocol::Ecmp`] chooses for a flow.
    ///
    /// # Panics
    /// If there is no path.
    pub fn hashed_path(&self, src: NodeId, dst: NodeId, flow_key: u64, out: &mut Vec<PortId>) {
        self.sample(Protocol::Ecmp, src, dst, flow_key, &mut ecmp_stream(src, dst, flow_key), out);
    }

    /// Draws one packet's route as egress ports. Clears `out` first. The route of [`Protocol::Ecmp`] depends only on
    /// `src`, `dst` and `flow_key`; the other protocols draw from `rng` and ignore `flow_key`.
    ///
    /// # Panics
    /// If the protocol is not defined on this fabric, or if there is no path. Exception: without a path,
    /// [`Protocol::Vlb`] may draw waypoints forever.
    pub fn sample(
        &self,
        protocol: Protocol,
        src: NodeId,
        dst: NodeId,
        flow_key: u64,
        rng: &mut Stream,
        out: &mut Vec<PortId>,
    ) {
        out.clear();
        let mut of_flow;
        let (protocol, rng) = if protocol == Protocol::Ecmp {
            of_flow = ecmp_stream(src, dst, flow_key);
            (Protocol::Rps, &mut of_flow)
        } else {
            (protocol, rng)
        };
        match &self.metric {
            Metric::Torus(torus) => torus.sample(protocol, src, dst, rng, out),
            Metric::General(general) => general.sample(protocol, src, dst, rng, out),
        }
    }
}

fn ecmp_stream(src: NodeId, dst: NodeId, flow_key: u64) -> Stream {
    Stream::new(flow_key, u64::from(src.0) << 32 | u64::from(dst.0), "ecmp")
}

#[cfg(test)]
mod tests;
