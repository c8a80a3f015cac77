//! The `raddle` command with the additional routing "two choices".

use std::process::ExitCode;

fn main() -> ExitCode {
    raddle_cli::main_with(two_choices::registry())
}
