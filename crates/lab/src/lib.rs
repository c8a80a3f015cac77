//! Experiments: reads, checks, runs, sweeps and stores them, draws figures, and compares results with papers' claims.
//!
//! ```text
//! Document::load ─► with_overrides ─► cells ─► prepare ─► run_into
//!   TOML, positions   --set             sweep    checks     engine, records, directory
//! ```

pub mod analysis;
pub mod catalogue;
mod definitions;
mod digest;
pub mod disk;
mod error;
pub mod experiment;
pub mod figure;
pub mod input;
pub mod lint;
pub mod memory;
pub mod notation;
mod observe;
pub mod report;
pub mod run;
pub mod sweep;
mod tables;
pub mod topo;
pub mod torture;

pub use analysis::compare::Comparison;
pub use digest::loaded_from;
pub use error::Error;
pub use raddle_packet_sim::Threads;
pub use run::directory::{Out, Warned, run_into, told_renamed};
pub use run::graceful::finished_work;
pub use run::kept_summary::read as read_summary;
pub use run::live_engine::{Share, Shared, join};
pub use run::prepare::Prepared;
pub use run::summary::{Summarizer, Summary, table};
pub use run::undelivered::Undelivered;
pub use run::{Control, Outcome, RunState};

use figure::size_class::SizeClass;

/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
