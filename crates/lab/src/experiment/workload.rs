//! `[workload]`: which flows.

use super::list;
use super::problem::{Cause, Problem};
use super::section::{Fraction, Read, Section, out_of_range, wrong_type};
use super::value::{At, Entry, Item, Table, Value};
use raddle_core::text::Misread;
use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Rate, Time};
use raddle_topology::Topology;
use raddle_workload::{
    Amount, Arrivals, Deadlines, PUBLISHED, Pairs, Published, SizeCdf, Sizes, Workload, WorkloadError,
    read_hpcc, read_htsim,
};
use std::path::Path;

/// The kinds of arrivals, sizes and pairs, each with a line of description.
const KINDS: [(&str, &str); 26] = [
    (
        "arrivals poisson",
        "random starts over the whole fabric: mean_gap = \"1 us\", or load = 0.5 of the senders' links over the \
         fabric's oversubscription (mean_size of the load if not that of sizes)",
    ),
    ("arrivals fixed", "evenly spaced starts: gap = \"1 us\""),
    ("arrivals all_at_once", "every flow at time 0"),
    ("sizes fixed", "all the same: size = \"1 MB\""),
    ("sizes pareto", "heavy-tailed: shape = 1.05, mean = \"100 KB\""),
    ("sizes exponential", "mean = \"100 KB\""),
    ("sizes uniform", "min = \"2 KB\", max = \"198 KB\""),
    ("sizes cdf", "points of a file, bytes and percent: file = \"web.cdf\""),
    ("pairs uniform", "every ordered pair of distinct hosts alike"),
    ("pairs permutation", "each host sends to one and receives from one: fraction = 1.0 of the hosts"),
    ("pairs all_to_all", "every host to every other"),
    (
        "pairs inter_pod",
        "Clos: every ordered pair of hosts of different pods alike; pods = [0, 1] for those alone",
    ),
    ("pairs bijection", "Clos: each host sends to one and receives from one of another pod"),
    ("pairs random_other_pod", "Clos: each host sends to a random one of another pod"),
    (
        "pairs staggered",
        "Clos: each host sends to a random one, edge = 0.2 in its rack, pod = 0.3 in its pod, else outside",
    ),
    ("pairs nearest_neighbour", "grids: each node to its neighbours"),
    ("pairs bit_complement", "grids: x to k - 1 - x in each dimension"),
    ("pairs transpose", "grids: (x, y) to (y, x), (x, y, z) to (y, z, x)"),
    ("pairs tornado", "grids: just under half way round the first dimension"),
    ("pairs stride", "host i to host i + by"),
    ("pairs incast", "several to one: senders = 8, receiver = 0 (random if left out)"),
    ("deadlines none", "it does not matter when flows are complete"),
    ("deadlines fixed", "the same time after the start for all: deadline = \"1 ms\""),
    ("deadlines exponential", "mean = \"20 ms\", raised to min = \"3 ms\""),
    (
        "file",
        "flows of a file: file = \"trace.txt\"; format = \"hpcc\" or \"htsim\", after the file's ending (.txt, .cm) if \
         left out",
    ),
    ("list", "flows one by one: list = [{ src = 0, dst = 1, size = \"1 MB\", start = \"0 ns\" }]"),
];

/// The kinds of workload, each with a line of description.
pub fn kinds() -> impl Iterator<Item = (String, String)> {
    KINDS.iter().flat_map(|&(name, summary)| {
        let published = if name == "sizes cdf" { &PUBLISHED[..] } else { &[] };
        std::iter::once((name.to_owned(), summary.to_owned())).chain(published.iter().map(describe))
    })
}

fn describe(published: &Published) -> (String, String) {
    let mean = published.sizes(published.unit).mean();
    let unit = match published.counts_packets() {
        true => format!(" with packets of unit = \"{}\"", published.unit),
        false => String::new(),
    };
    (format!("sizes {}", published.name), format!("{}: mean {mean:.0} B{unit}", published.summary))
}

/// A reader of flows, and what it reads.
type Format = (&'static str, fn(&str, &Topology) -> Result<Vec<Flow>, Misread>);

/// The formats of flow files, each with the ending of its files.
const FORMATS: [(&str, &str, Format); 2] = [
    ("hpcc", ".txt", ("HPCC flow file", read_hpcc)),
    ("htsim", ".cm", ("htsim connection matrix", read_htsim)),
];

/// `[workload]`.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    flows: Flows,
    /// Where the experiment says between whom flows run.
    at: At,
}

