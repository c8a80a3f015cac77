//! R2C2 with a central controller in place of broadcasts (Costa, Ballani, Razavi, Kash, SIGCOMM 2015, §5.3 and Fig.
//! 19). The paper compares R2C2's control traffic with this alternative; the mechanism is a reconstruction.
//!
//! Nodes report starts, finishes and demands of their flows by unicast to one node, the controller. The controller
//! keeps the table of all flows, and computes their rates as every node of R2C2 would (`controller.rs`). At every event
//! or every rho, it sends each source of flows the rates of all the source's flows. Data is sent as in R2C2
//! (`node.rs`).
//!
//! Cost: an event takes 52 bytes per hop to the controller. Its rates take, per hop to each source of flows, 36 bytes
//! and 6 bytes per flow. Only the controller computes: as much as one node of R2C2 per rho, or one computation per
//! event.
//!
//! # Differs from the paper
//! - The paper gives neither the controller's messages nor their timing. Our messages have R2C2's data header of 36
//!   bytes, where about 12 bytes would fit the numbers of Fig. 19. Each rate names its flow and takes 6 bytes, where
//!   about 4 would fit.
//! - Rates travel in Kbit/s, rounded down.
//! - A flow has no rate limit until its first rate arrives: R2C2's other start policies need the table of all flows.
//!   Shares by deadline or tenant and the selection of routing protocols exist only in R2C2.
//! - Messages between the controller and a node take one shortest path, so that none overtakes another.
//! - Lost messages are not retransmitted at once. When discovery reports a change, nodes report all their live flows
//!   again. A node that receives the rate of a flow that it does not have reports once more that the flow is finished.
//!   If a full queue drops a START, the flow has no rate limit until its node reports the flow again.
//! - Nodes that cannot reach the controller keep the rates that they have.

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
        /// At every event, counting every known flow.
        Event = "event",
        /// Every rho, counting the flows that R2C2 would count then.
        Tick = "tick",
    }
}

/// The scheme's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// R2C2's parameters. Parameters that this scheme does not use, such as the start policy, have no effect.
    pub r2c2: r2c2::Params,
    /// The controller's node; it sends and receives flows like the others.
    pub controller: NodeId,
    /// When the controller sends nodes their rates.
    pub push: Push,
}
