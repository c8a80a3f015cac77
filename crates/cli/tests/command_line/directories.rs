//! Tests of the directories that hold results. No result is lost or mixed with another result. Only complete results of
//! the same inputs count as finished.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(clippy::disallowed_methods, reason = "processes are killed at instants of a real clock")]
#![expect(clippy::print_stderr, reason = "a test says why it did nothing")]

use crate::shell::{SWEEP, command_of, names};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const SMALL: &str = r#"[topology]
kind = "torus"
dims = [3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "2 us" }
sizes = { kind = "cdf", file = "sizes.txt" }
pairs = "uniform"
flows = 30

[scheme]
transport = "r2c2"
"#;

/// A terminal width that is large enough for every message to fit on one line.
const COLUMNS: &str = "400";

/// Creates a folder with `small.toml`, a sweep of it, and the file of sizes that both use.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    fs::write(folder.path().join("swept.toml"), format!("{SMALL}{SWEEP}")).unwrap();
    write_sizes(folder.path(), 2_000);
    folder
}

fn write_sizes(folder: &Path, largest: u32) {
    fs::write(folder.join("sizes.txt"), format!("1000 0\n{largest} 100\n")).unwrap();
}

fn command(folder: &Path, arguments: &str) -> Command {
    command_of(env!("CARGO_BIN_EXE_raddle"), folder, arguments, COLUMNS)
}

fn raddle(folder: &Path, arguments: &str) -> Output {
    command(folder, arguments).output().unwrap()
}

/// Runs a command that must succeed. Returns its text on stderr.
pub(crate) fn done(folder: &Path, arguments: &str) -> String {
    let output = raddle(folder, arguments);
    assert!(output.status.success(), "{arguments}: {}", told(&output));
    told(&output)
}

