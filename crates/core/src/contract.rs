//! The contracts between schemes and engines: what a part may see, and what it may ask for.
//!
//! A packet passes a node along one line: `PortAgent::arrive`, `Forwarder::forward` (which says whether the packet
//! is for this node), then either `Host::handle`, or `PortAgent::enqueue`, the port's [`Queue`],
//! `PortAgent::dequeue`, and the wire. What a host sends enters the line at the forwarder, or at the port it names.

use crate::{Bytes, Class, Duration, Flow, FlowId, FlowKey, LinkId, NodeId, Packet, PortId, Rate, Time};

/// Priorities that may not begin to send: bit `i` is priority `i` of the eight of IEEE 802.1Q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paused(pub u8);

impl Paused {
    /// All may send.
    pub const NONE: Self = Self(0);

    /// Whether packets of that [class](Packet::class) may not begin to leave.
    #[must_use]
    #[inline]
    pub const fn holds(self, class: Class) -> bool {
        class.0 < Class::CONTROL.0 && self.0 >> class.0 & 1 == 1
    }
}

/// An egress port as its node's parts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortState {
    /// When everything now accepted by the port will have left it, if nothing pauses it.
    pub free_at: Time,
    /// The link's rate; zero where the port has no link.
    pub rate: Rate,
    /// Whether the link is there and up.
    pub up: bool,
    /// What the neighbour does not want to have now.
    pub paused: Paused,
}

impl PortState {
    /// How long a packet accepted now would wait before its first bit leaves.
    #[must_use]
    pub fn backlog(&self, now: Time) -> Duration {
        self.free_at.since(now)
    }
}

/// A node's egress ports, in port order: a read-only view.
#[derive(Debug, Clone, Copy)]
pub struct Ports<'a>(pub &'a [PortState]);

impl Ports<'_> {
    /// The state of one port.
    #[must_use]
    pub fn get(&self, port: PortId) -> &PortState {
        &self.0[port.index()]
    }
}

/// What happens to a host.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// An application hands over a flow to send.
    Flow(&'a Flow),
    /// A packet for this node has arrived by a port.
    Packet {
        /// The packet.
        packet: &'a Packet,
        /// The port it came in by.
        port: PortId,
    },
    /// A packet that this host sent has left its port; only from ports that have a [`Queue`] of their own.
    Sent(&'a Packet),
    /// This node dropped a packet, its own or one it relayed.
    Dropped {
        /// The packet.
        packet: &'a Packet,
        /// The egress port it was bound for.
        port: PortId,
        /// Why.
        reason: DropReason,
    },
    /// Bytes have come in by a port that are no packet. Nothing they say can be trusted.
    Corrupted {
        /// The port they came in by.
        port: PortId,
    },
    /// Topology discovery reports that a link, anywhere, went down or came up.
    Link {
        /// The directed link.
        link: LinkId,
        /// Its new state.
        up: bool,
    },
}

/// What a host wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send a packet, by the port named, or by the one that this node's forwarder picks.
    Send {
        /// The packet.
        packet: Packet,
        /// The egress port, if the host itself decides.
        port: Option<PortId>,
    },
    /// Tell the observer something.
    Report(Report),
    /// Nothing now; poll again at this time, which replaces every earlier wish. [`Time::NEVER`] is [`Output::Idle`].
    WakeAt(Time),
    /// Nothing until the next input.
    Idle,
}

