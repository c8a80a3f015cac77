//! What all nodes know alike: the fabric as topology discovery last reported it.
//!
//! Every node would compute the same routes, trees and rates from the same input. In one process they share them:
//! a memo of pure functions, which changes no result (the nodes' tables and timing stay their own).

use super::rates::RateMemo;
use super::{Params, Trees};
use raddle_core::{LinkId, NodeId, Rate};
use raddle_topology::Topology;
use raddle_topology::routing::{Protocol, Routing};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The fabric with a given set of links down.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) routing: Routing,
    pub(super) trees: Trees,
    /// Capacity of each link slot that flows may use, bit/s.
    pub(super) usable: Vec<f64>,
    /// For tables of all flows, and for those of flows that have lasted: a computation goes on from a table of its own kind.
    pub(super) memo: RateMemo,
    pub(super) memo_of_lasting: RateMemo,
}

impl View {
    /// The protocol by which flows of `wanted` go here: per-hop random where failures have left no torus or mesh for it.
    pub(super) fn feasible(&self, wanted: Protocol) -> Protocol {
        if self.routing.supports(wanted).is_ok() { wanted } else { Protocol::Rps }
    }

    /// Whether flows from `src` to `dst` can be, and matter to node `at`: all three can reach each other.
    pub(super) fn concerns(&self, at: NodeId, src: NodeId, dst: NodeId) -> bool {
        self.routing.distance(src, dst).is_some() && self.routing.distance(at, dst).is_some()
    }

    /// Whether there is a node of that number, which a packet may have named without.
    #[inline]
    pub(crate) fn is_node(&self, number: u16) -> bool {
        usize::from(number) < self.routing.topology().node_count()
    }

    /// Whether a way leads from `from` to `to`, which a packet may have named without there being such nodes.
    pub(crate) fn is_way(&self, from: NodeId, to: NodeId) -> bool {
        let nodes = self.routing.topology().node_count();
        from.index().max(to.index()) < nodes && self.routing.has_path(from, to)
    }

    /// The rate of a node's fastest link.
    pub(super) fn fastest_link(&self, node: NodeId) -> Rate {
        self.routing.topology().links_from(node).map(|(_, link)| link.rate).max().unwrap_or(Rate::ZERO)
    }
}

/// The fabric as built, and those views of it after failures that some node still goes by.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) params: Params,
    topology: Arc<Topology>,
    views: Mutex<FxHashMap<Vec<LinkId>, Weak<View>>>,
}

impl Fabric {
    /// The shared knowledge of nodes with these parameters.
    #[must_use]
    pub fn new(topology: &Arc<Topology>, params: Params) -> Arc<Self> {
        Arc::new(Self { params, topology: Arc::clone(topology), views: Mutex::default() })
    }

    /// The fabric without the links in `down`.
    pub(crate) fn view(&self, down: &BTreeSet<LinkId>) -> Arc<View> {
        let key: Vec<LinkId> = down.iter().copied().collect();
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = views.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let topology = if down.is_empty() {
            Arc::clone(&self.topology)
        } else {
            Arc::new(self.topology.surviving(|link| !down.contains(&link)))
        };
        let rates: Vec<_> = (0..topology.link_slots())
            .map(|i| topology.link(LinkId::of(i)).map_or(Rate::ZERO, |link| link.rate))
            .collect();
        let view = Arc::new(View {
            trees: Trees::new(&topology, self.params.trees),
            usable: raddle_allocate::usable(&rates, self.params.headroom),
            routing: Routing::new(topology),
            memo: RateMemo::default(),
            memo_of_lasting: RateMemo::default(),
        });
        views.retain(|_, view| view.strong_count() > 0);
        views.insert(key, Arc::downgrade(&view));
        view
    }
}
