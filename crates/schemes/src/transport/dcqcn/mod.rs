//! DCQCN: congestion control for RDMA over lossless Ethernet, by marks, notices and rates.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3 (the algorithm) and
//! Figure 14 (the parameters deployed); steps of hyper increase, which the paper leaves out, from the authors' ns-3 model
//! (`bobzhuyb/ns3-rdma`). Switches mark packets by the length of the egress queue ([`Red`]); the receiver of marked packets
//! notifies their sender, once in a while for each flow ([`NotificationPoint`]); the sender cuts the flow's rate, and
//! recovers as QCN does ([`ReactionPoint`]).
//!
//! [`Dcqcn`](protocol::Dcqcn) puts these into hosts that speak RoCEv2, which recover from losses by
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
