//! Experiments for each lint: some cause the warning, and others, most of them just within the limit, cause none.

use super::{Warning, denied};
use crate::experiment::Document;
use std::path::Path;

/// 200 flows of 100 KB in about 4 ms, at a load of one half. The fabric has two leaves with four hosts each.
const SOUND: &str = r#"
[topology]
kind = "folded_clos"
leaves = 2
spines = 4
hosts_per_leaf = 4
link_rate = "10 Gbps"
link_delay = "1 us"

[workload]
arrivals = { kind = "poisson", load = 0.5, exact = true }
sizes = { kind = "fixed", size = "100 KB" }
pairs = "uniform"
flows = 200

[scheme]
transport = "tcp-newreno"
routing = "ecmp"
"#;

const DCTCP: &str = "scheme.transport = dctcp";
const DCQCN: [&str; 4] = [
    "topology.link_rate = 100 Gbps",
    "scheme.transport = dcqcn",
    "scheme.congestion_points = red",
    "scheme.flow_control = pfc",
];

fn warnings_in(folder: &Path, overrides: &[&str]) -> Vec<Warning> {
    let overrides: Vec<String> = overrides.iter().map(|text| text.replacen(" = ", "=", 1)).collect();
    let document = Document::parse("sound.toml", SOUND.to_owned(), folder.to_owned()).expect("TOML");
    let document = document.with_overrides(overrides.iter().map(String::as_str)).expect("overrides");
    document.prepare().unwrap_or_else(|problem| panic!("{overrides:?}: {problem}")).warnings
}

fn warnings(overrides: &[&str]) -> Vec<Warning> {
    warnings_in(Path::new(""), overrides)
}

/// Returns the lint and the key of each warning.
fn drawn(overrides: &[&str]) -> Vec<(&'static str, String)> {
    warnings(overrides).into_iter().map(|warning| (warning.lint, warning.key)).collect()
}

#[track_caller]
fn draws(overrides: &[&str], lint: &'static str, key: &str) {
    assert_eq!(drawn(overrides), [(lint, key.to_owned())], "{overrides:?}");
}

#[track_caller]
fn is_silent(overrides: &[&str]) {
    assert_eq!(drawn(overrides), [], "{overrides:?}");
}

#[test]
fn a_sound_experiment_draws_no_warning() {
    is_silent(&[]);
}

#[test]
fn a_warning_says_where_it_is_and_what_would_be_right() {
    let [warning] = &warnings(&["workload.flows = 99"])[..] else { panic!("one warning") };
    let text = warning.to_string();
    assert!(text.starts_with("warning[samples] --set:1: `flows` is 99"), "{text}");
    assert!(
        text.ends_with(
            "  help: give `flows` at least 100, or at least 1000 for a 99th percentile that varies little between seeds"
        ),
        "{text}"
    );
    assert_eq!(warning.json()["lint"], "samples");
    let error = denied(std::slice::from_ref(warning)).expect("an error");
    assert_eq!((error.exit_code(), denied(&[]).is_none()), (2, true));
}

#[test]
fn an_alias_draws_a_note_that_is_never_denied() {
    let [note] = &warnings(&["topology.link_rate = 10G"])[..] else { panic!("one note") };
    let text = note.to_string();
    assert!(text.starts_with("note[alias] --set:1: `10G` is read as `10 Gbps`"), "{text}");
    assert!(denied(std::slice::from_ref(note)).is_none());
}

#[test]
fn flows_that_start_after_the_end() {
    draws(&["engine.time_limit = 1 ms"], "late-flows", "engine.time_limit");
    is_silent(&["engine.time_limit = 1 s"]);
}

