//! Shortest-path routing at one node. Values that are the same for all packets at the node are computed in
//! advance.

use super::Routing;
use crate::{Below, Clos, Shape, Xgft};
use raddle_core::{NodeId, PortId};
use std::sync::Arc;

/// Chooses next hops at one node, as [`Routing::choose`] does. In a Clos network or an extended generalized fat tree,
/// the choice for a packet to a host needs only a few numbers that describe the node.
#[derive(Debug, Clone)]
pub struct LocalRouting {
    node: NodeId,
    /// `None` unless the fabric is a Clos network or an extended generalized fat tree.
    below: Option<Below>,
    routing: Arc<Routing>,
}

impl LocalRouting {
    /// Creates the routing at `node`.
    #[must_use]
    pub fn new(routing: Arc<Routing>, node: NodeId) -> Self {
        let below = match routing.topology().shape() {
            &Shape::Clos(size) => Some(Clos::new(size).below(node)),
            Shape::Xgft(size) => Some(Xgft::new(size.clone()).below(node)),
            _ => None,
        };
        Self { node, below, routing }
    }

    /// Returns the node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the egress port of the next hop towards `to`, as [`Routing::choose`] does. If there is only one port,
    /// `pick` is not always called.
    ///
    /// # Panics
    /// If `pick` returns an index that is not below the number of ports.
    #[inline]
    pub fn choose(&self, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        match &self.below {
            Some(below) if below.knows(to) && to != self.node => Some(below.choose(to, pick)),
            _ => self.choose_by_all(to, pick),
        }
    }

    /// Clears `out`, and writes into it the ports that lead one hop closer to `to`, as [`Routing::productive`] does.
    #[inline]
    pub fn productive(&self, to: NodeId, out: &mut Vec<PortId>) {
        match &self.below {
            Some(below) if below.knows(to) && to != self.node => {
                out.clear();
                out.extend(below.ports(to));
            }
            _ => self.routing.productive(self.node, to, out),
        }
    }

    /// Computes the capacity through each next hop towards `to`, as [`Routing::capacities`] does.
    pub fn capacities(&self, to: NodeId, out: &mut Vec<(PortId, u128)>) {
        self.routing.capacities(self.node, to, out);
    }

    /// Chooses by [`Routing::choose`]. This is a separate function, so that the fast path stays small.
    #[inline(never)]
    fn choose_by_all(&self, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        self.routing.choose(self.node, to, pick)
    }
}
