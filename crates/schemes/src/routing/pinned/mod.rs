//! Forwarding for PDQ, D3 and RCP: each flow, or each subflow of Multipath PDQ, keeps one path (specifications/pdq.md
//! §12).
//!
//! A packet states its source, its destination and the [choice](raddle_topology::paths) of path that its source made.
//! Every node computes the same path from these values. Acknowledgements go back over the same links, so that they pass
//! the agents of the ports through which the data left. A flow or subflow keeps its path for its whole life: if a link
//! of the path fails, the packets are lost.
//!
//! The field `hop` of a packet is the number of the link that the packet crosses or crossed last, in either direction.
//! Links are numbered from 0 along the path, beginning at the flow's source. The agent of a port therefore sees the
//! number of its own link both in the packets that the port sends and in the acknowledgements of these packets. A
//! source writes 0, and an acknowledgement copies the number from the packet that it acknowledges.
//!
//! Cost per hop: one look-up in a table of the flows that pass the node. Entries are created on first use.

mod forwarder;

pub(crate) use forwarder::Pinned;

use crate::parameter::{Parameter, Value};
use crate::scheme::{Forwarders, Plan, Unfit, forwarders_where_needed};
use raddle_topology::Topology;
use raddle_topology::paths::{Choice, Paths, PathsError};
use raddle_wire::rated::Segment;
use std::sync::Arc;

/// Values of `scheme.routing` for transports whose flows keep their paths, the default first.
pub(crate) const ROUTINGS: &[&str] = &["ecmp", "k-shortest", "bcube"];

/// The values in [`ROUTINGS`] that are not also names of other routings, with their descriptions.
pub(crate) const OWN_ROUTINGS: [(&str, &str); 2] = [
    (
        "k-shortest",
        "each flow or subflow takes a path drawn at random from the k shortest paths, where k is the \
         parameter `paths`",
    ),
    (
        "bcube",
        "successive subflows of a flow take successive parallel paths of BCube; a flow without subflows \
         takes the first parallel path, which is a shortest path (Guo et al., SIGCOMM 2009)",
    ),
];

/// Number of shortest paths to choose from; a parameter of every transport with pinned paths.
pub(crate) const PATHS: Parameter = Parameter::new(
    "paths",
    Value::Count(8),
    "with routing = \"k-shortest\": number of shortest paths from which each flow or subflow draws its path",
)
.within(1.0, Paths::CHOICES as f64);

const _: () =
    assert!(Paths::CHOICES == Segment::PATHS, "headers and `Paths` must support equally many paths");

/// The paths for the plan's routing. Headers have room for `most_links` links. With `k-shortest`, longer paths among
/// the `count` shortest paths are left out. `count` is the value of [`PATHS`].
///
/// # Errors
/// If the fabric has no such paths, or if a shortest path (with `bcube`, a parallel path) may have more than
/// `most_links` links.
///
/// # Panics
/// If the routing is not in [`ROUTINGS`], or if `most_links` exceeds [`Segment::LINKS`].
pub(crate) fn paths(plan: &Plan<'_>, count: u32, most_links: usize) -> Result<Arc<Paths>, Unfit> {
    assert!(most_links <= Segment::LINKS, "a header has no room for {most_links} links");
    let paths = Paths::new(Arc::clone(plan.topology), choice(plan.routing, count));
    let paths = paths.and_then(|paths| paths.of_at_most(most_links)).map_err(|error| {
        let (key, hint) = match error {
            PathsError::NoBcube => {
                ("scheme.routing", "choose routing = \"ecmp\", or topology.kind = \"bcube\"")
            }
            PathsError::TooLong { .. } => ("topology", "choose a topology with shorter paths"),
        };
        Unfit { key: key.to_owned(), problem: error.to_string(), hint: hint.to_owned() }
    })?;
    Ok(Arc::new(paths))
}

fn choice(routing: &str, count: u32) -> Choice {
    match routing {
        "ecmp" => Choice::Ecmp,
        "k-shortest" => Choice::KShortest { k: count },
        "bcube" => Choice::Bcube,
        other => panic!("the routing must be in `ROUTINGS` (got `{other}`)"),
    }
}

/// The forwarder of each node that needs one.
pub(crate) fn forwarders(topology: &Arc<Topology>, paths: Arc<Paths>) -> Forwarders {
    forwarders_where_needed(topology, move |node| Pinned::new(node, &paths))
}

#[cfg(test)]
mod tests;
