//! The choice of up ports at one switch.

use super::Parameters;
use super::levels::{Levels, Origin, Rule};
use super::split::Split;
use crate::routing::up_down::{Ascent, digit};
use raddle_core::{NodeId, Packet, Time};
use raddle_topology::Xgft;
use raddle_wire::cnm::Notice;
use std::ops::Range;

/// Chooses a node's up ports by their congestion levels.
#[derive(Debug)]
pub(super) struct SwitchAr {
    /// Hosts below this switch. Packets to them go down, without a choice.
    below: Range<u32>,
    ups: usize,
    /// D-mod-k's divisor of a destination's number.
    divisor: u32,
    levels: Levels,
    /// `None` if notices move all frames for a destination together.
    split: Option<Split>,
    absorb: bool,
    keep_used: bool,
}

impl SwitchAr {
    /// The choice of up ports at `node`. The parameters `absorb` and `keep_used` decide which notices the node drops.
    pub(super) fn new(tree: &Xgft, node: NodeId, parameters: &Parameters) -> Self {
        let &Parameters { update, local, timer, absorb, moved, keep_used, .. } = parameters;
        let rule = Rule { update, local, timer };
        let level = tree.level(node);
        let (hosts, ups) = (tree.hosts() as usize, tree.uplinks(level).len());
        Self {
            below: tree.hosts_below(node),
            ups,
            divisor: tree.planes(level),
            levels: Levels::new(hosts, ups, rule),
            split: (moved < 1.0).then(|| Split::new(hosts, ups, moved)),
            absorb,
            keep_used,
        }
    }

    /// The congestion levels of the up ports.
    #[cfg(test)]
    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }
}

impl Ascent for SwitchAr {
    #[inline]
    fn choose(&mut self, now: Time, packet: &Packet, ports: usize) -> usize {
        let first = digit(packet.dst().0, self.divisor, ports);
        // Levels apply only while all up ports are usable. After failures the switch uses D-mod-k's choice among the
        // remaining ports.
        match &mut self.split {
            _ if ports != self.ups => first,
            Some(split) => split.next(packet.dst(), first),
            None => self.levels.least(now, packet.dst(), first),
        }
    }

    /// D-mod-k's port, which the packet takes if nothing is congested.
    fn foresee(&self, packet: &Packet, ports: usize) -> Option<usize> {
        Some(digit(packet.dst().0, self.divisor, ports))
    }

    fn read(&mut self, now: Time, notice: &Notice, up: usize, own: bool) -> bool {
        if self.below.contains(&notice.culprit_dst) {
            return false;
        }
        let (to, origin) = (NodeId(notice.culprit_dst), if own { Origin::Here } else { Origin::Elsewhere });
        let first = digit(to.0, self.divisor, self.ups);
        let before = self.levels.least(now, to, first);
        self.levels.notice(now, to, up, notice.feedback, origin);
        let after = self.levels.least(now, to, first);
        if let Some(split) = self.split.as_mut().filter(|_| after != up) {
            split.shift(to, first, up, after);
        }
        (self.absorb && self.levels.others_clear(now, to, up)) || (self.keep_used && before != after)
    }
}
