//! What the benchmarks in `benches/` share. `docs/src/benchmarks.md` says what there is and how to run it.

pub mod allocator;
pub mod works;
