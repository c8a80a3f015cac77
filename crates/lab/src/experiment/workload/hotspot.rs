//! Hotspots: hosts that send to the same host, and victim flows.

use super::keys::{
    DEGREE, DESTINATION, DURATION, HOTSPOT, HOTSPOT_DURATION, HOTSPOT_START, HOTSPOT_TYPE, SEVERITY, SOURCES,
    VICTIM_DST, VICTIM_LOAD, VICTIM_SRC, VICTIMS,
};
use super::process::read_process;
use super::read_weight_and_priority;
use crate::experiment::keys::Declared;
use crate::experiment::problem::{Cause, Problem};
use crate::experiment::section::{Fraction, Read, Section, described, out_of_range};
use crate::experiment::value::{Item, Value};
use raddle_core::NodeId;
use raddle_workload::{Hotspot, Sources, Victim};

/// Reads `hotspot`. The workload's `duration`, if given, is the time for which victims send. If `alone` is true, the
/// hotspot is the only traffic, and the resolved experiment states the default of `duration`.
pub(super) fn read_hotspot(section: &mut Section<'_>, alone: bool) -> Result<Hotspot, Problem> {
    let mut inner = section.section(&HOTSPOT)?.ok_or_else(|| section.missing(&HOTSPOT))?;
    let output = inner.kind(&HOTSPOT_TYPE)? == "output";
    let default = if output { Hotspot::output_generated() } else { Hotspot::input_generated() };
    let destination = NodeId(inner.or(&DESTINATION, default.destination.0)?);
    let sources = read_sources(&mut inner, default.sources)?;
    let severity = inner.or(&SEVERITY, default.severity)?;
    let start = inner.or(&HOTSPOT_START, default.start)?;
    let duration = inner.or(&HOTSPOT_DURATION, default.duration)?;
    let victims = read_victims(&mut inner, default.victims)?;
    section.resolve(&HOTSPOT, inner.finish()?);
    let run = match alone {
        true => section.or(&DURATION, default.run)?,
        false => section.get(&DURATION)?.unwrap_or(default.run),
    };
    let process = read_process(section)?;
    let (weight, priority) = read_weight_and_priority(section)?;
    Ok(Hotspot { destination, sources, severity, start, duration, victims, run, process, weight, priority })
}

/// A number of hosts, or a fraction of all hosts.
pub(super) struct Degree(Sources);

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
            "the hotspot must have at least one source",
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
    described!("integer or fraction", { "type": ["integer", "number", "string"] });
}

/// Reads `sources`, or `degree` if `sources` is not given.
fn read_sources(section: &mut Section<'_>, default: Sources) -> Result<Sources, Problem> {
    match (section.get(&SOURCES)?, section.get(&DEGREE)?) {
        (Some(_), Some(_)) => {
            let what = "a hotspot cannot have both `sources` and `degree`";
            let hint = "keep only `sources` (a list of hosts) or `degree` (a number or a share of hosts)";
            Err(section.contradiction(&DEGREE, what, hint))
        }
        (Some(named), None) => Ok(Sources::Named(named.into_iter().map(NodeId).collect())),
        (None, Some(Degree(sources))) => Ok(sources),
        (None, None) => {
            let key: &dyn Declared = if matches!(default, Sources::Named(_)) { &SOURCES } else { &DEGREE };
            let default = Degree(default);
            section.resolve(key, default.show());
            Ok(default.0)
        }
    }
}

fn read_victims(section: &mut Section<'_>, default: Vec<Victim>) -> Result<Vec<Victim>, Problem> {
    let victims = match section.has(&VICTIMS) {
        true => section.sections(&VICTIMS)?.into_iter().map(read_victim).collect::<Result<_, _>>()?,
        false => default,
    };
    let show = |victim: &Victim| -> toml::Value {
        let Victim { src, dst, load } = victim;
        let keys = [("src", src.0.show()), ("dst", dst.0.show()), ("load", load.show())];
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<toml::Table>().into()
    };
    section.resolve(&VICTIMS, victims.iter().map(show).collect::<Vec<_>>());
    Ok(victims)
}

fn read_victim(mut section: Section<'_>) -> Result<Victim, Problem> {
    let (src, dst) = (section.read(&VICTIM_SRC)?, section.read(&VICTIM_DST)?);
    if src == dst {
        return Err(Problem::at(section.at_key(&VICTIM_DST), Cause::SelfFlow(src)));
    }
    let load = section.read(&VICTIM_LOAD)?;
    section.finish()?;
    Ok(Victim { src: NodeId(src), dst: NodeId(dst), load })
}
