//! Figures that no experiment stands behind: throughput of oblivious routing, allocations of small examples, the bytes of
//! control traffic, the limits of headers, paths, routes and link weights of fabrics, messages of programs, the time that computations and
//! forwarders' decisions take, and the assignments that routing selection finds.

mod broadcast;
mod controller;
mod forwarding_cost;
mod header_limits;
mod link_weights;
mod messages;
mod paths;
mod rate_overhead;
mod rate_replay;
mod routes;
mod selection;

use super::runs::{Data, Run};
use crate::experiment::{Cause, Document, Files, Item, Problem, Section, TopologySpec, Value, list};
use raddle_allocate::{Allocate, Flows, WaterFill};
use raddle_core::{Duration, Rate};
use raddle_topology::builders::{self, BuildError};
use raddle_topology::routing::{Pattern, Protocol, Routing, throughput_fraction};
use raddle_topology::{Hops, Topology};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PATTERNS: [(&str, Pattern); 6] = [
    ("nearest-neighbour", Pattern::NearestNeighbour),
    ("uniform", Pattern::Uniform),
    ("bit-complement", Pattern::BitComplement),
    ("transpose", Pattern::Transpose),
    ("tornado", Pattern::Tornado),
    ("worst-case", Pattern::WorstCase),
];

/// The inputs of a computation beside its section.
struct Context<'a> {
    /// The document of the computation: the folder of the files that it names, and the schemes.
    document: &'a Document,
    /// Number of threads that may share the work.
    threads: usize,
    /// Set from outside, it ends the work early.
    stop: &'a AtomicBool,
}

impl Context<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A kind of computation: what it gives, read from its section.
type Compute = fn(&mut Section<'_>, &Context<'_>) -> Result<Vec<Run>, Problem>;

#[derive(Clone, Copy)]
struct Kind {
    compute: Compute,
    /// The figure's file is an experiment's, too.
    has_experiment: bool,
}

impl Kind {
    const fn alone(compute: Compute) -> Self {
        Self { compute, has_experiment: false }
    }
}

const KINDS: [(&str, Kind); 14] = [
    ("throughput-fraction", Kind::alone(|section, _| throughput(section))),
    ("allocation", Kind::alone(|section, _| allocation(section))),
    ("broadcast-overhead", Kind::alone(|section, _| broadcast::overhead(section))),
    ("broadcast-load", Kind::alone(|section, _| broadcast::load(section))),
    ("controller-overhead", Kind::alone(|section, _| controller::overhead(section))),
    ("rate-overhead", Kind::alone(|section, context| rate_overhead::measure(section, context.document))),
    ("rate-replay", Kind { compute: rate_replay::measure, has_experiment: true }),
    ("forwarding-cost", Kind { compute: forwarding_cost::measure, has_experiment: true }),
    ("selection", Kind::alone(|section, context| selection::compare(section, context.threads))),
    ("header-limits", Kind::alone(|section, _| header_limits::read_off(section))),
    ("paths", Kind::alone(paths::count)),
    ("routes", Kind::alone(routes::measure)),
    ("link-weights", Kind::alone(link_weights::measure)),
    ("messages", Kind::alone(|section, _| messages::measure(section))),
];

/// The numbers of a computed figure, a run each; `threads` share the work, which ends early if `stop` is set.
pub(super) fn compute(
    document: &Document,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Option<Vec<Run>>, Problem> {
    let mut root = Section::new(&document.root, "");
    let Some(mut section) = root.section("compute")? else { return Ok(None) };
    let kind = section.choice("kind", "computation", &KINDS, None)?;
    if !kind.has_experiment {
        for key in ["figure", "plot", "claim", "scale"] {
            root.item(key);
        }
        root.finish()?;
    }
    let runs = (kind.compute)(&mut section, &Context { document, threads, stop })?;
    section.finish()?;
    Ok(Some(runs))
}

/// A run of these sweeps' labels.
fn run(labels: &[(&str, &str)], data: Data) -> Run {
    Run { labels: labels.iter().map(|&(sweep, label)| (sweep.to_owned(), label.to_owned())).collect(), data }
}

/// The elements of a list that must be there.
fn needed<'a>(section: &mut Section<'a>, key: &str, example: &str) -> Result<&'a [Item], Problem> {
    match section.item(key) {
        Some(item) => list(item),
        None => Err(section.missing(key, example)),
    }
}

