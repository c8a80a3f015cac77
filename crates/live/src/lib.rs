//! The live runtimes: the same scheme objects that the packet engine steps, moving real bytes.
//!
//! [`lockstep`] moves them over in-memory links under a shared virtual clock, [`rack`] over rings in shared memory in real time.
//! [`replay`] lets one node alone hear on the real clock what it heard in another run.
//! [`timed`] measures what forwarders' decisions take.

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

/// True if racks can run over several machines: this crate was built with the feature `libfabric`.
pub const HAS_LIBFABRIC: bool = cfg!(feature = "libfabric");
