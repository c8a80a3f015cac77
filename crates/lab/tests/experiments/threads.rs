//! Checks that results are identical with any number of threads. The tests cover four schemes on eight fabrics, every
//! routing, failures, queue limits, queue records and cut-through.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Outcome, Threads};
use raddle_records::FlowRecord;
use raddle_testkit::registry;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const FABRICS: [&str; 8] = [
    "kind = \"torus\"\ndims = [4, 4, 2]",
    "kind = \"mesh\"\ndims = [4, 4]",
    "kind = \"hypercube\"\ndimensions = 4",
    "kind = \"folded_clos\"\nleaves = 4\nspines = 3\nhosts_per_leaf = 5",
    "kind = \"fat_tree\"\nk = 4",
    "kind = \"dumbbell\"\nleft = 5\nright = 5\nbottleneck_rate = \"20 Gbps\"",
    "kind = \"single_switch\"\nhosts = 8",
    "kind = \"k_ary_n_tree\"\nk = 2\nn = 4",
];

const SCHEMES: [&str; 4] = ["r2c2", "r2c2-central", "pfq", "tcp-newreno"];

/// Returns two failures in a fabric: of a node, and of a link of the fabric. Both fail and recover during the traffic.
/// The failure of the node is discovered after a delay, the failure of the link at once.
fn failures(fabric: &str) -> String {
    let node = 3;
    let neighbour = match fabric.split('"').nth(1) {
        Some("torus" | "mesh" | "hypercube") => 1,
        Some("folded_clos") => 20,
        Some("fat_tree" | "k_ary_n_tree") => 16,
        Some("dumbbell") => 10,
        _ => 8,
    };
    format!(
        "[[failure]]\nat = \"20 us\"\nnode = {node}\nrepair = \"50 us\"\ndiscovery = \"3 us\"\n\
         [[failure]]\nat = \"30 us\"\nlink = [0, {neighbour}]\nrepair = \"60 us\"\ndiscovery = \"0 us\"\n"
    )
}

fn experiment(fabric: &str, scheme: &str, more: &str) -> Document {
    let text = format!(
        "[topology]\n{fabric}\nlink_rate = \"10 Gbps\"\nlink_delay = \"300 ns\"\n\n\
         [workload]\narrivals = {{ kind = \"poisson\", mean_gap = \"500 ns\" }}\n\
         sizes = {{ kind = \"pareto\", mean = \"20 KB\", shape = 1.2 }}\npairs = \"uniform\"\nflows = 150\n\n\
         [scheme]\ntransport = \"{scheme}\"\n\n[engine]\ntime_limit = \"300 us\"\n\n[record]\nqueues = true\n\n{more}"
    );
    Document::parse("threads.toml", text, PathBuf::new()).unwrap()
}

/// Returns the outcome, and the flow records in the order in which they are written. The wall-clock duration, which
/// differs between runs, is set to 0.
fn outcome(document: &Document, threads: Threads) -> (Outcome, Vec<FlowRecord>) {
    let mut flows = Vec::new();
    let mut take = |flow: &FlowRecord| {
        flows.push(*flow);
        Ok(())
    };
    let control = Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads };
    let outcome = run(document.prepare().unwrap(), &mut take, control).unwrap();
    (Outcome { seconds: 0.0, ..outcome }, flows)
}

fn same_on_any_number_of_threads(document: &Document, what: &str) -> Outcome {
    let one = outcome(document, Threads::Always(1));
    let by_turns = [2, 5].map(|threads| Threads::Drawn { threads, seed: 1 });
    for threads in [2, 3, 4, 8].map(Threads::Always).into_iter().chain(by_turns) {
        let many = outcome(document, threads);
        assert_eq!(many.0.digest, one.0.digest, "{what} on {threads:?}");
        assert!(format!("{many:?}") == format!("{one:?}"), "{what} on {threads:?}");
    }
    one.0
}

fn on_every_fabric(set: &[&str], more: impl Fn(&str) -> String) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for fabric in FABRICS {
        for scheme in SCHEMES {
            let document =
                experiment(fabric, scheme, &more(fabric)).with_overrides(set.iter().copied()).unwrap();
            outcomes
                .push(same_on_any_number_of_threads(&document, &format!("{scheme} on {fabric}, {set:?}")));
        }
    }
    outcomes
}

