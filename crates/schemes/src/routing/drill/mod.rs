//! DRILL: each packet goes to the shortest queue among a few next hops (Ghorbani et al., SIGCOMM 2017).
//!
//! DRILL(d, m), §3.2: for each packet a switch compares the queues of d next hops drawn at random and of the m next
//! hops that had the shortest queues for the previous packet. It sends the packet to the shortest of these queues and
//! remembers the m shortest. Among equally short queues the queue that was drawn first wins, so that an idle switch
//! spreads its packets evenly. Switches exchange no messages about their queues.
//!
//! Failures or different link rates can make paths unequal. Balancing queues packet by packet would then let the worst
//! path slow down the others (§3.4). Next hops are therefore divided into *components* of equal next hops. Here a
//! component consists of the next hops with equal capacity behind them ([`LocalRouting::capacities`]). The paper
//! instead labels each path by the capacity of each hop and by the sources and destinations that share the hop. A flow
//! is hashed to a component in proportion to the component's capacity, and its packets spread only within that
//! component.
//!
//! Receiving hosts restore the packet order ([`crate::routing::reordering`]).
//!
//! Cost per hop, if there is a choice: a hash look-up of the destination, d random numbers, and d + m queue lengths.

use crate::fluid::Spread;
use crate::parameters;
use crate::routing::flow_hash::{flow_hash, salt};
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::routing::reordering::{HOLD, Hold};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View, forwarders_where_needed};
use raddle_core::{
    DropReason, Duration, Forwarder, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict,
};
use raddle_topology::routing::LocalRouting;
use rustc_hash::FxHashMap;
use std::sync::Arc;

mod component;

use component::Component;

/// DRILL.
pub(crate) const ROUTING: Routing = Routing {
    info: INFO,
    build: Build::Compiled(build),
    spread: |_| Spread::Evenly,
    hold: |settings| Hold::new(Parameters::of(settings).hold, None),
};

const INFO: Info = Info {
    name: "drill",
    summary: "Each packet joins the shortest queue among random next hops and next hops remembered from the \
              previous packet",
    source: "Ghorbani et al., DRILL, SIGCOMM 2017",
    differs: &[
        "a queue's length is measured as the time to drain it, so that ports of different rates can be compared",
        "a port that is down counts as the longest queue even before its failure has been discovered",
        "next hops are grouped into components by the capacity behind them, not by the labels of whole paths",
        "a switch has a single forwarding engine for all packets",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    struct Parameters {
        /// number of next hops drawn at random for each packet
        samples: usize = 2, 1..=65_536;
        /// number of next hops that a switch remembers for each set of next hops with equal capacity behind them: those
        /// with the shortest queues for the previous packet
        memory: usize = 1, 0..=65_536;
        hold: Duration = HOLD;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let (paths, seed) = (ShortestPaths::new(plan.topology), plan.seed);
    let Parameters { samples, memory, .. } = Parameters::of(plan.settings);
    let node = move |node| Drill::new(node, &paths, Look { samples, memory }, seed);
    Ok(forwarders_where_needed(plan.topology, node))
}

/// Numbers of queues that are compared for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Number of next hops drawn at random, d in the paper.
    pub samples: usize,
    /// Number of remembered next hops with the shortest queues, m in the paper.
    pub memory: usize,
}

/// The forwarder of one node.
#[derive(Debug)]
pub(crate) struct Drill {
    next_hops: NextHops,
    look: Look,
    salt: u64,
    random: Stream,
    /// The components, each with its memory of the shortest queues. All destinations that use a component share its
    /// memory.
    components: Vec<Component>,
    /// For each destination, the components of next hops towards the destination. Each component comes with a running
    /// sum: its capacity plus the capacities of the components before it.
    shares: FxHashMap<NodeId, Box<[(u128, usize)]>>,
}

impl Drill {
    /// The forwarder of `node`.
    #[must_use]
    pub(crate) fn new(node: NodeId, paths: &Arc<ShortestPaths>, look: Look, seed: u64) -> Self {
        Self {
            next_hops: NextHops::new(node, paths),
            look,
            salt: salt(seed, node),
            random: Stream::new(seed, node.0.into(), "drill"),
            components: Vec::new(),
            shares: FxHashMap::default(),
        }
    }
}

impl Forwarder for Drill {
    fn forward(&mut self, now: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        let Self { next_hops, look, salt, random, components, shares } = self;
        let (routing, to) = (next_hops.routing(), packet.dst());
        if to == routing.node() {
            return Verdict::Deliver;
        }
        let mut several = false;
        let first = routing.choose(to, |count| {
            several = count > 1;
            0
        });
        let Some(first) = first else { return Verdict::Drop(DropReason::NoRoute) };
        if !several {
            return Verdict::Forward(first);
        }
        let shares = shares.entry(to).or_insert_with(|| divide(routing, to, components));
        let component = match **shares {
            [(_, component)] => component,
            ref shares => share_of(shares, flow_hash(packet, *salt)),
        };
        Verdict::Forward(components[component].shortest(*look, now, ports, random))
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
        self.components.clear();
        self.shares.clear();
    }
}

/// The component for flows with this hash. Each component gets hashes in proportion to its capacity.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the cast keeps the lower 32 bits; the upper bits are multiplied separately"
)]
fn share_of(shares: &[(u128, usize)], hash: u64) -> usize {
    let (total, _) = shares[shares.len() - 1];
    // Computes total * fraction / 2^32 in two parts, because the capacities of large tori exceed 96 bits.
    let fraction = hash >> 32;
    let low = u128::from(total as u32) * u128::from(fraction);
    let place = (total >> 32) * u128::from(fraction) + (low >> 32);
    let (_, component) = shares[shares.partition_point(|&(end, _)| end <= place)];
    component
}

/// Divides the next hops towards `to` into components. Adds to `components` the components that are missing there.
/// Returns the entry of [`Drill::shares`] for `to`.
#[cold]
fn divide(routing: &LocalRouting, to: NodeId, components: &mut Vec<Component>) -> Box<[(u128, usize)]> {
    let mut capacities = Vec::new();
    routing.capacities(to, &mut capacities);
    capacities.sort_by_key(|&(port, capacity)| (capacity, port));
    let mut end = 0;
    let alike = capacities.chunk_by(|(_, one), (_, other)| one == other).map(|chunk| {
        end += chunk.iter().map(|(_, capacity)| capacity).sum::<u128>();
        let ports: Vec<PortId> = chunk.iter().map(|&(port, _)| port).collect();
        let known = components.iter().position(|component| component.is_of(&ports));
        let component = known.unwrap_or_else(|| {
            components.push(Component::new(ports));
            components.len() - 1
        });
        (end, component)
    });
    alike.collect()
}

#[cfg(test)]
mod tests;
