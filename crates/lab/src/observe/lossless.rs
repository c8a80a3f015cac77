//! Measures flow control on links, and reports two errors under flow control: a lost packet, and a deadlock (a cycle of
//! links that wait for each other).

use crate::Error;
use crate::notation::percent;
use raddle_core::{Drops, Duration, FlowControlAccount, LinkId, LinkStats, NodeId, Time};
use raddle_records::{FlowControlRecord, stats};
use raddle_topology::Topology;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// Default simulated time between two deadlock checks. It is much longer than usual pauses without a deadlock.
pub(crate) const WATCHDOG: Duration = Duration::from_ms(10);

/// The record of each link with flow control, for a run that ended at `now`.
pub(crate) fn records(
    accounts: &[(LinkId, FlowControlAccount)],
    topology: &Topology,
    now: Time,
) -> Vec<FlowControlRecord> {
    let record = |&(id, account): &(LinkId, FlowControlAccount)| {
        let link = topology.link(id)?;
        let paused_ps = account.paused.as_ps();
        Some(FlowControlRecord {
            link: id.0,
            from: link.from.0,
            to: link.to.0,
            paused_ps,
            paused_share: paused_ps as f64 / now.as_ps().max(1) as f64,
            pauses_sent: account.pauses,
            peak_memory_bytes: account.peak_memory,
            overflows: account.overflows,
        })
    };
    accounts.iter().filter_map(record).collect()
}

/// Returns an error if flow control was used and a packet was nevertheless dropped because a node's memory or a queue
/// was full.
pub(crate) fn refuse_losses(
    controls: &[FlowControlRecord],
    links: &[LinkStats],
    drops: &Drops,
    topology: &Topology,
) -> Result<(), Error> {
    if let Some(FlowControlRecord { from, to, overflows, .. }) = controls.iter().find(|row| row.overflows > 0)
    {
        let what = format!(
            "the run was not lossless: node {from} dropped {overflows} packets from node {to} because the \
             buffer of the port was full; give flow control more headroom"
        );
        return Err(Error::Run(what));
    }
    if controls.is_empty() || drops.queue_full == 0 {
        return Ok(());
    }
    let losses = topology.links().map(|(id, link)| (link, links[id.index()].drops));
    let Some((link, _)) = losses.max_by_key(|&(_, drops)| drops) else { return Ok(()) };
    let what = format!(
        "the run was not lossless: full queues dropped {} packets; the link with the most drops is {}->{}",
        drops.queue_full, link.from, link.to
    );
    Err(Error::Run(what))
}

/// The error about a deadlock. In a deadlock, the links of a cycle wait for each other.
pub(crate) fn deadlock(cycle: &[LinkId], topology: &Topology, now: Time) -> Error {
    let mut nodes: Vec<String> =
        cycle.iter().filter_map(|&link| Some(topology.link(link)?.from.to_string())).collect();
    nodes.extend(nodes.first().cloned());
    let at = now.as_ps() as f64 / 1e9;
    Error::Run(format!("deadlock at {at:.3} ms: links wait for each other in a cycle: {}", nodes.join("->")))
}

/// Totals of flow control over all links.
#[derive(Debug, Clone)]
pub(crate) struct Pauses {
    /// Number of links with flow control.
    links: usize,
    /// Number of these links that were paused at least once.
    paused_links: usize,
    pauses: u64,
    /// Mean over links of the share of the run for which a link was paused.
    share_mean: f64,
    /// Maximum over links of the share of the run for which a link was paused.
    share_max: f64,
    /// Largest number of bytes that packets of a single class from one link took in the receiving node's memory.
    peak_memory: u64,
    /// One entry for each level, from hosts up. The level of a node is its distance in links from the nearest host.
    levels: Vec<Level>,
    /// Length of the longest chain of links over which pauses spread; `None` without pauses, or if their origin is
    /// unknown.
    spread: Option<u32>,
}

/// Totals of flow control at ports of nodes with the same distance from the nearest host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Level {
    /// Number of ports.
    links: usize,
    /// Number of ports that were paused at least once.
    paused_links: usize,
    /// Number of pauses that these ports sent to their neighbours.
    pauses: u64,
}

