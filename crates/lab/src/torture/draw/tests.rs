use super::*;
use crate::experiment::workload_names as names;
use std::collections::BTreeSet;

/// Collects in `found` all strings that are values in an experiment.
fn words(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(word) => drop(found.insert(word.clone())),
        Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        Value::Table(table) => table.values().for_each(|item| words(item, found)),
        _ => {}
    }
}

/// New schemes, fabrics and kinds of workload are drawn automatically. If a new kind needs keys that no code draws,
/// `Document::prepare` refuses every experiment with this kind, and the test fails.
#[test]
fn everything_that_can_be_named_is_drawn() {
    let registry = Arc::new(Registry::builtin());
    let mut found = BTreeSet::new();
    let (mut offered, mut refused, mut none) = (0, 0, Vec::new());
    for seed in 0..3_000 {
        let drawn = draw(seed, &registry, &Bench::default());
        offered += drawn.offered;
        refused += drawn.refused;
        match drawn.experiment {
            Some(experiment) => words(&Value::Table(experiment), &mut found),
            None => {
                // Repeats the first two choices of `draw`: the transport and the routing for which it found no fabric.
                let mut dice = Dice::new(seed);
                let transport = dice.pick(registry.transports());
                none.push((transport.info.name, dice.pick(&registry.routings_of(&transport))));
            }
        }
    }
    let schemes = registry.schemes().map(|info| info.name);
    let own = registry.transports().iter().flat_map(|transport| registry.routings_of(transport));
    let roles = ["arrivals", "sizes", "pairs", "process", "deadlines"];
    let kinds = roles.into_iter().flat_map(names).filter(|&name| name != "cdf");
    let all = schemes.chain(own).chain(fabric::kinds(&registry)).chain(kinds);
    let missing: BTreeSet<_> = all.filter(|&name| !found.contains(name)).collect();
    assert!(missing.is_empty(), "never drawn: {missing:?}");
    // Switch AR needs the congestion points of QCN, but DCQCN uses other congestion points.
    none.retain(|&pair| pair != ("dcqcn", "switch-ar"));
    assert!(none.is_empty(), "no fabric was found for {none:?}");
    assert!(refused * 2 < offered, "{refused} of {offered} parts were refused");
}

#[test]
fn a_seed_draws_one_experiment() {
    let registry = Arc::new(Registry::builtin());
    let of = |seed| draw(seed, &registry, &Bench::default()).experiment;
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}
