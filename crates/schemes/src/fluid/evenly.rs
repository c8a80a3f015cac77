//! Flows whose packets spread evenly over the next hops on shortest paths: packet spraying, or splitting into small
//! pieces.

use super::Split;
use crate::scheme::Plan;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

/// Even splits on the plan's fabric. A row has all links of all shortest paths: in a fat-tree with k-port switches
/// about k²/2.
pub(crate) fn split(plan: &Plan<'_>) -> Split {
    let routing = Routing::new(Arc::clone(plan.topology));
    Box::new(move |flow, _, row| routing.weights(Protocol::Rps, flow.src, flow.dst, flow.id.0.into(), row))
}
