//! Runs experiments from their text to their results.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::topo::convert;
use raddle_lab::{Control, Outcome, Threads, run_into};
use raddle_records::{FlowRecord, Table};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const RACK: &str = r#"[topology]
kind = "torus"
dims = [4, 4]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "1 us" }
sizes = { kind = "exponential", mean = "30 KB" }
pairs = "uniform"
flows = 400

[scheme]
transport = "r2c2"
"#;

fn document(more: &str, overrides: &[&str]) -> Document {
    let document = Document::parse("rack.toml", format!("{RACK}\n{more}"), PathBuf::new()).unwrap();
    document.with_overrides(overrides.iter().copied()).unwrap()
}

fn outcome(document: &Document) -> (Outcome, Vec<FlowRecord>) {
    let mut flows = Vec::new();
    let mut take = |flow: &FlowRecord| {
        flows.push(*flow);
        Ok(())
    };
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(1) };
    let outcome = run(document.prepare().unwrap(), &mut take, control).unwrap();
    flows.sort_by_key(|flow| flow.id);
    (outcome, flows)
}

#[test]
fn a_seed_has_one_digest_and_another_seed_another() {
    let digest = |overrides: &[&str]| outcome(&document("", overrides)).0.digest;
    assert_eq!(digest(&[]), digest(&["engine.seed=1"]));
    assert_ne!(digest(&[]), digest(&["engine.seed=2"]));
}

#[test]
fn schemes_meet_the_same_flows() {
    let offered = |transport: &str| {
        let (_, flows) = outcome(&document("", &[transport]));
        flows.iter().map(|flow| (flow.src, flow.dst, flow.size_bytes, flow.start_ps)).collect::<Vec<_>>()
    };
    let r2c2 = offered("scheme.transport=r2c2");
    assert_eq!(r2c2, offered("scheme.transport=tcp-newreno"));
    assert_eq!(r2c2, offered("scheme.transport=pfq"));
}

#[test]
fn a_time_limit_leaves_unfinished_flows_in_the_records() {
    let (outcome, flows) = outcome(&document("", &["engine.time_limit=100 us"]));
    let finished = flows.iter().filter(|flow| flow.fct_ps.is_some()).count();
    assert!(outcome.complete);
    assert_eq!(outcome.delivered, finished as u64);
    assert!(finished > 0 && finished < flows.len() && flows.len() < 400, "{finished} of {}", flows.len());
}

#[test]
fn a_finite_queue_drops_and_tcp_delivers_all_the_same() {
    let tcp = ["scheme.transport=tcp-newreno", "scheme.queue={ kind = \"fifo\", packets = 10 }"];
    let (outcome, flows) = outcome(&document("", &tcp));
    assert!(outcome.totals.drops.queue_full > 0);
    assert!(outcome.links.iter().all(|link| link.peak_queue_bytes <= 15_000));
    assert_eq!(outcome.delivered, 400);
    assert!(flows.iter().any(|flow| flow.retransmissions > 0));
}

#[test]
fn a_failure_loses_packets_until_it_is_repaired() {
    let failure = "[[failure]]\nat = \"50 us\"\nnode = 5\nrepair = \"150 us\"\ndiscovery = \"10 us\"";
    let (outcome, _) = outcome(&document(failure, &[]));
    assert!(outcome.totals.drops.link_down + outcome.totals.drops.no_route > 0);
    assert!(outcome.delivered > 300 && outcome.delivered < 400, "{}", outcome.delivered);
}

#[test]
fn a_seed_draws_its_faults_and_everything_is_repaired() {
    let faults = "[faults]\nlink_failures = \"1 / ms\"\nnode_failures = \"2 / ms\"\nrepair = \"50 us\"\n\
                  discovery = \"10 us\"\nuntil = \"400 us\"";
    let (faulty, _) = outcome(&document(faults, &["scheme.transport=tcp-newreno"]));
    assert!(faulty.totals.drops.link_down > 0);
    assert_eq!(faulty.delivered, 400, "TCP goes on after every repair");
    let digest = |overrides: &[&str]| {
        let overrides = [&["scheme.transport=tcp-newreno"], overrides].concat();
        outcome(&document(faults, &overrides)).0.digest
    };
    assert_eq!(digest(&[]), faulty.digest);
    assert_ne!(digest(&["faults.node_failures=0 / s"]), faulty.digest);
}

