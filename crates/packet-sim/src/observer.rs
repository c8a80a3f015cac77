//! Calls the observer of a run in the order of events, for any number of threads.

use crate::events::Event;
use raddle_core::{DropReason, LinkId, NodeId, Observer, Packet, PortId, Report, Time};

/// A call of the observer that the engine has yet to make.
#[derive(Debug)]
pub(crate) enum Heard {
    Report { node: NodeId, report: Report },
    Forwarded { sent: Time, link: LinkId, packet: Packet },
    Dropped { node: NodeId, port: Option<PortId>, packet: Packet, why: DropReason },
}

/// The log of one partition: calls of the observer that the engine has yet to make, in order of events.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Vec<(Event, u64, Heard)>,
    /// The event that is being processed.
    pub(crate) event: Event,
    /// The step within the event, for events that concern several nodes or links.
    pub(crate) step: u64,
    /// True if the log also has entries for forwarded packets. A plain FIFO port logs a packet when it accepts the
    /// packet. A port with a queue or an agent of its own logs a packet when it begins to send the packet.
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

    /// Moves the log's entries to the end of `all`. `named` replaces the partition's indices in events with ids of the
    /// whole fabric.
    pub(crate) fn drain_into(&mut self, all: &mut Vec<(Event, u64, Heard)>, named: impl Fn(Event) -> Event) {
        all.extend(self.entries.drain(..).map(|(event, step, heard)| (named(event), step, heard)));
    }
}

/// Passes the entries of all partitions to the observer, in the order in which a single partition would have logged
/// them.
pub(crate) fn tell<O: Observer>(observer: &mut O, all: &mut Vec<(Event, u64, Heard)>) {
    // A step of an event happens in one partition, and each partition's entries are in order. The sort is
    // stable, so it keeps the order of entries within a step.
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
