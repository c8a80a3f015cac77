//! What a simulation tells while it runs.

use crate::loads::LinkLoad;
use raddle_core::{Flow, LinkId, NodeId, Report, Time};

/// Hears what a simulation tells.
pub trait Listener {
    /// True if [`sent`](Self::sent) is to be called.
    const SENT: bool = false;

    /// A report that a packet engine's host at `node` would make about a flow, with the report's time. The time may be
    /// later than the time of the next report.
    fn report(&mut self, at: Time, node: NodeId, report: Report);

    /// A flow has sent at one rate for a while. The flow's next [`Sent`] begins where this one ends, and its last one
    /// comes before the report of its delivery.
    fn sent(&mut self, _sent: &Sent<'_>) {}
}

/// A function hears the reports alone.
impl<F: FnMut(Time, NodeId, Report)> Listener for F {
    fn report(&mut self, at: Time, node: NodeId, report: Report) {
        self(at, node, report);
    }
}

/// The part of a flow that was sent at one rate.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Start of the time in which this part was sent.
    pub from: Time,
    /// End of this time.
    pub to: Time,
    /// Packets and bytes of this part.
    pub load: LinkLoad,
    /// Application bytes of this part.
    pub payload: f64,
    /// The links that the flow's packets cross, each with the mean number of times that a packet crosses the link.
    pub row: &'a [(LinkId, f32)],
}
