//! The command as users meet it: what it prints, what it leaves behind, how it exits.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const SMALL: &str = r#"[topology]
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

[[sweep]]
name = "scheme"
values = [
    { label = "R2C2", set = { "scheme.transport" = "r2c2" } },
    { label = "TCP", set = { "scheme.transport" = "tcp-newreno" } },
]
"#;

/// A folder with `small.toml` in it.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.current_dir(folder).args(arguments.split_whitespace()).env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

fn raddle(folder: &Path, arguments: &str) -> Output {
    command(folder, arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_prints_a_page_and_leaves_a_directory_that_runs_again() {
    let folder = folder();
    let first = raddle(folder.path(), "run small.toml");
    insta::assert_snapshot!(stdout(&first));
    let directory = folder.path().join("out/small");
    let files =
        ["experiment.toml", "flows.parquet", "links.parquet", "log.txt", "manifest.json", "summary.json"];
    assert_eq!(names(&directory), files);
    assert_eq!(names(&folder.path().join("out")), ["small"]);
    let again = json(&raddle(folder.path(), "run out/small/experiment.toml --out again --format json"));
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("summary.json")).unwrap()).unwrap();
    assert_eq!(again["digest"], summary["digest"]);
    let other = json(&raddle(folder.path(), "run small.toml --seed 2 --out other --format json"));
    assert_ne!(other["digest"], summary["digest"]);
}

#[test]
fn a_run_captures_the_links_it_is_asked_to() {
    let folder = folder();
    let plain = json(&raddle(folder.path(), "run small.toml --format json"));
    assert!(!folder.path().join("out/small/packets.pcapng").exists());
    let captured = json(&raddle(folder.path(), "run small.toml --force --pcap 0->1,1->0 --format json"));
    assert_eq!(captured["digest"], plain["digest"]);
    let whole = fs::read(folder.path().join("out/small/packets.pcapng")).unwrap();
    raddle(folder.path(), "run out/small/experiment.toml --threads 2 --out again");
    assert!(fs::read(folder.path().join("again/packets.pcapng")).unwrap() == whole, "it runs again as it is");
    let wrong = raddle(folder.path(), "run small.toml --pcap 0->4");
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(told.contains("no link leads from node 0 to node 4"), "{told}");
    assert!(told.contains("links from node 0 lead to 1, 2, 3, 6"), "{told}");
}

#[test]
fn both_runtimes_deliver_the_same_flows() {
    let folder = folder();
    let packet = json(&raddle(folder.path(), "run small.toml --out packet --format json"));
    let lockstep = json(&raddle(folder.path(), "live small.toml --out lockstep --format json"));
    assert_eq!(packet["classes"], lockstep["classes"]);
    let data = |summary: &Value| summary["totals"]["data"].clone();
    assert_eq!(data(&packet), data(&lockstep));
}

#[test]
fn a_dry_run_prints_every_default_and_leaves_nothing() {
    let folder = folder();
    insta::assert_snapshot!(stdout(&raddle(
        folder.path(),
        "run small.toml --dry-run --set topology.dims=[4,4]"
    )));
    assert_eq!(names(folder.path()), ["small.toml"]);
}

#[test]
fn a_sweep_runs_each_cell_once() {
    let folder = folder();
    let first = raddle(folder.path(), "sweep small.toml --threads 2");
    insta::assert_snapshot!(stdout(&first));
    let log = folder.path().join("out/small/tcp/log.txt");
    let written = fs::metadata(&log).unwrap().modified().unwrap();
    let second = raddle(folder.path(), "sweep small.toml");
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(fs::metadata(&log).unwrap().modified().unwrap(), written);
    let changed = raddle(folder.path(), "sweep small.toml --seed 7 --force");
    assert_ne!(stdout(&changed), stdout(&first));
}

