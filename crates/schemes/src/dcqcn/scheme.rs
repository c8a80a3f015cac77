//! DCQCN's entries in the registry.

use super::red::{Red, Thresholds};
use crate::parameter::{Parameter, Value};
use crate::registry::{Agents, CongestionPoint, Info, Plan, Unfit, View};
use raddle_core::{Bytes, PortAgent, Stream};
use std::sync::Arc;

/// DCQCN's congestion points, at every port of every switch.
pub const CONGESTION_POINT: CongestionPoint = CongestionPoint {
    info: Info {
        name: "red",
        summary: "ECN marks with a probability that rises with the queue: the congestion points of DCQCN",
        source: "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, §3.1 and Figure 14",
        differs: &[],
        view: View::Local,
        parameters: &[
            Parameter::new("k_min", Value::Bytes(5_000), "queue up to which nothing is marked"),
            Parameter::new("k_max", Value::Bytes(200_000), "queue beyond which everything is marked"),
            Parameter::new("p_max", Value::Fraction(0.01), "probability of a mark at `k_max`"),
        ],
    },
    build,
};

fn build(plan: &Plan<'_>) -> Result<Agents, Unfit> {
    let [k_min, k_max] = ["k_min", "k_max"].map(|name| Bytes(plan.settings.count(name)));
    if k_min > k_max {
        return Err(Unfit {
            key: "scheme.red.k_min".into(),
            problem: "marks would have to end before they begin".into(),
            hint: "give `k_min` at most what `k_max` is".into(),
        });
    }
    let thresholds = Thresholds { k_min, k_max, p_max: plan.settings.fraction("p_max") };
    let (topology, seed) = (Arc::clone(plan.topology), plan.seed);
    Ok(Box::new(move |id| {
        topology.link(id).filter(|link| !topology.is_host(link.from))?;
        Some(Box::new(Red::new(thresholds, Stream::new(seed, id.0.into(), "red"))) as Box<dyn PortAgent>)
    }))
}
