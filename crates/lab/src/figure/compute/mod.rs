//! `[compute]`: figures that show the numbers of a computation in place of the results of runs. Most submodules
//! implement a kind of computation. This file implements the throughput of oblivious routing and the allocation of
//! rates.

mod broadcast;
mod controller;
mod forwarding_cost;
mod header_limits;
mod keys;
mod link_weights;
mod load_estimate;
mod messages;
mod path_selection;
mod paths;
mod rate_overhead;
mod rate_replay;
mod routes;
mod searches;
mod selection;

pub(crate) use keys::COMPUTE;

use super::runs::{Data, Run};
use crate::experiment::keys::{Key, Name, Tables};
use crate::experiment::{
    COMPUTES, Cause, Document, FIGURE_TABLES, FOLDER, Item, Problem, ROOT, Read, Section, TopologySpec,
    Value, list,
};
use keys::{
    CAPACITY, CASE_FLOWS, CASE_LABEL, CASES, DIMS, FABRIC_LABEL, FABRIC_SEED, FABRIC_TOPOLOGY, FABRICS,
    FLOW_LABEL, KIND, LINK_LABEL, LINKS, OTHERS, PATTERN, PATTERN_LABEL, PATTERN_LIST, PATTERNS, PROTOCOL,
    SCHEME_LABEL, SCHEMES, SPLIT, WEIGHT,
};
use raddle_allocate::selection::{self as choice, Genetic, Objective, Search, Utility};
use raddle_allocate::{Allocate, Flows, WaterFill};
use raddle_core::{Duration, Rate, Stream};
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

