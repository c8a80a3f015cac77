//! Egress ports and the links behind them.

use crate::slab::Origin;
use raddle_core::{Admit, Bytes, Duration, Packet, PortAgent, Queue, Rate, Signal, Time};
use raddle_topology::Link;
use std::collections::VecDeque;

/// How one egress port queues.
#[derive(Default)]
pub struct PortSetup {
    /// Bytes that may wait, the packet in service included; `None` is unbounded. For the plain FIFO only.
    pub limit_bytes: Option<u64>,
    /// Packets that may wait, likewise.
    pub limit_packets: Option<usize>,
    /// Order and limits other than a plain FIFO's.
    pub queue: Option<Box<dyn Queue>>,
    /// A meter and a pen.
    pub agent: Option<Box<dyn PortAgent>>,
}

/// What passed over one directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Packets with application bytes.
    pub data_packets: u64,
    /// Their bytes, headers included.
    pub data_bytes: u64,
    /// Packets without.
    pub control_packets: u64,
    /// Their bytes.
    pub control_bytes: u64,
    /// Packets lost at this port or link.
    pub drops: u64,
    /// Most bytes that waited at once, the packet in service included.
    pub peak_queue: u64,
}

/// How many packets found how much in a port's queue when they joined it: the i-th number counts those that found
/// fewer than `2^i` bytes, themselves and the packet in service included, and not fewer than half of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepths(pub [u64; 40]);

impl Default for QueueDepths {
    fn default() -> Self {
        Self([0; 40])
    }
}

impl QueueDepths {
    pub(crate) fn count(&mut self, bytes: u64) {
        let last = self.0.len() - 1;
        self.0[((u64::BITS - bytes.leading_zeros()) as usize).min(last)] += 1;
    }
}

/// A packet accepted by a port and not yet arrived at the link's far end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Travelling {
    /// Its last bit leaves the port.
    pub(crate) sent: Time,
    /// It arrives: its last bit, or its header under cut-through.
    pub(crate) arrives: Time,
    pub(crate) slot: u32,
    pub(crate) size: u32,
}

/// The two-event half of a port: what it needs when the departure is not known at arrival.
pub(crate) struct Served {
    pub(crate) queue: Box<dyn Queue>,
    pub(crate) agent: Option<Box<dyn PortAgent>>,
    pub(crate) serving: Option<InService>,
}

/// A packet in service. Under cut-through its header may be past the next node, so it is a copy.
pub(crate) struct InService {
    pub(crate) packet: Packet,
    pub(crate) origin: Origin,
    /// Its last bit leaves the port.
    pub(crate) sent: Time,
}

/// What a plain FIFO touches at every hop comes first and fills one cache line.
#[repr(C, align(64))]
pub(crate) struct Port {
    /// Packets accepted, in order of departure (of a served port: those that have begun to leave).
    pub(crate) ring: VecDeque<Travelling>,
    pub(crate) delay: Duration,
    /// Bytes that wait or are in service, as of the last [`Port::settle`].
    pub(crate) queued: u64,
    /// Picoseconds a byte, or zero if that is no whole number.
    ps_per_byte: u32,
    pub(crate) to_node: u32,
    /// How many at the ring's head are known to have left.
    left: u32,
    pub(crate) to_port: u16,
    limited: bool,
    pub(crate) is_served: bool,
    limit_bytes: u64,
    limit_packets: usize,
    rate: Rate,
    pub(crate) served: Option<Box<Served>>,
    pub(crate) signals: VecDeque<(Time, Signal)>,
    /// The packet whose last bit is still coming in at the far end, where it is to be delivered.
    pub(crate) tail: Option<u32>,
}

impl Port {
    pub(crate) fn new(link: Option<&Link>, setup: PortSetup) -> Self {
        let rate = link.map_or(Rate::ZERO, |link| link.rate);
        let byte_ps = 8_000_000_000_000_u64;
        let exact = rate.as_bps() > 0 && byte_ps.is_multiple_of(rate.as_bps());
        let ps_per_byte = if exact { u32::try_from(byte_ps / rate.as_bps()).unwrap_or(0) } else { 0 };
        let limit_bytes = setup.limit_bytes.unwrap_or(u64::MAX);
        let limit_packets = setup.limit_packets.unwrap_or(usize::MAX);
        let queue = setup.queue.or_else(|| {
            let fifo = Fifo { limit_bytes, limit_packets, ..Fifo::default() };
            setup.agent.is_some().then(|| Box::new(fifo) as Box<dyn Queue>)
        });
        Self {
            ring: VecDeque::new(),
            delay: link.map_or(Duration::ZERO, |link| link.delay),
            queued: 0,
            ps_per_byte,
            to_node: link.map_or(0, |link| link.to.0),
            left: 0,
            to_port: link.map_or(0, |link| link.to_port.0),
            limited: setup.limit_bytes.is_some() || setup.limit_packets.is_some(),
            is_served: queue.is_some(),
            limit_bytes,
            limit_packets,
            rate,
            served: queue.map(|queue| Box::new(Served { queue, agent: setup.agent, serving: None })),
            signals: VecDeque::new(),
            tail: None,
        }
    }

    /// Time to put `size` bytes on the wire.
    #[inline]
    pub(crate) fn serialisation(&self, size: u32) -> Duration {
        if self.ps_per_byte > 0 {
            Duration::from_ps(u64::from(self.ps_per_byte) * u64::from(size))
        } else {
            self.rate.time_for(Bytes(size.into()))
        }
    }

    /// Brings `queued` of a FIFO port up to `now`.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(packet) = self.ring.get(self.left as usize)
            && packet.sent <= now
        {
            self.queued -= u64::from(packet.size);
            self.left += 1;
        }
    }

    /// Whether a FIFO port, settled, takes `size` bytes more.
    #[inline]
    pub(crate) fn has_room(&self, size: u32) -> bool {
        !self.limited
            || self.queued + u64::from(size) <= self.limit_bytes
                && self.ring.len() - (self.left as usize) < self.limit_packets
    }

    /// Empties the ring.
    pub(crate) fn cut(&mut self) -> Vec<Travelling> {
        self.left = 0;
        self.queued = 0;
        self.ring.drain(..).collect()
    }

    /// Takes the packet that arrives off the ring.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<Travelling> {
        let packet = self.ring.pop_front()?;
        if self.left > 0 {
            self.left -= 1;
        } else if !self.is_served {
            self.queued -= u64::from(packet.size);
        }
        Some(packet)
    }
}

/// The plain FIFO as a [`Queue`], for ports whose agent wants to see packets leave.
#[derive(Default)]
struct Fifo {
    packets: VecDeque<(u32, u32)>,
    bytes: u64,
    limit_bytes: u64,
    limit_packets: usize,
}

impl Queue for Fifo {
    fn push(&mut self, _now: Time, slot: u32, packet: &Packet) -> Admit {
        if self.bytes + u64::from(packet.size) > self.limit_bytes || self.packets.len() >= self.limit_packets
        {
            return Admit::Drop;
        }
        self.bytes += u64::from(packet.size);
        self.packets.push_back((slot, packet.size));
        Admit::Take
    }

    fn pop(&mut self, _now: Time) -> Option<u32> {
        let (slot, size) = self.packets.pop_front()?;
        self.bytes -= u64::from(size);
        Some(slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_fifo_touches_fits_a_cache_line() {
        assert!(std::mem::offset_of!(Port, limit_bytes) <= 64);
        assert_eq!(size_of::<Travelling>(), 24);
    }
}
