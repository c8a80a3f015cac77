//! Egress ports and the links behind them.

use crate::wire::Wire;
use raddle_core::{
    Admit, Bytes, Credit, Duration, LinkFlowControl, LinkNoise, LinkStats, Packet, Paused, PortAgent, PortId,
    PortState, Queue, Rate, Time, prefetch, prefetch_lines,
};
use raddle_topology::{Link, LinkLayer};
use std::collections::VecDeque;

/// The setup of one egress port: its limits, queue, agent and flow control.
#[derive(Default)]
pub struct PortSetup {
    /// Maximum number of bytes in the plain FIFO, the packet in service included. `None` means no limit.
    pub limit_bytes: Option<u64>,
    /// Maximum number of packets in the plain FIFO, the packet in service included. `None` means no limit.
    pub limit_packets: Option<usize>,
    /// Queue length in bytes above which the plain FIFO marks an arriving packet with ECN (RFC 3168). The length
    /// includes the arriving packet and the packet in service. `None` marks no packet.
    pub mark_bytes: Option<u64>,
    /// Queue length in packets above which the plain FIFO marks an arriving packet with ECN. The length includes the
    /// arriving packet and the packet in service. `None` marks no packet.
    pub mark_packets: Option<usize>,
    /// A queue with its own order and limits, instead of the plain FIFO.
    pub queue: Option<Box<dyn Queue>>,
    /// The agent of the port: it measures the port and may change its packets. The FIFO of a port with an agent does
    /// not count the packet in service and does not mark packets: marking is left to the agent.
    pub agent: Option<Box<dyn PortAgent>>,
    /// Flow control of the link. Flow control needs a `queue` that obeys pauses.
    pub flow_control: Option<Box<dyn LinkFlowControl>>,
}

/// Additional bytes of memory of a port that has more than a plain FIFO.
pub(crate) const BYTES_A_SERVED_PORT: usize = size_of::<Special>();

/// Histogram of a port's queue length at the arrivals of packets that the port accepts. Entry i, counted from 0, counts
/// the arrivals at which the length was at least `2^(i-1)` and less than `2^i` bytes. The last entry also counts all
/// greater lengths. The length includes the arriving packet and the packet in service.
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

/// A port and its link, on two cache lines. The processing of a hop mostly reads the first line and mostly
/// writes the second line.
#[repr(C, align(128))]
pub(crate) struct Port {
    /// Packets that the port has accepted (for a served port: packets whose transmission has begun) and that have not
    /// arrived at the far end. If the link leads to another partition, only the far end holds these packets. This end
    /// then holds records of the packets that have not left the port; under cut-through, the ledger holds these
    /// records.
    pub(crate) wire: Wire,
    /// Time at which the port will have sent all accepted packets.
    pub(crate) free_at: Time,
    /// Bytes that wait or are in service. Packets that have left since the port was last settled are still included.
    /// Always 0 at served ports, whose queue counts its own bytes.
    pub(crate) queued: u64,
    pub(crate) stats: LinkStats,
    /// Index of the port's [`Class`] in the partition.
    pub(crate) class: u32,
    /// Index of the link in the other direction.
    pub(crate) reverse: u32,
    /// The port at the far end.
    pub(crate) to_port: PortId,
    pub(crate) up: bool,
    /// True if the port is served: a departure may be a separate event (see [`Served`]).
    pub(crate) is_served: bool,
    /// True if the link leads to another partition.
    pub(crate) is_remote: bool,
    /// True if departure times are kept in a [`Special::ledger`], because under cut-through the `Wire` does not know
    /// them.
    pub(crate) has_ledger: bool,
    /// True if a packet may arrive at the far end before `queued` has been reduced by the packet's size.
    pub(crate) settles_late: bool,
    /// True if the far end forwards no packets, so that packets arrive there with their last bit.
    pub(crate) ends_here: bool,
}

/// Properties that many ports share: a fabric has few kinds of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    pub(crate) delay: Duration,
    rate: Rate,
    /// Picoseconds per byte, or zero if this is not a whole number.
    ps_per_byte: u64,
    /// The rate of control frames, if it differs from the rate of other frames.
    control_rate: Option<Rate>,
    link_layer: LinkLayer,
    limit_bytes: u64,
    limit_packets: usize,
    mark_bytes: u64,
    mark_packets: usize,
}

