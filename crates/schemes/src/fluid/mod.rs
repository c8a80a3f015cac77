//! Fluid models of schemes, for the flow engine.
//!
//! The model of a transport shares links among flows ([`Sharing`]). The model of a routing spreads the packets of a
//! flow over links ([`Spread`]). Both models are idealizations.

mod as_forwarded;
mod evenly;
mod least_loaded;

pub(crate) use evenly::split as evenly;

use crate::halt::Halt;
use crate::parameter::Settings;
use crate::scheme::{Plan, Routing, Transport, Unfit};
use raddle_allocate::{Fluid, MaxMin, usable};
use raddle_core::{Flow, LinkId, Packet, Rate};
use raddle_topology::Topology;

/// Splits a flow over links. The arguments are the flow, the current number of flows on each link (indexed by
/// [`LinkId`]), and a list to fill. Each flow counts on a link as its mean number of crossings per packet. The list
/// receives the links that the flow's packets cross, each with the mean number of crossings per packet. The engine
/// calls the function once for each flow, in the order in which flows start.
pub type Split = Box<dyn FnMut(&Flow, &[f64], &mut Vec<(LinkId, f32)>)>;

/// The fluid model of a transport and its routing.
pub struct FluidScheme {
    /// Shares links among flows.
    pub sharing: Box<dyn Fluid>,
    /// True if senders learn that their flows are complete.
    pub acknowledged: bool,
    /// Splits flows over links.
    pub split: Split,
}

/// The fluid model of a transport.
pub struct Sharing {
    /// Shares the links of the plan's fabric among flows.
    pub policy: Box<dyn Fluid>,
    /// True if senders learn that their flows are complete.
    pub acknowledged: bool,
    /// The component that selects the links that a flow uses.
    pub ways: Ways,
}

/// The component that selects the links that the flows of a transport use.
pub enum Ways {
    /// The routing selects the links. The function makes a flow's first packet, which [`Spread::AsForwarded`] passes
    /// from forwarder to forwarder. `number` is the flow's index among the flows of its source, from 0.
    Routed(fn(&Flow, number: u64) -> Packet),
    /// The transport itself selects the links.
    Own(Split),
}

/// The rule by which a routing spreads the packets of a flow over links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// All packets take the path on which the forwarders send the flow's first packet when the flow starts, without
    /// regard to other traffic. The packet engine uses the same path if forwarders decide only by hashes and addresses.
    AsForwarded,
    /// Each node spreads the packets evenly over the next hops on shortest paths.
    Evenly,
    /// When the flow starts, the model selects the shortest path whose fullest link has the fewest flows per bit/s,
    /// including the new flow. All packets take this path. Ties go to the path with the smallest sum of flows per bit/s
    /// over its links, and then to a hash of the flow. This models an ideal congestion-aware routing, which knows all
    /// loads. Flows never change their paths afterwards.
    LeastLoaded,
}

/// Usable capacity of each link slot in bit/s. The share `headroom` of each link's rate stays free.
pub(crate) fn capacities(topology: &Topology, headroom: f64) -> Vec<f64> {
    let rate = |slot| topology.link(LinkId::of(slot)).map_or(Rate::ZERO, |link| link.rate);
    let rates: Vec<Rate> = (0..topology.link_slots()).map(rate).collect();
    usable(&rates, headroom)
}

/// Max-min fair sharing of the topology's links. The share `headroom` of each link's rate stays free.
pub(crate) fn max_min(topology: &Topology, headroom: f64) -> Box<dyn Fluid> {
    Box::new(MaxMin::new(&capacities(topology, headroom)))
}

impl FluidScheme {
    /// The fluid model of `transport` over switches that run `routing` with the parameters `of_routing`. `routing` may
    /// be `None` if the transport chooses its own paths.
    ///
    /// # Errors
    /// If the transport has no fluid model, its fluid model does not support its parameters, or the routing cannot be
    /// built.
    pub(crate) fn new(
        transport: &Transport,
        routing: Option<&Routing>,
        plan: &Plan<'_>,
        of_routing: &Settings,
    ) -> Result<Self, Unfit> {
        let Some(fluid) = transport.fluid else {
            return Err(Unfit {
                key: "scheme.transport".to_owned(),
                problem: format!(
                    "`{}` has no fluid model, so the flow engine cannot run it",
                    transport.info.name
                ),
                hint: "choose another transport, or kind = \"packet\" in [engine]".to_owned(),
            });
        };
        let Sharing { policy, acknowledged, ways } = fluid(plan)?;
        let split = match ways {
            Ways::Own(split) => split,
            Ways::Routed(packet) => {
                let routing = routing.expect("the routing must be one of the transport's routings");
                let plan = Plan { settings: of_routing, ..*plan };
                match (routing.spread)(of_routing) {
                    Spread::AsForwarded => {
                        let forwarders = routing.build.forwarders(&plan, &Halt::default())?;
                        as_forwarded::split(&plan, forwarders, packet)
                    }
                    Spread::Evenly => evenly(&plan),
                    Spread::LeastLoaded => least_loaded::split(&plan),
                }
            }
        };
        Ok(Self { sharing: policy, acknowledged, split })
    }
}
