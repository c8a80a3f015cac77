//! Compares the flow engine with the packet engine, one experiment at a time (docs/src/flow-engine.md).

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::analysis::agree::{Agreement, agree};
use raddle_lab::experiment::Document;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

fn agreement(experiment: &str) -> Agreement {
    let document = Document::parse("world.toml", experiment.to_owned(), PathBuf::new()).unwrap();
    agree(&document, 1, &AtomicBool::new(false), &mut |_, _| ()).unwrap()
}

/// Asserts that the engines' results differ by no more than the experiment allows.
fn assert_agrees(experiment: &str) {
    let agreement = agreement(experiment);
    assert!(agreement.holds(), "{agreement}");
}

#[test]
fn per_flow_queues_on_a_torus() {
    assert_agrees(include_str!("worlds/pfq.toml"));
}

#[test]
fn r2c2_on_a_torus() {
    assert_agrees(include_str!("worlds/r2c2.toml"));
}

#[test]
fn tcp_on_a_bottleneck() {
    assert_agrees(include_str!("worlds/bottleneck.toml"));
}

#[test]
fn tcp_and_ecmp_on_a_fat_tree() {
    assert_agrees(include_str!("worlds/fat_tree.toml"));
}

/// specifications/pdq.md §11: the engines agree within 5 to 10 percent.
#[test]
fn oracle_11_pdq_on_a_bottleneck() {
    assert_agrees(include_str!("worlds/pdq.toml"));
}

/// specifications/pdq.md §11: the mean FCT agrees within 5 to 10 percent.
#[test]
fn oracle_11_rcp_on_a_bottleneck() {
    assert_agrees(include_str!("worlds/rcp.toml"));
}

/// specifications/pdq.md §11: the engines agree within 5 to 10 percent.
#[test]
fn oracle_11_d3_with_deadlines_on_a_bottleneck() {
    assert_agrees(include_str!("worlds/d3.toml"));
}

/// The experiment's file allows the measured differences of FCTs plus a margin. These limits are above the 5 to 10
/// percent of specifications/pdq.md §11.
#[test]
fn pdq_on_bcube() {
    assert_agrees(include_str!("worlds/bcube.toml"));
}

/// The experiment's file allows the measured differences of FCTs plus a margin. Except for the median, these limits are
/// above the 5 to 10 percent of specifications/pdq.md §11.
#[test]
fn pdq_on_jellyfish() {
    assert_agrees(include_str!("worlds/jellyfish.toml"));
}

/// The experiment's file allows the measured differences of FCTs plus a margin. These limits are above the 5 to 10
/// percent of specifications/pdq.md §11.
#[test]
fn multipath_pdq_on_bcube() {
    assert_agrees(include_str!("worlds/multipath.toml"));
}

#[test]
fn lossless_ethernet_on_a_tree() {
    assert_agrees(include_str!("worlds/lossless.toml"));
}

#[test]
fn what_is_too_far_is_said() {
    let world = include_str!("worlds/bottleneck.toml").replace("fct_mean = ", "fct_mean = 0.0 # ");
    let agreement = agreement(&world);
    assert!(!agreement.holds());
    assert!(agreement.to_string().contains("above the limit"), "{agreement}");
    assert_eq!(agreement.json()["ok"], false);
}

#[test]
fn thresholds_that_nobody_knows_are_refused() {
    let world = include_str!("worlds/bottleneck.toml").replace("fct_mean = ", "fct_meen = ");
    let document = Document::parse("world.toml", world, PathBuf::new()).unwrap();
    let error = agree(&document, 1, &AtomicBool::new(false), &mut |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("fct_meen"), "{error}");
}
