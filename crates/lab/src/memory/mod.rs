//! Estimates the memory of an experiment before the run. The run is refused if the estimate exceeds the memory limit.

mod counting;
mod estimate;
mod feasible;
mod machine;

pub use counting::CountingAllocator;
pub(crate) use counting::counted;
pub(crate) use estimate::{Each, Load, Peak, a_fluid_flow, a_rank, fabric};
pub use estimate::{Estimate, show};
pub use feasible::{ASSUMED, Feasible, feasible};
pub use machine::{Limit, Origin};
