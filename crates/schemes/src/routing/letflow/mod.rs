//! LetFlow: every flowlet takes a random port (Vanini et al., NSDI 2017; specifications/expeditus.md §6.5).
//!
//! No switch measures congestion. A congested path delays acknowledgements, so that its flows pause and split into more
//! flowlets. Each new flowlet can move to another path, until the congested path is no longer overloaded. In the
//! variant `choice = "hash"`, a hash of flow, switch and time replaces the switch's random stream. This variant is
//! called flowlet ECMP.

use crate::fluid::Spread;
use crate::routing::flow_hash::{flow_hash, mix, pick, salt};
use crate::routing::flowlets::{self, Expiry, Flowlets};
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View, forwarders_where_needed};
use crate::{choices, parameters};
use raddle_core::{
    DropReason, Duration, Forwarder, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict,
};
use std::sync::Arc;

/// LetFlow.
pub(crate) const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::AsForwarded, hold: |_| None };

const INFO: Info = Info {
    name: "letflow",
    summary: "Each flowlet takes a shortest path, drawn at random at every hop",
    source: "LetFlow, NSDI 2017; with `choice = \"hash\"`, the flowlet ECMP of specifications/expeditus.md §6.5",
    differs: &[
        "no difference from the paper is known; two flows whose hashes give the same slot share their \
         flowlets, as in the paper's switch",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    enum Choice {
        Random = "random",
        Hash = "hash",
    }
}

parameters! {
    struct Parameters {
        t_fl: Duration = flowlets::gap(Duration::from_us(500));
        expiry: Expiry = flowlets::EXPIRY;
        flowlets: usize = flowlets::SLOTS;
        /// how a flowlet's port is chosen: at random, or by a hash of the flow and the time
        choice: Choice;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let (paths, seed) = (ShortestPaths::new(plan.topology), plan.seed);
    let parameters = Parameters::of(plan.settings);
    Ok(forwarders_where_needed(plan.topology, move |node| LetFlow::new(node, &paths, seed, &parameters)))
}

/// The forwarder of one node.
#[derive(Debug)]
struct LetFlow {
    salt: u64,
    next_hops: NextHops,
    flowlets: Flowlets,
    /// The stream from which ports are drawn; `None` if ports are chosen by hash.
    random: Option<Stream>,
}

impl LetFlow {
    fn new(node: NodeId, paths: &Arc<ShortestPaths>, seed: u64, parameters: &Parameters) -> Self {
        let &Parameters { t_fl, expiry, flowlets, choice } = parameters;
        Self {
            salt: salt(seed, node),
            next_hops: NextHops::new(node, paths),
            flowlets: Flowlets::new(flowlets, t_fl, expiry),
            random: (choice == Choice::Random).then(|| Stream::new(seed, node.0.into(), "letflow")),
        }
    }
}

impl Forwarder for LetFlow {
    fn forward(&mut self, now: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        if packet.dst() == self.next_hops.node() {
            return Verdict::Deliver;
        }
        match self.next_hops.ports(packet.dst()) {
            [] => Verdict::Drop(DropReason::NoRoute),
            &[only] => Verdict::Forward(only),
            ports => {
                let hash = flow_hash(packet, self.salt);
                let random = &mut self.random;
                Verdict::Forward(self.flowlets.port(now, hash, ports, |_| {
                    ports[match random {
                        Some(stream) => stream.index(ports.len()),
                        None => pick(mix(hash ^ now.as_ps()), ports.len()),
                    }]
                }))
            }
        }
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}

#[cfg(test)]
mod tests;
