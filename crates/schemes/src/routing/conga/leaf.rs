//! The forwarder of a leaf. It chooses the uplinks of flowlets, writes and reads overlay headers, and stores their
//! metrics.

use super::congestion::Congestion;
use super::counters::Counters;
use super::meters::Meters;
use super::{Decision, Fabric, Parameters};
use crate::routing::flow_hash::{flow_hash, salt};
use crate::routing::flowlets::Flowlets;
use crate::routing::next_hops::NextHops;
use raddle_core::{
    DropReason, Duration, Forwarder, HeaderInfo, LinkId, NodeId, Packet, PortId, Ports, Shim, Stream, Time,
    Verdict,
};
use raddle_wire::Opening;
use raddle_wire::conga::Overlay;
use std::ops::Range;
use std::sync::Arc;

/// The forwarder of a leaf.
#[derive(Debug)]
pub(super) struct Leaf {
    next_hops: NextHops,
    salt: u64,
    flowlets: Flowlets,
    /// The hosts on this leaf.
    below: Range<u32>,
    /// Number of hosts in the fabric.
    hosts: u32,
    /// Number of hosts on each leaf.
    hosts_per_leaf: u32,
    pub(super) uplinks: Meters,
    pub(super) congestion: Congestion,
    /// True if the load that this leaf measures at an uplink counts in the choice of an uplink.
    is_local_counted: bool,
    ties: Stream,
    /// Time constant of the load estimate. An older load says little about the present.
    tau: Duration,
    counters: Arc<Counters>,
}

impl Leaf {
    pub(super) fn new(fabric: &Fabric, node: NodeId) -> Self {
        let Fabric { clos, hosts_per_leaf, paths, dre, parameters, seed, counters } = fabric;
        let &Parameters { t_fl, expiry, flowlets, ageing, decision, .. } = parameters;
        let uplinks = clos.uplinks(1);
        let leaves = (clos.hosts() / hosts_per_leaf) as usize;
        Self {
            next_hops: NextHops::new(node, paths),
            salt: salt(*seed, node),
            flowlets: Flowlets::new(flowlets, t_fl, expiry),
            below: clos.hosts_below(node),
            hosts: clos.hosts(),
            hosts_per_leaf: *hosts_per_leaf,
            congestion: Congestion::new(leaves, uplinks.len(), ageing),
            uplinks: Meters::new(paths.topology(), uplinks, dre),
            is_local_counted: decision == Decision::Max,
            ties: Stream::new(*seed, node.0.into(), "conga/ties"),
            tau: dre.time_constant(),
            counters: Arc::clone(counters),
        }
    }

    /// The index of the leaf to which a host is attached; `None` for a switch.
    fn leaf_of(&self, node: NodeId) -> Option<usize> {
        (node.0 < self.hosts).then(|| (node.0 / self.hosts_per_leaf) as usize)
    }

    /// Stores the metrics from the overlay header of a packet that another leaf sent, then removes the header.
    fn decapsulate(&mut self, now: Time, packet: &mut Packet) {
        let (Shim::Conga(overlay), Some(leaf)) = (packet.shim, self.leaf_of(packet.src())) else { return };
        self.congestion.seen(now, leaf, overlay.tag(), overlay.congestion());
        if let Some(feedback) = overlay.feedback() {
            self.congestion.told(now, leaf, feedback);
        }
        packet.set_shim(Shim::None);
    }

    /// The uplink for a packet to another leaf; `None` if no path is left.
    #[allow(clippy::cast_possible_truncation, reason = "a leaf has at most 16 uplinks")]
    fn uplink(&mut self, now: Time, packet: &Packet, leaf: usize, ports: &Ports<'_>) -> Option<PortId> {
        let Self { next_hops, flowlets, uplinks, congestion, ties, counters, .. } = self;
        let usable = next_hops.ports(packet.dst());
        if usable.is_empty() {
            return None;
        }
        let tag = |port| uplinks.place(port) as u8;
        let metric = |port| {
            let local = if self.is_local_counted { uplinks.load(now, port, ports) } else { 0 };
            local.max(congestion.towards(now, leaf, tag(port)))
        };
        let choose = |before| {
            let is_recent = |port: &&PortId| congestion.age(now, leaf, tag(**port)) < self.tau;
            let is_of_sender = packet.is_data() || packet.header.opening() == Some(Opening::Syn);
            counters.chosen(is_of_sender, usable.len(), usable.iter().filter(is_recent).count());
            least(usable, metric, before, ties)
        };
        Some(flowlets.port(now, flow_hash(packet, self.salt), usable, choose))
    }
}

/// The port with the least metric. Among ports with equal metrics, the flow's previous port `before` is preferred. If
/// `before` is not among them, the choice is random.
fn least(
    ports: &[PortId],
    metric: impl Fn(PortId) -> u8,
    before: Option<PortId>,
    ties: &mut Stream,
) -> PortId {
    let mut least = u8::MAX;
    let mut equals = [PortId(0); Overlay::TAGS];
    let mut count = 0;
    for &port in ports {
        let metric = metric(port);
        if metric < least {
            (least, count) = (metric, 0);
        }
        if metric == least {
            equals[count] = port;
            count += 1;
        }
    }
    let equals = &equals[..count];
    match before.filter(|before| equals.contains(before)) {
        Some(before) => before,
        None => equals[ties.index(count)],
    }
}

impl Forwarder for Leaf {
    #[allow(clippy::cast_possible_truncation, reason = "a leaf has at most 16 uplinks")]
    fn forward(&mut self, now: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        let dst = packet.dst();
        if self.below.contains(&dst.0) {
            self.decapsulate(now, packet);
            let down = self.next_hops.ports(dst).first();
            return down.map_or(Verdict::Drop(DropReason::NoRoute), |&port| Verdict::Forward(port));
        }
        let uplink = self.leaf_of(dst).and_then(|leaf| Some((leaf, self.uplink(now, packet, leaf, ports)?)));
        let Some((leaf, port)) = uplink else { return Verdict::Drop(DropReason::NoRoute) };
        // A packet on a detour around a failure keeps the overlay header of its source leaf.
        let overlay = match packet.shim {
            Shim::Conga(overlay) => overlay,
            _ => {
                let overlay = Overlay::new(self.uplinks.place(port) as u8);
                let feedback = self.congestion.feedback(now, leaf);
                feedback.map_or(overlay, |feedback| overlay.with_feedback(feedback))
            }
        };
        packet.set_shim(Shim::Conga(overlay));
        self.uplinks.count(now, port, packet);
        packet.shim = Shim::Conga(overlay.met(self.uplinks.load(now, port, ports)));
        Verdict::Forward(port)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}
