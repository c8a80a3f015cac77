//! `[workload]`: the flows.

mod generated;
mod hotspot;
mod keys;
mod kinds;
mod long_flows;
mod process;
mod ranks;
mod skeleton;

pub(crate) use generated::read_pairs;
pub(crate) use keys::{PAIRS_KEYS, SCALE, SKELETON_KEYS, WORKLOAD};
pub use kinds::kinds;
pub(crate) use kinds::names as workload_names;
pub(crate) use ranks::Programs;
pub(crate) use skeleton::read_skeleton;

use super::file::{Files, file_format};
use super::keys::Declared;
use super::problem::{Cause, Problem};
use super::section::{Section, out_of_range};
use super::value::At;
use generated::read_generated;
use hotspot::read_hotspot;
use keys::{
    APP_RATE, COLLECTIVE, DST, FILE, FLOW_DEADLINE, FLOW_SIZE, FORMAT, GOAL, HOTSPOT, LIST, LOAD, PAIRS,
    PRIORITY, SKELETON, SRC, START, WEIGHT,
};
use long_flows::read_long_flows;
use process::{needs_rate, read_process};
use raddle_core::text::Misread;
use raddle_core::{Bytes, Flow, FlowId, Flows, NodeId, Time};
use raddle_topology::Topology;
use raddle_workload::goal::Job;
use raddle_workload::{
    Amount, Arrivals, Hotspot, LongFlows, Workload, WorkloadError, in_order, read_hpcc, read_htsim,
};
use ranks::{Ranks, Size};

/// The name of a flow file format, and the function that reads a file in this format.
type Format = (&'static str, fn(&str, &Topology) -> Result<Vec<Flow>, Misread>);

/// The formats of flow files. Each entry has a value of the key `format`, the ending of the files' names, and the
/// [`Format`].
const FORMATS: [(&str, &str, Format); 2] = [
    ("hpcc", ".txt", ("HPCC flow file", read_hpcc)),
    ("htsim", ".cm", ("htsim connection matrix", read_htsim)),
];

/// Maximum size of a flow. With this limit, the flow's bytes on the wire, headers included, still fit 64 bits.
const MOST_BYTES: Bytes = Bytes(1 << 60);

/// `[workload]`.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    flows: Kind,
    /// The position in the experiment's text at which the flows are defined.
    at: At,
}

#[derive(Debug, Clone)]
enum Kind {
    Generated(Box<Workload>),
    Long(LongFlows),
    /// The hotspot, and the other traffic of the fabric if there is any.
    Hotspot(Box<Hotspot>, Option<Box<WorkloadSpec>>),
    /// Flows in order of start, each with its position in the text.
    Listed(Vec<(Flow, At)>),
    /// Name, text and format of a flow file.
    File(String, String, Format),
    /// The ranks of a program begin the flows.
    Ranks(Ranks),
    /// Programs at the hosts send traffic, which the experiment does not define.
    Programs,
}

impl WorkloadSpec {
    pub(crate) fn read(mut section: Section<'_>, files: &Files) -> Result<(Self, toml::Table), Problem> {
        let ways: [&dyn Declared; 7] = [&LIST, &FILE, &GOAL, &SKELETON, &COLLECTIVE, &HOTSPOT, &PAIRS];
        let way = ways.into_iter().find(|key| section.has(*key)).map(Declared::name);
        let at = section.at_name(way.unwrap_or("flows")).clone();
        if !matches!(way, None | Some("hotspot" | "pairs")) && section.has(&HOTSPOT) {
            let hint = "keep only `hotspot`, or combine `hotspot` with `pairs`";
            let what = "`hotspot` can be combined only with `pairs`";
            return Err(section.contradiction(&HOTSPOT, what, hint));
        }
        let flows = match way {
            Some("list") => Kind::Listed(read_list(&mut section)?),
            Some("file") => {
                let (name, text) = files.read(&mut section, &FILE)?;
                let format = file_format(&mut section, &FORMAT, &name, &FORMATS)?;
                Kind::File(name, text, format)
            }
            Some("goal") => Kind::Ranks(Ranks::read_goal(&mut section, files)?),
            Some("skeleton") => Kind::Ranks(Ranks::read_skeleton(&mut section)?),
            Some("collective") => Kind::Ranks(Ranks::read_collective(&mut section)?),
            Some("hotspot") => {
                let alone = !section.has(&PAIRS);
                let hotspot = read_hotspot(&mut section, alone)?;
                let others = if alone { None } else { Some(Self::drawn(&mut section, files)?) };
                Kind::Hotspot(Box::new(hotspot), others.map(Box::new))
            }
            _ => {
                let drawn = Self::drawn(&mut section, files)?;
                let rate = !matches!(&drawn.flows, Kind::Generated(workload) if workload.app_rate.is_none());
                needs_rate(&mut section, rate)?;
                drawn.flows
            }
        };
        Ok((Self { flows, at }, section.finish()?))
    }

