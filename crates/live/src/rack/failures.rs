//! Links of a rack that fail and are repaired, and links that lose and damage packets.
//!
//! Each polling thread applies a change of a link at its own time: the sending end's thread closes the port, and the
//! receiving end's thread drops the packets in the ring. Either thread may be first. So every ring entry carries a tag
//! that counts the failures of the link before the packet was put into the ring. With the tag, the receiver knows which
//! packets were in flight when the link failed, whichever thread was first.
//!
//! A packet whose last bit had left the port by the time of the failure is lost on the link. A packet that had not left
//! the port is lost at the port, and the port's node is told of it. If another thread of this process runs that node, a
//! channel carries the message. Nodes of other processes are not told.

use super::events::Event;
use super::fabric::{Fabric, Inside};
use super::layout::Layout;
use super::ring::Entry;
use super::{Rack, Worker};
use raddle_core::discovery::Discovery;
use raddle_core::{
    Bytes, Change, DropReason, LinkErrors, LinkId, LinkNoise, Node, NodeId, Packet, PortId, Runtime, Time,
};
use raddle_topology::Link;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// The bit of an entry's tag that marks a credit. The other bits count the failures of the link.
pub(super) const CREDIT: u8 = 1;

/// The amount by which a failure increases the tags of a link.
const FAILURE: u8 = 2;

/// Changes and errors of the links of a polling thread.
#[derive(Default)]
pub(super) struct Trouble {
    changes: Vec<Arc<Change>>,
    /// Number of scheduled events that apply a change of links or tell the nodes about a change.
    to_come: usize,
    /// The time at which this thread applied the most recent change. `None` before the first change.
    changed_at: Option<Time>,
    /// Indexed by link: the errors that the link makes. Empty if no errors were set.
    noise: Vec<Option<LinkNoise>>,
    /// Channels by which threads report packets that were lost at each other's ports. `None` if there is one thread, or
    /// if no link can fail.
    losses: Option<Losses>,
}

struct Losses {
    here: Receiver<(LinkId, Packet)>,
    /// Indexed by thread of this process: the sending end of the channel on which the thread receives reports.
    there: Vec<Sender<(LinkId, Packet)>>,
    layout: Arc<Layout>,
}

impl Trouble {
    /// Returns true if no event that applies or announces a change of links is scheduled.
    pub(super) fn is_over(&self) -> bool {
        self.to_come == 0
    }

    /// Returns true if a node has had enough time to discover all changes so far, or does not discover changes
    /// itself.
    pub(super) fn is_known_to(&self, node: &Node<Fabric>, now: Time) -> bool {
        let Some(discovery) = node.discovery() else { return true };
        let found = Some(discovery.changed_at()).filter(|&at| at > Time::ZERO);
        let settles = discovery.period() * Discovery::SETTLES;
        self.changed_at.max(found).is_none_or(|changed_at| now >= changed_at + settles)
    }

    /// The errors that a link makes, if it makes any.
    pub(super) fn noise(&mut self, link: LinkId) -> Option<&mut LinkNoise> {
        self.noise.get_mut(link.index())?.as_mut()
    }
}

impl Rack {
    /// Schedules failures and repairs of links. If nodes do not discover failures by hello messages, all nodes are told
    /// of each change after the change's discovery time. If a link fails several times before it is repaired, it comes
    /// up again only after the same number of repairs.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<Change>) -> Self {
        let changes = Change::effective(changes);
        if changes.is_empty() {
            return self;
        }
        self.share_losses();
        for worker in &mut self.workers {
            changes.iter().for_each(|change| worker.expect_change(change.clone()));
        }
        self
    }

    /// Connects the threads, if there are several. A thread that drops a packet in flight can then report the loss to
    /// the thread that owns the sending port.
    pub(super) fn share_losses(&mut self) {
        if self.workers.len() == 1 {
            return;
        }
        let (there, here): (Vec<_>, Vec<_>) = self.workers.iter().map(|_| mpsc::channel()).unzip();
        for (worker, here) in self.workers.iter_mut().zip(here) {
            let (there, layout) = (there.clone(), Arc::clone(&self.layout));
            worker.fabric.trouble.losses = Some(Losses { here, there, layout });
        }
    }

    /// Makes links lose and damage packets, as `errors` specifies.
    #[must_use]
    pub fn with_errors(mut self, errors: &LinkErrors) -> Self {
        for Worker { fabric, incoming, .. } in &mut self.workers {
            let links = (0..fabric.topology.link_slots()).map(LinkId::of);
            let noise: Vec<_> = links.map(|link| errors.on(link)).collect();
            for incoming in incoming.iter_mut().filter(|incoming| noise[incoming.link.index()].is_some()) {
                incoming.plain = None;
            }
            fabric.trouble.noise = noise;
        }
        self
    }
}