impl Pauses {
    /// The totals over a fabric's links; `None` if the links have no flow control.
    pub(crate) fn of(rows: &[FlowControlRecord], topology: &Topology) -> Option<Self> {
        let shares: Vec<f64> = rows.iter().map(|row| row.paused_share).collect();
        Some(Self {
            links: rows.len(),
            paused_links: rows.iter().filter(|row| row.paused_ps > 0).count(),
            pauses: rows.iter().map(|row| row.pauses_sent).sum(),
            share_mean: stats::mean(&shares)?,
            share_max: shares.into_iter().fold(0.0, f64::max),
            peak_memory: rows.iter().map(|row| row.peak_memory_bytes).max()?,
            levels: levels(rows, topology),
            spread: spread(rows),
        })
    }

    pub(crate) fn json(&self) -> Value {
        let Self { links, paused_links, pauses, share_mean, share_max, peak_memory, levels, spread } = self;
        let level = |(level, of): (usize, &Level)| {
            let Level { links, paused_links, pauses } = of;
            json!({ "level": level, "links": links, "paused_links": paused_links, "pauses": pauses })
        };
        json!({
            "links": links,
            "paused_links": paused_links,
            "pauses": pauses,
            "paused_share_mean": share_mean,
            "paused_share_max": share_max,
            "peak_memory_bytes": peak_memory,
            "levels": levels.iter().enumerate().map(level).collect::<Vec<_>>(),
            "spread": spread,
        })
    }
}

/// The totals of each level.
fn levels(rows: &[FlowControlRecord], topology: &Topology) -> Vec<Level> {
    let distances = distances_from_hosts(topology);
    let mut levels = Vec::new();
    for row in rows {
        let Some(level) = distances[row.from as usize] else { continue };
        if levels.len() <= level {
            levels.resize(level + 1, Level::default());
        }
        let level: &mut Level = &mut levels[level];
        level.links += 1;
        level.paused_links += usize::from(row.paused_ps > 0);
        level.pauses += row.pauses_sent;
    }
    levels
}

/// The distance in links of each node from the nearest host; `None` if no host can reach the node.
fn distances_from_hosts(topology: &Topology) -> Vec<Option<usize>> {
    let mut distances = vec![None; topology.node_count()];
    let mut reached: Vec<NodeId> = topology.hosts().collect();
    for distance in 0.. {
        reached.retain(|node| distances[node.index()].is_none());
        if reached.is_empty() {
            break;
        }
        for node in &reached {
            distances[node.index()] = Some(distance);
        }
        let next = |&node: &NodeId| topology.links_from(node).map(|(_, link)| link.to);
        reached = reached.iter().flat_map(next).collect();
    }
    distances
}

/// Length of the longest chain of paused links that starts at an origin of congestion. The origins are nodes that
/// paused other nodes and were not paused themselves. Returns `None` if there is no origin. A link's position in the
/// chain is its shortest distance from an origin.
fn spread(rows: &[FlowControlRecord]) -> Option<u32> {
    let mut paused: Vec<(u32, u32)> =
        rows.iter().filter(|row| row.paused_ps > 0).map(|row| (row.to, row.from)).collect();
    paused.sort_unstable();
    let paused_towards = |node: u32| {
        let first = paused.partition_point(|&(to, _)| to < node);
        paused[first..].iter().take_while(move |&&(to, _)| to == node).map(|&(_, from)| from)
    };
    let held: BTreeSet<u32> = paused.iter().map(|&(_, from)| from).collect();
    let mut reached: BTreeSet<u32> =
        paused.iter().map(|&(to, _)| to).filter(|to| !held.contains(to)).collect();
    let mut seen = reached.clone();
    let mut spread = 0;
    loop {
        let next: BTreeSet<u32> = reached.iter().flat_map(|&node| paused_towards(node)).collect();
        if next.is_empty() {
            return (spread > 0).then_some(spread);
        }
        spread += 1;
        reached = next.into_iter().filter(|&node| seen.insert(node)).collect();
    }
}

