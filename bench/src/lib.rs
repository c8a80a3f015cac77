//! Code that the benchmarks in `benches/` share. `docs/src/benchmarks.md` lists the benchmarks and how to run them.

pub mod allocator;
pub mod works;
