//! In which order ports serve what waits.

pub mod ets;
pub mod strict;
