//! Experiments: read, checked, run, swept over, kept, drawn, and held against what papers claim.

mod error;
pub mod experiment;

pub use error::Error;
