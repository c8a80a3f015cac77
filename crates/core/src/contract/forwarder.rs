//! The contract of a forwarder, which decides on each packet and can also send its own packets.

use crate::{Credit, LinkId, Packet, PortId, Ports, Time};

/// A forwarder's decision on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The packet leaves by this port.
    Forward(PortId),
    /// The packet leaves by this port. Then the forwarder's own packets are sent: [`Forwarder::originate`].
    Answer(PortId),
    /// The packet was addressed to the forwarder, and ends here. Then the forwarder's own packets are sent:
    /// [`Forwarder::originate`].
    Absorb,
    /// The packet is for this node's host.
    Deliver,
    /// The packet waits in this node under a key that the forwarder chooses. The node asks about the packet again when
    /// [`Forwarder::credited`] frees that key, and when discovery reports a change.
    Hold(HoldKey),
    /// The packet is lost.
    Drop(DropReason),
}

/// The reason why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum DropReason {
    /// The egress queue was full. The queue refused the packet, or dropped the packet to make room for another packet.
    QueueFull,
    /// The egress link was down, or failed while the packet was queued or on the link.
    LinkDown,
    /// The forwarder knows no path.
    NoRoute,
    /// The bytes were not a valid packet, or the forwarder found the packet invalid, for instance because a field was
    /// missing.
    Malformed,
    /// The link lost the packet at random ([`LinkErrors`](crate::LinkErrors)).
    Lost,
}

/// A key, chosen by a forwarder, under which packets wait in its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldKey(pub u64);

/// Chooses the egress port of each packet at one node. [`forward`](Self::forward) is called at every hop of every
/// packet, so it must not allocate memory or search all flows.
pub trait Forwarder: Send {
    /// Decides on a packet that arrived by `arrival`, or that this node's host or a port agent sends (`None`).
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict;

    /// The next packet that this forwarder itself sends, and its egress port. Called after [`Verdict::Answer`],
    /// [`Verdict::Absorb`] and each [`tick`](Self::tick), repeatedly until it returns `None`.
    fn originate(&mut self) -> Option<(Packet, PortId)> {
        None
    }

    /// Time of the next call of [`tick`](Self::tick); [`Time::NEVER`] if no call is needed. The node queries this time
    /// at the start, after each tick, and after it has asked the forwarder for its own packets. While no tick is
    /// scheduled, the node also queries this time after credits and departures. A forwarder with no work left must
    /// return [`Time::NEVER`]: a fabric with scheduled ticks never comes to rest.
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`next_tick`](Self::next_tick) has come. After the call, the forwarder's own packets are sent:
    /// [`originate`](Self::originate).
    fn tick(&mut self, _now: Time, _ports: &Ports<'_>) {}

    /// The port that [`forward`](Self::forward) will probably choose for a packet that is about to arrive. The answer
    /// affects only speed: an engine may prefetch the port's data.
    fn foresee(&self, _packet: &Packet) -> Option<PortId> {
        None
    }

    /// True if the forwarder must be told of packets that have [departed](Self::departed). The node queries this once.
    fn hears_of_departures(&self) -> bool {
        false
    }

    /// A packet that had arrived by the port `arrival` has left this node's buffers. The returned credit is sent to the
    /// neighbour at that port. The credit takes the link's propagation delay and, in simulation, no bandwidth. Called
    /// only if [`hears_of_departures`](Self::hears_of_departures) returns true. The call may schedule a
    /// [tick](Self::next_tick) if none is scheduled. It must not move a scheduled tick to an earlier time, because the
    /// node may not notice this.
    fn departed(&mut self, _now: Time, _packet: &Packet, _arrival: PortId) -> Option<Credit> {
        None
    }

    /// A credit has arrived from the neighbour at `port`. Adds to `freed` the keys of held packets that may now
    /// proceed. The call may schedule a [tick](Self::next_tick) if none is scheduled. As in
    /// [`departed`](Self::departed), it must not move a scheduled tick to an earlier time.
    fn credited(&mut self, _now: Time, _port: PortId, _credit: &Credit, _freed: &mut Vec<HoldKey>) {}

    /// The next credit that the forwarder gives to a neighbour, and this node's port to that neighbour. Called after
    /// each [`tick`](Self::tick), repeatedly until it returns `None`.
    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        None
    }

    /// Topology discovery reports that a link, anywhere in the fabric, went down or came up.
    fn link(&mut self, _link: LinkId, _up: bool) {}
}
