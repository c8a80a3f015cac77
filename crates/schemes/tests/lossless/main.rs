//! Lossless Ethernet in the packet engine: PFC, QCN, ETS, DCQCN.

mod converged;
mod dcqcn;
mod ethernet;
mod ets;
mod oracles;
mod safety;
mod tcp_over_pfc;
