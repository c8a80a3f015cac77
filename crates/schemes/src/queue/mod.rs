//! Queue disciplines: the order in which egress ports serve waiting packets.

pub(crate) mod ets;
pub mod strict;
