//! Functions that run the command in tests, and small experiments for tests.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A sweep that tests add to an experiment.
pub(crate) const SWEEP: &str = r#"
[[sweep]]
name = "scheme"
values = [
    { label = "R2C2", set = { "scheme.transport" = "r2c2" } },
    { label = "TCP", set = { "scheme.transport" = "tcp-newreno" } },
]
"#;

/// Prepares `program` to run in `folder` on a terminal with this number of columns. `program` is the command, a copy of
/// the command, or a program that runs the command.
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

/// A small experiment.
pub(crate) const SMALL: &str = r#"[topology]
kind = "torus"
dims = [3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "2 us" }
sizes = { kind = "pareto", shape = 1.05, mean = "100 KB" }
pairs = "uniform"
flows = 300

[scheme]
transport = "r2c2"
"#;

/// Creates a folder with `small.toml`.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

/// Creates a folder with `swept.toml`.
pub(crate) fn swept() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("swept.toml"), [SMALL, SWEEP].concat()).unwrap();
    folder
}

/// Prepares the command to run in `folder` on a terminal with 100 columns.
pub(crate) fn command(folder: &Path, arguments: &str) -> Command {
    command_of(env!("CARGO_BIN_EXE_raddle"), folder, arguments, "100")
}

/// Runs the command in `folder`.
pub(crate) fn raddle(folder: &Path, arguments: &str) -> Output {
    command(folder, arguments).output().unwrap()
}

/// The text that a successful command printed on stdout.
pub(crate) fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The JSON that a successful command printed.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}