#[test]
fn links_err_alike_in_both_engines() {
    let errors = "[errors]\nloss = 0.003\ncorruption = 0.01\nuntil = \"500 us\"";
    for scheme in ["scheme.transport=r2c2", "scheme.transport=tcp-newreno"] {
        let of = |kind| outcome(&document(errors, &[scheme, kind]));
        let (simulated, moved) = (of("engine.kind=packet"), of("engine.kind=lockstep"));
        let drops = simulated.0.totals.drops;
        assert!(drops.lost > 10 && drops.malformed > 10, "{drops:?}");
        assert_eq!(drops, moved.0.totals.drops, "{scheme}");
        assert_eq!(simulated.1, moved.1, "{scheme}");
        let losses = |outcome: &Outcome| outcome.links.iter().map(|link| link.drops).collect::<Vec<_>>();
        assert_eq!(losses(&simulated.0), losses(&moved.0), "{scheme}");
    }
}

#[test]
fn pfq_runs_alike_in_both_engines() {
    let errors = "[errors]\nloss = 0.003\ncorruption = 0.01\nuntil = \"500 us\"";
    for mode in ["adaptive", "strict"] {
        for errors in ["", errors] {
            let mode = format!("scheme.pfq.mode={mode}");
            let of = |kind| {
                let limit = "engine.time_limit=100 ms";
                outcome(&document(errors, &["scheme.transport=pfq", &mode, limit, kind]))
            };
            let (simulated, moved) = (of("engine.kind=packet"), of("engine.kind=lockstep"));
            assert_eq!(simulated.1, moved.1, "{mode}");
            assert_eq!(simulated.0.totals.data, moved.0.totals.data, "{mode}");
            assert_eq!(simulated.0.delivered == 400, errors.is_empty(), "a lost packet is lost for good");
        }
    }
}

#[test]
fn hosts_that_wait_for_departures_and_ports_that_mark_run_alike_in_both_engines() {
    const SWITCH: &str =
        "topology={ kind = \"single_switch\", hosts = 4, link_rate = \"10 Gbps\", link_delay = \"1 us\" }";
    let dcqcn = ["scheme.transport=dcqcn", "scheme.congestion_points=red"];
    let cee = ["scheme.transport=cee", "scheme.congestion_points=qcn"];
    let ets = ["scheme.transport=cee", "scheme.queue={ kind = \"ets\" }"];
    for scheme in [dcqcn, cee, ets] {
        let of =
            |kind| outcome(&document("", &[&[SWITCH, "scheme.routing=ecmp", kind], &scheme[..]].concat()));
        let (simulated, moved) = (of("engine.kind=packet"), of("engine.kind=lockstep"));
        assert_eq!(simulated.1, moved.1, "{scheme:?}");
        assert_eq!(simulated.0.totals.data, moved.0.totals.data, "{scheme:?}");
        assert_eq!(simulated.0.delivered, 400, "{scheme:?}");
    }
}

/// In lockstep, queues drop and mark the same packets as in the packet engine. On the live engine, queues drop packets
/// in the same cases, and more than 20 flows are delivered.
#[test]
fn queues_with_limits_and_thresholds_run_alike_in_both_engines() {
    const SWITCH: &str =
        "topology={ kind = \"single_switch\", hosts = 4, link_rate = \"10 Gbps\", link_delay = \"1 us\" }";
    let cases = [
        ("tcp-newreno", "scheme.queue={ kind = \"fifo\", packets = 4 }", true),
        ("tcp-newreno", "scheme.queue={ kind = \"fifo\", limit = \"5 KB\" }", true),
        ("dctcp", "scheme.queue={ kind = \"fifo\", mark_packets = 2 }", false),
        ("dctcp", "scheme.queue={ kind = \"fifo\", mark = \"4 KB\", packets = 5 }", true),
    ];
    for (transport, queue, loses) in cases {
        let transport = format!("scheme.transport={transport}");
        let of = |kind| outcome(&document("", &[SWITCH, "scheme.routing=ecmp", &transport, queue, kind]));
        let (simulated, moved) = (of("engine.kind=packet"), of("engine.kind=lockstep"));
        assert_eq!(simulated.1, moved.1, "{transport}, {queue}");
        assert_eq!(simulated.0.totals, moved.0.totals, "{transport}, {queue}");
        assert_eq!(simulated.0.totals.drops.queue_full > 0, loses, "{transport}, {queue}");
        let live = ["engine.kind=live", "engine.dilation=5", "engine.time_limit=200 ms"];
        let all = [&[SWITCH, "scheme.routing=ecmp", &transport, queue], &live[..]].concat();
        let (live, _) = outcome(&document("", &all));
        assert_eq!(live.totals.drops.queue_full > 0, loses, "{transport}, {queue}");
        assert!(live.delivered > 20, "{transport}, {queue}: {}", live.delivered);
    }
}

