//! Routing selection in a running rack (R2C2 §3.4). This module decides which node searches for a better assignment of
//! routing protocols to long flows, and when. It also resolves conflicts between the announcements of several nodes.
//!
//! An announcement contains an epoch number: one more than the highest epoch that the announcing node has received. If
//! a flow has several assignments, the assignment with the highest epoch is valid. If epochs are equal, the assignment
//! by the node with the highest number is valid. All nodes therefore agree, whatever the order in which announcements
//! arrive. A search takes no simulated time.

use super::entries::Entry;
use super::fabric::View;
use super::protocol_number::number;
use super::table::FlowTable;
use super::{Params, rates};
use raddle_allocate::selection::{Genetic, LongFlow, Objective, Problem, Search, Utility, is_significant};
use raddle_core::{Duration, NodeId, Stream, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::Assignment;
use rustc_hash::FxHashMap;

/// A flow that has existed for this number of intervals rho is a long flow, and takes part in selection.
pub(super) const LASTING_TICKS: u64 = 10;

/// The node that searches for a better assignment of routing protocols to long flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selecting {
    /// The live host with the lowest number, once a period.
    One,
    /// Each host, after a random time. The mean time is one period times the number of hosts, and the time is between
    /// half and one and a half times this mean. The wait restarts when another host makes an announcement.
    Random,
    /// The host that holds a token. The token visits the hosts in turn, one host per period. An announcement, possibly
    /// empty, passes the token on. If no announcement arrives for too long, the next host takes the token.
    Token,
}

/// The parameters of routing selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    /// The node that searches for a better assignment of routing protocols to long flows.
    pub by: Selecting,
    /// Nominal time between two searches in the rack.
    pub period: Duration,
    /// Routing protocols that may be selected.
    pub among: &'static [Protocol],
    /// The utility function that the search maximises.
    pub utility: Utility,
    /// Greatest number of assignments that one search evaluates.
    pub evaluations: u64,
}

/// The order of announcements: by epoch, which wraps, then by node number.
type Stamp = (u16, u16);

fn is_later(one: Stamp, other: Stamp) -> bool {
    let ahead = one.0.wrapping_sub(other.0).cast_signed();
    ahead > 0 || ahead == 0 && one.1 > other.1
}

/// One node's state in routing selection, and its timers.
#[derive(Debug)]
pub(super) struct Selector {
    id: NodeId,
    settings: Selection,
    stream: Stream,
    /// The highest stamp received.
    last: Stamp,
    /// Time at which the current wait began: at the latest announcement, at this node's latest search, or at the start
    /// of the timers. `None` while there are no flows.
    heard: Option<Time>,
    /// Time at which this node records the flows that exist. A recorded flow that still exists at `next` is a long
    /// flow.
    look: Time,
    /// Time of this node's next search.
    next: Time,
    /// The flows that this node last recorded, in order of handle.
    seen: Vec<u32>,
    /// The stamp of each flow's assignment.
    assigned: FxHashMap<u32, Stamp>,
}

impl Selector {
    /// The selector of node `id` in a run with this seed.
    pub(super) fn new(id: NodeId, settings: Selection, seed: u64) -> Self {
        Self {
            id,
            settings,
            stream: Stream::new(seed, id.0.into(), "r2c2/selection"),
            last: (0, 0),
            heard: None,
            look: Time::NEVER,
            next: Time::NEVER,
            seen: Vec::new(),
            assigned: FxHashMap::default(),
        }
    }

    /// Time of the next call of [`due`](Self::due), or [`Time::NEVER`].
    pub(super) fn wake(&self) -> Time {
        self.look.min(self.next)
    }

    /// Called when the table has flows: starts the timers. Returns true if the timers were not running.
    pub(super) fn begin(&mut self, now: Time, params: &Params, view: &View) -> bool {
        let begins = self.heard.is_none();
        if begins {
            self.heard = Some(now);
            self.set_timer(now, params, view);
        }
        begins
    }

    /// Called when the table is empty: stops the timers.
    pub(super) fn end(&mut self) {
        (self.heard, self.look, self.next) = (None, Time::NEVER, Time::NEVER);
    }

