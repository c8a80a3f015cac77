//! Broadcasts that were dropped, and when to send them again (§3.2): an event by its source, to which the dropper
//! has sent a notice; anything else, which no notice could hold, and the notice itself, by the dropper.

use super::table::TOMBSTONE;
use raddle_core::{Duration, Packet, PortId, Time};
use raddle_wire::r2c2::Event;
use std::collections::VecDeque;

/// A dropped broadcast is sent again after this, then after twice as long, and so on.
const FIRST_RETRY: Duration = Duration::from_us(50);
const MOST_TRIES: u32 = 7;

/// The node and port where a broadcast was dropped.
pub(super) type Place = (u16, u8);

#[derive(Debug, Default)]
pub(super) struct Retries {
    /// Of events of this node.
    events: Vec<Retry>,
    /// Of other packets, with the port each was to leave by.
    copies: VecDeque<(Time, Packet, PortId)>,
}

#[derive(Debug)]
struct Retry {
    event: Event,
    tries: u32,
    due: Option<Time>,
    dropped_at: Option<Place>,
    forget: Time,
}

impl Retries {
    /// When the next broadcast is to be sent again, if any is.
    pub(super) fn next_due(&self) -> Time {
        let event = self.events.iter().filter_map(|retry| retry.due).min().unwrap_or(Time::NEVER);
        self.copies.front().map_or(event, |&(due, ..)| due.min(event))
    }

    /// A broadcast was dropped at a place: it will be sent again, over another of the `trees` if that place has
    /// dropped it before.
    pub(super) fn dropped(&mut self, now: Time, event: &Event, at: Place, trees: u8) {
        self.events.retain(|retry| retry.due.is_some() || retry.forget > now);
        let same = |retry: &Retry| retry.event.kind == event.kind && retry.event.lid == event.lid;
        let place = self.events.iter().position(same).unwrap_or_else(|| {
            self.events.push(Retry { event: *event, tries: 0, due: None, dropped_at: None, forget: now });
            self.events.len() - 1
        });
        let retry = &mut self.events[place];
        if retry.due.is_some() {
            return; // several nodes may drop copies of one broadcast
        }
        if retry.dropped_at == Some(at) {
            retry.event.tree = (retry.event.tree + 1) % trees;
        }
        retry.dropped_at = Some(at);
        if retry.tries == MOST_TRIES {
            return; // for as long as this is remembered
        }
        retry.due = Some(now + FIRST_RETRY * (1 << retry.tries));
        retry.tries += 1;
        retry.forget = now + TOMBSTONE;
    }

    /// This node's own queue at `port` had no room for a packet other than an event.
    pub(super) fn refused(&mut self, now: Time, packet: &Packet, port: PortId) {
        self.copies.push_back((now + FIRST_RETRY, packet.clone(), port));
    }

    /// The next packet other than an event that is to be sent again now, and its port.
    pub(super) fn due_copy(&mut self, now: Time) -> Option<(Packet, PortId)> {
        self.copies.pop_front_if(|(due, ..)| *due <= now).map(|(_, packet, port)| (packet, port))
    }

    /// The events that are to be sent again now.
    pub(super) fn due(&mut self, now: Time) -> impl Iterator<Item = Event> {
        self.events
            .iter_mut()
            .filter_map(move |retry| retry.due.take_if(|due| *due <= now).map(|_| retry.event))
    }
}