/// Runs a command that must be refused. Returns its text on stderr.
fn refused(folder: &Path, arguments: &str) -> String {
    let output = raddle(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {}", told(&output));
    told(&output)
}

/// The text on stderr, on one line and without the frames of error messages.
pub(crate) fn told(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    words.split_whitespace().filter(|word| !matches!(*word, "│" | "×")).collect::<Vec<_>>().join(" ")
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Returns the seed of the run in a directory, after checking the files of the run against its manifest.
fn seed_of_whole(directory: &Path) -> u64 {
    let manifest = json(&directory.join("manifest.json"));
    let files = manifest["files"].as_object().unwrap();
    for (name, digest) in files {
        let found = Sha256::digest(fs::read(directory.join(name)).unwrap());
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, &found, "{name}");
    }
    assert!(files.contains_key("flows.parquet") && files.contains_key("log.txt"), "{files:?}");
    json(&directory.join("summary.json"))["seed"].as_u64().unwrap()
}

/// The time at which the run in a directory was written.
fn written(directory: &Path) -> std::time::SystemTime {
    fs::metadata(directory.join("log.txt")).unwrap().modified().unwrap()
}

/// Waits until `folder` has an entry whose name begins with `prefix`, such as the temporary folder of a run. Returns
/// the name of the entry.
pub(crate) fn begun(folder: &Path, prefix: &str) -> String {
    let since = Instant::now();
    loop {
        if let Some(name) = names(folder).into_iter().find(|name| name.starts_with(prefix)) {
            return name;
        }
        assert!(since.elapsed() < Duration::from_mins(1), "no {prefix} in {:?}", names(folder));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts a run that takes longer than any test. Waits until the run has begun to write.
fn long_run(folder: &Path, out: &str) -> Child {
    let running = format!("run small.toml --set workload.flows=1_000_000 --out {out}");
    let child = command(folder, &running).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    begun(folder, &format!(".{out}.part-"));
    child
}

#[test]
fn a_directory_may_be_named_with_a_slash_or_a_dot_at_its_end() {
    let folder = folder();
    for out in ["d", "d/", "d/.", "./d//", "d/../d/"] {
        for command in ["run", "live"] {
            done(folder.path(), &format!("{command} small.toml --force --out {out}"));
            assert_eq!(seed_of_whole(&folder.path().join("d")), 1, "{command} --out {out}");
            assert_eq!(
                names(folder.path()),
                ["d", "sizes.txt", "small.toml", "swept.toml"],
                "{command} --out {out}"
            );
        }
    }
    done(folder.path(), "sweep swept.toml --out d2/");
    assert_eq!(names(&folder.path().join("d2")), ["r2c2", "sweep_results", "tcp"]);
}

#[test]
fn a_directory_that_cannot_be_replaced_is_refused_before_anything_runs() {
    let folder = folder();
    let here = names(folder.path());
    for out in [".", "..", "./", "../.", "/", "small.toml", "nowhere/.."] {
        for command in ["run small.toml", "live small.toml", "run small.toml --force"] {
            let told = refused(folder.path(), &format!("{command} --out {out}"));
            assert!(told.contains("results cannot be written to"), "{told}");
        }
        assert_eq!(names(folder.path()), here, "--out {out}");
    }
    // A sweep may use the current directory: it adds its files, and removes no other file.
    done(folder.path(), "sweep swept.toml --out .");
    assert_eq!(
        names(folder.path()),
        ["r2c2", "sizes.txt", "small.toml", "sweep_results", "swept.toml", "tcp"]
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_a_directory_stays_a_link() {
    let folder = folder();
    fs::create_dir(folder.path().join("disk")).unwrap();
    std::os::unix::fs::symlink("disk/runs", folder.path().join("link")).unwrap();
    assert!(
        refused(folder.path(), "run small.toml --out link")
            .contains("a symbolic link whose target does not exist")
    );
    fs::create_dir(folder.path().join("disk/runs")).unwrap();
    done(folder.path(), "run small.toml --out link");
    done(folder.path(), "run small.toml --out link/");
    assert_eq!(seed_of_whole(&folder.path().join("disk/runs")), 1);
    assert!(fs::symlink_metadata(folder.path().join("link")).unwrap().is_symlink());
    assert_eq!(names(&folder.path().join("disk")), ["runs"]);
}

#[test]
fn no_label_of_a_sweep_leaves_its_directory() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("out/thesis")).unwrap();
    fs::write(folder.path().join("out/thesis/thesis.tex"), "x").unwrap();
    for label in ["..", ".", ".hidden", "../..", &"x".repeat(201)] {
        let sweep = SWEEP.replace("\"TCP\"", &format!("\"{label}\""));
        fs::write(folder.path().join("bad.toml"), format!("{SMALL}{sweep}")).unwrap();
        for command in ["sweep bad.toml", "sweep bad.toml --force --out out"] {
            let told = refused(folder.path(), command);
            assert!(told.contains("cannot be the folder name of a run"), "{told}");
            assert_eq!(names(&folder.path().join("out")), ["thesis"], "{label}");
        }
    }
    assert_eq!(names(&folder.path().join("out/thesis")), ["thesis.tex"]);
}

#[test]
fn only_the_same_experiment_is_replaced() {
    let folder = folder();
    let d = folder.path().join("d");
    done(folder.path(), "run small.toml --out d");
    done(folder.path(), "run small.toml --out d");
    for other in ["--seed 2", "--set workload.flows=31", "--engine lockstep"] {
        let told = refused(folder.path(), &format!("run small.toml --out d {other}"));
        assert!(told.contains("d already exists and holds a run of another experiment"), "{told}");
        assert!(told.contains("--force"), "{told}");
    }
    assert_eq!(seed_of_whole(&d), 1);
    done(folder.path(), "run small.toml --out d --seed 2 --force");
    assert_eq!(seed_of_whole(&d), 2);
    assert_eq!(names(folder.path()), ["d", "sizes.txt", "small.toml", "swept.toml"]);
    let manifest = fs::read_to_string(d.join("manifest.json")).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    fs::write(d.join("manifest.json"), manifest.replace(&version, "\"version\": \"0.0.9\"")).unwrap();
    let told = refused(folder.path(), "run small.toml --out d --seed 2");
    assert!(told.contains("holds a run from Raddle 0.0.9"), "{told}");
}

#[test]
fn a_run_and_a_sweep_do_not_share_a_folder() {
    let folder = folder();
    done(folder.path(), "run small.toml --out d");
    let told = refused(folder.path(), "sweep swept.toml --out d");
    assert!(told.contains("d holds a run, and a sweep needs a folder of its own"), "{told}");
    done(folder.path(), "sweep swept.toml --out s");
    let told = refused(folder.path(), "run small.toml --out s");
    assert!(told.contains("s already exists and holds a sweep, not a run"), "{told}");
}

#[test]
fn files_that_raddle_did_not_write_are_never_deleted() {
    let folder = folder();
    let d = folder.path().join("d");
    let kept = |name: &str, words: &str, command: &str| {
        let told = refused(folder.path(), "run small.toml --out d");
        assert!(told.contains(name), "{told}");
        let told = done(folder.path(), command);
        let old = names(folder.path()).into_iter().find(|name| name.starts_with("d.old-")).unwrap();
        assert!(
            told.contains(&format!("was renamed to {old}")) || told.contains(&format!("/{old}")),
            "{told}"
        );
        assert_eq!(fs::read_to_string(folder.path().join(&old).join(name)).unwrap(), words);
        assert_eq!(seed_of_whole(&d), 1);
        fs::remove_dir_all(folder.path().join(old)).unwrap();
    };
    // The run must not delete these entries: a directory that is not a run, a user's file in a run, and a file that the
    // user has changed.
    fs::create_dir(&d).unwrap();
    fs::write(d.join("thesis.tex"), "x").unwrap();
    let told = refused(folder.path(), "run small.toml --out d");
    assert!(told.contains("Raddle may not have written it"), "{told}");
    done(folder.path(), "run small.toml --out d --force");
    let old = names(folder.path()).into_iter().find(|name| name.starts_with("d.old-")).unwrap();
    assert_eq!(names(&folder.path().join(&old)), ["thesis.tex"]);
    fs::remove_dir_all(folder.path().join(old)).unwrap();
    fs::write(d.join("notes.txt"), "mine").unwrap();
    kept("notes.txt", "mine", "run small.toml --out d --force");
    fs::write(d.join("experiment.toml"), "mine").unwrap();
    kept("experiment.toml", "mine", "run small.toml --out d --force");
    assert_eq!(names(folder.path()), ["d", "sizes.txt", "small.toml", "swept.toml"]);
    // A run is also refused if its directory contains an empty folder of the user.
    fs::create_dir(d.join("pictures")).unwrap();
    assert!(refused(folder.path(), "run small.toml --out d").contains("pictures"));
}

#[test]
fn a_sweep_runs_again_only_what_changed() {
    let folder = folder();
    let cells = ["r2c2", "tcp"].map(|cell| folder.path().join("out/swept").join(cell));
    let when = || cells.clone().map(|cell| written(&cell));
    done(folder.path(), "sweep swept.toml");
    let first = when();
    done(folder.path(), "sweep swept.toml");
    assert_eq!(when(), first);
    // A user's notes in the folder of a finished run do not make the run unfinished.
    fs::write(cells[0].join("notes.txt"), "mine").unwrap();
    done(folder.path(), "sweep swept.toml");
    assert_eq!(when(), first);
    fs::remove_file(cells[0].join("notes.txt")).unwrap();
    // A run whose input file has changed is not finished.
    write_sizes(folder.path(), 3_000);
    done(folder.path(), "sweep swept.toml");
    let second = when();
    assert!(second[0] > first[0] && second[1] > first[1]);
    assert_eq!(names(&folder.path().join("out/swept")), ["r2c2", "sweep_results", "tcp"]);
    // A run without one of its tables is not finished.
    fs::remove_file(cells[1].join("links.parquet")).unwrap();
    done(folder.path(), "sweep swept.toml");
    let third = when();
    assert!(third[0] == second[0] && third[1] > second[1]);
    // A run with a damaged table is not finished. One bit of the table is flipped, or its second half is missing.
    let flows = cells[0].join("flows.parquet");
    let whole = fs::read(&flows).unwrap();
    let mut bit = whole.clone();
    bit[whole.len() / 2] ^= 1;
    for damaged in [&bit[..], &whole[..whole.len() / 2]] {
        fs::write(&flows, damaged).unwrap();
        let told = done(folder.path(), "sweep swept.toml");
        assert_eq!(fs::read(&flows).unwrap(), whole);
        let all = names(&folder.path().join("out/swept"));
        let old = all.iter().find(|name| name.starts_with("r2c2.old-")).unwrap();
        assert!(told.contains(old.as_str()), "{told}");
        fs::remove_dir_all(folder.path().join("out/swept").join(old)).unwrap();
    }
    let fourth = when();
    assert!(fourth[0] > third[0] && fourth[1] == third[1]);
    // A different experiment is refused before any cell runs.
    let told = refused(folder.path(), "sweep swept.toml --seed 7");
    assert!(told.contains("another experiment"), "{told}");
    assert_eq!(when(), fourth);
}

#[test]
fn a_sweep_runs_again_when_the_program_changed() {
    let folder = folder();
    let cell = folder.path().join("out/swept/tcp");
    done(folder.path(), "sweep swept.toml");
    let first = written(&cell);
    let other = folder.path().join("raddle");
    let mut program = fs::read(env!("CARGO_BIN_EXE_raddle")).unwrap();
    program.push(0);
    fs::copy(env!("CARGO_BIN_EXE_raddle"), &other).unwrap();
    fs::write(&other, program).unwrap();
    let output = command_of(&other, folder.path(), "sweep swept.toml", COLUMNS).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(written(&cell) > first);
    let second = json(&cell.join("summary.json"))["inputs"].clone();
    done(folder.path(), "sweep swept.toml");
    assert_ne!(json(&cell.join("summary.json"))["inputs"], second);
}

#[test]
fn a_finished_search_is_found_again_only_if_it_is_whole() {
    let folder = folder();
    let search = "\n[search]\nkey = \"workload.flows\"\nrange = [0, 4]\nof = \"met\"\nat_least = 0.5\n";
    let deadlines = "flows = 30\ndeadlines = { kind = \"fixed\", deadline = \"1 ms\" }";
    let text = SMALL.replace("flows = 30", deadlines) + search;
    fs::write(folder.path().join("search.toml"), text).unwrap();
    done(folder.path(), "run search.toml --out d");
    let found = folder.path().join("d/search.json");
    let when = || fs::metadata(&found).unwrap().modified().unwrap();
    let first = when();
    done(folder.path(), "run search.toml --out d");
    assert_eq!(when(), first);
    write_sizes(folder.path(), 3_000);
    done(folder.path(), "run search.toml --out d");
    assert!(when() > first);
}

#[cfg(unix)]
#[test]
fn one_process_writes_a_directory_and_the_next_one_tidies_up() {
    let folder = folder();
    let mut first = long_run(folder.path(), "d");
    let told = refused(folder.path(), "run small.toml --out d");
    assert!(told.contains("another process is writing to d"), "{told}");
    assert!(refused(folder.path(), "run small.toml --out d/ --force").contains("another process"));
    done(folder.path(), "run small.toml --out e");
    first.kill().unwrap();
    first.wait().unwrap();
    let orphan = begun(folder.path(), ".d.part-");
    assert!(folder.path().join(&orphan).join(".raddle-part").exists());
    // Raddle did not make these two folders and must keep them. The name of the first folder does not have Raddle's
    // form. The second folder lacks the file that marks Raddle's folders.
    fs::create_dir(folder.path().join(".d.part-mine")).unwrap();
    fs::create_dir(folder.path().join(".d.part-abcdefghijkl")).unwrap();
    fs::write(folder.path().join(".d.part-abcdefghijkl/thesis.tex"), "x").unwrap();
    done(folder.path(), "run small.toml --out d");
    let left = [".d.part-abcdefghijkl", ".d.part-mine", "d", "e", "sizes.txt", "small.toml", "swept.toml"];
    assert_eq!(names(folder.path()), left);
    // A second sweep is also refused while another sweep writes into the same directory.
    let running = "sweep swept.toml --set workload.flows=1_000_000 --out s --threads 1";
    let mut sweep =
        command(folder.path(), running).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !folder.path().join("s").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    begun(&folder.path().join("s"), ".r2c2.part-");
    assert!(refused(folder.path(), "sweep swept.toml --out s").contains("another process is writing to s"));
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    done(folder.path(), "sweep swept.toml --out s");
    assert_eq!(names(&folder.path().join("s")), ["r2c2", "sweep_results", "tcp"]);
}

#[cfg(unix)]
#[test]
fn a_directory_that_somebody_made_meanwhile_is_not_replaced() {
    let folder = folder();
    let running = long_run(folder.path(), "d");
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/thesis.tex"), "x").unwrap();
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert_eq!(names(&folder.path().join("d")), ["thesis.tex"]);
    let new = names(folder.path()).into_iter().find(|name| name.starts_with("d.new-")).unwrap();
    assert!(told(&output).contains(&new), "{}", told(&output));
    assert_eq!(seed_of_whole(&folder.path().join(new)), 1);
}

#[cfg(unix)]
#[test]
fn a_partial_run_does_not_replace_a_complete_one() {
    let folder = folder();
    let d = folder.path().join("d");
    let flows = "--set workload.flows=10_000 --threads 1";
    done(folder.path(), &format!("run small.toml {flows} --out d"));
    let first = written(&d);
    // Interrupts the run this long after the run has created its folder.
    let interrupted_after = |wait: u64| {
        let running = format!("run small.toml {flows} --out d");
        let running =
            command(folder.path(), &running).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        begun(folder.path(), ".d.part-");
        std::thread::sleep(Duration::from_millis(wait));
        assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
        running.wait_with_output().unwrap()
    };
    // A run that is interrupted during its set-up has no partial results, and exits with 130.
    let waits = (0..10).map(|i| 50 * i);
    let output = waits.map(interrupted_after).find(|output| output.status.code() != Some(130)).unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("so they do not replace the complete results"), "{}", told(&output));
    assert_eq!((seed_of_whole(&d), written(&d)), (1, first));
    assert_eq!(json(&d.join("summary.json"))["complete"], true);
}

#[cfg(unix)]
#[test]
fn a_figure_that_is_interrupted_goes_on_where_it_was() {
    let folder = folder();
    let write = |flows: u32| {
        let sweep = format!(
            "\n[[sweep]]\nname = \"flows\"\nkey = \"workload.flows\"\nvalues = [30, 40]\n\n\
             [[sweep]]\nname = \"length\"\nvalues = [{{ label = \"short\", set = {{}} }}, \
             {{ label = \"long\", set = {{ \"workload.flows\" = {flows} }} }}]\n"
        );
        let head = "[figure]\npaper = \"mine\"\nnumber = \"1\"\ntitle = \"Mine\"\n\n";
        fs::write(folder.path().join("mine.toml"), [head, SMALL, &sweep].concat()).unwrap();
    };
    let own = folder.path().join("out/reproduce/own");
    let unfinished = own.join("mine.quick.unfinished");
    let under_way = || {
        let names = if unfinished.exists() { names(&unfinished) } else { Vec::new() };
        names.into_iter().find(|name| name.starts_with(".30-long.part-"))
    };
    let interrupted = |signal: &str| {
        let before = under_way(); // the folder that a killed process has left, if any
        let arguments = "reproduce mine.toml --threads 1";
        let running = command(folder.path(), arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let running = running.unwrap();
        let since = Instant::now();
        while under_way().is_none_or(|name| Some(name) == before) {
            assert!(since.elapsed() < Duration::from_mins(1), "no run is under way");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap().success());
        running.wait_with_output().unwrap()
    };
    write(1_000_000);
    interrupted("-KILL");
    assert!(!own.join("mine").exists());
    let first = written(&unfinished.join("30-short"));
    // The finished run is kept, and the killed run begins again. This time Ctrl-C interrupts the command.
    let output = interrupted("-INT");
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    assert!(
        told(&output).contains("mine.quick.unfinished; repeat the command to continue"),
        "{}",
        told(&output)
    );
    // A run of an earlier version of the figure is replaced.
    write(50);
    done(folder.path(), "reproduce mine.toml");
    assert_eq!(names(&own), ["mine"]);
    let runs = own.join("mine/runs");
    assert_eq!(names(&runs), ["30-long", "30-short", "40-long", "40-short"]);
    assert_eq!(written(&runs.join("30-short")), first, "the run must be kept");
    assert_eq!(json(&runs.join("30-long/summary.json"))["flows"], 50);
    // If a figure is already complete, the command writes its runs again, as copies of the earlier runs.
    done(folder.path(), "reproduce mine.toml");
    assert!(written(&runs.join("30-short")) > first);
}

#[test]
fn a_figure_replaces_only_its_own() {
    let folder = folder();
    let figure =
        "[figure]\npaper = \"mine\"\nnumber = \"1\"\ntitle = \"Mine\"\n\n".to_owned() + SMALL + SWEEP;
    fs::write(folder.path().join("mine.toml"), &figure).unwrap();
    let own = folder.path().join("out/reproduce/own");
    done(folder.path(), "reproduce mine.toml");
    done(folder.path(), "reproduce mine.toml");
    assert_eq!(names(&own), ["mine"]);
    assert_eq!(names(&own.join("mine/runs")), ["r2c2", "tcp"]);
    let told = refused(folder.path(), "reproduce mine.toml --scale full");
    assert!(told.contains("holds a figure of another experiment"), "{told}");
    fs::write(own.join("mine/notes.txt"), "mine").unwrap();
    assert!(refused(folder.path(), "reproduce mine.toml").contains("notes.txt"));
    done(folder.path(), "reproduce mine.toml --force");
    let old = names(&own).into_iter().find(|name| name.starts_with("mine.old-")).unwrap();
    assert_eq!(fs::read_to_string(own.join(old).join("notes.txt")).unwrap(), "mine");
    // The name of a folder comes from the name of a file. The folder's name must not lead out of the parent folder.
    fs::write(folder.path().join("...toml"), &figure).unwrap();
    let before = names(&folder.path().join("out/reproduce"));
    assert_eq!(raddle(folder.path(), "reproduce ...toml").status.code(), Some(2));
    assert_eq!(names(&folder.path().join("out/reproduce")), before);
}

/// Kills runs that replace an earlier run. The times of the kills are spread from the middle of a run to a time after
/// its end.
#[test]
fn at_any_instant_of_a_kill_the_earlier_or_the_new_run_is_whole() {
    let folder = folder();
    let d = folder.path().join("d");
    done(folder.path(), "run small.toml --out d --seed 1");
    let begin = Instant::now();
    done(folder.path(), "run small.toml --out d --seed 1");
    let whole = begin.elapsed();
    let kills = 40;
    let mut seeds = [0; 2];
    for kill in 0..kills {
        let seed = 1 + kill % 2;
        let running = format!("run small.toml --quiet --force --out d --seed {seed}");
        let mut child =
            command(folder.path(), &running).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The kills begin in the second half, in which the run writes files and exchanges names.
        std::thread::sleep(whole.mul_f64(0.5 + 0.7 * f64::from(kill) / f64::from(kills)));
        child.kill().unwrap();
        child.wait().unwrap();
        seeds[(seed_of_whole(&d) - 1) as usize] += 1;
    }
    assert!(seeds.iter().all(|&times| times > 0), "{seeds:?}");
    done(folder.path(), "run small.toml --force --out d");
    assert_eq!(names(folder.path()), ["d", "sizes.txt", "small.toml", "swept.toml"]);
}

/// Like the test above, but kills the process at every system call that changes names. Does nothing if `strace` cannot
/// be used on this machine.
#[cfg(target_os = "linux")]
#[test]
fn at_any_change_of_a_name_the_earlier_or_the_new_run_is_whole() {
    let folder = folder();
    let d = folder.path().join("d");
    let strace = |inject: &str| {
        let mut command = Command::new("strace");
        let program = env!("CARGO_BIN_EXE_raddle");
        let run = format!("-f -qq -o /dev/null {inject} {program} run small.toml -q --out d --threads 1");
        command.current_dir(folder.path()).args(run.split_whitespace()).output()
    };
    done(folder.path(), "run small.toml --out d");
    if !strace("-e trace=renameat2").is_ok_and(|output| output.status.success()) {
        eprintln!("strace cannot be used here");
        return;
    }
    let mut kills = 0;
    for call in ["rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir"] {
        for time in 1..100 {
            let inject = format!("-e trace={call} -e inject={call}:signal=KILL:when={time}");
            let output = strace(&inject).unwrap();
            assert_eq!(seed_of_whole(&d), 1, "{call} {time}");
            if output.status.success() {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 10, "{kills} kills");
    done(folder.path(), "run small.toml --out d");
    assert_eq!(names(folder.path()), ["d", "sizes.txt", "small.toml", "swept.toml"]);
}

#[test]
fn pictures_and_tables_replace_a_file_in_one_step() {
    let folder = folder();
    done(folder.path(), "run small.toml --out d");
    for arguments in [
        "compare d d --plot file.svg",
        "compare d d --plot file.png",
        "compare d d --plot file.pdf",
        "select small.toml --set workload.flows=8 --out file.csv",
        "topo convert small.toml file.json",
    ] {
        let file = folder.path().join(arguments.split_whitespace().last().unwrap());
        fs::write(&file, "old").unwrap();
        let open: PathBuf = folder.path().join("open");
        fs::hard_link(&file, &open).unwrap();
        done(folder.path(), arguments);
        assert!(fs::metadata(&file).unwrap().len() > 3, "{arguments}");
        assert_eq!(fs::read_to_string(&open).unwrap(), "old", "{arguments}");
        fs::remove_file(open).unwrap();
        fs::remove_file(file).unwrap();
    }
    assert_eq!(names(folder.path()), ["d", "sizes.txt", "small.toml", "swept.toml"]);
}
