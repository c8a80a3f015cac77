//! What schemes are as fluids: all that the flow engine knows of them.
//!
//! A transport says how its flows share links ([`Sharing`]), and a routing how the packets of a flow spread over them
//! ([`Spread`]). Both are idealisations; what they leave out is said where they are declared.

mod as_forwarded;
mod evenly;
mod least_loaded;

pub(crate) use evenly::split as evenly;

use crate::parameter::Settings;
use crate::scheme::{Plan, Routing, Transport, Unfit};
use raddle_allocate::{Fluid, MaxMin, usable};
use raddle_core::{Flow, LinkId, Packet, Rate};
use raddle_topology::Topology;

/// How a flow splits over links: given how many flows cross each link slot now, it fills the row with the links that the
/// flow's packets cross and how often one does on average. Asked once for each flow, in order of start.
pub type Split = Box<dyn FnMut(&Flow, &[f64], &mut Vec<(LinkId, f32)>)>;

/// A transport and its routing as fluids.
pub struct FluidScheme {
    /// Shares links among flows.
    pub sharing: Box<dyn Fluid>,
    /// Whether senders hear that flows are complete.
    pub acknowledged: bool,
    /// How flows split over links.
    pub split: Split,
}

/// A transport as a fluid.
pub struct Sharing {
    /// Shares the links of the plan's fabric among flows.
    pub policy: Box<dyn Fluid>,
    /// Whether senders hear that flows are complete.
    pub acknowledged: bool,
    /// Which links a flow uses.
    pub ways: Ways,
}

/// Which links the flows of a transport use.
pub enum Ways {
    /// Those by which switches pass on such packets: the first one of a flow that is so many flows after the first of its
    /// source.
    Routed(fn(&Flow, number: u64) -> Packet),
    /// The transport decides.
    Own(Split),
}

/// How the packets of a flow spread over the links that switches may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// All go where the forwarders send the first one at the time at which the flow starts, whatever else is under way: the
    /// path of the packet engine where that is a matter of hashes and addresses alone.
    AsForwarded,
    /// At each node evenly over the next hops on shortest paths.
    Evenly,
    /// All take the shortest path whose fullest link has the fewest flows for its rate when the flow starts, itself included, and
    /// among those the one whose links have the fewest together; a hash of the flow decides among equals. What routings that heed congestion aim at, if they knew all of it and flows could not
    /// be moved afterwards.
    LeastLoaded,
}

/// What each link slot can carry, in bit/s, if a share of it, `headroom`, is kept free.
pub(crate) fn capacities(topology: &Topology, headroom: f64) -> Vec<f64> {
    let rate = |slot| topology.link(LinkId::of(slot)).map_or(Rate::ZERO, |link| link.rate);
    let rates: Vec<Rate> = (0..topology.link_slots()).map(rate).collect();
    usable(&rates, headroom)
}

/// Max-min fair shares of the fabric's links but for a share of each, `headroom`.
pub(crate) fn max_min(topology: &Topology, headroom: f64) -> Box<dyn Fluid> {
    Box::new(MaxMin::new(&capacities(topology, headroom)))
}

impl FluidScheme {
    /// A transport over switches of that routing, if it needs any, of which `of_routing` are the parameters.
    ///
    /// # Errors
    /// If the transport, or what its parameters ask for, is no fluid.
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
                    "`{}` is no fluid: nothing makes its flows share links",
                    transport.info.name
                ),
                hint: "choose another transport, or kind = \"packet\" in [engine]".to_owned(),
            });
        };
        let Sharing { policy, acknowledged, ways } = fluid(plan)?;
        let split = match ways {
            Ways::Own(split) => split,
            Ways::Routed(packet) => {
                let routing = routing.expect("one of the transport's routings");
                let plan = Plan { settings: of_routing, ..*plan };
                match (routing.spread)(of_routing) {
                    Spread::AsForwarded => as_forwarded::split(&plan, (routing.build)(&plan)?, packet),
                    Spread::Evenly => evenly(&plan),
                    Spread::LeastLoaded => least_loaded::split(&plan),
                }
            }
        };
        Ok(Self { sharing: policy, acknowledged, split })
    }
}
