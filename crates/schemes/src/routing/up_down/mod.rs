//! Up*/down* routing in extended generalized fat trees (specifications/cee.md §5). A switch above a packet's
//! destination sends the packet down by the only port that leads there. Any other switch sends it up. Routing schemes
//! differ in how they choose the port upwards ([`Ascent`]).
//!
//! As long as no link has failed, packets never go up after they have gone down. Links can therefore be ordered: all
//! links upwards by rising level, then all links downwards by falling level. With this order, links cannot wait for
//! each other in a cycle, so pauses cannot cause a deadlock.
//!
//! With every scheme, congestion notices go up by a port drawn at random at each hop. With fixed ports, only one plane
//! of switches would see the notices (specifications/cee.md §5.6). An [`Ascent`] may read the notices about congestion
//! behind the node's up ports.
//!
//! Once a node knows of failed links, it uses the shortest paths that are left, and the ascent chooses among these.
//! Such paths may go up again after they have gone down.
//!
//! Cost per hop: a comparison and a division; upwards, also the ascent's choice.

mod mod_k;

pub(crate) use mod_k::{ModK, ModKParameters};

use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Forwarders, Plan, Unfit};
use raddle_core::{Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict};
use raddle_topology::{Shape, Topology, Xgft};
use raddle_wire::cnm::Notice;
use std::sync::Arc;

/// The part of a node that chooses the ports of packets on their way up.
pub(crate) trait Ascent: Send {
    /// Called for a packet that starts at this node. A scheme that chooses the path at the source writes the path here.
    fn begin(&mut self, _packet: &mut Packet) {}

    /// The index of the packet's port among `ports` ports. As long as no link has failed, all these ports lead up.
    fn choose(&mut self, now: Time, packet: &Packet, ports: usize) -> usize;

    /// The choice that [`choose`](Self::choose) will probably make; `None` if a prediction would be expensive or is
    /// impossible.
    fn foresee(&self, _packet: &Packet, _ports: usize) -> Option<usize> {
        None
    }

    /// Reads a congestion notice. `up` is the index of an up port: the ingress port of the notice, or, if `own` is
    /// true, the port of this node whose queue sent the notice. Returns true if the node must drop the notice.
    fn read(&mut self, _now: Time, _notice: &Notice, _up: usize, _own: bool) -> bool {
        false
    }
}

/// The forwarder of one node.
#[derive(Debug)]
pub(crate) struct UpDown<A> {
    next_hops: NextHops,
    /// The first port that leads up.
    up: PortId,
    notices: Stream,
    ascent: A,
    /// True while no link has changed state. After a failure, packets can be off their regular paths.
    intact: bool,
}

impl<A> UpDown<A> {
    /// The forwarder of a node of this tree. `ascent` chooses the ports upwards.
    pub(crate) fn new(node: NodeId, paths: &Arc<ShortestPaths>, tree: &Xgft, ascent: A, seed: u64) -> Self {
        Self {
            next_hops: NextHops::new(node, paths),
            up: PortId(tree.uplinks(tree.level(node)).start),
            notices: Stream::new(seed, node.0.into(), "up_down/notices"),
            ascent,
            intact: true,
        }
    }
}

impl<A: Ascent> Forwarder for UpDown<A> {
    #[inline]
    fn forward(&mut self, now: Time, packet: &mut Packet, arrival: Option<PortId>, _: &Ports<'_>) -> Verdict {
        if arrival.is_none() {
            self.ascent.begin(packet);
        }
        if let Header::Cnm(notice) = &packet.header
            && self.read(now, notice, arrival)
        {
            return Verdict::Absorb;
        }
        let (ascent, notices) = (&mut self.ascent, &mut self.notices);
        let verdict = self.next_hops.forward(packet, |_, ports| match packet.header {
            Header::Cnm(_) => notices.index(ports),
            _ => ascent.choose(now, packet, ports),
        });
        debug_assert!(
            !self.is_from_above(arrival) || !self.is_up(verdict) || !self.intact,
            "node {} must not send up a packet that came from above",
            self.next_hops.node()
        );
        verdict
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let routing = self.next_hops.present().filter(|routing| packet.dst() != routing.node())?;
        let mut is_known = true;
        let port = routing.choose(packet.dst(), |ports| {
            let choice = self.ascent.foresee(packet, ports);
            is_known = choice.is_some();
            choice.unwrap_or(0)
        });
        port.filter(|_| is_known)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.intact = false;
        self.next_hops.link(link, up);
    }
}

impl<A: Ascent> UpDown<A> {
    /// Passes a notice to the ascent if the notice arrived by an up port, or comes from the queue of an up port of this
    /// node. Returns true if the node must drop the notice.
    fn read(&mut self, now: Time, notice: &Notice, arrival: Option<PortId>) -> bool {
        let port = arrival.or_else(|| notice.cp.port().map(PortId));
        let up = port.and_then(|port| port.0.checked_sub(self.up.0));
        up.is_some_and(|up| self.ascent.read(now, notice, up.into(), arrival.is_none()))
    }
}

impl<A> UpDown<A> {
    /// The ascent of this node.
    #[cfg(test)]
    pub(crate) fn ascent(&self) -> &A {
        &self.ascent
    }

    fn is_from_above(&self, arrival: Option<PortId>) -> bool {
        arrival.is_some_and(|port| port >= self.up)
    }

    fn is_up(&self, verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Forward(port) if port >= self.up)
    }
}

/// The tree that the topology describes. `name` is the routing's name in the error message.
pub(crate) fn tree(topology: &Topology, name: &str) -> Result<Arc<Xgft>, Unfit> {
    match topology.shape() {
        Shape::Xgft(size) => Ok(Arc::new(Xgft::new(size.clone()))),
        _ => Err(Unfit {
            key: "scheme.routing".into(),
            problem: format!("`{name}` needs the topology `k_ary_n_tree`, `xgft` or `single_switch`"),
            hint: "choose `k_ary_n_tree`, `xgft` or `single_switch` as topology.kind, or another routing such as `ecmp`"
                .into(),
        }),
    }
}

/// The forwarders of a tree's nodes. `ascent` makes the [`Ascent`] of each node. Hosts with a single link get a
/// forwarder only if hosts choose paths.
pub(crate) fn forwarders<A: Ascent + 'static>(
    plan: &Plan<'_>,
    tree: Arc<Xgft>,
    hosts_choose: bool,
    mut ascent: impl FnMut(NodeId) -> A + 'static,
) -> Forwarders {
    let (paths, seed) = (ShortestPaths::new(plan.topology), plan.seed);
    Box::new(move |node| {
        let is_host = tree.level(node) == 0;
        let needed = !is_host || hosts_choose || tree.port_count(0) > 1;
        needed
            .then(|| -> Box<dyn Forwarder> { Box::new(UpDown::new(node, &paths, &tree, ascent(node), seed)) })
    })
}

/// The index of the port upwards, among `ports` ports, that a node's digit of `path` selects. `path` is the number of
/// the nearest common ancestor that the path passes. D-mod-k and S-mod-k use a host's number instead. Division by
/// `divisor` makes the node's digit the lowest digit. At a node of level l the divisor is usually w1 * .. * wl, where
/// `wi` is the number of parents of each node of level i - 1.
pub(crate) fn digit(path: u32, divisor: u32, ports: usize) -> usize {
    (path / divisor) as usize % ports
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
