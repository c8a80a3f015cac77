//! The forwarder of Switch AR.

use super::levels::{Levels, Origin, Rule};
use raddle_core::{Forwarder, Header, NodeId, Packet, PortId, Ports, Stream, Time, Verdict};
use raddle_topology::{Below, Xgft};
use raddle_wire::cnm::Notice;

/// The forwarder of one node.
#[derive(Debug)]
pub struct SwitchAr {
    node: NodeId,
    below: Below,
    /// The first up port.
    up: PortId,
    /// What D-mod-k divides a destination's number by.
    divisor: u32,
    levels: Levels,
    absorb: bool,
    random: Stream,
}

impl SwitchAr {
    /// The forwarder of `node`, which keeps levels by `rule`; whether it drops notices while it has another way.
    #[must_use]
    pub fn new(node: NodeId, tree: &Xgft, rule: Rule, absorb: bool, seed: u64) -> Self {
        let (level, below) = (tree.level(node), tree.below(node));
        Self {
            node,
            below,
            up: PortId(tree.uplinks(level).start),
            divisor: tree.planes(level),
            levels: Levels::new(tree.hosts() as usize, below.ups().into(), rule),
            absorb,
            random: Stream::new(seed, node.0.into(), "switch-ar"),
        }
    }

    /// How congested the node holds its up ports to be.
    #[must_use]
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Which of the up ports a port is.
    fn place(&self, port: PortId) -> Option<usize> {
        let place = port.0.checked_sub(self.up.0).filter(|&place| place < self.below.ups())?;
        Some(place.into())
    }

    /// Counts a notice that came in by `arrival`, or from one of the node's own queues. Returns whether it ends here.
    fn read(&mut self, now: Time, notice: &Notice, arrival: Option<PortId>) -> bool {
        let to = NodeId(notice.culprit_dst);
        let (port, origin) = match arrival {
            Some(port) => (Some(port), Origin::Elsewhere),
            None => (notice.cp.port().map(PortId), Origin::Here),
        };
        // By a port downwards, or to a host below, there is no choice to make.
        let place = port.and_then(|port| self.place(port)).filter(|_| self.below.down(to).is_none());
        let Some(place) = place else { return false };
        self.levels.notice(now, to, place, notice.feedback, origin);
        self.absorb && self.levels.others_clear(now, to, place)
    }
}

impl Forwarder for SwitchAr {
    fn forward(&mut self, now: Time, packet: &mut Packet, arrival: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let to = packet.dst();
        if let Header::Cnm(notice) = &packet.header
            && self.read(now, notice, arrival)
        {
            return Verdict::Absorb;
        }
        if to == self.node {
            return Verdict::Deliver;
        }
        let Self { below, divisor, levels, random, .. } = self;
        let port = below.choose(to, |ups| match packet.header {
            Header::Cnm(_) => random.below(ups as u64) as usize,
            _ => levels.least(now, to, (to.0 / *divisor) as usize % ups),
        });
        debug_assert!(
            self.place(port).is_none() || arrival.is_none_or(|arrival| self.place(arrival).is_none()),
            "{packet:?} came down to {:?} and would go up again",
            self.node
        );
        Verdict::Forward(port)
    }
}