/// State that only some ports need.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct Special {
    pub(crate) served: Option<Served>,
    /// Under cut-through, packets that have not left the port.
    pub(crate) ledger: VecDeque<Leaving>,
    pub(crate) credits: VecDeque<(Time, Credit)>,
    /// The packet that is arriving at the far end and waits there until enough of it has arrived.
    pub(crate) coming: Option<Coming>,
    /// The noise that loses and damages packets on the link; `None` if the link has no noise. If the link leads to
    /// another partition, only the far end has the noise.
    pub(crate) noise: Option<LinkNoise>,
}

/// An arriving packet that cannot be forwarded or delivered yet, because not enough of its bits have arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming {
    /// Time at which enough of the packet will have arrived.
    pub(crate) until: Time,
    pub(crate) slot: u32,
    /// The port by which the packet will leave; `None` if it will be delivered.
    pub(crate) out: Option<PortId>,
}

/// An entry of the ledger: a packet that a port has accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    /// Time at which the last bit leaves the port.
    pub(crate) sent: Time,
    pub(crate) arrives: Time,
    /// If the link leads to another partition: the slot of this partition's copy of the packet, or `NOWHERE` if there
    /// is no copy. Otherwise unused.
    pub(crate) slot: u32,
    pub(crate) size: u32,
}

/// State of a served port. Such a port needs up to two events per packet, because a packet's departure time is not
/// known when the packet is queued. The fields that every packet needs are on the first cache line.
#[repr(C)]
pub(crate) struct Served {
    pub(crate) queue: Box<dyn Queue>,
    pub(crate) flow_control: Option<Box<dyn LinkFlowControl>>,
    /// Time at which the port's latest transmission ends: the packet's last bit leaves the port at this time.
    pub(crate) free_at: Time,
    /// Bytes in the queue.
    pub(crate) waiting: u64,
    /// Bytes of the packet whose transmission began most recently.
    pub(crate) in_service: u32,
    /// Index of the port's node.
    pub(crate) node: u32,
    /// True if a packet that finds the queue empty may bypass it.
    pub(crate) may_pass: bool,
    /// True if an end-of-transmission event is pending. Such an event is needed only if a packet waits, or
    /// if the agent or the node must be told of the departure.
    pub(crate) is_due: bool,
    /// True if `serving` is set.
    pub(crate) is_heard: bool,
    /// True if flow control holds the neighbour back.
    pub(crate) holds_back: bool,
    /// Packets that arrived by this port, are leaving the node, and still occupy the node's memory.
    pub(crate) departures: Vec<Departure>,
    /// Time of the next call to flow control: its timer or a departure. Events for other times are stale.
    pub(crate) wake: Time,
    /// Time at which the node's host will have taken all bytes that have arrived for it by this port.
    pub(crate) drained_at: Time,
    pub(crate) agent: Option<Box<dyn PortAgent>>,
    /// Time of the agent's next tick. [`Time::NEVER`] means that the agent must be asked for the time. [`Time::ZERO`]
    /// means that there is no agent, or that the agent has no timer.
    pub(crate) tick: Time,
    /// The packet in service, if the agent or the node must be told when it has left.
    pub(crate) serving: Option<InService>,
}

/// A packet that occupies the node's memory until its last bit has left, or until the node's host has taken it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    pub(crate) size: u32,
    pub(crate) class: raddle_core::Class,
}

/// A packet in service whose departure must be reported to the agent or the node.
pub(crate) struct InService {
    /// A copy of the packet for the node, if the node is told of departures. Under cut-through, the next node may
    /// change, forward or drop the packet itself before its last bit leaves this port.
    pub(crate) packet: Option<Packet>,
    pub(crate) class: raddle_core::Class,
    pub(crate) size: u32,
    /// The port by which the packet arrived; `None` if the node itself sent it.
    pub(crate) arrival: Option<PortId>,
}

