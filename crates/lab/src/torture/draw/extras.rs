//! Optional parts of an experiment, besides a fabric, flows and a scheme.

use super::dice::Dice;
use super::{set, table};
use raddle_core::Duration;
use raddle_schemes::registry::Registry;
use toml::{Table, Value};

const US: Duration = Duration::from_us(1);

/// The properties of the unfinished experiment that affect its optional parts.
pub(super) struct Around<'a> {
    pub(super) registry: &'a Registry,
    /// The links of the fabric, as pairs of nodes.
    pub(super) links: &'a [(u32, u32)],
    /// The time limit of the run.
    pub(super) limit: Duration,
}

/// Adds an optional part to an experiment.
type Extra = fn(&mut Dice, &Around<'_>, &mut Table);

/// The optional parts, each with the probability that the draw tries to add it.
pub(super) const EXTRAS: [(f64, Extra); 15] = [
    (0.5, parameters),
    (0.3, limits),
    (0.15, framing),
    (0.15, slow_links),
    (0.15, cut_through),
    (0.1, hellos),
    (0.2, failures),
    (0.08, random_links),
    (0.08, faults),
    (0.2, errors),
    (0.15, |dice, around, experiment| set(experiment, "record.imbalance", interval(dice, around))),
    (0.15, |dice, around, experiment| set(experiment, "record.throughput", interval(dice, around))),
    (0.15, |dice, around, experiment| set(experiment, "record.queue_lengths", interval(dice, around))),
    (0.15, |_, _, experiment| set(experiment, "record.queues", true.into())),
    (0.2, |dice, _, experiment| set(experiment, "engine.watchdog", dice.span(US * 10, US * 1_000))),
];

/// A sampling interval that gives at most 100 samples in the run.
fn interval(dice: &mut Dice, around: &Around<'_>) -> Value {
    dice.span(around.limit / 100, around.limit)
}

/// Sets new values for some parameters of the schemes in the experiment.
fn parameters(dice: &mut Dice, around: &Around<'_>, experiment: &mut Table) {
    let chosen: Vec<String> = experiment["scheme"].as_table().map_or_else(Vec::new, |scheme| {
        let kind = |value: &Value| value.get("kind").unwrap_or(value).as_str().map(str::to_owned);
        scheme.values().filter_map(kind).collect()
    });
    for info in around.registry.schemes().filter(|info| chosen.iter().any(|name| name == info.name)) {
        for parameter in info.parameters {
            if dice.chance(2.0 / info.parameters.len().max(4) as f64) {
                set(
                    experiment,
                    &format!("scheme.{}.{}", info.name, parameter.name),
                    dice.parameter(parameter),
                );
            }
        }
    }
}

/// Sets limits and marking thresholds of FIFO queues.
fn limits(dice: &mut Dice, _: &Around<'_>, experiment: &mut Table) {
    let mut queue = table([("kind", "fifo".into())]);
    let drawn = [
        ("limit", dice.size(1_000, 200_000)),
        ("packets", dice.number(1, 100)),
        ("mark", dice.size(1_000, 100_000)),
        ("mark_packets", dice.number(1, 60)),
    ];
    queue.extend(table(drawn.into_iter().filter(|_| dice.chance(0.4))));
    set(experiment, "scheme.queue", queue.into());
}

fn framing(_: &mut Dice, _: &Around<'_>, experiment: &mut Table) {
    set(experiment, "topology.framing", "ethernet".into());
}

fn ends(dice: &mut Dice, around: &Around<'_>) -> [Value; 2] {
    let (from, to) = dice.pick(around.links);
    [from, to].map(|node| Value::Integer(node.into()))
}

fn slow_links(dice: &mut Dice, around: &Around<'_>, experiment: &mut Table) {
    let slow = |dice: &mut Dice| {
        let [from, to] = ends(dice, around);
        let share: Value = (dice.between(1, 100) as f64 / 100.0).into();
        table([("from", from), ("to", to), ("share", share), ("both", dice.chance(0.5).into())])
    };
    let slow: Vec<Table> = (0..dice.between(1, 2)).map(|_| slow(dice)).collect();
    set(experiment, "topology.slow", slow.into());
}

fn cut_through(dice: &mut Dice, _: &Around<'_>, experiment: &mut Table) {
    set(experiment, "engine.cut_through", true.into());
    if dice.chance(0.3) {
        set(experiment, "engine.header", dice.size(1, 2_000));
    }
}

fn hellos(dice: &mut Dice, _: &Around<'_>, experiment: &mut Table) {
    set(experiment, "engine.discovery", "hello".into());
    set(experiment, "engine.hello_period", dice.span(US * 20, US * 200));
}

fn failures(dice: &mut Dice, around: &Around<'_>, experiment: &mut Table) {
    let failure = |dice: &mut Dice| {
        let at = dice.log_between(1, around.limit.as_ps());
        let [from, to] = ends(dice, around);
        let mut failure = table([("at", Duration::from_ps(at).to_string().into())]);
        match dice.chance(0.7) {
            true => failure.insert("link".into(), vec![from, to].into()),
            false => failure.insert("node".into(), from),
        };
        if dice.chance(0.8) {
            let repair = at + dice.log_between(1, around.limit.as_ps());
            failure.insert("repair".into(), Duration::from_ps(repair).to_string().into());
        }
        failure.insert("discovery".into(), dice.span(Duration::from_ns(1), US * 100));
        failure
    };
    let failures: Vec<Table> = (0..dice.between(1, 3)).map(|_| failure(dice)).collect();
    set(experiment, "failure", failures.into());
}

fn random_links(dice: &mut Dice, _: &Around<'_>, experiment: &mut Table) {
    let tier = dice.pick(&["uplink", "core"]);
    let random = table([("tier", tier.into()), ("links", dice.number(1, 2))]);
    let failure = table([("at", "0 ns".into()), ("random", random.into()), ("discovery", "0 ns".into())]);
    set(experiment, "failure", vec![failure].into());
}

fn faults(dice: &mut Dice, around: &Around<'_>, experiment: &mut Table) {
    let often = |dice: &mut Dice| Value::from(format!("{} / ms", dice.between(0, 10)));
    let faults = table([
        ("link_failures", often(dice)),
        ("node_failures", often(dice)),
        ("repair", dice.span(US, US * 100)),
        ("discovery", dice.span(Duration::from_ns(1), US * 100)),
        ("until", around.limit.to_string().into()),
    ]);
    set(experiment, "faults", faults.into());
}

fn errors(dice: &mut Dice, around: &Around<'_>, experiment: &mut Table) {
    let most = dice.pick(&[0.001, 0.02, 0.3]);
    let mut errors = table([("loss", dice.share(most)), ("corruption", dice.share(most))]);
    if dice.chance(0.3) {
        let links: Vec<Value> = (0..dice.between(1, 3)).map(|_| ends(dice, around).to_vec().into()).collect();
        errors.insert("links".into(), links.into());
    }
    if dice.chance(0.3) {
        errors.insert("until".into(), dice.span(US, around.limit));
    }
    set(experiment, "errors", errors.into());
}