/// What hosts tell the observer. Flows are named by their key on the wire, which the sender ties to a [`FlowId`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Report {
    /// The sender took up a flow and calls it `key` on the wire.
    Opened {
        /// The flow.
        flow: FlowId,
        /// Its name on the wire.
        key: FlowKey,
    },
    /// The receiver has delivered the flow's last byte in order.
    Delivered {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Most packets that waited for an earlier one.
        reorder_peak: u32,
    },
    /// The sender knows that the flow is done, or has sent its last byte if it will never know.
    Closed {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Packets sent more than once.
        retransmissions: u32,
    },
    /// The sender set the flow's rate.
    Paced {
        /// The flow's name on the wire.
        key: FlowKey,
        /// The new rate.
        rate: Rate,
    },
    /// How far the receiver of a flow had come at the last multiple of the interval at which it was asked to tell. Said
    /// when more of the flow arrives, so the last such word may be missing.
    Progress {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Bytes delivered in order.
        in_order: u64,
        /// Packets that arrived after one sent later.
        late: u32,
    },
    /// A program that runs on this host now begins a flow that is not of the workload's list.
    Began {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Receiver.
        dst: NodeId,
        /// Application bytes.
        size: Bytes,
    },
    /// The program that runs on this host has come to its end.
    Finished,
}

/// One per host: opens flows, sends, receives, paces, times out.
pub trait Host: Send {
    /// Takes in what happened. The engine then calls [`poll`](Self::poll).
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// Where in memory this host will look first for a packet that is about to be delivered to it. Nothing depends on it
    /// but speed: an engine may bring in what is there.
    fn foresee(&self, _packet: &Packet) -> Option<*const u8> {
        None
    }

    /// Says what the host wants. The engine calls it after every input and at every wake-up, again and again until
    /// it answers [`Output::WakeAt`] or [`Output::Idle`].
    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output;

    /// When it has something to do before anything has happened to it: the engine then [polls](Self::poll) it for the
    /// first time.
    fn begins(&self) -> Option<Time> {
        None
    }

    /// Of the flows from here that were not [closed](Report::Closed), by their keys on the wire, how many packets were sent
    /// more than once: for the records of flows that a run leaves unfinished. In order of key; flows without such packets
    /// may be left out.
    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        Vec::new()
    }

    /// What this host would still have to hear of to come to its end, in words, if a program runs on it that has not.
    fn waits_for(&self) -> Option<String> {
        None
    }
}

/// What a forwarder decides on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves by this port.
    Forward(PortId),
    /// It leaves by this port, and after it what the forwarder itself has to send: [`Forwarder::originate`].
    Answer(PortId),
    /// It was for the forwarder, and ends here. What the forwarder has to send then goes: [`Forwarder::originate`].
    Absorb,
    /// It is for this node's host.
    Deliver,
    /// It waits in this node under a key of the forwarder's choice. It is asked about again when
    /// [`Forwarder::signal`] answers with that key, and when discovery reports a change.
    Hold(u64),
    /// It is lost.
    Drop(DropReason),
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The egress queue was full.
    QueueFull,
    /// The egress link was down, or went down under the packet.
    LinkDown,
    /// The forwarder knows no way.
    NoRoute,
    /// The bytes were not a valid packet.
    Malformed,
    /// It vanished on the link.
    Lost,
}

/// A flow-control word between neighbours: it takes the link's delay and none of its bandwidth (a credit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(pub u64);

/// One per node that forwards: picks the egress port. Called once a packet-hop: no allocation, no search over flows.
pub trait Forwarder: Send {
    /// Decides on a packet that arrived by `arrival`, or that this node's host sends (`None`).
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict;

    /// The next packet of this forwarder's own, and the port it leaves by. Asked again and again after
    /// [`Verdict::Answer`] and [`Verdict::Absorb`], until there is none.
    fn originate(&mut self) -> Option<(Packet, PortId)> {
        None
    }

    /// The port that [`forward`](Self::forward) will probably choose for a packet that is about to arrive. Nothing
    /// depends on it but speed: an engine may bring in what it will need there.
    fn foresee(&self, _packet: &Packet) -> Option<PortId> {
        None
    }

    /// Whether it wants to hear of packets that have [departed](Self::departed). Asked once.
    fn hears_of_departures(&self) -> bool {
        false
    }

    /// A packet that had arrived by `arrival` has left this node's buffers; the answer goes to the neighbour at
    /// that port. Called only if the forwarder [wants](Self::hears_of_departures) it.
    fn departed(&mut self, _packet: &Packet, _arrival: PortId) -> Option<Signal> {
        None
    }

