//! Packet spraying: each packet takes one of the shortest paths, independently of the flow's other packets (Dixit et
//! al., "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013; specifications/expeditus.md §6.5).
//!
//! At each hop the packet leaves by one of the ports on shortest paths to its destination. The port is drawn at random,
//! or the ports take turns. Each node has a single round-robin counter for all destinations.
//!
//! Receiving hosts restore the packet order ([`crate::routing::reordering`]).

use crate::fluid::Spread;
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::routing::reordering::{HOLD, Hold};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View, forwarders_where_needed};
use crate::{choices, parameters};
use raddle_core::{Duration, Forwarder, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict};
use std::sync::Arc;

/// Packet spraying.
pub(crate) const ROUTING: Routing = Routing {
    info: INFO,
    build: Build::Compiled(build),
    spread: |_| Spread::Evenly,
    hold: |settings| Hold::new(Parameters::of(settings).hold, None),
};

const INFO: Info = Info {
    name: "spray",
    summary: "Each packet takes one of the shortest paths, drawn at random or in turn",
    source: "Dixit et al., INFOCOM 2013 (random packet spraying)",
    differs: &["receivers put segments back in order below TCP; the paper leaves this to TCP"],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The rule by which a node chooses the next hop.
    enum By {
        Chance = "random",
        Turn = "round_robin",
    }
}

parameters! {
    struct Parameters {
        /// how the next hop is chosen: at random or in turn
        choice: By;
        hold: Duration = HOLD;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let (paths, seed) = (ShortestPaths::new(plan.topology), plan.seed);
    let in_turn = Parameters::of(plan.settings).choice == By::Turn;
    Ok(forwarders_where_needed(plan.topology, move |node| Spray::new(node, &paths, in_turn, seed)))
}

/// The forwarder of one node.
#[derive(Debug)]
pub(crate) struct Spray {
    next_hops: NextHops,
    choice: Choice,
}

#[derive(Debug)]
enum Choice {
    Random(Stream),
    /// The round-robin counter, which starts at a random value.
    InTurn(u32),
}

impl Spray {
    /// The forwarder of `node`. It uses its next hops in turn if `in_turn` is true, otherwise at random.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "32 random bits are enough to start the counter")]
    pub(crate) fn new(node: NodeId, paths: &Arc<ShortestPaths>, in_turn: bool, seed: u64) -> Self {
        let mut random = Stream::new(seed, node.0.into(), "spray");
        let choice = if in_turn { Choice::InTurn(random.bits() as u32) } else { Choice::Random(random) };
        Self { next_hops: NextHops::new(node, paths), choice }
    }
}

impl Forwarder for Spray {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let choice = &mut self.choice;
        self.next_hops.forward(packet, |_, count| match choice {
            Choice::Random(random) => random.index(count),
            Choice::InTurn(packets) => {
                *packets = packets.wrapping_add(1);
                *packets as usize % count
            }
        })
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}

#[cfg(test)]
mod tests;
