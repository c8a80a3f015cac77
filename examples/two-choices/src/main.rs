//! The `raddle` command with one more routing.

use std::process::ExitCode;

fn main() -> ExitCode {
    raddle_cli::main_with(two_choices::registry())
}
