//! Draws the section `[workload]` of an experiment.

use super::dice::Dice;
use super::table;
use crate::experiment::workload_names as names;
use raddle_core::Duration;
use raddle_workload::PUBLISHED;
use raddle_workload::mpi::KNOWN;
use raddle_workload::mpi::collectives::ALGORITHMS;
use toml::{Table, Value};

const US: Duration = Duration::from_us(1);

/// Draws a workload between these hosts.
type Way = fn(&mut Dice, &[u32]) -> Table;

/// The ways of drawing a workload, each with its probability in percent.
const WAYS: [(u64, Way); 6] =
    [(45, listed), (30, generated), (6, long), (4, hotspot), (10, collective), (5, skeleton)];

/// Draws a workload between these hosts. There must be at least two hosts.
pub(super) fn draw(dice: &mut Dice, hosts: &[u32]) -> Table {
    let mut left = dice.below(WAYS.iter().map(|(share, _)| share).sum());
    let way = WAYS.iter().find(|(share, _)| {
        let chosen = left < *share;
        left = left.saturating_sub(*share);
        chosen
    });
    let mut drawn = way.expect("the number must be below the sum of the shares").1(dice, hosts);
    if !drawn.contains_key("list") && dice.chance(0.2) {
        drawn.insert("weight".into(), dice.number(1, 255));
    }
    if !drawn.contains_key("list") && dice.chance(0.2) {
        drawn.insert("priority".into(), dice.number(0, 15));
    }
    drawn
}

/// A workload with a single flow. Every scheme can carry this flow.
pub(super) fn simplest(hosts: &[u32]) -> Table {
    let [src, dst] = [hosts[0], hosts[hosts.len() - 1]].map(|host| Value::Integer(host.into()));
    let flow = table([("src", src), ("dst", dst), ("size", "10 KB".into())]);
    table([("list", vec![flow].into())])
}

#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
fn two(dice: &mut Dice, hosts: &[u32]) -> [Value; 2] {
    let src = dice.below(hosts.len() as u64);
    let dst = (src + dice.between(1, hosts.len() as u64 - 1)) % hosts.len() as u64;
    [src, dst].map(|place| Value::Integer(hosts[place as usize].into()))
}

fn listed(dice: &mut Dice, hosts: &[u32]) -> Table {
    let count = dice.log_between(1, 30);
    let (paced, with_deadlines, weighted) = (dice.chance(0.2), dice.chance(0.2), dice.chance(0.3));
    let flow = |dice: &mut Dice| {
        let [src, dst] = two(dice, hosts);
        let mut flow = table([("src", src), ("dst", dst), ("size", dice.size(1, 60_000))]);
        if dice.chance(0.7) {
            flow.insert("start".into(), dice.span(Duration::from_ns(1), US * 300));
        }
        if paced && dice.chance(0.5) {
            flow.insert("app_rate".into(), dice.rate());
            flow.insert("process".into(), process(dice));
        }
        if with_deadlines && dice.chance(0.7) {
            flow.insert("deadline".into(), dice.span(US, US * 2_000));
        }
        if weighted {
            flow.insert("weight".into(), dice.number(1, 255));
            flow.insert("priority".into(), dice.number(0, 7));
        }
        flow
    };
    let flows: Vec<Table> = (0..count).map(|_| flow(dice)).collect();
    table([("list", flows.into())])
}

fn kind(name: &'static str) -> Table {
    table([("kind", name.into())])
}

fn one_of(dice: &mut Dice, role: &str) -> Table {
    let all: Vec<_> = names(role).collect();
    kind(dice.pick(&all))
}

fn process(dice: &mut Dice) -> Value {
    let mut process = one_of(dice, "process");
    if process["kind"].as_str() == Some("on_off") {
        process.insert("burst".into(), dice.number(1, 10));
    }
    process.into()
}

fn pairs(dice: &mut Dice, hosts: usize) -> Value {
    let mut pairs = one_of(dice, "pairs");
    let most = hosts as u64 - 1;
    let more: Vec<(&str, Value)> = match pairs["kind"].as_str().unwrap_or_default() {
        "staggered" => vec![("edge", dice.share(0.5)), ("pod", dice.share(0.5))],
        "exchange" | "stride" => vec![("by", dice.number(1, most))],
        "incast" => vec![("senders", dice.number(1, most))],
        "permutation" if dice.chance(0.5) => vec![("times", dice.number(1, 3))],
        _ => Vec::new(),
    };
    pairs.extend(table(more));
    pairs.into()
}

fn arrivals(dice: &mut Dice) -> Table {
    let mut arrivals = one_of(dice, "arrivals");
    let more: Vec<(&str, Value)> = match arrivals["kind"].as_str().unwrap_or_default() {
        "poisson" => match dice.below(3) {
            0 => vec![("mean_gap", dice.span(Duration::from_ns(100), US * 50))],
            1 => vec![("rate", format!("{} / s", dice.log_between(10_000, 10_000_000)).into())],
            _ => vec![("load", (0.05 + dice.below(150) as f64 / 100.0).into())],
        },
        "fixed" => vec![("gap", dice.span(Duration::from_ns(100), US * 20))],
        "all_at_once" if dice.chance(0.5) => vec![("jitter", dice.span(Duration::from_ns(1), US * 10))],
        "all_at_once" => Vec::new(),
        "cbr" | "bernoulli" => vec![("load", load(dice))],
        _ => vec![("load", load(dice)), ("burst", dice.number(1, 10))],
    };
    arrivals.extend(table(more));
    arrivals
}