#[test]
fn retransmissions_of_unfinished_flows_are_in_the_records() {
    let errors = "[errors]\nloss = 0.2\n[scheme.r2c2]\nreliable = true";
    for transport in ["tcp-newreno", "r2c2", "pdq", "d3", "rcp"] {
        let transport = format!("scheme.transport={transport}");
        let on = |engine| outcome(&document(errors, &[&transport, "engine.time_limit=300 us", engine])).1;
        let flows = on("engine.kind=packet");
        let unfinished = flows.iter().filter(|flow| flow.sender_done_ps.is_none());
        assert!(unfinished.map(|flow| flow.retransmissions).sum::<u32>() > 0, "{transport}");
        assert_eq!(flows, on("engine.kind=lockstep"), "{transport}");
    }
    // All packets are lost, so every packet after the first is a retransmission. With a handshake, the sender
    // gives up.
    let lost = "[errors]\nloss = 1.0";
    let overrides = [
        "scheme.transport=tcp-newreno",
        "workload={ list = [{ src = 0, dst = 1, size = \"1 KB\" }] }",
        "engine.time_limit=100 s",
    ];
    let (first, flows) = outcome(&document(lost, &overrides));
    let sent: u64 = first.links.iter().map(|link| link.data_packets).sum();
    assert!(sent > 5);
    assert_eq!(u64::from(flows[0].retransmissions) + 1, sent);
    let handshake = document(lost, &overrides).with_overrides(["scheme.tcp-newreno.handshake=true"]).unwrap();
    let (given_up, flows) = outcome(&handshake);
    assert_eq!((flows[0].retransmissions, given_up.totals.drops.handshake), (5, 6));
}

#[test]
fn errors_may_be_of_some_links_only() {
    let errors = "[errors]\nloss = \"10%\"\nlinks = [[0, 1], [5, 6]]";
    let (outcome, _) = outcome(&document(errors, &[]));
    let of_those = |from, to| [(0, 1), (1, 0), (5, 6), (6, 5)].contains(&(from, to));
    assert!(outcome.links.iter().all(|link| (link.drops > 0) == of_those(link.from, link.to)));
}

#[test]
fn a_fat_tree_read_from_a_file_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tree.graphml");
    let built =
        RACK.replace("kind = \"torus\"\ndims = [4, 4]", "kind = \"fat_tree\"\nk = 4\ncore_rate = \"5 Gbps\"");
    let (_, rest) = built.split_once("[workload]").unwrap();
    let read = format!("[topology]\nkind = \"file\"\nfile = \"tree.graphml\"\n\n[workload]{rest}");
    // A link between an aggregation switch and a core switch fails and is repaired during the run.
    let failure = "[[failure]]\nat = \"50 us\"\nlink = [24, 32]\nrepair = \"150 us\"\ndiscovery = \"10 us\"";
    let document = |text: &str, scheme| {
        let document =
            Document::parse("tree.toml", format!("{text}\n{failure}"), folder.path().into()).unwrap();
        document.with_overrides([scheme]).unwrap()
    };
    convert(&document(&built, "scheme.transport=r2c2").topology().unwrap(), &file).unwrap();
    for scheme in ["scheme.transport=r2c2", "scheme.transport=pfq", "scheme.transport=tcp-newreno"] {
        let (known, searched) = (outcome(&document(&built, scheme)).0, outcome(&document(&read, scheme)).0);
        assert_eq!((known.digest, known.links), (searched.digest, searched.links), "{scheme}");
        assert!(known.delivered > 350, "{scheme}: {}", known.delivered);
        assert!(known.totals.drops.link_down + known.totals.drops.no_route > 0, "{scheme}");
    }
}

