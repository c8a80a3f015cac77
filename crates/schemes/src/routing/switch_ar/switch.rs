//! The choices of one switch.

use super::levels::{Levels, Origin, Rule};
use crate::routing::up_down::{Ascent, digit};
use raddle_core::{NodeId, Packet, Time};
use raddle_topology::Xgft;
use raddle_wire::cnm::Notice;
use std::ops::Range;

/// The ports up that the levels of one node name.
#[derive(Debug)]
pub(super) struct SwitchAr {
    /// Hosts below, towards which there is nothing to choose.
    below: Range<u32>,
    ups: usize,
    /// What D-mod-k divides a destination's number by.
    divisor: u32,
    levels: Levels,
    absorb: bool,
}

impl SwitchAr {
    /// At `node`, which keeps levels by `rule`; whether it drops notices while it has another way.
    pub(super) fn new(tree: &Xgft, node: NodeId, rule: Rule, absorb: bool) -> Self {
        let level = tree.level(node);
        let ups = tree.uplinks(level).len();
        Self {
            below: tree.hosts_below(node),
            ups,
            divisor: tree.planes(level),
            levels: Levels::new(tree.hosts() as usize, ups, rule),
            absorb,
        }
    }

    /// How congested the ports up are held to be.
    #[cfg(test)]
    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }
}

impl Ascent for SwitchAr {
    #[inline]
    fn choose(&mut self, now: Time, packet: &Packet, ports: usize) -> usize {
        let first = digit(packet.dst().0, self.divisor, ports);
        // Levels are of the ports that all lead up; of what failures have left, D-mod-k's has to do.
        if ports == self.ups { self.levels.least(now, packet.dst(), first) } else { first }
    }

    /// Where nothing is congested.
    fn foresee(&self, packet: &Packet, ports: usize) -> Option<usize> {
        Some(digit(packet.dst().0, self.divisor, ports))
    }

    fn read(&mut self, now: Time, notice: &Notice, up: usize, own: bool) -> bool {
        if self.below.contains(&notice.culprit_dst) {
            return false;
        }
        let (to, origin) = (NodeId(notice.culprit_dst), if own { Origin::Here } else { Origin::Elsewhere });
        self.levels.notice(now, to, up, notice.feedback, origin);
        self.absorb && self.levels.others_clear(now, to, up)
    }
}
