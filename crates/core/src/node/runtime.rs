//! The contract between a node and the runtime that it is in.

use super::Node;
use crate::{Credit, DropReason, Packet, PortId, Ports, Report, Time, Totals};

/// The runtime that a node is in, as far as the node needs it.
pub trait Runtime: Sized {
    /// The runtime's data about a node: its ports and its id.
    type Place;

    /// A packet inside a node: the number of its memory, or the packet itself.
    type Slot;

    /// The time, which stands still while a node deals with an event.
    fn now(&self) -> Time;

    /// The counters of the runtime.
    fn totals(&mut self) -> &mut Totals;

    /// The state of a node's ports.
    fn ports(&self, place: &Self::Place) -> Ports<'_>;

    /// A packet, and the state of its node's ports.
    fn packet<'a>(&'a mut self, place: &Self::Place, slot: &'a mut Self::Slot)
    -> (&'a mut Packet, Ports<'a>);

    /// Gives memory to a packet that a node has made.
    fn insert(&mut self, packet: Packet) -> Self::Slot;

    /// Takes a packet out of memory.
    fn remove(&mut self, slot: Self::Slot) -> Packet;

    /// Takes a packet that the node's host has been given out of memory. A runtime that moves the content of flows keeps the
    /// packet's body for the host's application.
    #[inline]
    fn deliver(&mut self, _place: &Self::Place, slot: Self::Slot) -> Packet {
        self.remove(slot)
    }

    /// A packet that came by the port `arrival`, or that the node itself sends, leaves by the port `out`. Returns whether
    /// the node's host is due a poll, because the runtime [returned](Node::lose) a packet to the node.
    fn enqueue(
        &mut self,
        node: &mut Node<Self>,
        slot: Self::Slot,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool;

    /// A packet is lost at a node, on its way to a port if it had one.
    fn lost(&mut self, place: &Self::Place, out: Option<PortId>, packet: &Packet, why: DropReason);

    /// A host reports.
    fn reported(&mut self, place: &Self::Place, report: Report);

    /// The node is to be [woken](Node::woken) at a time to come. Earlier wishes may be forgotten or be met: a node knows
    /// which wish counts.
    fn wake_at(&mut self, place: &Self::Place, at: Time);

    /// The node is to [tick](Node::ticked) at a time to come. Earlier times may be forgotten or be met: a node knows which one
    /// counts.
    fn tick_at(&mut self, place: &Self::Place, at: Time);

    /// A forwarder gives the neighbour at a port a credit.
    fn credit(&mut self, place: &Self::Place, port: PortId, credit: Credit);

    /// Gives a packet for the node's host back if all of it has come in. Otherwise (under cut-through) the runtime keeps
    /// the packet, and [delivers](Node::deliver) it when it is whole.
    #[inline]
    fn whole(
        &mut self,
        _place: &Self::Place,
        slot: Self::Slot,
        _arrival: Option<PortId>,
    ) -> Option<Self::Slot> {
        Some(slot)
    }

    /// The node's host has a packet that came by the port `arrival`: flow control may count the memory that the host
    /// still holds.
    #[inline]
    fn taken(&mut self, _node: &mut Node<Self>, _arrival: PortId, _packet: &Packet) {}
}
