//! Failures and repairs as data: a set of links changes state at a given time, and all nodes learn of the change after
//! a delay.

use crate::{Duration, LinkId, Time};
use std::collections::BTreeMap;

/// Directed links that go down or come up together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Time of the change. Packets that are queued for a failing link or travel over it are lost.
    pub at: Time,
    /// The links that change. If a node fails, these are all links to and from the node.
    pub links: Vec<LinkId>,
    /// True if the links come up.
    pub up: bool,
    /// Time from the change until topology discovery has told every node.
    pub discovery: Duration,
}

/// The number of a link's failures that are not repaired, and the time from which all nodes know of the link's latest
/// change.
#[derive(Default)]
struct History {
    /// Number of failures that have not been repaired.
    failures: u32,
    /// Time from which all nodes know of the link's latest change.
    known: Time,
}

impl Change {
    /// Returns the changes in order of time. Each change has only the links whose state really changes. If failures of
    /// a link overlap, the link is down from the first failure to the last repair. Nodes learn of a link's changes in
    /// the order of the changes: a fast discovery waits until the slower discovery of an earlier change is complete.
    #[must_use]
    pub fn effective(mut changes: Vec<Self>) -> Vec<Self> {
        // If one failure of a link begins at the instant at which another failure ends, the link stays down.
        changes.sort_by_key(|change| (change.at, change.up));
        let mut histories: BTreeMap<LinkId, History> = BTreeMap::new();
        for change in &mut changes {
            change.links.retain(|&link| {
                let failures = &mut histories.entry(link).or_default().failures;
                let before = *failures;
                *failures = if change.up { before.saturating_sub(1) } else { before + 1 };
                (before == 0) != (*failures == 0)
            });
            let known_before = change.links.iter().map(|link| histories[link].known).max();
            let known = known_before.unwrap_or_default().max(change.at + change.discovery);
            change.discovery = known.since(change.at);
            for link in &change.links {
                histories.entry(*link).or_default().known = known;
            }
        }
        changes.retain(|change| !change.links.is_empty());
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(changes: Vec<Change>) -> Vec<Change> {
        Change::effective(changes)
    }

    fn change(at_us: u64, links: &[u32], up: bool, discovery_us: u64) -> Change {
        Change {
            at: Time::ZERO + Duration::from_us(at_us),
            links: links.iter().copied().map(LinkId).collect(),
            up,
            discovery: Duration::from_us(discovery_us),
        }
    }

    #[test]
    fn a_link_with_two_failures_is_up_when_both_are_repaired() {
        let changes = vec![
            change(1, &[0], false, 0),       // a link fails
            change(2, &[0, 1, 2], false, 0), // a node at one end of that link fails
            change(3, &[0], true, 0),
            change(4, &[0, 1, 2], true, 0),
        ];
        let expected =
            [change(1, &[0], false, 0), change(2, &[1, 2], false, 0), change(4, &[0, 1, 2], true, 0)];
        assert_eq!(effective(changes), expected);
    }

    #[test]
    fn a_failure_in_the_instant_of_a_repair_leaves_the_link_down() {
        let changes = vec![change(1, &[0], false, 0), change(2, &[0], true, 0), change(2, &[0], false, 0)];
        assert_eq!(effective(changes), [change(1, &[0], false, 0)]);
    }

    #[test]
    fn the_repair_of_a_working_link_changes_nothing() {
        assert_eq!(effective(vec![change(1, &[0], true, 0)]), []);
    }

    #[test]
    fn changes_of_a_link_are_discovered_in_order() {
        let changes =
            vec![change(1, &[0], false, 10), change(2, &[0, 1], true, 3), change(2, &[1], false, 3)];
        let expected = [change(1, &[0], false, 10), change(2, &[1], false, 3), change(2, &[0, 1], true, 9)];
        assert_eq!(effective(changes), expected);
    }
}
