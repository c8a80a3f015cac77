//! Broadcasts of this node that somebody dropped, and when to send them again (§3.2).

use super::table::TOMBSTONE;
use raddle_core::{Duration, Time};
use raddle_wire::r2c2::Event;

/// A dropped broadcast is sent again after this, then after twice as long, and so on.
const FIRST_RETRY: Duration = Duration::from_us(50);
const MOST_TRIES: u32 = 7;

/// The node and port where a broadcast was dropped.
pub(super) type Place = (u16, u8);

#[derive(Debug, Default)]
pub(super) struct Retries(Vec<Retry>);

#[derive(Debug)]
struct Retry {
    event: Event,
    tries: u32,
    due: Option<Time>,
    dropped_at: Option<Place>,
    forget: Time,
}

impl Retries {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the next broadcast is to be sent again.
    pub(super) fn next_due(&self) -> Time {
        self.0.iter().filter_map(|retry| retry.due).min().unwrap_or(Time::NEVER)
    }

    /// A broadcast was dropped at a place: it will be sent again, over another of the `trees` if that place has
    /// dropped it before.
    pub(super) fn dropped(&mut self, now: Time, event: &Event, at: Place, trees: u8) {
        self.0.retain(|retry| retry.due.is_some() || retry.forget > now);
        let same = |retry: &Retry| retry.event.kind == event.kind && retry.event.lid == event.lid;
        let place = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Retry { event: *event, tries: 0, due: None, dropped_at: None, forget: now });
            self.0.len() - 1
        });
        let retry = &mut self.0[place];
        if retry.due.is_some() {
            return; // several nodes may drop copies of one broadcast
        }
        if retry.dropped_at == Some(at) {
            retry.event.tree = (retry.event.tree + 1) % trees;
        }
        retry.dropped_at = Some(at);
        if retry.tries == MOST_TRIES {
            self.0.remove(place);
            return;
        }
        retry.due = Some(now + FIRST_RETRY * (1 << retry.tries));
        retry.tries += 1;
        retry.forget = now + TOMBSTONE;
    }

    /// The broadcasts that are to be sent again now.
    pub(super) fn due(&mut self, now: Time) -> impl Iterator<Item = Event> {
        self.0.iter_mut().filter_map(move |retry| retry.due.take_if(|due| *due <= now).map(|_| retry.event))
    }
}
