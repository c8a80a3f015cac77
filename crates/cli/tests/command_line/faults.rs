//! Faults around the command: a kill at a system call, a full or read-only file system, several writers, and clocks
//! that jump. In all cases no file of the user is lost, and every directory that has the final name of a result is
//! complete. Once the fault is gone, the same command succeeds and leaves nothing else behind.
//!
//! `RADDLE_KILLS=1000` sets the number of kills and `RADDLE_KILL_SEED` sets the seed of their random choice.
//!
//! The kills need `strace` (`make setup`), and small disks need user namespaces. Without one of them, the tests that
//! need it fail and say so. The variable `RADDLE_NO_STRACE` skips the tests that need `strace`, and
//! `RADDLE_NO_NAMESPACES` skips the tests that need user namespaces. Skipped tests say so.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(clippy::print_stderr, reason = "a test says why it did nothing")]

use crate::directories::{SMALL, done, folder, told};
use crate::shell::{SWEEP, command_of, names};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_raddle");

/// Commands that keep results, and the folder in `out` that each command leaves.
const COMMANDS: [(&str, &str); 3] = [
    ("run small.toml --quiet --threads 1 --out out/d", "d"),
    ("sweep swept.toml --quiet --threads 1 --out out/s", "s"),
    ("reproduce mine.toml --quiet --threads 1 --out out", "own"),
];

/// Creates [`folder`] with a figure in it, and with files of the user in the folders that commands write.
fn folder_of_a_user() -> tempfile::TempDir {
    let folder = folder();
    let head = "[figure]\npaper = \"mine\"\nnumber = \"1\"\ntitle = \"Mine\"\n\n";
    fs::write(folder.path().join("mine.toml"), [head, SMALL, SWEEP].concat()).unwrap();
    fs::create_dir_all(folder.path().join("out/own")).unwrap();
    for place in USERS {
        fs::write(folder.path().join(place), "of the user").unwrap();
    }
    folder
}

const USERS: [&str; 3] = ["notes.txt", "out/notes.txt", "out/own/notes.txt"];

/// The directories that have a manifest, among `folder` and the directories under it. Directories whose names begin
/// with a dot are incomplete and not listed.
fn results(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if folder.join("manifest.json").exists() {
        found.push(folder.to_owned());
    }
    for name in names(folder).into_iter().filter(|name| !name.starts_with('.')) {
        let path = folder.join(name);
        if path.is_dir() {
            found.extend(results(&path));
        }
    }
    found
}

/// Checks each directory of results in `out` against its manifest. Returns the number of directories.
fn check_results(out: &Path, after: &str) -> usize {
    let results = results(out);
    for directory in &results {
        let manifest = fs::read_to_string(directory.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        for (name, digest) in manifest["files"].as_object().unwrap() {
            let file = directory.join(name);
            let content =
                fs::read(&file).unwrap_or_else(|error| panic!("{after}: {}: {error}", file.display()));
            let found: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, &found, "{after}: {}", file.display());
        }
    }
    results.len()
}

/// Calls [`check_results`], and checks that the files of the user still exist.
fn check(folder: &Path, after: &str) {
    for place in USERS {
        assert_eq!(fs::read_to_string(folder.join(place)).unwrap(), "of the user", "{after}: {place}");
    }
    check_results(&folder.join("out"), after);
}

/// For each summary under `folder`: the path of its directory, relative to `folder`, and the value of its field
/// `digest`.
fn digests(folder: &Path) -> Vec<(PathBuf, String)> {
    let digest = |directory: PathBuf| {
        let text = fs::read_to_string(directory.join("summary.json")).ok()?;
        let summary: Value = serde_json::from_str(&text).unwrap();
        let digest = summary["digest"].as_str()?.to_owned();
        Some((directory.strip_prefix(folder).unwrap().to_owned(), digest))
    };
    results(folder).into_iter().filter_map(digest).collect()
}

/// Runs a command under `strace` with these options.
fn traced(folder: &Path, options: &str, command: &str) -> std::io::Result<Output> {
    command_of("strace", folder, &format!("-f -qq {options} {PROGRAM} {command}"), "400").output()
}

