//! CONGA: congestion-aware load balancing per flowlet in leaf-spine networks (Alizadeh et al., SIGCOMM 2014;
//! specifications/expeditus.md §6.3-6.4).
//!
//! Packets between leaves carry an overlay header. The source leaf writes the chosen uplink into the header. At each
//! link on the path, the header's CE field rises to the link's load if this load is greater. The destination leaf
//! stores the CE field by source leaf and uplink, and removes the header. The destination leaf feeds the stored loads
//! back, one uplink per packet, in the headers of packets to the source leaf. A leaf thus knows two loads for each
//! uplink and destination leaf: the load of the uplink, and the greatest load on the path that begins with the uplink.
//! The first packet of a flowlet takes the uplink for which the greater of the two loads is least. If several uplinks
//! tie and the flow's previous uplink is one of them, the flow stays on it.
//!
//! A leaf learns about an uplink only from its own packets on that uplink. CONGA-Flow usually chooses an uplink only
//! once per flow. A leaf therefore uses few uplinks and knows almost nothing about the other uplinks
//! (specifications/expeditus.md §6.4).

mod congestion;
mod counters;
mod leaf;
mod meters;
mod spine;

pub use counters::Counters;

use crate::fluid::Spread;
use crate::parameter::{Value, with_defaults};
use crate::routing::ecmp::Ecmp;
use crate::routing::flowlets::{self, Expiry};
use crate::routing::next_hops::ShortestPaths;
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use crate::{choices, parameters};
use leaf::Leaf;
use raddle_core::{Dre, Duration, Forwarder, NodeId};
use raddle_topology::{Clos, Shape, Topology};
use raddle_wire::conga::Overlay;
use spine::Spine;
use std::sync::Arc;

/// CONGA, which decides per flowlet.
pub(crate) const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::LeastLoaded, hold: |_| None };

/// CONGA-Flow, which decides per flow.
pub(crate) const FLOW_ROUTING: Routing = Routing {
    info: Info {
        name: "conga-flow",
        summary: "CONGA with a flowlet gap so long that a flow hardly ever changes its path",
        source: "CONGA (SIGCOMM 2014) §5; specifications/expeditus.md §6.4",
        parameters: &with_defaults(Parameters::LIST, &[("t_fl", Value::Duration(Duration::from_ms(13)))]),
        ..INFO
    },
    ..ROUTING
};

const INFO: Info = Info {
    name: "conga",
    summary: "Each flowlet of a leaf-spine takes the uplink whose path to the destination leaf is least congested",
    source: "CONGA (SIGCOMM 2014) §3; specifications/expeditus.md §6.3",
    differs: &[
        "t_fl is 100 us and tau 200 us, as in Expeditus's comparison with CONGA; CONGA's own evaluation has 500 us \
         and 160 us",
        "a metric without an update for the time `ageing` becomes 0 at once, not gradually; leaves do not \
         feed such a metric back",
        "a load is rounded down, is at most 7, and includes the packet that carries it",
        "the overlay header is 4 extra bytes in front of the packet; the paper uses spare bits of VXLAN's header",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The switches that write the congestion of their links into packets.
    enum Marking {
        Spine = "spine",
        LeafOnly = "leaf_only",
    }
}

choices! {
    /// The rule that computes the metric of an uplink from the uplink's own load and the greatest load on the path that
    /// begins with the uplink.
    enum Decision {
        Max = "max",
        RemoteOnly = "remote_only",
    }
}

parameters! {
    struct Parameters {
        t_fl: Duration = flowlets::gap(Duration::from_us(100));
        expiry: Expiry = flowlets::EXPIRY;
        flowlets: usize = flowlets::SLOTS;
        /// number of bits that encode a load, Q
        bits: u32 = 3, 1..=3;
        /// interval at which rate estimators decay
        t_dre: Duration = Duration::from_us(20), Duration::from_ps(1)..=Duration::from_ms(1_000_000);
        /// fraction that a rate estimator loses in each interval
        alpha: f64 = 0.1, 0.001..=1.0;
        /// time without an update after which a metric counts as 0
        ageing: Duration = Duration::from_ms(10), Duration::from_ps(1)..=Duration::from_ms(1_000_000_000);
        /// which switches write congestion into packets: leaves and spines (spine), or only leaves (leaf_only), as in
        /// the public simulation code
        ce: Marking;
        /// the metric of an uplink: the greater of the uplink's own load and the load of the path that begins with the
        /// uplink (max), or only the load of the path (remote_only)
        decision: Decision;
    }
}

/// The data that all switches of a run share.
pub struct Fabric {
    clos: Clos,
    hosts_per_leaf: u32,
    paths: Arc<ShortestPaths>,
    dre: Arc<Dre>,
    parameters: Parameters,
    seed: u64,
    counters: Arc<Counters>,
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let fabric = Fabric::new(plan)?;
    Ok(Box::new(move |node| fabric.forwarder(node)))
}

impl Fabric {
    /// CONGA or CONGA-Flow, as the plan's routing says, for the plan's fabric.
    ///
    /// # Errors
    /// If the fabric is not a leaf-spine network, or if a leaf has more uplinks than CONGA supports.
    pub fn new(plan: &Plan<'_>) -> Result<Self, Unfit> {
        let (clos, hosts_per_leaf) = leaf_spine(plan.topology, plan.routing)?;
        let parameters = Parameters::of(plan.settings);
        let dre = Arc::new(Dre::new(parameters.t_dre, parameters.alpha, parameters.bits));
        Ok(Self {
            clos,
            hosts_per_leaf,
            paths: ShortestPaths::new(plan.topology),
            dre,
            parameters,
            seed: plan.seed,
            counters: Arc::default(),
        })
    }

    /// Counts of the choices of uplinks.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The index of the leaf to which a host is attached.
    #[must_use]
    pub fn leaf_of(&self, host: NodeId) -> u32 {
        host.0 / self.hosts_per_leaf
    }

    /// The forwarder of a node; `None` for hosts.
    #[must_use]
    pub fn forwarder(&self, node: NodeId) -> Option<Box<dyn Forwarder>> {
        match self.clos.level(node) {
            0 => None,
            1 => Some(Box::new(Leaf::new(self, node))),
            2 if self.parameters.ce == Marking::Spine => Some(Box::new(Spine::new(self, node))),
            _ => Some(Box::new(Ecmp::new(node, &self.paths, self.seed))),
        }
    }
}

/// The leaf-spine that the topology describes, and the number of hosts per leaf.
fn leaf_spine(topology: &Topology, name: &str) -> Result<(Clos, u32), Unfit> {
    let unfit =
        |problem: String, hint: &str| Unfit { key: "scheme.routing".into(), problem, hint: hint.into() };
    let hint = "choose topology.kind = \"folded_clos\", or a routing for more levels of switches, such as `expeditus` or \
         `hula`";
    match *topology.shape() {
        Shape::Clos(size) if size.pods > 1 => Err(unfit(
            format!("`{name}` needs a leaf-spine, and this topology has core switches above the spines"),
            hint,
        )),
        Shape::Clos(size) if size.aggregations as usize > Overlay::TAGS => Err(unfit(
            format!(
                "`{name}` supports at most {} uplinks per leaf (a field of 4 bits), and the leaves of this topology \
                 have {}",
                Overlay::TAGS,
                size.aggregations
            ),
            "choose a topology with fewer spines",
        )),
        Shape::Clos(size) => Ok((Clos::new(size), size.hosts)),
        _ => Err(unfit(format!("`{name}` needs a leaf-spine, and this topology is not a leaf-spine"), hint)),
    }
}

#[cfg(test)]
mod tests;
