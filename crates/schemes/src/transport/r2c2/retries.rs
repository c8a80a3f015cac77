//! Retransmission of dropped broadcasts (R2C2 §3.2). If a node drops an event of another node, it sends a notice to the
//! event's source, and the source sends the event again. Other broadcasts do not fit into a notice. If a full queue
//! drops such a broadcast, or a unicast control packet, the node of this queue sends the dropped packet again itself.

use super::table::TOMBSTONE;
use raddle_core::{Duration, Packet, PortId, Time};
use raddle_wire::r2c2::Event;
use std::collections::VecDeque;

/// Delay before a dropped packet is sent again. For an event, the delay doubles with every further drop of the event.
const FIRST_RETRY: Duration = Duration::from_us(50);
const MOST_TRIES: u32 = 7;

/// The node and port where a broadcast was dropped.
pub(super) type Place = (u16, u8);

#[derive(Debug, Default)]
pub(super) struct Retries {
    /// Retries of this node's events.
    events: Vec<Retry>,
    /// Packets that are not events and must be sent again, with the time and the port of each packet.
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
    /// Time of the next retry, or [`Time::NEVER`].
    pub(super) fn next_due(&self) -> Time {
        let event = self.events.iter().filter_map(|retry| retry.due).min().unwrap_or(Time::NEVER);
        self.copies.front().map_or(event, |&(due, ..)| due.min(event))
    }

    /// Schedules a retry of an event that was dropped at the node and port `at`, unless a retry is already scheduled or
    /// the event has had [`MOST_TRIES`] retries. If the previous drop of the event was at the same node and port, the
    /// retry uses the next of the `trees` broadcast trees.
    pub(super) fn dropped(&mut self, now: Time, event: &Event, at: Place, trees: u8) {
        self.events.retain(|retry| retry.due.is_some() || retry.forget > now);
        let same = |retry: &Retry| retry.event.kind == event.kind && retry.event.lid == event.lid;
        let place = self.events.iter().position(same).unwrap_or_else(|| {
            self.events.push(Retry { event: *event, tries: 0, due: None, dropped_at: None, forget: now });
            self.events.len() - 1
        });
        let retry = &mut self.events[place];
        if retry.due.is_some() {
            return; // a retry is already scheduled: several nodes may drop copies of one broadcast
        }
        if retry.dropped_at == Some(at) {
            retry.event.tree = (retry.event.tree + 1) % trees;
        }
        retry.dropped_at = Some(at);
        if retry.tries == MOST_TRIES {
            return; // no more retries while this event is remembered
        }
        retry.due = Some(now + FIRST_RETRY * (1 << retry.tries));
        retry.tries += 1;
        retry.forget = now + TOMBSTONE;
    }

    /// Schedules a retry of a packet that is not an event, after this node's queue at `port` was full and dropped the
    /// packet.
    pub(super) fn refused(&mut self, now: Time, packet: &Packet, port: PortId) {
        self.copies.push_back((now + FIRST_RETRY, packet.clone(), port));
    }

    /// The next packet that is not an event and must be sent again now, and its port.
    pub(super) fn due_copy(&mut self, now: Time) -> Option<(Packet, PortId)> {
        self.copies.pop_front_if(|(due, ..)| *due <= now).map(|(_, packet, port)| (packet, port))
    }

    /// The events that must be sent again now.
    pub(super) fn due(&mut self, now: Time) -> impl Iterator<Item = Event> {
        self.events
            .iter_mut()
            .filter_map(move |retry| retry.due.take_if(|due| *due <= now).map(|_| retry.event))
    }
}
