//! The `raddle` command from outside: its output, its files and its exit codes.

use crate::shell::{SMALL, command, folder, json, names, raddle, stdout, swept};
use raddle_lab::notation::shown;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
    assert!(told.contains("there is no link from node 0 to node 4"), "{told}");
    assert!(told.contains("node 0 has links to 1, 2, 3, 6"), "{told}");
}

#[test]
fn both_runtimes_deliver_the_same_flows() {
    let folder = folder();
    let packet = json(&raddle(folder.path(), "run small.toml --out packet --format json"));
    let lockstep =
        json(&raddle(folder.path(), "run small.toml --engine lockstep --out lockstep --format json"));
    assert_eq!(packet["classes"], lockstep["classes"]);
    let data = |summary: &Value| summary["totals"]["data"].clone();
    assert_eq!(data(&packet), data(&lockstep));
}

#[test]
fn a_dry_run_prints_every_default_and_leaves_nothing() {
    let folder = folder();
    let printed = stdout(&raddle(folder.path(), "run small.toml --dry-run --set topology.dims=[4,4]"));
    // The sizes of types may change, so the estimate is not part of the snapshot.
    let (memory, experiment) = printed.split_once('\n').unwrap();
    assert!(
        memory.starts_with("# memory: about ") && memory.contains(" for 64 ports and 16 nodes"),
        "{memory}"
    );
    insta::assert_snapshot!(experiment);
    assert_eq!(names(folder.path()), ["small.toml"]);
}

#[test]
fn every_template_runs_as_it_is_and_changes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let listed = json(&raddle(folder.path(), "init --format json"));
    let names: Vec<&str> = listed["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|template| template["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["leaf-spine", "rack-torus", "ai-training", "lossless", "own-topology"]);
    for name in names {
        assert!(
            stdout(&raddle(folder.path(), &format!("init {name} --out mine"))).starts_with("wrote mine/")
        );
        stdout(&raddle(folder.path(), &format!("sweep mine/{name}.toml --dry-run --deny-warnings")));
        let again = raddle(folder.path(), &format!("init {name} --out mine"));
        assert_eq!(again.status.code(), Some(2), "{name}");
        assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"), "{again:?}");
    }
    let run = "run mine/own-topology.toml --set workload.flows=100 --out out";
    assert!(stdout(&raddle(folder.path(), run)).contains("100 of 100 flows delivered"));
    assert_eq!(raddle(folder.path(), "init nothing").status.code(), Some(2));
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
    assert_eq!(strange["differences"][0], "the flows of r2c2 differ from the flows of these runs: other");
    assert_eq!(
        strange["differences"][1],
        "the topologies of r2c2 differ from the topologies of these runs: other"
    );
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

/// True if an unfinished run in `folder` has written captured packets, and not only the file's headers.
#[cfg(unix)]
fn has_captured(folder: &Path) -> bool {
    // The run writes into a directory with a temporary name, and the capture into a file with a temporary name.
    let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let unfinished =
        files(folder).filter(|entry| entry.file_name().to_string_lossy().starts_with(".long.part"));
    let captures = unfinished
        .flat_map(|entry| files(&entry.path()))
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".pcapng"));
    captures.flat_map(|entry| entry.metadata()).any(|metadata| metadata.len() > 100_000)
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_valid_partial_records() {
    let folder = folder();
    // Large flows make the run long. An interruption of the set-up leaves no records, so the interruption must come after
    // the set-up: once packets are captured.
    let running = "run small.toml --set workload.sizes.mean=10GB --set record.pcap=0->1 --out long";
    let mut child = command(folder.path(), running).stdout(Stdio::null()).spawn().unwrap();
    while !has_captured(folder.path()) {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended");
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
}

#[test]
fn every_name_that_is_listed_is_explained() {
    let folder = folder();
    let lists = json(&raddle(folder.path(), "list --format json"));
    let lists = lists.as_object().unwrap();
    let named = lists.values().flat_map(|list| list.as_array().unwrap());
    let mut names: Vec<String> = named.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect();
    let figures = json(&raddle(folder.path(), "list figures --format json"));
    let shown = stdout(&raddle(folder.path(), "list figures"));
    for figure in figures["figures"].as_array().unwrap() {
        let [name, title] = ["name", "summary"].map(|field| figure[field].as_str().unwrap());
        assert!(!title.is_empty(), "{name}");
        let line = shown.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        assert!(line.ends_with(title), "{line}");
        names.push(name.to_owned());
    }
    for name in ["r2c2", "ecmp", "dor", "vlb", "romm", "torus", "sizes web_search", "pdq/fig3a"] {
        assert!(names.iter().any(|listed| listed == name), "{name}");
    }
    for name in &names {
        let told = stdout(&raddle(folder.path(), &format!("explain {name}")));
        assert!(told.starts_with(name) && told.lines().count() > 2, "{name}: {told}");
    }
    assert!(stdout(&raddle(folder.path(), "explain web_search")).starts_with("sizes web_search"));
    let unknown = raddle(folder.path(), "explain vbl");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean `vlb`?"));
}

/// Runs the command with a stdout that the reader has closed, and with the given stderr.
#[cfg(unix)]
fn unread(folder: &Path, arguments: &str, stderr: Stdio) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command(folder, arguments).stdout(writer).stderr(stderr).output().unwrap()
}