/// specifications/expeditus.md §9, Fig 15: some links are down from the start. With a discovery time of 0, routing
/// avoids these links before the first flow begins.
#[test]
fn nothing_is_lost_to_failures_that_are_known_from_the_start() {
    let lost = |discovery: &str| {
        let failure = format!(
            "[[failure]]\nat = \"0 ns\"\ndiscovery = \"{discovery}\"\nrandom = {{ tier = \"core\", pod = 0, links = 2, most_a_switch = 1 }}"
        );
        let document = document(
            &failure,
            &[
                "topology={ kind = \"fat_tree\", k = 4, link_rate = \"10 Gbps\", link_delay = \"2 us\" }",
                "workload={ arrivals = \"all_at_once\", sizes = { kind = \"fixed\", size = \"9 KB\" }, pairs = \"all_to_all\", once = true }",
                "scheme.transport=tcp-newreno",
            ],
        );
        let (outcome, flows) = outcome(&document);
        assert_eq!(flows.len(), 240);
        outcome.totals.drops.link_down + outcome.totals.drops.no_route
    };
    assert_eq!(lost("0 ns"), 0);
    assert!(lost("1 ms") > 0);
}

#[test]
fn a_node_knows_its_own_dead_link_before_it_sends() {
    let failure = "[[failure]]\nat = \"0 ns\"\ndiscovery = \"0 ns\"\nlink = [0, 1]";
    let workload = "workload={ list = [{ src = 0, dst = 1, size = \"9 KB\" }] }";
    let (outcome, flows) = outcome(&document(failure, &[workload, "scheme.transport=tcp-newreno"]));
    let drops = outcome.totals.drops;
    assert_eq!((flows.len(), drops.link_down + drops.no_route), (1, 0));
}

/// Hosts of these transports wait for the departure of each frame before they send the next frame. A port with a FIFO
/// does not report departures, so the ports of these hosts have a queue that reports departures.
#[test]
fn hosts_of_lossless_ethernet_need_no_flow_control_to_send() {
    let fabric = "topology={ kind = \"folded_clos\", leaves = 2, spines = 2, hosts_per_leaf = 4, link_rate = \"10 Gbps\", link_delay = \"100 ns\" }";
    for (transport, points) in [("cee", "none"), ("dcqcn", "red")] {
        let scheme = format!("scheme={{ transport = \"{transport}\", congestion_points = \"{points}\" }}");
        let (outcome, flows) = outcome(&document("", &[fabric, &scheme]));
        assert_eq!((outcome.delivered, flows.len()), (400, 400), "{transport}");
    }
}

#[test]
fn the_examples_are_experiments() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let mut hosts: Vec<usize> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let document = Document::load(&file.unwrap().path()).unwrap();
            document.experiment().unwrap();
            document.topology().unwrap().hosts().count()
        })
        .collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [4, 4, 16, 16, 32, 64, 64, 32_768, 65_536]);
}

#[test]
fn every_byte_arrives_in_a_rack_under_faults_on_any_number_of_threads() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/rack-under-faults.toml");
    let run = |threads| {
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &mut |_| (), threads: Threads::Always(threads) };
        let document = Document::load(&file).unwrap();
        run(document.prepare().unwrap(), &mut |_| Ok(()), control).unwrap()
    };
    let outcome = run(1);
    assert_eq!((outcome.delivered, outcome.flows), (3_000, 3_000));
    let drops = &outcome.totals.drops;
    assert!(drops.lost > 0 && drops.malformed > 0 && drops.link_down > 0, "{drops:?}");
    assert_eq!(outcome.digest.to_string(), run(3).digest.to_string());
}

