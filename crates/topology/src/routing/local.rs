//! Shortest-path routing as one node sees it: what is the same for all its packets is worked out beforehand.

use super::Routing;
use crate::{Below, Clos, Shape, Xgft};
use raddle_core::{NodeId, PortId};
use std::sync::Arc;

/// [`Routing::choose`] at one node, which in a Clos network or a tree needs nothing but a few numbers of its own.
#[derive(Debug, Clone)]
pub struct LocalRouting {
    node: NodeId,
    /// In a Clos network or an extended generalized fat tree.
    below: Option<Below>,
    routing: Arc<Routing>,
}

impl LocalRouting {
    /// Routing at `node`.
    #[must_use]
    pub fn new(routing: Arc<Routing>, node: NodeId) -> Self {
        let below = match routing.topology().shape() {
            &Shape::Clos(size) => Some(Clos::new(size).below(node)),
            Shape::Xgft(size) => Some(Xgft::new(size.clone()).below(node)),
            _ => None,
        };
        Self { node, below, routing }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// One hop towards `to`: what [`Routing::choose`] returns; where there is but one port, `pick` may not be asked.
    ///
    /// # Panics
    /// If `pick` returns a place that the list of ports does not have.
    #[inline]
    pub fn choose(&self, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        match &self.below {
            Some(below) if below.knows(to) && to != self.node => Some(below.choose(to, pick)),
            _ => self.choose_by_all(to, pick),
        }
    }

    /// The ports that lead one hop closer to `to`: what [`Routing::productive`] lists; `out` is cleared first.
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

    /// What lies below each next hop towards `to`: [`Routing::capacities`].
    pub fn capacities(&self, to: NodeId, out: &mut Vec<(PortId, u128)>) {
        self.routing.capacities(self.node, to, out);
    }

    /// Apart, so that the short way stays short.
    #[inline(never)]
    fn choose_by_all(&self, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        self.routing.choose(self.node, to, pick)
    }
}