    /// The neighbour at `port` answered. Returns the key of held packets that may now go on, if any.
    fn signal(&mut self, _port: PortId, _signal: Signal) -> Option<u64> {
        None
    }

    /// Topology discovery reports that a link, anywhere, went down or came up.
    fn link(&mut self, _link: LinkId, _up: bool) {}
}

/// One per port: a meter and a pen. Sees packets pass; measures, marks, originates notices.
pub trait PortAgent: Send {
    /// A packet comes in from the wire.
    fn arrive(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) {}

    /// A packet is about to be queued; a packet returned is sent by this node's forwarder.
    fn enqueue(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) -> Option<Packet> {
        None
    }

    /// A packet begins to leave.
    fn dequeue(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) {}

    /// The last bit of a packet of that [class](Packet::class) and so many bytes that was [queued](Self::enqueue) has left,
    /// or it was lost: the queue had no room for it, or the link went down.
    fn left(&mut self, _now: Time, _class: Class, _size: u32) {}
}

/// Flow control of the link at one port, both ways: it counts what packets that came in by the port take of their node's
/// memory, says what the neighbour must know of that, and heeds what the neighbour says of its own.
///
/// What it sends goes before all else ([`Class::CONTROL`]) and is never held back.
pub trait LinkFlowControl: Send {
    /// A packet of that [class](Packet::class) and so many bytes that came in by this port has joined a queue of its node.
    /// Returns what the neighbour is to be told.
    fn enter(&mut self, now: Time, class: Class, size: u32) -> Option<Packet>;

    /// The last bit of such a packet has left the node, or it was lost there. Returns what the neighbour is to be told:
    /// nothing, unless it is [held back](Self::holds_back). While it is not, the engine may call this later than the
    /// packet leaves, `now` being when it left, but before anything else [enters](Self::enter).
    fn leave(&mut self, now: Time, class: Class, size: u32) -> Option<Packet>;

    /// Whether the neighbour has been told to hold something back.
    fn holds_back(&self) -> bool;

    /// A packet of class [`Class::CONTROL`] has come in by this port. Returns whether it was flow control's, and ends here.
    fn heed(&mut self, now: Time, packet: &Packet) -> bool;

    /// What may not begin to leave by this port, as of the last of these calls.
    fn paused(&self) -> Paused;

    /// When [`fire`](Self::fire) is to be called; [`Time::NEVER`] if it need not be.
    fn wake(&self) -> Time;

    /// The time has come: what the neighbour said runs out, or what it was told has to be said again. Called until
    /// [`wake`](Self::wake) is later than now.
    fn fire(&mut self, now: Time) -> Option<Packet>;

    /// The link has come up again, and what was said over it before is lost: the neighbour wants nothing held back, and
    /// knows of nothing. Returns what it is to be told.
    fn restart(&mut self, now: Time) -> Option<Packet>;

    /// What it has counted up to now.
    fn account(&self, now: Time) -> FlowControlAccount;

    /// How fast the node's host takes what comes in by this port for it out of the node's memory, packet by packet;
    /// `None` if at once. It has each packet when that has come in; only the memory is given back later.
    fn drain_rate(&self) -> Option<Rate> {
        None
    }
}

/// What flow control of a link has counted at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowControlAccount {
    /// How often it told the neighbour to stop, renewals aside.
    pub pauses: u64,
    /// How long it was told to hold back what waited here: any priority.
    pub paused: Duration,
    /// Most bytes that packets that came in by this port took of the node's memory.
    pub peak_memory: u64,
    /// Packets for which there was no room left, which lossless Ethernet must never see.
    pub overflows: u64,
}

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

/// The parts of one node. [`Node`](crate::Node) calls them.
#[derive(Default)]
pub struct Parts {
    /// What opens, sends and receives flows.
    pub host: Option<Box<dyn Host>>,
    /// What picks egress ports; a node without one delivers whatever arrives, and sends by port 0.
    pub forwarder: Option<Box<dyn Forwarder>>,
}