/// The live engine supports link failures, lost packets, hello messages, port queues, port agents and reports of
/// departures to hosts.
#[test]
fn a_live_rack_runs_what_it_once_refused() {
    let failure = "[[failure]]\nlink = [0, 1]\nat = \"150 us\"\nrepair = \"500 us\"\n[errors]\nloss = 1e-3";
    let hello = ["scheme.r2c2={ reliable = true }", "engine.discovery=hello", "engine.hello_period=50 us"];
    let star =
        "topology={ kind = \"single_switch\", hosts = 16, link_rate = \"10 Gbps\", link_delay = \"1 us\" }";
    let cee = "scheme={ transport = \"cee\", congestion_points = \"qcn\" }";
    for (more, overrides) in [
        (failure, &hello[..]),
        ("", &["scheme.transport=pfq"][..]),
        ("", &[star, "scheme.transport=pdq"]),
        ("", &[star, cee]),
    ] {
        let live = ["engine.kind=live", "engine.dilation=20", "engine.time_limit=500 ms"];
        let (outcome, _) = outcome(&document(more, &[overrides, &live].concat()));
        assert_eq!(outcome.delivered, 400, "{overrides:?}");
        assert_eq!(outcome.unmatched, 0, "{overrides:?}");
        assert_eq!(outcome.totals.drops.link_down > 0, !more.is_empty(), "{overrides:?}");
    }
}

#[test]
fn a_raised_flag_stops_the_run_early() {
    let document = document("", &["workload.flows=20_000"]);
    let stop = AtomicBool::new(false);
    let mut raise = |_: &raddle_lab::RunState| stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let control = Control { stop: &stop, progress: &mut raise, threads: Threads::Always(1) };
    let outcome = run(document.prepare().unwrap(), &mut |_| Ok(()), control).unwrap();
    assert!(!outcome.complete);
    assert!(outcome.delivered < outcome.flows);
}

#[test]
fn a_raised_flag_stops_a_run_in_which_little_happens_between_two_looks() {
    let little = ["workload.flows=20", "record.queue_lengths=\"1 ns\"", "record.queue_links=\"0\""];
    let stop = AtomicBool::new(false);
    let mut looks = 0;
    let mut stop_at_the_tenth = |_: &raddle_lab::RunState| {
        looks += 1;
        stop.store(looks == 10, std::sync::atomic::Ordering::Relaxed);
    };
    let control = Control { stop: &stop, progress: &mut stop_at_the_tenth, threads: Threads::Always(1) };
    let outcome = run(document("", &little).prepare().unwrap(), &mut |_| Ok(()), control).unwrap();
    assert!(!outcome.complete);
    assert_eq!(looks, 10);
}

#[test]
fn sweeps_span_a_grid_whose_last_dimension_varies_fastest() {
    let sweeps = "[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = [1, 2]\n\n\
                  [[sweep]]\nname = \"gap\"\nkey = \"workload.arrivals.mean_gap\"\nvalues = [\"1 us\", \"10 us\"]";
    let cells = document(sweeps, &[]).cells().unwrap();
    let names: Vec<_> = cells.iter().map(raddle_lab::experiment::Cell::name).collect();
    assert_eq!(names, ["1, 1 us", "1, 10 us", "2, 1 us", "2, 10 us"]);
    let last = cells[3].document.experiment().unwrap();
    assert_eq!(last.engine.seed, 2);
    assert_eq!(last.resolved["workload"]["arrivals"]["mean_gap"].as_str(), Some("10 us"));
}

#[test]
fn a_resolved_experiment_resolves_to_itself() {
    let of_transports = raddle_testkit::registry().transports().iter().map(|transport| transport.info.name);
    let of_transports = of_transports.map(|name| format!("scheme.transport={name}"));
    // A fraction may be a percentage, and PDQ's factor `k` may exceed 1.
    let others =
        ["scheme.r2c2.headroom=10%".to_owned(), "scheme={ transport = \"pdq\", pdq = { k = 3 } }".to_owned()];
    for set in of_transports.chain(others) {
        let resolved = document("", &[&set]).experiment().unwrap().resolved.to_string();
        let again = Document::parse("resolved.toml", resolved.clone(), PathBuf::new()).unwrap();
        let again = again.experiment().unwrap_or_else(|problem| panic!("{set}: {problem}"));
        assert_eq!(again.resolved.to_string(), resolved, "{set}");
    }
}

