//! `raddle report`.

use super::directories::SMALL;
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