impl Served {
    fn new(
        queue: Box<dyn Queue>,
        agent: Option<Box<dyn PortAgent>>,
        flow_control: Option<Box<dyn LinkFlowControl>>,
    ) -> Self {
        Self {
            may_pass: agent.is_none() && queue.may_be_passed(),
            tick: match &agent {
                Some(agent) if agent.has_timer() => Time::NEVER,
                _ => Time::ZERO,
            },
            queue,
            agent,
            flow_control,
            free_at: Time::ZERO,
            in_service: 0,
            node: 0,
            waiting: 0,
            is_due: false,
            is_heard: false,
            holds_back: false,
            serving: None,
            departures: Vec::new(),
            wake: Time::NEVER,
            drained_at: Time::ZERO,
        }
    }

    /// Records that a packet has joined the queue. The packet's serialization delay is `time`. Returns the bytes that
    /// wait or are in service.
    #[inline]
    pub(crate) fn joined(
        &mut self,
        now: Time,
        size: u32,
        time: Duration,
        port: &mut Port,
        state: &mut PortState,
    ) -> u64 {
        self.waiting += u64::from(size);
        port.free_at = port.free_at.max(now) + time;
        state.set_drains_at(port.free_at);
        state.set_waiting(Bytes(self.waiting));
        debug_assert_eq!(self.waiting, self.queue.bytes().0);
        self.bytes(now)
    }

    /// Records that the queue has removed a packet without sending it. The packet's serialization delay would have been
    /// `time`.
    pub(crate) fn given_up(&mut self, size: u32, time: Duration, port: &mut Port, state: &mut PortState) {
        self.waiting -= u64::from(size);
        debug_assert_eq!(self.waiting, self.queue.bytes().0, "the packet must have left the queue");
        let sooner = Time::ZERO + port.free_at.since(Time::ZERO + time);
        port.free_at = sooner.max(self.free_at);
        state.set_drains_at(port.free_at);
        state.set_waiting(Bytes(self.waiting));
    }

    /// Frees the memory of packets that have left by `now`. If flow control sends a packet, stops early and returns
    /// that packet.
    #[inline]
    pub(crate) fn settle_departures(&mut self, now: Time) -> Option<Packet> {
        let control = self.flow_control.as_mut()?;
        let mut place = 0;
        while let Some(&Departure { at, size, class }) = self.departures.get(place) {
            if at > now {
                place += 1;
                continue;
            }
            self.departures.swap_remove(place);
            if let told @ Some(_) = control.leave(at, class, size) {
                return told;
            }
        }
        None
    }

    /// Bytes that wait or are in service.
    pub(crate) fn bytes(&self, now: Time) -> u64 {
        let in_service = if self.free_at > now { self.in_service } else { 0 };
        self.waiting + u64::from(in_service)
    }
}

impl Class {
    pub(crate) fn new(link: Option<&Link>, link_layer: LinkLayer, setup: &PortSetup) -> Self {
        let rate = link.map_or(Rate::ZERO, |link| link.rate);
        let byte_ps = 8_000_000_000_000_u64;
        let exact = rate.as_bps() > 0 && byte_ps.is_multiple_of(rate.as_bps());
        Self {
            delay: link.map_or(Duration::ZERO, |link| link.delay),
            rate,
            ps_per_byte: if exact { byte_ps / rate.as_bps() } else { 0 },
            control_rate: link.filter(|link| link.line_rate != link.rate).map(|link| link.line_rate),
            link_layer,
            limit_bytes: setup.limit_bytes.unwrap_or(u64::MAX),
            limit_packets: setup.limit_packets.unwrap_or(usize::MAX),
            mark_bytes: setup.mark_bytes.unwrap_or(u64::MAX),
            mark_packets: setup.mark_packets.unwrap_or(usize::MAX),
        }
    }

    /// Time to put the first `size` bytes of a packet on the wire.
    #[inline]
    pub(crate) fn serialisation_of(&self, packet: &Packet, size: u32) -> Duration {
        match self.control_rate {
            None => self.serialisation(size),
            Some(rate) => self.serialisation_if_control(rate, packet, size),
        }
    }

    /// Like [`serialisation_of`](Self::serialisation_of), for a link whose control frames have a separate rate.
    #[cold]
    fn serialisation_if_control(&self, rate: Rate, packet: &Packet, size: u32) -> Duration {
        if packet.class() == raddle_core::Class::CONTROL {
            rate.time_for(Bytes(self.link_layer.on_wire(size).into()))
        } else {
            self.serialisation(size)
        }
    }

