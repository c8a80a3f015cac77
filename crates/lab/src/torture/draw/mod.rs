//! Draws an experiment from its seed: a transport and a routing of the registry, a fabric and ports that suit them,
//! flows, and optional parts. An experiment is built part by part. A part is left out if `Document::prepare` refuses
//! the experiment with this part.

mod dice;
mod extras;
mod fabric;
mod flows;
#[cfg(test)]
mod tests;

use super::{Bench, parse};
use dice::Dice;
use extras::{Around, EXTRAS};
use raddle_core::Duration;
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::{Make, Transport};
use raddle_topology::Topology;
use std::sync::Arc;
use toml::{Table, Value};

/// Maximum number of combinations to try for a transport and a routing. A combination is a fabric with a choice of
/// queues, flow control and congestion points.
const ATTEMPTS: u32 = 600;

/// An experiment that `Document::prepare` accepts, if one was found, and counts of the parts that the draw tried to
/// add.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) experiment: Option<Table>,
    /// Number of parts, besides the fabric and the scheme, that the draw tried to add.
    pub(super) offered: u64,
    /// Number of these parts that were left out because `Document::prepare` refused them.
    pub(super) refused: u64,
}

/// Draws the experiment of `seed`. Each experiment is stored in `bench` while it is checked.
pub(super) fn draw(seed: u64, registry: &Arc<Registry>, bench: &Bench) -> Drawn {
    let mut dice = Dice::new(seed);
    let mut drawing = Drawing { registry, bench, drawn: Drawn::default() };
    let transport = dice.pick(registry.transports());
    let routing = dice.pick(&registry.routings_of(&transport));
    let Some((mut experiment, topology)) = drawing.world(&mut dice, &transport, routing, seed) else {
        return drawing.drawn;
    };
    let hosts: Vec<u32> = topology.hosts().map(|host| host.0).collect();
    for _ in 0..4 {
        let mut with_flows = experiment.clone();
        with_flows.insert("workload".into(), flows::draw(&mut dice, &hosts).into());
        if drawing.accepts(&with_flows) {
            experiment = with_flows;
            break;
        }
    }
    let limit = if dice.chance(0.05) { Duration::from_ms(20) } else { Duration::from_us(400) };
    let limit = Duration::from_ps(dice.log_between(Duration::from_us(20).as_ps(), limit.as_ps()));
    set(&mut experiment, "engine.time_limit", limit.to_string().into());
    let links: Vec<_> = topology.links().map(|(_, link)| (link.from.0, link.to.0)).collect();
    let around = Around { registry, links: &links, limit };
    for (probability, extra) in EXTRAS {
        if dice.chance(probability) {
            let mut with_more = experiment.clone();
            extra(&mut dice, &around, &mut with_more);
            if drawing.accepts(&with_more) {
                experiment = with_more;
            }
        }
    }
    drawing.drawn.experiment = Some(experiment);
    drawing.drawn
}

struct Drawing<'a> {
    registry: &'a Arc<Registry>,
    bench: &'a Bench,
    drawn: Drawn,
}

impl Drawing<'_> {
    /// The fabric of the experiment; `None` if `Document::prepare` refuses the experiment.
    fn fabric(&self, experiment: &Table) -> Option<Arc<Topology>> {
        self.bench.put(experiment);
        let prepared = parse(experiment, self.registry).and_then(|document| document.prepare());
        prepared.ok().map(|prepared| prepared.topology)
    }

    /// True if `Document::prepare` accepts the experiment, to which one more part has been added.
    fn accepts(&mut self, experiment: &Table) -> bool {
        self.drawn.offered += 1;
        let accepted = self.fabric(experiment).is_some();
        self.drawn.refused += u64::from(!accepted);
        accepted
    }

    /// An experiment with a single flow, on a fabric and with ports that suit `transport` and `routing`, and the
    /// fabric. `None` if no such fabric was found.
    fn world(
        &mut self,
        dice: &mut Dice,
        transport: &Transport,
        routing: &str,
        seed: u64,
    ) -> Option<(Table, Arc<Topology>)> {
        let kinds = dice.shuffled(fabric::kinds(self.registry));
        for attempt in 0..ATTEMPTS {
            let kind = kinds[attempt as usize % kinds.len()];
            let mut experiment = Table::new();
            experiment.insert("topology".into(), fabric::draw(dice, kind, self.registry).into());
            // TOML integers are signed, so a shift makes room for the sign: the lowest bit of the seed is dropped.
            set(&mut experiment, "engine.seed", Value::Integer((seed >> 1) as i64));
            if matches!(transport.make, Make::Fluid { .. })
                || (transport.fluid.is_some() && dice.chance(0.05))
            {
                set(&mut experiment, "engine.kind", "flow".into());
            }
            let mut scheme = ports(dice, self.registry);
            scheme.insert("transport".into(), transport.info.name.into());
            scheme.insert("routing".into(), routing.into());
            experiment.insert("scheme".into(), scheme.into());
            let document = parse(&experiment, self.registry).ok()?;
            let Ok(topology) = document.topology() else { continue };
            let hosts: Vec<u32> = topology.hosts().map(|host| host.0).collect();
            if hosts.len() < 2 {
                continue;
            }
            experiment.insert("workload".into(), flows::simplest(&hosts).into());
            if let Some(topology) = self.fabric(&experiment) {
                return Some((experiment, topology));
            }
        }
        None
    }
}

/// Queues, flow control and congestion points of the registry, chosen at random. Each of the three is often left out.
fn ports(dice: &mut Dice, registry: &Registry) -> Table {
    let mut ports = Table::new();
    let mut choose =
        |dice: &mut Dice, key: &str, names: Vec<&'static str>, wrap: fn(&'static str) -> Value| {
            if !names.is_empty() && dice.chance(0.3) {
                ports.insert(key.into(), wrap(dice.pick(&names)));
            }
        };
    let queues = registry.queues().iter().map(|part| part.info.name).collect();
    choose(dice, "queue", queues, |kind| table([("kind", kind.into())]).into());
    let flow_controls = registry.flow_controls().iter().map(|part| part.info.name).collect();
    choose(dice, "flow_control", flow_controls, Into::into);
    let points = registry.congestion_points().iter().map(|part| part.info.name).collect();
    choose(dice, "congestion_points", points, Into::into);
    ports
}

fn table<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Sets a dotted key, and creates missing tables on the way.
fn set(root: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            root.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = root.entry(first).or_insert_with(|| Table::new().into());
            if let Value::Table(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}