/// The grid of a section's `dims`, around which it is a torus or not. Rates and delays do not matter.
fn grid(section: &mut Section<'_>, build: Build) -> Result<Topology, Problem> {
    let dims: Vec<u32> = section.required("dims")?;
    let some = !dims.is_empty() && !dims.contains(&0);
    section.ensure(some, "dims", "a grid without nodes", "for example: dims = [8, 8]")?;
    build(&dims, Rate::from_gbps(1), Duration::ZERO).map_err(|error| {
        let hint = "for example: dims = [8, 8]".to_owned();
        Problem::at(section.at_key("dims"), Cause::OutOfRange { what: error.to_string(), hint })
    })
}

/// The fabrics of the key `fabrics`, each a topology with a label.
fn fabrics(
    section: &mut Section<'_>,
    context: &Context<'_>,
) -> Result<Vec<(String, Arc<Topology>)>, Problem> {
    let files = Files::new(&context.document.folder);
    let mut fabrics = Vec::new();
    for item in needed(section, "fabrics", "[{ label = \"k = 4\", topology = { kind = \"fat_tree\", … } }]")?
    {
        let mut fabric = Section::of(item, "compute.fabrics")?;
        let label = fabric.required("label")?;
        let Some(topology) = fabric.section("topology")? else {
            return Err(fabric.missing("topology", "{ kind = \"fat_tree\", k = 4, … }"));
        };
        let seed = fabric.or("seed", 1)?;
        let topology = TopologySpec::read(topology, &files, &context.document.registry)?.0.build(seed)?;
        fabric.finish()?;
        fabrics.push((label, topology));
    }
    Ok(fabrics)
}

/// The builder of a torus or a mesh.
type Build = fn(&[u32], Rate, Duration) -> Result<Topology, BuildError>;

/// Mean hops between nodes of a section's grid, by `mean`, which needs two nodes.
fn mean_hops(
    section: &Section<'_>,
    topology: &Topology,
    mean: fn(&Hops) -> Option<f64>,
) -> Result<f64, Problem> {
    mean(&Hops::of(topology)).filter(|&hops| hops > 0.0).ok_or_else(|| {
        let what = "one node has nobody to talk to".to_owned();
        let hint = "for example: dims = [8, 8]".to_owned();
        Problem::at(section.at_key("dims"), Cause::OutOfRange { what, hint })
    })
}

/// The torus of the key `dims`, with links of 1 Gbps.
fn torus(section: &mut Section<'_>) -> Result<Routing, Problem> {
    Ok(Routing::new(Arc::new(grid(section, builders::torus)?)))
}

/// The routing protocols of the key `schemes`, with their labels.
fn schemes(section: &mut Section<'_>) -> Result<Vec<(String, Protocol)>, Problem> {
    let mut schemes = Vec::new();
    for item in needed(section, "schemes", "[{ label = \"RPS\", protocol = \"romm\" }]")? {
        let mut scheme = Section::of(item, "compute.schemes")?;
        schemes.push((scheme.required("label")?, protocol(&mut scheme)?));
        scheme.finish()?;
    }
    Ok(schemes)
}

/// The routing protocol of the key `protocol`.
fn protocol(section: &mut Section<'_>) -> Result<Protocol, Problem> {
    let names: Vec<(String, Protocol)> =
        Protocol::all().map(|protocol| (protocol.to_string(), protocol)).collect();
    let names: Vec<(&str, Protocol)> =
        names.iter().map(|(name, protocol)| (name.as_str(), *protocol)).collect();
    section.choice("protocol", "routing protocol", &names, None)
}

