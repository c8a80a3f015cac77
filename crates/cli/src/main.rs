//! The `raddle` command with the built-in schemes.

use raddle_lab::memory::CountingAllocator;
use raddle_schemes::registry::Registry;
use std::process::ExitCode;

/// Counts the memory that the parts of nodes allocate. Raddle uses this count to estimate the memory of a run.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    raddle_cli::main_with(Registry::builtin())
}