#[test]
fn each_of_several_figures_is_told_when_it_is_complete() {
    let folder = folder();
    for name in ["one", "two"] {
        fs::write(folder.path().join(format!("{name}.toml")), OWN_FIGURE).unwrap();
    }
    let told = |arguments: &str| {
        let output = command(folder.path(), arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        told.lines().filter(|line| line.contains(" own/")).map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = told("reproduce one.toml two.toml");
    assert!(lines[0].starts_with("1/2 own/one: ") && lines[1].starts_with("2/2 own/two: "), "{lines:?}");
    assert!(lines[1].ends_with(" s, 0 of 0 claims fail"), "{lines:?}");
    assert!(told("reproduce one.toml").is_empty());
    assert!(told("reproduce one.toml two.toml --quiet").is_empty());
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = swept();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    fs::write(folder.path().join("own.toml"), OWN_FIGURE).unwrap();
    raddle(folder.path(), "run small.toml --out a");
    let commands = [
        ("list", 0),
        ("list figures", 0),
        ("explain r2c2", 0),
        ("doctor", 0),
        ("--help", 0),
        ("--version", 0),
        ("topo show small.toml", 0),
        ("topo check small.toml", 0),
        ("topo convert small.toml graph.json", 0),
        ("run small.toml --out kept", 0),
        ("run small.toml --dry-run", 0),
        ("live small.toml --out live", 0),
        ("sweep swept.toml", 0),
        ("compare a a", 0),
        ("agree small.toml --set workload.flows=10", 0),
        ("select small.toml --set workload.flows=14", 0),
        ("reproduce own.toml", 0),
        ("run absent.toml", 2),
    ];
    for (arguments, code) in commands {
        for format in ["text", "json"] {
            let output = unread(folder.path(), &format!("{arguments} --format {format}"), Stdio::piped());
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments}, {format}: {told}");
            assert!(!told.contains("panicked"), "{arguments}, {format}: {told}");
        }
    }
    assert!(folder.path().join("kept/summary.json").is_file() && !folder.path().join("kept.part").exists());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(unread(folder.path(), "run absent.toml", writer.into()).status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    let folder = folder();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(folder.path(), "list").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write standard output"));
}

const OWN_FIGURE: &str = r#"[figure]
paper = "own"
number = "1"
title = "Means of flows"

[topology]
kind = "torus"
dims = [3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "2 us" }
sizes = { kind = "fixed", size = "10 KB" }
pairs = "uniform"
flows = 20

[scheme]
transport = "r2c2"

[scale.quick]
"workload.flows" = 20
"#;

#[test]
fn a_run_that_delivers_nothing_says_why_and_fails() {
    let folder = folder();
    let tcp =
        "--set scheme.transport=tcp-newreno --set workload.flows=5 --set scheme.tcp-newreno.handshake=true";
    let impossible = "--set scheme.queue.kind=fifo --set scheme.queue.limit=1B";
    let output = raddle(folder.path(), &format!("run small.toml {tcp} {impossible} --out text"));
    assert_eq!(output.status.code(), Some(3));
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.starts_with("small: 0 of 5 flows delivered; last event at "), "{page}");
    let why = "none of the 5 flows was delivered: 30 packets were dropped at full queues: the limit 1 B is smaller than a packet of 1500 B";
    assert!(page.contains(&format!("\nfailed: {why}\n")), "{page}");
    let told = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("raise `limit` in [scheme.queue] to at least 1500 B"), "{told}");
    // The records of the failed run are kept, and they report the failure.
    let log = fs::read_to_string(folder.path().join("text/log.txt")).unwrap();
    assert!(log.contains(why), "{log}");
    assert!(folder.path().join("text/flows.parquet").is_file());
    let output =
        raddle(folder.path(), &format!("run small.toml {tcp} {impossible} --out json --format json"));
    assert_eq!((output.status.code(), output.stderr.len()), (Some(3), 0));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kept = fs::read_to_string(folder.path().join("json/summary.json")).unwrap();
    for summary in [&printed, &serde_json::from_str(&kept).unwrap()] {
        assert_eq!(summary["complete"], true);
        assert_eq!(summary["error"]["exit_code"], 3);
        assert!(summary["error"]["message"].as_str().unwrap().starts_with(why));
        assert_eq!(summary["last_delivery_ps"], Value::Null);
    }
    assert_eq!(raddle(folder.path(), &format!("agree small.toml {tcp} {impossible}")).status.code(), Some(3));
    // A sweep with failed runs also exits with 3, both on its first run and when its cells already exist.
    fs::write(folder.path().join("queues.toml"), [SMALL, QUEUES].concat()).unwrap();
    for _ in 0..2 {
        let output = raddle(folder.path(), &format!("sweep queues.toml {tcp}"));
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        let page = String::from_utf8_lossy(&output.stdout);
        assert!(page.contains(&format!("\nnothing failed: {why}")), "{page}");
        assert!(!page.contains("enough failed"), "{page}");
    }
}

