//! PDQ, Preemptive Distributed Quick flow scheduling: the most critical flows send, one after another at full rate,
//! while all other flows wait.
//!
//! Source: C.-Y. Hong, M. Caesar, P. B. Godfrey, "Finishing Flows Quickly with Preemptive Scheduling", SIGCOMM 2012
//! (specifications/pdq.md §1 to §5).
//!
//! Every packet states the deadline, the remaining transmission time and the round-trip time of its flow. Each
//! [controller](Controller) on the path keeps the [flows of its link](FlowList) in order of criticality. The controller
//! grants a flow the capacity that more critical flows leave free, or pauses the flow. The acknowledgement carries this
//! decision back over the same links, and each controller records it as the flow's rate. A paused flow
//! [sends probes](Pdq). A flow that cannot meet its deadline ends early.
//!
//! Cost per packet: a look-up of the flow, a binary search, and a walk along the list until the capacity is used up,
//! usually after a few entries. Memory: about 72 bytes for each flow and link.

mod controller;
mod flow_list;
mod params;
mod port;
mod protocol;
mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use controller::Controller;
pub(crate) use port::PdqPort;
pub(crate) use protocol::Pdq;
pub(crate) use scheme::TRANSPORT;