#[test]
fn queues_that_are_sampled_long_before_the_first_flow() {
    let at = |start: &str| {
        format!(r#"workload = {{ list = [{{ src = 0, dst = 4, size = "1 MB", start = "{start}" }}] }}"#)
    };
    let each = r#"record = { queue_lengths = "1 us" }"#;
    draws(&[&at("1 ms"), each], "idle", "record.queue_lengths");
    is_silent(&[&at("999 us"), each]);
    is_silent(&[&at("1 ms")]);
}

#[test]
fn loads_above_one() {
    draws(&["workload.arrivals.load = 1.01"], "load", "workload.arrivals");
    is_silent(&["workload.arrivals.load = 0.99"]);
    // One spine serves the four hosts of a leaf, so the load of the hosts' links is only a quarter of the
    // bisection load.
    let narrow = ["topology.spines = 1", "workload.arrivals.load = 1.01"];
    draws(&narrow, "load", "workload.arrivals");
    assert!(warnings(&narrow)[0].what.starts_with("the bisection load is 1.01"), "{:?}", warnings(&narrow));
    assert!(warnings(&["workload.arrivals.load = 1.01"])[0].what.starts_with("the host load is 1.01"));
    is_silent(&["topology.spines = 1", "workload.arrivals.load = 0.99"]);
}

#[test]
fn transports_of_marks_without_marks() {
    draws(&[DCTCP], "marks", "scheme.queue");
    is_silent(&[DCTCP, r#"scheme.queue = { kind = "fifo", mark = "30 KB" }"#]);
    is_silent(&[DCTCP, "scheme.congestion_points = red"]);
    is_silent(&[DCTCP, "engine.kind = flow"]);
}

/// A full packet has a payload of 1,460 B and headers of 40 B.
#[test]
fn queues_below_a_packet() {
    draws(&[r#"scheme.queue = { kind = "fifo", limit = "1499 B" }"#], "queue", "scheme.queue.limit");
    is_silent(&[r#"scheme.queue = { kind = "fifo", limit = "1500 B" }"#]);
}

/// The base round trip crosses four links of 1 us and 10 Gb/s in each direction. It takes 8 us + 4 x 1.2 us +
/// 4 x 32 ns = 12.928 us. The bandwidth-delay product is 16,160 B, and a seventh of it is 2,308 B.
#[test]
fn marks_below_what_dctcp_needs_or_beyond_the_queue() {
    let mark = |bytes: u32| format!(r#"scheme.queue = {{ kind = "fifo", mark = "{bytes} B" }}"#);
    draws(&[DCTCP, &mark(2_300)], "thresholds", "scheme.queue.mark");
    is_silent(&[DCTCP, &mark(2_310)]);
    is_silent(&[&mark(1_500)]);
    let full = r#"scheme.queue = { kind = "fifo", mark_packets = 10, packets = 10 }"#;
    draws(&[full], "thresholds", "scheme.queue.mark_packets");
    is_silent(&[r#"scheme.queue = { kind = "fifo", mark_packets = 9, packets = 10 }"#]);
}

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    base.iter().chain(more).copied().collect()
}

/// The defaults grow with the link rate. `k_max` is 200 KB at 40 Gb/s, and therefore 500 KB at 100 Gb/s. `xoff` is
/// 85 KB at 10 Gb/s, and therefore 850 KB at 100 Gb/s.
#[test]
fn thresholds_of_slow_links_on_fast_ones() {
    is_silent(&DCQCN);
    draws(&with(&DCQCN, &["scheme.red.k_max = 249 KB"]), "thresholds", "scheme.red.k_max");
    is_silent(&with(&DCQCN, &["scheme.red.k_max = 250 KB"]));
    draws(&with(&DCQCN, &["scheme.dcqcn.r_ai = 40 Mbps"]), "thresholds", "scheme.dcqcn.r_ai");
    is_silent(&with(&DCQCN, &["scheme.dcqcn.r_ai = 50 Mbps"]));
    draws(&with(&DCQCN, &["scheme.red.k_max = 851 KB"]), "thresholds", "scheme.red.k_max");
    is_silent(&with(&DCQCN, &["scheme.red.k_max = 850 KB"]));
}

#[test]
fn defaults_grow_with_the_fabric_and_profiles_replace_them() {
    let value = |overrides: &[&str], part: &str, key: &str| {
        let document = Document::parse("sound.toml", SOUND.to_owned(), "".into()).expect("TOML");
        let overrides: Vec<String> = overrides.iter().map(|text| text.replacen(" = ", "=", 1)).collect();
        let document = document.with_overrides(overrides.iter().map(String::as_str)).expect("overrides");
        let resolved = document.prepare().expect("a sound experiment").experiment.resolved;
        resolved["scheme"][part][key].as_str().expect("a quantity").to_owned()
    };
    assert_eq!(value(&DCQCN, "red", "k_max"), "500 KB");
    assert_eq!(value(&DCQCN, "dcqcn", "r_ai"), "100 Mbps");
    assert_eq!(value(&DCQCN, "pfc", "xoff"), "850 KB");
    let slower = with(&DCQCN, &["topology.link_rate = 10 Gbps"]);
    assert_eq!(value(&slower, "red", "k_max"), "200 KB", "the default is never less than at 40 Gb/s");
    let longer = with(&DCQCN, &["topology.link_delay = 3 us"]);
    assert_eq!(value(&longer, "pfc", "buffer"), "3 MB");
    let profile = with(&DCQCN, &["scheme.profile = dcqcn-100g"]);
    assert_eq!(value(&profile, "red", "k_max"), "1600 KB");
    is_silent(&profile);
    draws(&with(&DCQCN, &["scheme.profile = dcqcn-40g"]), "thresholds", "scheme.profile");
    let own = with(&profile, &["scheme.red.k_max = 1700 KB"]);
    assert_eq!(value(&own, "red", "k_max"), "1700 KB");
}

#[test]
fn timeouts_below_the_base_round_trip() {
    draws(&["scheme.tcp-newreno.initial_rto = 12 us"], "rto", "scheme.tcp-newreno.initial_rto");
    is_silent(&["scheme.tcp-newreno.initial_rto = 13 us"]);
    draws(&with(&DCQCN, &["scheme.dcqcn.rto = 8 us"]), "rto", "scheme.dcqcn.rto");
    // Four links of 2.5 ms in each direction give a base round trip of more than 20 ms.
    let wide = [
        "topology.link_delay = 2500 us",
        "scheme.tcp-newreno.initial_rto = 1 s",
        "scheme.tcp-newreno.syn_timeout = 1 s",
    ];
    draws(&wide, "rto", "scheme.tcp-newreno.min_rto");
    is_silent(&with(&wide, &["scheme.tcp-newreno.min_rto = 1 s"]));
}

#[test]
fn percentiles_of_few_samples() {
    draws(&["workload.flows = 99"], "samples", "workload.flows");
    is_silent(&["workload.flows = 100"]);
}

#[test]
fn parameters_of_schemes_that_are_not_chosen() {
    draws(&["scheme.pfc.xon = 60 KB"], "unused", "scheme.pfc");
    is_silent(&["scheme.pfc.xon = 60 KB", "scheme.flow_control = pfc"]);
    let sweep = |key: &str, value: &str| {
        format!(
            r#"sweep = [{{ name = "s", values = [{{ label = "a", set = {{ "{key}" = "{value}" }} }}] }}]"#
        )
    };
    is_silent(&["scheme.pfc.xon = 60 KB", &sweep("scheme.flow_control", "pfc")]);
    is_silent(&["scheme.pfc.xon = 60 KB", &sweep("scheme.flow_control", "none")]);
    draws(&["scheme.pfc.xon = 60 KB", &sweep("topology.link_delay", "2 us")], "unused", "scheme.pfc");
    draws(&["topology.link_rate = 40 Gbps", "scheme.profile = dcqcn-40g"], "unused", "scheme.profile");
}

#[test]
fn warm_ups_longer_than_the_run() {
    draws(&["figure.warm_up = 1.0"], "warm-up", "figure.warm_up");
    is_silent(&["figure.warm_up = 0.99"]);
    let second = "engine.time_limit = 1 s";
    draws(&[second, "record.throughput = 2 s"], "warm-up", "record.throughput");
    is_silent(&[second, "record.throughput = 1 s"]);
    let plot = |from: &str| {
        format!(r#"plot = [{{ kind = "cdf", of = "throughput", from = "{from}", to = "2 s" }}]"#)
    };
    draws(&[second, &plot("1 s")], "warm-up", "plot");
    is_silent(&[second, &plot("999 ms")]);
    let claim = |from: &str| {
        format!(r#"claim = [{{ measure = {{ of = "throughput", from = "{from}", to = "2 s" }} }}]"#)
    };
    draws(&[second, &claim("3 s")], "warm-up", "claim");
    is_silent(&[second, &claim("0 s")]);
}

#[test]
fn hosts_that_relay_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    let lints = |relay: &str, transport: &str| -> Vec<&str> {
        let line = format!(
            r#"{{ "nodes": [ {{ "id": 0, "kind": "host" }}, {{ "id": 1, "kind": "host" {relay} }}, {{ "id": 2, "kind": "host" }} ],
                 "edges": [ {{ "source": 0, "target": 1, "rate_bps": 1e10, "delay_ps": 0 }},
                            {{ "source": 1, "target": 2, "rate_bps": 1e10, "delay_ps": 0 }} ] }}"#
        );
        std::fs::write(folder.path().join("line.json"), line).expect("a file");
        let topology = r#"topology = { kind = "file", file = "line.json" }"#;
        let transport = format!("scheme = {{ transport = \"{transport}\" }}");
        warnings_in(folder.path(), &[topology, &transport]).into_iter().map(|warning| warning.lint).collect()
    };
    assert_eq!(lints("", "tcp-newreno"), ["relay"]);
    assert_eq!(lints(r#", "relay": true"#, "tcp-newreno"), [""; 0]);
    assert_eq!(lints("", "r2c2"), [""; 0], "this transport is made for racks whose nodes forward packets");
}
