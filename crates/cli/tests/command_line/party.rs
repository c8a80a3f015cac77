//! Tests in which several processes run one rack.

use crate::shell::command_of;
use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use tempfile::TempDir;

const RACK: &str = r#"[topology]
kind = "torus"
dims = [4, 4]
link_rate = "5 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "100 us" }
sizes = { kind = "fixed", size = "100 KB" }
pairs = "uniform"
flows = 50

[scheme]
transport = "r2c2"
r2c2 = { reliable = true }

[engine]
dilation = 20
"#;

pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rack.toml"), RACK).unwrap();
    folder
}

/// Starts a process that runs some nodes of the rack.
pub(crate) fn start(folder: &Path, arguments: &str) -> Child {
    let arguments = format!("live rack.toml --quiet {arguments}");
    let mut command = command_of(env!("CARGO_BIN_EXE_raddle"), folder, &arguments, "400");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn three_processes_run_one_rack_and_the_host_keeps_the_results() {
    let folder = folder();
    fs::write(folder.path().join("secret"), "known to all").unwrap();
    let joins = ["--nodes 0-4", "--nodes 12-15"]
        .map(|nodes| start(folder.path(), &format!("{nodes} --join socket --secret secret")));
    let host = start(folder.path(), "--nodes 5-11 --listen socket --secret secret --out done");
    let output = host.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("50 of 50 flows delivered"), "{}", said(&output));
    for join in joins {
        let output = join.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert!(
            said(&output).contains("the process started with --listen has the results"),
            "{}",
            said(&output)
        );
    }
    let left: Vec<_> = crate::shell::names(folder.path());
    assert_eq!(left, ["done", "rack.toml", "secret"]);
}

#[test]
fn a_process_that_is_killed_ends_the_run_of_the_others() {
    let folder = folder();
    let slow = "--set engine.dilation=10000";
    let mut guest = start(folder.path(), &format!("{slow} --nodes 8-15 --join socket"));
    let other = start(folder.path(), &format!("{slow} --nodes 4-7 --join socket"));
    let host = start(folder.path(), &format!("{slow} --nodes 0-3 --listen socket --out none"));
    // The kill may come before or during the run. The other processes end in both cases.
    std::thread::park_timeout(std::time::Duration::from_millis(1_500));
    guest.kill().unwrap();
    guest.wait().unwrap();
    for left in [host, other] {
        let output = left.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    }
    assert_eq!(crate::shell::names(folder.path()), ["rack.toml"]);
}

#[test]
fn processes_of_different_experiments_do_not_run_together() {
    let folder = folder();
    let host = start(folder.path(), "--nodes 0-7 --listen socket --out none");
    let stranger = start(folder.path(), "--nodes 8-15 --join socket --seed 2").wait_with_output().unwrap();
    assert_eq!(stranger.status.code(), Some(3));
    assert!(said(&stranger).contains("have different experiments"), "{}", said(&stranger));
    let fitting = start(folder.path(), "--nodes 8-15 --join socket").wait_with_output().unwrap();
    assert!(fitting.status.success(), "{}", said(&fitting));
    assert!(host.wait_with_output().unwrap().status.success());
}

#[test]
fn several_processes_take_no_orders_and_say_why() {
    let folder = folder();
    let endless = "--set workload.flows=1000000";
    let mut processes = [
        start(folder.path(), &format!("--nodes 0-7 --listen socket {endless}")),
        start(folder.path(), &format!("--nodes 8-15 --join socket {endless}")),
    ];
    let arguments = format!("live ctl --run {} link down 0 1", processes[0].id());
    let ask = || command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), &arguments, "400").output().unwrap();
    let refused = (0..100).find_map(|_| {
        std::thread::park_timeout(std::time::Duration::from_millis(100));
        Some(ask()).filter(|output| said(output).contains("a run in several processes accepts no requests"))
    });
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(refused.and_then(|output| output.status.code()), Some(2));
}
