//! Expeditus: congestion-aware load balancing per flow in Clos networks (SoCC 2016).
//!
//! Edge and aggregation switches measure the loads of their own uplinks, in both directions. A flow's first packet
//! carries the source edge switch's loads to the destination's edge switch. The destination's edge switch merges these
//! loads with its own loads and selects the aggregation switch. Then it answers with a separate packet, the
//! Exp-response.
//!
//! The response passes the selected aggregation switch's counterpart in the destination's pod, which writes its loads
//! into the response. The response then passes the selected aggregation switch in the source's pod, which merges these
//! loads with its own and selects the core. The port by which the response reaches the source edge switch is the flow's
//! uplink. Paths downwards are fixed. Cores and hosts do not take part.
//!
//! Within a pod, only the aggregation switch is selected; in a leaf-spine, only the spine. A flow uses ECMP while its
//! selection is pending or if the answer is lost.
//!
//! The authors' simulation code uses a different protocol, which is [`mode`](ROUTING) `authsim`.
//!
//! Cost per packet: at edge and aggregation switches, an addition to a rate estimator. There, a packet on the way up
//! also needs a hash of the five-tuple and a look-up. At cores and spines, the cost of ECMP.

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

pub use counters::Counters;
pub use scheme::{Expeditus, ROUTING};