/// The names of the system calls in the output of `strace`, for the first thread in that output.
fn calls_of_first_thread(listed: &str) -> Vec<&str> {
    let main = listed.split_whitespace().next().unwrap_or_default();
    let of_main = listed.lines().filter_map(|line| line.strip_prefix(main)?.trim_start().split_once('('));
    // A line that begins with `<...` continues a call. A line with `+++` or `---` is not a call.
    of_main
        .map(|(name, _)| name)
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect()
}

/// A small random-number generator, SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Returns true if the environment variable is set. In this case, first prints that the test is skipped.
fn left_out(variable: &str) -> bool {
    let set = std::env::var_os(variable).is_some();
    if set {
        eprintln!("NOT RUN: {variable} is set");
    }
    set
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Kills each command repeatedly at a random system call, most often at a call that concerns files.
#[cfg(target_os = "linux")]
#[test]
fn no_kill_at_a_system_call_loses_or_spoils_anything() {
    const CHANGES: &str = "%file,write,pwrite64,fsync,fdatasync,ftruncate,close,flock,copy_file_range";
    let (kills, mut state) = (variable("RADDLE_KILLS", 24), variable("RADDLE_KILL_SEED", 1));
    let folder = folder_of_a_user();
    let folder = folder.path();
    if left_out("RADDLE_NO_STRACE") {
        return;
    }
    let works = traced(folder, "-o /dev/null -e trace=none", "--version");
    assert!(
        works.as_ref().is_ok_and(|run| run.status.success()),
        "strace does not work here (`make setup` installs it; RADDLE_NO_STRACE=1 leaves this test out): {works:?}"
    );
    let mut killed = 0;
    for kill in 0..kills {
        let (command, _) = COMMANDS[kill as usize % COMMANDS.len()];
        let begun = kill / COMMANDS.len() as u64;
        // Every command runs several times. Every second time, the results in `out` stay, and the command replaces
        // them.
        if begun.is_multiple_of(2) {
            fs::remove_dir_all(folder.join("out")).unwrap();
            fs::create_dir_all(folder.join("out/own")).unwrap();
            USERS.iter().for_each(|place| fs::write(folder.join(place), "of the user").unwrap());
        }
        let calls = match random(&mut state) % 4 {
            0 => "all",
            _ => CHANGES,
        };
        let count = format!("-o calls -e trace={calls}");
        // The number of calls depends on the existing files, so the calls are counted in a copy of the folder.
        let copy = tempfile::tempdir().unwrap();
        let copied = Command::new("cp").arg("-a").arg(folder).arg(copy.path().join("copy")).status().unwrap();
        assert!(copied.success());
        traced(&copy.path().join("copy"), &count, command).unwrap();
        let text = fs::read_to_string(copy.path().join("copy/calls")).unwrap();
        let all = calls_of_first_thread(&text);
        let chosen = random(&mut state) as usize % all.len();
        let name = all[chosen];
        // `strace` counts the calls of each name separately.
        let at = all[..=chosen].iter().filter(|&&other| other == name).count();
        let options = format!("-o /dev/null -e trace={name} -e inject={name}:signal=KILL:when={at}");
        let after = format!("kill {kill} of `{command}` at {name} {at}, call {chosen} of {}", all.len());
        let output = traced(folder, &options, command).unwrap();
        killed += u64::from(!output.status.success());
        check(folder, &after);
        // In one of three cases, the same command continues from this state.
        if random(&mut state).is_multiple_of(3) {
            done(folder, command);
            check(folder, &after);
        }
    }
    assert!(killed * 2 > kills, "{killed} of {kills} runs were killed");
    let whole = folder_of_a_user();
    for (command, left) in COMMANDS {
        done(folder, command);
        done(whole.path(), command);
        let found = names(&folder.join("out"));
        assert!(found.iter().any(|name| name == left), "{found:?}");
    }
    check(folder, "the end");
    assert_eq!(names(&folder.join("out")), names(&whole.path().join("out")));
    assert_eq!(names(&folder.join("out/own")), names(&whole.path().join("out/own")));
    assert_eq!(digests(&folder.join("out")), digests(&whole.path().join("out")));
}

/// Runs a script in a namespace in which `folder/t` is a file system of this size, such as `2M`. Returns `None` if the
/// test is skipped.
#[cfg(target_os = "linux")]
fn on_small_disk(folder: &Path, size: &str, script: &str) -> Option<Output> {
    if left_out("RADDLE_NO_NAMESPACES") {
        return None;
    }
    fs::create_dir_all(folder.join("t")).unwrap();
    let mount = format!("mount -t tmpfs -o size={size} tmpfs t");
    let within = |script: &str| {
        let script = format!("{mount} && {{ {script}\n}}");
        let mut command = Command::new("unshare");
        command.current_dir(folder).args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        command.env("NO_COLOR", "1").env("RADDLE", PROGRAM).output()
    };
    let works = within("true");
    assert!(
        works.as_ref().is_ok_and(|output| output.status.success()),
        "no file system can be mounted here (RADDLE_NO_NAMESPACES=1 leaves this test out): {works:?}"
    );
    Some(within(script).unwrap())
}

/// For several amounts of free space, a run, a sweep and a figure either succeed or report that the disk is full. In
/// both cases, complete results remain. The same command succeeds once there is more space.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_spoils_nothing() {
    let folder = folder_of_a_user();
    let folder = folder.path();
    for (name, command, again) in [
        ("run", "run small.toml --quiet --out t/out/d", "--seed 2 --force"),
        ("sweep", "sweep swept.toml --quiet --out t/out/s", "--seed 2 --force"),
        ("figure", "reproduce mine.toml --quiet --out t/out", "--force"),
    ] {
        let script = format!(
            "mkdir -p t/out\n$RADDLE {command} >/dev/null || exit 90\ncp -a t/out {name}.before\n\
             for left in 0 4 8 16 32 64; do\n\
               rm -f t/fill; cat /dev/zero > t/fill 2>/dev/null; truncate -s -${{left}}K t/fill\n\
               $RADDLE {command} {again} >/dev/null 2>{name}.told.$left; echo $? > {name}.code.$left\n\
               ls -A t/out > {name}.names.$left; cp -a t/out {name}.after.$left\n\
             done\nrm t/fill\n$RADDLE {command} {again} >/dev/null || exit 91\ncp -a t/out {name}.end"
        );
        let Some(output) = on_small_disk(folder, "2M", &script) else { return };
        assert!(output.status.success(), "{name}: {:?} {}", output.status.code(), told(&output));
        let mut full = 0;
        for left in [0, 4, 8, 16, 32, 64] {
            let read = |what: &str| fs::read_to_string(folder.join(format!("{name}.{what}.{left}"))).unwrap();
            let (code, said) = (read("code"), read("told"));
            match code.trim() {
                "0" => {}
                "3" => {
                    assert!(said.contains("No space left on device"), "{name}, {left} KiB: {said}");
                    full += 1;
                }
                _ => panic!("{name}, {left} KiB: {code} {said}"),
            }
            let kept =
                check_results(&folder.join(format!("{name}.after.{left}")), &format!("{name}, {left} KiB"));
            assert!(kept > 0, "{name}, {left} KiB: no results are left");
        }
        assert!(full > 0, "the disk was never full for {name}");
        assert!(check_results(&folder.join(format!("{name}.end")), name) > 0, "{name}");
    }
}