#[test]
fn plain_runs() {
    for outcome in on_every_fabric(&[], |_| String::new()) {
        assert!(outcome.delivered > 100 && !outcome.queues.is_empty(), "{outcome:?}");
    }
}

#[test]
fn runs_with_failures() {
    let outcomes = on_every_fabric(&[], failures);
    assert!(outcomes.iter().all(|outcome| outcome.delivered > 20));
    assert!(outcomes.iter().any(|outcome| outcome.totals.drops.link_down > 0));
    assert!(outcomes.iter().any(|outcome| outcome.totals.drops.no_route > 0));
}

#[test]
fn runs_with_random_faults_and_errors() {
    let faults = "[faults]\nlink_failures = \"1 / ms\"\nnode_failures = \"1 / ms\"\nrepair = \"20 us\"\n\
                  discovery = \"2 us\"\nuntil = \"200 us\"\n\n[errors]\nloss = 0.001\ncorruption = 0.01\n";
    let outcomes = on_every_fabric(&[], |_| faults.to_owned());
    let drops = || outcomes.iter().map(|outcome| outcome.totals.drops);
    assert!(drops().any(|drops| drops.link_down > 0) && drops().any(|drops| drops.no_route > 0));
    assert!(drops().any(|drops| drops.lost > 0) && drops().any(|drops| drops.malformed > 0));
}

/// Nodes discover failures by hello messages. The hello packets and the discovery delays are the same with
/// any number of threads.
#[test]
fn runs_whose_nodes_say_hello() {
    let hellos = ["engine.discovery=\"hello\"", "engine.hello_period=5 us"];
    let outcomes = on_every_fabric(&hellos, failures);
    assert!(outcomes.iter().all(|outcome| outcome.delivered > 20 && outcome.totals.notice.packets > 1_000));
    assert!(outcomes.iter().any(|outcome| outcome.totals.drops.link_down > 0));
    assert!(outcomes.iter().any(|outcome| outcome.totals.drops.no_route > 0));
}

/// Links fail, and nodes discover the failures by hello messages. Every byte still arrives. The results are
/// the same with any number of threads.
#[test]
fn reliable_r2c2_delivers_every_byte_while_nodes_find_out_about_failures() {
    let text = "[topology]\nkind = \"torus\"\ndims = [4, 4]\nlink_rate = \"10 Gbps\"\nlink_delay = \"100 ns\"\n\n\
         [workload]\narrivals = { kind = \"poisson\", mean_gap = \"2 us\" }\n\
         sizes = { kind = \"pareto\", mean = \"50 KB\", shape = 1.2 }\npairs = \"uniform\"\nflows = 200\n\n\
         [scheme]\ntransport = \"r2c2\"\nr2c2 = { reliable = true }\n\n\
         [engine]\ndiscovery = \"hello\"\nhello_period = \"20 us\"\n\n\
         [[failure]]\nat = \"100 us\"\nlink = [0, 1]\nrepair = \"700 us\"\n\
         [[failure]]\nat = \"300 us\"\nnode = 5\nrepair = \"600 us\"\n\
         [[failure]]\nat = \"400 us\"\nlink = [10, 11]\n\n\
         [faults]\nlink_failures = \"0.2 / ms\"\nrepair = \"200 us\"\nuntil = \"1 ms\"\n";
    let document = Document::parse("hello.toml", text.to_owned(), PathBuf::new()).unwrap();
    let [(outcome, flows), two, three] =
        [1, 2, 3].map(|threads| self::outcome(&document, Threads::Always(threads)));
    for many in [two, three] {
        assert!((many.0.digest, &many.1) == (outcome.digest, &flows));
    }
    assert!(outcome.complete && outcome.totals.drops.link_down > 0);
    assert_eq!((outcome.flows, outcome.delivered), (200, 200));
}

#[test]
fn runs_with_cut_through_and_failures() {
    on_every_fabric(&["engine.cut_through=true"], failures);
}

#[test]
fn runs_with_finite_queues() {
    let queue = "scheme.queue={ kind = \"fifo\", packets = 4 }";
    let mut full = 0;
    for fabric in FABRICS {
        for scheme in ["r2c2", "r2c2-central", "tcp-newreno"] {
            let document = experiment(fabric, scheme, "").with_overrides([queue]).unwrap();
            full += same_on_any_number_of_threads(&document, &format!("{scheme} on {fabric}"))
                .totals
                .drops
                .queue_full;
        }
    }
    assert!(full > 0);
}

