//! PDQ, Preemptive Distributed Quick flow scheduling: the most critical flows send, one after another at full rate, and the
//! others wait.
//!
//! Source: C.-Y. Hong, M. Caesar, P. B. Godfrey, "Finishing Flows Quickly with Preemptive Scheduling", SIGCOMM 2012 (specs/pdq.md
//! §1 to §5). A sender tells in every packet its flow's deadline, how long it would still take, and its round trip. Each
//! [controller](Controller) on the path keeps the [flows of its link](FlowList) in order of criticality, and grants what the
//! more critical ones leave, or pauses the flow; the acknowledgement takes the decision back along the same links, where it
//! becomes the flow's rate. A paused flow [probes](Pdq). A flow that cannot meet its deadline ends early.
//!
//! Cost: a packet, a look-up by flow, a binary search, and a walk along the list to where the link is full, which is near its
//! head. State: an entry of 72 bytes a flow and link.

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
