//! The `raddle` command with the built-in schemes.

use raddle_lab::memory::CountingAllocator;
use raddle_schemes::registry::Registry;
use std::process::ExitCode;

/// Counts the memory of the parts of nodes, for the estimate of a run's memory.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    raddle_cli::main_with(Registry::builtin())
}
