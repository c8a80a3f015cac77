//! The flow engine: flows are fluids, whose rates change only when a flow comes, goes, or overtakes another.
//!
//! Between two events every rate is constant, so the simulation is exact: it steps from event to event, and there are no
//! packets (specs/pdq.md §11). What packets would cost is accounted for all the same: headers take their share of each link,
//! a flow begins after the round trips of its handshake, its last byte is there when the last packet has crossed the path
//! behind the bottleneck ([`Crossing`]), and senders hear of it one acknowledgement later.
//!
//! An event touches the flows whose rates it changes, and no others: what a flow has left is a number and the time at which
//! it was true. Completions wait in a heap, in which a flow has one entry that counts.
//!
//! # Differs from packets
//! - There are no queues and no losses, and so no queueing delay; rates jump to their shares at once.
//! - Acknowledgements and other control packets take no bandwidth.

mod crossing;
mod engine;
mod live;
mod loads;

pub use crossing::Crossing;
pub use engine::{Config, Simulation, Split};
pub use loads::{LinkLoad, Loads};
