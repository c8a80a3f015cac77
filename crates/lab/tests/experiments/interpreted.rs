//! Routings that are defined while the program runs.

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Error, Threads};
use raddle_schemes::registry::Registry;
use raddle_schemes::routing::ecmp;
use raddle_schemes::scheme::{Build, Info, Routing};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const EXPERIMENT: &str = r#"
[topology]
kind = "folded_clos"
leaves = 2
spines = 2
hosts_per_leaf = 4
link_rate = "10 Gbps"
link_delay = "1 us"

[workload]
arrivals = { kind = "poisson", load = 0.4 }
sizes = { kind = "fixed", size = "20 KB" }
pairs = "uniform"
flows = 100

[scheme]
transport = "tcp-newreno"
routing = "halting"
"#;

/// The experiment with the routing `halting`. This routing is ECMP, but halts the run when its forwarders are built.
fn document() -> Document {
    let build = Build::Interpreted {
        build: Arc::new(|plan, halt| {
            halt.because("the routing cannot go on".to_owned());
            ecmp::ROUTING.build.forwarders(plan, halt)
        }),
        source: "a digest".to_owned(),
    };
    let halting = Routing { info: Info { name: "halting", ..ecmp::ROUTING.info }, build, ..ecmp::ROUTING };
    let document = Document::parse("halting", EXPERIMENT.to_owned(), PathBuf::new()).expect("TOML");
    document.with_registry(&Arc::new(Registry::builtin().with(halting)))
}

#[test]
fn a_part_that_cannot_go_on_ends_the_run_with_its_error() {
    let stop = AtomicBool::new(false);
    for threads in [1, 2] {
        let control = Control { stop: &stop, progress: &mut |_| (), threads: Threads::Always(threads) };
        let ran = run(document().prepare().expect("it fits the fabric"), &mut |_| Ok(()), control);
        assert!(matches!(ran, Err(Error::Run(why)) if why == "the routing cannot go on"));
    }
}

#[test]
fn only_the_packet_engine_runs_it() {
    for engine in ["flow", "lockstep", "live"] {
        let document = document().with_overrides([format!("engine.kind={engine}").as_str()]).expect("a key");
        let refused = document.prepare().err().map(|problem| problem.to_string());
        assert_eq!(
            refused.as_deref(),
            Some("a routing scheme written in Python runs only in the packet engine"),
            "{engine}"
        );
    }
}
