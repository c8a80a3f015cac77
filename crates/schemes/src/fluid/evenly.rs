//! The packets of each flow spread evenly over the next hops on shortest paths. This models packet spraying and
//! routings that split flows into small pieces.

use super::Split;
use crate::scheme::Plan;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

/// Splits flows evenly on the plan's fabric. A flow uses all links of all its shortest paths: about k²/2 links between
/// two pods of a fat-tree of k-port switches.
pub(crate) fn split(plan: &Plan<'_>) -> Split {
    let routing = Routing::new(Arc::clone(plan.topology));
    Box::new(move |flow, _, row| routing.weights(Protocol::Rps, flow.src, flow.dst, flow.id.0.into(), row))
}
