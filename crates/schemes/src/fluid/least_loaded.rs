//! Each flow takes the shortest path whose most loaded link has the least load.

use super::Split;
use crate::routing::flow_hash::{mix, pick};
use crate::scheme::Plan;
use raddle_core::{Flow, LinkId, NodeId, PortId};
use raddle_topology::Topology;
use raddle_topology::routing::Routing;
use std::sync::Arc;

/// Chooses least loaded paths on the plan's topology. In the worst case, the search for a flow's path follows every
/// shortest path to its end.
pub(super) fn split(plan: &Plan<'_>) -> Split {
    let routing = Routing::new(Arc::clone(plan.topology));
    let seed = mix(plan.seed);
    let mut search = Search { routing, hash: 0, ports: Vec::new(), path: Vec::new(), best: Load::WORST };
    Box::new(move |flow, crossing, row| {
        search.hash = mix(seed ^ u64::from(flow.id.0));
        search.run(flow, crossing, row);
    })
}

/// Depth-first search that abandons a path as soon as the load of this path is not less than the load of the best path
/// found so far.
struct Search {
    routing: Routing,
    /// Hash of the flow. It selects the next hop that is tried first, so that equally loaded paths are chosen equally
    /// often.
    hash: u64,
    /// Next hops to try, indexed by the depth of the search.
    ports: Vec<Vec<PortId>>,
    path: Vec<LinkId>,
    /// Load of the best path found so far.
    best: Load,
}

/// Load of a path, including the new flow. Loads are compared by the fullest link first, then by the sum. Load never
/// decreases as a path gets longer.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Load {
    /// Flows per bit/s on the fullest link.
    fullest: f64,
    /// Sum of flows per bit/s over all links.
    sum: f64,
}

impl Load {
    const NONE: Self = Self { fullest: 0.0, sum: 0.0 };
    const WORST: Self = Self { fullest: f64::INFINITY, sum: f64::INFINITY };

    fn and(self, link: f64) -> Self {
        Self { fullest: self.fullest.max(link), sum: self.sum + link }
    }
}

impl Search {
    fn run(&mut self, flow: &Flow, crossing: &[f64], row: &mut Vec<(LinkId, f32)>) {
        self.best = Load::WORST;
        self.path.clear();
        self.descend(flow.src, flow.dst, Load::NONE, crossing, row);
    }

    fn descend(
        &mut self,
        at: NodeId,
        to: NodeId,
        load: Load,
        crossing: &[f64],
        row: &mut Vec<(LinkId, f32)>,
    ) {
        if at == to {
            self.best = load;
            row.clear();
            row.extend(self.path.iter().map(|&link| (link, 1.0)));
            return;
        }
        let depth = self.path.len();
        if self.ports.len() == depth {
            self.ports.push(Vec::new());
        }
        let mut ports = std::mem::take(&mut self.ports[depth]);
        self.routing.productive(at, to, &mut ports);
        let begin = pick(mix(self.hash ^ u64::from(at.0)), ports.len());
        for &port in ports[begin..].iter().chain(&ports[..begin]) {
            let (id, there, of_link) = self.look(at, port, crossing);
            let load = load.and(of_link);
            if load < self.best {
                self.path.push(id);
                self.descend(there, to, load, crossing, row);
                self.path.pop();
            }
        }
        self.ports[depth] = ports;
    }

    /// The link at a port, the node at the link's other end, and the link's load in flows per bit/s, including the new
    /// flow.
    fn look(&self, at: NodeId, port: PortId, crossing: &[f64]) -> (LinkId, NodeId, f64) {
        let topology: &Topology = self.routing.topology();
        let id = topology.link_id(at, port);
        let link = topology.link(id).expect("every next hop must have a link");
        (id, link.to, (crossing[id.index()] + 1.0) / link.rate.as_bps_f64())
    }
}
