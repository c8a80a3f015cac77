//! `[engine]`, `[[failure]]`: how an experiment runs, and what breaks while it does.

use super::problem::Problem;
use super::section::{Section, out_of_range};
use super::value::{At, Table, Value};
use super::{list, section::wrong_type};
use raddle_core::{Duration, NodeId, Time};

/// The runtimes of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Every packet on every link.
    Packet,
    /// Encoded bytes between node objects under a shared virtual clock.
    Lockstep,
}

/// `[engine]`.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Which runtime.
    pub kind: EngineKind,
    /// What all random streams derive from.
    pub seed: u64,
    /// Whether nodes pass a packet on before its last bit is there.
    pub cut_through: bool,
    /// When to stop, if flows are left.
    pub time_limit: Option<Time>,
}

/// What a failure takes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// All links between two nodes, both directions.
    Link(NodeId, NodeId),
    /// All links of a node.
    Node(NodeId),
}

/// One `[[failure]]`.
#[derive(Debug, Clone)]
pub struct Failure {
    /// When it happens.
    pub at: Time,
    /// What breaks.
    pub broken: Broken,
    /// When it works again.
    pub repair: Option<Time>,
    /// How long topology discovery takes to tell every node.
    pub discovery: Duration,
    /// Where the experiment names what breaks.
    pub place: At,
}

fn time(span: Duration) -> Time {
    Time::ZERO + span
}

impl Engine {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let kinds = [("packet", EngineKind::Packet), ("lockstep", EngineKind::Lockstep)];
        let engine = Self {
            kind: section.choice("kind", "engine", &kinds, Some("packet"))?,
            seed: section.or("seed", 1)?,
            cut_through: section.or("cut_through", false)?,
            time_limit: section.optional("time_limit")?.map(time),
        };
        section.ensure(
            engine.time_limit != Some(Time::ZERO),
            "time_limit",
            "no time to run in",
            "leave `time_limit` out to run until the last flow is done",
        )?;
        if engine.cut_through && engine.kind == EngineKind::Lockstep {
            let hint = "leave `cut_through` out, or choose kind = \"packet\"";
            return Err(section.contradiction("cut_through", "lockstep is store-and-forward", hint));
        }
        Ok((engine, section.finish()?))
    }
}

impl Failure {
    /// Reads all `[[failure]]` tables of an experiment.
    pub(super) fn read_all(root: &mut Section<'_>) -> Result<Vec<Self>, Problem> {
        let Some(item) = root.item("failure") else { return Ok(Vec::new()) };
        let (failures, resolved): (Vec<_>, Vec<_>) = list(item)?
            .iter()
            .map(|item| Self::read(Section::of(item, "failure")?))
            .collect::<Result<_, _>>()?;
        root.resolve("failure", resolved);
        Ok(failures)
    }

    fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let at = time(section.required("at")?);
        let (broken, key) = match (section.item("link"), section.optional::<u32>("node")?) {
            (Some(item), None) => {
                let Value::Array(ends) = &item.value else {
                    return Err(wrong_type(item, "two nodes, [0, 1]"));
                };
                let [a, b] = &ends[..] else {
                    return Err(out_of_range(&item.at, "a link has two ends", "write link = [0, 1]"));
                };
                let ends = (super::section::Read::read(a)?, super::section::Read::read(b)?);
                section.resolve("link", vec![i64::from(ends.0), i64::from(ends.1)]);
                (Broken::Link(NodeId(ends.0), NodeId(ends.1)), "link")
            }
            (None, Some(node)) => (Broken::Node(NodeId(node)), "node"),
            (None, None) => return Err(section.missing("link", "[0, 1]")),
            (Some(_), Some(_)) => {
                let hint = "write a [[failure]] for each";
                return Err(section.contradiction("node", "a failure is of a link or of a node", hint));
            }
        };
        let repair = section.optional("repair")?.map(time);
        section.ensure(
            repair.is_none_or(|repair| repair > at),
            "repair",
            "repaired before it breaks",
            "`repair` is a time since the start of the run, later than `at`",
        )?;
        let discovery = section.or("discovery", Duration::from_ms(1))?;
        let place = section.at_key(key).clone();
        Ok((Self { at, broken, repair, discovery, place }, section.finish()?))
    }
}

/// `[record]`: what a run keeps.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// A row a directed link.
    pub links: bool,
    /// A histogram of each port's queue (packet engine).
    pub queues: bool,
}

impl Record {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let record = Self { links: section.or("links", true)?, queues: section.or("queues", false)? };
        Ok((record, section.finish()?))
    }
}

/// An empty table to read defaults from, in place of one that is not there.
pub(super) fn absent(at: &At) -> Table {
    Table { entries: Vec::new(), at: at.clone() }
}
