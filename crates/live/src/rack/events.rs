//! The scheduled events of a polling thread's nodes: a heap ordered by time.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the lower 64 bits of a heap entry are an event; the lower 32 bits of an event are the index of \
              a change, link or node"
)]

use raddle_core::{NodeId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A scheduled event. Events of the same time are handled in the order of the variants, and events of the same variant
/// in the order of the numbers that they contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Links fail or come up again. This event comes first, so that no packet is sent over a link in the instant of its
    /// failure.
    Change(u32),
    /// Every node is told of a change of links.
    Discovery(u32),
    /// The first packet in flight on an incoming link arrives.
    Arrival(u32),
    /// A port with an agent or a queue of its own ends a transmission.
    Sent(u32),
    /// Flow control of a link wakes up.
    FlowControl(u32),
    /// The agent of a port ticks.
    PortTick(u32),
    /// The forwarder or the topology discovery of a node ticks.
    Tick(NodeId),
    /// A host wakes up.
    Wake(NodeId),
    /// The next flows of the workload start.
    Flows,
}

impl Event {
    /// The event as a number. The numbers have the same order as the events.
    const fn number(self) -> u64 {
        let (kind, which) = match self {
            Self::Change(change) => (0, change),
            Self::Discovery(change) => (1, change),
            Self::Arrival(incoming) => (2, incoming),
            Self::Sent(link) => (3, link),
            Self::FlowControl(link) => (4, link),
            Self::PortTick(link) => (5, link),
            Self::Tick(node) => (6, node.0),
            Self::Wake(node) => (7, node.0),
            Self::Flows => (8, 0),
        };
        kind << 32 | which as u64
    }

    const fn of(number: u64) -> Self {
        let which = number as u32;
        match number >> 32 {
            0 => Self::Change(which),
            1 => Self::Discovery(which),
            2 => Self::Arrival(which),
            3 => Self::Sent(which),
            4 => Self::FlowControl(which),
            5 => Self::PortTick(which),
            6 => Self::Tick(NodeId(which)),
            7 => Self::Wake(NodeId(which)),
            _ => Self::Flows,
        }
    }
}

/// The events of a polling thread. Each event is one number with the time in its upper half, so that two instructions
/// compare two events.
#[derive(Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<u128>>);

impl Events {
    /// Schedules an event for the time `at`.
    #[inline]
    pub(super) fn push(&mut self, at: Time, event: Event) {
        self.0.push(Reverse(number(at, event)));
    }

    /// Returns the earliest event.
    #[inline]
    pub(super) fn first(&self) -> Option<(Time, Event)> {
        let &Reverse(first) = self.0.peek()?;
        Some((Time::from_ps((first >> 64) as u64), Event::of(first as u64)))
    }

    /// Removes the earliest event.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Moves the earliest event to the time `at`. Removes the event if `at` is `None`.
    #[inline]
    pub(super) fn put_off(&mut self, at: Option<Time>) {
        let Some(mut first) = self.0.peek_mut() else { return };
        match at {
            Some(at) => first.0 = u128::from(at.as_ps()) << 64 | u128::from(first.0 as u64),
            None => drop(PeekMut::pop(first)),
        }
    }

    /// Removes an event, regardless of its time.
    #[cold]
    pub(super) fn forget(&mut self, event: Event) {
        self.0.retain(|&Reverse(number)| Event::of(number as u64) != event);
    }
}

impl Extend<(Time, Event)> for Events {
    fn extend<I: IntoIterator<Item = (Time, Event)>>(&mut self, events: I) {
        events.into_iter().for_each(|(at, event)| self.push(at, event));
    }
}

fn number(at: Time, event: Event) -> u128 {
    u128::from(at.as_ps()) << 64 | u128::from(event.number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_kind_then_place() {
        let at = Time::from_ps;
        let sorted = [
            (at(2), Event::Change(1)),
            (at(2), Event::Discovery(0)),
            (at(2), Event::Arrival(0)),
            (at(2), Event::Arrival(u32::MAX)),
            (at(2), Event::Sent(4)),
            (at(2), Event::FlowControl(4)),
            (at(2), Event::PortTick(4)),
            (at(2), Event::Tick(NodeId(3))),
            (at(2), Event::Wake(NodeId(1))),
            (at(2), Event::Flows),
            (at(5), Event::Flows),
            (Time::NEVER, Event::Arrival(7)),
        ];
        let mut events = Events::default();
        events.extend(sorted.iter().rev().filter(|&&(time, _)| time != at(5)).copied());
        events.push(at(3), Event::Wake(NodeId(9)));
        events.forget(Event::Wake(NodeId(9)));
        events.push(at(1), Event::Flows);
        events.put_off(Some(at(5)));
        let come: Vec<_> = std::iter::from_fn(|| {
            let first = events.first();
            events.put_off(None);
            first
        })
        .collect();
        assert_eq!(come, sorted);
    }
}
