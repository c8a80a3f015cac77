//! Tests of experiments on the flow engine. The flow engine writes the same records as the packet engine. It
//! refuses unsupported features with a clear error.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::{Document, Problem};
use raddle_lab::run::run;
use raddle_lab::{Control, Outcome, Threads};
use raddle_records::FlowRecord;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const CLOS: &str = r#"[topology]
kind = "fat_tree"
k = 4
link_rate = "10 Gbps"
link_delay = "1 us"

[workload]
arrivals = { kind = "poisson", mean_gap = "10 us" }
sizes = { kind = "exponential", mean = "100 KB" }
pairs = "uniform"
flows = 100

[scheme]
transport = "tcp-newreno"
queue = { kind = "fifo", packets = 100 }

[engine]
kind = "flow"
"#;

fn document(overrides: &[&str]) -> Document {
    let document = Document::parse("clos.toml", CLOS.to_owned(), PathBuf::new()).unwrap();
    document.with_overrides(overrides.iter().copied()).unwrap()
}

fn outcome(overrides: &[&str]) -> (Outcome, Vec<FlowRecord>) {
    let mut flows = Vec::new();
    let mut take = |flow: &FlowRecord| {
        flows.push(*flow);
        Ok(())
    };
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(2) };
    let outcome = run(document(overrides).prepare().unwrap(), &mut take, control).unwrap();
    flows.sort_by_key(|flow| flow.id);
    (outcome, flows)
}

fn problem(overrides: &[&str]) -> Problem {
    document(overrides).prepare().err().unwrap()
}

#[test]
fn a_seed_has_one_digest_and_another_seed_another() {
    let digest = |seed: &str| outcome(&[seed]).0.digest;
    assert_eq!(digest("engine.seed=1"), digest("engine.seed=1"));
    assert_ne!(digest("engine.seed=1"), digest("engine.seed=2"));
}

#[test]
fn fluids_leave_the_records_of_packets() {
    let unbounded = "scheme.queue={ kind = \"fifo\" }";
    let (fluid, flows) = outcome(&[unbounded]);
    let (packet, same) = outcome(&[unbounded, "engine.kind=packet"]);
    let offered = |flows: &[FlowRecord]| -> Vec<_> {
        flows
            .iter()
            .map(|flow| (flow.src, flow.dst, flow.size_bytes, flow.start_ps, flow.ideal_fct_ps))
            .collect()
    };
    assert_eq!(offered(&flows), offered(&same));
    assert_eq!((fluid.delivered, fluid.unmatched, fluid.complete), (100, 0, true));
    // The flow engine must not complete a flow faster than the flow's ideal completion time.
    assert!(flows.iter().all(|flow| flow.slowdown().unwrap() > 1.0 - 1e-6));
    assert!(flows.iter().all(|flow| flow.sender_done_ps > flow.fct_ps), "acknowledgements come back");
    // The packet engine drops no packet, so both engines send the same packets over the same links.
    let bytes = |outcome: &Outcome| outcome.links.iter().map(|link| link.data_bytes).collect::<Vec<_>>();
    assert_eq!(packet.totals.drops.total(), 0);
    assert_eq!(bytes(&fluid), bytes(&packet));
    assert_eq!(fluid.totals.data, packet.totals.data);
}

#[test]
fn what_only_packets_have_is_refused_by_its_key() {
    for (keys, words) in [
        (&["record.queues=true"][..], "queue"),
        (&["record.queue_lengths=1 us"], "queue"),
        (&["record.throughput=1 ms"], "no packet arrivals"),
        (&["record.imbalance=1 ms"], "does not measure imbalance"),
        (&["record.pcap=all"], "no packets"),
        (&["scheme.transport=udp"], "`udp` has no fluid model"),
        (&["engine.kind=packet", "engine.grid=1 ms"], "only the flow engine"),
    ] {
        let problem = problem(keys);
        assert!(problem.to_string().contains(words), "{keys:?}: {problem}");
    }
}

#[test]
fn a_coarse_grid_makes_flows_wait() {
    let mean = |overrides: &[&str]| {
        let (_, flows) = outcome(overrides);
        flows.iter().map(|flow| flow.fct_ps.unwrap()).sum::<u64>() / 100
    };
    let (exact, coarse) = (mean(&[]), mean(&["engine.grid=1 ms"]));
    assert!(coarse > exact + 400_000_000, "{coarse} ps and {exact} ps");
}