/// On a read-only file system each command reports the error, and existing files do not change.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_disk_is_said_and_spoils_nothing() {
    let folder = folder_of_a_user();
    let folder = folder.path();
    let script = "mkdir t/out\n$RADDLE run small.toml --quiet --out t/out/d >/dev/null || exit 90\n\
                  mount -o remount,ro t\n\
                  $RADDLE run small.toml --quiet --out t/out/d 2>run.told >/dev/null; echo $? > run.code\n\
                  $RADDLE sweep swept.toml --quiet --out t/out/s 2>sweep.told >/dev/null; echo $? > sweep.code\n\
                  $RADDLE reproduce mine.toml --quiet --out t/out 2>figure.told >/dev/null; echo $? > figure.code\n\
                  cp -a t/out after";
    let Some(output) = on_small_disk(folder, "2M", script) else { return };
    assert!(output.status.success(), "{:?} {}", output.status.code(), told(&output));
    for command in ["run", "sweep", "figure"] {
        let read = |what: &str| fs::read_to_string(folder.join(format!("{command}.{what}"))).unwrap();
        assert_eq!(read("code").trim(), "3", "{command}: {}", read("told"));
        assert!(read("told").contains("Read-only file system"), "{command}: {}", read("told"));
    }
    assert_eq!(check_results(&folder.join("after"), "read-only"), 1);
}

