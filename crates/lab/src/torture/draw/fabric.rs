//! Draws the section `[topology]` of an experiment.

use super::dice::Dice;
use super::table;
use crate::experiment::topology_kinds;
use raddle_core::Duration;
use raddle_schemes::registry::Registry;
use toml::{Table, Value};

/// The kind of a fabric that is read from a file. It is not drawn, since an experiment here is a single file. The
/// parsers of such files are fuzzed separately.
const IN_FILES: &str = "file";

/// The kinds of fabric that can be drawn.
pub(super) fn kinds(registry: &Registry) -> Vec<&'static str> {
    let own = topology_kinds().map(|(name, _)| name).filter(|&name| name != IN_FILES);
    own.chain(registry.topologies().iter().map(|kind| kind.info.name)).collect()
}

/// A small fabric of the kind `kind`.
pub(super) fn draw(dice: &mut Dice, kind: &str, registry: &Registry) -> Table {
    let mut fabric = table([("kind", kind.into())]);
    if let Some(other) = registry.topologies().iter().find(|other| other.info.name == kind) {
        let drawn = other.info.parameters.iter().map(|parameter| (parameter.name, dice.parameter(parameter)));
        fabric.extend(table(drawn));
        return fabric;
    }
    fabric.insert("link_rate".into(), dice.rate());
    // Threads synchronize once per propagation delay, so short delays make runs slow. With a delay of 0 only one thread
    // runs.
    let delay = match dice.below(20) {
        0 => "0 ns".into(),
        1 => dice.span(Duration::from_ps(1), Duration::from_ns(100)),
        _ => dice.span(Duration::from_ns(100), Duration::from_us(20)),
    };
    fabric.insert("link_delay".into(), delay);
    fabric.extend(sizes(dice, kind));
    if let Some((key, _)) = RATES.iter().find(|(_, kinds)| kinds.contains(&kind)).filter(|_| dice.chance(0.3))
    {
        fabric.insert((*key).into(), dice.rate());
    }
    fabric
}

/// Optional keys of rates besides `link_rate`, and the kinds of fabric that have these keys.
const RATES: [(&str, &[&str]); 2] =
    [("uplink_rate", &["folded_clos", "fat_tree", "clos"]), ("bottleneck_rate", &["dumbbell"])];

/// Draws the keys that give the size of a fabric of this `kind`. A kind that this function does not list gets no keys.
/// If such a kind needs a key, `Document::prepare` refuses the fabric.
#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
fn sizes(dice: &mut Dice, kind: &str) -> Table {
    let mut numbers = |keys: &[(&'static str, u64, u64)]| {
        table(keys.iter().map(|&(key, least, most)| (key, dice.number(least, most))))
    };
    match kind {
        "torus" | "mesh" => {
            let dims = dice.between(1, 3);
            let most = [12, 5, 3][dims as usize - 1];
            let dims: Vec<Value> = (0..dims).map(|_| dice.number(2, most)).collect();
            table([("dims", dims.into())])
        }
        "hypercube" => numbers(&[("dimensions", 1, 4)]),
        "folded_clos" => numbers(&[("leaves", 1, 4), ("spines", 1, 4), ("hosts_per_leaf", 1, 4)]),
        "fat_tree" => table([("k", Value::Integer(if dice.chance(0.3) { 2 } else { 4 }))]),
        "clos" => numbers(&[
            ("pods", 1, 3),
            ("edges_per_pod", 1, 2),
            ("aggregations_per_pod", 1, 3),
            ("cores_per_plane", 1, 2),
            ("hosts_per_edge", 1, 3),
        ]),
        "xgft" => {
            let levels = dice.between(1, 3);
            let mut level = |most| (0..levels).map(|_| dice.number(1, most)).collect::<Vec<Value>>();
            table([("children", level(3).into()), ("parents", level(2).into())])
        }
        "k_ary_n_tree" => numbers(&[("k", 1, 3), ("n", 1, 3)]),
        "bcube" => numbers(&[("n", 2, 3), ("k", 0, 2)]),
        "jellyfish" => {
            let network = dice.between(2, 4);
            let switches = dice.number(network + 1, 8);
            let ports = dice.number(network + 1, network + 2);
            table([("switches", switches), ("network_ports", (network as i64).into()), ("ports", ports)])
        }
        "dumbbell" => numbers(&[("left", 1, 5), ("right", 1, 5)]),
        "single_switch" => numbers(&[("hosts", 2, 12)]),
        _ => Table::new(),
    }
}
