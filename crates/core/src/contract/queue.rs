//! The order and limits of an egress port.

use crate::{Bytes, Packet, Paused, Time};

/// Whether a queue takes a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admit {
    /// It is queued.
    Take,
    /// It is lost.
    Drop,
}

/// The order and limits of one egress port, where a plain FIFO will not do. Packets are named by the engine's slot
/// number.
pub trait Queue: Send {
    /// Takes or refuses a packet.
    fn push(&mut self, now: Time, slot: u32, packet: &Packet) -> Admit;

    /// The next packet to serve, of what is not paused.
    fn pop(&mut self, now: Time, paused: Paused) -> Option<u32>;

    /// What waits.
    fn bytes(&self) -> Bytes;

    /// Most bytes that may wait, if the queue has such a limit: what parts are told of the port's room. Asked once.
    fn limit(&self) -> Option<Bytes> {
        None
    }

    /// Calls `visit` with the slot of each packet that waits, once each: the engine may give the packet another slot. The
    /// order is free, but the same in two calls in a row.
    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32));

    /// The packet that will probably be served next, if that is cheap to say: an engine may read it ahead.
    fn foresee(&self) -> Option<u32> {
        None
    }

    /// Whether an empty queue remembers nothing, and refuses no packet: then one that finds the port free and is not paused
    /// may leave at once without having been here. Asked once.
    fn may_be_passed(&self) -> bool {
        false
    }
}
