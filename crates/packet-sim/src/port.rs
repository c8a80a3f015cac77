//! Egress ports and the links behind them.

use crate::wire::Wire;
use raddle_core::{
    Admit, Bytes, Credit, Duration, LinkFlowControl, LinkNoise, LinkStats, Packet, Paused, PortAgent, PortId,
    PortState, Queue, Rate, Time, prefetch, prefetch_lines,
};
use raddle_topology::{Link, LinkLayer};
use std::collections::VecDeque;

/// How one egress port queues.
#[derive(Default)]
pub struct PortSetup {
    /// Bytes that may wait, the packet in service included; `None` is unbounded. For the plain FIFO only.
    pub limit_bytes: Option<u64>,
    /// Packets that may wait, likewise.
    pub limit_packets: Option<usize>,
    /// Bytes beyond which the plain FIFO marks what joins it as having met congestion (ECN, RFC 3168), itself and the
    /// packet in service included; `None` marks nothing.
    pub mark_bytes: Option<u64>,
    /// Packets, likewise.
    pub mark_packets: Option<usize>,
    /// Order and limits other than a plain FIFO's.
    pub queue: Option<Box<dyn Queue>>,
    /// A meter and a pen. The FIFO of a port with an agent does not count the packet in service, and marks nothing: the
    /// agent may.
    pub agent: Option<Box<dyn PortAgent>>,
    /// Flow control of the link, which needs a queue that heeds it.
    pub flow_control: Option<Box<dyn LinkFlowControl>>,
}

/// Bytes of memory that a port takes beside if it is not a plain FIFO.
pub(crate) const BYTES_A_SERVED_PORT: usize = size_of::<Special>();

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

/// A port and its link: two cache lines, of which a hop mostly reads the first and mostly writes the second.
#[repr(C, align(128))]
pub(crate) struct Port {
    /// Packets accepted (of a served port: those that have begun to leave). Of a link to another partition, this end has
    /// those that have not left the port yet, and the far end those that have been sent.
    pub(crate) wire: Wire,
    /// When everything accepted will have left.
    pub(crate) free_at: Time,
    /// Bytes that wait or are in service, as of the last [`Port::settle`].
    pub(crate) queued: u64,
    pub(crate) stats: LinkStats,
    /// Which of the partition's [`Class`]es.
    pub(crate) class: u32,
    /// The link in the other direction.
    pub(crate) reverse: u32,
    /// The port at the far end.
    pub(crate) to_port: PortId,
    pub(crate) up: bool,
    /// Whether departures cost events of their own.
    pub(crate) is_served: bool,
    /// Whether the link leads to another partition.
    pub(crate) is_remote: bool,
    /// Whether departures are kept in a [`Special::ledger`], because under cut-through the wire does not tell them.
    pub(crate) has_ledger: bool,
    /// Whether an arrival may find its own departure not settled.
    pub(crate) settles_late: bool,
    /// Whether the far end passes nothing on, so that packets arrive there when they are whole.
    pub(crate) ends_here: bool,
}

/// What ports have in common: there are few kinds in a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    pub(crate) delay: Duration,
    rate: Rate,
    /// Picoseconds a byte, or zero if that is no whole number.
    ps_per_byte: u64,
    /// The rate of control frames, if not that of all.
    control_rate: Option<Rate>,
    link_layer: LinkLayer,
    limit_bytes: u64,
    limit_packets: usize,
    mark_bytes: u64,
    mark_packets: usize,
}

/// What only some ports have.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct Special {
    pub(crate) served: Option<Served>,
    /// Under cut-through, packets that have not left the port.
    pub(crate) ledger: VecDeque<Leaving>,
    pub(crate) credits: VecDeque<(Time, Credit)>,
    /// The packet that is still coming in at the far end, and waits there until enough of it has.
    pub(crate) coming: Option<Coming>,
    /// What happens to packets on the way, known at the far end.
    pub(crate) noise: Option<LinkNoise>,
}

/// A packet that has not come in far enough for what is to be done with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming {
    /// When it will have.
    pub(crate) until: Time,
    pub(crate) slot: u32,
    /// The port by which it is to leave; `None` if it is to be delivered.
    pub(crate) out: Option<PortId>,
}

/// A packet accepted by a port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    /// Its last bit leaves the port.
    pub(crate) sent: Time,
    pub(crate) arrives: Time,
    /// On a link to another partition, this one's copy of the packet, if it has one.
    pub(crate) slot: u32,
    pub(crate) size: u32,
}

