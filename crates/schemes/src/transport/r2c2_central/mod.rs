//! R2C2 with a central controller in place of broadcasts (Costa, Ballani, Razavi, Kash, SIGCOMM 2015, §5.3 and Fig.
//! 19). The paper compares R2C2's control traffic with this alternative; the mechanism is a reconstruction.
//!
//! Nodes report starts, finishes and demands of their flows by unicast to one node, the controller. The controller
//! keeps the table of all flows, and computes their rates in the same way as a node of R2C2 (`controller.rs`). At every
//! event, or once per interval rho, it sends each source the rates of this source's eligible flows (the flows that rate
//! computations include). Data is sent as in R2C2 (`node.rs`).
//!
//! Cost: a report of an event to the controller is 52 bytes on each hop. A message with rates to a source is 36 bytes
//! plus 6 bytes per flow on each hop. Only the controller computes rates: once per rho, as one node of R2C2 does, or
//! once per event.
//!
//! # Differs from the paper
//! - The paper gives neither the controller's messages nor their timing. Our messages have R2C2's data header of 36
//!   bytes, whereas the numbers in Fig. 19 suggest about 12 bytes. In our messages, each rate names its flow and takes
//!   6 bytes, whereas Fig. 19 suggests about 4 bytes.
//! - Messages contain rates in Kbit/s, rounded down.
//! - A flow has no rate limit until its first rate arrives, as with R2C2's start policy `line`. R2C2's other start
//!   policies need the table of all flows. Shares by deadline or tenant and the selection of routing protocols exist
//!   only in R2C2.
//! - Messages between the controller and a node take one shortest path, so that no message overtakes an earlier
//!   message.
//! - Lost messages are not retransmitted at once. When discovery reports a change, nodes report all their live flows
//!   again. If a node receives a rate for a flow that it does not have, it reports again that the flow is finished. If
//!   a full queue drops a START, the flow has no rate limit until its node reports the flow again.
//! - If a node cannot reach the controller, its flows keep their last rates.

mod controller;
mod node;
mod scheme;

pub use node::CentralNode;
pub use scheme::TRANSPORT;

use crate::choices;
use crate::transport::r2c2;
use raddle_core::NodeId;

choices! {
    /// The time at which the controller sends nodes their rates.
    pub enum Push {
        /// At every event. Rate computations include every known flow.
        Event = "event",
        /// Once per interval rho. Rate computations include the same flows as in R2C2.
        Tick = "tick",
    }
}

/// The scheme's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// R2C2's parameters. Parameters that this scheme does not use, such as the start policy, have no effect.
    pub r2c2: r2c2::Params,
    /// The controller's node. This node also sends and receives flows, like all other nodes.
    pub controller: NodeId,
    /// When the controller sends nodes their rates.
    pub push: Push,
}