#[derive(Debug, Clone)]
enum Flows {
    Generated(Box<Workload>),
    /// In order of start, each with its place.
    Listed(Vec<(Flow, At)>),
    /// A flow file's name, text and format.
    File(String, String, Format),
}

impl WorkloadSpec {
    pub(crate) fn read(mut section: Section<'_>, folder: &Path) -> Result<(Self, toml::Table), Problem> {
        let key =
            ["list", "file", "pairs"].into_iter().find(|key| section.item(key).is_some()).unwrap_or("flows");
        let at = section.at_key(key).clone();
        let flows = match key {
            "list" => Flows::Listed(read_list(&mut section)?),
            "file" => {
                let (name, text) = read_file(&mut section, folder)?;
                let format = file_format(&mut section, &name, &FORMATS)?;
                Flows::File(name, text, format)
            }
            _ => Flows::Generated(Box::new(read_generated(&mut section, folder)?)),
        };
        Ok((Self { flows, at }, section.finish()?))
    }

    /// The flows on `topology`, in order of start, each with the place that the experiment's text gives it.
    ///
    /// # Errors
    /// If they are impossible there.
    pub fn flows(&self, topology: &Topology, seed: u64) -> Result<Vec<Flow>, Problem> {
        match &self.flows {
            Flows::Generated(workload) => {
                workload.generate(topology, seed).map_err(|error| impossible(&self.at, &error))
            }
            Flows::Listed(flows) => {
                for (flow, at) in flows {
                    if let Some(&node) = [flow.src, flow.dst].iter().find(|&&node| !is_host(topology, node)) {
                        return Err(no_such_host(at, topology, node));
                    }
                }
                Ok(flows.iter().map(|&(flow, _)| flow).collect())
            }
            Flows::File(file, text, (what, read)) => read(text, topology).map_err(|error| {
                let (file, why) = (file.clone(), error.to_string());
                Problem::at(&self.at, Cause::BadFile { file, what, why })
            }),
        }
    }

    /// Where the experiment's text speaks of the flow with that place in the order of starts.
    #[must_use]
    pub fn place(&self, flow: FlowId) -> &At {
        match &self.flows {
            Flows::Listed(flows) => flows.get(flow.index()).map_or(&self.at, |(_, at)| at),
            Flows::Generated(_) | Flows::File(..) => &self.at,
        }
    }
}

fn is_host(topology: &Topology, node: NodeId) -> bool {
    node.index() < topology.node_count() && topology.is_host(node)
}

fn no_such_host(at: &At, topology: &Topology, node: NodeId) -> Problem {
    let nodes = topology.node_count();
    let (what, hint) = if node.index() < nodes {
        (format!("node {node} is a switch, where no flow starts or ends"), "name a host".to_owned())
    } else {
        let hint = format!("the topology's nodes are 0 to {}", nodes.saturating_sub(1));
        (format!("the topology has no node {node}"), hint)
    };
    Problem::at(at, Cause::NoSuchHost { what, hint })
}

fn impossible(at: &At, error: &WorkloadError) -> Problem {
    let hint = match error {
        WorkloadError::NotAGrid { .. } => "choose kind = \"torus\" or \"mesh\", or other pairs",
        WorkloadError::NotAClos { .. } => {
            "choose kind = \"fat_tree\", \"clos\" or \"folded_clos\", or other pairs"
        }
        WorkloadError::AtOnce => "give `flows`, or `once = true` for one a pair",
        WorkloadError::NoFlows { .. } => "give a longer `duration`, or `flows`",
        WorkloadError::UnequalDimensions { .. } => "make all of `dims` equal, or choose other pairs",
        WorkloadError::TooFewHosts { .. } => "choose a larger topology",
        _ => "see `raddle list workloads`",
    };
    Problem::at(at, Cause::Contradiction { what: error.to_string(), hint: hint.to_owned() })
}

/// A quantity that must be more than nothing.
fn positive<T: Read + PartialOrd + Default>(section: &mut Section<'_>, key: &str) -> Result<T, Problem> {
    let value = section.required(key)?;
    section.ensure(value > T::default(), key, &format!("`{key}` is zero"), "give a value above zero")?;
    Ok(value)
}

