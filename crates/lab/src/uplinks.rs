//! What the uplinks of switches send, in intervals.

use raddle_core::{Duration, LinkId, NodeId, Time};
use raddle_records::{ImbalanceRecord, imbalance};
use raddle_topology::Topology;
use std::collections::VecDeque;
use std::ops::Range;

/// Not an uplink of anything that is sampled.
const NONE: u32 = u32::MAX;

/// A switch and its uplinks: the links that lead away from hosts.
struct Switch {
    node: NodeId,
    tier: u32,
    columns: Range<usize>,
}

/// Counts what each uplink sends in intervals of equal length from the start on. A packet counts where its last bit
/// leaves. It keeps 8 bytes an uplink and interval.
pub(crate) struct Uplinks {
    interval: Duration,
    switches: Vec<Switch>,
    /// By link.
    columns: Vec<u32>,
    uplinks: usize,
    /// Interval by interval, a number an uplink.
    sent: Vec<u64>,
}

impl Uplinks {
    /// Of every switch with two or more uplinks; `None` if there is no such switch.
    pub(crate) fn of(topology: &Topology, interval: Duration) -> Option<Self> {
        let tiers = tiers(topology);
        let mut columns = vec![NONE; topology.link_slots()];
        let (mut switches, mut uplinks) = (Vec::new(), 0);
        for node in topology.nodes().filter(|&node| !topology.is_host(node)) {
            let tier = tiers[node.index()];
            let up = topology.links_from(node).filter(|(_, link)| tiers[link.to.index()] > tier);
            let up: Vec<LinkId> = up.map(|(id, _)| id).collect();
            if up.len() < 2 {
                continue;
            }
            switches.push(Switch { node, tier, columns: uplinks..uplinks + up.len() });
            for id in up {
                columns[id.index()] = u32::try_from(uplinks).expect("fewer uplinks than links");
                uplinks += 1;
            }
        }
        (uplinks > 0).then_some(Self { interval, switches, columns, uplinks, sent: Vec::new() })
    }

    /// The last bit of a packet of `size` bytes leaves by `link` at `sent`.
    pub(crate) fn count(&mut self, sent: Time, link: LinkId, size: u32) {
        let column = self.columns[link.index()];
        if column == NONE {
            return;
        }
        let interval = usize::try_from(sent.as_ps() / self.interval.as_ps()).expect("a number of intervals");
        let (first, beyond) = (interval * self.uplinks, (interval + 1) * self.uplinks);
        if self.sent.len() < beyond {
            self.sent.resize(beyond, 0);
        }
        self.sent[first + column as usize] += u64::from(size);
    }

    /// The imbalance of every switch in every interval that was over by `end`, in the order of time.
    pub(crate) fn imbalance(&self, end: Time) -> Vec<ImbalanceRecord> {
        let interval = self.interval.as_ps();
        let ends = (1..=end.as_ps() / interval).map(|i| i * interval);
        let sample = |at_ps: u64, sent: &[u64], switch: &Switch| {
            let imbalance = imbalance(&sent[switch.columns.clone()])?;
            Some(ImbalanceRecord { switch: switch.node.0, tier: switch.tier, at_ps, imbalance })
        };
        let rows = ends.zip(self.sent.chunks_exact(self.uplinks));
        rows.flat_map(|(at, sent)| self.switches.iter().filter_map(move |switch| sample(at, sent, switch)))
            .collect()
    }
}

/// Links from each node to the nearest host; hosts have none.
fn tiers(topology: &Topology) -> Vec<u32> {
    let mut tiers = vec![u32::MAX; topology.node_count()];
    let mut next: VecDeque<NodeId> = topology.hosts().collect();
    for host in &next {
        tiers[host.index()] = 0;
    }
    while let Some(node) = next.pop_front() {
        for (_, link) in topology.links_from(node) {
            if tiers[link.to.index()] == u32::MAX {
                tiers[link.to.index()] = tiers[node.index()] + 1;
                next.push_back(link.to);
            }
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Rate;
    use raddle_topology::builders::{self, ClosRates};

    #[test]
    fn a_fat_tree_has_uplinks_at_two_tiers() {
        let rate = Rate::from_gbps(10);
        let tree = builders::fat_tree(4, ClosRates::all(rate), Duration::ZERO).expect("a fat-tree");
        let uplinks = Uplinks::of(&tree, Duration::from_us(1)).expect("uplinks");
        let at = |tier| uplinks.switches.iter().filter(|switch| switch.tier == tier).count();
        assert_eq!((at(1), at(2), uplinks.switches.len(), uplinks.uplinks), (8, 8, 16, 32));
        let torus = builders::torus(&[3, 3], rate, Duration::ZERO).expect("a torus");
        assert!(Uplinks::of(&torus, Duration::from_us(1)).is_none());
    }
    #[test]
    fn a_sample_is_of_one_switch_and_one_interval() {
        let rate = ClosRates::all(Rate::from_gbps(10));
        let tree = builders::fat_tree(4, rate, Duration::ZERO).expect("a fat-tree");
        let mut uplinks = Uplinks::of(&tree, Duration::from_us(1)).expect("uplinks");
        let edge = uplinks.switches.iter().position(|switch| switch.tier == 1).expect("an edge switch");
        let (node, first) = (uplinks.switches[edge].node, uplinks.switches[edge].columns.start);
        let link = |column: usize| {
            let at = uplinks.columns.iter().position(|&other| other as usize == column);
            LinkId::of(at.expect("an uplink"))
        };
        let (left, right) = (link(first), link(first + 1));
        let down = tree.links_from(node).map(|(id, _)| id).find(|&id| id != left && id != right);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        uplinks.count(at(0), left, 300);
        uplinks.count(at(999), left, 200);
        uplinks.count(at(999), right, 100);
        uplinks.count(at(500), down.expect("a link to a host"), 1_000);
        uplinks.count(at(2_000), right, 100);
        // That interval is not over.
        uplinks.count(at(3_000), right, 100);
        let expected = [(1_000_000, 400.0 / 300.0), (3_000_000, 2.0)];
        let sample = |(at_ps, imbalance)| ImbalanceRecord { switch: node.0, tier: 1, at_ps, imbalance };
        assert_eq!(uplinks.imbalance(at(3_999)), expected.map(sample));
    }
}
