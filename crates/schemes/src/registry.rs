//! The list of schemes, and the only one. Adding a scheme adds its folder and its line in [`SCHEMES`].

use crate::parameter::{Parameter, Settings};
use raddle_core::{LinkId, Node, NodeId, Queue};
use raddle_topology::Topology;
use std::sync::Arc;

/// What a scheme is.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Its name in `scheme.transport`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// Where it is defined: paper and section, RFC.
    pub source: &'static str,
    /// Where it differs from that, and why; a line each.
    pub differs: &'static [&'static str],
    /// What its parts look at.
    pub view: View,
    /// The values of `scheme.routing` that it takes, its default first.
    pub routings: &'static [&'static str],
    /// Its parameters, in the table `scheme.<name>`.
    pub parameters: &'static [Parameter],
}

/// What the parts of a scheme look at besides what packets and signals bring them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Nothing that changes: a run may be divided among threads.
    Local,
    /// State of other nodes as it is at that instant, which only an oracle can see: one thread runs them all.
    Global,
}

/// What a scheme is built from.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The fabric.
    pub topology: &'a Arc<Topology>,
    /// One of the scheme's [`Info::routings`].
    pub routing: &'a str,
    /// Its parameters.
    pub settings: &'a Settings,
    /// The run's seed.
    pub seed: u64,
}

/// A scheme ready to run: the parts of each node and port.
pub struct Parts {
    /// Host and forwarder of a node.
    pub node: Box<dyn FnMut(NodeId) -> Node>,
    /// The queue of a link's egress port, if the scheme needs one of its own; `None` leaves a FIFO.
    pub queue: Box<dyn FnMut(LinkId) -> Option<Box<dyn Queue>>>,
    /// Bytes that a data packet carries beside its payload.
    pub header_bytes: u32,
    /// Payload bytes of a full packet.
    pub mtu: u32,
}

/// Why a scheme cannot run on a fabric: the key of the experiment that is at fault, what is wrong, what would be
/// right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unfit {
    /// The experiment's key, such as `scheme.routing`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
}

/// A scheme of the registry.
#[derive(Clone, Copy)]
pub struct Scheme {
    /// What it is.
    pub info: Info,
    /// Builds its parts.
    pub build: fn(&Plan<'_>) -> Result<Parts, Unfit>,
}

/// All schemes.
pub const SCHEMES: &[Scheme] = &[
    crate::r2c2::SCHEME,
    crate::r2c2_central::SCHEME,
    crate::pfq::SCHEME,
    crate::tcp::control::NEWRENO,
    crate::tcp::control::CUBIC,
    crate::tcp::control::DCTCP,
];

/// The scheme of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.info.name == name)
}
