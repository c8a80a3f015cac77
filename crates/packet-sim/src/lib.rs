//! The packet engine: a discrete-event simulation of every packet on every link (docs: `docs/src/packet-engine.md`).
//!
//! - Time is an integer number of picoseconds. Events are totally ordered by (time, kind, link or node). This order
//!   does not depend on the order of insertion, on floats or on hashes. So a seed has one result, on any number of
//!   threads.
//! - A FIFO port costs one event per packet-hop. The departure time of a packet is known when the packet is queued, so
//!   the packet is put on its link at once. Only the next arrival of each link is in the event queue. Ports with a
//!   [`Queue`](raddle_core::Queue) or a [`PortAgent`](raddle_core::PortAgent) may cost a second event, the end of the
//!   transmission.
//! - All state belongs to a node or to a link, and nodes affect each other only over links. So the nodes can be divided
//!   among threads, which synchronise once per window of simulated time. Schemes whose nodes share state are the
//!   exception: their runs need one thread.

mod barrier;
mod divide;
#[cfg(feature = "event-trace")]
pub mod event_trace;
mod events;
mod mail;
mod observer;
mod partition;
mod port;
mod simulation;
mod slab;
mod sync;
mod threads;
mod watchdog;
mod windows;
mod wire;

pub use port::{PortSetup, QueueDepths};
pub use raddle_core::{Change, LinkStats, Observer, Progress, Totals};
pub use simulation::{Config, Reached, Simulation, Switching};
pub use threads::Threads;