/// A table such as `{ kind = "pareto", shape = 1.05 }`, for which its kind alone may stand: `"uniform"`.
fn kinded(item: &Item) -> Result<Table, Problem> {
    match &item.value {
        Value::Table(table) => Ok(table.clone()),
        Value::String(_) => {
            let kind = Entry { key: "kind".to_owned(), key_at: item.at.clone(), item: item.clone() };
            Ok(Table { entries: vec![kind], at: item.at.clone() })
        }
        _ => Err(wrong_type(item, "a kind, or a table with `kind` and its parameters")),
    }
}

/// The names of the `KINDS` of a role.
fn names(role: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = KINDS.iter().filter_map(move |(name, _)| name.strip_prefix(role)?.strip_prefix(' '));
    kinds.map(|name| (name, name))
}

fn read_generated(section: &mut Section<'_>, folder: &Path) -> Result<Workload, Problem> {
    let mut part = |key: &'static str, example: &str| -> Result<Table, Problem> {
        section.item(key).map(kinded).transpose()?.ok_or_else(|| section.missing(key, example))
    };
    let arrivals = part("arrivals", "{ kind = \"poisson\", mean_gap = \"1 us\" }")?;
    let sizes = part("sizes", "{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }")?;
    let pairs = part("pairs", "\"uniform\"")?;
    let (arrivals, resolved) = read_arrivals(Section::new(&arrivals, "workload.arrivals"))?;
    section.resolve("arrivals", resolved);
    let (sizes, resolved) = read_sizes(Section::new(&sizes, "workload.sizes"), folder)?;
    section.resolve("sizes", resolved);
    let (pairs, resolved) = read_pairs(Section::new(&pairs, "workload.pairs"))?;
    section.resolve("pairs", resolved);
    let amount = read_amount(section)?;
    let deadlines = section.item("deadlines").map(kinded).transpose()?;
    let (deadlines, resolved) = match &deadlines {
        Some(table) => read_deadlines(Section::new(table, "workload.deadlines"))?,
        None => (Deadlines::None, toml::Table::new()),
    };
    if deadlines != Deadlines::None {
        section.resolve("deadlines", resolved);
    }
    let (app_rate, weight, priority) = read_class(section)?;
    Ok(Workload { arrivals, sizes, pairs, amount, app_rate, weight, priority, deadlines })
}

/// How many flows: `flows`, `duration` or `once`.
fn read_amount(section: &mut Section<'_>) -> Result<Amount, Problem> {
    let (flows, window) = (section.optional::<u32>("flows")?, section.optional::<Duration>("duration")?);
    let once = section.optional::<bool>("once")?.unwrap_or(false);
    match (flows, window, once) {
        (Some(flows), None, false) => {
            section.ensure(flows > 0, "flows", "a workload without flows", "give a number above zero")?;
            Ok(Amount::Flows(flows as usize))
        }
        (None, Some(window), false) => {
            let hint = "give a time above zero";
            section.ensure(window > Duration::ZERO, "duration", "arrivals that last no time", hint)?;
            Ok(Amount::Within(window))
        }
        (None, None, true) => Ok(Amount::OnePerPair),
        (None, None, false) => Err(section.missing("flows", "1000")),
        _ => {
            let hint = "keep `flows` (so many), `duration` (as many as start by then) or `once` (one a pair)";
            let key = if once { "once" } else { "duration" };
            Err(section.contradiction(key, "the number of flows is given twice", hint))
        }
    }
}

/// What flows may have besides ends, size and start.
fn read_class(section: &mut Section<'_>) -> Result<(Option<Rate>, u8, u8), Problem> {
    let app_rate = section.optional("app_rate")?;
    let hint = "leave `app_rate` out if all bytes are there at the start";
    section.ensure(app_rate != Some(Rate::ZERO), "app_rate", "an application that produces nothing", hint)?;
    let weight = section.or("weight", 1_u64)?;
    section.ensure((1..=255).contains(&weight), "weight", "a weight outside 1 to 255", "give 1 to 255")?;
    let priority = section.or("priority", 0_u64)?;
    section.ensure(priority <= 15, "priority", "a priority above 15", "give 0 (served first) to 15")?;
    Ok((app_rate, weight as u8, priority as u8))
}

