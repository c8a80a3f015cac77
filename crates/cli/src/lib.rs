//! The `raddle` command: argument parsing and printing. Most of the work of its subcommands is done by `raddle-lab`.
//!
//! [`main_with`] is the whole command, for a program that adds its own schemes.
//!
//! Data goes to stdout, and progress and errors go to stderr. With `--format json`, the error that ends the command
//! goes to stdout instead, as one JSON document. Exit codes: 0 done; 1 a claim or check failed, or cells of a sweep
//! cannot run; 2 bad input; 3 a run or an access to a file failed; 130 interrupted. The exit code stays the same if the
//! reader of stdout, such as `head`, closes the pipe.

mod arguments;
mod cluster;
mod commands;
mod completions;
mod doctor;
mod init;
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

/// The result of a command that ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Done,
    CheckFailed,
    /// A run or a cell of a sweep delivered no flow; its records are kept. Or a sweep ended before every cell that can
    /// run had a finished run.
    RunFailed,
    Interrupted,
}

/// Runs the whole command. Experiments can use the schemes of `registry` by name.
#[must_use]
pub fn main_with(registry: Registry) -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && arguments::ask_for_json(std::env::args_os()) => {
            return fail(arguments::misuse(&error), Format::Json);
        }
        Err(error) => {
            // clap reports help and version as errors. A closed pipe is not an error.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let format = arguments.format;
    // After the first Ctrl-C, a run stops and keeps its records; if no run has begun, the process ends. The second
    // Ctrl-C ends the process at once.
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(move || interrupt::end_unless_at_work(format));
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        show::warn(&format!(
            "cannot handle Ctrl-C, so an interrupted run will not keep its records: {error}"
        ));
    }
    match commands::execute(&arguments, &registry.into(), &stop) {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::CheckFailed) => ExitCode::from(1),
        Ok(Ended::RunFailed) => ExitCode::from(3),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) => fail(error, arguments.format),
    }
}

/// Prints the error, and returns its exit code.
fn fail(error: Error, format: Format) -> ExitCode {
    let code = error.exit_code();
    match format {
        Format::Text => show::error(error),
        Format::Json => {
            // If the error cannot be printed, the exit code still reports it.
            let _ = show::result(&format!("{:#}", error.json()));
        }
    }
    ExitCode::from(code)
}