impl Worker {
    /// Schedules a change. Also schedules its announcement to the nodes, unless nodes discover changes by hello
    /// messages.
    #[allow(clippy::cast_possible_truncation, reason = "links and changes are counted in `u32`")]
    pub(super) fn expect_change(&mut self, change: Change) {
        let nodes_discover = self.nodes.iter().any(|node| node.discovery().is_some());
        let Fabric { events, trouble, .. } = &mut self.fabric;
        let index = trouble.changes.len() as u32;
        let told = (!nodes_discover).then(|| (change.at + change.discovery, Event::Discovery(index)));
        let both = std::iter::once((change.at, Event::Change(index))).chain(told);
        trouble.to_come += both.clone().count();
        events.extend(both);
        trouble.changes.push(Arc::new(change));
    }

    /// Applies a failure or a repair of links.
    #[cold]
    pub(super) fn change(&mut self, index: usize) {
        self.fabric.trouble.to_come -= 1;
        self.fabric.trouble.changed_at = Some(self.fabric.now);
        let change = Arc::clone(&self.fabric.trouble.changes[index]);
        let Change { at, links, up, .. } = &*change;
        links.iter().for_each(|&link| self.fabric.set_up(link, *up));
        if *up {
            let both = links.iter().flat_map(|&link| [link, self.fabric.topology.reverse(link)]);
            let mut ports: Vec<_> = both.collect();
            ports.sort_unstable();
            ports.dedup();
            ports.into_iter().for_each(|link| self.restart_control(link));
            return;
        }
        for &link in links {
            self.cut_queue(link, *at);
            self.cut(link, *at);
        }
        let ends = links.iter().filter_map(|&link| self.fabric.topology.link(link));
        let mut ends: Vec<NodeId> = ends.flat_map(|link| [link.from, link.to]).collect();
        ends.sort_unstable();
        ends.dedup();
        for end in ends {
            if let Some(place) = self.place(end) {
                self.nodes[place].poll(&mut self.fabric);
            }
        }
    }

    /// Tells every node of this thread about a change.
    #[cold]
    pub(super) fn discover(&mut self, index: usize) {
        self.fabric.trouble.to_come -= 1;
        let change = Arc::clone(&self.fabric.trouble.changes[index]);
        let Change { links, up, .. } = &*change;
        self.nodes.iter_mut().for_each(|node| node.discovered(&mut self.fabric, links, *up));
    }

    /// Drops the packets in flight on a link that failed at `at`, if the link ends at this thread.
    #[allow(clippy::cast_possible_truncation, reason = "links and changes are counted in `u32`")]
    fn cut(&mut self, link: LinkId, at: Time) {
        let Some(i) = self.incoming.iter().position(|incoming| incoming.link == link) else { return };
        let incoming = &mut self.incoming[i];
        incoming.tag = incoming.tag.wrapping_add(FAILURE);
        incoming.plain = incoming.plain.map(|_| incoming.tag);
        incoming.failures.push(at);
        self.fabric.events.forget(Event::Arrival(i as u32));
        self.fabric.is_expected[i] = false;
        while let Ok(Some(entry)) = self.incoming[i].ring.peek() {
            if !self.incoming[i].was_cut(entry) {
                self.fabric.expect(i, Time::from_ps(entry.due));
                return;
            }
            self.incoming[i].ring.take();
            self.fabric.taken += 1;
            self.lose_cut(i, entry);
        }
    }