    /// Time to put a packet of `size` bytes on the wire, if it is not a control frame.
    #[inline]
    pub(crate) fn serialisation(&self, size: u32) -> Duration {
        let size = self.link_layer.on_wire(size);
        if self.ps_per_byte > 0 {
            Duration::from_ps(self.ps_per_byte * u64::from(size))
        } else {
            self.rate.time_for(Bytes(size.into()))
        }
    }
}

impl Port {
    /// Prefetches the port, which will be used soon.
    #[inline]
    pub(crate) fn foresee(&self) {
        prefetch(self);
        prefetch(&self.stats);
    }

    /// Subtracts from `queued` the bytes of the packets that have left the port by `now`. The port must have no ledger.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, class: &Class) {
        self.queued -= self.wire.settle(now + class.delay);
    }

    /// True if the port, with `waiting` packets, has room for another packet of `size` bytes.
    #[inline]
    pub(crate) fn has_room(&self, waiting: usize, size: u32, class: &Class) -> bool {
        self.queued + u64::from(size) <= class.limit_bytes && waiting < class.limit_packets
    }

    /// True if a packet that has just joined must be marked with ECN. `waiting` is the number of packets ahead of the
    /// packet.
    #[inline]
    pub(crate) fn marks(&self, waiting: usize, class: &Class) -> bool {
        self.queued > class.mark_bytes || waiting >= class.mark_packets
    }
}

impl Special {
    /// Prefetches the port's state, which will be used soon.
    #[inline]
    pub(crate) fn foresee(&self) {
        prefetch_lines(self, 2);
    }

    /// Prefetches the queue, whose next packet will be served soon.
    #[inline]
    pub(crate) fn foresee_queue(&self) {
        if let Some(served) = &self.served {
            prefetch(&*served.queue);
        }
    }

    /// Prefetches flow control, to which a packet will be charged soon.
    #[inline]
    pub(crate) fn foresee_flow_control(&self) {
        if let Some(served) = &self.served
            && let Some(control) = &served.flow_control
        {
            prefetch(&**control);
            prefetch(&served.departures[..]);
        }
    }

    /// The slot of the packet that will probably be served next.
    #[inline]
    pub(crate) fn next(&self) -> Option<u32> {
        self.served.as_ref()?.queue.foresee()
    }

    /// True if link noise or the port's agent must see arriving packets.
    pub(crate) fn inspects_arrivals(&self) -> bool {
        self.noise.is_some() || self.served.as_ref().is_some_and(|served| served.agent.is_some())
    }

    /// True if the link has flow control.
    pub(crate) fn has_flow_control(&self) -> bool {
        self.served.as_ref().is_some_and(|served| served.flow_control.is_some())
    }

    /// The state that a port with this setup needs in addition to the state of a plain FIFO.
    pub(crate) fn new(setup: PortSetup, class: &Class) -> Self {
        let PortSetup { queue, agent, flow_control, .. } = setup;
        let queue = queue.or_else(|| {
            let (limit_bytes, limit_packets) = (class.limit_bytes, class.limit_packets);
            let fifo = Fifo { limit_bytes, limit_packets, ..Fifo::default() };
            agent.is_some().then(|| Box::new(fifo) as Box<dyn Queue>)
        });
        let served = queue.map(|queue| Served::new(queue, agent, flow_control));
        Self { served, ..Self::default() }
    }
}

/// The plain FIFO as a [`Queue`], for ports whose agent must be told of departures.
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

    fn pop(&mut self, _now: Time, _paused: Paused) -> Option<u32> {
        let (slot, size) = self.packets.pop_front()?;
        self.bytes -= u64::from(size);
        Some(slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.packets.iter_mut().for_each(|(slot, _)| visit(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Travelling;

    #[test]
    fn a_port_fits_two_cache_lines() {
        assert_eq!(size_of::<Port>(), 128);
        assert_eq!(std::mem::offset_of!(Port, stats), 64);
        assert_eq!(size_of::<Travelling>(), 16);
    }
}