/// A sweep over a queue with room for packets and a queue with room for none.
const QUEUES: &str = r#"
[[sweep]]
name = "queue"
values = [
    { label = "enough", set = { "scheme.queue" = { kind = "fifo", limit = "150 KB" } } },
    { label = "nothing", set = { "scheme.queue" = { kind = "fifo", limit = "1 B" } } },
]
"#;

#[test]
fn a_leaf_spine_with_one_spine_takes_a_load() {
    let folder = folder();
    let spine = SMALL
        .replace(
            "kind = \"torus\"\ndims = [3, 3]",
            "kind = \"folded_clos\"\nleaves = 4\nspines = 1\nhosts_per_leaf = 3",
        )
        .replace("mean_gap = \"2 us\"", "load = 0.5")
        .replace("r2c2", "tcp-newreno");
    fs::write(folder.path().join("spine.toml"), spine).unwrap();
    let facts = json(&raddle(folder.path(), "topo show spine.toml --format json"));
    assert_eq!(facts["clos"]["oversubscription"], 3.0);
    assert_eq!(json(&raddle(folder.path(), "run spine.toml --format json"))["delivered"], 300);
}

#[test]
fn a_time_limit_before_the_first_delivery_is_no_failure() {
    let folder = folder();
    let told = |limit: &str| {
        stdout(&raddle(folder.path(), &format!("run small.toml --force --set engine.time_limit={limit}")))
    };
    for limit in ["1ps", "2500ns"] {
        assert!(told(limit).contains("the time limit ended the run before any flow was complete"), "{limit}");
    }
    assert!(!told("100us").contains("before any flow was complete"));
}

#[test]
fn the_time_of_a_run_is_that_of_its_last_delivery() {
    let folder = folder();
    let tcp = "run small.toml --set scheme.transport=tcp-newreno --set workload.flows=20";
    let summary = json(&raddle(folder.path(), &format!("{tcp} --format json")));
    let [delivery, event] = ["last_delivery_ps", "last_event_ps"].map(|key| summary[key].as_u64().unwrap());
    assert!(0 < delivery && delivery < event, "{delivery} {event}");
    assert_eq!(summary["totals"]["simulated_ps"], event);
    let page = stdout(&raddle(folder.path(), tcp));
    let [delivery, event] = [delivery, event].map(|ps| format!("{} ms", shown(ps as f64 / 1e9)));
    let first = format!("small: 20 of 20 flows delivered in {delivery} simulated; last event at {event}\n");
    assert!(page.starts_with(&first), "{page}");
}

