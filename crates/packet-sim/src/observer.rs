//! A listener of a run hears all that happens in the order of events, however many threads make it happen.

use crate::events::Event;
use raddle_core::{DropReason, LinkId, NodeId, Observer, Packet, PortId, Report, Time};

/// What an observer is to hear.
#[derive(Debug)]
pub(crate) enum Heard {
    Report { node: NodeId, report: Report },
    Forwarded { sent: Time, link: LinkId, packet: Packet },
    Dropped { node: NodeId, port: Option<PortId>, packet: Packet, why: DropReason },
}

/// What happened in one partition, in the order in which it did.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Vec<(Event, u64, Heard)>,
    /// The event being taken.
    pub(crate) event: Event,
    /// The step of the event, of those that concern several nodes or links.
    pub(crate) step: u64,
    /// Whether packets that ports accept are written down too.
    pub(crate) forwarded: bool,
}

impl Log {
    pub(crate) fn new(forwarded: bool) -> Self {
        Self { forwarded, ..Self::default() }
    }

    pub(crate) fn push(&mut self, heard: Heard) {
        self.entries.push((self.event, self.step, heard));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Moves what has been written down to the end of `all`; `named` gives events the names that all know.
    pub(crate) fn drain_into(&mut self, all: &mut Vec<(Event, u64, Heard)>, named: impl Fn(Event) -> Event) {
        all.extend(self.entries.drain(..).map(|(event, step, heard)| (named(event), step, heard)));
    }
}

/// Tells the observer what partitions have written down, in the order in which one partition would have.
pub(crate) fn tell<O: Observer>(observer: &mut O, all: &mut Vec<(Event, u64, Heard)>) {
    // Each partition's entries are in order; a step of an event happens in one partition.
    all.sort_by_key(|&(event, step, _)| (event, step));
    for (event, _, heard) in all.drain(..) {
        match heard {
            Heard::Report { node, report } => observer.report(event.time(), node, report),
            Heard::Forwarded { sent, link, packet } => observer.forwarded(event.time(), sent, link, &packet),
            Heard::Dropped { node, port, packet, why } => {
                observer.dropped(event.time(), node, port, &packet, why);
            }
        }
    }
}
