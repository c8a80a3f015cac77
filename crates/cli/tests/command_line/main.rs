//! Tests of the command as users run it.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod completions;
mod directories;
mod faults;
mod inputs;
mod machines;
#[cfg(target_os = "linux")]
mod memory;
mod namespaces;
mod output;
mod party;
mod report;
mod selection;
mod shell;
mod sweeps;
