//! Hosts whose rates the switches set: the common part of PDQ, D3 and RCP (specifications/pdq.md §2, §3).
//!
//! A flow opens with a SYN. Data follows once an acknowledgement grants a rate; the latest acknowledgement sets the
//! pacing rate. Without a rate the host sends probes. The receiver acknowledges every packet, and the acknowledgement
//! takes the reverse path. A TERM ends a flow; the host repeats it until it is acknowledged. A [`Protocol`] defines the
//! rest: the contents of headers, the meaning of grants, and the condition for giving up a flow.
//!
//! A flow may be split into subflows, each on its own path, that share the flow's packets (Multipath PDQ). The unsent
//! packets of a paused subflow move to the sending subflow with the fewest packets left.
//!
//! Loss detection: paths keep packets in order, so an acknowledgement proves that earlier unacknowledged packets are
//! lost. A timeout covers losses at the tail. Cost: one heap entry and one ring entry per packet sent; one look-up by
//! flow per packet received.

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

/// A sending host's state of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The current time.
    pub now: Time,
    /// Smoothed round-trip time; zero before the first measurement.
    pub rtt: Duration,
    /// The least measured round-trip time, an estimate of the round trip without queueing; zero before the first
    /// measurement.
    pub least_rtt: Duration,
    /// Bytes on the wire, headers included, of all packets that are not acknowledged, sent or unsent.
    pub left: u64,
    /// Payload bytes sent, without retransmissions.
    pub sent: u64,
    /// The greatest rate that the subflow can have.
    pub limit: Rate,
    /// The flow's deadline, or [`Time::NEVER`].
    pub deadline: Time,
}

/// A sending host's state of a whole flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// The current time.
    pub now: Time,
    /// The least smoothed round-trip time of its subflows; zero before the first measurement.
    pub rtt: Duration,
    /// Bytes on the wire, headers included, of packets that are not acknowledged.
    pub left: u64,
    /// The greatest total rate that the flow's subflows can have.
    pub limit: Rate,
    /// The flow's deadline, or [`Time::NEVER`].
    pub deadline: Time,
    /// True if a switch has answered a SYN and no subflow has a rate now.
    pub paused: bool,
}

impl Outlook {
    /// Time to send the remaining bytes at the greatest rate.
    #[must_use]
    pub(crate) fn least_time(&self) -> Duration {
        self.limit.time_for(raddle_core::Bytes(self.left))
    }
}

/// Key that orders the flows of a host; the flow with the least key sends first.
pub(crate) type Precedence = (u32, u32);

/// The protocol between the switches and a sender.
pub(crate) trait Protocol: Send {
    /// The protocol's state of a subflow.
    type Sender: Send;

    /// A subflow of `flow` opens.
    fn open(&mut self, flow: &Flow) -> Self::Sender;

    /// The header of a packet of the subflow that leaves now. The header requests a rate from the switches unless the
    /// protocol decides otherwise.
    fn write(&mut self, sender: &mut Self::Sender, view: &View, segment: Segment) -> Header;

    /// An acknowledgement has arrived for a packet of the subflow, of any kind except a TERM.
    fn read(&mut self, sender: &mut Self::Sender, view: &View, header: &Header);

    /// The subflow's rate, headers included; zero pauses the subflow.
    fn rate(&self, sender: &Self::Sender) -> Rate;

    /// Time between the last packet of a subflow without a rate and its next probe. Zero stands for the initial
    /// timeout.
    fn probe_interval(&self, sender: &Self::Sender, view: &View) -> Duration;

    /// The subflow's precedence at the host's link. When the link is free, the host sends the data that is due of the
    /// subflow with the least precedence. `None`: the subflow's packets are sent when they are due, and wait in the
    /// port's queue.
    fn precedence(&self, _sender: &Self::Sender, _view: &View) -> Option<Precedence> {
        None
    }

    /// True if the flow cannot meet its deadline and the host must end it.
    fn gives_up(&self, _outlook: &Outlook) -> bool {
        false
    }

    /// The receiver's immediate answer to a packet, to be sent with `segment`; `None` if the packet is not of this
    /// protocol.
    fn answer(&self, header: &Header, segment: Segment) -> Option<Header>;
}
