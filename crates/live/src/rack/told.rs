//! What polling threads tell the thread that started them, which listens: files and the like would make packets late.

use super::clock::system_ns;
use raddle_core::{DropReason, LinkId, NodeId, Observer, Packet, PortId, Report, Time};
use std::sync::mpsc::Sender;

/// Something that an [`Observer`] may want to hear of.
#[derive(Debug)]
pub(super) enum Told {
    Report(NodeId, Report),
    Forwarded { sent: Time, link: LinkId, packet: Packet },
    Dropped { node: NodeId, port: Option<PortId>, packet: Packet, why: DropReason },
    Malformed { link: LinkId, error: raddle_wire::Error },
}

/// Something that happened, and when.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) at: Time,
    /// What the system's clock showed when it was said, in ns, if processes share the rack; 0 otherwise.
    pub(super) said_ns: u64,
    pub(super) told: Told,
}

impl Word {
    /// Tells a listener.
    pub(super) fn tell(&self, observer: &mut impl Observer) {
        match &self.told {
            Told::Report(node, report) => observer.report(self.at, *node, *report),
            Told::Forwarded { sent, link, packet } => observer.forwarded(self.at, *sent, *link, packet),
            Told::Dropped { node, port, packet, why } => {
                observer.dropped(self.at, *node, *port, packet, *why);
            }
            Told::Malformed { link, error } => observer.malformed(self.at, *link, &[], *error),
        }
    }
}

/// The telling end, of one polling thread. Nobody may listen any more.
pub(super) struct Teller {
    pub(super) words: Sender<Word>,
    /// Whether to tell of every packet that a port accepts.
    pub(super) of_packets: bool,
    /// Whether other processes share the rack, so that it matters when something was said.
    pub(super) is_shared: bool,
}

impl Teller {
    fn say(&self, at: Time, told: Told) {
        let said_ns = if self.is_shared { system_ns() } else { 0 };
        let _ = self.words.send(Word { at, said_ns, told });
    }

    pub(super) fn report(&self, at: Time, node: NodeId, report: Report) {
        self.say(at, Told::Report(node, report));
    }

    #[inline]
    pub(super) fn forwarded(&self, at: Time, sent: Time, link: LinkId, packet: &Packet) {
        if self.of_packets {
            self.say(at, Told::Forwarded { sent, link, packet: packet.clone() });
        }
    }

    pub(super) fn dropped(
        &self,
        at: Time,
        node: NodeId,
        port: Option<PortId>,
        packet: &Packet,
        why: DropReason,
    ) {
        self.say(at, Told::Dropped { node, port, packet: packet.clone(), why });
    }

    pub(super) fn malformed(&self, at: Time, link: LinkId, error: raddle_wire::Error) {
        self.say(at, Told::Malformed { link, error });
    }
}