    /// Reads long flows or drawn flows between the pairs of the key `pairs`.
    fn drawn(section: &mut Section<'_>, files: &Files) -> Result<Self, Problem> {
        let at = section.at_key(&PAIRS).clone();
        let flows = match section.has(&LOAD) {
            true => Kind::Long(read_long_flows(section)?),
            false => Kind::Generated(Box::new(read_generated(section, files)?)),
        };
        Ok(Self { flows, at })
    }

    /// Generates the flows on `topology`.
    ///
    /// # Errors
    /// If keys of the workload contradict each other, a value is out of range, the topology does not allow the flows,
    /// no flow starts in time, or the flow file is malformed.
    pub fn flows(&self, topology: &Topology, seed: u64) -> Result<Flows, Problem> {
        match &self.flows {
            Kind::Generated(workload) => {
                workload.generate(topology, seed).map_err(|error| impossible(&self.at, &error))
            }
            _ => self.list(topology, seed).map(Flows::from),
        }
    }

    /// Returns an error if `flow` has more than 2^60 bytes, or starts after 213 days, the latest time that the
    /// simulator can represent.
    ///
    /// # Errors
    /// The reason, at the position of the flow in the experiment's text.
    pub(crate) fn check(&self, flow: &Flow) -> Result<(), Problem> {
        if flow.size > MOST_BYTES {
            let what = format!("a flow must have at most 2^60 bytes (got {})", flow.size);
            return Err(out_of_range(self.place(flow.id), what, "give a smaller size"));
        }
        if flow.start == Time::NEVER {
            let hint =
                "simulated time ends after 213 days; give fewer flows, a higher rate, or earlier starts";
            return Err(out_of_range(
                self.place(flow.id),
                "a flow would start after the end of simulated time",
                hint,
            ));
        }
        Ok(())
    }

    /// Number of flows, if all flows start at time 0 or shortly after, and if their number is known before they are
    /// generated.
    pub(crate) fn at_once(&self) -> Option<u64> {
        let Kind::Generated(workload) = &self.flows else { return None };
        match (workload.arrivals, workload.amount) {
            (Arrivals::AllAtOnce { .. }, Amount::Flows(flows)) => Some(flows as u64),
            _ => None,
        }
    }

    /// The size of the program, if the workload is a program.
    pub(crate) fn program(&self) -> Option<Size> {
        let Kind::Ranks(ranks) = &self.flows else { return None };
        Some(ranks.size())
    }

    /// The job whose ranks begin the flows, and the programs of the ranks; `None` if the workload is not a program.
    ///
    /// # Errors
    /// If the topology has too few hosts.
    pub(crate) fn job(&self, topology: &Topology, seed: u64) -> Result<Option<(Job, Programs)>, Problem> {
        let Kind::Ranks(ranks) = &self.flows else { return Ok(None) };
        ranks.job(topology, seed).map(Some)
    }

    /// The workload of an experiment without `[workload]`: programs at the hosts send traffic. `at` is the position of
    /// the experiment.
    pub(super) fn of_programs(at: &At) -> Self {
        Self { flows: Kind::Programs, at: at.clone() }
    }

    /// True if programs at the hosts send traffic that the experiment does not define.
    #[must_use]
    pub const fn is_of_programs(&self) -> bool {
        matches!(self.flows, Kind::Programs)
    }

    /// The flows as a list. The list is empty if programs begin the flows.
    fn list(&self, topology: &Topology, seed: u64) -> Result<Vec<Flow>, Problem> {
        match &self.flows {
            Kind::Generated(_) => Ok(self.flows(topology, seed)?.iter().collect()),
            Kind::Long(long) => long.generate(topology, seed).map_err(|error| impossible(&self.at, &error)),
            Kind::Hotspot(hotspot, others) => {
                let hot = hotspot.generate(topology).map_err(|error| impossible(&self.at, &error))?;
                let Some(others) = others else { return Ok(hot) };
                let mut flows = others.list(topology, seed)?;
                flows.extend(hot);
                Ok(in_order(flows))
            }
            Kind::Listed(flows) => {
                for (flow, at) in flows {
                    if let Some(&node) = [flow.src, flow.dst].iter().find(|&&node| !is_host(topology, node)) {
                        return Err(no_such_host(at, topology, node));
                    }
                }
                Ok(flows.iter().map(|&(flow, _)| flow).collect())
            }
            Kind::File(file, text, (what, read)) => read(text, topology).map_err(|error| {
                let (file, why) = (file.clone(), error.to_string());
                Problem::at(&self.at, Cause::BadFile { file, what, why })
            }),
            Kind::Ranks(_) | Kind::Programs => Ok(Vec::new()),
        }
    }

