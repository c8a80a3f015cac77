//! The congestion points' entry in the registry.

use super::params::PARAMETERS;
use super::{CongestionPoints, Params};
use crate::addresses::Addresses;
use crate::registry::{Agents, CongestionPoint, Info, Plan, Unfit, View};
use raddle_core::{PortAgent, Stream};
use std::sync::Arc;

/// QCN's congestion points, at every port of every switch.
pub const CONGESTION_POINT: CongestionPoint = CongestionPoint {
    info: Info {
        name: "qcn",
        summary: "Quantized congestion notification: queues sample frames and tell their sources how congested they are",
        source: "IEEE 802.1Qau (IEEE 802.1Q clauses 30 to 33), version 2.2 of the pseudo-code of Pan and Prabhakar",
        differs: &[
            "parameters of rate limiters, which transports have, stand here too, as in the standard's tables",
        ],
        view: View::Local,
        parameters: PARAMETERS,
    },
    build,
};

fn build(plan: &Plan<'_>) -> Result<Agents, Unfit> {
    let (topology, addresses) = (Arc::clone(plan.topology), Addresses::of(plan.topology));
    let (params, seed) = (Arc::new(Params::of(plan.settings)), plan.seed);
    Ok(Box::new(move |id| {
        let link = topology.link(id).filter(|link| !topology.is_host(link.from))?;
        let address = addresses.port(link.from, link.from_port);
        let random = Stream::new(seed, id.0.into(), "qcn/samples");
        let agent: Box<dyn PortAgent> = Box::new(CongestionPoints::new(address, &params, random));
        Some(agent)
    }))
}
