//! Broadcasts that arrived damaged (§3.2). A damaged packet says nothing about itself, so who got one asks the
//! neighbour that sent it for what it broadcast over the link lately. The neighbour answers with what it knows by now
//! of the flows of these broadcasts: older news never replaces newer.

use super::PortSet;
use super::table::FlowTable;
use raddle_core::{Duration, PortId, Time};
use raddle_wire::r2c2::{Event, EventKind};
use std::collections::{BTreeMap, VecDeque};

/// Requests over a link are so far apart: an answer that is damaged in turn must not fill the link.
const GAP: Duration = Duration::from_us(50);
/// Older broadcasts are not said again: their flows' numbers may soon be used again.
const LATELY: Duration = Duration::from_ms(5);

/// What one node must ask for again, and be able to say again.
#[derive(Debug, Default)]
pub(super) struct Resends {
    /// Broadcasts to remember.
    most: usize,
    said: VecDeque<(Time, Event)>,
    /// By port: when the neighbour may be asked next, and whether it must be.
    asking: BTreeMap<PortId, (Time, bool)>,
}

impl Resends {
    /// A memory for so many broadcasts a link, at a node with so many links; none at all if that is zero.
    pub(super) fn new(a_link: usize, links: usize) -> Self {
        Self { most: a_link * links, ..Self::default() }
    }

    /// A broadcast is passed on.
    pub(super) fn said(&mut self, now: Time, event: &Event) {
        if self.most > 0 {
            if self.said.len() == self.most {
                self.said.pop_front();
            }
            self.said.push_back((now, *event));
        }
    }

    /// Something arrived damaged.
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

    /// The port of a neighbour that is to be asked now.
    pub(super) fn due(&mut self, now: Time) -> Option<PortId> {
        let (&port, asking) = self.asking.iter_mut().find(|(_, (at, must))| *must && *at <= now)?;
        *asking = (now + GAP, false);
        Some(port)
    }

    /// What to say to a neighbour that asks: `a_link` broadcasts at most, of those that `passes` over its link.
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
                // That the flow is not known here does not mean that it has ended.
                None => {}
            }
        }
        answer
    }
}

/// Whether a port is one of these.
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

    /// A node that said these things, in order, one a microsecond.
    fn told(most: usize, events: &[Event]) -> (Resends, FlowTable) {
        let (mut resends, mut table) = (Resends::new(most, 1), FlowTable::default());
        for (now, event) in (1..).map(at).zip(events) {
            table.apply(now, event);
            resends.said(now, event);
        }
        (resends, table)
    }

    #[test]
    fn an_answer_says_what_holds_now_and_each_flow_once() {
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
        assert_eq!(lids(resends.answer(at(5_005), 8, &table, |_| true)), [6], "the others are old");
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
