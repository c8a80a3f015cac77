//! Replays complete traces of real programs, recorded from the NAS Parallel Benchmarks.
//!
//! The traces are GOAL text, compressed with zstd. They are not part of this repository, so the tests are
//! ignored by default. To run the tests: `RADDLE_TRACES=FOLDER cargo test -p raddle-lab --test
//! recorded_traces -- --include-ignored`. Add `--release`, since the tests are slow without it.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Outcome, Threads};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Replays a trace on one switch. Large packets keep the number of packets small.
fn replay(name: &str) -> Outcome {
    let hosts = name.rsplit('.').next().unwrap();
    let text = format!(
        "[topology]\nkind = \"single_switch\"\nhosts = {hosts}\nlink_rate = \"10 Gbps\"\nlink_delay = \"50 ns\"\n\
         [workload]\ngoal = \"{name}.goal.zst\"\n[scheme]\ntransport = \"udp\"\nudp = {{ payload = \"8956 B\" }}\n"
    );
    let folder = std::env::var_os("RADDLE_TRACES").expect("RADDLE_TRACES is the folder of the traces");
    let document = Document::parse("trace.toml", text, PathBuf::from(folder)).unwrap();
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(1) };
    run(document.prepare().unwrap(), &mut |_| Ok(()), control).unwrap()
}

/// Replays a trace. Checks that its ranks send `messages` messages with `megabytes` MB in total.
fn comes_to_its_end(name: &str, messages: u64, megabytes: u64) {
    let outcome = replay(name);
    let makespan = outcome.makespan_ps().expect("all ranks have finished");
    assert!(
        outcome.ranks.iter().all(|rank| rank.computed_ps <= makespan),
        "each rank computes on one stream"
    );
    let sent: u64 = outcome.ranks.iter().map(|rank| rank.sent_messages).sum();
    let bytes: u64 = outcome.ranks.iter().map(|rank| rank.sent_bytes).sum();
    assert_eq!((sent, (bytes + 500_000) / 1_000_000), (messages, megabytes));
    assert_eq!((outcome.delivered, outcome.unmatched, outcome.totals.drops.total()), (outcome.flows, 0, 0));
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn bt_on_64_ranks() {
    comes_to_its_end("bt.A.64", 20_793, 279);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn bt_on_121_ranks() {
    comes_to_its_end("bt.A.121", 52_172, 357);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn cg_on_64_ranks() {
    comes_to_its_end("cg.B.64", 51_006, 1_498);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn cg_on_128_ranks() {
    comes_to_its_end("cg.B.128", 132_478, 1_873);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn ft_on_64_ranks() {
    comes_to_its_end("ft.B.64", 90_663, 11_627);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn ft_on_128_ranks() {
    comes_to_its_end("ft.B.128", 361_703, 11_719);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn is_on_64_ranks() {
    comes_to_its_end("is.B.64", 93_180, 1_471);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn is_on_128_ranks() {
    comes_to_its_end("is.B.128", 367_996, 1_506);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn mg_on_64_ranks() {
    comes_to_its_end("mg.B.64", 79_896, 316);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn mg_on_128_ranks() {
    comes_to_its_end("mg.B.128", 165_912, 427);
}