impl fmt::Display for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { links, paused_links, pauses, peak_memory, .. } = self;
        let [mean, max] = [self.share_mean, self.share_max].map(percent);
        writeln!(f, "pauses       {pauses}, on {paused_links} of {links} links")?;
        write!(f, "paused share {mean} of the run (mean over links), {max} for the most paused link; ")?;
        write!(f, "peak memory of a port {peak_memory} B")?;
        if *pauses > 0 {
            let level = |of: &Level| format!("{} of {}", of.paused_links, of.links);
            let levels: Vec<String> = self.levels.iter().map(level).collect();
            let levels = levels.join(", ");
            write!(f, "\npaused ports {levels} (level by level, from the hosts up)")?;
        }
        self.spread.map_or(Ok(()), |links| write!(f, "; pauses spread over a chain of {links} links"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Rate;
    use raddle_topology::{XgftSize, builders};

    /// One switch, which is node 2, with two hosts.
    fn star() -> Topology {
        builders::single_switch(2, Rate::from_gbps(10), Duration::ZERO).expect("a star")
    }

    fn link(topology: &Topology, from: u32, to: u32) -> LinkId {
        let mut links = topology.links_from(NodeId(from));
        links.find(|(_, link)| link.to == NodeId(to)).expect("a link").0
    }

    #[test]
    fn a_packet_that_found_no_room_ends_the_run() {
        let star = star();
        let links = vec![LinkStats::default(); star.link_slots()];
        let account = FlowControlAccount { overflows: 3, ..FlowControlAccount::default() };
        let rows = |account| records(&[(link(&star, 2, 0), account)], &star, Time::ZERO);
        let overflown = refuse_losses(&rows(account), &links, &Drops::default(), &star);
        let text = overflown.expect_err("a loss").to_string();
        assert!(text.contains("node 2 dropped 3 packets from node 0"), "{text}");

        let drops = Drops { queue_full: 5, ..Drops::default() };
        let mut links = links;
        links[link(&star, 2, 1).index()].drops = 5;
        assert!(
            refuse_losses(&[], &links, &drops, &star).is_ok(),
            "without flow control packets may be lost"
        );
        let lost = refuse_losses(&rows(FlowControlAccount::default()), &links, &drops, &star);
        let text = lost.expect_err("a loss").to_string();
        assert!(text.contains("5 packets; the link with the most drops is 2->1"), "{text}");
    }

    #[test]
    fn a_circle_is_named_by_its_nodes() {
        let star = star();
        let cycle = [link(&star, 2, 0), link(&star, 0, 2)];
        let text = deadlock(&cycle, &star, Time::ZERO + WATCHDOG).to_string();
        assert!(
            text.ends_with("deadlock at 10.000 ms: links wait for each other in a cycle: 2->0->2"),
            "{text}"
        );
    }

    #[test]
    fn pauses_are_summed_over_links() {
        let star = star();
        let account = |paused, pauses| FlowControlAccount { paused, pauses, ..FlowControlAccount::default() };
        let accounts = [
            (link(&star, 0, 2), account(Duration::from_ms(1), 0)),
            (link(&star, 2, 0), account(Duration::ZERO, 4)),
        ];
        let rows = records(&accounts, &star, Time::ZERO + Duration::from_ms(4));
        let text = Pauses::of(&rows, &star).expect("links with flow control").to_string();
        assert!(text.contains("4, on 1 of 2 links"), "{text}");
        assert!(text.contains("12.5% of the run (mean over links), 25% for the most"), "{text}");
        assert!(Pauses::of(&[], &star).is_none());
    }

    #[test]
    fn pauses_are_counted_by_level_and_followed_to_where_they_began() {
        let tree = builders::xgft(XgftSize::k_ary_n_tree(2, 3), Rate::from_gbps(10), Duration::ZERO);
        let tree = tree.expect("a tree with 8 hosts, and with 4 switches on each level");
        let host = NodeId(0);
        let up = |node| tree.links_from(node).map(|(_, link)| link.to).max().expect("a node above");
        let path = [host, up(host), up(up(host)), up(up(up(host)))];
        let paused = |from: NodeId, to: NodeId| {
            let account = FlowControlAccount { paused: Duration::from_ms(1), ..Default::default() };
            (link(&tree, from.0, to.0), account)
        };
        // The root is congested and pauses the link from below. The pauses then spread to the links further down.
        let mut accounts: Vec<_> = path.windows(2).map(|pair| paused(pair[0], pair[1])).collect();
        let root = link(&tree, path[3].0, path[2].0);
        accounts.push((root, FlowControlAccount { pauses: 4, ..Default::default() }));
        let of = |accounts: &[_]| {
            Pauses::of(&records(accounts, &tree, Time::ZERO + Duration::from_ms(4)), &tree).expect("links")
        };
        let pauses = of(&accounts);
        assert_eq!(pauses.spread, Some(3));
        let level = |paused_links, links, pauses| Level { links, paused_links, pauses };
        assert_eq!(pauses.levels, [level(1, 1, 0), level(1, 1, 0), level(1, 1, 0), level(0, 1, 4)]);
        assert!(
            pauses.to_string().contains("1 of 1, 1 of 1, 1 of 1, 0 of 1 (level by level, from"),
            "{pauses}"
        );
        // If the pauses form a cycle, their origin is unknown.
        assert_eq!(of(&[paused(path[1], path[2]), paused(path[2], path[1])]).spread, None);
    }
}
