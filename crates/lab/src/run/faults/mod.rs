//! Converts the failures, faults and errors of an experiment into links and times for the engines.

mod random_links;

use crate::experiment::{At, Broken, Cause, Errors, Failure, Faults, Problem};
use raddle_core::{Decoders, Duration, LinkErrors, LinkId, NodeId, Stream, Time};
use raddle_packet_sim::Change;
use raddle_topology::Topology;
use std::collections::BTreeSet;

/// Largest expected number of random failures. A larger number is most likely a mistake in a unit.
const MOST_FAULTS: f64 = 100_000.0;

/// The fabric without the links that are down for the whole run.
pub(crate) fn lasting(topology: &Topology, changes: &[Change]) -> Topology {
    let repaired = changes.iter().filter(|change| change.up).flat_map(|change| &change.links);
    let repaired: BTreeSet<LinkId> = repaired.copied().collect();
    let broken = changes.iter().filter(|change| !change.up && change.at == Time::ZERO);
    let down = broken.flat_map(|change| &change.links).filter(|link| !repaired.contains(link));
    let down: BTreeSet<LinkId> = down.copied().collect();
    topology.surviving(|link| !down.contains(&link))
}

/// All failures and repairs, sorted by time: the listed failures of the experiment, and the failures drawn from its
/// seed.
pub(crate) fn changes(
    failures: &[Failure],
    faults: Option<&Faults>,
    topology: &Topology,
    seed: u64,
) -> Result<Vec<Change>, Problem> {
    let mut changes = Vec::new();
    for (number, failure) in (0..).zip(failures) {
        let links = match failure.broken {
            Broken::Link(a, b) => links_between(topology, a, b, &failure.place)?,
            Broken::Node(node) => links_at(topology, node, |_| true),
            Broken::Random(random) => {
                let stream = Stream::new(seed, number, "failure/random");
                random_links::choose(&random, topology, stream, &failure.place)?
            }
        };
        if let (Broken::Node(node), []) = (failure.broken, &links[..]) {
            let what = format!("node {node} does not exist in the topology, or has no links");
            return Err(no_such(&failure.place, what, topology));
        }
        outage(&mut changes, links, failure.at, failure.repair, failure.discovery);
    }
    if let Some(faults) = faults {
        draw(&mut changes, faults, topology, seed)?;
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

/// Adds a failure of `links` at `at` to `changes`, and their repair if `repair` is given.
fn outage(
    changes: &mut Vec<Change>,
    links: Vec<LinkId>,
    at: Time,
    repair: Option<Time>,
    discovery: Duration,
) {
    changes.push(Change { at, links: links.clone(), up: false, discovery });
    changes.extend(repair.map(|at| Change { at, links, up: true, discovery }));
}

/// Draws the random failures. Each duplex link and each node has its own random stream, so the failures of a link do
/// not depend on other links.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn draw(changes: &mut Vec<Change>, faults: &Faults, topology: &Topology, seed: u64) -> Result<(), Problem> {
    let cables: Vec<(LinkId, LinkId)> =
        topology.links().map(|(id, _)| (id, topology.reverse(id))).filter(|(id, back)| id < back).collect();
    let span = faults.until.since(Time::ZERO);
    let expected = cables.len() as f64 * faults.link_failures.expected_in(span)
        + topology.node_count() as f64 * faults.node_failures.expected_in(span);
    if expected > MOST_FAULTS {
        let what = format!(
            "the faults would cause about {expected:.0} failures, and at most {MOST_FAULTS} are \
                            supported"
        );
        let hint = "give a lower `link_failures` or `node_failures`, or an earlier `until`".to_owned();
        return Err(Problem::at(&faults.place, Cause::OutOfRange { what, hint }));
    }
    let mut renew = |mut stream: Stream, mean_gap_ps: f64, links: &[LinkId]| {
        // Casts saturate: an infinite time becomes a time after the end of the run.
        let mut after = |from: Time, mean: f64| {
            Time::from_ps(from.as_ps().saturating_add(stream.exponential(mean).round() as u64))
        };
        let mut at = after(Time::ZERO, mean_gap_ps);
        while at < faults.until {
            let repair = after(at, faults.repair.as_ps() as f64);
            outage(changes, links.to_vec(), at, Some(repair), faults.discovery);
            at = after(repair, mean_gap_ps);
        }
    };
    if faults.link_failures.per_second() > 0.0 {
        for (there, back) in cables {
            let stream = Stream::new(seed, there.0.into(), "faults/link");
            renew(stream, faults.link_failures.mean_gap_ps(), &[there, back]);
        }
    }
    if faults.node_failures.per_second() > 0.0 {
        for node in topology.nodes() {
            let stream = Stream::new(seed, node.0.into(), "faults/node");
            renew(stream, faults.node_failures.mean_gap_ps(), &links_at(topology, node, |_| true));
        }
    }
    Ok(())
}

/// The random loss and corruption of packets on links, as the engines need them.
pub(crate) fn link_errors(
    errors: Option<&Errors>,
    topology: &Topology,
    seed: u64,
    decoders: &Decoders,
) -> Result<LinkErrors, Problem> {
    let decoders = decoders.clone();
    let Some(Errors { loss, corruption, links, until }) = errors else {
        return Ok(LinkErrors { decoders, ..LinkErrors::default() });
    };
    let links = links.as_ref().map(|links| {
        let links = links.iter().map(|((a, b), place)| links_between(topology, *a, *b, place));
        let links: Result<Vec<_>, Problem> = links.collect();
        links.map(|links| links.into_iter().flatten().collect())
    });
    let (loss, corruption, links, until) = (*loss, *corruption, links.transpose()?, *until);
    Ok(LinkErrors { seed, loss, corruption, links, until, decoders })
}

fn no_such(place: &At, what: String, topology: &Topology) -> Problem {
    let hint = format!("the topology's nodes are 0 to {}", topology.node_count().saturating_sub(1));
    Problem::at(place, Cause::OutOfRange { what, hint })
}

/// The links between two nodes, in both directions. Returns an error if there are none.
fn links_between(topology: &Topology, a: NodeId, b: NodeId, place: &At) -> Result<Vec<LinkId>, Problem> {
    let links = links_at(topology, a, |other| other == b);
    if links.is_empty() {
        return Err(no_such(place, format!("there is no link between node {a} and node {b}"), topology));
    }
    Ok(links)
}

/// The links in both directions between `node` and the neighbours that `other` accepts, sorted by id.
pub(super) fn links_at(topology: &Topology, node: NodeId, other: impl Fn(NodeId) -> bool) -> Vec<LinkId> {
    if node.index() >= topology.node_count() {
        return Vec::new();
    }
    let links = topology.links_from(node).filter(|(_, link)| other(link.to));
    let mut links: Vec<LinkId> = links.flat_map(|(id, _)| [id, topology.reverse(id)]).collect();
    links.sort_unstable();
    links.dedup();
    links
}
