//! The flow engine. Flows are fluids, whose rates change only at events, such as the start or the end of a flow.
//!
//! All rates are constant between two events, so the simulation is exact. It steps from event to event and has no
//! packets (specifications/pdq.md §11). The costs of packets are still accounted for. Headers take their share of each
//! link. If the scheme has a handshake, a flow begins to send one round trip after its start. A flow's last byte
//! arrives when the last packet has crossed the path behind the bottleneck ([`Crossing`]). If flows are acknowledged,
//! the sender learns of the delivery one acknowledgement later.
//!
//! An event touches only the flows whose rates it changes. The remaining bits of a flow are stored as a number and the
//! time at which the number was valid. Completions wait in a heap, in which each flow has at most one valid entry.
//!
//! # Differences from the packet engine
//! - There are no queues and no drops, and therefore no queueing delay. A rate takes its new value at once.
//! - Acknowledgements and other control packets take no bandwidth.

mod crossing;
mod engine;
mod listener;
mod live;
mod loads;

pub use crossing::Crossing;
pub use engine::{Config, Simulation, Split};
pub use listener::{Listener, Sent};
pub use loads::{LinkLoad, Loads};
