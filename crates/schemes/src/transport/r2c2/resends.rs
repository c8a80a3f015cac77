//! Recovery of broadcasts that arrive damaged (R2C2 §3.2). A damaged packet cannot be identified. A node that receives
//! a damaged packet therefore asks the neighbour to repeat the recent broadcasts over the link. The neighbour answers
//! with the current state of the flows in these broadcasts, so that old state never replaces newer state.

use super::PortSet;
use super::table::FlowTable;
use raddle_core::{Duration, PortId, Time};
use raddle_wire::r2c2::{Event, EventKind};
use std::collections::{BTreeMap, VecDeque};

/// Least time between two requests over a link. If answers are damaged too, repeated answers must not fill the link.
const GAP: Duration = Duration::from_us(50);
/// Age limit of broadcasts that are sent again. The flow number in an older broadcast may soon be reused.
const LATELY: Duration = Duration::from_ms(5);

/// One node's recent broadcasts, and its requests to neighbours.
#[derive(Debug, Default)]
pub(super) struct Resends {
    /// Greatest number of broadcasts in `said`.
    most: usize,
    said: VecDeque<(Time, Event)>,
    /// By port: the earliest time at which the next request may be sent to the neighbour, and whether a request is
    /// needed.
    asking: BTreeMap<PortId, (Time, bool)>,
}

impl Resends {
    /// An empty memory with room for `a_link` broadcasts per link, for a node with `links` links. If `a_link` is zero,
    /// the node neither remembers broadcasts nor sends requests.
    pub(super) fn new(a_link: usize, links: usize) -> Self {
        Self { most: a_link * links, ..Self::default() }
    }

    /// Remembers a broadcast that the node sends or forwards.
    pub(super) fn said(&mut self, now: Time, event: &Event) {
        if self.most > 0 {
            if self.said.len() == self.most {
                self.said.pop_front();
            }
            self.said.push_back((now, *event));
        }
    }

    /// Called when a damaged packet has arrived at a port.
    pub(super) fn damaged(&mut self, now: Time, port: PortId) {
        if self.most > 0 {
            self.asking.entry(port).or_insert((now, true)).1 = true;
        }
    }

    /// Time of the next request to a neighbour, or [`Time::NEVER`].
    pub(super) fn next_due(&self) -> Time {
        let due = self.asking.values().filter(|&&(_, must)| must).map(|&(at, _)| at);
        due.min().unwrap_or(Time::NEVER)
    }

    /// The port of a neighbour to which the node must send a request now; `None` if no request is due. The request then
    /// counts as sent: the next request over this port is at least [`GAP`] later.
    pub(super) fn due(&mut self, now: Time) -> Option<PortId> {
        let (&port, asking) = self.asking.iter_mut().find(|(_, (at, must))| *must && *at <= now)?;
        *asking = (now + GAP, false);
        Some(port)
    }

    /// The answer to a neighbour's request: events about the flows in the last `a_link` broadcasts over the neighbour's
    /// link, except broadcasts that are at least [`LATELY`] old. `passes` returns true for broadcasts that use this
    /// link.
    pub(super) fn answer(
        &self,
        now: Time,
        a_link: usize,
        table: &FlowTable,
        passes: impl Fn(&Event) -> bool,
    ) -> Vec<Event> {
        let lately = self.said.iter().rev().take_while(|(at, _)| *at + LATELY > now).map(|(_, event)| event);
        let mut answer: Vec<Event> = Vec::new();
        for event in lately.filter(|event| passes(event)).take(a_link) {
            if answer.iter().any(|newer| newer.flow() == event.flow()) {
                continue;
            }
            match table.get(event.flow()) {
                Some(entry) => answer.push(entry.event(EventKind::Refresh, event.tree)),
                None if event.kind == EventKind::Finish => answer.push(*event),
                // The flow may still be live, although it is not in this node's table.
                None => {}
            }
        }
        answer
    }
}

/// True if `ports` contains `port`.
pub(super) fn is_among(port: PortId, mut ports: PortSet) -> bool {
    ports.any(|other| other == port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn event(kind: EventKind, lid: u16, demand_kbps: u32) -> Event {
        Event { kind, tree: 2, src: 5, dst: 9, weight: 1, priority: 8, protocol: 0, demand_kbps, lid }
    }

    /// The state of a node that has forwarded these events in order, one per microsecond.
    fn told(most: usize, events: &[Event]) -> (Resends, FlowTable) {
        let (mut resends, mut table) = (Resends::new(most, 1), FlowTable::default());
        for (now, event) in (1..).map(at).zip(events) {
            table.apply(now, event);
            resends.said(now, event);
        }
        (resends, table)
    }

    #[test]
    fn an_answer_reports_the_current_state_with_each_flow_once() {
        let (start, demand) = (event(EventKind::Start, 1, 100), event(EventKind::Demand, 1, 50));
        let (resends, table) = told(8, &[start, demand, event(EventKind::Start, 2, 7)]);
        let answer = resends.answer(at(9), 8, &table, |_| true);
        assert_eq!(answer, [event(EventKind::Refresh, 2, 7), event(EventKind::Refresh, 1, 50)]);
    }

    #[test]
    fn a_flow_that_has_ended_is_not_brought_back() {
        let (resends, table) = told(8, &[event(EventKind::Start, 1, 0), event(EventKind::Finish, 1, 0)]);
        assert_eq!(resends.answer(at(9), 8, &table, |_| true), [event(EventKind::Finish, 1, 0)]);
    }

    #[test]
    fn a_flow_that_was_forgotten_is_not_declared_dead() {
        let (resends, mut table) = told(8, &[event(EventKind::Start, 1, 0)]);
        table.retain(at(5), |_| false);
        assert_eq!(resends.answer(at(9), 8, &table, |_| true), []);
    }

    #[test]
    fn an_answer_is_of_the_last_broadcasts_over_that_link() {
        let starts: Vec<Event> = (1..=6).map(|lid| event(EventKind::Start, lid, 0)).collect();
        let (resends, table) = told(5, &starts);
        let lids = |answer: Vec<Event>| answer.iter().map(|event| event.lid).collect::<Vec<_>>();
        assert_eq!(lids(resends.answer(at(9), 2, &table, |_| true)), [6, 5]);
        assert_eq!(lids(resends.answer(at(9), 8, &table, |event| event.lid % 2 == 0)), [6, 4, 2]);
        assert_eq!(
            lids(resends.answer(at(5_005), 8, &table, |_| true)),
            [6],
            "the other broadcasts are too old"
        );
    }

    #[test]
    fn neighbours_are_asked_again_after_a_gap() {
        let mut resends = Resends::new(8, 4);
        let port = PortId(3);
        resends.damaged(at(1), port);
        assert_eq!((resends.due(at(1)), resends.due(at(1))), (Some(port), None));
        resends.damaged(at(2), port);
        assert_eq!((resends.due(at(2)), resends.next_due()), (None, at(51)));
        assert_eq!((resends.due(at(51)), resends.next_due()), (Some(port), Time::NEVER));
        let mut none = Resends::new(0, 4);
        none.damaged(at(1), port);
        assert_eq!(none.due(at(1)), None);
    }
}
