//! Functions that run the command in tests, and a sweep for tests.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A sweep that tests add to an experiment.
pub(crate) const SWEEP: &str = r#"
[[sweep]]
name = "scheme"
values = [
    { label = "R2C2", set = { "scheme.transport" = "r2c2" } },
    { label = "TCP", set = { "scheme.transport" = "tcp-newreno" } },
]
"#;

/// Prepares the command, or a copy of the command, to run in `folder` on a terminal with this number of columns.
pub(crate) fn command_of(
    program: impl AsRef<Path>,
    folder: &Path,
    arguments: &str,
    columns: &str,
) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(folder).args(arguments.split_whitespace());
    command.env("NO_COLOR", "1").env("COLUMNS", columns);
    command
}

/// The names of the entries of a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
