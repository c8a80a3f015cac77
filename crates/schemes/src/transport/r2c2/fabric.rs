//! Views of the fabric, which the nodes of one process share. A view is the topology without the links that are down,
//! as discovery last reported them.
//!
//! From the same input, every node computes the same routes, trees and rates. The nodes of one process therefore share
//! these results in a memo, which changes no result because the functions are pure. Each node still has its own flow
//! table and its own timing.

use super::rates::RateMemo;
use super::{Params, Trees};
use crate::counter::Counter;
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
    /// Capacity that flows may use on each link, in bit/s, indexed by link slot.
    pub(super) usable: Vec<f64>,
    /// Results of rate computations for all flows.
    pub(super) memo: RateMemo,
    /// Results of rate computations for the flows that have been known for a whole interval. These results are
    /// separate, so that each computation starts from the result of a similar table.
    pub(super) memo_of_lasting: RateMemo,
    /// Number of rate computations of all nodes in all views of the fabric.
    computations: Arc<Counter>,
}

impl View {
    /// Counts one rate computation of a node, even if another node has already computed the result.
    pub(super) fn count_computation(&self) {
        self.computations.count();
    }

    /// The protocol that flows of protocol `wanted` use in this view. If `wanted` needs a torus or a mesh, and failures
    /// have destroyed this structure, the flows use random packet spraying.
    pub(super) fn feasible(&self, wanted: Protocol) -> Protocol {
        if self.routing.supports(wanted).is_ok() { wanted } else { Protocol::Rps }
    }

    /// True if node `at` must keep a flow from `src` to `dst` in its table: both `src` and `at` have a path to `dst`.
    pub(super) fn concerns(&self, at: NodeId, src: NodeId, dst: NodeId) -> bool {
        self.routing.distance(src, dst).is_some() && self.routing.distance(at, dst).is_some()
    }

    /// True if the fabric has a node with this number. The number may be invalid, because it may come from a packet.
    #[inline]
    pub(crate) fn is_node(&self, number: u16) -> bool {
        usize::from(number) < self.routing.topology().node_count()
    }

    /// True if a path leads from `from` to `to`. The numbers may be invalid, because they may come from a packet.
    pub(crate) fn is_way(&self, from: NodeId, to: NodeId) -> bool {
        let nodes = self.routing.topology().node_count();
        from.index().max(to.index()) < nodes && self.routing.has_path(from, to)
    }

    /// The rate of a node's fastest link.
    pub(super) fn fastest_link(&self, node: NodeId) -> Rate {
        self.routing.topology().links_from(node).map(|(_, link)| link.rate).max().unwrap_or(Rate::ZERO)
    }
}

/// The fabric as built, and its views after failures. A view is kept as long as a node uses it.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) params: Params,
    topology: Arc<Topology>,
    views: Mutex<FxHashMap<Vec<LinkId>, Weak<View>>>,
    /// Number of rate computations of all nodes.
    computations: Arc<Counter>,
}

impl Fabric {
    /// The fabric of a topology whose nodes have the parameters `params`.
    #[must_use]
    pub fn new(topology: &Arc<Topology>, params: Params) -> Arc<Self> {
        Arc::new(Self {
            params,
            topology: Arc::clone(topology),
            views: Mutex::default(),
            computations: Arc::default(),
        })
    }

    /// Number of rate computations that the nodes have made. A result that nodes share counts once for each node, as
    /// each node of a real rack computes it.
    #[must_use]
    pub fn computations(&self) -> u64 {
        self.computations.get()
    }

    /// The view of the fabric without the links in `down`.
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
            computations: Arc::clone(&self.computations),
        });
        views.retain(|_, view| view.strong_count() > 0);
        views.insert(key, Arc::downgrade(&view));
        view
    }
}