    /// The position in the experiment's text at which the flow is defined. Flow ids count the flows in order of start.
    #[must_use]
    pub fn place(&self, flow: FlowId) -> &At {
        match &self.flows {
            Kind::Listed(flows) => flows.get(flow.index()).map_or(&self.at, |(_, at)| at),
            _ => &self.at,
        }
    }
}

fn is_host(topology: &Topology, node: NodeId) -> bool {
    node.index() < topology.node_count() && topology.is_host(node)
}

fn no_such_host(at: &At, topology: &Topology, node: NodeId) -> Problem {
    let nodes = topology.node_count();
    let (what, hint) = if node.index() < nodes {
        (
            format!("node {node} is a switch, but flows must start and end at hosts"),
            "give the number of a host".to_owned(),
        )
    } else {
        let hint = format!("the topology's nodes are 0 to {}", nodes.saturating_sub(1));
        (format!("the topology has no node {node}"), hint)
    };
    Problem::at(at, Cause::NoSuchHost { what, hint })
}

fn impossible(at: &At, error: &WorkloadError) -> Problem {
    let hint = match error {
        WorkloadError::NotAGrid { .. } => {
            "choose kind = \"torus\" or \"mesh\" in [topology], or choose other `pairs`"
        }
        WorkloadError::NotAClos { .. } => {
            "choose kind = \"fat_tree\", \"clos\" or \"folded_clos\" in [topology], or choose other `pairs`"
        }
        WorkloadError::AtOnce => "give `flows`, or `once = true` for one flow per pair",
        WorkloadError::NoFlows { .. } => "give a longer `duration`, or give `flows` in place of `duration`",
        WorkloadError::UnequalDimensions { .. } => {
            "make all numbers in `dims` equal, or choose other `pairs`"
        }
        WorkloadError::NotAPower { .. } => {
            "change the number of hosts, the kind of `pairs`, or `radix` (if this kind has `radix`)"
        }
        WorkloadError::TooSevere { .. } => "give a smaller `severity`, or more sources",
        WorkloadError::NotAHost { .. } => {
            "in `hotspot`, set `destination`, `sources` and `victims` to hosts of the topology. The default \
             destination is host 31 for type `input`, and host 4 for type `output`. By default, type `input` \
             also has a victim flow from host 1 to host 30, and type `output` has the source 0"
        }
        WorkloadError::FramesOnce => "give `flows` or `duration`",
        WorkloadError::TooFewHosts { .. } => "choose a larger topology",
        _ => "see `raddle list workloads`",
    };
    Problem::at(at, Cause::Contradiction { what: error.to_string(), hint: hint.to_owned() })
}

#[allow(clippy::cast_possible_truncation, reason = "`weight` and `priority` are at most 255")]
fn read_weight_and_priority(section: &mut Section<'_>) -> Result<(u8, u8), Problem> {
    Ok((section.read(&WEIGHT)? as u8, section.read(&PRIORITY)? as u8))
}

fn read_list(section: &mut Section<'_>) -> Result<Vec<(Flow, At)>, Problem> {
    let tables = section.sections(&LIST)?;
    if tables.is_empty() {
        return Err(out_of_range(
            section.at_key(&LIST),
            "`list` must have at least one flow",
            "add a flow such as { src = 0, dst = 1, size = \"1 MB\" }",
        ));
    }
    let read = |table: Section<'_>| {
        let at = table.at().clone();
        let (flow, resolved) = read_flow(table)?;
        Ok(((flow, at), resolved))
    };
    let (mut flows, resolved): (Vec<_>, Vec<_>) =
        tables.into_iter().map(read).collect::<Result<Vec<_>, Problem>>()?.into_iter().unzip();
    section.resolve(&LIST, resolved);
    flows.sort_by_key(|(flow, _)| flow.start);
    for (i, (flow, _)) in flows.iter_mut().enumerate() {
        flow.id = FlowId::of(i);
    }
    Ok(flows)
}

fn read_flow(mut section: Section<'_>) -> Result<(Flow, toml::Table), Problem> {
    let (src, dst) = (section.read(&SRC)?, section.read(&DST)?);
    if src == dst {
        return Err(Problem::at(section.at_key(&DST), Cause::SelfFlow(src)));
    }
    let size = section.read(&FLOW_SIZE)?;
    let start = Time::ZERO + section.read(&START)?;
    let app_rate = section.get(&APP_RATE)?;
    let process = read_process(&mut section)?;
    needs_rate(&mut section, app_rate.is_some())?;
    let (weight, priority) = read_weight_and_priority(&mut section)?;
    let (src, dst) = (NodeId(src), NodeId(dst));
    let deadline = section.get(&FLOW_DEADLINE)?;
    let flow =
        Flow { app_rate, process, weight, priority, deadline, ..Flow::new(FlowId(0), src, dst, size, start) };
    Ok((flow, section.finish()?))
}
