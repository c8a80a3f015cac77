//! `[[failure]]`, `[faults]`, `[errors]`: what breaks while an experiment runs.

use super::frequency::Frequency;
use super::list;
use super::problem::Problem;
use super::section::{Fraction, Read, Section, out_of_range, wrong_type};
use super::value::{At, Item, Value};
use raddle_core::{Duration, NodeId, Time};

/// What a failure takes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// All links between two nodes, both directions.
    Link(NodeId, NodeId),
    /// All links of a node.
    Node(NodeId),
    /// Links of a Clos network that the seed chooses.
    Random(RandomLinks),
}

/// Between which levels of a Clos network a link runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Between edge and aggregation switches, or leaves and spines.
    Uplink,
    /// Between aggregation switches and cores.
    Core,
}

/// Links of a Clos network that the seed chooses, each with both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomLinks {
    /// Between which levels.
    pub tier: Tier,
    /// Of which pod; of all if `None`.
    pub pod: Option<u32>,
    /// How many.
    pub links: u32,
    /// How many of them, at most, at any one switch.
    pub most_a_switch: u32,
}

impl RandomLinks {
    fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let tiers = [("uplink", Tier::Uplink), ("core", Tier::Core)];
        let tier = section.choice("tier", "tier", &tiers, None)?;
        let pod = section.optional("pod")?;
        let links = section.required("links")?;
        section.ensure(links > 0, "links", "a failure of nothing", "give a number above zero")?;
        let most_a_switch = section.or("most_a_switch", links)?;
        section.ensure(
            most_a_switch > 0,
            "most_a_switch",
            "a failure of nothing",
            "give a number above zero",
        )?;
        Ok((Self { tier, pod, links, most_a_switch }, section.finish()?))
    }
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

/// How long topology discovery takes, unless the experiment says otherwise.
const DISCOVERY: Duration = Duration::from_ms(1);

fn time(span: Duration) -> Time {
    Time::ZERO + span
}

/// The nodes at the ends of a link, `[0, 1]`.
fn ends(item: &Item) -> Result<(NodeId, NodeId), Problem> {
    let Value::Array(ends) = &item.value else { return Err(wrong_type(item, "two nodes, [0, 1]")) };
    let [a, b] = &ends[..] else {
        return Err(out_of_range(&item.at, "a link has two ends", "write [0, 1]"));
    };
    Ok((NodeId(Read::read(a)?), NodeId(Read::read(b)?)))
}

fn show((a, b): (NodeId, NodeId)) -> toml::Value {
    vec![i64::from(a.0), i64::from(b.0)].into()
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
        let given = ["link", "node", "random"].map(|key| section.item(key).map(|_| key));
        let mut given = given.into_iter().flatten();
        let Some(key) = given.next() else { return Err(section.missing("link", "[0, 1]")) };
        if let Some(other) = given.next() {
            let hint = "write a [[failure]] for each";
            return Err(section.contradiction(
                other,
                format!("both `{key}` and `{other}` of a failure"),
                hint,
            ));
        }
        let broken = match (key, section.item(key)) {
            ("link", Some(item)) => {
                let ends = ends(item)?;
                section.resolve("link", show(ends));
                Broken::Link(ends.0, ends.1)
            }
            ("random", Some(item)) => {
                let (random, resolved) = RandomLinks::read(Section::of(item, "failure.random")?)?;
                section.resolve("random", resolved);
                Broken::Random(random)
            }
            _ => Broken::Node(NodeId(section.required("node")?)),
        };
        let repair = section.optional("repair")?.map(time);
        section.ensure(
            repair.is_none_or(|repair| repair > at),
            "repair",
            "repaired before it breaks",
            "`repair` is a time since the start of the run, later than `at`",
        )?;
        let discovery = section.or("discovery", DISCOVERY)?;
        let place = section.at_key(key).clone();
        Ok((Self { at, broken, repair, discovery, place }, section.finish()?))
    }
}

/// `[faults]`: failures at random times, each repaired after a random while.
#[derive(Debug, Clone)]
pub struct Faults {
    /// How often a link fails while it works, by itself.
    pub link_failures: Frequency,
    /// How often a node fails while it works.
    pub node_failures: Frequency,
    /// How long a repair takes on average.
    pub repair: Duration,
    /// How long topology discovery takes to tell every node.
    pub discovery: Duration,
    /// Nothing fails from this time on.
    pub until: Time,
    /// Where the experiment speaks of them.
    pub place: At,
}

impl Faults {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let faults = Self {
            link_failures: section.or("link_failures", Frequency::default())?,
            node_failures: section.or("node_failures", Frequency::default())?,
            repair: section.required("repair")?,
            discovery: section.or("discovery", DISCOVERY)?,
            until: time(section.required("until")?),
            place: section.at().clone(),
        };
        section.ensure(
            faults.repair > Duration::ZERO,
            "repair",
            "repaired in no time",
            "`repair` is how long a repair takes on average",
        )?;
        Ok((faults, section.finish()?))
    }
}

/// `[errors]`: links that lose and damage packets.
#[derive(Debug, Clone)]
pub struct Errors {
    /// Probability that a packet vanishes on a link.
    pub loss: f64,
    /// Probability that one bit of it arrives flipped.
    pub corruption: f64,
    /// The only links that do so, each with where the experiment names it; `None` is all of them.
    pub links: Option<Vec<((NodeId, NodeId), At)>>,
    /// No errors happen from this time on.
    pub until: Option<Time>,
}

impl Errors {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let Fraction(loss) = section.or("loss", Fraction(0.0))?;
        let Fraction(corruption) = section.or("corruption", Fraction(0.0))?;
        section.ensure(
            loss + corruption <= 1.0,
            "corruption",
            "more packets lost or damaged than there are",
            "`loss` and `corruption` are at most 1 together",
        )?;
        let links = section.item("links").map(|item| {
            let links = list(item)?.iter().map(|item| Ok((ends(item)?, item.at.clone())));
            links.collect::<Result<Vec<_>, Problem>>()
        });
        let links = links.transpose()?;
        if let Some(links) = &links {
            section.resolve("links", links.iter().map(|&(ends, _)| show(ends)).collect::<Vec<_>>());
        }
        let until = section.optional("until")?.map(time);
        Ok((Self { loss, corruption, links, until }, section.finish()?))
    }
}
