//! The `raddle` command with the built-in schemes.

use raddle_lab::memory::CountingAllocator;
use raddle_schemes::registry::Registry;
use std::process::ExitCode;

/// Counts allocated memory. From these counts, Raddle learns how much memory the scheme takes at a node. The memory
/// estimate of a run uses this amount.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    raddle_cli::main_with(Registry::builtin())
}
