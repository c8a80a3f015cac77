//! Tests the search on functions and on small runs.

use super::*;
use crate::experiment::Document;

/// Searches for the greatest number up to `last` for which `truth` is true. Returns the result and the numbers that
/// were tried.
fn find(last: u64, truth: impl Fn(u64) -> bool) -> (u64, Vec<u64>) {
    let mut tried = Vec::new();
    let found = greatest(last, |place| {
        tried.push(place);
        Ok::<_, ()>(truth(place))
    });
    (found.unwrap(), tried)
}

#[test]
fn a_search_grows_its_step_and_then_halves_the_interval() {
    assert_eq!(find(64, |place| place <= 10), (10, vec![1, 3, 7, 15, 11, 9, 10]));
    assert_eq!(find(64, |_| false), (0, vec![1]));
    assert_eq!(find(10, |_| true), (10, vec![1, 3, 7, 10]));
}

#[test]
fn the_greatest_that_holds_is_found_in_logarithmically_many_tries() {
    for last in 1..=130_u64 {
        for most in 0..=last {
            let (found, tried) = find(last, |place| place <= most);
            assert_eq!(found, most, "of {last}");
            assert!(tried.len() <= 2 * (last.ilog2() as usize + 1), "{most} of {last}: {tried:?}");
            assert!(tried.iter().all(|place| (1..=last).contains(place)), "{tried:?}");
        }
    }
}

#[test]
fn the_found_value_holds_and_the_next_one_does_not() {
    for pattern in 0..1_u64 << 12 {
        let truth = |place: u64| place == 0 || pattern >> (place - 1) & 1 == 1;
        let (found, _) = find(12, truth);
        assert!(truth(found) && (found == 12 || !truth(found + 1)), "{pattern:b} {found}");
    }
}

/// Flows of 125 KB to one host with a 10 Gbps link. Each flow takes 0.1 ms alone, and all flows have a
/// deadline of 1.05 ms. If all flows share the link, at most ten meet the deadline.
const BURST: &str = r#"
[topology]
kind = "single_switch"
hosts = 5
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "all_at_once", jitter = "1 us" }
sizes = { kind = "fixed", size = "125 KB" }
pairs = { kind = "incast", senders = 4, receiver = 0 }
flows = 1
deadlines = { kind = "fixed", deadline = "1050 us" }

[scheme]
transport = "rcp"
"#;

fn document(search: &str) -> Document {
    Document::parse("test.toml", format!("{BURST}\n[search]\n{search}"), "".into()).expect("TOML")
}

fn found(search: &str) -> Result<Found, Error> {
    let document = document(search);
    let search = Search::read(&document)?.expect("a search");
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| {}, threads: crate::Threads::Always(1) };
    search.run(&document, control)
}

const FLOWS: &str = "key = \"workload.flows\"\nrange = [0, 40]\nof = \"met\"\nat_least = 0.99\n";

#[test]
fn as_many_flows_are_found_as_the_link_carries_in_time() {
    let once = found(FLOWS).expect("a search");
    assert!((3.0..=10.0).contains(&once.value), "{once}");
    assert!(!once.at_end && once.shown == once.value.to_string());
    let next = once.probes.iter().find(|probe| probe.shown == (once.value + 1.0).to_string());
    assert!(next.is_some_and(|probe| !probe.holds), "{once}");
    assert_eq!(found(FLOWS).expect("a search"), once);
    let short = found(&FLOWS.replace("40", "2")).expect("a search");
    assert!(short.at_end && short.remark().is_some() && short.shown == "2", "{short}");
}

#[test]
fn seeds_that_cannot_help_any_more_are_not_run() {
    let found = found(&format!("{FLOWS}seeds = 5\n")).expect("a search");
    let [first, last] = [&found.probes[0], found.probes.last().expect("a probe")];
    assert!(first.holds && first.runs == 5, "{found}");
    let failed = found.probes.iter().find(|probe| !probe.holds).unwrap_or(last);
    assert!(failed.runs < 5, "{found}");
}

#[test]
fn values_may_be_real_and_have_units() {
    let found = found(
        "key = \"topology.link_delay\"\nrange = [0, 2000]\nstep = 0.5\nunit = \"us\"\nof = \"met\"\nat_least = 1\n",
    );
    let found = found.expect("a search");
    assert!(found.shown.ends_with(" us") && (20.0..400.0).contains(&found.value), "{found}");
}

#[test]
fn searches_that_make_no_sense_are_refused() {
    let refused = |search: &str| match Search::read(&document(search)) {
        Err(problem) => problem.to_string(),
        Ok(_) => panic!("{search} passes"),
    };
    assert!(refused(&FLOWS.replace("40", "0")).contains("`range` must have from 1 to 2^32 steps"));
    assert!(refused(&format!("{FLOWS}step = 0\n")).contains("`step` must be greater than 0"));
    assert!(refused(&format!("{FLOWS}seeds = 0\n")).contains("`seeds` must be greater than 0 (got 0)"));
    assert!(refused(&FLOWS.replace("met", "peak_queue")).contains("flows"));
    assert!(refused(&FLOWS.replace("of = \"met\"", "")).contains("`of`"));
    assert!(refused(&format!("{FLOWS}tolerance = 1\n")).contains("tolerance"));
}

#[test]
fn warnings_of_a_search_are_those_that_hold_at_every_value() {
    let warned = |key: &str, table: &str| {
        let text = format!("key = \"{key}\"\nrange = [0, 4]\nof = \"met\"\nat_least = 0.99\n{table}");
        let document = document(&text);
        let search = Search::read(&document).expect("a search").expect("a search");
        let prepared =
            search.document(&document, 1).and_then(|document| document.prepare()).expect("an experiment");
        search.warnings(prepared.warnings).into_iter().map(|warning| warning.lint).collect::<Vec<_>>()
    };
    let unused = "[scheme.pdq]\nsubflows = 2\n";
    assert_eq!(
        warned("workload.flows", unused),
        ["unused"],
        "the warning of few flows is about the searched key"
    );
    assert_eq!(warned("engine.seed", ""), ["samples"]);
}
