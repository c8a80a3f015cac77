//! Refuses runs that have stopped before their programs have ended. The error lists the waiting hosts and the links
//! that were down.

use crate::Error;
use raddle_core::{Change, LinkId, LinkStats, Time};
use raddle_topology::Topology;
use std::collections::BTreeMap;

/// Maximum number of waiting hosts, and of links, that an error lists.
const MOST_NAMED: usize = 10;

/// Refuses a run that has stopped at `now` because no further event will happen, although programs have not ended.
///
/// `waiting` has a text for each waiting program. `changes` are failures and repairs. `links` are the links'
/// statistics.
pub(super) fn refuse_waiting(
    waiting: &[String],
    changes: &[Change],
    links: &[LinkStats],
    topology: &Topology,
    now: Time,
) -> Result<(), Error> {
    if waiting.is_empty() {
        return Ok(());
    }
    let failed: Vec<String> = down(changes, now)
        .into_iter()
        .filter_map(|(id, since)| {
            let (link, lost) = (topology.link(id)?, links[id.index()].drops);
            let since = since.since(Time::ZERO);
            Some(format!(
                "the link {}->{} went down at {since}, and lost {lost} packets during the whole run",
                link.from, link.to
            ))
        })
        .collect();
    let mut what = format!("the run has stopped, but programs have not finished: {}", few(waiting));
    if !failed.is_empty() {
        what.push_str(". Failed links: ");
        what.push_str(&few(&failed));
    }
    Err(Error::Run(what))
}

/// Joins the first items of a list into a text. If more than `MOST_NAMED` items exist, the text ends with the number of
/// the others.
fn few(all: &[String]) -> String {
    let named = all[..all.len().min(MOST_NAMED)].join("; ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// The links that are down at `now`, with the time at which each went down.
fn down(changes: &[Change], now: Time) -> BTreeMap<LinkId, Time> {
    let mut down = BTreeMap::new();
    for change in Change::effective(changes.to_vec()).into_iter().filter(|change| change.at <= now) {
        for link in change.links {
            if change.up {
                down.remove(&link);
            } else {
                down.insert(link, change.at);
            }
        }
    }
    down
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Rate};
    use raddle_topology::builders;

    #[test]
    fn the_error_names_the_waiting_ranks_and_the_failed_links() {
        let star = builders::single_switch(2, Rate::from_gbps(10), Duration::ZERO).expect("a star");
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        let change = |ms, link, up| Change { at: at(ms), links: vec![link], up, discovery: Duration::ZERO };
        let [first, second] = [0, 1].map(LinkId);
        let changes = [change(1, first, false), change(1, second, false), change(2, second, true)];
        let mut links = vec![LinkStats::default(); star.link_slots()];
        links[0].drops = 7;
        let refused = |waiting: &[&str], now| {
            let waiting: Vec<String> = waiting.iter().map(ToString::to_string).collect();
            refuse_waiting(&waiting, &changes, &links, &star, now).map_err(|error| error.to_string())
        };
        assert_eq!(refused(&[], at(3)), Ok(()));
        let text = refused(&["rank 0 receives from 1"], at(3)).expect_err("it waits");
        assert!(
            text.contains(
                "rank 0 receives from 1. Failed links: the link 0->2 went down at 1 ms, and lost 7 packets during the whole run"
            ),
            "{text}"
        );
        assert_eq!(text.matches("->").count(), 1, "the other one is repaired: {text}");
        assert!(
            !refused(&["rank 0"], at(0)).expect_err("it waits").contains("Failed"),
            "no link has failed yet"
        );
    }
}