/// Several processes write the same directory at the same time. Each process succeeds or is refused, and all files in
/// the directory come from one process.
#[test]
fn several_writers_of_one_directory_leave_one_whole_result() {
    let folder = folder_of_a_user();
    let folder = folder.path();
    for (command, _) in COMMANDS {
        for _ in 0..3 {
            let start = |_| command_of(PROGRAM, folder, command, "400").output();
            let outputs: Vec<Output> = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..4).map(|writer| scope.spawn(move || start(writer))).collect();
                writers.into_iter().map(|writer| writer.join().unwrap().unwrap()).collect()
            });
            for output in &outputs {
                let said = told(output);
                let refused = output.status.code() == Some(2) && said.contains("another process");
                assert!(output.status.success() || refused, "{command}: {:?} {said}", output.status.code());
            }
            assert!(outputs.iter().any(|output| output.status.success()), "{command}");
            check(folder, command);
        }
    }
    let hidden = |name: &String| name.starts_with('.');
    for place in ["out", "out/own"] {
        assert!(!names(&folder.join(place)).iter().any(hidden), "{:?}", names(&folder.join(place)));
    }
}

/// A library for `LD_PRELOAD` that replaces the clocks: the wall clock jumps by years in both directions, and the
/// monotonic clock jumps forward by minutes.
const JUMPING_CLOCKS: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static unsigned calls;
    unsigned call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += call % 2 ? 100000000 : -100000000;
    else if (clock == CLOCK_MONOTONIC)
        now->tv_sec += 60L * call;
    if (now->tv_sec < 0)
        now->tv_sec = 0;
    return failed;
}
";

/// Clocks that jump at each reading change no result of a run, a sweep or a figure, on one or two threads.
#[cfg(target_os = "linux")]
#[test]
fn clocks_that_jump_change_no_result() {
    let library = tempfile::tempdir().unwrap();
    let (source, clocks) = (library.path().join("clocks.c"), library.path().join("clocks.so"));
    fs::write(&source, JUMPING_CLOCKS).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&clocks, &source]).status();
    assert!(compiled.unwrap().success(), "`cc` must compile the clocks (`make setup` installs `cc`)");
    let run = |threads: &str, preload: Option<&Path>| {
        let folder = folder_of_a_user();
        for (command, _) in COMMANDS {
            let command = command.replace("--threads 1", threads);
            let mut command = command_of(PROGRAM, folder.path(), &command, "400");
            let output = command.envs(preload.map(|clocks| ("LD_PRELOAD", clocks))).output().unwrap();
            assert!(output.status.success(), "{}", told(&output));
        }
        check(folder.path(), "clocks that jump");
        digests(&folder.path().join("out"))
    };
    let expected = run("--threads 1", None);
    assert!(expected.len() > COMMANDS.len(), "{expected:?}");
    for threads in ["--threads 1", "--threads 2"] {
        assert_eq!(run(threads, Some(&clocks)), expected, "{threads}");
    }
    let now = Command::new("date").arg("+%s").env("LD_PRELOAD", &clocks).output().unwrap();
    let now: i64 = String::from_utf8(now.stdout).unwrap().trim().parse().unwrap();
    let wall = fs::metadata(&clocks).unwrap().modified().unwrap();
    let wall = wall.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!((now - wall).abs() > 10_000_000, "the clock did not jump: {now}, {wall}");
}
