//! WCMP: ECMP that assigns flows to each next hop in proportion to the capacity behind it (Zhou et al., EuroSys 2014).
//!
//! The weight of a next hop is the capacity of the shortest paths through it to the destination, according to the
//! failures that the node knows of ([`LocalRouting::capacities`]). As in a hardware switch, a table holds the weights:
//! each next hop has entries in proportion to its weight, and a flow's hash picks an entry. `weights.rs` finds small
//! numbers of entries that fit the table. If all weights are equal, flows take the same paths as with ECMP.
//!
//! Cost per hop: ECMP's cost and, if there is a choice, a hash look-up of the destination. Capacities are computed on
//! the first packet for a destination, and again after each link change.

mod weights;

use crate::fluid::Spread;
use crate::parameters;
use crate::routing::flow_hash::{flow_hash, pick, salt};
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View, forwarders_where_needed};
use raddle_core::{Forwarder, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_topology::routing::LocalRouting;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Weighted-cost multi-path.
pub(crate) const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::AsForwarded, hold: |_| None };

const INFO: Info = Info {
    name: "wcmp",
    summary: "Each flow takes one shortest path, chosen by hash in proportion to the capacity behind each next hop",
    source: "Zhou et al., WCMP, EuroSys 2014",
    differs: &[
        "each switch computes weights from the failures that it knows of; the paper has a central controller",
        "each group of next hops has its own table; in the paper, the groups of a switch share one table",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    struct Parameters {
        /// greatest number of table entries for one destination; each next hop has at least one entry, even beyond this
        /// limit, and entries nearly in proportion to its weight
        table: usize = 16, 1..=65_536;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let (paths, seed) = (ShortestPaths::new(plan.topology), plan.seed);
    let Parameters { table } = Parameters::of(plan.settings);
    Ok(forwarders_where_needed(plan.topology, move |node| Wcmp::new(node, &paths, table, seed)))
}

/// The forwarder of one node.
#[derive(Debug)]
pub(crate) struct Wcmp {
    salt: u64,
    next_hops: NextHops,
    /// Greatest number of entries per group. A group with more next hops has one entry per next hop.
    table: usize,
    /// For each destination, the indices of its next hops. Each index is repeated according to its weight.
    groups: FxHashMap<NodeId, Box<[u16]>>,
}

impl Wcmp {
    /// The forwarder of `node`. A group has at most `table` entries, or one entry per next hop if there are more next
    /// hops.
    #[must_use]
    pub(crate) fn new(node: NodeId, paths: &Arc<ShortestPaths>, table: usize, seed: u64) -> Self {
        Self {
            salt: salt(seed, node),
            next_hops: NextHops::new(node, paths),
            table,
            groups: FxHashMap::default(),
        }
    }
}

impl Forwarder for Wcmp {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let Self { salt, next_hops, table, groups } = self;
        next_hops.forward(packet, |routing, _| {
            let group = groups.entry(packet.dst()).or_insert_with(|| group(routing, packet.dst(), *table));
            group[pick(flow_hash(packet, *salt), group.len())].into()
        })
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
        self.groups.clear();
    }
}

#[cold]
fn group(routing: &LocalRouting, to: NodeId, table: usize) -> Box<[u16]> {
    let mut capacities = Vec::new();
    routing.capacities(to, &mut capacities);
    let capacities: Vec<u128> = capacities.into_iter().map(|(_, capacity)| capacity).collect();
    let entries = weights::fit(&capacities, table);
    (0_u16..).zip(entries).flat_map(|(place, entries)| std::iter::repeat_n(place, entries)).collect()
}

#[cfg(test)]
mod tests;
