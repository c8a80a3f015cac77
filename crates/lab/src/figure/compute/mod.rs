//! `[compute]`: figures that show the numbers of a computation in place of the results of runs. Most submodules
//! implement a kind of computation. This file implements the throughput of oblivious routing.

mod allocation;
mod broadcast;
mod case;
mod controller;
mod flowlets;
mod forwarding_cost;
mod header_limits;
mod keys;
mod link_weights;
mod load_estimate;
mod messages;
mod parallel;
mod path_selection;
mod paths;
mod rate_computations;
mod rate_overhead;
mod rate_replay;
mod routes;
mod searches;
mod selection;

pub(crate) use keys::COMPUTE;

use super::runs::{Data, Run};
use crate::experiment::keys::{Key, Name, Tables};
use crate::experiment::{
    COMPUTES, Cause, Document, FIGURE_TABLES, FOLDER, Problem, ROOT, Section, TopologySpec,
};
use keys::{
    DIMS, FABRIC_LABEL, FABRIC_SEED, FABRIC_TOPOLOGY, FABRICS, KIND, PATTERN, PATTERN_LABEL, PATTERN_LIST,
    PATTERNS, PROTOCOL, SCHEME_LABEL, SCHEMES,
};
use raddle_core::{Duration, Rate};
use raddle_topology::builders::{self, BuildError};
use raddle_topology::routing::{Protocol, Routing, throughput_fraction};
use raddle_topology::{Hops, Topology};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The inputs of a computation, besides its section.
struct Context<'a> {
    /// The TOML document that contains the computation. It also has the registry of schemes, and the folder to which
    /// file names in the computation are relative.
    document: &'a Document,
    /// Number of threads that may share the work.
    threads: usize,
    /// If another thread sets this to true, a computation with an experiment ends early. Other computations run to
    /// their end.
    stop: &'a AtomicBool,
}

impl Context<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Reads the section `[compute]` of one kind of computation, makes the computation, and returns its runs.
type Compute = fn(&mut Section<'_>, &Context<'_>) -> Result<Vec<Run>, Problem>;

#[derive(Clone, Copy)]
struct Computation {
    compute: Compute,
    /// True if the file of the figure also describes an experiment, which the computation uses.
    has_experiment: bool,
}

impl Computation {
    const fn alone(compute: Compute) -> Self {
        Self { compute, has_experiment: false }
    }
}

const COMPUTATIONS: [(&str, Computation); 21] = [
    ("throughput-fraction", Computation::alone(|section, _| throughput(section))),
    ("allocation", Computation::alone(|section, _| allocation::rates(section))),
    ("broadcast-overhead", Computation::alone(|section, _| broadcast::overhead(section))),
    ("broadcast-load", Computation::alone(|section, _| broadcast::load(section))),
    ("controller-overhead", Computation::alone(|section, _| controller::overhead(section))),
    (
        "rate-overhead",
        Computation::alone(|section, context| rate_overhead::measure(section, context.document)),
    ),
    ("counted-flows", Computation::alone(|section, context| rate_overhead::count(section, context.document))),
    ("rate-computations", Computation { compute: rate_computations::count, has_experiment: true }),
    ("rate-replay", Computation { compute: rate_replay::measure, has_experiment: true }),
    ("forwarding-cost", Computation { compute: forwarding_cost::measure, has_experiment: true }),
    ("selection", Computation::alone(|section, context| selection::compare(section, context.threads))),
    ("searches", Computation::alone(|section, context| searches::compare(section, context.threads))),
    (
        "search-landscape",
        Computation::alone(|section, context| searches::count_maxima(section, context.threads)),
    ),
    ("header-limits", Computation::alone(|section, _| header_limits::read_off(section))),
    ("paths", Computation::alone(paths::count)),
    ("load-estimate", Computation::alone(|section, _| load_estimate::follow(section))),
    ("path-selection", Computation { compute: path_selection::measure, has_experiment: true }),
    ("flowlets", Computation { compute: flowlets::measure, has_experiment: true }),
    ("routes", Computation::alone(routes::measure)),
    ("link-weights", Computation::alone(link_weights::measure)),
    ("messages", Computation::alone(|section, _| messages::measure(section))),
];