#[test]
fn bad_input_exits_with_2_and_leaves_nothing() {
    let folder = folder();
    let mistakes = [
        "run small.toml --set topology.link_rate=10Gbs",
        "run small.toml --set workload.flows=0",
        "run small.toml --engine fluid",
        "sweep small.toml --set topology.link_delay=-1ns",
        "run absent.toml",
        "compare out/absent",
    ];
    let mut golden = String::new();
    for arguments in mistakes {
        let output = raddle(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty(), "{arguments}");
        golden.push_str(&format!("$ raddle {arguments}\n{}\n", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(names(folder.path()), ["small.toml"], "{arguments}");
    }
    insta::assert_snapshot!(golden);
    assert_eq!(raddle(folder.path(), "explain r2c3").status.code(), Some(2));
}

#[test]
fn runs_are_held_against_the_first_and_drawn() {
    let folder = folder();
    for (set, out) in [("transport=r2c2", "r2c2"), ("transport=tcp-newreno", "tcp"), ("transport=pfq", "pfq")]
    {
        stdout(&raddle(folder.path(), &format!("run small.toml --set scheme.{set} --out {out} --quiet")));
    }
    stdout(&raddle(folder.path(), "run small.toml --seed 2 --set topology.dims=[4,4] --out other"));
    let compared = raddle(folder.path(), "compare r2c2 tcp pfq --plot compared.svg");
    insta::assert_snapshot!(stdout(&compared));
    let picture = fs::read_to_string(folder.path().join("compared.svg")).unwrap();
    for word in ["tcp", "p99 slowdown", "Flows under 100 KB", "Flows over 1 MB"] {
        assert!(picture.contains(word), "{word}");
    }
    let strange = json(&raddle(folder.path(), "compare r2c2 other tcp --format json"));
    assert_eq!(strange["differences"][0], "other flows than r2c2: other");
    assert_eq!(strange["differences"][1], "other fabric than r2c2: other");
    let measure = |name: &str| {
        let measures = strange["measures"].as_array().unwrap();
        measures
            .iter()
            .find(|line| line["measure"] == name && line["class"] == "under 100 KB")
            .unwrap()
            .clone()
    };
    let fct = measure("FCT p99 us");
    let number = |run: usize| fct["values"][run].as_f64().unwrap();
    assert!((fct["over_first"][2].as_f64().unwrap() - number(2) / number(0)).abs() < 1e-9);
    assert_eq!(fct["over_first"][0], Value::Null);
    let refused = raddle(folder.path(), "compare r2c2 tcp --plot compared.txt");
    assert_eq!((refused.status.code(), refused.stdout.is_empty()), (Some(2), true));
}

#[test]
fn a_folder_that_is_no_run_is_not_overwritten() {
    let folder = folder();
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/thesis.tex"), "x").unwrap();
    let output = raddle(folder.path(), "run small.toml --out mine");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(names(&folder.path().join("mine")), ["thesis.tex"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_valid_partial_records() {
    let folder = folder();
    let running = "run small.toml --set workload.flows=3_000_000 --out long";
    let mut child = command(folder.path(), running).stdout(Stdio::null()).spawn().unwrap();
    // Its directory grows under a temporary name: from then on there is something to interrupt.
    while !names(folder.path()).iter().any(|name| name.starts_with(".long.part")) {
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let summary = fs::read_to_string(folder.path().join("long/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["complete"], false);
    assert!(summary["delivered"].as_u64() < summary["flows"].as_u64());
    assert!(fs::metadata(folder.path().join("long/flows.parquet")).unwrap().len() > 0);
}

#[test]
fn what_there_is_can_be_listed_and_explained() {
    let folder = folder();
    insta::assert_snapshot!(stdout(&raddle(folder.path(), "list topologies")));
    insta::assert_snapshot!(stdout(&raddle(folder.path(), "topo show small.toml")));
    let tree = SMALL
        .replace("kind = \"torus\"\ndims = [3, 3]", "kind = \"fat_tree\"\nk = 4\ncore_rate = \"5 Gbps\"");
    fs::write(folder.path().join("tree.toml"), tree).unwrap();
    insta::assert_snapshot!(stdout(&raddle(folder.path(), "topo show tree.toml")));
    assert_eq!(
        json(&raddle(folder.path(), "topo show tree.toml --format json"))["clos"]["oversubscription"],
        2.0
    );
    let cube = SMALL.replace("kind = \"torus\"\ndims = [3, 3]", "kind = \"bcube\"\nn = 4\nk = 1");
    fs::write(folder.path().join("cube.toml"), cube).unwrap();
    insta::assert_snapshot!(stdout(&raddle(folder.path(), "topo show cube.toml")));
    let schemes = json(&raddle(folder.path(), "list schemes --format json"));
    let both = ["transports", "routings"].map(|part| schemes[part].as_array().unwrap());
    for scheme in both.into_iter().flatten() {
        let name = scheme["name"].as_str().unwrap();
        assert!(stdout(&raddle(folder.path(), &format!("explain {name}"))).starts_with(name));
    }
}

#[test]
fn a_selection_prints_what_it_is_held_against_and_writes_a_line_a_flow() {
    let folder = folder();
    let selection = "select small.toml --set topology.dims=[4,4] --set workload.flows=14";
    insta::assert_snapshot!(stdout(&raddle(folder.path(), &format!("{selection} --out chosen.csv"))));
    assert_eq!(names(folder.path()), ["chosen.csv", "small.toml"]);
    let chosen = fs::read_to_string(folder.path().join("chosen.csv")).unwrap();
    let lines: Vec<&str> = chosen.lines().collect();
    assert_eq!((lines[0], lines.len()), ("flow,src,dst,protocol,rate_bps", 15));
    let sum = |lines: &[&str]| -> f64 {
        lines.iter().map(|line| line.rsplit_once(',').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    let found = |search: &str| json(&raddle(folder.path(), &format!("{selection} {search} --format json")));
    let genetic = found("");
    assert!((genetic["found"].as_f64().unwrap() * 1e9 - sum(&lines[1..])).abs() < 14.0);
    let best = found("--search exhaustive")["found"].as_f64().unwrap();
    for search in ["genetic", "hill-climbing", "log-linear", "annealing", "random"] {
        let found = found(&format!("--search {search}"))["found"].as_f64().unwrap();
        assert!(found <= best * (1.0 + 1e-9), "{search}: {found} above {best}");
    }
    let tail = found("--utility minimum");
    assert!(tail["found"].as_f64().unwrap() >= tail["baselines"]["all vlb"].as_f64().unwrap());
    let other = found("--seed 2");
    assert_ne!(other["baselines"], genetic["baselines"]);
}

#[test]
fn selections_that_cannot_be_are_refused() {
    let folder = folder();
    let mistakes = [
        "select small.toml --search genetical",
        "select small.toml --utility fair",
        "select small.toml --search exhaustive",
        "select small.toml --set scheme.transport=tcp-newreno",
        "select absent.toml",
    ];
    let mut golden = String::new();
    for arguments in mistakes {
        let output = raddle(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        golden.push_str(&format!("$ raddle {arguments}\n{}\n", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(names(folder.path()), ["small.toml"], "{arguments}");
    }
    insta::assert_snapshot!(golden);
}
