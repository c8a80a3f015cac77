//! The contracts between schemes and engines: the inputs and the possible requests of each part.
//!
//! An arriving packet first passes `PortAgent::arrive` and then `Forwarder::forward`, which decides whether the packet
//! is for this node. A packet for this node is passed to `Host::handle`. Any other packet passes `PortAgent::enqueue`,
//! the port's [`Queue`], `PortAgent::dequeue`, and the wire. A packet from the host starts at the forwarder, or at the
//! port that the host chooses.

mod application;
mod flow_control;
mod forwarder;
mod host;
mod port_agent;
mod ports;
mod queue;

use crate::discovery::Discovery;

pub use application::{Application, Request};
pub use flow_control::{FlowControlAccount, LinkFlowControl};
pub use forwarder::{DropReason, Forwarder, HoldKey, Verdict};
pub use host::{Host, Input, Output, Report};
pub use port_agent::PortAgent;
pub use ports::{Paused, PortState, Ports};
pub use queue::{Admit, Queue};

/// The parts of one node. [`Node`](crate::Node) calls them.
#[derive(Default)]
pub struct Parts {
    /// Opens, sends and receives flows.
    pub host: Option<Box<dyn Host>>,
    /// Chooses egress ports. A node without a forwarder delivers all arriving packets to its host, and sends by port 0.
    pub forwarder: Option<Box<dyn Forwarder>>,
    /// A program on the host. If the node has no host, the program is never polled.
    pub application: Option<Box<dyn Application>>,
    /// Discovery of links that are down. Without discovery, the runtime must [tell](crate::Node::discovered) the node
    /// which links went down or came up.
    pub discovery: Option<Box<Discovery>>,
}
