//! Turns errors into Python exceptions. `python/raddle/errors.py` declares the exceptions' classes.

use pyo3::prelude::*;
use raddle_lab::Error;
use raddle_lab::experiment::{Cause, Problem};

/// The name that `raddle_lab` gives to the text of an override instead of a file's name.
const OVERRIDE: &str = "--set";

/// The exception for an error of `raddle_lab`.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let json = error.json();
    let text = |key: &str| json["error"][key].as_str().map(str::to_owned);
    let number = |key: &str| json["error"][key].as_u64();
    // An exception for an override has the override's key, but no file, line or column.
    let file = text("file").filter(|file| file != OVERRIDE);
    let place = |of: &str| number(of).filter(|_| file.is_some());
    let arguments =
        (text("message"), text("hint"), file.clone(), place("line"), place("column"), text("key"));
    let exception = py
        .import("raddle.errors")
        .and_then(|module| module.getattr(class(error)))
        .and_then(|class| class.call1(arguments));
    exception.map_or_else(|failed| failed, PyErr::from_value)
}

/// The exception for an error in an experiment.
pub(crate) fn of_problem(py: Python<'_>, problem: Problem) -> PyErr {
    exception(py, &problem.into())
}

/// The name of the exception's class.
fn class(error: &Error) -> &'static str {
    match error {
        Error::Problem(problem) => match *problem.cause {
            Cause::Unreadable { .. } => "UnreadableFileError",
            Cause::BadFile { .. } => "BadFileError",
            Cause::Syntax(_) => "TomlError",
            Cause::BadOverride => "OverrideError",
            Cause::UnknownKey { .. } => "UnknownKeyError",
            Cause::MissingKey { .. } => "MissingKeyError",
            Cause::MissingTable { .. } => "MissingTableError",
            Cause::WrongType { .. } => "WrongTypeError",
            Cause::Quantity(_) => "QuantityError",
            Cause::UnknownName { .. } => "UnknownNameError",
            Cause::OutOfRange { .. } => "OutOfRangeError",
            Cause::Contradiction { .. } => "ContradictionError",
            Cause::Duplicate { .. } => "DuplicateError",
            Cause::NoSuchHost { .. } => "NoSuchHostError",
            Cause::SelfFlow(_) => "SelfFlowError",
            Cause::Unreachable { .. } => "UnreachableError",
            Cause::RouteTooLong { .. } => "RouteTooLongError",
            _ => "ExperimentError",
        },
        Error::Usage { .. } => "UsageError",
        Error::Io { .. } => "FileError",
        Error::Records(_) => "RecordsError",
        Error::Undelivered { .. } => "UndeliveredError",
        Error::Run(_) => "RunError",
        Error::Displaced { .. } => "DisplacedError",
        Error::Interrupted => "Interrupted",
        _ => "RaddleError",
    }
}
