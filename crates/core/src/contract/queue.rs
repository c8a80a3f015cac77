//! The contract of a queue, which orders and limits the packets at an egress port.

use crate::{Bytes, Packet, Paused, Time};

/// A queue's answer to a packet that is about to join the queue.
///
/// [`Take`](Self::Take) and [`Drop`](Self::Drop) are final. The other answers make room, and the runtime then asks
/// about the same packet again. A queue may remove several packets to make room for one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admit {
    /// The queue takes the packet.
    Take,
    /// The packet is lost.
    Drop,
    /// The queue has dropped the waiting packet in this slot to make room (pFabric).
    Evict(u32),
    /// The packet in this slot loses its payload (NDP). If this is the joining packet, the runtime asks the queue about
    /// the trimmed packet. If this is a waiting packet, the queue has removed it. The trimmed packet then joins the
    /// queue again before the joining packet. A packet whose protocol does not support trimming is lost.
    Trim(u32),
}

/// The queue of one egress port that needs more than a plain FIFO. It orders and limits the port's packets. Packets are
/// identified by the engine's slot number.
pub trait Queue: Send {
    /// Takes or refuses a packet, or makes room for it.
    fn push(&mut self, now: Time, slot: u32, packet: &Packet) -> Admit;

    /// Removes the next packet to serve, and returns its slot. A packet of a paused class is not served. Returns `None`
    /// if no packet can be served.
    fn pop(&mut self, now: Time, paused: Paused) -> Option<u32>;

    /// Bytes of the packets that wait.
    fn bytes(&self) -> Bytes;

    /// Maximum number of bytes that may wait, if the queue has such a limit. Hosts, forwarders and agents see this
    /// limit in the port's state. The engine queries this once.
    fn limit(&self) -> Option<Bytes> {
        None
    }

    /// Calls `visit` once with the slot of each waiting packet. The engine may change the slot. The order of the visits
    /// is arbitrary, but two calls visit the packets in the same order if the queue does not change between them.
    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32));

    /// The packet that will probably be served next, if the queue knows it without much work. An engine may prefetch
    /// this packet.
    fn foresee(&self) -> Option<u32> {
        None
    }

    /// True if an empty queue has no state and refuses no packet. A packet that finds the port idle and is not paused
    /// may then leave at once and bypass the queue. The engine queries this once.
    fn may_be_passed(&self) -> bool {
        false
    }
}
