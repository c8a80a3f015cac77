//! The contract between a node and its runtime.

use super::Node;
use crate::{Credit, DropReason, Packet, PortId, Ports, Report, Time, Totals};

/// The runtime of a node: the operations that the node needs.
pub trait Runtime: Sized {
    /// The runtime's data about a node: its ports and its id.
    type Place;

    /// A packet inside a node: the number of its slot, or the packet itself.
    type Slot;

    /// The current time. It does not advance while a node handles an event.
    fn now(&self) -> Time;

    /// The counters of the runtime.
    fn totals(&mut self) -> &mut Totals;

    /// The state of a node's ports.
    fn ports(&self, place: &Self::Place) -> Ports<'_>;

    /// A packet, and the state of its node's ports.
    fn packet<'a>(&'a mut self, place: &Self::Place, slot: &'a mut Self::Slot)
    -> (&'a mut Packet, Ports<'a>);

    /// Stores a packet that a node has created.
    fn insert(&mut self, packet: Packet) -> Self::Slot;

    /// Removes a packet from memory and returns it.
    fn remove(&mut self, slot: Self::Slot) -> Packet;

    /// Removes from memory a packet that the node's host has received. A runtime that moves the content of flows keeps
    /// the packet's body for the host's application.
    #[inline]
    fn deliver(&mut self, _place: &Self::Place, slot: Self::Slot) -> Packet {
        self.remove(slot)
    }

    /// Queues a packet at the egress port `out`. The packet arrived by the port `arrival`, or the node itself sends it.
    /// Returns true if the node's host is due a poll: the runtime [returned](Node::lose) a packet to the node, or the
    /// host received a packet that the port's agent sent.
    fn enqueue(
        &mut self,
        node: &mut Node<Self>,
        slot: Self::Slot,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool;

    /// A packet was lost at a node. `out` is the packet's egress port, if it had one.
    fn lost(&mut self, place: &Self::Place, out: Option<PortId>, packet: &Packet, why: DropReason);

    /// A host has made a report, or the node has made a report about the host's program.
    fn reported(&mut self, place: &Self::Place, report: Report);

    /// Requests that the node is [woken](Node::woken) at a future time. The runtime may drop earlier requests or still
    /// carry them out: a node knows which request is current.
    fn wake_at(&mut self, place: &Self::Place, at: Time);

    /// Requests that the node [ticks](Node::ticked) at a future time. The runtime may drop earlier requests or still
    /// carry them out: a node knows which request is current.
    fn tick_at(&mut self, place: &Self::Place, at: Time);

    /// A forwarder gives the neighbour at a port a credit.
    fn credit(&mut self, place: &Self::Place, port: PortId, credit: Credit);

    /// Returns a packet for the node's host if all of it has arrived. Otherwise (under cut-through) the runtime keeps
    /// the packet, and [delivers](Node::deliver) it when it is complete.
    #[inline]
    fn whole(
        &mut self,
        _place: &Self::Place,
        slot: Self::Slot,
        _arrival: Option<PortId>,
    ) -> Option<Self::Slot> {
        Some(slot)
    }

    /// The node's host has received a packet that arrived by the port `arrival`. Flow control may count the memory that
    /// the host still holds.
    #[inline]
    fn taken(&mut self, _node: &mut Node<Self>, _arrival: PortId, _packet: &Packet) {}
}
