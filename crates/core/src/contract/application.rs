//! The contract of a program on a host: the reports that it receives, and the requests that it makes.

use crate::{Bytes, Flow, FlowId, Report, Time};

/// The next request of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Open a flow from its host. No other flow from there has its number, whether of the workload or of the program, until the
    /// host has [named](Report::Opened) it.
    Open(Flow),
    /// Hand over more bytes of a [stream](Flow::is_stream) that it has opened and not closed.
    Append {
        /// The stream.
        flow: FlowId,
        /// The number of bytes to append.
        bytes: Bytes,
    },
    /// End a stream that it has opened.
    Close {
        /// The stream.
        flow: FlowId,
    },
    /// No request now; poll again at this time, or after the host's next report. [`Time::NEVER`] is [`Request::Idle`].
    WakeAt(Time),
    /// No request until the host's next report.
    Idle,
    /// The program has ended and makes no more requests.
    Finished,
}

/// A program on a host, above whatever transport the host has: it opens flows, and hears what becomes of them. It reads no
/// clock and no randomness of others, as all parts.
///
/// The [node](crate::Node) drives it: it polls the program before it polls the host, each time, and lets the program hear each of
/// the host's reports.
pub trait Application: Send {
    /// When the node polls it for the first time.
    fn begins(&self) -> Time {
        Time::ZERO
    }

    /// The host reports something, of flows that the program opened or of others that begin or end here.
    fn hear(&mut self, now: Time, report: &Report);

    /// Returns the program's next request. The node calls this repeatedly until the answer is [`Request::WakeAt`],
    /// [`Request::Idle`] or [`Request::Finished`].
    fn poll(&mut self, now: Time) -> Request;

    /// The events that the program still waits for before it ends, in words; `None` if it has ended.
    fn waits_for(&self) -> Option<String> {
        None
    }
}