/// Every scheme under every pattern on a torus.
fn throughput(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let routing = torus(section)?;
    let schemes = schemes(section)?;
    let mut patterns = Vec::new();
    for item in needed(section, "patterns", "[{ label = \"UR\", pattern = \"uniform\" }]")? {
        let mut pattern = Section::of(item, "compute.patterns")?;
        let label: String = pattern.required("label")?;
        patterns.push((label, pattern.choice("pattern", "pattern", &PATTERNS, None)?));
        pattern.finish()?;
    }
    let mut runs = Vec::new();
    for (scheme, protocol) in &schemes {
        for (label, pattern) in &patterns {
            let fraction = throughput_fraction(&routing, *protocol, *pattern);
            runs.push(run(&[("scheme", scheme), ("pattern", label)], Data::Number(fraction)));
        }
    }
    Ok(runs)
}

/// Max-min rates of small examples: capacities by link, and cases of flows with their splits.
fn allocation(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let mut links = Vec::new();
    for item in needed(section, "links", "[{ label = \"1->4\", capacity = 1 }]")? {
        let mut link = Section::of(item, "compute.links")?;
        links.push((link.required::<String>("label")?, link.required::<f64>("capacity")?));
        link.finish()?;
    }
    let capacities: Vec<f64> = links.iter().map(|&(_, capacity)| capacity).collect();
    let mut runs = Vec::new();
    for item in needed(section, "cases", "[{ label = \"…\", flows = […] }]")? {
        let mut case = Section::of(item, "compute.cases")?;
        let label: String = case.required("label")?;
        let mut flows = Flows::default();
        let mut names: Vec<String> = Vec::new();
        for item in needed(&mut case, "flows", "[{ label = \"f1\", split = { \"1->4\" = 1 } }]")? {
            let mut flow = Section::of(item, "compute.cases.flows")?;
            names.push(flow.required("label")?);
            let weight = flow.or("weight", 1.0)?;
            let row = split(flow.item("split"), item, &links)?;
            flows.push(weight, 0, f64::INFINITY, row);
            flow.finish()?;
        }
        case.finish()?;
        let mut rates = Vec::new();
        WaterFill::default().allocate(&flows, &capacities, &mut rates);
        let rates = names.iter().zip(rates);
        runs.extend(rates.map(|(flow, rate)| run(&[("case", &label), ("flow", flow)], Data::Number(rate))));
    }
    Ok(runs)
}

fn split(split: Option<&Item>, flow: &Item, links: &[(String, f64)]) -> Result<Vec<(u32, f32)>, Problem> {
    let Some(Item { value: Value::Table(table), .. }) = split else {
        let cause =
            Cause::WrongType { expected: "a flow with split = { \"1->4\" = 1 }", found: flow.value.kind() };
        return Err(Problem::at(&flow.at, cause));
    };
    let mut row = Vec::new();
    for entry in &table.entries {
        let Some(link) = links.iter().position(|(label, _)| *label == entry.key) else {
            let known = links.iter().map(|(label, _)| label.clone()).collect();
            let cause = Cause::UnknownName { what: "link", name: entry.key.clone(), known };
            return Err(Problem::at(&entry.key_at, cause));
        };
        let share = match entry.item.value {
            Value::Float(share) => share,
            Value::Integer(share) => share as f64,
            ref other => {
                let cause = Cause::WrongType { expected: "a share", found: other.kind() };
                return Err(Problem::at(&entry.item.at, cause));
            }
        };
        row.push((u32::try_from(link).expect("few links"), share as f32));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::runs::Labels;

    /// The labels and numbers of a file's computation.
    pub(super) fn numbers(text: &str) -> Result<Vec<(Labels, f64)>, Problem> {
        let document = Document::parse("test.toml", text.to_owned(), "".into())?;
        let runs = compute(&document, 1, &false.into())?.unwrap_or_default();
        let number = |run: Run| match run.data {
            Data::Number(number) => (run.labels, number),
            _ => panic!("no computed number"),
        };
        Ok(runs.into_iter().map(number).collect())
    }
}
