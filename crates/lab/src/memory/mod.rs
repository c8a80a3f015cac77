//! The memory that an experiment takes: estimated before it is taken, and refused if the machine has less.

mod counting;
mod estimate;
mod machine;

pub use counting::CountingAllocator;
pub(crate) use counting::counted;
pub use estimate::Estimate;
pub(crate) use estimate::{Load, Peak, fabric};
pub use machine::{Limit, Origin};
