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

    /// When a neighbour is to be asked.
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
            if answer.iter().all(|newer| newer.flow() != event.flow()) {
                answer.push(match table.get(event.flow()) {
                    Some(entry) => entry.event(EventKind::Refresh, event.tree),
                    None => Event { kind: EventKind::Finish, ..*event },
                });
            }
        }
        answer
    }
}

/// Whether a port is one of these.
pub(super) fn is_among(port: PortId, mut ports: PortSet) -> bool {
    ports.any(|other| other == port)
}
