//! Switch AR.

pub mod levels;
