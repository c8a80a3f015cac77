//! Hosts that send flows at rates set by the switches: the code that PDQ, D3 and RCP have in common
//! (specifications/pdq.md §2, §3).
//!
//! A flow opens with a SYN. Data follows once an acknowledgement grants a rate. The latest acknowledgement sets the
//! pacing rate. While a flow has no rate, the host sends probes. The receiver acknowledges every packet, and the
//! acknowledgement takes the reverse path. A TERM ends a flow. The host repeats the TERM until the receiver
//! acknowledges it. A [`Protocol`] defines everything else: the contents of headers, the meaning of grants, and the
//! condition for giving up a flow.
//!
//! A flow may be split into subflows (Multipath PDQ). Each subflow has its own path and sends a part of the flow's
//! packets. The unsent and lost packets of a paused subflow move to the sending subflow with the fewest bytes left.
//!
//! Loss detection: paths keep packets in order, so an acknowledgement proves that earlier unacknowledged packets are
//! lost. A timeout detects the loss of the last packets of a flow. Cost: one heap entry and one ring-buffer entry per
//! packet sent, and one look-up by flow per packet received.

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

/// The state of one subflow at its sending host, which the protocol reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The current time.
    pub now: Time,
    /// Smoothed round-trip time; zero before the first measurement.
    pub rtt: Duration,
    /// The least measured round-trip time, an estimate of the round trip without queueing; zero before the first
    /// measurement.
    pub least_rtt: Duration,
    /// Bytes, headers included, of all unacknowledged packets, whether sent or not.
    pub left: u64,
    /// Payload bytes sent, without retransmissions.
    pub sent: u64,
    /// The greatest rate that the subflow can have.
    pub limit: Rate,
    /// The flow's deadline, or [`Time::NEVER`].
    pub deadline: Time,
}

/// The state of a whole flow at its sending host, which the protocol reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// The current time.
    pub now: Time,
    /// The least smoothed round-trip time of the flow's open subflows; zero before the first measurement.
    pub rtt: Duration,
    /// Bytes, headers included, of all unacknowledged packets, whether sent or not.
    pub left: u64,
    /// The greatest total rate that the flow's subflows can have.
    pub limit: Rate,
    /// The flow's deadline, or [`Time::NEVER`].
    pub deadline: Time,
    /// True if the switches have answered a SYN, but no subflow has a rate now.
    pub paused: bool,
}

impl Outlook {
    /// Time to send the unacknowledged bytes at the greatest rate.
    #[must_use]
    pub(crate) fn least_time(&self) -> Duration {
        self.limit.time_for(raddle_core::Bytes(self.left))
    }
}

/// The key that orders the subflows of a host. The subflow with the smallest key sends first.
pub(crate) type Precedence = (u32, u32);

/// The protocol between a sender and the switches.
pub(crate) trait Protocol: Send {
    /// The protocol's state of a subflow.
    type Sender: Send;

    /// Creates the protocol's state of a new subflow of `flow`.
    fn open(&mut self, flow: &Flow) -> Self::Sender;

    /// Makes the header of a packet that the subflow sends now. The header requests a rate from the switches unless the
    /// protocol decides otherwise.
    fn write(&mut self, sender: &mut Self::Sender, view: &View, segment: Segment) -> Header;

    /// Handles an acknowledgement for a packet of the subflow. The packet can be of any kind except TERM.
    fn read(&mut self, sender: &mut Self::Sender, view: &View, header: &Header);

    /// The subflow's rate, which counts payload and headers. Zero pauses the subflow.
    fn rate(&self, sender: &Self::Sender) -> Rate;

    /// For a subflow without a rate: the time between its last packet and its next probe. Zero means the initial
    /// timeout.
    fn probe_interval(&self, sender: &Self::Sender, view: &View) -> Duration;

    /// The subflow's precedence at the host's link. When the link is free, the host sends data of the subflow with the
    /// smallest precedence among the subflows whose data is due. With `None`, the host passes packets to the port when
    /// they are due, and the packets may wait in the port's queue.
    fn precedence(&self, _sender: &Self::Sender, _view: &View) -> Option<Precedence> {
        None
    }

    /// True if the flow cannot meet its deadline and the host must end it.
    fn gives_up(&self, _outlook: &Outlook) -> bool {
        false
    }

    /// The header of the acknowledgement for a packet with this `header`. The acknowledgement contains `segment`.
    /// `None` if the packet is not of this protocol.
    fn answer(&self, header: &Header, segment: Segment) -> Option<Header>;
}
