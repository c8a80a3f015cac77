//! Plain FIFO queues of ports, in lockstep and in racks, with their limits and marking thresholds.

use raddle_core::{Bytes, PortState, Time};
use std::collections::VecDeque;

/// The limits and the marking thresholds (ECN, RFC 3168) of a plain FIFO. The numbers of bytes and packets include the
/// packet in service. A FIFO without limits holds any number of packets. A FIFO without thresholds marks no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Maximum number of bytes.
    pub bytes: Option<u64>,
    /// Maximum number of packets.
    pub packets: Option<usize>,
    /// The FIFO marks an arriving packet if the FIFO, including this packet, would hold more bytes than this threshold.
    pub mark_bytes: Option<u64>,
    /// The FIFO marks an arriving packet if the FIFO already holds at least this number of packets.
    pub mark_packets: Option<usize>,
}

impl Limits {
    /// Returns `port` with its queue limited to `bytes`. Without `bytes`, returns `port` unchanged.
    pub(crate) fn of_port(&self, port: PortState) -> PortState {
        self.bytes.map_or(port, |bytes| port.limited(Bytes(bytes)))
    }
}

/// A plain FIFO: its limits, and the packets that have not left it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fifo {
    pub(crate) limits: Limits,
    /// For each packet: the time at which its last bit leaves, and its size in bytes.
    packets: VecDeque<(Time, u32)>,
    bytes: u64,
}

impl Fifo {
    /// An empty FIFO with these limits.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns true if a packet of `size` bytes may join. First removes the packets that have left by `now`.
    pub(crate) fn has_room(&mut self, now: Time, size: u32) -> bool {
        while let Some((_, size)) = self.packets.pop_front_if(|&mut (sent, _)| sent <= now) {
            self.bytes -= u64::from(size);
        }
        let Limits { bytes, packets, .. } = self.limits;
        bytes.is_none_or(|most| self.bytes + u64::from(size) <= most)
            && packets.is_none_or(|most| self.packets.len() < most)
    }

    /// Returns true if a packet of `size` bytes that joins now is marked.
    pub(crate) fn marks(&self, size: u32) -> bool {
        let Limits { mark_bytes, mark_packets, .. } = self.limits;
        mark_bytes.is_some_and(|most| self.bytes + u64::from(size) > most)
            || mark_packets.is_some_and(|most| self.packets.len() >= most)
    }

    /// Discards all packets.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    /// Adds a packet whose last bit leaves at `sent`. The FIFO must [have room](Self::has_room) for the packet. Returns
    /// the number of bytes that wait or are in service.
    pub(crate) fn join(&mut self, sent: Time, size: u32) -> u64 {
        self.packets.push_back((sent, size));
        self.bytes += u64::from(size);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_holds_and_marks_by_bytes_and_packets() {
        let at = Time::from_ps;
        let limits = |bytes, packets| Limits { bytes, packets, mark_bytes: Some(250), mark_packets: Some(2) };
        for (limits, holds) in
            [(limits(Some(350), None), 3), (limits(None, Some(4)), 4), (limits(None, None), 9)]
        {
            let mut fifo = Fifo::new(limits);
            let mut marked = Vec::new();
            let joined = (0..9).take_while(|&i| {
                let has_room = fifo.has_room(at(5), 100);
                if has_room {
                    marked.push(fifo.marks(100));
                    fifo.join(at(10 + i), 100);
                }
                has_room
            });
            assert_eq!(joined.count(), holds);
            assert_eq!(marked[..3], [false, false, true], "the third packet is the first to be marked");
            assert!(fifo.has_room(at(10), 100), "one packet has left");
        }
    }
}
