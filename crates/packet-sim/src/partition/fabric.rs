//! The runtime of a partition's nodes: the clock, the links and their ports, and the partition's packets.

use super::links::Links;
use crate::events::{Event, EventQueue, Kind};
use crate::mail::{Content, Mail};
use crate::observer::{Heard, Log};
use crate::slab::Slab;
use raddle_core::{Credit, DropReason, Node, NodeId, Packet, PortId, Ports, Report, Runtime, Time, Totals};
use raddle_topology::Topology;
use std::sync::Arc;

/// The state of a partition, except its nodes and pending flows.
pub(crate) struct Fabric {
    pub(super) now: Time,
    /// Under cut-through, the number of bytes that a node needs before it forwards a packet. `None` for
    /// store-and-forward.
    pub(super) header: Option<u32>,
    pub(super) events: EventQueue,
    pub(super) links: Links,
    pub(super) slab: Slab,
    pub(super) topology: Arc<Topology>,
    pub(super) outbox: Outbox,
    /// True if any link of the partition has flow control.
    pub(super) controls: bool,
    pub(super) log: Log,
    pub(super) totals: Totals,
}

/// A node's id, its index in its partition, and its ports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) id: NodeId,
    /// The node's index in its partition.
    pub(super) index: u32,
    pub(super) first_link: u32,
    pub(super) ports: u32,
}

impl Place {
    /// Returns the index of the link that starts at a port.
    #[inline]
    pub(super) fn link(self, port: PortId) -> usize {
        (self.first_link + u32::from(port.0)) as usize
    }

    /// Returns the port at which a link starts.
    pub(super) fn port(self, link: usize) -> PortId {
        PortId::of(link - self.first_link as usize)
    }
}

/// Packets and credits for other partitions.
pub(super) struct Outbox {
    /// One list of mail per destination partition.
    pub(super) mail: Vec<Vec<Mail>>,
    /// Earliest arrival time of the mail that was added since the latest call of
    /// [`Partition::next_event`](super::Partition::next_event).
    pub(super) first: Time,
    /// True if links may fail, or under cut-through. This partition then keeps a copy of each packet for another
    /// partition until the packet has left its port.
    pub(super) keeps_copies: bool,
}

impl Fabric {
    /// Sends a packet or a credit over a link to another partition.
    pub(super) fn post(&mut self, link: usize, arrives: Time, content: Content) {
        let (there, link) = self.links.far[link];
        self.outbox.first = self.outbox.first.min(arrives);
        self.outbox.mail[there as usize].push(Mail { link, arrives, content });
    }

    /// Drops a packet on a link. `node` and `out` are the node and the port that are reported to the observer. `out` is
    /// `None` if the packet is lost at its arrival at `node`.
    pub(super) fn lose_on_link(
        &mut self,
        node: NodeId,
        out: Option<PortId>,
        link: usize,
        slot: u32,
        why: DropReason,
    ) {
        let packet = self.slab.remove(slot);
        self.totals.count_dropped(&packet, why);
        self.links.ports[link].stats.drops += 1;
        self.log.push(Heard::Dropped { node, port: out, packet, why });
    }
}

impl Runtime for Fabric {
    type Place = Place;
    type Slot = u32;

    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn totals(&mut self) -> &mut Totals {
        &mut self.totals
    }

    #[inline]
    fn ports(&self, place: &Place) -> Ports<'_> {
        Ports(&self.links.states[place.first_link as usize..(place.first_link + place.ports) as usize])
    }

    #[inline]
    fn packet<'a>(&'a mut self, place: &Place, slot: &'a mut u32) -> (&'a mut Packet, Ports<'a>) {
        let ports = place.first_link as usize..(place.first_link + place.ports) as usize;
        (self.slab.get_mut(*slot), Ports(&self.links.states[ports]))
    }

    #[inline]
    fn insert(&mut self, packet: Packet) -> u32 {
        let slot = self.slab.insert(packet);
        if self.header.is_some() {
            self.slab.set_tail(slot, Time::ZERO);
        }
        slot
    }

    #[inline]
    fn remove(&mut self, slot: u32) -> Packet {
        self.slab.remove(slot)
    }

    #[inline]
    fn enqueue(&mut self, node: &mut Node<Self>, slot: u32, arrival: Option<PortId>, out: PortId) -> bool {
        self.accept(node, slot, arrival, out)
    }

    fn lost(&mut self, place: &Place, out: Option<PortId>, packet: &Packet, why: DropReason) {
        if let Some(out) = out {
            self.links.ports[place.link(out)].stats.drops += 1;
        }
        self.log.push(Heard::Dropped { node: place.id, port: out, packet: packet.clone(), why });
    }

    fn reported(&mut self, place: &Place, report: Report) {
        self.log.push(Heard::Report { node: place.id, report });
    }

    #[inline]
    fn wake_at(&mut self, place: &Place, at: Time) {
        self.events.push(Event::new(at, Kind::Wake, place.index));
    }

    fn tick_at(&mut self, place: &Place, at: Time) {
        self.events.push(Event::new(at, Kind::Tick, place.index));
    }

    fn credit(&mut self, place: &Place, port: PortId, credit: Credit) {
        self.send_credit(place.link(port), credit);
    }

    #[inline]
    fn whole(&mut self, place: &Place, slot: u32, arrival: Option<PortId>) -> Option<u32> {
        match self.header {
            Some(_) if self.slab.tail(slot) > self.now => {
                self.let_come(place, slot, arrival, self.slab.tail(slot), None);
                None
            }
            _ => Some(slot),
        }
    }

    #[inline]
    fn taken(&mut self, node: &mut Node<Self>, arrival: PortId, packet: &Packet) {
        if self.controls {
            self.drain(node, arrival, packet.class(), packet.size);
        }
    }
}
