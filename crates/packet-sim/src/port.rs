//! Egress ports and the links behind them.

use crate::slab::Resident;
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
    /// A copy of the packet in service (under cut-through its header may be past the next node), and when its last
    /// bit leaves.
    pub(crate) serving: Option<(Resident, Time)>,
}

pub(crate) struct Port {
    /// Packets accepted, in order of departure (of a served port: those that have begun to leave).
    pub(crate) ring: VecDeque<Travelling>,
    /// How many at the ring's head are known to have left.
    pub(crate) left: usize,
    /// Bytes that wait or are in service, as of the last [`Port::settle`].
    pub(crate) queued: u64,
    limit_bytes: u64,
    limit_packets: usize,
    ps_per_byte: u64,
    rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) to_node: u32,
    pub(crate) to_port: u16,
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
        let limit_bytes = setup.limit_bytes.unwrap_or(u64::MAX);
        let limit_packets = setup.limit_packets.unwrap_or(usize::MAX);
        let queue = setup.queue.or_else(|| {
            let fifo = Fifo { limit_bytes, limit_packets, ..Fifo::default() };
            setup.agent.is_some().then(|| Box::new(fifo) as Box<dyn Queue>)
        });
        Self {
            ring: VecDeque::new(),
            left: 0,
            queued: 0,
            limit_bytes,
            limit_packets,
            ps_per_byte: if exact { byte_ps / rate.as_bps() } else { 0 },
            rate,
            delay: link.map_or(Duration::ZERO, |link| link.delay),
            to_node: link.map_or(0, |link| link.to.0),
            to_port: link.map_or(0, |link| link.to_port.0),
            served: queue.map(|queue| Box::new(Served { queue, agent: setup.agent, serving: None })),
            signals: VecDeque::new(),
            tail: None,
        }
    }

    /// Time to put `size` bytes on the wire.
    #[inline]
    pub(crate) fn serialisation(&self, size: u32) -> Duration {
        if self.ps_per_byte > 0 {
            Duration::from_ps(self.ps_per_byte * u64::from(size))
        } else {
            self.rate.time_for(Bytes(size.into()))
        }
    }

    /// Brings `queued` of a FIFO port up to `now`.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(packet) = self.ring.get(self.left)
            && packet.sent <= now
        {
            self.queued -= u64::from(packet.size);
            self.left += 1;
        }
    }

    /// Whether a FIFO port, settled, takes `size` bytes more.
    #[inline]
    pub(crate) fn has_room(&self, size: u32) -> bool {
        self.queued + u64::from(size) <= self.limit_bytes && self.ring.len() - self.left < self.limit_packets
    }

    /// Takes the packet that arrives off the ring.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<Travelling> {
        let packet = self.ring.pop_front()?;
        if self.left > 0 {
            self.left -= 1;
        } else if self.served.is_none() {
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
