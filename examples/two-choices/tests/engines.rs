//! Tests of experiments with the routing "two choices": in the packet engine, in lockstep, and with a packet capture.

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Out, Threads, run_into};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const EXPERIMENT: &str = r#"
[topology]
kind = "folded_clos"
leaves = 4
spines = 4
hosts_per_leaf = 4
link_rate = "10 Gbps"
link_delay = "1 us"

[workload]
arrivals = { kind = "poisson", load = 0.5 }
sizes = { kind = "web_search" }
pairs = "uniform"
flows = 60

[scheme]
transport = "tcp-newreno"
routing = "two-choices"

[scheme.two-choices]
interval = "10 us"
"#;

fn document(overrides: &[&str]) -> Document {
    let document = Document::parse("two-choices", EXPERIMENT.to_owned(), PathBuf::new()).expect("TOML");
    let document = document.with_registry(&Arc::new(two_choices::registry()));
    document.with_overrides(overrides.iter().copied()).expect("overrides")
}

fn control(stop: &AtomicBool, threads: usize) -> Control<'_> {
    Control { stop, progress: Box::leak(Box::new(|_: &_| ())), threads: Threads::Always(threads) }
}

#[test]
fn both_engines_deliver_the_same_flows_at_the_same_times() {
    let stop = AtomicBool::new(false);
    let flows = |engine: &str, threads| {
        let prepared = document(&[engine]).prepare().expect("it fits the fabric");
        let mut flows = Vec::new();
        let mut take = |flow: &raddle_records::FlowRecord| {
            flows.push((flow.id, flow.fct_ps));
            Ok(())
        };
        let outcome = run(prepared, &mut take, control(&stop, threads)).expect("a run");
        assert_eq!(outcome.delivered, 60);
        flows.sort_unstable();
        flows
    };
    let packets = flows("engine.kind=packet", 1);
    assert_eq!(packets, flows("engine.kind=lockstep", 1));
    assert_eq!(packets, flows("engine.kind=packet", 2));
}

#[test]
fn reports_are_in_captures() {
    let (stop, folder) = (AtomicBool::new(false), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("run");
    let prepared = document(&["record.pcap=all"]).prepare().expect("it fits the fabric");
    run_into(prepared, Out::from(&out), "two-choices", control(&stop, 1)).expect("a run");
    let captured = fs::read_dir(folder.path().join("run")).expect("the run's folder");
    let captured = captured.map(|entry| entry.expect("a file").path());
    let captured = captured.filter(|path| path.extension().is_some_and(|end| end == "pcapng"));
    let bytes: Vec<u8> = captured.flat_map(|path| fs::read(path).expect("a capture")).collect();
    // An EtherType for local experiments (88-B6), then the type of extension headers (95), then the number
    // of the report's header (2C-01).
    let report = [0x88, 0xB6, 0x95, 0x2C, 0x01];
    assert!(bytes.windows(report.len()).any(|bytes| bytes == report));
}

#[test]
fn the_figure_that_comes_along_can_be_read() {
    let text = include_str!("../two-choices.toml").to_owned();
    let document = Document::parse("two-choices.toml", text, PathBuf::new()).expect("TOML");
    let document = document.with_registry(&Arc::new(two_choices::registry()));
    for cell in document.cells().expect("a sweep") {
        cell.document.prepare().unwrap_or_else(|problem| panic!("{problem}"));
    }
}