#[test]
fn runs_of_each_routing() {
    for routing in &registry().routings()[1..] {
        let set = format!("scheme.routing=\"{}\"", routing.info.name);
        let mut fabrics = 0;
        for fabric in [FABRICS[0], FABRICS[3], FABRICS[4], FABRICS[7]] {
            let document = experiment(fabric, "tcp-newreno", &failures(fabric));
            // Switch AR needs congestion points.
            let points = "scheme.congestion_points=\"qcn\"";
            let document = document.with_overrides([set.as_str(), points]).unwrap();
            // Some routing schemes support only Clos networks, and some only trees.
            if document.prepare().is_ok() {
                let outcome = same_on_any_number_of_threads(&document, &format!("{set} on {fabric}"));
                assert!(outcome.delivered > 20, "{set} on {fabric}");
                fabrics += 1;
            }
        }
        assert!(fabrics > 0, "{set} runs on none of the fabrics");
    }
}

/// Runs R2C2 without options, then with protocol selection for long flows, then with retransmission, then with
/// deadlines.
#[test]
fn runs_of_r2c2_with_its_options() {
    let lasting = ["scheme.r2c2.rho=5 us", "workload.sizes={ kind = \"fixed\", size = \"40 KB\" }"];
    let options: [&[&str]; 4] = [
        &[],
        &["scheme.r2c2.select=\"token\"", "scheme.r2c2.select_period=50 us"],
        &["scheme.r2c2.reliable=true"],
        &[
            "scheme.r2c2.policy=\"deadline\"",
            "workload.deadlines={ kind = \"exponential\", mean = \"100 us\", min = \"20 us\" }",
        ],
    ];
    let fabric = FABRICS[0];
    let mut plain = None;
    for set in options {
        let set = [lasting.as_slice(), set].concat();
        let document = experiment(fabric, "r2c2", &failures(fabric));
        let document = document.with_overrides(set.iter().copied()).unwrap();
        let outcome = same_on_any_number_of_threads(&document, &format!("{set:?}"));
        assert_ne!(plain, Some(outcome.digest), "{set:?} does nothing");
        plain.get_or_insert(outcome.digest);
    }
}

/// Runs Expeditus, whose switches exchange requests and responses about congestion. Also runs the clairvoyant
/// oracle, which always uses one thread.
#[test]
fn runs_of_expeditus_and_clairvoyant() {
    let fabric = FABRICS[4];
    let mut digests = BTreeSet::new();
    for routing in ["ecmp", "expeditus", "clairvoyant"] {
        for more in [String::new(), failures(fabric)] {
            let routing = format!("scheme.routing=\"{routing}\"");
            let document = experiment(fabric, "tcp-newreno", &more);
            let document = document.with_overrides([&*routing, "scheme.tcp-newreno.handshake=true"]).unwrap();
            let outcome = same_on_any_number_of_threads(&document, &format!("{routing} on {fabric}"));
            digests.insert(outcome.digest.to_string());
        }
    }
    assert_eq!(digests.len(), 6, "the results of all six runs differ");
}

/// Runs lossless Ethernet with pauses, congestion notices and rate limiters. One of the runs has ETS queues, which
/// share a port's rate among classes.
#[test]
fn runs_of_lossless_ethernet() {
    let fabric = FABRICS[7];
    for (routing, queue) in [("d-mod-k", "strict"), ("random-up", "ets"), ("switch-ar", "strict")] {
        let set = [
            &*format!("scheme.routing=\"{routing}\""),
            &*format!("scheme.queue={{ kind = \"{queue}\" }}"),
            "scheme.flow_control=\"pfc\"",
            "scheme.congestion_points=\"qcn\"",
            "scheme.cee.rate_limiters=true",
            "scheme.pfc={ xon = \"10 KB\", xoff = \"15 KB\" }",
            "engine.cut_through=true",
        ];
        let document = experiment(fabric, "cee", "").with_overrides(set).unwrap();
        let outcome = same_on_any_number_of_threads(&document, &format!("{routing} and {queue}"));
        assert!(outcome.delivered > 20 && outcome.totals.notice.packets > 0, "{routing}: {outcome:?}");
    }
}

#[test]
fn nodes_that_no_time_parts_share_a_thread() {
    let document =
        experiment(FABRICS[1], "tcp-newreno", "").with_overrides(["topology.link_delay=0 ns"]).unwrap();
    same_on_any_number_of_threads(&document, "a mesh without delay");
}