fn read_arrivals(mut section: Section<'_>) -> Result<(Arrivals, toml::Table), Problem> {
    let arrivals =
        match section.choice("kind", "kind of arrivals", &names("arrivals").collect::<Vec<_>>(), None)? {
            "poisson" => match section.optional::<f64>("load")? {
                None => Arrivals::Poisson { mean_gap: positive(&mut section, "mean_gap")? },
                Some(_) if section.item("mean_gap").is_some() => {
                    let hint = "keep one: a load is a mean gap by the sizes' mean and the hosts' rates";
                    return Err(section.contradiction(
                        "load",
                        "arrivals with both a mean gap and a load",
                        hint,
                    ));
                }
                Some(load) => {
                    let hint = "give a share of the hosts' links such as 0.5";
                    section.ensure(load > 0.0, "load", "a load of nothing", hint)?;
                    let mean_size = section.optional("mean_size")?;
                    let hint = "leave `mean_size` out for the mean of `sizes`";
                    section.ensure(mean_size != Some(Bytes(0)), "mean_size", "flows of no bytes", hint)?;
                    Arrivals::Load { load, mean_size }
                }
            },
            "fixed" => Arrivals::Fixed { gap: positive(&mut section, "gap")? },
            _ => Arrivals::AllAtOnce,
        };
    Ok((arrivals, section.finish()?))
}

fn read_sizes(mut section: Section<'_>, folder: &Path) -> Result<(Sizes, toml::Table), Problem> {
    let published = PUBLISHED.iter().map(|published| (published.name, published.name));
    let kinds: Vec<_> = names("sizes").chain(published).collect();
    let kind = section.choice("kind", "kind of sizes", &kinds, None)?;
    if let Some(published) = Published::named(kind) {
        let unit =
            if published.counts_packets() { section.or("unit", published.unit)? } else { published.unit };
        section.ensure(unit > Bytes(0), "unit", "packets of no bytes", "give a size above zero")?;
        return Ok((Sizes::Cdf(published.sizes(unit)), section.finish()?));
    }
    let sizes = match kind {
        "fixed" => Sizes::Fixed(positive(&mut section, "size")?),
        "pareto" => {
            let shape: f64 = section.required("shape")?;
            let hint = "the mean of a Pareto distribution is finite only if its shape is more than 1";
            section.ensure(shape > 1.0, "shape", "a Pareto shape of 1 or less", hint)?;
            Sizes::Pareto { shape, mean: positive(&mut section, "mean")? }
        }
        "exponential" => Sizes::Exponential { mean: positive(&mut section, "mean")? },
        "uniform" => {
            let (min, max): (Bytes, Bytes) = (positive(&mut section, "min")?, section.required("max")?);
            section.ensure(
                min <= max,
                "max",
                "the largest size is below the smallest",
                "give at least `min`",
            )?;
            Sizes::Uniform { min, max }
        }
        _ => {
            let at = section.at_key("file").clone();
            let (file, text) = read_file(&mut section, folder)?;
            let cdf = SizeCdf::parse(&text).map_err(|error| {
                Problem::at(&at, Cause::BadFile { file, what: "size distribution", why: error.to_string() })
            })?;
            Sizes::Cdf(cdf)
        }
    };
    Ok((sizes, section.finish()?))
}

fn read_deadlines(mut section: Section<'_>) -> Result<(Deadlines, toml::Table), Problem> {
    let deadlines =
        match section.choice("kind", "kind of deadlines", &names("deadlines").collect::<Vec<_>>(), None)? {
            "fixed" => Deadlines::Fixed(positive(&mut section, "deadline")?),
            "exponential" => {
                let mean = positive(&mut section, "mean")?;
                Deadlines::Exponential { mean, min: section.or("min", Duration::ZERO)? }
            }
            _ => Deadlines::None,
        };
    Ok((deadlines, section.finish()?))
}

