//! What is worked out from experiments beside running them: engines against each other, runs against each other, and
//! studies of one paper.

pub mod agree;
pub(crate) mod compare;
pub mod rate_overhead;
pub mod select;
