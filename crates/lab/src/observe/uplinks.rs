//! Counts the bytes that switches send on their uplinks, in intervals.

use raddle_core::{Duration, LinkId, NodeId, Time};
use raddle_records::{ImbalanceRecord, imbalance};
use raddle_topology::Topology;
use std::collections::{BTreeMap, VecDeque};

/// A switch and the number of its uplinks. Uplinks are links that lead away from hosts.
struct Switch {
    node: NodeId,
    tier: u32,
    uplinks: u32,
}

/// The switch of an uplink, and the uplink's number at that switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Uplink {
    switch: u32,
    number: u32,
}

/// Counts the bytes sent on each uplink, in intervals of equal length from the start of the run. A packet is counted in
/// the interval in which its last bit leaves. Stores 8 bytes per uplink for each switch and interval in which the
/// switch sent something upward.
pub(crate) struct Uplinks {
    interval: Duration,
    switches: Vec<Switch>,
    /// Indexed by link; set only for uplinks of switches with two or more uplinks.
    links: Vec<Option<Uplink>>,
    /// Bytes sent on each uplink of a switch in an interval. The key is the number of the interval and the index of the
    /// switch.
    sent: BTreeMap<(u64, u32), Box<[u64]>>,
}

impl Uplinks {
    /// Observes every switch with two or more uplinks; `None` if there is no such switch.
    pub(crate) fn of(topology: &Topology, interval: Duration) -> Option<Self> {
        let tiers = tiers(topology);
        let mut links = vec![None; topology.link_slots()];
        let mut switches = Vec::new();
        for node in topology.nodes().filter(|&node| !topology.is_host(node)) {
            let tier = tiers[node.index()];
            let up = topology.links_from(node).filter(|(_, link)| tiers[link.to.index()] > tier);
            let up: Vec<LinkId> = up.map(|(id, _)| id).collect();
            if up.len() < 2 {
                continue;
            }
            let switch = u32::try_from(switches.len()).expect("the number of switches must fit in 32 bits");
            let uplinks = u32::try_from(up.len()).expect("the number of uplinks must fit in 32 bits");
            switches.push(Switch { node, tier, uplinks });
            for (number, id) in (0..).zip(up) {
                links[id.index()] = Some(Uplink { switch, number });
            }
        }
        (!switches.is_empty()).then_some(Self { interval, switches, links, sent: BTreeMap::new() })
    }

    /// Counts a packet of `size` bytes whose last bit leaves by `link` at `sent`.
    pub(crate) fn count(&mut self, sent: Time, link: LinkId, size: u32) {
        let Some(Uplink { switch, number }) = self.links[link.index()] else { return };
        let interval = sent.as_ps() / self.interval.as_ps();
        let uplinks = self.switches[switch as usize].uplinks as usize;
        let sent = self.sent.entry((interval, switch)).or_insert_with(|| vec![0; uplinks].into());
        sent[number as usize] += u64::from(size);
    }

    /// The imbalance of every switch in every interval that was complete by `end`, in order of time. Intervals in which
    /// the switch sent nothing upward are left out.
    pub(crate) fn imbalance(&self, end: Time) -> Vec<ImbalanceRecord> {
        let interval = self.interval.as_ps();
        let sample = |number: u64, switch: u32, sent: &[u64]| {
            let &Switch { node, tier, .. } = &self.switches[switch as usize];
            let at_ps = (number + 1) * interval;
            Some(ImbalanceRecord { switch: node.0, tier, at_ps, imbalance: imbalance(sent)? })
        };
        let over = self.sent.range(..(end.as_ps() / interval, 0));
        over.filter_map(|(&(number, switch), sent)| sample(number, switch, sent)).collect()
    }
}

/// The distance in links of each node from the nearest host: 0 for hosts, `u32::MAX` for nodes that no host can reach.
pub(crate) fn tiers(topology: &Topology) -> Vec<u32> {
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
        let links = uplinks.links.iter().flatten().count();
        assert_eq!((at(1), at(2), uplinks.switches.len(), links), (8, 8, 16, 32));
        let torus = builders::torus(&[3, 3], rate, Duration::ZERO).expect("a torus");
        assert!(Uplinks::of(&torus, Duration::from_us(1)).is_none());
    }

    #[test]
    fn a_sample_is_of_one_switch_and_one_interval() {
        let rate = ClosRates::all(Rate::from_gbps(10));
        let tree = builders::fat_tree(4, rate, Duration::ZERO).expect("a fat-tree");
        let mut uplinks = Uplinks::of(&tree, Duration::from_us(1)).expect("uplinks");
        let edge = uplinks.switches.iter().position(|switch| switch.tier == 1).expect("an edge switch");
        let node = uplinks.switches[edge].node;
        let link = |number| {
            let uplink = Uplink { switch: u32::try_from(edge).expect("few switches"), number };
            LinkId::of(uplinks.links.iter().position(|&other| other == Some(uplink)).expect("an uplink"))
        };
        let (left, right) = (link(0), link(1));
        let down = tree.links_from(node).map(|(id, _)| id).find(|&id| id != left && id != right);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        uplinks.count(at(0), left, 300);
        uplinks.count(at(999), left, 200);
        uplinks.count(at(999), right, 100);
        uplinks.count(at(500), down.expect("a link to a host"), 1_000);
        uplinks.count(at(2_000), right, 100);
        // The interval from 3 to 4 us is not complete at 3.999 us.
        uplinks.count(at(3_000), right, 100);
        let expected = [(1_000_000, 400.0 / 300.0), (3_000_000, 2.0)];
        let sample = |(at_ps, imbalance)| ImbalanceRecord { switch: node.0, tier: 1, at_ps, imbalance };
        assert_eq!(uplinks.imbalance(at(3_999)), expected.map(sample));
    }

    #[test]
    fn short_intervals_and_long_pauses_cost_no_memory() {
        let rate = ClosRates::all(Rate::from_gbps(10));
        let tree = builders::fat_tree(4, rate, Duration::ZERO).expect("a fat-tree");
        let mut uplinks = Uplinks::of(&tree, Duration::from_ps(1)).expect("uplinks");
        let link = LinkId::of(uplinks.links.iter().position(Option::is_some).expect("an uplink"));
        let hour = Time::ZERO + Duration::from_ms(3_600_000);
        uplinks.count(hour, link, 1_500);
        let ends: Vec<_> = uplinks.imbalance(Time::NEVER).iter().map(|row| row.at_ps).collect();
        assert_eq!(ends, [hour.as_ps() + 1]);
    }
}
