//! Reproduces small figures and checks their claims.

use super::*;
use crate::sweep::OtherDirectories;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

mod shipped;

/// An experiment on a rack of 64 nodes.
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
"#;

struct Quiet;

impl Watch for Quiet {
    fn begin_elsewhere(&self, _: &[String]) {}
    fn begin(&self, _: &str, _: &[String]) {}
    fn progress(&self, _: usize, _: &RunState) {}
    fn end(&self) {}
    fn kept(&self, _: &Path) {}
    fn renamed(&self, _: &Path, _: &Path) {}
}

fn options(selectors: &[&str], out: &Path) -> Options {
    Options {
        registry: Registry::builtin().into(),
        selectors: selectors.iter().map(|&selector| selector.to_owned()).collect(),
        within_s: None,
        scale: Scale::Quick,
        out: out.into(),
        force: false,
        threads: 1,
        check: false,
        look: Look::default(),
    }
}

fn figure(tables: &str) -> Result<Vec<Outcome>, Error> {
    figure_with("", tables)
}

/// Reproduces a figure with the experiment [`RACK`]. `keys` are added to `[figure]`, and `tables` to the
/// file.
fn figure_with(keys: &str, tables: &str) -> Result<Vec<Outcome>, Error> {
    figure_of(keys, RACK, tables)
}

/// Reproduces a figure with the given experiment. `keys` are added to `[figure]`, and `tables` to the file.
fn figure_of(keys: &str, experiment: &str, tables: &str) -> Result<Vec<Outcome>, Error> {
    let head = format!("[figure]\npaper = \"test\"\nnumber = \"1\"\ntitle = \"A test\"\n{keys}\n");
    let text = format!("{head}{experiment}{tables}").into();
    let folder = tempfile::tempdir().expect("a folder");
    let part = folder.path().join("part");
    fs::create_dir(&part).expect("created");
    let options = options(&[], folder.path());
    let done = Reproduction::default();
    let stop = &AtomicBool::new(false);
    let mut session =
        Session { options: &options, stop, watch: &Quiet, kept: Kept::default(), done, digest: 0 };
    let file = File { paper: "test".into(), figure: "fig".into(), path: "fig.toml".into(), text };
    Ok(session.reproduce(&file, &part)?.outcomes)
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
    let held: Vec<_> =
        outcomes.iter().map(|outcome| (outcome.claim.as_str(), outcome.ok == Some(true))).collect();
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
    assert!(outcomes[0].ok == Some(true), "{outcomes:?}");
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

const SCHEMES: &str = r#"
[[sweep]]
name = "scheme"
values = [
    { label = "R2C2", set = { "scheme.transport" = "r2c2" } },
    { label = "TCP", set = { "scheme.transport" = "tcp-newreno" } },
]

[[sweep]]
name = "flows"
key = "workload.flows"
values = [200, 400]

[[plot]]
kind = "along"
x = "flows"
of = "fct"
title = "FCT"

[[plot]]
kind = "bars"
x = "flows"
of = "slowdown"
stats = ["p95", "p99"]
title = "Slowdown"

[[plot]]
kind = "by_size"
of = "slowdown"
stats = ["p50", "p99"]
title = "Slowdown by size"
log_y = true
"#;

fn claim(id: &str, rest: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\nsection = \"\"\nsays = \"\"\nwhy = \"\"\naccept = [-1e9, 1e9]\nmeasure = {{ {rest} }}\n"
    )
}

