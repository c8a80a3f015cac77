//! Selects a routing protocol for each flow of an experiment, as if all flows were active at once. The result of a
//! search is compared with baselines.

use crate::experiment::Document;
use crate::notation::{percent, shown};
use crate::{Error, Prepared, table};
use raddle_allocate::selection::{
    Annealing, Exhaustive, Found, Genetic, HillClimbing, LogLinear, LongFlow, Objective, Random, Search,
    Uniform, Utility, is_significant,
};
use raddle_allocate::{selection, usable};
use raddle_core::{LinkId, Rate, Stream};
use raddle_records::write_file;
use raddle_schemes::parameter::Value as Setting;
use raddle_topology::routing::{Protocol, Routing};
use serde_json::{Value, json};
use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// The protocols to choose from, as in R2C2's experiments (R2C2 §5.2). New flows start with the first protocol.
const PROTOCOLS: [Protocol; 2] = [Protocol::Rps, Protocol::Vlb];

/// A function that creates a search with its default parameters.
type NewSearch = fn() -> Box<dyn Search>;

/// The name of each search, and the function that creates it. R2C2's paper proposes the first search.
const SEARCHES: [(&str, NewSearch); 6] = [
    ("genetic", || Box::new(Genetic::default())),
    ("hill-climbing", || Box::new(HillClimbing)),
    ("log-linear", || Box::new(LogLinear::default())),
    ("annealing", || Box::new(Annealing::default())),
    ("random", || Box::new(Random)),
    ("exhaustive", || Box::new(Exhaustive)),
];

/// The name of each utility, the utility, and its unit.
const UTILITIES: [(&str, Utility, &str); 3] = [
    ("aggregate", Utility::Aggregate, "sum of rates, Gbps"),
    ("minimum", Utility::Minimum, "lowest ratio of rate to weight, Gbps"),
    ("tenant", Utility::PerTenant, "sum over sources of the square root of the source's rate in Gbps"),
];

/// Maximum memory for the link weights of one protocol, in bytes, estimated as one weight for each flow and link. All
/// flows of the experiment count as active at once, so there may be many weights.
const MOST_BYTES: usize = 4 << 30;

fn named<T: Copy>(what: &str, name: &str, known: &[(&'static str, T)]) -> Result<(&'static str, T), Error> {
    known.iter().find(|(known, _)| *known == name).copied().ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
        Error::Usage {
            what: format!("unknown {what} `{name}`"),
            hint: format!("one of: {}", names.join(", ")),
        }
    })
}

/// The routing selected for the flows of an experiment, and its utility.
#[derive(Debug, Clone)]
pub struct Selection {
    flows: Vec<LongFlow>,
    /// Flow rates under the assignment that the search found, in bit/s.
    rates: Vec<f64>,
    search: &'static str,
    utility: &'static str,
    unit: &'static str,
    /// The name of each baseline, and its utility in `unit`.
    baselines: Vec<(String, f64)>,
    /// The assignment that the search found, and its utility in `unit`.
    found: Found,
    seed: u64,
}

/// Searches for the routing of an experiment's flows that has the highest utility. `utility` is `aggregate`, `minimum`
/// or `tenant`. With `tenant`, each source is a tenant. `search` is `genetic`, `hill-climbing`, `log-linear`,
/// `annealing`, `random` or `exhaustive`. At the start of a search, all flows use RPS, like new flows. Failures in the
/// experiment are ignored.
///
/// # Errors
/// If the experiment is wrong, a name is unknown, the transport allocates no rates, or there are too many flows.
pub fn select(document: &Document, utility: &str, search: &str) -> Result<Selection, Error> {
    let utilities = UTILITIES.map(|(name, utility, unit)| (name, (utility, unit)));
    let (utility_name, (utility, unit)) = named("utility", utility, &utilities)?;
    let (search_name, search) = named("search", search, &SEARCHES)?;
    let prepared = document.prepare()?;
    let topology = Arc::clone(&prepared.topology);
    let flow = |flow: raddle_core::Flow| LongFlow {
        key: u64::from(flow.id.0),
        weight: flow.weight.into(),
        class: flow.priority,
        demand_bps: flow.app_rate.map_or(f64::INFINITY, Rate::as_bps_f64),
        tenant: flow.src.0,
        ..LongFlow::new(flow.src, flow.dst)
    };
    let flows: Vec<LongFlow> = prepared.flows.iter().map(flow).collect();
    let rate = |slot| topology.link(LinkId::of(slot)).map_or(Rate::ZERO, |link| link.rate);
    let rates: Vec<Rate> = (0..topology.link_slots()).map(rate).collect();
    let links = usable(&rates, headroom(&prepared)?);
    if flows.len().saturating_mul(links.len()) > MOST_BYTES / size_of::<f32>() {
        let what = format!("{} flows on {} links are too many for `raddle select`", flows.len(), links.len());
        return Err(Error::Usage {
            what,
            hint: "choose fewer flows, for example with --set workload.flows=512".to_owned(),
        });
    }
    let routing = Routing::new(topology);
    let problem = selection::Problem::new(&routing, &links, flows, &PROTOCOLS)
        .map_err(|error| Error::Run(error.to_string()))?;
    if search_name == "exhaustive" && !Exhaustive::fits(&problem) {
        let what = format!(
            "{} flows are too many for an exhaustive search, which tries every \
                            assignment",
            problem.flows().len()
        );
        let hint = "exhaustive search supports at most 16 flows; choose --search genetic".to_owned();
        return Err(Error::Usage { what, hint });
    }
    let seed = prepared.experiment.engine.seed;
    let mut objective = Objective::new(&problem, utility);
    let start = problem.uniform(0);
    let mut stream = Stream::new(seed, 0, "select/baselines");
    let mut run = |search: &dyn Search, stream: &mut Stream| {
        let mut found = search.search(&mut objective, &start, stream);
        found.utility =
            if utility == Utility::PerTenant { found.utility / 1e9_f64.sqrt() } else { found.utility / 1e9 };
        found
    };
    let mut baselines: Vec<(String, f64)> = Vec::new();
    for (place, protocol) in (0..).zip(PROTOCOLS) {
        baselines.push((format!("all {protocol}"), run(&Uniform(place), &mut stream).utility));
    }
    baselines.push(("random".to_owned(), run(&Random, &mut stream).utility));
    let found = run(search().as_ref(), &mut Stream::new(seed, 0, "select/search"));
    let rates = objective.rates(&found.assignment).to_vec();
    let flows = problem.flows().to_vec();
    Ok(Selection { flows, rates, search: search_name, utility: utility_name, unit, baselines, found, seed })
}

