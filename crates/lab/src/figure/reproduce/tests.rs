//! Small figures whose claims must hold.

use super::*;

/// Set-up S on a rack of 64 nodes.
const RACK: &str = r#"
[topology]
kind = "torus"
dims = [4, 4, 4]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "2 us" }
sizes = { kind = "pareto", shape = 1.05, mean = "100 KB" }
pairs = "uniform"
flows = 2_000

[scheme]
transport = "r2c2"

[scheme.r2c2]
start = "local"
"#;

struct Quiet;

impl Watch for Quiet {
    fn begin(&self, _: &str, _: &[String]) {}
    fn progress(&self, _: usize, _: &Progress) {}
    fn end(&self) {}
}

fn figure(tables: &str) -> Result<Vec<Outcome>, Error> {
    let head = "[figure]\npaper = \"test\"\nnumber = \"1\"\ntitle = \"A test\"\n";
    let text: &'static str = format!("{head}{RACK}{tables}").leak();
    let folder = tempfile::tempdir().expect("a folder");
    let part = folder.path().join("part");
    let options = Options { selector: None, scale: Scale::Quick, out: folder.path().into(), threads: 1 };
    let mut all = Reproduction { outcomes: Vec::new(), digest: 0, folders: Vec::new(), unfinished: 0 };
    let file = File { paper: "test", figure: "fig", text };
    one(&file, &options, &part, &mut BTreeMap::new(), &AtomicBool::new(false), &Quiet, &mut all)?;
    Ok(all.outcomes)
}

const INTERVALS: &str = r#"
[[sweep]]
name = "rho"
values = [
    { label = "0", set = { "scheme.r2c2.rho" = "0 us" } },
    { label = "20 us", set = { "scheme.r2c2.rho" = "20 us" } },
    { label = "1 ms", set = { "scheme.r2c2.rho" = "1 ms" } },
]

[[plot]]
kind = "along"
x = "rho"
of = "assigned_rate"
stats = ["p50", "p95"]
against = { rho = "0" }
title = "Difference"
"#;

#[test]
fn oracle_o15_shorter_intervals_bring_rates_closer_to_those_of_every_event() {
    let claims = r#"
[[claim]]
id = "mean"
section = "O15"
says = "lowering rho lowers the mean difference"
measure = { of = "assigned_rate", against = { rho = "0" }, by = "rho", order = ["1 ms", "20 us"] }
why = "an order"

[[claim]]
id = "p95"
section = "O15"
says = "lowering rho lowers the p95 of long flows' differences"
measure = { of = "assigned_rate", stat = "p95", where = "size > 100 KB", against = { rho = "0" }, by = "rho", order = ["1 ms", "20 us"] }
why = "an order"

[[claim]]
id = "itself"
section = "O15"
says = "a run does not differ from itself"
measure = { of = "assigned_rate", stat = "max", against = { rho = "0" }, at = { rho = "0" } }
accept = [0, 0]
why = "the same run"

[[claim]]
id = "nothing"
section = "O15"
says = "nothing over nothing is no order"
measure = { of = "assigned_rate", stat = "max", against = { rho = "0" }, by = "rho", order = ["0", "0"] }
why = "what cannot be told must not hold"
"#;
    let outcomes = figure(&format!("{INTERVALS}{claims}")).expect("a figure");
    let held: Vec<_> = outcomes.iter().map(|outcome| (outcome.claim.as_str(), outcome.ok)).collect();
    let expected = [("test/fig/mean", true), ("test/fig/p95", true), ("test/fig/itself", true)];
    assert_eq!(held[..3], expected, "{outcomes:?}");
    assert_eq!(held[3], ("test/fig/nothing", false), "{outcomes:?}");
}

#[test]
fn oracle_o15_headroom_lowers_the_queues() {
    let tables = r#"
[[sweep]]
name = "headroom"
key = "scheme.r2c2.headroom"
values = ["0%", "5%"]

[[claim]]
id = "queue"
section = "O15"
says = "5% of headroom lowers the p99 port's largest queue"
measure = { of = "peak_queue", stat = "p99", by = "headroom", ratio = ["5%", "0%"] }
accept = [0.0, 0.9]
why = "with headroom queues drain"
"#;
    let outcomes = figure(tables).expect("a figure");
    assert!(outcomes[0].ok, "{outcomes:?}");
}

#[test]
fn a_claim_against_a_run_that_is_not_there_is_refused() {
    let claim = r#"
[[claim]]
id = "lost"
section = "none"
says = "none"
measure = { of = "assigned_rate", against = { rho = "2 ms" }, at = { rho = "1 ms" } }
accept = [0, 1]
why = "none"
"#;
    let Err(Error::Problem(problem)) = figure(&format!("{INTERVALS}{claim}")) else {
        panic!("a problem that points into the file")
    };
    assert!(problem.to_string().contains("2 ms"), "{problem}");
}
