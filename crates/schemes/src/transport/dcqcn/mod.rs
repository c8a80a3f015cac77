//! DCQCN: congestion control for RDMA over lossless Ethernet, with ECN marks, congestion notifications and rate
//! control.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3 (the algorithm) and
//! Figure 14 (the deployed parameters). The paper leaves out the steps of hyper increase; they come from the authors'
//! ns-3 model (`bobzhuyb/ns3-rdma`).
//!
//! Switches mark packets by the length of the egress queue ([`Red`]). The receiver of marked packets notifies their
//! sender, at a limited rate for each flow ([`NotificationPoint`]). The sender cuts the flow's rate, and recovers as
//! QCN does ([`ReactionPoint`]).
//!
//! [`Dcqcn`](protocol::Dcqcn) puts these parts into hosts that speak RoCEv2. The hosts recover from losses by
//! [go-back-N](crate::transport::go_back_n).

mod notification_point;
mod params;
mod profiles;
mod protocol;
mod reaction_point;
mod red;
mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use notification_point::NotificationPoint;
pub(crate) use params::Params;
pub(crate) use profiles::PROFILES;
pub(crate) use reaction_point::ReactionPoint;
pub(crate) use scheme::{CONGESTION_POINT, TRANSPORT};
