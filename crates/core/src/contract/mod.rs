//! The contracts between schemes and engines: the inputs and the possible requests of each part.
//!
//! An arriving packet first passes `PortAgent::arrive`. Packets of flow control and of topology discovery then end. For
//! any other packet, `Forwarder::forward` decides ([`Verdict`]). A packet for this node's host is passed to
//! `Host::handle`. A packet that is forwarded passes `PortAgent::enqueue`, the port's [`Queue`], `PortAgent::dequeue`,
//! and the wire. A packet from the host starts at the forwarder, or at the port that the host chooses.

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
    /// Chooses egress ports. A node without a forwarder delivers all arriving packets to its host. It sends by port 0,
    /// unless the host chooses the port.
    pub forwarder: Option<Box<dyn Forwarder>>,
    /// A program on the host. If the node has no host, the program is never polled.
    pub application: Option<Box<dyn Application>>,
    /// Discovery of links that are down. Without discovery, the runtime must [tell](crate::Node::discovered) the node
    /// which links went down or came up.
    pub discovery: Option<Box<Discovery>>,
}
