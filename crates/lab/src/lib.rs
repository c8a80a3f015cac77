//! Experiments: read, checked, run, swept over, kept, drawn, and held against what papers claim.
//!
//! ```text
//! Document::load ─► with_overrides ─► cells ─► prepare ─► run_into
//!   TOML, places      --set             sweep    checks     engine, records, directory
//! ```

pub mod agree;
mod capture;
pub mod catalogue;
mod compare;
mod digest;
pub mod directory;
mod draw;
mod error;
pub mod experiment;
mod faults;
pub mod figure;
mod flow_engine;
mod gather;
mod ideal;
mod lossless;
mod prepare;
mod queue_lengths;
mod ranks;
pub mod rate_overhead;
mod records;
pub mod run;
pub mod search;
pub mod select;
mod size_class;
mod summary;
pub mod sweep;
mod throughput;
pub mod topo;
mod undelivered;
mod uplinks;

pub use compare::Comparison;
pub use directory::{Out, run_into};
pub use error::Error;
pub use prepare::Prepared;
pub use raddle_packet_sim::Threads;
pub use run::{Control, Outcome, RunState};
pub use summary::{Summarizer, Summary, table};
pub use undelivered::Undelivered;

use size_class::SizeClass;

/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
