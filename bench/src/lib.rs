//! What the benchmarks in `benches/` share.

pub mod works;