#[test]
fn errors_are_json_where_that_is_asked_for() {
    let folder = swept();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    fs::write(folder.path().join("bad.toml"), SMALL.replace("link_delay", "link_dleay")).unwrap();
    let error = |arguments: &str, code: i32| -> Value {
        let output = raddle(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["exit_code"], code, "{arguments}");
        assert!(!document["error"]["message"].as_str().unwrap().is_empty(), "{arguments}");
        document["error"].clone()
    };
    let unknown = error("run bad.toml --format json", 2);
    assert_eq!(unknown["message"], "unknown key `link_dleay` in [topology]");
    assert_eq!(unknown["hint"], "did you mean `link_delay`?");
    assert_eq!(
        (&unknown["file"], &unknown["line"], &unknown["column"]),
        (&"bad.toml".into(), &5.into(), &1.into())
    );
    let overridden = error("run small.toml --set topology.link_rate=10Gbs --format=json", 2);
    assert_eq!((&overridden["file"], &overridden["line"]), (&"--set".into(), &1.into()));
    assert_eq!(error("--format json run absent.toml", 2)["file"], "absent.toml");
    assert_eq!(error("run swept.toml --format json", 2)["line"], 16);
    error("compare absent --format json", 2);
    error("explain nothing --format json", 2);
    error("reproduce r2c2/fig99 --format json", 2);
    // A file-system error: the output directory would be inside a file.
    error("run small.toml --out small.toml/x --format json", 3);
    // An error that clap reports.
    let misused = error("runn small.toml --format json", 2);
    assert_eq!(misused["message"], "unrecognized subcommand 'runn'");
    assert!(misused["hint"].as_str().unwrap().contains("a similar subcommand exists: 'run'"));
    error("run --format json", 2);
    error("run small.toml --seed x --format json", 2);
    let text = raddle(folder.path(), "runn small.toml");
    assert_eq!((text.status.code(), text.stdout.len()), (Some(2), 0));
    assert!(stdout(&raddle(folder.path(), "--help --format json")).contains("Usage"));
}

/// Every test that the page `reliability.md` of the book names must exist.
#[test]
fn every_test_that_the_book_names_exists() {
    fn sources(folder: &Path, text: &mut String) {
        for name in names(folder).into_iter().filter(|name| name != "target") {
            let path = folder.join(&name);
            if path.is_dir() {
                sources(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let is_name = |code: &str| {
        code.contains('_') && code.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = String::new();
    sources(&root.join("crates"), &mut all);
    let book = fs::read_to_string(root.join("docs/src/reliability.md")).unwrap();
    let named: Vec<&str> = book.split('`').skip(1).step_by(2).filter(|code| is_name(code)).collect();
    assert!(named.len() > 20, "{named:?}");
    for test in named {
        assert!(all.contains(&format!("fn {test}()")), "there is no test `{test}`");
    }
}

/// In this experiment the queue is shorter than a full packet, so all full packets are lost. The command warns before
/// the run. With `--deny-warnings`, the command does not run the experiment.
#[test]
fn warnings_are_told_and_kept_and_can_be_denied() {
    let folder = folder();
    let set = r#"--set scheme={transport="tcp-newreno",queue={kind="fifo",limit="1000B"}}"#;
    let denied = raddle(folder.path(), &format!("run small.toml --deny-warnings {set}"));
    let text = String::from_utf8_lossy(&denied.stderr).into_owned();
    assert_eq!(denied.status.code(), Some(2), "{text}");
    assert!(text.contains("refused because of a warning"), "{text}");
    assert!(!folder.path().join("out").exists(), "nothing is written");
    let ran = raddle(folder.path(), &format!("run small.toml {set}"));
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        text.contains("warning[queue] --set:1: `limit` is 1 KB, less than a full packet (1500 B"),
        "{text}"
    );
    let summary = fs::read_to_string(folder.path().join("out/small/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let lints = summary["warnings"].as_array().unwrap().iter().map(|warning| &warning["lint"]);
    assert!(lints.clone().any(|lint| lint == "queue"), "{summary:#}");
}