#[test]
fn claims_are_on_means_over_seeds_and_say_how_far_these_go() {
    let claims = [
        claim("one", r#"of = "fct", at = { scheme = "TCP", flows = "400", seed = "seed 1" }"#),
        claim("two", r#"of = "fct", at = { scheme = "TCP", flows = "400", seed = "seed 2" }"#),
        claim("both", r#"of = "fct", at = { scheme = "TCP", flows = "400" }"#),
        claim("ratio", r#"of = "fct", ratio = ["R2C2", "TCP"], at = { flows = "400" }"#),
        claim("saved", r#"of = "fct", reduction = ["R2C2", "TCP"], at = { flows = "400" }"#),
        claim("other", r#"of = "fct", reduction = ["R2C2", "TCP"], at = { flows = "200" }"#),
        claim(
            "worst",
            r#"of = "fct", reduction = ["R2C2", "TCP"], over = { flows = ["200", "400"] }, take = "least""#,
        ),
        claim(
            "trend",
            r#"of = "fct", reduction = ["R2C2", "TCP"], over = { flows = ["200", "400"] }, take = "rise""#,
        ),
    ];
    let outcomes = figure_with("seeds = 2", &format!("{SCHEMES}{}", claims.concat()));
    let outcomes = outcomes.expect("a figure");
    let outcomes = outcomes.iter().zip(["one", "two", "both", "ratio", "saved", "other", "worst", "trend"]);
    let of: BTreeMap<&str, &Outcome> = outcomes.map(|(outcome, id)| (id, outcome)).collect();
    let number = |id: &str| of[id].measured.expect("a number");
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
    assert!((number("one") - number("two")).abs() > 1e-3, "seeds make a difference");
    near(number("both"), f64::midpoint(number("one"), number("two")));
    let spread = of["both"].spread.expect("two seeds");
    let ends = [number("one").min(number("two")), number("one").max(number("two"))];
    assert_eq!(([spread.least, spread.most].map(f64::to_bits), spread.seeds), (ends.map(f64::to_bits), 2));
    assert_eq!(of["both"].json("quick")["spread"]["n"], 2);
    near(number("saved"), 1.0 - number("ratio"));
    near(number("worst"), number("saved").min(number("other")));
    near(number("trend"), number("saved") - number("other"));
}

#[test]
fn what_cannot_be_repeated_or_taken_together_is_refused() {
    let refused = |keys: &str, tables: &str| match figure_with(keys, tables) {
        Err(Error::Problem(problem)) => problem.to_string(),
        other => panic!("a problem, not {other:?}"),
    };
    assert!(refused("seeds = 0", SCHEMES).contains("`seeds` must be greater than 0"));
    let sweep = "[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = [1, 2]\n";
    assert!(refused("seeds = 2", sweep).contains("sweep called `seed`"));
    let over = claim("x", r#"of = "fct", over = { flows = ["200", "400"] }"#);
    assert!(refused("", &format!("{SCHEMES}{over}")).contains("take"));
    let trend = claim("x", r#"of = "fct", over = { flows = ["200"] }, take = "rise""#);
    assert!(refused("", &format!("{SCHEMES}{trend}")).contains("trend"));
    let lost = claim("x", r#"of = "fct", over = { flows = ["200", "300"] }, take = "least""#);
    assert!(refused("", &format!("{SCHEMES}{lost}")).contains("300"));
    let links = claim("x", r#"of = "peak_queue", where = "size < 1 KB""#);
    assert!(refused("", &format!("{SCHEMES}{links}")).contains("this condition does not fit the quantity"));
}

#[test]
fn flows_that_never_finished_are_told_by_class() {
    let flow = |size, fct_us| crate::run::records::FlowRow { size, fct_us, ..Default::default() };
    let sizes = [(1_000, Some(5.0)), (99_999, None), (2_000_000, None), (3_000_000, None)];
    let records = Records { flows: sizes.map(|(size, fct)| flow(size, fct)).into(), ..Records::default() };
    let unfinished = Unfinished::of("a run".to_owned(), &records).expect("some never finished");
    assert_eq!(unfinished.flows.iter().map(|&(_, count)| count).collect::<Vec<_>>(), [1, 0, 2]);
    let finished = Records { flows: vec![flow(1_000, Some(5.0))], ..Records::default() };
    assert!(Unfinished::of("a run".to_owned(), &finished).is_none());
}

/// Four paths, each with one slow link. The slow links have 25, 10, 10 and 50% of the link rate. The source sends at
/// 90% of the link rate.
const SLOW_ROOTS: &str = r#"
[topology]
kind = "k_ary_n_tree"
k = 2
n = 3
link_rate = "10 Gbps"
link_delay = "50 ns"
slow = [
    { from = 16, to = 14, share = 0.25 },
    { from = 18, to = 14, share = 0.10 },
    { from = 17, to = 15, share = 0.10 },
    { from = 19, to = 15, share = 0.50 },
]

[workload]
hotspot = { type = "output" }
duration = "8 ms"

[scheme]
transport = "cee"
routing = "d-mod-k"
flow_control = "pfc"

[scheme.pfc]
buffer = "110 KB"

[engine]
cut_through = true
time_limit = "8 ms"

[record]
throughput = "500 us"
queue_lengths = "100 us"
queue_links = "16->14, 18->14"

[[sweep]]
name = "scheme"
values = [
    { label = "deterministic", set = { "scheme.routing" = "d-mod-k" } },
    { label = "random", set = { "scheme.routing" = "random-up" } },
]

[[plot]]
kind = "series"
of = "throughput"
where = "dst = 4"
title = "Throughput"

[[plot]]
kind = "series"
of = "queue_length"
each = [{ label = "Path_1", where = "link = 16->14" }, { label = "Path_2", where = "link = 18->14" }]
title = "Queues"
"#;

fn claim_in(id: &str, measure: &str, accept: &str) -> String {
    format!(
        "\n[[claim]]\nid = \"{id}\"\nsection = \"§8.6\"\nsays = \"{id}\"\nwhy = \"fluid bounds\"\n\
         measure = {{ {measure} }}\naccept = {accept}\n"
    )
}

/// specifications/cee.md §8.6: a flow on one path gets the rate of this path. If a flow is split into equal parts over
/// several paths, the slowest paths limit all parts as soon as the buffers on the slowest paths are full. The other
/// paths have no queues.
#[test]
fn oracle_8_6_fluid_bounds_of_four_paths() {
    let window = "from = \"3 ms\", to = \"8 ms\"";
    let rate = |scheme: &str| {
        let measured = "of = \"throughput\", stat = \"total\", where = \"dst = 4\", share_of = \"10 Gbps\"";
        format!("{measured}, {window}, at = {{ scheme = \"{scheme}\" }}")
    };
    let queue = |more: &str| {
        let queue = "of = \"queue_length\", where = \"link = 18->14\"";
        format!("{queue}, {window}, {more}, at = {{ scheme = \"random\" }}")
    };
    let claims = [
        claim_in("deterministic", &rate("deterministic"), "[0.249, 0.251]"),
        claim_in("random", &rate("random"), "[0.38, 0.42]"),
        claim_in("full", &queue("stat = \"p50\""), "[65_000, 90_000]"),
        claim_in("fuller", &queue("relative_where = \"link = 16->14\""), "[5, 1000]"),
        claim_in("in-order", "of = \"late_share\", at = { scheme = \"deterministic\" }", "[0, 0]"),
        claim_in("reordered", "of = \"late_share\", at = { scheme = \"random\" }", "[0.1, 1]"),
        claim_in("one-port", "of = \"port_changes\", at = { scheme = \"deterministic\" }", "[0, 0]"),
        claim_in("ports", "of = \"port_changes\", at = { scheme = \"random\" }", "[500, 5000]"),
    ];
    let outcomes = figure_of("warm_up = 0", SLOW_ROOTS, &claims.concat()).expect("a figure");
    assert!(outcomes.iter().all(|outcome| outcome.ok == Some(true)), "{outcomes:?}");
}

#[test]
fn measures_over_time_that_mean_nothing_are_refused() {
    let refused = |tables: &str| match figure_of("", SLOW_ROOTS, tables) {
        Err(Error::Problem(problem)) => problem.to_string(),
        other => panic!("{other:?}"),
    };
    let claim = |measure: &str| refused(&claim_in("x", measure, "[0, 1]"));
    assert!(
        claim("of = \"throughput\", from = \"1 ms\"").contains("need `to`, the end of the measured time")
    );
    assert!(
        claim("of = \"throughput\", from = \"2 ms\", to = \"1 ms\"")
            .contains("`to` must be later than `from`")
    );
    assert!(
        claim("of = \"fct\", to = \"1 ms\"").contains("`from` and `to` need a quantity over simulated time")
    );
    assert!(
        claim("of = \"port_changes\", share_of = \"10 Gbps\"")
            .contains("`share_of` needs the quantity \"throughput\" or \"in_order\"")
    );
    assert!(
        claim("of = \"queue_length\", where = \"dst = 4\"")
            .contains("this condition does not fit the quantity")
    );
    let plot = "\n[[plot]]\nkind = \"series\"\nof = \"fct\"\ntitle = \"Series\"\n";
    assert!(refused(plot).contains("a `series` plot needs a quantity over simulated time"));
}

#[test]
fn a_plot_whose_curves_are_of_no_sweep_is_refused() {
    let refused = |tables: &str| figure(tables).expect_err("refused").to_string();
    let sweep =
        "[[sweep]]\nname = \"gap\"\nkey = \"workload.arrivals.mean_gap\"\nvalues = [\"1 us\", \"2 us\"]\n";
    let plot = "[[plot]]\nkind = \"cdf\"\nof = \"fct\"\ntitle = \"FCT\"\n";
    let empty = "there is no sweep called `scheme`, so the plot would be empty";
    assert!(refused(&format!("{sweep}{plot}")).contains(empty));
    assert!(refused(&format!("{plot}by = \"scheme\"\n")).contains(empty));
    figure(&format!("{sweep}{plot}by = \"gap\"\n")).expect("a curve for each gap");
    figure(&format!("{sweep}{plot}at = {{ gap = \"1 us\" }}\n")).expect("one curve");
    figure(plot).expect("one curve");
}

#[test]
fn a_quantity_that_no_run_records_is_refused() {
    let refused = |tables: &str| figure(tables).expect_err("refused").to_string();
    let plot = |of: &str| format!("[[plot]]\nkind = \"cdf\"\nof = \"{of}\"\ntitle = \"Title\"\n");
    let off = "[record]\nlinks = false\n";
    for of in ["peak_queue", "data_bytes", "control_bytes", "paused"] {
        figure(&plot(of)).expect("links are recorded by default");
        assert!(refused(&(plot(of) + off)).contains(&format!("the runs do not record `{of}`")), "{of}");
    }
    for of in ["imbalance", "throughput_of_interval", "late_share", "queue_length", "ports_in_use"] {
        assert!(refused(&plot(of)).contains(&format!("the runs do not record `{of}`")), "{of}");
    }
    let claim = claim_in("x", "of = \"peak_queue\", stat = \"max\"", "[0, 1]");
    assert!(refused(&(claim.clone() + off)).contains("the runs do not record `peak_queue`"));
    let sweep = "[[sweep]]\nname = \"links\"\nkey = \"record.links\"\nvalues = [false, true]\n";
    figure(&(claim + sweep)).expect("one of the runs records links");
}

/// Reproduces a figure with a claim that cannot hold. `deviates` is the claim's key for a known deviation, or empty.
fn deviating(deviates: &str) -> Result<Vec<Outcome>, Error> {
    figure(&format!(
        "[[claim]]\nid = \"never\"\nsection = \"1\"\nsays = \"flows take no time\"\nwhy = \"never\"\n\
         measure = {{ of = \"fct\", stat = \"mean\" }}\naccept = [0, 0]\n{deviates}\n"
    ))
}

#[test]
fn a_deviation_that_a_figure_shows_does_not_fail_the_command() {
    let unmarked = &deviating("").expect("a figure")[0];
    assert_eq!((unmarked.verdict(), unmarked.is_unexpected()), ("FAILS", true));
    let shown = "deviates = { cause = \"flows take time\", shown_by = \"r2c2/fig10-rules\" }";
    let marked = &deviating(shown).expect("a figure")[0];
    assert_eq!((marked.verdict(), marked.is_unexpected()), ("deviates", false));
    assert_eq!(marked.json("quick")["deviates"]["shown_by"], "r2c2/fig10-rules");
    deviating(&shown.replace("fig10-rules", "fig10-rules/ideal-pfq")).expect("a claim shows the cause");
}

#[test]
fn a_deviation_needs_a_figure_or_a_claim_that_shows_its_cause() {
    let problem = |deviates: &str| deviating(deviates).expect_err("refused").to_string();
    let nowhere = problem("deviates = { cause = \"flows take time\", shown_by = \"r2c2/fig0\" }");
    assert!(
        nowhere.contains(
            "`shown_by` of the claim `never` names `r2c2/fig0`, but no figure or claim has this name"
        ),
        "{nowhere}"
    );
    let gone = problem("deviates = { cause = \"flows take time\", shown_by = \"r2c2/fig10/gone\" }");
    assert!(gone.contains("names `r2c2/fig10/gone`, but no figure or claim"), "{gone}");
    let bare = problem("deviates = \"flows take time\"");
    assert!(bare.contains("a table with its cause and the experiment"), "{bare}");
    assert!(problem("deviates = { cause = \"flows take time\" }").contains("shown_by"));
}

#[test]
fn a_figure_that_runs_only_by_its_own_name_is_left_out_of_its_paper() {
    let names = |selector| {
        let (files, left_out) = chosen(&options(&[selector], Path::new("out"))).expect("figures");
        [files, left_out].map(|files| files.iter().map(File::name).collect::<Vec<_>>())
    };
    let [files, left_out] = names("expeditus");
    assert!(files.contains(&"expeditus/fig12".to_owned()) && !files.contains(&"expeditus/fig8".to_owned()));
    assert!(left_out.contains(&"expeditus/fig8".to_owned()), "{left_out:?}");
    assert_eq!(names("expeditus/fig8"), [vec!["expeditus/fig8".to_owned()], vec![]]);
}

/// Counts the runs that begin and the figures that are complete.
#[derive(Default)]
struct Counted {
    runs: AtomicUsize,
    figures: AtomicUsize,
}

impl Watch for Counted {
    fn begin_elsewhere(&self, _: &[String]) {}
    fn begin(&self, _: &str, runs: &[String]) {
        self.runs.fetch_add(runs.len(), Ordering::Relaxed);
    }
    fn progress(&self, _: usize, _: &RunState) {}
    fn end(&self) {}
    fn kept(&self, _: &Path) {}
    fn renamed(&self, _: &Path, _: &Path) {}
    fn reproduced(&self, _: &Reproduced, _: usize, _: usize) -> Result<(), Error> {
        self.figures.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Writes two figures with the same runs. The second figure has a claim.
fn two_figures(folder: &Path) -> [String; 2] {
    let bound = claim("bound", r#"of = "fct", at = { rho = "0" }"#);
    [("one.toml", ""), ("two.toml", &*bound)].map(|(name, claims)| {
        let head = "[figure]\ntitle = \"A test\"\n";
        let path = folder.join(name);
        fs::write(&path, format!("{head}{RACK}{INTERVALS}{claims}")).expect("written");
        path.display().to_string()
    })
}

/// Reproduces two figures one after the other.
#[test]
fn figures_with_the_same_runs_share_them_also_between_reproductions() {
    let folder = tempfile::tempdir().expect("a folder");
    let figures = two_figures(folder.path());
    let out = folder.path().join("out");
    let reproduced = |figure: &str, force: bool| {
        let (counted, options) = (Counted::default(), Options { force, ..options(&[figure], &out) });
        let done = reproduce(&options, None, &AtomicBool::new(false), &counted).expect("a figure");
        assert_eq!(counted.figures.into_inner(), 1);
        (counted.runs.into_inner(), done.digest, done.figures[0].seconds)
    };
    let first = reproduced(&figures[0], false);
    let second = reproduced(&figures[1], false);
    assert_eq!([first.0, second.0], [3, 0], "the second figure runs nothing");
    assert_eq!(first.1, second.1, "copies give the digest of the runs");
    assert!(second.2 > 0.5 * first.2, "shared runs count with the time that they took: {first:?} {second:?}");
    // So do the runs of an earlier process that was interrupted.
    let unfinished = out.join("own/two.quick.unfinished");
    fs::rename(out.join("own/two/runs"), &unfinished).expect("renamed");
    fs::remove_dir_all(out.join("own/two")).expect("removed");
    let resumed = reproduced(&figures[1], false);
    assert!(resumed.0 == 0 && resumed.2 > 0.5 * first.2, "{first:?} {resumed:?}");
    // A run whose files have changed is not shared.
    fs::write(out.join("own/one/runs/0/log.txt"), "changed").expect("written");
    fs::remove_dir_all(out.join("own/two")).expect("removed");
    assert_eq!(reproduced(&figures[1], false).0, 1);
    assert_eq!(reproduced(&figures[1], true).0, 3, "--force runs everything again");
}

#[test]
fn a_figure_that_is_refused_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let figure = folder.path().join("wrong.toml");
    fs::write(&figure, "[figure]\ntitle = \"FCT\"\nsede = 1\n").expect("written");
    let (figure, out) = (figure.display().to_string(), folder.path().join("out/reproduce"));
    let options = options(&[&figure], &out);
    let refused = reproduce(&options, None, &AtomicBool::new(false), &Quiet).expect_err("refused");
    assert!(refused.to_string().contains("unknown key `sede`"), "{refused}");
    assert!(!folder.path().join("out").exists());
}

/// Reproduces two figures with the same runs. Other processes do each run once, and the results are the same as without
/// other processes.
#[test]
fn figures_whose_runs_are_done_elsewhere_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let figures = two_figures(folder.path());
    let selectors = figures.each_ref().map(String::as_str);
    let reproduced = |name: &str, elsewhere: Option<&dyn Elsewhere>, stop: bool| {
        let options = options(&selectors, &folder.path().join(name));
        reproduce(&options, elsewhere, &AtomicBool::new(stop), &Quiet).expect("figures")
    };
    let elsewhere = OtherDirectories::default();
    let stopped = reproduced("there", Some(&elsewhere), true);
    assert!(!stopped.is_complete && stopped.figures.is_empty());
    let there = reproduced("there", Some(&elsewhere), false);
    assert_eq!(*elsewhere.tasks.lock().expect("no panic"), 3 + 3, "three tasks were stopped");
    let here = reproduced("here", None, false);
    assert_eq!((there.digest, there.outcomes().count()), (here.digest, 1));
    assert!(there.is_complete && there.figures.len() == 2);
}
