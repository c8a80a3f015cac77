//! R2C2 with a central controller in place of broadcasts (Costa, Ballani, Razavi, Kash, SIGCOMM 2015, §5.3 and Fig. 19:
//! the alternative that R2C2's control traffic is compared with; the mechanism is a reconstruction).
//!
//! A node tells one node, the controller, of its flows' starts, finishes and demands, by unicast. The controller keeps
//! the table of all flows, computes their rates as every node of R2C2 would (`controller.rs`), and tells each node that
//! sources a flow the rates of all its flows, upon every event or every rho. Data is sent as in R2C2 (`node.rs`).
//!
//! Cost: an event takes 52 bytes a hop to the controller, and its rates 36 bytes and 6 a flow for each hop to each node
//! that sources flows. The nodes' computations are gone; the controller's are theirs of one rho, or one an event.
//!
//! # Differs from the paper
//! - The paper gives neither the controller's messages nor when it sends them. Ours have R2C2's data header of 36 bytes,
//!   where some 12 would fit the numbers of Fig. 19, and name the flow of each rate, in 6 bytes for some 4.
//! - Rates travel in Kbit/s, rounded down.
//! - A flow sends without a limiter until its first rate comes: R2C2's other start policies need the table of all flows.
//!   Shares by deadline or tenant and the selection of routing protocols are left to R2C2.
//! - Messages between the controller and a node take one shortest path, on which none overtakes another.
//! - Lost messages are not sent again at once. When discovery reports a change, nodes tell of all their live flows
//!   again; and a node that is told the rate of a flow it does not have says once more that this flow is finished. An
//!   event lost to a full queue leaves its flow without a limiter until then.
//! - Nodes that cannot reach the controller go on with the rates they have.

mod controller;
mod node;
mod scheme;

pub use node::CentralNode;
pub use scheme::TRANSPORT;

use crate::choices;
use crate::transport::r2c2;
use raddle_core::NodeId;

choices! {
    /// When the controller tells nodes their rates.
    pub enum Push {
        /// Upon every event, counting every known flow.
        Event = "event",
        /// Every rho, counting the flows that R2C2 would count then.
        Tick = "tick",
    }
}

/// The scheme's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// R2C2's; those that the scheme does not have in common with it, such as the start policy, say nothing here.
    pub r2c2: r2c2::Params,
    /// The node that computes; it sends and receives flows like the others.
    pub controller: NodeId,
    /// When the controller sends nodes their rates.
    pub push: Push,
}
