//! Up*/down* routing in extended generalized fat trees (specs/cee.md §5): a switch that is above a packet's destination
//! passes it down by the one port that leads there, any other passes it up. Routings differ in the port up that they
//! choose, their [`Ascent`].
//!
//! Packets never go up after they have gone down. Ordering all links upwards by level, and then all links downwards by
//! falling level, shows that no circle of links can wait for each other: pauses of links cannot deadlock.
//!
//! Congestion notices go up by a port drawn at random at every hop, whatever the routing: those that follow fixed ports
//! would be heard by one plane of switches alone (§5.6). An ascent may read those that tell of what lies above.
//!
//! Once a node knows of failed links it goes by the shortest paths that are left, of which an ascent chooses one as before;
//! they may lead up again after down.
//!
//! Cost a hop: a comparison and a division, and on the way up the ascent's.

mod mod_k;

pub(crate) use mod_k::{ModK, ModKParameters};

use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Forwarders, Plan, Unfit};
use raddle_core::{Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict};
use raddle_topology::{Shape, Topology, Xgft};
use raddle_wire::cnm::Notice;
use std::sync::Arc;

/// How a packet's port up is chosen at one node.
pub(crate) trait Ascent: Send {
    /// This node's host sends a packet: the time to write down a path that is chosen at the source.
    fn begin(&mut self, _packet: &mut Packet) {}

    /// Which of `ports` ports a packet takes: on the intact tree they all lead up.
    fn choose(&mut self, now: Time, packet: &Packet, ports: usize) -> usize;

    /// The choice that [`choose`](Self::choose) will probably make, if that is cheap to say beforehand.
    fn foresee(&self, _packet: &Packet, _ports: usize) -> Option<usize> {
        None
    }

    /// A congestion notice that came in by the `up`-th of the ports that lead up, or that this node's `own` queue there has
    /// sent. Returns whether it ends here.
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
    /// Whether all links have been up so far: afterwards there may be packets that have left their ways.
    intact: bool,
}

impl<A> UpDown<A> {
    /// The forwarder of a node of this tree, which chooses by `ascent`.
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
            Header::Cnm(_) => notices.below(ports as u64) as usize,
            _ => ascent.choose(now, packet, ports),
        });
        debug_assert!(
            !self.is_from_above(arrival) || !self.is_up(verdict) || !self.intact,
            "up after down at node {}",
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
    /// Shows a notice to the ascent. Returns whether it ends here.
    fn read(&mut self, now: Time, notice: &Notice, arrival: Option<PortId>) -> bool {
        let port = arrival.or_else(|| notice.cp.port().map(PortId));
        let up = port.and_then(|port| port.0.checked_sub(self.up.0));
        up.is_some_and(|up| self.ascent.read(now, notice, up.into(), arrival.is_none()))
    }
}

impl<A> UpDown<A> {
    /// What chooses.
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

/// The tree that a fabric is, for the routing of that name.
pub(crate) fn tree(topology: &Topology, name: &str) -> Result<Arc<Xgft>, Unfit> {
    match topology.shape() {
        Shape::Xgft(size) => Ok(Arc::new(Xgft::new(size.clone()))),
        _ => Err(Unfit {
            key: "scheme.routing".into(),
            problem: format!("`{name}` routes up and down a tree by its labels, and this fabric has none"),
            hint: "choose `k_ary_n_tree`, `xgft` or `single_switch` as topology.kind, or another routing such as `ecmp`"
                .into(),
        }),
    }
}

/// The forwarders of a tree, of which `ascent` makes the choices of each node. Hosts with a single link need none unless
/// they choose paths.
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

/// The digit of a path at a node of a level: `path` is the number of the nearest common ancestor that the path leads
/// through, which has the plane digits u_L .. u_1, and `divisor` the number of planes at the level.
pub(crate) fn digit(path: u32, divisor: u32, ports: usize) -> usize {
    (path / divisor) as usize % ports
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
