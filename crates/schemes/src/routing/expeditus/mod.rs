//! Expeditus: congestion-aware load balancing in Clos networks, a flow at a time (SoCC 2016).
//!
//! Edge and aggregation switches measure their own uplinks, in both directions. A flow's first packet carries the source
//! edge switch's loads to the destination's, which merges them with its own and selects the aggregation switch; its answer,
//! a packet of its own, goes back through that one's counterpart at the destination, which adds its loads, and itself, which
//! merges them with its own and selects the core. Where the answer arrives at the source edge switch is the flow's uplink.
//! Paths southwards are forced. Cores and hosts know nothing of it.
//!
//! Within a pod, and in a leaf-spine, the first stage is all there is. Flows whose selection is under way, or whose answer
//! was lost, go by ECMP.
//!
//! The protocol of the authors' simulation code, which is another, is [`mode`](ROUTING) `authsim`.
//!
//! Cost a packet: at edge and aggregation switches an addition to a rate estimator, and on the way up a hash of the five-tuple
//! and a look-up; at cores and spines, ECMP's.

mod aggregation;
mod authsim;
mod counters;
pub(crate) mod flow_id;
mod meters;
mod multiplier;
pub(crate) mod path_table;
pub(crate) mod scheme;
mod selection;
mod switch;
pub(crate) mod tagging;
mod tor;

pub use counters::{Counter, Counters};
pub use scheme::{Expeditus, ROUTING};
