//! Tests of the memory estimate: the command estimates the memory of a run before it allocates that memory.

#![expect(clippy::disallowed_methods, reason = "a process is watched on a real clock")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The `[engine]` table of an experiment.
const ENGINE: &str = "[engine]\nkind = \"packet\"\nseed = 1\n";

fn experiment(topology: &str, workload: &str, scheme: &str) -> String {
    let links = "link_rate = \"10 Gbps\"\nlink_delay = \"1 us\"";
    format!("[topology]\n{topology}\n{links}\n[workload]\n{workload}\n[scheme]\n{scheme}\n{ENGINE}")
}

fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.toml"), text).unwrap();
    folder
}

fn raddle(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.current_dir(folder).args(["run", "a.toml", "--threads", "1", "--quiet"]).args(arguments);
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    raddle(folder, arguments).output().unwrap()
}

/// Peak resident memory of a run in bytes, as the kernel reports it (proc_pid_status(5)).
fn peak(folder: &Path, arguments: &[&str]) -> f64 {
    let mut running = raddle(folder, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", running.id());
    let mut peak = 0.0;
    while running.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(kilobytes) = line.and_then(|line| line.trim().strip_suffix("kB")) {
            peak = kilobytes.trim().parse::<f64>().unwrap() * 1024.0;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    peak
}

/// The text of an error, without the frame and line breaks.
fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn estimate(folder: &Path, arguments: &[&str]) -> f64 {
    let output = output(folder, &[arguments, &["--dry-run", "--format", "json"]].concat());
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    printed[0]["memory"]["total_bytes"].as_f64().unwrap()
}

const POISSON: &str = "arrivals = { kind = \"poisson\", mean_gap = \"1 us\" }\npairs = \"uniform\"\n\
                       sizes = { kind = \"fixed\", size = \"10 KB\" }\nflows = 2_000";
const AT_ONCE: &str = "arrivals = { kind = \"all_at_once\" }\npairs = \"uniform\"\n\
                       sizes = { kind = \"fixed\", size = \"1 KB\" }\nflows = 100_000";
const UDP: &str = "transport = \"udp\"\nrouting = \"ecmp\"";
const TCP: &str = "transport = \"tcp-newreno\"\nrouting = \"ecmp\"";
const PFQ: &str = "transport = \"pfq\"\nrouting = \"rps\"";

#[test]
fn estimates_are_within_30_percent_of_what_runs_take() {
    let torus = "kind = \"torus\"\ndims = [24, 24, 24]";
    let fat_tree = |k: u32| format!("kind = \"fat_tree\"\nk = {k}");
    let ranks = "collective = \"allreduce\"\nranks = 1024\nsize = \"256 KB\"";
    let iterations = "collective = \"allreduce\"\nranks = 128\nsize = \"1 KB\"\niterations = 20";
    let experiments: [(&str, String, &[&str]); 10] = [
        ("UDP on a torus", experiment(torus, POISSON, UDP), &[]),
        ("TCP on a fat-tree", experiment(&fat_tree(32), POISSON, TCP), &[]),
        ("many flows by UDP", experiment(&fat_tree(8), AT_ONCE, UDP), &[]),
        ("many flows by TCP", experiment(&fat_tree(8), AT_ONCE, TCP), &[]),
        ("the flow engine", experiment(&fat_tree(8), AT_ONCE, PFQ), &["--engine", "flow"]),
        ("ranks", experiment(&fat_tree(16), ranks, TCP), &[]),
        ("ranks with many operations", experiment(&fat_tree(16), iterations, TCP), &[]),
        ("series", experiment(&fat_tree(24), POISSON, TCP), &["--set", "record.series=true"]),
        ("series of ranks", experiment(&fat_tree(16), ranks, TCP), &["--set", "record.series=true"]),
        ("lockstep", experiment(&fat_tree(24), POISSON, UDP), &["--engine", "lockstep"]),
    ];
    let one = folder(&experiment("kind = \"single_switch\"\nhosts = 2", &POISSON.replace("2_000", "1"), UDP));
    let empty = peak(one.path(), &[]);
    let compared = experiments.map(|(name, text, arguments)| {
        let folder = folder(&text);
        let (estimate, taken) = (estimate(folder.path(), arguments), peak(folder.path(), arguments) - empty);
        (estimate / taken, format!("{name}: {estimate} B estimated, {taken} B taken"))
    });
    let far = compared.iter().any(|(ratio, _)| !(0.7..=1.3).contains(ratio));
    assert!(!far, "an estimate is more than 30% off: {compared:#?}");
}

#[test]
fn what_the_machine_has_not_is_refused_with_the_numbers() {
    let many = "arrivals = { kind = \"all_at_once\", jitter = \"1 ms\" }\npairs = \"uniform\"\n\
                sizes = { kind = \"fixed\", size = \"1 KB\" }\nflows = 4_000_000_000";
    let folder = folder(&experiment("kind = \"torus\"\ndims = [4, 4]", many, UDP));
    for arguments in [&[][..], &["--dry-run"], &["--memory", "1 GB"]] {
        let output = output(folder.path(), arguments);
        let told = words(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("needs more memory than") && told.contains("4000000000 flows"), "{told}");
    }
    let set = output(folder.path(), &["--set", "workload.flows=1000", "--memory", "1 MB"]);
    assert_eq!(set.status.code(), Some(2));
    let told = words(&set);
    assert!(told.contains("1.00 MB (the limit set by --memory)"), "{told}");
    let enough = output(folder.path(), &["--set", "workload.flows=1000", "--memory", "1 GB"]);
    assert_eq!(enough.status.code(), Some(0));
}

#[test]
fn the_doctor_names_the_largest_fabrics_for_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        let output = command.current_dir(folder.path()).arg("doctor").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&doctor(&["--format", "json"])).unwrap();
    let memory = json["memory_bytes"].as_u64().unwrap();
    assert!(json["free_disk_bytes"].as_u64().unwrap() > 0 && json["cores"].as_u64().unwrap() > 0);
    let shown = doctor(&[]);
    let fabrics = json["feasible"].as_array().unwrap();
    assert_eq!(fabrics.len(), 3);
    assert!(shown.contains("\nfor live runs only, not for simulations\n"), "{shown}");
    assert!(!shown.contains("MiB"), "the memory is shown once: {shown}");
    for fabric in fabrics {
        assert!(fabric["memory_bytes"].as_u64().unwrap() <= memory, "{fabric}");
        assert!(shown.contains(fabric["family"].as_str().unwrap()), "{shown}");
    }
}

#[test]
fn a_fabric_that_is_too_big_is_refused_before_its_flows_are_drawn() {
    let workload = "arrivals = { kind = \"poisson\", load = 0.5 }\nsizes = \"web_search\"\npairs = \"uniform\"\n\
                    flows = 1_000_000_000";
    let scheme = "transport = \"dctcp\"\nrouting = \"ecmp\"";
    let folder = folder(&experiment("kind = \"fat_tree\"\nk = 16", workload, scheme));
    let output = output(folder.path(), &["--dry-run", "--memory", "1.1 MB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("needs more memory than 1.10 MB"), "{}", words(&output));
}
