//! QCN's entry in the registry.

use super::{CongestionPoints, Params};
use crate::link::addresses::Addresses;
use crate::scheme::{Agents, CongestionPoint, Info, Plan, Unfit, View};
use raddle_core::{PortAgent, Stream};
use std::sync::Arc;

/// QCN's congestion points, at every port of every switch.
pub(crate) const CONGESTION_POINT: CongestionPoint = CongestionPoint {
    info: Info {
        name: "qcn",
        summary: "Quantized congestion notification: queues sample frames and report their congestion to the \
                  frames' sources",
        source: "IEEE 802.1Qau (802.1Q clauses 30 to 33), QCN version 2.2; Crisan et al.",
        differs: &[
            "the parameters of rate limiters are listed here, as in the standard, although rate limiters are \
             part of transports",
            "each sampled frame begins a new sampling interval, so on average at most 1 of 10.5 full frames \
             is sampled",
            "a notice with feedback F cuts the rate by the fraction `gd` * F / 63; in the standard, the fraction is \
             F / 128",
            "extra fast recovery is on, and the target rate is not reduced; both settings are calibrated \
             (specifications/cee.md §3.3)",
        ],
        view: View::Local,
        parameters: &Params::LIST,
    },
    build,
};

fn build(plan: &Plan<'_>) -> Result<Agents, Unfit> {
    let (topology, addresses, seed) = (Arc::clone(plan.topology), Addresses::of(plan.topology)?, plan.seed);
    let params = Arc::new(Params::of(plan.settings));
    Ok(Box::new(move |id| {
        let link = topology.link(id).filter(|link| !topology.is_host(link.from))?;
        let random = Stream::new(seed, id.0.into(), "qcn/samples");
        let points = CongestionPoints::new(addresses.port(link.from, link.from_port), &params, random);
        Some(Box::new(points) as Box<dyn PortAgent>)
    }))
}
