//! The interface through which a simulation reports on its flows while it runs.

use crate::loads::LinkLoad;
use raddle_core::{Flow, LinkId, NodeId, Report, Time};

/// Receives the reports of flows, and the parts of flows that were sent.
pub trait Listener {
    /// True if the simulation must call [`sent`](Self::sent).
    const SENT: bool = false;

    /// Receives a report about a flow. The report's time `at` may be later than the time of the next report. In the
    /// packet engine, a host at `node` would make the same report, with one exception: here, a flow that gives up is
    /// reported as closed.
    fn report(&mut self, at: Time, node: NodeId, report: Report);

    /// Called when the rate of a flow changes, and when the flow ends or the run stops: `sent` is the part of the flow
    /// that was sent at the previous rate. All parts of a flow come before the report of its delivery.
    fn sent(&mut self, _sent: &Sent<'_>) {}
}

/// A closure receives only the reports.
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
    /// End of the time in which this part was sent.
    pub to: Time,
    /// Packets and bytes of this part.
    pub load: LinkLoad,
    /// Application bytes of this part.
    pub payload: f64,
    /// The links that the flow's packets cross, each with the mean number of times that a packet crosses the link.
    pub row: &'a [(LinkId, f32)],
}