    /// Called after a topology change. Sources then announce the protocols of their flows again. Parts of the fabric
    /// that were disconnected have numbered their announcements independently, so the stamps of all assignments are
    /// discarded.
    pub(super) fn renew(&mut self, now: Time, params: &Params, view: &View) {
        self.assigned.clear();
        self.set_timer(now, params, view);
    }

    /// Sets the time of this node's next search. An announcement of another node before this time restarts the wait.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the cast of a period saturates, and node numbers have 32 bits"
    )]
    fn set_timer(&mut self, now: Time, params: &Params, view: &View) {
        let Some(heard) = self.heard else { return };
        let topology = view.routing.topology();
        let takes_part =
            |&node: &NodeId| topology.is_host(node) && view.routing.distance(self.id, node).is_some();
        let period = self.settings.period;
        let wait = match self.settings.by {
            _ if !topology.is_host(self.id) => None,
            Selecting::One => (topology.nodes().find(takes_part) == Some(self.id)).then_some(period),
            Selecting::Random => {
                let periods = topology.nodes().filter(takes_part).count() as f64 * (0.5 + self.stream.unit());
                Some(Duration::from_ps((period.as_ps() as f64 * periods).round() as u64))
            }
            Selecting::Token => {
                // Hosts take turns in order of their numbers, after the host that made the last announcement. Each host
                // waits one period longer than the host before it.
                let after = |node: NodeId| {
                    (node.0 + topology.node_count() as u32 - u32::from(self.last.1) - 1)
                        % topology.node_count() as u32
                };
                let before_me = |node: &NodeId| after(*node) < after(self.id);
                let earlier = topology.nodes().filter(takes_part).filter(before_me).count();
                Some(period * (1 + earlier as u64))
            }
        };
        self.next = wait.map_or(Time::NEVER, |wait| (heard + wait).max(now));
        let lasting = (params.rho * LASTING_TICKS).as_ps();
        self.look = if self.next == Time::NEVER {
            Time::NEVER
        } else {
            Time::from_ps(self.next.as_ps().saturating_sub(lasting)).max(now)
        };
    }

    /// Restarts the wait if the timers are running. An announcement that arrives after the last flow has ended starts
    /// no timer.
    fn wait_on(&mut self, now: Time, params: &Params, view: &View) {
        self.heard = self.heard.map(|_| now);
        self.set_timer(now, params, view);
    }

    /// Handles the arrival of an announcement.
    pub(super) fn hear(&mut self, now: Time, epoch: u16, src: u16, params: &Params, view: &View) {
        if is_later((epoch, src), self.last) {
            self.last = (epoch, src);
        }
        self.wait_on(now, params, view);
    }

    /// If the flow has no known assignment or an older assignment, records the new assignment and returns true.
    pub(super) fn counts(&mut self, epoch: u16, src: u16, flow: u32) -> bool {
        let counts = self.assigned.get(&flow).is_none_or(|&known| is_later((epoch, src), known));
        if counts {
            self.assigned.insert(flow, (epoch, src));
        }
        counts
    }

    /// Removes the stamps of flows that have ended, if there are far more stamps than flows in the table.
    pub(super) fn tidy(&mut self, table: &FlowTable) {
        if self.assigned.len() > 2 * table.len() + 64 {
            self.assigned.retain(|&flow, _| table.get(flow).is_some());
        }
    }

    /// Runs the actions that are due. If the node must make an announcement, returns the announcement's epoch and the
    /// new assignments.
    pub(super) fn due(
        &mut self,
        now: Time,
        table: &FlowTable,
        params: &Params,
        view: &View,
    ) -> Option<(u16, Vec<Assignment>)> {
        if self.look <= now {
            self.look = Time::NEVER;
            self.seen = table.all().iter().map(Entry::key).collect();
        }
        if self.next > now {
            return None;
        }
        let changes = self.search(table, params, view);
        let epoch = self.last.0.wrapping_add(1);
        if changes.is_empty() && self.settings.by != Selecting::Token {
            self.wait_on(now, params, view);
            return None;
        }
        Some((epoch, changes))
    }

    /// Searches for a better assignment. Returns the flows that should change their protocol, or no flow if the utility
    /// would not improve significantly.
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 256 routing protocols")]
    fn search(&mut self, table: &FlowTable, params: &Params, view: &View) -> Vec<Assignment> {
        let among = self.settings.among;
        let mut entries = table.all();
        entries.retain(|entry| {
            let (src, dst) = (NodeId(entry.src.into()), NodeId(entry.dst.into()));
            self.seen.binary_search(&entry.key()).is_ok() && view.routing.distance(src, dst).is_some()
        });
        let place = |entry: &Entry| among.iter().position(|one| number(*one) == entry.protocol());
        entries.retain(|entry| place(entry).is_some());
        let start: Vec<u8> = entries.iter().filter_map(place).map(|place| place as u8).collect();
        let flow = |(entry, weight): (&Entry, f64)| LongFlow {
            src: NodeId(entry.src.into()),
            dst: NodeId(entry.dst.into()),
            key: entry.key().into(),
            weight,
            class: entry.priority(),
            demand_bps: rates::demand_bps(entry.demand_kbps),
            tenant: params.policy.tenant(entry).into(),
        };
        let flows: Vec<LongFlow> = entries.iter().zip(params.policy.weights(&entries)).map(flow).collect();
        let Ok(problem) = Problem::new(&view.routing, &view.usable, flows, among) else {
            return Vec::new(); // after failures, the fabric no longer supports one of the protocols
        };
        let mut objective =
            Objective::new(&problem, self.settings.utility).limited_to(self.settings.evaluations);
        let present = objective.utility(&start);
        let found = Genetic::default().search(&mut objective, &start, &mut self.stream);
        if !is_significant(present, found.utility) {
            return Vec::new();
        }
        let chosen = entries.iter().zip(found.assignment.iter().zip(&start));
        chosen
            .filter(|(_, (chosen, present))| chosen != present)
            .map(|(entry, (&chosen, _))| Assignment {
                flow: entry.key(),
                protocol: number(among[usize::from(chosen)]),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fabric;
    use super::*;
    use raddle_core::Rate;
    use raddle_topology::builders;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    const SETTINGS: Selection = Selection {
        by: Selecting::One,
        period: Duration::from_ms(1),
        among: &[Protocol::Rps, Protocol::Vlb],
        utility: Utility::Aggregate,
        evaluations: 1,
    };

    #[test]
    fn epochs_wrap_and_nodes_break_ties() {
        assert!(is_later((1, 0), (0, 9)) && !is_later((0, 9), (1, 0)));
        assert!(is_later((0, 0), (u16::MAX, 0)) && !is_later((u16::MAX, 0), (0, 0)));
        assert!(is_later((5, 3), (5, 2)) && !is_later((5, 2), (5, 2)));
    }

    #[test]
    fn timers_run_while_there_are_flows() {
        let topology =
            builders::torus(&[2, 2], Rate::from_gbps(1), Duration::from_ns(100)).expect("valid dims");
        let params = Params::default();
        let view = &Fabric::new(&Arc::new(topology), params).view(&BTreeSet::new());
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        for by in [Selecting::One, Selecting::Random, Selecting::Token] {
            let mut selector = Selector::new(NodeId(0), Selection { by, ..SETTINGS }, 1);
            selector.hear(at(1), 1, 3, &params, view);
            assert_eq!(selector.wake(), Time::NEVER, "{by:?}: there are no flows");
            assert!(selector.begin(at(2), &params, view) && !selector.begin(at(3), &params, view));
            assert!(selector.wake() < Time::NEVER, "{by:?}");
            selector.end();
            selector.hear(at(4), 2, 3, &params, view);
            selector.renew(at(5), &params, view);
            assert_eq!(selector.wake(), Time::NEVER, "{by:?}: the flows have ended");
        }
    }

    #[test]
    fn the_order_in_which_assignments_arrive_does_not_matter() {
        // Epoch, node and assigned protocol: nodes 3 and 8 announce in the same epoch, and then node 3 announces again.
        let heard = [(7, 3, 0), (7, 8, 1), (8, 3, 2)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut selector = Selector::new(NodeId(0), SETTINGS, 1);
            let mut protocol = None;
            for (epoch, src, says) in order.map(|i: usize| heard[i]) {
                if selector.counts(epoch, src, 1) {
                    protocol = Some(says);
                }
            }
            assert_eq!(protocol, Some(2), "{order:?}");
        }
    }
}