const COMPUTATIONS: [(&str, Computation); 18] = [
    ("throughput-fraction", Computation::alone(|section, _| throughput(section))),
    ("allocation", Computation::alone(|section, _| allocation(section))),
    ("broadcast-overhead", Computation::alone(|section, _| broadcast::overhead(section))),
    ("broadcast-load", Computation::alone(|section, _| broadcast::load(section))),
    ("controller-overhead", Computation::alone(|section, _| controller::overhead(section))),
    (
        "rate-overhead",
        Computation::alone(|section, context| rate_overhead::measure(section, context.document)),
    ),
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

/// Max-min rates of small examples. The section gives the capacity of each link, and the flows of each example with
/// their splits over links. If flows have several splits, the sweep `chosen` gives the place of the split that a search
/// chose for each flow, from 1.
fn allocation(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let mut links = Vec::new();
    for mut link in needed(section, &LINKS)? {
        links.push((link.read(&LINK_LABEL)?, link.read(&CAPACITY)?));
        link.finish()?;
    }
    let capacities: Vec<f64> = links.iter().map(|&(_, capacity)| capacity).collect();
    let mut runs = Vec::new();
    for mut case in needed(section, &CASES)? {
        let label = case.read(&CASE_LABEL)?;
        let (mut names, mut weights, mut splits) = (Vec::new(), Vec::new(), Vec::new());
        for mut flow in needed(&mut case, &CASE_FLOWS)? {
            names.push(flow.read(&FLOW_LABEL)?);
            weights.push(flow.read(&WEIGHT)?);
            splits.push(splits_of(&mut flow, &links)?);
            flow.finish()?;
        }
        let chosen = choose(&capacities, &weights, &splits).map_err(|error| {
            case.contradiction(
                &CASE_FLOWS,
                error.to_string(),
                "give each flow few splits, none of them empty",
            )
        })?;
        case.finish()?;
        let mut flows = Flows::default();
        for ((&weight, splits), &chosen) in weights.iter().zip(&splits).zip(&chosen) {
            flows.push(weight, 0, f64::INFINITY, splits[chosen].iter().copied());
        }
        let mut rates = Vec::new();
        WaterFill::default().allocate(&flows, &capacities, &mut rates);
        for (((flow, rate), splits), chosen) in names.iter().zip(rates).zip(&splits).zip(chosen) {
            runs.push(run(&[("case", &label), ("flow", flow)], Data::Number(rate)));
            if splits.len() > 1 {
                let place = (chosen + 1) as f64;
                runs.push(run(&[("case", &label), ("chosen", flow)], Data::Number(place)));
            }
        }
    }
    Ok(runs)
}

/// Expected traversals of links.
type Row = Vec<(u32, f32)>;

/// The place of each flow's split that maximises the sum of rates, as the genetic search finds it. The search begins with
/// the first splits, and without the assignments of splits at one place to all flows.
fn choose(
    capacities: &[f64],
    weights: &[f64],
    splits: &[Vec<Row>],
) -> Result<Vec<usize>, choice::SelectionError> {
    if splits.iter().all(|splits| splits.len() == 1) {
        return Ok(vec![0; splits.len()]);
    }
    let problem = choice::Problem::of_splits(capacities, weights, splits)?;
    let search = Genetic { uniform: false, ..Genetic::default() };
    let mut objective = Objective::new(&problem, Utility::Aggregate);
    let found =
        search.search(&mut objective, &problem.uniform(0), &mut Stream::new(1, 0, "figure/allocation"));
    let places = found.assignment.iter().zip(splits);
    Ok(places.map(|(&place, splits)| usize::from(place) % splits.len()).collect())
}

/// The flow's splits: that of the key `split`, then those of the key `others`.
fn splits_of(flow: &mut Section<'_>, links: &[(String, f64)]) -> Result<Vec<Row>, Problem> {
    let first = flow.item(&SPLIT).ok_or_else(|| flow.missing(&SPLIT))?;
    let others = flow.item(&OTHERS).map(list).transpose()?.unwrap_or_default();
    std::iter::once(first).chain(others).map(|split| read_split(split, links)).collect()
}

#[allow(clippy::cast_possible_truncation, reason = "an `f32` is precise enough for a share")]
fn read_split(split: &Item, links: &[(String, f64)]) -> Result<Row, Problem> {
    let Value::Table(table) = &split.value else {
        let cause = Cause::WrongType { expected: "a table of shares", found: split.value.kind().to_owned() };
        return Err(Problem::at(&split.at, cause));
    };
    let mut row = Vec::new();
    for entry in &table.entries {
        let Some(link) = links.iter().position(|(label, _)| *label == entry.key) else {
            let known = links.iter().map(|(label, _)| label.clone()).collect();
            let cause = Cause::UnknownName { what: "link", name: entry.key.clone(), known };
            return Err(Problem::at(&entry.key_at, cause));
        };
        let share = f64::read(&entry.item)?;
        row.push((u32::try_from(link).expect("there must be fewer than 2^32 links"), share as f32));
    }
    Ok(row)
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

    #[test]
    fn a_search_chooses_among_splits() {
        let text = r#"[compute]
kind = "allocation"
links = [{ label = "a", capacity = 1 }, { label = "b", capacity = 2 }]
[[compute.cases]]
label = "one"
flows = [
    { label = "f", split = { a = 1 } },
    { label = "g", split = { a = 1 }, others = [{ a = 1, b = 1 }, { b = 1 }] },
]
"#;
        let labels = |labels: Labels| labels[1].1.clone() + "/" + &labels[1].0;
        let found: Vec<_> =
            numbers(text).expect("rates").into_iter().map(|(of, number)| (labels(of), number)).collect();
        let found: Vec<_> = found.iter().map(|(label, number)| (label.as_str(), *number)).collect();
        assert_eq!(found, [("f/flow", 1.0), ("g/flow", 2.0), ("g/chosen", 3.0)]);
        for (right, wrong) in [
            ("{ b = 1 }]", "{ c = 1 }]"),
            ("{ b = 1 }]", "3]"),
            ("{ b = 1 }]", "{}]"),
            ("{ b = 1 }]", "{ b = \"1\" }]"),
        ] {
            assert!(
                !numbers(&text.replace(right, wrong)).expect_err("a problem").at.span.is_empty(),
                "{wrong}"
            );
        }
    }
}
