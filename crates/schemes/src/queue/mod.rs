//! In which order ports serve what waits.

pub(crate) mod ets;
pub mod strict;
