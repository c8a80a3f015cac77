//! DCQCN: congestion control for RDMA over lossless Ethernet, with ECN marks, congestion notifications and rate
//! control.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3 (the algorithm) and
//! Figure 14 (the deployed parameters). The paper does not give the steps of hyper increase. Raddle takes them from the
//! authors' ns-3 model (`bobzhuyb/ns3-rdma`).
//!
//! Switches mark packets with a probability that depends on the length of the egress queue ([`Red`]). The receiver of
//! marked packets sends notifications to their sender, at a limited rate for each flow ([`NotificationPoint`]). The
//! sender cuts the flow's rate, and then raises the rate again as QCN does ([`ReactionPoint`]).
//!
//! [`Dcqcn`](protocol::Dcqcn) combines these parts in hosts that send RoCEv2 packets. The hosts recover from losses by
//! [go-back-N](crate::transport::go_back_n), unless the parameter `recovery` is `none`.

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
