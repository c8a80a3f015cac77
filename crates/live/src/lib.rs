//! The live runtimes run the same scheme objects as the packet engine, and move real bytes.
//!
//! [`lockstep`] moves packets over in-memory links under a shared virtual clock. [`rack`] moves packets in real time,
//! over rings in shared memory or between machines. [`replay`] runs one node alone on the real clock, with the inputs
//! that the node had in another run. [`timed`] measures the processor time of forwarders' decisions.

mod content;
pub mod control;
pub mod doctor;
mod fifo;
mod flow_control;
pub mod load;
pub mod lockstep;
pub mod rack;
pub mod replay;
mod served;
pub mod timed;

pub use fifo::Limits;

/// True if this crate was built with the feature `libfabric`. A rack over several machines needs this feature.
pub const HAS_LIBFABRIC: bool = cfg!(feature = "libfabric");