/// The two-event half of a port: what it needs when the departure is not known at arrival. What every packet needs is on the
/// first cache line.
#[repr(C)]
pub(crate) struct Served {
    pub(crate) queue: Box<dyn Queue>,
    pub(crate) flow_control: Option<Box<dyn LinkFlowControl>>,
    /// The last bit of what was served last leaves the port then.
    pub(crate) free_at: Time,
    /// Bytes in the queue.
    pub(crate) waiting: u64,
    /// Bytes of what was served last.
    pub(crate) in_service: u32,
    /// The node that the port is of.
    pub(crate) node: u32,
    /// Whether a packet that finds nothing waiting may leave out the queue.
    pub(crate) may_pass: bool,
    /// Whether there is an event when the port is free: only if something waits, or somebody wants to hear of it.
    pub(crate) is_due: bool,
    /// Whether something is in `serving`.
    pub(crate) is_heard: bool,
    /// Whether flow control holds the neighbour back.
    pub(crate) holds_back: bool,
    /// Packets that came in by this port, are leaving the node, and still take of its memory.
    pub(crate) departures: Vec<Departure>,
    /// When flow control wants to be asked, or to hear of a departure; events for other times are stale.
    pub(crate) wake: Time,
    /// When the host will have taken all that has come in for it.
    pub(crate) drained_at: Time,
    pub(crate) agent: Option<Box<dyn PortAgent>>,
    /// When the agent ticks; [`Time::NEVER`] if it has to be asked, [`Time::ZERO`] if it never has to.
    pub(crate) tick: Time,
    /// What somebody wants to hear of.
    pub(crate) serving: Option<InService>,
}

/// A packet that takes memory until its last bit has left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    pub(crate) size: u32,
    pub(crate) class: raddle_core::Class,
}

/// A packet in service, of which somebody wants to hear when it has left.
pub(crate) struct InService {
    /// Under cut-through its header may be past the next node, so it is a copy, for those who want to hear of it.
    pub(crate) packet: Option<Packet>,
    pub(crate) class: raddle_core::Class,
    pub(crate) size: u32,
    /// The port by which it came in; `None` if the node sent it.
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

    /// A packet has joined the queue, which takes `time` to leave. Returns the bytes that wait or are in service.
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

    /// The queue has given up a packet, which would have taken `time` to leave.
    pub(crate) fn given_up(&mut self, size: u32, time: Duration, port: &mut Port, state: &mut PortState) {
        self.waiting -= u64::from(size);
        debug_assert_eq!(self.waiting, self.queue.bytes().0, "the packet has left the queue");
        let sooner = Time::ZERO + port.free_at.since(Time::ZERO + time);
        port.free_at = sooner.max(self.free_at);
        state.set_drains_at(port.free_at);
        state.set_waiting(Bytes(self.waiting));
    }

    /// Gives back the memory of what has left by now, until flow control has something to say.
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

    /// The same, on a link where control frames have a rate of their own.
    #[cold]
    fn serialisation_if_control(&self, rate: Rate, packet: &Packet, size: u32) -> Duration {
        if packet.class() == raddle_core::Class::CONTROL {
            rate.time_for(Bytes(self.link_layer.on_wire(size).into()))
        } else {
            self.serialisation(size)
        }
    }

    /// Time to put a packet of `size` bytes, no control frame, on the wire.
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
    /// Says that the port will be used soon.
    #[inline]
    pub(crate) fn foresee(&self) {
        prefetch(self);
        prefetch(&self.stats);
    }

    /// Brings `queued` of a port without ledger up to `now`.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, class: &Class) {
        self.queued -= self.wire.settle(now + class.delay);
    }

    /// Whether a port with so many packets waiting takes `size` bytes more.
    #[inline]
    pub(crate) fn has_room(&self, waiting: usize, size: u32, class: &Class) -> bool {
        self.queued + u64::from(size) <= class.limit_bytes && waiting < class.limit_packets
    }

    /// Whether a packet that has joined so many others here has met congestion.
    #[inline]
    pub(crate) fn marks(&self, waiting: usize, class: &Class) -> bool {
        self.queued > class.mark_bytes || waiting >= class.mark_packets
    }
}

impl Special {
    /// Says that the port will be served soon.
    #[inline]
    pub(crate) fn foresee(&self) {
        prefetch_lines(self, 2);
    }

    /// Says that what waits here will be served soon.
    #[inline]
    pub(crate) fn foresee_queue(&self) {
        if let Some(served) = &self.served {
            prefetch(&*served.queue);
        }
    }

    /// Says that a packet will be charged to flow control soon.
    #[inline]
    pub(crate) fn foresee_flow_control(&self) {
        if let Some(served) = &self.served
            && let Some(control) = &served.flow_control
        {
            prefetch(&**control);
            prefetch(&served.departures[..]);
        }
    }

    /// The packet that will probably be served next.
    #[inline]
    pub(crate) fn next(&self) -> Option<u32> {
        self.served.as_ref()?.queue.foresee()
    }

    /// Whether packets that arrive by the link, or at the port, are not simply passed on.
    pub(crate) fn inspects_arrivals(&self) -> bool {
        self.noise.is_some() || self.served.as_ref().is_some_and(|served| served.agent.is_some())
    }

    /// Whether flow control acts on the link.
    pub(crate) fn has_flow_control(&self) -> bool {
        self.served.as_ref().is_some_and(|served| served.flow_control.is_some())
    }

    /// What the port of that setup has beyond a plain FIFO.
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
