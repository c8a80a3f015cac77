//! Random routing in trees: every packet goes up by ports drawn at random and down by the only possible ports
//! (specifications/cee.md §5.3; Leiserson et al., "The Network Architecture of the Connection Machine CM-5", SPAA
//! 1992).
//!
//! There are two variants. Either each node on the way up draws a port, or the source draws one of the nearest common
//! ancestors. In the second variant, the source writes the ancestor's number into the frame, and each switch's digit of
//! this number selects the port upwards. Both variants take every path equally often. Only frames of converged Ethernet
//! have room for a path; for other packets the switches always draw.
//!
//! Packets of a flow overtake each other, so receiving hosts restore their order ([`crate::routing::reordering`]).
//! Adapters of converged Ethernet restore the order themselves.

use crate::fluid::Spread;
use crate::routing::reordering::{HOLD, Hold};
use crate::routing::up_down::{self, Ascent, digit};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use crate::{choices, parameters};
use raddle_core::{Duration, Header, NodeId, Packet, Stream, Time};
use raddle_topology::Xgft;
use std::sync::Arc;

/// Random routing in trees.
pub(crate) const ROUTING: Routing = Routing {
    info: INFO,
    build: Build::Compiled(build),
    spread: |_| Spread::Evenly,
    hold: |settings| Hold::new(Parameters::of(settings).hold, None),
};

const INFO: Info = Info {
    name: "random-up",
    summary: "Each packet goes up a tree and then down; the up ports are drawn at random for each packet",
    source: "Leiserson et al., SPAA 1992; Crisan et al., CEE Switch Adaptive Routing, \"Random\"",
    differs: &[],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The node that draws the ports.
    enum At {
        Hop = "hop",
        Source = "source",
    }
}

parameters! {
    struct Parameters {
        /// which node draws the ports: each switch on the way up, or the sending host. Only frames of converged
        /// Ethernet have room for the host's choice; for other packets the switches always draw
        at: At;
        hold: Duration = HOLD;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let tree = up_down::tree(plan.topology, INFO.name)?;
    let at_source = Parameters::of(plan.settings).at == At::Source;
    let (seed, of) = (plan.seed, Arc::clone(&tree));
    Ok(up_down::forwarders(plan, tree, at_source, move |node| RandomUp::new(&of, node, at_source, seed)))
}

/// The random choices of one node.
#[derive(Debug)]
struct RandomUp {
    random: Stream,
    /// The tree, and the divisor that extracts this node's digit from a path's number; `None` if each switch draws.
    at_source: Option<(Arc<Xgft>, u32)>,
}

impl RandomUp {
    fn new(tree: &Arc<Xgft>, node: NodeId, at_source: bool, seed: u64) -> Self {
        let random = Stream::new(seed, node.0.into(), "random_up");
        let at_source = at_source.then(|| (Arc::clone(tree), tree.planes(tree.level(node))));
        Self { random, at_source }
    }
}

impl Ascent for RandomUp {
    #[allow(clippy::cast_possible_truncation, reason = "the path number is below `paths`, a `u32`")]
    fn begin(&mut self, packet: &mut Packet) {
        if let (Some((tree, _)), Header::Cee(frame)) = (&self.at_source, &mut packet.header) {
            let paths = tree.paths(NodeId(frame.src), NodeId(frame.dst));
            frame.path = self.random.below(paths.into()) as u32;
        }
    }

    #[inline]
    fn choose(&mut self, _: Time, packet: &Packet, ports: usize) -> usize {
        match (&self.at_source, &packet.header) {
            (Some((_, divisor)), Header::Cee(frame)) => digit(frame.path, *divisor, ports),
            _ => self.random.index(ports),
        }
    }
}

#[cfg(test)]
mod tests;
