//! Routing: for each protocol a sampler that draws one packet's path, and the weights that it implies (the expected
//! traversals of each link by a packet). The two must agree, or rates are allocated to links that packets do not use.
//!
//! On tori everything is arithmetic on coordinates, and weights are computed once an offset and translated. On Clos
//! networks and BCube distances are arithmetic; on other graphs they are found by search when a destination is first used.

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

/// Why a protocol cannot run on a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// The protocol needs the torus's directions.
    #[error("`{0}` is defined on tori only")]
    TorusOnly(Protocol),
    /// The protocol needs dimensions.
    #[error("`{0}` is defined on tori and meshes only")]
    GridOnly(Protocol),
}

/// Routing over one fabric, shared by all its nodes.
#[derive(Debug)]
pub struct Routing {
    topology: Arc<Topology>,
    metric: Metric,
    /// Rows of general graphs, which no symmetry shortens: expected traversals of links.
    rows: Memo<(Protocol, NodeId, NodeId), (LinkId, f32)>,
}

/// A weight below this is left out.
const LEAST_WEIGHT: f64 = 1e-9;

#[derive(Debug)]
enum Metric {
    Torus(Torus),
    General(General),
}

impl Routing {
    /// Routing over `topology`.
    #[must_use]
    pub fn new(topology: Arc<Topology>) -> Self {
        let metric = match topology.shape() {
            Shape::Torus(dims) if Torus::fits(dims) => Metric::Torus(Torus::new(dims)),
            _ => Metric::General(General::new(Arc::clone(&topology))),
        };
        Self { topology, metric, rows: Memo::default() }
    }

    /// The fabric.
    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Whether the protocol is defined on this fabric.
    ///
    /// # Errors
    /// If it is not.
    pub fn supports(&self, protocol: Protocol) -> Result<(), RoutingError> {
        match (protocol, &self.metric, self.topology.shape()) {
            (_, Metric::Torus(_), _) | (Protocol::Dor(_), _, Shape::Mesh(_)) => Ok(()),
            (Protocol::Wlb | Protocol::WlbHop | Protocol::Romm, ..) => Err(RoutingError::TorusOnly(protocol)),
            (Protocol::Dor(_), ..) => Err(RoutingError::GridOnly(protocol)),
            _ => Ok(()),
        }
    }

    /// Hops on a shortest path, if there is one.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        match &self.metric {
            Metric::Torus(torus) => Some(torus.distance(from, to)),
            Metric::General(general) => general.distance(from, to),
        }
    }

    /// Whether a path leads from one node to the other: whether they have a [distance](Self::distance).
    #[must_use]
    #[inline]
    pub fn has_path(&self, from: NodeId, to: NodeId) -> bool {
        match &self.metric {
            Metric::Torus(_) => true,
            Metric::General(general) => general.distance(from, to).is_some(),
        }
    }

    /// The ports of `at` that lead one hop closer to `to`, in order, parallel links each; `out` is cleared first.
    pub fn productive(&self, at: NodeId, to: NodeId, out: &mut Vec<PortId>) {
        out.clear();
        match &self.metric {
            Metric::Torus(torus) => torus.productive(at, to, |port| out.push(port)),
            Metric::General(general) => general.productive(at, to, |port, _| out.push(port)),
        }
    }

    /// One hop of shortest-path routing, without allocation: of the ports that [`Routing::productive`] lists, the one
    /// whose place in the list `pick` returns when told how many there are. `None`, and `pick` is not called, if there
    /// are none: no path, or `at` is `to`. Arithmetic on tori, Clos networks and BCube.
    ///
    /// # Panics
    /// If `pick` returns a place that the list does not have.
    #[inline]
    pub fn choose(&self, at: NodeId, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        let pick = |count| {
            let choice = pick(count);
            assert!(choice < count, "port {choice} of {count}");
            choice
        };
        match &self.metric {
            Metric::Torus(torus) => torus.choose(at, to, pick),
            Metric::General(general) => general.choose(at, to, pick),
        }
    }

    /// The longest route, in hops, that the protocol takes between any two hosts.
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

    /// The expected traversals of each link by one packet from `src` to `dst`, links in no particular order; `out` is
    /// cleared first. `flow_key` matters to [`Protocol::Ecmp`] only.
    ///
    /// # Panics
    /// If the protocol is not defined on this fabric, or there is no path.
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
                    at = self.topology.link(link).expect("a path follows links").to;
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

    /// The path that [`Protocol::Ecmp`] chooses for a flow, as egress ports; `out` is cleared first.
    ///
    /// # Panics
    /// If there is no path.
    pub fn hashed_path(&self, src: NodeId, dst: NodeId, flow_key: u64, out: &mut Vec<PortId>) {
        self.sample(Protocol::Ecmp, src, dst, flow_key, &mut ecmp_stream(src, dst, flow_key), out);
    }

    /// Draws one packet's route as egress ports; `out` is cleared first. [`Protocol::Ecmp`] draws from `flow_key`
    /// alone, the others from `rng`.
    ///
    /// # Panics
    /// If the protocol is not defined on this fabric, or there is no path.
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
