//! The `raddle` command: arguments and printing. What it does is in `raddle-lab`.
//!
//! [`main_with`] is the whole command for a program that brings schemes of its own.
//!
//! Data goes to stdout, progress and errors to stderr; with `--format json` errors go to stdout too, as one JSON document.
//! Exit codes: 0 done, 1 a claim or check failed, 2 bad input, 3 a run failed, 130 interrupted. A reader that closes the
//! pipe, as `head` does, changes none of them.

mod arguments;
mod commands;
mod interrupt;
mod live;
mod show;

use arguments::{Arguments, Format};
use clap::Parser;
use raddle_lab::Error;
use raddle_schemes::registry::Registry;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a command ended, besides errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Done,
    CheckFailed,
    /// A run delivered nothing; its records are kept.
    RunFailed,
    Interrupted,
}

/// The whole command, whose experiments can name the schemes of this registry.
#[must_use]
pub fn main_with(registry: Registry) -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && arguments::ask_for_json(std::env::args_os()) => {
            return fail(arguments::misuse(&error), Format::Json);
        }
        Err(error) => {
            // Help and version are errors to clap; a closed pipe is none to anybody.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let format = arguments.format;
    // The first Ctrl-C lets the run end itself; the second one is not patient.
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(move || interrupt::end_unless_at_work(format));
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        show::warn(&format!("Ctrl-C will not leave partial records: {error}"));
    }
    match commands::execute(&arguments, &registry.into(), &stop) {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::CheckFailed) => ExitCode::from(1),
        Ok(Ended::RunFailed) => ExitCode::from(3),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) => fail(error, arguments.format),
    }
}

/// Shows the error, and ends with its exit code.
fn fail(error: Error, format: Format) -> ExitCode {
    let code = error.exit_code();
    match format {
        Format::Text => show::error(error),
        Format::Json => {
            // Where the error itself cannot be written, its exit code still says that there was one.
            let _ = show::result(&format!("{:#}", error.json()));
        }
    }
    ExitCode::from(code)
}
