//! Forwarding along paths that flows keep: what PDQ, D3 and RCP have in common below their hosts (specs/pdq.md §12).
//!
//! A packet says whose it is and which [choice](raddle_topology::paths) of path its source made; every node works out the
//! same path from that. What acknowledges goes back over the same links, so that it passes the agents of the ports that its
//! data left by. The path is frozen for the flow's life: where a link of it fails, its packets are lost.
//!
//! On the way a packet counts links: its `hop` is the number, on the path from the flow's source, of the link that it
//! crosses or crossed last, in either direction. So the agent of a port always sees the number of its own link: in what the
//! port is about to send, and in what answers it. A source begins with 0, and an acknowledgement repeats what it
//! acknowledges.
//!
//! Cost a hop: one look-up in a table of the flows that pass the node, whose entries are made when first needed.

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

/// Those of [`ROUTINGS`] that no others know, and what they are.
pub(crate) const OWN_ROUTINGS: [(&str, &str); 2] = [
    ("k-shortest", "for each flow one of its `paths` shortest paths, drawn by the flow's key"),
    (
        "bcube",
        "for each flow one of BCube's parallel paths, drawn by the flow's key (Guo et al., SIGCOMM 2009)",
    ),
];

/// How many of the shortest paths there are to choose from; a parameter of every such transport.
pub(crate) const PATHS: Parameter = Parameter::new(
    "paths",
    Value::Count(8),
    "with routing = \"k-shortest\": of how many shortest paths each flow takes one",
)
.within(1.0, Paths::CHOICES as f64);

const _: () = assert!(Paths::CHOICES == Segment::PATHS, "a header has room for every choice");

/// The paths that the plan's routing means, for headers that have room for `most_links` links. `count` is the value of
/// [`PATHS`].
///
/// # Errors
/// If the fabric has no such paths, or longer ones.
///
/// # Panics
/// If the routing is none of [`ROUTINGS`], or no header counts so many links.
pub(crate) fn paths(plan: &Plan<'_>, count: u32, most_links: usize) -> Result<Arc<Paths>, Unfit> {
    assert!(most_links <= Segment::LINKS, "{most_links} links");
    let paths = Paths::new(Arc::clone(plan.topology), choice(plan.routing, count));
    let paths = paths.and_then(|paths| paths.of_at_most(most_links)).map_err(|error| {
        let (key, hint) = match error {
            PathsError::NoBcube => ("scheme.routing", "\"ecmp\", or the topology `bcube`"),
            PathsError::TooLong { .. } => ("topology", "choose a fabric of smaller diameter"),
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
        other => panic!("`{other}` is no routing of pinned paths"),
    }
}

/// The forwarder of each node that needs one.
pub(crate) fn forwarders(topology: &Arc<Topology>, paths: Arc<Paths>) -> Forwarders {
    forwarders_where_needed(topology, move |node| Pinned::new(node, &paths))
}

#[cfg(test)]
mod tests;
