//! Code that the benchmarks share. `docs/src/benchmarks.md` lists the benchmarks and says how to
//! run them.

pub mod allocator;
pub mod works;