fn read_pairs(mut section: Section<'_>) -> Result<(Pairs, toml::Table), Problem> {
    let pairs = match section.choice("kind", "kind of pairs", &names("pairs").collect::<Vec<_>>(), None)? {
        "uniform" => Pairs::Uniform,
        "permutation" => {
            let Fraction(fraction) = section.or("fraction", Fraction(1.0))?;
            section.ensure(
                fraction > 0.0,
                "fraction",
                "a permutation of no hosts",
                "give a fraction above 0",
            )?;
            Pairs::Permutation { fraction }
        }
        "all_to_all" => Pairs::AllToAll,
        "inter_pod" => {
            let pods: Option<Vec<u32>> = section.optional("pods")?;
            let hint = "name at least two, or leave `pods` out for all of them";
            section.ensure(pods.as_ref().is_none_or(|pods| pods.len() > 1), "pods", "too few pods", hint)?;
            Pairs::InterPod { pods: pods.unwrap_or_default() }
        }
        "bijection" => Pairs::Bijection,
        "random_other_pod" => Pairs::RandomOtherPod,
        "staggered" => {
            let (Fraction(edge), Fraction(pod)) = (section.required("edge")?, section.required("pod")?);
            let hint = "`edge` and `pod` are at most 1 together";
            section.ensure(edge + pod <= 1.0, "pod", "more flows near by than there are", hint)?;
            Pairs::Staggered { edge, pod }
        }
        "nearest_neighbour" => Pairs::NearestNeighbour,
        "bit_complement" => Pairs::BitComplement,
        "transpose" => Pairs::Transpose,
        "tornado" => Pairs::Tornado,
        "stride" => Pairs::Stride { by: positive::<u32>(&mut section, "by")? as usize },
        _ => Pairs::Incast {
            senders: positive::<u32>(&mut section, "senders")? as usize,
            receiver: section.optional("receiver")?.map(NodeId),
        },
    };
    Ok((pairs, section.finish()?))
}

/// The name and text of the file that the key `file` names.
pub(super) fn read_file(section: &mut Section<'_>, folder: &Path) -> Result<(String, String), Problem> {
    let file: String = section.required("file")?;
    match std::fs::read_to_string(folder.join(&file)) {
        Ok(text) => Ok((file, text)),
        Err(error) => {
            Err(Problem::at(section.at_key("file"), Cause::Unreadable { file, why: error.to_string() }))
        }
    }
}

/// The format of the file of that name: the key `format`, or after its ending. A file of another ending must have it
/// said.
pub(super) fn file_format<T: Copy>(
    section: &mut Section<'_>,
    file: &str,
    formats: &[(&'static str, &str, T)],
) -> Result<T, Problem> {
    let ending = formats.iter().find(|(_, ending, _)| file.ends_with(ending)).map(|&(name, ..)| name);
    let choices: Vec<_> = formats.iter().map(|&(name, _, format)| (name, format)).collect();
    section.choice("format", "format", &choices, ending)
}

fn read_list(section: &mut Section<'_>) -> Result<Vec<(Flow, At)>, Problem> {
    let Some(item) = section.item("list") else { return Ok(Vec::new()) };
    let items = list(item)?;
    if items.is_empty() {
        return Err(out_of_range(&item.at, "a workload without flows", "list at least one"));
    }
    let read = |item| {
        let (flow, resolved) = read_flow(Section::of(item, "workload.list")?)?;
        Ok(((flow, item.at.clone()), resolved))
    };
    let (mut flows, resolved): (Vec<_>, Vec<_>) =
        items.iter().map(read).collect::<Result<Vec<_>, Problem>>()?.into_iter().unzip();
    section.resolve("list", resolved);
    flows.sort_by_key(|(flow, _)| flow.start);
    for (i, (flow, _)) in flows.iter_mut().enumerate() {
        flow.id = FlowId::of(i);
    }
    Ok(flows)
}

fn read_flow(mut section: Section<'_>) -> Result<(Flow, toml::Table), Problem> {
    let (src, dst): (u32, u32) = (section.required("src")?, section.required("dst")?);
    if src == dst {
        return Err(Problem::at(section.at_key("dst"), Cause::SelfFlow(src)));
    }
    let size = positive(&mut section, "size")?;
    let start = Time::ZERO + section.or("start", Duration::ZERO)?;
    let (app_rate, weight, priority) = read_class(&mut section)?;
    let (src, dst) = (NodeId(src), NodeId(dst));
    let deadline = section.optional("deadline")?;
    let hint = "leave `deadline` out if it does not matter";
    section.ensure(deadline != Some(Duration::ZERO), "deadline", "a deadline that nobody meets", hint)?;
    let flow = Flow { app_rate, weight, priority, deadline, ..Flow::new(FlowId(0), src, dst, size, start) };
    Ok((flow, section.finish()?))
}
