//! The packet engine: a discrete-event simulation of every packet on every link (docs: `docs/src/packet-engine.md`).
//!
//! - Time is integer picoseconds; the order of events is total: (time, kind, link or node). No insertion order, no
//!   float and no hash decides anything, so a seed has one result, on any number of threads.
//! - A FIFO port costs one event a packet-hop: when a packet is queued its departure is known, so it goes straight
//!   onto its link, and only the next packet of a link stands in the event queue. Ports with a
//!   [`Queue`](raddle_core::Queue) or a [`PortAgent`](raddle_core::PortAgent) cost a second event, the end of
//!   transmission.
//! - State is owned by node or by link, and links are the only contact between nodes, so nodes can be divided among
//!   threads that meet once in every window of simulated time.

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
