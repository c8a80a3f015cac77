//! `raddle report`.

use super::directories::SMALL;
use super::shell::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn raddle(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.current_dir(folder).args(arguments.split_whitespace()).output().unwrap()
}

#[test]
fn a_report_is_one_file_with_all_runs_and_asks_for_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = SMALL.replace("{ kind = \"cdf\", file = \"sizes.txt\" }", "\"web_search\"");
    fs::write(folder.path().join("small.toml"), experiment).unwrap();
    for (run, transport) in [("rated", "r2c2"), ("windowed<script>", "tcp-newreno")] {
        let set = format!("--set record.series=true --set scheme.transport={transport}");
        let output = raddle(folder.path(), &format!("run small.toml {set} --out {run}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let output = raddle(folder.path(), "report rated windowed<script>");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("report.html: a report on 2 runs"));
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(!page.contains("windowed<script>"), "the data is not escaped");
    assert!(page.contains("windowed\\u003cscript>"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("src=") && !page.contains("@import"), "the page asks for another file");
    assert!(page.contains("\"interval_us\""), "the page lacks the time series");
    assert!(!page.contains("/*DATA*/") && !page.contains("/*SCRIPT*/") && !page.contains("/*STYLE*/"));
}

#[test]
fn a_folder_without_runs_has_no_report() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let output = raddle(folder.path(), "report empty");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn a_run_of_own_files_can_be_reported_and_run_again_in_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine");
    let done = |folder: &Path, arguments: &str| json(&raddle(folder, &format!("{arguments} --format json")));
    done(folder.path(), "init own-topology --out mine");
    fs::write(mine.join("sizes.txt"), "1000 0\n2000 100\n").unwrap();
    fs::write(mine.join("flows.txt"), "1\n0 2 3 100 9000 0.000001\n").unwrap();
    let own = fs::read_to_string(mine.join("own-topology.toml")).unwrap();
    let sizes =
        own.replace("kind = \"exponential\", mean = \"100 KB\"", "kind = \"cdf\", file = \"sizes.txt\"");
    let (topology, rest) = own.split_once("[workload]").unwrap();
    let (_, scheme) = rest.split_once("[scheme]").unwrap();
    let flows = format!("{topology}[workload]\nfile = \"flows.txt\"\nformat = \"hpcc\"\n[scheme]{scheme}");
    let search = format!(
        "{sizes}\n[search]\nkey = \"workload.flows\"\nrange = [0, 2]\nof = \"fct\"\nat_least = 0.0\n"
    );
    for (name, text) in [("own", &own), ("sizes", &sizes), ("flows", &flows), ("search", &search)] {
        fs::write(mine.join(name).with_extension("toml"), text).unwrap();
        let first = done(folder.path(), &format!("run mine/{name}.toml"));
        let elsewhere = tempfile::tempdir().unwrap();
        let out = folder.path().join("out").join(name);
        let again = done(elsewhere.path(), &format!("run {}/experiment.toml", out.display()));
        if name == "search" {
            assert_eq!(again, first);
            continue;
        }
        assert_eq!((&again["digest"], &again["inputs"]), (&first["digest"], &first["inputs"]), "{name}");
        let folder_of = |run: &Path| {
            let text = fs::read_to_string(run.join("experiment.toml")).unwrap();
            text.lines().find(|line| line.starts_with("folder = ")).map(str::to_owned)
        };
        let from_inside = done(&mine, &format!("run ../mine/{name}.toml --out {name}"));
        assert_eq!(from_inside["digest"], first["digest"], "{name}");
        assert_eq!(folder_of(&mine.join(name)), folder_of(&out), "{name}: another current folder");
        let report = raddle(elsewhere.path(), &format!("report {}", out.display()));
        assert!(report.status.success(), "{name}: {}", String::from_utf8_lossy(&report.stderr));
    }
}
