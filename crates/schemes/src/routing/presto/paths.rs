//! The numbered end-to-end paths of a Clos network.

use raddle_core::{LinkId, NodeId, PortId};
use raddle_topology::routing::Routing;
use raddle_topology::{ClosSize, Topology};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The end-to-end paths of a Clos network. Between pods a path's number is `plane · cores + core`. For paths within a
/// pod, the core is 0 in this formula.
#[derive(Debug)]
pub(crate) struct Paths {
    routing: Arc<Routing>,
    size: ClosSize,
}

impl Paths {
    /// The paths of a network with this topology and size.
    #[must_use]
    pub(crate) fn new(topology: &Arc<Topology>, size: ClosSize) -> Self {
        Self { routing: Arc::new(Routing::new(Arc::clone(topology))), size }
    }

    pub(super) fn routing(&self) -> &Arc<Routing> {
        &self.routing
    }

    /// Hosts per edge switch; host `h` is attached to edge switch `h / hosts`.
    pub(super) fn hosts(&self) -> u32 {
        self.size.hosts
    }

    /// Cores per plane, or 1 if there are none; path `p` is in plane `p / cores`.
    pub(super) fn cores(&self) -> u32 {
        self.size.cores.max(1)
    }

    /// The paths from one edge switch to another that avoid the links in `down`, in the order in which a flow's cells
    /// take them. The plane changes fastest, so that successive cells leave the edge switch by different links.
    #[allow(clippy::cast_possible_truncation, reason = "at most 2^16 paths connect two edge switches")]
    pub(super) fn without(&self, from: u32, to: u32, down: &BTreeSet<LinkId>) -> Box<[u16]> {
        let same_pod = from / self.size.edges == to / self.size.edges;
        let cores = if same_pod { 1 } else { self.cores() };
        let all = (0..cores).flat_map(|core| (0..self.size.aggregations).map(move |plane| (plane, core)));
        let alive =
            all.filter(|&(plane, core)| self.links(from, to, plane, core).all(|l| !down.contains(&l)));
        alive.map(|(plane, core)| (plane * self.cores() + core) as u16).collect()
    }

    /// The links of a path from one edge switch to another.
    fn links(&self, from: u32, to: u32, plane: u32, core: u32) -> impl Iterator<Item = LinkId> + '_ {
        let ClosSize { pods, edges, hosts, .. } = self.size;
        let (pod, down) = (to / edges, to % edges);
        let by_core = (from / edges != pod).then_some([edges + core, pod]);
        let ports = [hosts + plane].into_iter().chain(by_core.into_iter().flatten()).chain([down]);
        let mut at = NodeId(pods * edges * hosts + from);
        ports.map(move |port| {
            let topology = self.routing.topology();
            let link = topology.link_id(at, PortId::of(port as usize));
            at = topology.link(link).expect("every port of a Clos network must have a link").to;
            link
        })
    }
}
