//! Failures and repairs as data: at a given time a set of links changes state, and some time later all nodes know.

use raddle_core::{Duration, LinkId, Time};

/// Directed links that go down or come up together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// When it happens. Packets queued on or travelling over a link that goes down are lost.
    pub at: Time,
    /// The links; a node's failure is the failure of all links to and from it.
    pub links: Vec<LinkId>,
    /// Their new state.
    pub up: bool,
    /// How long topology discovery takes to tell every node.
    pub discovery: Duration,
}