    /// Drops a packet or a credit that was put into the ring of its link before the link failed, or later by a sender
    /// that had not yet applied the failure.
    pub(super) fn lose_cut(&mut self, i: usize, entry: Entry) {
        let (link, failed_at) = (self.incoming[i].link, self.incoming[i].was_cut_at(entry));
        let packet = match self.fabric.open_whole(entry) {
            Ok(packet) => packet,
            Err(error) => return self.fabric.lose_malformed(entry, link, error),
        };
        if entry.tag & CREDIT != 0 {
            return self.fabric.free(entry.slot); // a lost credit does not count as a drop
        }
        let Link { from, from_port, delay, .. } =
            *self.fabric.topology.link(link).expect("the topology must have the link");
        let had_left = Time::from_ps(entry.due) <= failed_at + delay;
        if !had_left && self.incoming[i].is_from_queue {
            return self.fabric.free(entry.slot); // the port's queue counts this loss
        }
        let other = self.fabric.trouble.losses.as_ref().and_then(|losses| losses.layout.own_thread_of(from));
        // Nodes of other processes are not told about lost packets, so all packets that they sent count as lost on the
        // link.
        if had_left || self.place(from).is_none() && other.is_none() {
            let inside = Inside::arrived(packet, entry);
            return self.fabric.lose_on_link(from, from_port, link, inside, DropReason::LinkDown);
        }
        self.fabric.free(entry.slot);
        if let Some(place) = self.place(from) {
            let node = &mut self.nodes[place];
            node.lose(&mut self.fabric, Inside::bare(packet), None, Some(from_port), DropReason::LinkDown);
        } else if let (Some(losses), Some(thread)) = (&self.fabric.trouble.losses, other) {
            // The packet counts as in flight until the other thread has counted the loss.
            self.fabric.taken -= 1;
            let _ = losses.there[thread].send((link, packet));
        }
    }

    /// Handles packets that were lost at this thread's ports, as reported by other threads.
    #[inline]
    pub(super) fn take_losses(&mut self) {
        while let Some(losses) = &self.fabric.trouble.losses
            && let Ok((link, packet)) = losses.here.try_recv()
        {
            let Link { from, from_port, .. } =
                *self.fabric.topology.link(link).expect("the topology must have the link");
            self.fabric.taken += 1;
            let Some(place) = self.place(from) else { continue };
            let node = &mut self.nodes[place];
            let why = DropReason::LinkDown;
            if node.lose(&mut self.fabric, Inside::bare(packet), None, Some(from_port), why) {
                node.poll(&mut self.fabric);
            }
        }
    }

    /// Index of a node among this thread's nodes. `None` if another thread runs the node.
    pub(super) fn place(&self, node: NodeId) -> Option<usize> {
        node.index().checked_sub(self.first.index()).filter(|&place| place < self.nodes.len())
    }
}

impl super::worker::Incoming {
    /// Returns true if an entry was put into the ring before the link's latest failure that this thread has applied.
    pub(super) fn was_cut(&self, entry: Entry) -> bool {
        self.tag.wrapping_sub(entry.tag & !CREDIT).cast_signed() > 0
    }

    /// The time of the first failure that the tag of a ring entry does not count. This is not always the latest
    /// failure, because a late thread may put the entry into the ring after several failures.
    fn was_cut_at(&self, entry: Entry) -> Time {
        let since = usize::from(self.tag.wrapping_sub(entry.tag & !CREDIT) / FAILURE);
        let first = self.failures.len().saturating_sub(since);
        self.failures.get(first).or(self.failures.last()).copied().unwrap_or(Time::ZERO)
    }
}

impl Fabric {
    /// Closes the port of a link, or opens the port again. Does nothing if another thread owns the port.
    fn set_up(&mut self, link: LinkId, up: bool) {
        let Some(outgoing) = &mut self.out[link.index()] else { return };
        let port = &mut self.ports[link.index()];
        port.up = up;
        if !up {
            outgoing.tag = outgoing.tag.wrapping_add(FAILURE);
            port.set_drains_at(self.now);
            port.set_waiting(Bytes(0));
            self.held_back -= usize::from(std::mem::take(&mut outgoing.holds_back));
            if let Some(fifo) = self.fifos.get_mut(link.index()) {
                fifo.clear();
            }
        }
    }

    /// Drops a packet on a link after the packet has left the port `out` of a node.
    pub(super) fn lose_on_link(
        &mut self,
        from: NodeId,
        out: PortId,
        link: LinkId,
        inside: Inside,
        why: DropReason,
    ) {
        let packet = self.remove(inside);
        self.totals.count_dropped(&packet, why);
        self.stats[link.index()].drops += 1;
        self.teller.dropped(self.now, from, Some(out), &packet, why);
    }

    /// Drops bytes that arrived over a link and are not a valid packet.
    #[cold]
    pub(super) fn lose_malformed(&mut self, entry: Entry, link: LinkId, error: raddle_wire::Error) {
        self.totals.count_malformed();
        self.stats[link.index()].drops += 1;
        self.teller.malformed(self.now, link, error);
        if self.is_slot(entry) {
            self.free(entry.slot);
        }
    }
}

#[cfg(test)]
mod tests;
