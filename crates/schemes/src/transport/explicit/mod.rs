//! Hosts whose rates the switches set: what PDQ, D3 and RCP have in common (specs/pdq.md §2, §3).
//!
//! A flow opens with a SYN, and data follows once its acknowledgement brings a rate, paced at what the last acknowledgement
//! granted. Without a rate the host sends probes. Every packet is acknowledged by one that goes back the way it came; a
//! TERM ends a flow and is repeated until it is acknowledged. What [`Protocol`] says is the rest: what headers ask, what
//! grants mean, and when a flow is given up.
//!
//! A flow may be cut into subflows, each on a path of its own, that draw on the same packets (Multipath PDQ): what a paused
//! one has not sent moves to the sending one with the least left.
//!
//! Losses: paths keep packets in order, so an acknowledgement proves lost what was sent before and is not acknowledged;
//! a timeout takes care of tails. Cost: a packet sent, an entry of a heap and of a ring; one received, a look-up by flow.

mod backlog;
mod host;
mod incoming;
mod outgoing;
pub(crate) mod scheme;
mod subflow;
#[cfg(test)]
mod tests;
mod timers;

pub(crate) use backlog::Backlog;
pub(crate) use host::{ExplicitHost, Setup};

use raddle_core::{Duration, Flow, Header, Rate, Time};
use raddle_wire::rated::Segment;

/// What a host knows of a subflow that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The time.
    pub now: Time,
    /// Smoothed round-trip time; zero before the first measurement.
    pub rtt: Duration,
    /// The least round-trip time measured, which is without queueing if any was; zero before the first measurement.
    pub least_rtt: Duration,
    /// Bytes on the wire, headers included, of packets that are not acknowledged, be they sent or not.
    pub left: u64,
    /// Payload bytes sent, not counting what was sent again.
    pub sent: u64,
    /// The greatest rate it can have.
    pub limit: Rate,
    /// When the flow must be complete, or [`Time::NEVER`].
    pub deadline: Time,
}

/// What a host knows of a whole flow that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// The time.
    pub now: Time,
    /// The least smoothed round-trip time of its subflows; zero before the first measurement.
    pub rtt: Duration,
    /// Bytes on the wire, headers included, of packets that are not acknowledged.
    pub left: u64,
    /// The greatest rate that its subflows can have together.
    pub limit: Rate,
    /// When it must be complete, or [`Time::NEVER`].
    pub deadline: Time,
    /// Whether a switch has answered a SYN, and no subflow has a rate now.
    pub paused: bool,
}

impl Outlook {
    /// How long what is left takes at the greatest rate.
    #[must_use]
    pub(crate) fn least_time(&self) -> Duration {
        self.limit.time_for(raddle_core::Bytes(self.left))
    }
}

/// What decides which flow a host sends first, the least.
pub(crate) type Precedence = (u32, u32);

/// What the switches and a sender say to each other.
pub(crate) trait Protocol: Send {
    /// What it keeps of a subflow.
    type Sender: Send;

    /// A subflow of `flow` opens.
    fn open(&mut self, flow: &Flow) -> Self::Sender;

    /// The header of a packet of the subflow that leaves now. `segment` asks the switches for a rate unless the protocol
    /// decides that it does not.
    fn write(&mut self, sender: &mut Self::Sender, view: &View, segment: Segment) -> Header;

    /// An acknowledgement of a packet of the subflow has come in, of whichever kind but a TERM.
    fn read(&mut self, sender: &mut Self::Sender, view: &View, header: &Header);

    /// The rate that the subflow has, in bytes on the wire: zero pauses it.
    fn rate(&self, sender: &Self::Sender) -> Rate;

    /// How long after its last packet a subflow without a rate sends a probe. Zero stands for the initial timeout.
    fn probe_interval(&self, sender: &Self::Sender, view: &View) -> Duration;

    /// Of subflows that have a rate and whose data is due, the one that comes first in this sends when the host's link is
    /// free; one without is sent when it is due, and waits in the port's queue.
    fn precedence(&self, _sender: &Self::Sender, _view: &View) -> Option<Precedence> {
        None
    }

    /// Whether a flow cannot be completed in time, and ends here.
    fn gives_up(&self, _outlook: &Outlook) -> bool {
        false
    }

    /// What the receiver of a packet says at once, to travel with `segment`; `None` if the packet is not this protocol's.
    fn answer(&self, header: &Header, segment: Segment) -> Option<Header>;
}
