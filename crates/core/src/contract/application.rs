//! The contract of a program on a host: the reports that it receives, and the requests that it makes.

use crate::{Bytes, Flow, FlowId, Report, Time};

/// The next request of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Open a flow from this host. Until the host has reported the flow's key ([`Report::Opened`]), no other
    /// flow from this host may have the same [`FlowId`].
    Open(Flow),
    /// Append bytes to a [stream](Flow::is_stream) that the program has opened and not closed.
    Append {
        /// The stream.
        flow: FlowId,
        /// The number of bytes to append.
        bytes: Bytes,
    },
    /// Close a stream that the program has opened.
    Close {
        /// The stream.
        flow: FlowId,
    },
    /// No request now. The node polls again at this time at the latest, and earlier if it polls the host.
    /// [`Time::NEVER`] means the same as [`Request::Idle`].
    WakeAt(Time),
    /// No request until the host's next report.
    Idle,
    /// The program has ended and makes no more requests.
    Finished,
}

/// A program on a host, above any transport: it opens flows, and receives reports on them. Like all parts of a node, it
/// reads no clock and no external randomness.
///
/// The [node](crate::Node) drives it. The node polls the program each time before it polls the host, and passes each of
/// the host's reports to the program.
pub trait Application: Send {
    /// Time at which the node first polls the program, unless it polls the host earlier.
    fn begins(&self) -> Time {
        Time::ZERO
    }

    /// Receives a report of the host. The report is about a flow that the program opened, or about any other flow that
    /// begins or ends at this host.
    fn hear(&mut self, now: Time, report: &Report);

    /// Returns the program's next request. The node calls this repeatedly until the answer is [`Request::WakeAt`],
    /// [`Request::Idle`] or [`Request::Finished`].
    fn poll(&mut self, now: Time) -> Request;

    /// Describes the events for which the program still waits; `None` if the program has ended or gives no description.
    fn waits_for(&self) -> Option<String> {
        None
    }
}
