//! DCQCN: congestion control for RDMA over lossless Ethernet, by marks, notices and rates.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3 (the algorithm) and
//! Figure 14 (the parameters deployed); steps of hyper increase, which the paper leaves out, from the authors' ns-3 model
//! (`bobzhuyb/ns3-rdma`). Switches mark packets by the length of the egress queue ([`Red`]); the receiver of marked packets
//! notifies their sender, once in a while for each flow ([`NotificationPoint`]); the sender cuts the flow's rate, and
//! recovers as QCN does ([`ReactionPoint`]).
//!
//! [`Dcqcn`] puts these into hosts that speak RoCEv2.

pub mod notification_point;
pub mod params;
pub mod protocol;
pub mod reaction_point;
pub mod red;
mod scheme;

pub use notification_point::NotificationPoint;
pub use params::Params;
pub use protocol::Dcqcn;
pub use reaction_point::ReactionPoint;
pub use red::Red;
pub use scheme::{CONGESTION_POINT, TRANSPORT};
