//! Compares the NAS skeletons with recorded runs: messages and bytes of each pair of ranks in the main loop.
//!
//! The traces are GOAL text, made by a recorder of MPI calls from NAS 3.4 and compressed with zstd. They are not part
//! of this repository, so these tests are ignored by default. To run them: `RADDLE_TRACES=FOLDER cargo test -p
//! raddle-workload --test recorded -- --include-ignored`.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_workload::goal::{Operation, Statement, Trace};
use raddle_workload::mpi::nas::{Bt, Cg, Class, Ft, Is, Mg};
use raddle_workload::mpi::{Communication, Skeleton, Traffic, collectives};
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

/// Allowed relative difference in the traffic of a pair of ranks. All benchmarks except IS match exactly. IS
/// changes two of the first rank's keys in each iteration.
const TOLERANCE: f64 = 0.01;
/// The recorder reserves this many successive tags for the messages of each collective operation.
const TAGS_A_COLLECTIVE: u32 = 1_024;

/// The main loop lies between two collective operations of a trace. The fields are the indices of these operations,
/// from 0.
struct MainLoop {
    after: u32,
    before: u32,
}

/// Returns the traffic of all ranks in the main loop of a trace.
fn recorded(name: &str, main_loop: &MainLoop) -> Traffic {
    let folder = std::env::var_os("RADDLE_TRACES").expect("RADDLE_TRACES is the folder of the traces");
    let file = File::open(Path::new(&folder).join(format!("{name}.goal.zst"))).unwrap();
    let text = zstd::decode_all(file).unwrap();
    let trace = Trace::read(Cursor::new(text), 4_096).unwrap();
    let mut traffic = Traffic::default();
    for rank in 0..trace.ranks() {
        let mut last = None;
        for line in trace.program(rank) {
            let statement = line.unwrap().statement;
            let Statement::Operation { operation, .. } = statement else { continue };
            let (Operation::Send { tag, .. } | Operation::Recv { tag, .. }) = operation else { continue };
            let number = tag.and_then(|tag| tag.checked_sub(collectives::TAGS));
            let collective = number.map(|number| number / TAGS_A_COLLECTIVE);
            last = collective.or(last);
            let begun = last.is_some_and(|last| last >= main_loop.after && last < main_loop.before);
            if begun && collective != Some(main_loop.after) {
                traffic.count(rank, &statement);
            }
        }
    }
    traffic
}

/// Compares a trace's main loop with `iterations` iterations of a skeleton.
fn compare(name: &str, main_loop: &MainLoop, application: impl Communication + 'static, iterations: u32) {
    let skeleton = Skeleton { iterations, ..Skeleton::new(application) };
    let (ours, theirs) = (skeleton.traffic(), recorded(name, main_loop));
    let differences = ours.differences(&theirs, TOLERANCE);
    let few: Vec<_> = differences.iter().take(10).map(ToString::to_string).collect();
    assert!(few.is_empty(), "{name}: {} pairs differ, such as\n{}", differences.len(), few.join("\n"));
    assert!(theirs.total().messages > 10_000, "{name}: {:?}", theirs.total());
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn is_b_64() {
    compare("is.B.64", &MainLoop { after: 3, before: 34 }, Is::new(Class::B, 64).unwrap(), 10);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn is_b_128() {
    compare("is.B.128", &MainLoop { after: 3, before: 34 }, Is::new(Class::B, 128).unwrap(), 10);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn cg_b_64() {
    compare("cg.B.64", &MainLoop { after: 1, before: 2 }, Cg::new(Class::B, 64).unwrap(), 2);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn cg_b_128() {
    compare("cg.B.128", &MainLoop { after: 1, before: 2 }, Cg::new(Class::B, 128).unwrap(), 2);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn mg_b_64() {
    compare("mg.B.64", &MainLoop { after: 96, before: 101 }, Mg::new(Class::B, 64).unwrap(), 4);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn mg_b_128() {
    compare("mg.B.128", &MainLoop { after: 96, before: 101 }, Mg::new(Class::B, 128).unwrap(), 4);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn ft_b_64() {
    compare("ft.B.64", &MainLoop { after: 6, before: 48 }, Ft::new(Class::B, 64).unwrap(), 20);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn ft_b_128() {
    compare("ft.B.128", &MainLoop { after: 6, before: 48 }, Ft::new(Class::B, 128).unwrap(), 20);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn bt_a_64() {
    compare("bt.A.64", &MainLoop { after: 6, before: 7 }, Bt::new(Class::A, 64).unwrap(), 5);
}

#[test]
#[ignore = "needs recorded traces: the folder RADDLE_TRACES"]
fn bt_a_121() {
    compare("bt.A.121", &MainLoop { after: 6, before: 7 }, Bt::new(Class::A, 121).unwrap(), 5);
}