/// Makes the computation of a figure with `[compute]`, and returns its results as runs; `None` if the figure has no
/// `[compute]`. `threads` is the number of threads that may share the work. A computation with an experiment ends early
/// if `stop` is set.
pub(super) fn compute(
    document: &Document,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Option<Vec<Run>>, Problem> {
    let mut root = Section::new(&document.root, &ROOT);
    let Some(mut section) = root.section(&COMPUTES)? else { return Ok(None) };
    let kind = section.choose(&KIND, &COMPUTATIONS)?;
    if !kind.has_experiment {
        root.item(&FOLDER);
        for key in FIGURE_TABLES {
            root.item(key);
        }
        root.finish()?;
    }
    let runs = (kind.compute)(&mut section, &Context { document, threads, stop })?;
    section.finish()?;
    Ok(Some(runs))
}

/// A run with these pairs of sweep and label.
fn run(labels: &[(&str, &str)], data: Data) -> Run {
    Run { labels: labels.iter().map(|&(sweep, label)| (sweep.to_owned(), label.to_owned())).collect(), data }
}

/// The tables of the list at `key`, which is required.
fn needed<'a>(section: &mut Section<'a>, key: &Key<Tables>) -> Result<Vec<Section<'a>>, Problem> {
    if section.has(key) { section.sections(key) } else { Err(section.missing(key)) }
}

/// Builds the grid with the section's `dims`, a torus or a mesh according to `build`. Rates and delays are arbitrary,
/// since no computation on grids depends on them.
fn grid(section: &mut Section<'_>, build: Build) -> Result<Topology, Problem> {
    let dims = section.read(&DIMS)?;
    build(&dims, Rate::from_gbps(1), Duration::ZERO).map_err(|error| {
        let hint = "for example: dims = [8, 8]".to_owned();
        Problem::at(section.at_key(&DIMS), Cause::OutOfRange { what: error.to_string(), hint })
    })
}

/// The topologies of the key `fabrics`, each with its label.
fn fabrics(
    section: &mut Section<'_>,
    context: &Context<'_>,
) -> Result<Vec<(String, Arc<Topology>)>, Problem> {
    let files = context.document.files()?;
    let mut fabrics = Vec::new();
    for mut fabric in needed(section, &FABRICS)? {
        let label = fabric.read(&FABRIC_LABEL)?;
        let Some(topology) = fabric.section(&FABRIC_TOPOLOGY)? else {
            return Err(fabric.missing(&FABRIC_TOPOLOGY));
        };
        let seed = fabric.read(&FABRIC_SEED)?;
        let topology = TopologySpec::read(topology, &files, &context.document.registry)?.0.build(seed)?;
        fabric.finish()?;
        fabrics.push((label, topology));
    }
    Ok(fabrics)
}

/// The builder of a torus or a mesh.
type Build = fn(&[u32], Rate, Duration) -> Result<Topology, BuildError>;

/// Mean number of hops between nodes of a section's grid, as computed by `mean`. The grid must have at least two nodes.
fn mean_hops(
    section: &Section<'_>,
    topology: &Topology,
    mean: fn(&Hops) -> Option<f64>,
) -> Result<f64, Problem> {
    mean(&Hops::of(topology)).filter(|&hops| hops > 0.0).ok_or_else(|| {
        let what = "the topology must have at least two nodes".to_owned();
        let hint = "for example: dims = [8, 8]".to_owned();
        Problem::at(section.at_key(&DIMS), Cause::OutOfRange { what, hint })
    })
}

/// The routing of a torus with the section's `dims` and links of 1 Gb/s.
fn torus(section: &mut Section<'_>) -> Result<Routing, Problem> {
    Ok(Routing::new(Arc::new(grid(section, builders::torus)?)))
}

/// The routing protocols of the key `schemes`, with their labels.
fn schemes(section: &mut Section<'_>) -> Result<Vec<(String, Protocol)>, Problem> {
    let mut schemes = Vec::new();
    for mut scheme in needed(section, &SCHEMES)? {
        schemes.push((scheme.read(&SCHEME_LABEL)?, protocol(&mut scheme, &PROTOCOL)?));
        scheme.finish()?;
    }
    Ok(schemes)
}

/// The routing protocol that `key` names.
fn protocol(section: &mut Section<'_>, key: &Key<Name>) -> Result<Protocol, Problem> {
    let names: Vec<(String, Protocol)> =
        Protocol::all().map(|protocol| (protocol.to_string(), protocol)).collect();
    let names: Vec<(&str, Protocol)> =
        names.iter().map(|(name, protocol)| (name.as_str(), *protocol)).collect();
    section.choose(key, &names)
}

/// The throughput of every scheme under every traffic pattern on a torus, as a fraction of the torus's capacity.
/// [`throughput_fraction`] defines the capacity.
fn throughput(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let routing = torus(section)?;
    let schemes = schemes(section)?;
    let mut patterns = Vec::new();
    for mut pattern in needed(section, &PATTERN_LIST)? {
        patterns.push((pattern.read(&PATTERN_LABEL)?, pattern.choose(&PATTERN, &PATTERNS)?));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::runs::Labels;

    /// The labels and numbers of the computation in the file `text`.
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