#[test]
fn an_experiment_by_load_resolves_to_itself_and_offers_that_load() {
    let tree = [
        "topology={ kind = \"fat_tree\", k = 4, link_rate = \"10 Gbps\", link_delay = \"2 us\" }",
        "workload={ arrivals = { kind = \"poisson\", load = 0.5 }, sizes = { kind = \"web_search\", unit = \"1000 B\" }, \
         pairs = { kind = \"inter_pod\", pods = [0, 3] }, duration = \"1 s\" }",
    ];
    let document = document("", &tree);
    let resolved = document.experiment().unwrap().resolved.to_string();
    let again = Document::parse("resolved.toml", resolved.clone(), PathBuf::new()).unwrap();
    assert_eq!(again.experiment().unwrap().resolved.to_string(), resolved);
    // Only half of the hosts send, so the mean load of all hosts is 0.25.
    let load = document.prepare().unwrap().facts().host_load.unwrap();
    assert!((load - 0.25).abs() < 0.015, "{load}");
}

#[test]
fn a_run_stopped_early_leaves_valid_tables_marked_as_partial() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let notes = |at_once: bool| {
        let stop = AtomicBool::new(false);
        let mut look = |_: &raddle_lab::RunState| stop.store(at_once, std::sync::atomic::Ordering::Relaxed);
        let control = Control { stop: &stop, progress: &mut look, threads: Threads::Always(2) };
        let prepared = document("", &["workload.flows=5_000"]).prepare().unwrap();
        run_into(prepared, &directory, "run", control).unwrap();
        let flows = Table::read(&directory.join("flows.parquet")).unwrap();
        (flows.metadata["raddle.complete"].clone(), flows.rows)
    };
    let (complete, rows) = notes(true);
    assert_eq!(complete, "false");
    assert!(rows > 0 && rows < 5_000, "{rows}");
    assert_eq!(notes(false), ("true".to_owned(), 5_000));
}

#[test]
fn a_flow_file_is_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    let text = RACK.split("[workload]").next().unwrap().to_owned()
        + "[workload]\nfile = \"flows.txt\"\n\n[scheme]\ntransport = \"r2c2\"\n";
    std::fs::write(folder.path().join("flows.txt"), "2\n0 5 3 100 30000 0.000001\n4 1 3 100 1 0\n").unwrap();
    let document = Document::parse("rack.toml", text.clone(), folder.path().to_owned()).unwrap();
    let (outcome, flows) = outcome(&document);
    assert_eq!(outcome.delivered, 2);
    assert_eq!((flows[0].src, flows[1].src, flows[1].start_ps), (4, 0, 1_000_000));
    std::fs::write(folder.path().join("flows.txt"), "1\n0 0 3 100 30000 0\n").unwrap();
    let problem =
        Document::parse("rack.toml", text, folder.path().to_owned()).unwrap().prepare().err().unwrap();
    let shown = problem.to_string();
    assert_eq!(
        shown,
        "flows.txt is not a valid HPCC flow file: line 2, column 3: node 0 cannot send to itself"
    );
}

#[test]
fn topologies_and_flows_of_other_simulators_run_and_their_mistakes_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let prepare = |topology: &str, workload: &str| {
        let text = format!(
            "[topology]\nkind = \"file\"\n{topology}\n[workload]\n{workload}\n[scheme]\ntransport = \"tcp-newreno\"\n"
        );
        Document::parse("rack.toml", text, folder.path().to_owned()).unwrap()
    };
    let error =
        |topology: &str, workload: &str| prepare(topology, workload).prepare().err().unwrap().to_string();
    // Two switches are joined by two parallel links. The hosts are nodes 1, 2 and 4.
    write(
        "rack.txt",
        "5 2 5\n0 3\n1 0 10Gbps 1us 0\n2 0 10Gbps 1us 0\n4 3 10Gbps 1us 0\n0 3 10Gbps 1us 0\n0 3 10Gbps 1us 0\n",
    );
    write(
        "pairs.cm",
        "Nodes 3\nConnections 2\n0->2 id 1 start 1000000 size 30000\n2->1 id 2 start 0 size 1\n",
    );
    let (outcome, flows) = outcome(&prepare("file = \"rack.txt\"", "file = \"pairs.cm\""));
    assert_eq!(outcome.delivered, 2);
    let ends: Vec<_> = flows.iter().map(|flow| (flow.src, flow.dst, flow.start_ps)).collect();
    assert_eq!(ends, [(4, 2, 0), (1, 4, 1_000_000)]);

    write("bad.cm", "Nodes 4\nConnections 0\n");
    assert_eq!(
        error("file = \"rack.txt\"", "file = \"bad.cm\""),
        "bad.cm is not a valid htsim connection matrix: line 1, column 7: the file has 4 nodes, and the topology has only 3 hosts"
    );
    assert_eq!(
        error("file = \"pairs.cm\"\nformat = \"hpcc\"", "file = \"pairs.cm\""),
        "pairs.cm is not a valid HPCC topology file: line 1, column 1: `Nodes` is not a number of nodes"
    );
    assert_eq!(
        error("file = \"pairs.cm\"", "file = \"pairs.cm\""),
        "Raddle cannot tell the format of `pairs.cm` from its name"
    );
    assert_eq!(
        error("file = \"rack.txt\"\nformat = \"yaml\"", "file = \"pairs.cm\""),
        "unknown format `yaml`"
    );
}

