//! The memory of an experiment: it is estimated before the run, and the run is refused if the machine has less.

mod counting;
mod estimate;
mod machine;

pub use counting::CountingAllocator;
pub(crate) use counting::counted;
pub use estimate::Estimate;
pub(crate) use estimate::{Each, Load, Peak, a_fluid_flow, fabric};
pub use machine::{Limit, Origin};
