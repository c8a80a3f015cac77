//! The `raddle` command with the built-in schemes.

use raddle_schemes::registry::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    raddle_cli::main_with(Registry::builtin())
}
