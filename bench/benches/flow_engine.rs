//! Measures how the flow engine's cost grows with the number of flows and hosts. All runs use fat-trees, ECMP, max-min
//! shares and web-search flow sizes at a load of 50% (`docs/src/benchmarks.md`).
//!
//! `cargo bench -p raddle-bench --bench flow_engine [-- K FLOWS]`; K is the number of ports of a switch. Each
//! measurement runs in a separate process, so that its peak memory use can be measured.

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Threads};
use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

const EXPERIMENT: &str = r#"
[topology]
kind = "fat_tree"
link_rate = "10 Gbps"
link_delay = "1 us"

[workload]
arrivals = { kind = "poisson", load = 0.5 }
sizes = { kind = "web_search" }
pairs = "uniform"

[scheme]
transport = "tcp-newreno"
routing = "ecmp"

[engine]
kind = "flow"
"#;

/// The measurements: ports per switch, and number of flows. The first three measurements increase the number of flows
/// on one fabric. The next three increase the number of hosts at a fixed number of flows. The last measurement has the
/// most hosts and the most flows.
const WORKS: [(u32, u32); 7] = [
    (16, 10_000),
    (16, 100_000),
    (16, 1_000_000),
    (32, 100_000),
    (54, 100_000),
    (74, 100_000),
    (74, 1_000_000),
];

const HEADS: [&str; 7] = ["hosts", "flows", "set-up s", "run s", "events", "us/event", "peak MB"];

/// Runs one measurement. Returns its row of the table.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn measure(k: u32, flows: u32) -> Outcome<String> {
    let document = Document::parse("flow_engine", EXPERIMENT.to_owned(), PathBuf::new())?;
    let overrides = [format!("topology.k={k}"), format!("workload.flows={flows}")];
    let start = Instant::now();
    let prepared = document.with_overrides(overrides.iter().map(String::as_str))?.prepare()?;
    let (hosts, set_up) = (prepared.topology.hosts().count(), start.elapsed().as_secs_f64());
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(1) };
    let outcome = run(prepared, &mut |_| Ok(()), control)?;
    assert_eq!(outcome.delivered, u64::from(flows), "every flow must be delivered");
    let (seconds, events) = (outcome.seconds, outcome.totals.events);
    let per_event = seconds * 1e6 / events as f64;
    let peak = resident_peak_kb().map_or(f64::NAN, |kb| kb as f64 / 1e3);
    Ok(format!("{hosts:>9} {flows:>9} {set_up:>9.2} {seconds:>9.2} {events:>9} {per_event:>9.1} {peak:>9.0}"))
}

/// Returns the peak resident memory of this process in KiB, or `None` if the system does not report it. (The system
/// calls the unit `kB`.)
fn resident_peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn table() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [k, flows] = &words[..] {
        println!("{}", measure(k.parse()?, flows.parse()?)?);
        return Ok(());
    }
    println!("{}", HEADS.map(|head| format!("{head:>9}")).join(" "));
    for (k, flows) in WORKS {
        let mut run = Command::new(std::env::current_exe()?);
        let output = run.args([k.to_string(), flows.to_string()]).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!(
                "the measurement with {flows} flows on {k}-port switches failed: {}",
                output.status
            )
            .into());
        }
        print!("{}", String::from_utf8(output.stdout)?);
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a benchmark prints its errors")]
fn main() -> ExitCode {
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