/// A load above 0 and up to 1.
fn load(dice: &mut Dice) -> Value {
    (dice.between(1, 100) as f64 / 100.0).into()
}

fn sizes(dice: &mut Dice) -> Value {
    let own = names("sizes").filter(|&name| name != "cdf");
    let all: Vec<_> = own.chain(PUBLISHED.iter().map(|published| published.name)).collect();
    let mut sizes = kind(dice.pick(&all));
    let more: Vec<(&str, Value)> = match sizes["kind"].as_str().unwrap_or_default() {
        "fixed" => vec![("size", dice.size(1, 30_000))],
        "pareto" => {
            vec![("shape", (1.01 + dice.below(200) as f64 / 100.0).into()), ("mean", dice.size(500, 50_000))]
        }
        "exponential" => vec![("mean", dice.size(1, 50_000))],
        "uniform" => vec![("min", dice.size(1, 1_000)), ("max", dice.size(1_000, 100_000))],
        _ if dice.chance(0.7) => vec![("truncate", (0.3 + dice.below(60) as f64 / 100.0).into())],
        _ => Vec::new(),
    };
    sizes.extend(table(more));
    sizes.into()
}

fn generated(dice: &mut Dice, hosts: &[u32]) -> Table {
    let arrivals = arrivals(dice);
    let of_frames =
        arrivals.contains_key("burst") || matches!(arrivals["kind"].as_str(), Some("cbr" | "bernoulli"));
    let mut drawn = table([("arrivals", arrivals.into()), ("pairs", pairs(dice, hosts.len()))]);
    let (amount, how_much): (&str, Value) = match dice.below(4) {
        0 => ("duration", dice.span(US * 2, US * 50)),
        1 if !of_frames => ("once", true.into()),
        _ => ("flows", dice.number(1, 40)),
    };
    drawn.insert(amount.into(), how_much);
    if !of_frames {
        drawn.insert("sizes".into(), sizes(dice));
        if dice.chance(0.2) {
            drawn.insert("app_rate".into(), dice.rate());
            drawn.insert("process".into(), process(dice));
        }
    }
    if dice.chance(0.2) {
        let mut deadlines = one_of(dice, "deadlines");
        let span = dice.span(US, US * 2_000);
        match deadlines["kind"].as_str().unwrap_or_default() {
            "fixed" => deadlines.insert("deadline".into(), span),
            "exponential" => deadlines.insert("mean".into(), span),
            _ => None,
        };
        drawn.insert("deadlines".into(), deadlines.into());
    }
    drawn
}

fn long(dice: &mut Dice, hosts: &[u32]) -> Table {
    table([
        ("pairs", pairs(dice, hosts.len())),
        ("load", load(dice)),
        ("duration", dice.span(US, US * 100)),
        ("process", process(dice)),
    ])
}

fn hotspot(dice: &mut Dice, hosts: &[u32]) -> Table {
    let [destination, _] = two(dice, hosts);
    let hotspot = table([
        ("type", "input".into()),
        ("destination", destination),
        ("degree", dice.number(1, (hosts.len() as u64 - 1).min(4))),
        ("severity", (0.5 + dice.below(200) as f64 / 100.0).into()),
        ("start", dice.span(US, US * 20)),
        ("duration", dice.span(US, US * 50)),
        ("victims", Value::Array(Vec::new())),
    ]);
    table([
        ("hotspot", hotspot.into()),
        ("duration", dice.span(US * 50, US * 100)),
        ("process", process(dice)),
    ])
}

/// Draws keys that every kind of program can have.
fn rhythm(dice: &mut Dice, hosts: usize) -> Table {
    let most = dice.between(2, hosts as u64);
    let ranks = if dice.chance(0.5) { most.next_power_of_two() / 2 } else { most };
    let mut rhythm = table([("ranks", (ranks.max(1) as i64).into()), ("compute", dice.span(US, US * 10))]);
    if dice.chance(0.3) {
        rhythm.insert("eager".into(), if dice.chance(0.5) { "always".into() } else { "0 B".into() });
    }
    if dice.chance(0.3) {
        rhythm.insert("placement".into(), "in_order".into());
    }
    rhythm
}

fn collective(dice: &mut Dice, hosts: &[u32]) -> Table {
    let algorithm = dice.pick(&ALGORITHMS);
    let mut drawn = rhythm(dice, hosts.len());
    drawn.insert("collective".into(), algorithm.operation.into());
    drawn.insert("algorithm".into(), algorithm.name.into());
    drawn.insert("iterations".into(), dice.number(1, 3));
    if algorithm.operation != "barrier" {
        drawn.insert("size".into(), dice.size(1, 50_000));
    }
    drawn
}

fn skeleton(dice: &mut Dice, hosts: &[u32]) -> Table {
    let known = dice.pick(&KNOWN);
    let mut drawn = rhythm(dice, hosts.len());
    drawn.insert("skeleton".into(), known.name.into());
    drawn.insert("iterations".into(), 1.into());
    if known.class().is_some() {
        drawn.insert("class".into(), "S".into());
    }
    drawn
}
