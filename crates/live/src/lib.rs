//! The live runtimes: the same scheme objects that the packet engine steps, moving real bytes.
//!
//! [`lockstep`] moves them over in-memory links under a shared virtual clock, [`rack`] over rings in shared memory in real time.

mod content;
pub mod doctor;
mod fifo;
pub mod lockstep;
pub mod rack;
mod served;

pub use fifo::Limits;
