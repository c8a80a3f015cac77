//! Finds links that wait for each other in a cycle: a deadlock of a fabric whose links have flow control.

use raddle_core::LinkId;
use rustc_hash::FxHashMap;

/// Remembers which ports were paused with waiting packets at the latest call of [`look`](Self::look).
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    /// Ports that had packets to send and a paused class. For each port, the number of data packets whose transmission
    /// had begun.
    held: FxHashMap<LinkId, u64>,
}

impl Watchdog {
    /// Checks for a deadlock. `held` contains the ports that have a paused class and packets to send, each with the
    /// number of data packets whose transmission has begun. `waits` returns pairs of links: a packet that arrived over
    /// the first link waits for the second link. Returns a cycle of links that wait for each other. Each of these links
    /// was in `held` at the previous call too, and has begun to send no data packet since that call.
    pub(crate) fn look(
        &mut self,
        held: FxHashMap<LinkId, u64>,
        waits: impl FnOnce() -> Vec<(LinkId, LinkId)>,
    ) -> Option<Vec<LinkId>> {
        let stuck = |link: &LinkId| held.get(link).is_some_and(|sent| self.held.get(link) == Some(sent));
        let cycle = if held.keys().any(&stuck) { cycle(closed(waits(), stuck)) } else { None };
        self.held = held;
        cycle
    }
}

/// Returns the edges that belong to deadlocks or lead only to deadlocks. An edge is a pair of links: a packet that
/// arrived over the first link waits for the second link. The function removes all edges that start at a link that can
/// still move. A link can move if it is not stuck, if no edge starts at it, or if a packet that arrived over it waits
/// for a link that can move. The memory at the far end of such a link will eventually be freed.
fn closed(mut edges: Vec<(LinkId, LinkId)>, stuck: impl Fn(&LinkId) -> bool) -> Vec<(LinkId, LinkId)> {
    loop {
        let mut sources: Vec<LinkId> = edges.iter().map(|&(link, _)| link).collect();
        sources.sort_unstable();
        sources.dedup();
        let waits = |link: &LinkId| stuck(link) && sources.binary_search(link).is_ok();
        let mut free: Vec<LinkId> =
            edges.iter().filter(|(link, next)| !waits(link) || !waits(next)).map(|&(link, _)| link).collect();
        if free.is_empty() {
            return edges;
        }
        free.sort_unstable();
        edges.retain(|(link, _)| free.binary_search(link).is_err());
    }
}

/// Returns a cycle of a graph given by its edges, or `None` if there are no edges. Each link to which an edge leads
/// must also have an edge that starts there. The function starts at the lowest link, always follows the first edge, and
/// returns the cycle that this walk reaches.
fn cycle(mut edges: Vec<(LinkId, LinkId)>) -> Option<Vec<LinkId>> {
    edges.sort_unstable();
    edges.dedup();
    let next = |link: LinkId| edges.get(edges.partition_point(|&(from, _)| from < link)).map(|&(_, to)| to);
    let mut path = vec![edges.first()?.0];
    loop {
        let link = next(path[path.len() - 1])?;
        if let Some(start) = path.iter().position(|&other| other == link) {
            return Some(path.split_off(start));
        }
        path.push(link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(edges: &[(u32, u32)]) -> Vec<(LinkId, LinkId)> {
        edges.iter().map(|&(from, to)| (LinkId(from), LinkId(to))).collect()
    }

    #[test]
    fn a_cycle_is_found_among_chains() {
        let found = |edges: &[(u32, u32)]| cycle(closed(links(edges), |_| true));
        assert_eq!(found(&[(0, 1), (1, 2), (3, 1)]), None);
        let circle = [(0, 1), (1, 3), (3, 4), (4, 1)];
        assert_eq!(found(&circle), Some([1, 3, 4].map(LinkId).to_vec()));
        let way_out = [(0, 1), (1, 3), (3, 4), (4, 1), (4, 2), (2, 5)];
        assert_eq!(found(&way_out), None, "link 5 leads to a host, so its packets can still leave");
    }

    #[test]
    fn only_links_stuck_since_the_last_check_count() {
        let held = |sent: u64| [(LinkId(0), sent), (LinkId(1), 7)].into_iter().collect();
        let circle = || links(&[(0, 1), (1, 0)]);
        let mut watchdog = Watchdog::default();
        assert_eq!(watchdog.look(held(3), circle), None);
        assert_eq!(watchdog.look(held(4), circle), None, "the first port has sent a packet");
        assert_eq!(watchdog.look(held(4), circle), Some(vec![LinkId(0), LinkId(1)]));
    }
}
