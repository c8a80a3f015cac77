//! The hotspot benchmark.

use super::long_flows::read_load;
use super::process::read_process;
use super::read_weight_and_priority;
use crate::experiment::list;
use crate::experiment::problem::{Cause, Problem};
use crate::experiment::section::{Fraction, Read, Section, out_of_range};
use crate::experiment::value::{Item, Value};
use raddle_core::{Duration, NodeId};
use raddle_workload::{Hotspot, Sources, Victim};

/// Reads `hotspot`; the run lasts as long as the workload, if that says so. Of a hotspot that is `alone`, without other
/// traffic, the workload has no other keys.
pub(super) fn read_hotspot(section: &mut Section<'_>, alone: bool) -> Result<Hotspot, Problem> {
    let item = section.item("hotspot").ok_or_else(|| section.missing("hotspot", "{ type = \"input\" }"))?;
    let mut inner = Section::of(item, "workload.hotspot")?;
    let kinds = [("input", false), ("output", true)];
    let output = inner.choice("type", "type of hotspot", &kinds, Some("input"))?;
    let default = if output { Hotspot::output_generated() } else { Hotspot::input_generated() };
    let destination = NodeId(inner.or("destination", default.destination.0)?);
    let sources = read_sources(&mut inner, default.sources)?;
    let severity = inner.or("severity", default.severity)?;
    let hint = "give what the sources offer over the rate of the destination's link, such as 1.8";
    inner.ensure(severity > 0.0, "severity", "a hotspot that nobody feels", hint)?;
    let start = inner.or("start", default.start)?;
    let duration = inner.or("duration", default.duration)?;
    inner.ensure(
        duration > Duration::ZERO,
        "duration",
        "a hotspot that lasts no time",
        "give a time above zero",
    )?;
    let victims = read_victims(&mut inner, default.victims)?;
    section.resolve("hotspot", inner.finish()?);
    let run = match alone {
        true => section.or("duration", default.run)?,
        false => section.optional("duration")?.unwrap_or(default.run),
    };
    section.ensure(run > Duration::ZERO, "duration", "a run that lasts no time", "give a time above zero")?;
    let process = read_process(section)?;
    let (weight, priority) = read_weight_and_priority(section)?;
    Ok(Hotspot { destination, sources, severity, start, duration, victims, run, process, weight, priority })
}

/// How many hosts, or which share of them.
struct Degree(Sources);

impl Read for Degree {
    const EXAMPLE: &'static str = "4";
    fn read(item: &Item) -> Result<Self, Problem> {
        if let Value::Integer(_) = item.value {
            return Ok(Self(Sources::Degree(u32::read(item)? as usize)));
        }
        let Fraction(share) = Fraction::read(item)?;
        if share > 0.0 {
            return Ok(Self(Sources::Share(share)));
        }
        Err(out_of_range(
            &item.at,
            "a hotspot without sources",
            "give a number of hosts, or a share such as \"10%\"",
        ))
    }
    fn show(&self) -> toml::Value {
        match &self.0 {
            Sources::Degree(degree) => (*degree as u64).show(),
            Sources::Share(share) => share.show(),
            Sources::Named(hosts) => hosts.iter().map(|host| host.0).collect::<Vec<_>>().show(),
        }
    }
}

/// `sources` or their `degree`.
fn read_sources(section: &mut Section<'_>, default: Sources) -> Result<Sources, Problem> {
    let (named, degree) = (section.optional::<Vec<u32>>("sources")?, section.optional::<Degree>("degree")?);
    match (named, degree) {
        (Some(_), Some(_)) => {
            let hint = "keep `sources` (these) or `degree` (so many, spread evenly)";
            Err(section.contradiction("degree", "the hotspot's sources are given twice", hint))
        }
        (Some(named), None) => Ok(Sources::Named(named.into_iter().map(NodeId).collect())),
        (None, Some(Degree(sources))) => Ok(sources),
        (None, None) => {
            let key = if matches!(default, Sources::Named(_)) { "sources" } else { "degree" };
            let default = Degree(default);
            section.resolve(key, default.show());
            Ok(default.0)
        }
    }
}

fn read_victims(section: &mut Section<'_>, default: Vec<Victim>) -> Result<Vec<Victim>, Problem> {
    let victims = match section.item("victims") {
        Some(item) => list(item)?.iter().map(read_victim).collect::<Result<_, _>>()?,
        None => default,
    };
    let show = |victim: &Victim| -> toml::Value {
        let Victim { src, dst, load } = victim;
        let keys = [("src", src.0.show()), ("dst", dst.0.show()), ("load", load.show())];
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<toml::Table>().into()
    };
    section.resolve("victims", victims.iter().map(show).collect::<Vec<_>>());
    Ok(victims)
}

fn read_victim(item: &Item) -> Result<Victim, Problem> {
    let mut section = Section::of(item, "workload.hotspot.victims")?;
    let (src, dst): (u32, u32) = (section.required("src")?, section.required("dst")?);
    if src == dst {
        return Err(Problem::at(section.at_key("dst"), Cause::SelfFlow(src)));
    }
    let load = read_load(&mut section)?;
    section.finish()?;
    Ok(Victim { src: NodeId(src), dst: NodeId(dst), load })
}