const TREE: &[&str] = &[
    "topology={ kind = \"fat_tree\", k = 4, link_rate = \"10 Gbps\", link_delay = \"1 us\" }",
    "scheme.transport=tcp-newreno",
    "engine.time_limit=1 ms",
];

#[test]
fn imbalance_is_sampled_alike_in_both_engines_and_changes_no_result() {
    let sampled = |kind| outcome(&document("[record]\nimbalance = \"50 us\"", &[TREE, &[kind]].concat())).0;
    let plain = outcome(&document("", TREE)).0;
    let (packet, lockstep) = (sampled("engine.kind=packet"), sampled("engine.kind=lockstep"));
    assert_eq!(packet.digest, plain.digest);
    assert!(plain.imbalance.is_empty());
    assert_eq!(packet.imbalance, lockstep.imbalance);
    // A switch has two uplinks at both tiers, so the imbalance is at most 2.
    assert!(packet.imbalance.iter().all(|sample| (0.0..=2.0).contains(&sample.imbalance)));
    for tier in [1, 2] {
        let busy = packet.imbalance.iter().filter(|sample| sample.tier == tier);
        assert!(busy.clone().count() > 20 && busy.clone().any(|sample| sample.imbalance > 0.0), "{tier}");
    }
}

#[test]
fn slowdown_is_over_a_flow_alone_with_its_handshake_and_frames() {
    let list = "workload={ list = [{ src = 0, dst = 15, size = \"1 MB\" }] }";
    let more = [
        "topology.framing=ethernet",
        "scheme.tcp-newreno.handshake=true",
        "scheme.tcp-newreno.initial_window=1000",
    ];
    let (_, flows) = outcome(&document("", &[TREE, &[list], &more].concat()));
    // The path has six links of 1 us and 10 Gbps. The handshake sends 84 B (67.2 ns) in each direction. The data take
    // 684 packets of 1,538 B (1,230.4 ns) and one packet of 1,438 B. The last packet waits behind a full packet at each
    // of five hops.
    let ns = 2.0 * (6_000.0 + 6.0 * 67.2) + 6_000.0 + (684.0 + 5.0) * 1_230.4 + 1_438.0 * 0.8;
    assert_eq!(flows[0].ideal_fct_ps, (ns * 1e3_f64).round() as u64);
    // The whole flow fits in the initial window, so it needs no second round trip.
    assert_eq!(flows[0].slowdown(), Some(1.0));
}

/// Checks that no example of the book draws a warning.
#[test]
fn shipped_examples_draw_no_warnings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("examples") {
        let path = entry.expect("a file").path();
        let example = Document::load(&path).expect("an example");
        // An example for `raddle live` does not set the engine, since the command sets it.
        let is_live = std::fs::read_to_string(&path).expect("a text").contains("hosts = \"namespaces\"");
        let overrides = if is_live { &["engine.kind=live"][..] } else { &[] };
        let example = example.with_overrides(overrides.iter().copied()).expect("overrides");
        for cell in example.cells().expect("a grid") {
            let warnings = cell.document.prepare().expect("a sound experiment").warnings;
            assert_eq!(warnings, [], "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 7, "{seen} experiments");
}
