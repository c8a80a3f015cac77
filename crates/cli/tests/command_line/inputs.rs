//! Tests of Ctrl-C while the command reads inputs, and of inputs that the command refuses.

#![cfg_attr(unix, expect(clippy::disallowed_methods, reason = "a process is interrupted on a real clock"))]
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const EXPERIMENT: &str = r#"[topology]
kind = "single_switch"
hosts = 4
link_rate = "10 Gbps"
link_delay = "1 us"
[workload]
WORKLOAD
[scheme]
transport = "tcp-newreno"
routing = "ecmp"
[engine]
kind = "packet"
seed = 1
"#;

fn folder(workload: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), EXPERIMENT.replace("WORKLOAD", workload)).unwrap();
    folder
}

fn raddle(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.current_dir(folder).args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

fn told(output: &Output) -> String {
    // Messages are wrapped to the terminal's width, with a bar before each line.
    String::from_utf8_lossy(&output.stderr).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Interrupts a command half a second after its start. Returns its output and the time from the interruption to the end
/// of the command.
fn interrupted(folder: &Path, arguments: &str) -> (Output, Duration) {
    let running = raddle(folder, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let asked = Instant::now();
    let output = running.wait_with_output().unwrap();
    (output, asked.elapsed())
}

#[test]
fn set_up_and_checks_of_goal_files_end_at_the_first_interruption() {
    let flows = "arrivals = { kind = \"poisson\", mean_gap = \"1 us\" }\nsizes = { kind = \"fixed\", \
                 size = \"1 KB\" }\npairs = \"uniform\"\nflows = 4_000_000_000";
    let goal = folder("goal = \"long.goal\"");
    let mut text = "num_ranks 1\nrank 0 {\n".to_owned();
    (0..4_000_000).for_each(|i| text.push_str(&format!("l{i}: calc 1\n")));
    text.push_str("}\n");
    fs::write(goal.path().join("long.goal"), text).unwrap();
    for folder in [folder(flows), goal] {
        let (output, took) = interrupted(folder.path(), "run a.toml");
        assert_eq!(output.status.code(), Some(130), "{}", told(&output));
        assert!(told(&output).contains("interrupted"), "{}", told(&output));
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(!folder.path().join("out").exists(), "nothing is left");
    }
}

#[test]
fn fifos_and_devices_are_refused() {
    let folder = folder("file = \"flows.txt\"\nformat = \"hpcc\"");
    let fifo = folder.path().join("flows.txt");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let refused = |arguments: &str| {
        let output = raddle(folder.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        told(&output)
    };
    let fifo = "a FIFO cannot be an input; use a regular file";
    assert!(refused("run a.toml").contains(fifo));
    assert!(refused("run flows.txt").contains(fifo));
    assert!(refused("run /dev/zero").contains("a device cannot be an input"));
}

#[test]
fn an_empty_document_is_not_a_summary() {
    let folder = folder("");
    fs::create_dir(folder.path().join("run")).unwrap();
    fs::write(folder.path().join("run/summary.json"), "{}").unwrap();
    let output = raddle(folder.path(), "compare run").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("the file is not a summary: the key `digest` is missing"),
        "{}",
        told(&output)
    );
}

#[test]
fn ranks_of_skeletons_are_limited() {
    let folder = folder("skeleton = \"wrf\"\nranks = 4_000_000_000");
    let output = raddle(folder.path(), "run a.toml").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("the number of ranks must be 2 to 1048576 (got 4000000000)"),
        "{}",
        told(&output)
    );
}
