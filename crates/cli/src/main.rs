//! The `raddle` command: arguments and printing. What it does is in `raddle-lab`.
//!
//! Data goes to stdout, progress and errors to stderr. Exit codes: 0 done, 1 a claim or check failed, 2 bad input,
//! 3 a run failed, 130 interrupted.

mod arguments;
mod commands;
mod show;

use arguments::Arguments;
use clap::Parser;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a command ended, besides errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Done,
    CheckFailed,
    Interrupted,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // The first Ctrl-C lets the run end itself; the second one is not patient.
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        show::warn(&format!("Ctrl-C will not leave partial records: {error}"));
    }
    match commands::execute(&arguments, &stop) {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::CheckFailed) => ExitCode::from(1),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) => {
            let code = error.exit_code();
            show::error(error);
            ExitCode::from(code)
        }
    }
}
