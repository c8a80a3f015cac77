//! The contract of a forwarder: a verdict for each packet, and packets of its own.

use crate::{Credit, LinkId, Packet, PortId, Ports, Time};

/// A forwarder's decision on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves by this port.
    Forward(PortId),
    /// The packet leaves by this port; then the forwarder's own packets are sent: [`Forwarder::originate`].
    Answer(PortId),
    /// The packet was for the forwarder, and ends here. Then the forwarder's own packets are sent:
    /// [`Forwarder::originate`].
    Absorb,
    /// It is for this node's host.
    Deliver,
    /// It waits in this node under a key of the forwarder's choice. It is asked about again when
    /// [`Forwarder::credited`] frees that key, and when discovery reports a change.
    Hold(HoldKey),
    /// It is lost.
    Drop(DropReason),
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum DropReason {
    /// The egress queue was full: it refused the packet, or gave it up for another.
    QueueFull,
    /// The egress link was down, or went down under the packet.
    LinkDown,
    /// The forwarder knows no path.
    NoRoute,
    /// The bytes were not a valid packet.
    Malformed,
    /// It vanished on the link.
    Lost,
}

/// A name, of a forwarder's choice, under which packets wait in its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldKey(pub u64);

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

    /// Time of the next call of [`tick`](Self::tick); [`Time::NEVER`] if none is needed. Asked at the start, after each
    /// tick, after the forwarder has been asked for packets of its own and, while no tick is to come, after credits. A
    /// forwarder with no work left must return [`Time::NEVER`]: a fabric with ticks to come never comes to rest.
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`next_tick`](Self::next_tick) has come. Then the forwarder's own packets are sent:
    /// [`originate`](Self::originate).
    fn tick(&mut self, _now: Time, _ports: &Ports<'_>) {}

    /// The port that [`forward`](Self::forward) will probably choose for a packet that is about to arrive. It affects only
    /// speed: an engine may prefetch the port's data.
    fn foresee(&self, _packet: &Packet) -> Option<PortId> {
        None
    }

    /// True if the forwarder must be told of packets that have [departed](Self::departed). Asked once.
    fn hears_of_departures(&self) -> bool {
        false
    }

    /// A packet that had arrived by `arrival` has left this node's buffers; the credit goes to the neighbour at that port.
    /// It takes the link's delay and, in simulation, none of its bandwidth. Called only if the forwarder
    /// [wants](Self::hears_of_departures) it; the forwarder may then have to be asked when it [ticks](Self::next_tick).
    fn departed(&mut self, _now: Time, _packet: &Packet, _arrival: PortId) -> Option<Credit> {
        None
    }

    /// A credit of the neighbour at `port` has come. Adds to `freed` the keys of held packets that may now go on. The
    /// forwarder may then have to be asked when it [ticks](Self::next_tick).
    fn credited(&mut self, _now: Time, _port: PortId, _credit: &Credit, _freed: &mut Vec<HoldKey>) {}

    /// A credit that the forwarder has to give by a port on its own account. Asked after each [`tick`](Self::tick), again and
    /// again until there is none.
    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        None
    }

    /// Topology discovery reports that a link, anywhere, went down or came up.
    fn link(&mut self, _link: LinkId, _up: bool) {}
}
