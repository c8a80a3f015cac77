//! The channel that carries events from the polling threads to the thread that started them. That thread calls the
//! observer. In a polling thread, an observer's file operations would delay packets.

use super::clock::system_ns;
use raddle_core::{DropReason, LinkId, NodeId, Observer, Packet, PortId, Report, Time};
use std::sync::mpsc::Sender;

/// An event that an [`Observer`] may want to receive.
#[derive(Debug)]
pub(super) enum Told {
    Report(NodeId, Report),
    /// `bytes` is the whole packet if kernels' frames cross the rack. Otherwise `bytes` is empty.
    Forwarded {
        sent: Time,
        link: LinkId,
        packet: Packet,
        bytes: Vec<u8>,
    },
    Dropped {
        node: NodeId,
        port: Option<PortId>,
        packet: Packet,
        why: DropReason,
    },
    Malformed {
        link: LinkId,
        error: raddle_wire::Error,
    },
}

/// An event, with its time.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) at: Time,
    /// The system's clock when the event was reported, in ns, if several processes share the rack. Otherwise 0.
    pub(super) said_ns: u64,
    pub(super) told: Told,
}

impl Word {
    /// Passes the event to an observer.
    pub(super) fn tell(&self, observer: &mut impl Observer) {
        match &self.told {
            Told::Report(node, report) => observer.report(self.at, *node, *report),
            Told::Forwarded { sent, link, packet, bytes } if bytes.is_empty() => {
                observer.forwarded(self.at, *sent, *link, packet);
            }
            Told::Forwarded { sent, link, packet, bytes } => {
                observer.forwarded_whole(self.at, *sent, *link, packet, bytes);
            }
            Told::Dropped { node, port, packet, why } => {
                observer.dropped(self.at, *node, *port, packet, *why);
            }
            Told::Malformed { link, error } => observer.malformed(self.at, *link, &[], *error),
        }
    }
}

/// A polling thread's sending end of the channel. The receiving end may already be gone.
pub(super) struct Teller {
    pub(super) words: Sender<Word>,
    /// If true, every packet that a port puts on its link is reported.
    pub(super) of_packets: bool,
    /// True if other processes share the rack. The system's time of each event is then recorded.
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

    /// Reports a forwarded packet. `bytes` has the same meaning as in [`Told::Forwarded`].
    pub(super) fn forwarded(&self, at: Time, sent: Time, link: LinkId, packet: &Packet, bytes: Vec<u8>) {
        self.say(at, Told::Forwarded { sent, link, packet: packet.clone(), bytes });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rack::run::listen;
    use raddle_core::{Bytes, FlowKey};
    use std::sync::mpsc;

    /// A late thread reports an event at its current time, and then an event that was due earlier. The observer
    /// receives the events in the order in which the threads reported them, regardless of the virtual times of the
    /// events.
    #[test]
    fn threads_are_heard_in_the_order_in_which_they_spoke() {
        #[derive(Default)]
        struct Heard(Vec<(u64, u32)>);
        impl Observer for Heard {
            fn report(&mut self, at: Time, node: NodeId, _: Report) {
                self.0.push((at.as_ps(), node.0));
            }
        }
        let (words, heard) = mpsc::channel();
        let teller = || Teller { words: words.clone(), of_packets: false, is_shared: false };
        let (one, other) = (teller(), teller());
        let say = |teller: &Teller, at, node| {
            teller.report(Time::from_ps(at), NodeId(node), Report::Acked { key: FlowKey(1), to: Bytes(1) });
        };
        for (teller, at, node) in [(&one, 5, 1), (&one, 4, 1), (&other, 3, 2), (&one, 7, 1), (&other, 6, 2)] {
            say(teller, at, node);
        }
        let mut observer = Heard::default();
        listen(&heard, &mut observer);
        assert_eq!(observer.0, [(5, 1), (4, 1), (3, 2), (7, 1), (6, 2)]);
    }
}