/// The share of each link's rate that the experiment's scheme leaves free.
fn headroom(prepared: &Prepared) -> Result<f64, Error> {
    let scheme = &prepared.experiment.scheme;
    let found = scheme.settings.iter().find_map(|(parameter, value)| match value {
        Setting::Fraction(headroom) if parameter.name == "headroom" => Some(headroom),
        _ => None,
    });
    found.ok_or_else(|| {
        let what = format!(
            "`raddle select` needs a transport that allocates rates (got `{}`)",
            scheme.transport.info.name
        );
        Error::Usage {
            what,
            hint: "choose such a transport, for example with --set \
                                    scheme.transport=r2c2"
                .to_owned(),
        }
    })
}

impl Selection {
    /// Each protocol, with the number of flows to which the search assigned it.
    #[expect(clippy::naive_bytecount, reason = "the list is short, so a simple count is fast")]
    fn counts(&self) -> impl Iterator<Item = (Protocol, usize)> {
        let count = |place| self.found.assignment.iter().filter(|&&protocol| protocol == place).count();
        (0..).zip(PROTOCOLS).map(move |(place, protocol)| (protocol, count(place)))
    }

    /// True if the utility of the found assignment exceeds the utility of RPS for all flows by enough to justify a
    /// change.
    fn is_significant(&self) -> bool {
        is_significant(self.baselines[0].1, self.found.utility)
    }

    /// The selection as a JSON document, without its flows.
    #[must_use]
    pub fn json(&self) -> Value {
        let numbers = |pairs: &[(String, f64)]| {
            Value::Object(pairs.iter().map(|(name, worth)| (name.clone(), json!(worth))).collect())
        };
        let counts: serde_json::Map<_, _> =
            self.counts().map(|(protocol, count)| (protocol.to_string(), json!(count))).collect();
        json!({
            "flows": self.flows.len(), "seed": self.seed, "search": self.search, "utility": self.utility,
            "unit": self.unit, "baselines": numbers(&self.baselines), "found": self.found.utility,
            "significant": self.is_significant(), "evaluations": self.found.evaluations, "protocols": counts,
        })
    }

    /// Writes a CSV file with one line for each flow: index, source, destination, protocol, and rate in bit/s under the
    /// assignment that the search found. The file appears under its name only when it is complete.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = "flow,src,dst,protocol,rate_bps\n".to_owned();
        let rows = self.flows.iter().zip(&self.found.assignment).zip(&self.rates).enumerate();
        for (i, ((LongFlow { src, dst, .. }, &protocol), rate)) in rows {
            let protocol = PROTOCOLS[usize::from(protocol)];
            writeln!(text, "{i},{},{},{protocol},{rate:.0}", src.0, dst.0)
                .expect("writing to a string never fails");
        }
        Ok(write_file(path, text.as_bytes())?)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![vec!["assignment".to_owned(), self.unit.to_owned()]];
        let found = std::iter::once((self.search, self.found.utility));
        let all = self.baselines.iter().map(|(name, worth)| (name.as_str(), *worth)).chain(found);
        rows.extend(all.map(|(name, worth)| vec![name.to_owned(), shown(worth)]));
        writeln!(
            f,
            "routing protocols of {} concurrent flows, selected to maximize {} utility\n",
            self.flows.len(),
            self.utility
        )?;
        writeln!(f, "{}", table(&rows))?;
        let share = |count: usize| percent(count as f64 / self.flows.len().max(1) as f64);
        let counts = self.counts().map(|(protocol, count)| format!("{protocol} {count} ({})", share(count)));
        writeln!(f, "protocols    {}", counts.collect::<Vec<_>>().join(", "))?;
        let verdict = if self.is_significant() {
            "large enough to change the routing"
        } else {
            "too small to change the routing"
        };
        writeln!(f, "gain vs rps  {verdict} (minimum: {})", percent(selection::SIGNIFICANT))?;
        writeln!(f, "evaluations  {}", self.found.evaluations)?;
        write!(f, "seed         {}", self.seed)
    }
}
