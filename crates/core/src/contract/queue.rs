//! The order and limits of an egress port.

use crate::{Bytes, Packet, Paused, Time};

/// The answer of a queue to a packet that is to join it.
///
/// [`Take`](Self::Take) and [`Drop`](Self::Drop) settle the matter. The other answers make room, and the runtime then asks
/// about the same packet again: a queue may give up several packets for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admit {
    /// The queue takes the packet.
    Take,
    /// The packet is lost.
    Drop,
    /// The queue has given up the waiting packet in this slot, which is lost (pFabric).
    Evict(u32),
    /// The packet in this slot loses its payload (NDP). If it is the packet that is to join, the queue is asked about what
    /// is left of it. If it waits, the queue has given it up, and what is left of it joins first, like any other packet.
    /// A packet whose protocol has no trimmed packets is lost.
    Trim(u32),
}

/// The order and limits of one egress port, where a plain FIFO will not do. Packets are named by the engine's slot
/// number.
pub trait Queue: Send {
    /// Takes or refuses a packet, or makes room for it.
    fn push(&mut self, now: Time, slot: u32, packet: &Packet) -> Admit;

    /// The next packet to serve, of the classes that are not paused.
    fn pop(&mut self, now: Time, paused: Paused) -> Option<u32>;

    /// Bytes of the packets that wait.
    fn bytes(&self) -> Bytes;

    /// Most bytes that may wait, if the queue has such a limit: the limit that parts see in the port's state. Asked once.
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

    /// True if an empty queue has no state and refuses no packet. Then a packet that finds the port free and is not paused
    /// may leave at once and bypass the queue. Asked once.
    fn may_be_passed(&self) -> bool {
        false
    }
}
