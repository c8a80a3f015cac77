//! Synthetic traffic as users write it: the flows that an experiment's `[workload]` produces.

use raddle_core::{Bytes, Duration, Flow, Process, Rate, Time};
use raddle_lab::experiment::Document;
use std::path::PathBuf;

fn document(workload: &str) -> Document {
    let text = format!(
        "[topology]\nkind = \"k_ary_n_tree\"\nk = 2\nn = 5\nlink_rate = \"10 Gbps\"\nlink_delay = \"50 ns\"\n\n\
         [workload]\n{workload}\n\n[scheme]\ntransport = \"udp\"\nrouting = \"ecmp\"\n"
    );
    Document::parse("experiment.toml", text, PathBuf::new()).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Returns the flows of a workload on the 2-ary 5-tree. Checks that the resolved experiment gives the same
/// flows.
fn flows(workload: &str) -> Vec<Flow> {
    let document = document(workload);
    let experiment = document.experiment().unwrap_or_else(|problem| panic!("{workload}: {problem}"));
    let topology = experiment.topology.build(1).expect("a tree");
    let flows = experiment.workload.flows(&topology, 1).unwrap_or_else(|problem| panic!("{problem}"));
    let resolved = experiment.resolved.to_string();
    let again = Document::parse("resolved.toml", resolved.clone(), PathBuf::new()).expect("TOML");
    let again = again.experiment().unwrap_or_else(|problem| panic!("{resolved}: {problem}"));
    assert_eq!(again.resolved.to_string(), resolved);
    let flows: Vec<Flow> = flows.iter().collect();
    assert!(again.workload.flows(&topology, 1).expect("the same flows").iter().eq(flows.iter().copied()));
    flows
}

/// Returns the offered load of 32 hosts during `window`, as a share of the total rate of their links.
fn load(flows: &[Flow], window: Duration) -> f64 {
    let bytes: Bytes = flows.iter().map(|flow| flow.size).sum();
    bytes.0 as f64 * 8.0 / window.as_secs_f64() / 32.0 / 10e9
}

#[test]
fn arrivals_of_hosts_on_their_own_offer_their_load() {
    for (kind, mean_frames) in [
        ("kind = \"cbr\"", 1.0),
        ("kind = \"bernoulli\"", 1.0),
        ("kind = \"on_off\", burst = 10", 1.0),
        ("kind = \"bursty\", burst = 10", 10.0),
    ] {
        let flows =
            flows(&format!("arrivals = {{ {kind}, load = 0.6 }}\npairs = \"uniform\"\nduration = \"10 ms\""));
        let load = load(&flows, Duration::from_ms(10));
        assert!((load - 0.6).abs() < 0.01, "{kind}: {load}");
        let frames = flows.iter().map(|flow| flow.size.0).sum::<u64>() as f64 / 1_500.0 / flows.len() as f64;
        assert!((frames - mean_frames).abs() < 0.02 * mean_frames, "{kind}: {frames}");
    }
}

#[test]
fn frames_have_the_size_that_is_asked_for() {
    let flows = flows(
        "arrivals = { kind = \"bernoulli\", load = 0.5, frame = \"256 B\" }\npairs = \"bit_reversal\"\nflows = 100",
    );
    assert!(flows.len() == 100 && flows.iter().all(|flow| flow.size == Bytes(256)));
}

#[test]
fn a_load_is_one_long_flow_a_pair() {
    let flows = flows(
        "pairs = \"bit_reversal\"\nload = 0.9\nduration = \"12 ms\"\nprocess = { kind = \"on_off\", burst = 8 }\npriority = 3",
    );
    assert_eq!(flows.len(), 24, "of 32 hosts 8 are fixed points");
    for flow in flows {
        assert_eq!((flow.start, flow.app_rate), (Time::ZERO, Some(Rate::from_gbps(9))));
        assert_eq!((flow.size, flow.priority), (Bytes(13_500_000), 3));
        assert_eq!(flow.process, Process::OnOff { burst: 8 });
    }
}

/// specifications/cee.md §6.3: a hotspot with all keys set to their default values gives the same flows as
/// `hotspot = {}`.
#[test]
fn oracle_6_3_the_hotspot_written_in_full_is_the_default() {
    let default = flows("hotspot = {}");
    assert_eq!(default.len(), 5);
    let full = flows(
        "hotspot = { type = \"input\", destination = 31, sources = [0, 8, 16, 24], severity = 1.8, start = \"10 ms\", \
         duration = \"20 ms\", victims = [{ src = 1, dst = 30, load = 0.95 }] }\nduration = \"50 ms\"",
    );
    assert_eq!(default, full);
    assert_eq!(default, flows("hotspot = { degree = \"12.5%\" }"));
    assert_eq!(flows("hotspot = { degree = 8, severity = 2, victims = [] }\nprocess = \"poisson\"").len(), 8);
}

/// specifications/cee.md §6.4: an output-generated hotspot consists of one flow. A flow list with this flow
/// gives the same workload.
#[test]
fn oracle_6_4_the_output_generated_hotspot_is_one_flow() {
    let hotspot = flows("hotspot = { type = \"output\" }\nprocess = \"poisson\"");
    let listed = flows(
        "list = [{ src = 0, dst = 4, size = \"56250 KB\", app_rate = \"9 Gbps\", process = \"poisson\" }]",
    );
    assert_eq!(hotspot, listed);
}

#[test]
fn a_hotspot_adds_to_what_pairs_send() {
    let cold = "arrivals = { kind = \"bernoulli\", load = 0.3 }\npairs = \"uniform\"\nduration = \"40 ms\"";
    let (alone, both) = (flows(cold), flows(&format!("{cold}\nhotspot = {{}}")));
    assert_eq!(both.len(), alone.len() + 5);
    assert!(both.windows(2).all(|pair| pair[0].start <= pair[1].start));
    assert!(both.iter().enumerate().all(|(i, flow)| flow.id.index() == i));
    let victim = both.iter().find(|flow| flow.src.0 == 1 && flow.app_rate.is_some()).unwrap();
    assert_eq!(victim.size, Bytes(47_500_000), "9.5 Gbps as long as the workload lasts, 40 ms");
    let permuted = flows("pairs = \"bit_complement\"\nload = 0.5\nduration = \"50 ms\"\nhotspot = {}");
    assert_eq!(permuted.len(), 37);
}
