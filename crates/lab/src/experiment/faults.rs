//! `[[failure]]`, `[faults]`, `[errors]`: failures of links and nodes, and packet errors, during a run.

use super::frequency::Frequency;
use super::keys::{Declared, Inner, Key, Named, keys};
use super::problem::Problem;
use super::section::{Fraction, Read, Section, list, out_of_range, wrong_type};
use super::value::{At, Item, Value};
use raddle_core::{Duration, NodeId, Time};

/// The links that a failure takes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// All links between two nodes, in both directions.
    Link(NodeId, NodeId),
    /// All links of a node.
    Node(NodeId),
    /// Random links of a Clos network. The seed determines them.
    Random(RandomLinks),
}

/// The tier of a link in a Clos network: the levels of switches that the link connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Links between edge and aggregation switches, or between leaves and spines.
    Uplink,
    /// Links between aggregation switches and cores.
    Core,
}

/// Random links of a Clos network. The seed determines them. Both directions of a chosen link fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomLinks {
    /// Tier of the links.
    pub tier: Tier,
    /// Pod of the links; `None` for links of all pods.
    pub pod: Option<u32>,
    /// Number of links that fail.
    pub links: u32,
    /// Maximum number of links that fail at any one switch.
    pub most_a_switch: u32,
}

impl Named for Tier {
    const WHAT: &'static str = "tier";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("uplink", Self::Uplink, "links between leaves and spines, or between edge and aggregation switches"),
        ("core", Self::Core, "links between aggregation switches and cores"),
    ];
}

keys! {
    /// Random links of a Clos network, which fail together. The seed determines the links.
    RANDOM_LINKS = "failure.random" {
        /// Tier of the links.
        TIER: Tier = Key::new("tier").required().example("\"uplink\"");
        /// Pod of the links. If left out, links of all pods can fail.
        POD: u32 = Key::new("pod").example("0");
        /// Number of links that fail.
        LINKS: u32 = Key::new("links").required().above_zero().example("4");
        /// Maximum number of links that fail at any one switch.
        MOST_A_SWITCH: u32 = Key::new("most_a_switch").computed("`links`").above_zero().example("1");
    }

    /// A failure at a stated time: of the links between two nodes, of a node, or of random links.
    pub(crate) FAILURE = "failure" {
        /// Time of the failure, since the start of the run.
        AT: Duration = Key::new("at").required().example("\"1 ms\"");
        /// The two nodes between which all links fail, in both directions.
        LINK: Vec<u32> = Key::new("link").example("[0, 1]");
        /// The node whose links all fail.
        NODE: u32 = Key::new("node").example("3");
        /// Random links of a Clos network, which fail together. The seed determines the links.
        RANDOM: Inner = Key::new("random").table(&RANDOM_LINKS).example("{ tier = \"core\", links = 4 }");
        /// Time of the repair, since the start of the run. If left out, there is no repair.
        REPAIR: Duration = Key::new("repair").example("\"2 ms\"");
        /// Time that topology discovery takes to inform every node of a failure or a repair. Not used with
        /// `discovery = "hello"` in `[engine]`.
        DISCOVERY: Duration = Key::new("discovery").or("\"1 ms\"");
    }

    /// Failures of links and nodes at random times. Each is repaired after a random time.
    pub(crate) FAULTS = "faults" {
        /// Mean frequency at which one working link fails.
        LINK_FAILURES: Frequency = Key::new("link_failures").or("\"0 / s\"").example("\"1.2 / year\"");
        /// Mean frequency at which one working node fails.
        NODE_FAILURES: Frequency = Key::new("node_failures").or("\"0 / s\"").example("\"1.2 / year\"");
        /// Mean time from a failure to its repair.
        MEAN_REPAIR: Duration = Key::new("repair").required().above_zero();
        /// Time that topology discovery takes to inform every node of a failure or a repair. Not used with
        /// `discovery = "hello"` in `[engine]`.
        FAULTS_DISCOVERY: Duration = Key::new("discovery").or("\"1 ms\"");
        /// Time after which no failures happen.
        UNTIL: Duration = Key::new("until").required().example("\"10 ms\"");
    }

    /// Links that lose and corrupt packets.
    pub(crate) ERRORS = "errors" {
        /// Probability that a link loses a packet.
        LOSS: Fraction = Key::new("loss").or("0.0").example("\"0.1%\"");
        /// Probability that one bit of a packet is flipped on a link.
        CORRUPTION: Fraction = Key::new("corruption").or("0.0").example("\"0.1%\"");
        /// Links that lose and corrupt packets, each as a pair of nodes. If left out, all links lose and corrupt
        /// packets.
        ERROR_LINKS: Vec<Vec<u32>> = Key::new("links").example("[[0, 1], [4, 5]]");
        /// Time after which no errors happen. If left out, errors happen until the run ends.
        ERRORS_UNTIL: Duration = Key::new("until").example("\"10 ms\"");
    }
}

impl RandomLinks {
    fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let (tier, pod, links) = (section.read(&TIER)?, section.get(&POD)?, section.read(&LINKS)?);
        let most_a_switch = section.or(&MOST_A_SWITCH, links)?;
        Ok((Self { tier, pod, links, most_a_switch }, section.finish()?))
    }
}

/// One `[[failure]]`.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Time of the failure, since the start of the run.
    pub at: Time,
    /// The links that fail.
    pub broken: Broken,
    /// Time of the repair; `None` if there is no repair.
    pub repair: Option<Time>,
    /// Time that topology discovery takes to inform every node of a failure or a repair. Not used if nodes exchange
    /// hello messages.
    pub discovery: Duration,
    /// The position of the value of `link`, `node` or `random` in the experiment's text.
    pub place: At,
}

fn time(span: Duration) -> Time {
    Time::ZERO + span
}

/// Reads the two end nodes of a link, such as `[0, 1]`.
fn ends(item: &Item) -> Result<(NodeId, NodeId), Problem> {
    let Value::Array(ends) = &item.value else {
        return Err(wrong_type(item, "a link as two nodes, such as [0, 1]"));
    };
    let [a, b] = &ends[..] else {
        return Err(out_of_range(&item.at, "a link must have two nodes", "write two nodes, such as [0, 1]"));
    };
    Ok((NodeId(Read::read(a)?), NodeId(Read::read(b)?)))
}

fn show((a, b): (NodeId, NodeId)) -> toml::Value {
    vec![i64::from(a.0), i64::from(b.0)].into()
}

impl Failure {
    /// Reads all `[[failure]]` tables of an experiment.
    pub(super) fn read_all(root: &mut Section<'_>) -> Result<Vec<Self>, Problem> {
        let tables = root.sections(&super::FAILURES)?;
        let (failures, resolved): (Vec<_>, Vec<_>) =
            tables.into_iter().map(Self::read).collect::<Result<_, _>>()?;
        if root.has(&super::FAILURES) {
            root.resolve(&super::FAILURES, resolved);
        }
        Ok(failures)
    }

    fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let at = time(section.read(&AT)?);
        let ways: [&dyn Declared; 3] = [&LINK, &NODE, &RANDOM];
        let mut given = ways.into_iter().filter(|key| section.has(*key)).collect::<Vec<_>>().into_iter();
        let Some(key) = given.next() else { return Err(section.missing(&LINK)) };
        if let Some(other) = given.next() {
            let what = format!("a failure cannot have both `{}` and `{}`", key.name(), other.name());
            let hint = "write a separate [[failure]] table for each of the two keys";
            return Err(section.contradiction(other, what, hint));
        }
        let broken = if let Some(item) = section.item(&LINK) {
            let ends = ends(item)?;
            section.resolve(&LINK, show(ends));
            Broken::Link(ends.0, ends.1)
        } else if let Some(random) = section.section(&RANDOM)? {
            let (random, resolved) = RandomLinks::read(random)?;
            section.resolve(&RANDOM, resolved);
            Broken::Random(random)
        } else {
            Broken::Node(NodeId(section.read(&NODE)?))
        };
        let repair = section.get(&REPAIR)?.map(time);
        section.ensure(
            repair.is_none_or(|repair| repair > at),
            &REPAIR,
            "`repair` must be later than `at`",
            "give a later time; `repair` counts from the start of the run, not from `at`",
        )?;
        let discovery = section.read(&DISCOVERY)?;
        let place = section.at_key(key).clone();
        Ok((Self { at, broken, repair, discovery, place }, section.finish()?))
    }
}

/// `[faults]`: failures at random times. Each is repaired after a random time.
#[derive(Debug, Clone)]
pub struct Faults {
    /// Mean frequency at which one working link fails for a reason other than the failure of a node.
    pub link_failures: Frequency,
    /// Mean frequency at which one working node fails.
    pub node_failures: Frequency,
    /// Mean time from a failure to its repair.
    pub repair: Duration,
    /// Time that topology discovery takes to inform every node of a failure or a repair. Not used if nodes exchange
    /// hello messages.
    pub discovery: Duration,
    /// Time after which no failures happen.
    pub until: Time,
    /// The position of `[faults]` in the experiment's text.
    pub place: At,
}

impl Faults {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let faults = Self {
            link_failures: section.read(&LINK_FAILURES)?,
            node_failures: section.read(&NODE_FAILURES)?,
            repair: section.read(&MEAN_REPAIR)?,
            discovery: section.read(&FAULTS_DISCOVERY)?,
            until: time(section.read(&UNTIL)?),
            place: section.at().clone(),
        };
        Ok((faults, section.finish()?))
    }
}

/// `[errors]`: links that lose and corrupt packets.
#[derive(Debug, Clone)]
pub struct Errors {
    /// Probability that a link loses a packet.
    pub loss: f64,
    /// Probability that one bit of a packet is flipped on a link.
    pub corruption: f64,
    /// The links with errors, each with its position in the experiment's text; `None` for all links.
    pub links: Option<Vec<((NodeId, NodeId), At)>>,
    /// Time after which no errors happen; `None` if errors happen until the run ends.
    pub until: Option<Time>,
}

impl Errors {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let (Fraction(loss), Fraction(corruption)) = (section.read(&LOSS)?, section.read(&CORRUPTION)?);
        section.ensure(
            loss + corruption <= 1.0,
            &CORRUPTION,
            "the sum of the probabilities `loss` and `corruption` must be at most 1",
            "give smaller probabilities",
        )?;
        let links = section.item(&ERROR_LINKS).map(|item| {
            let links = list(item)?.iter().map(|item| Ok((ends(item)?, item.at.clone())));
            links.collect::<Result<Vec<_>, Problem>>()
        });
        let links = links.transpose()?;
        if let Some(links) = &links {
            section.resolve(&ERROR_LINKS, links.iter().map(|&(ends, _)| show(ends)).collect::<Vec<_>>());
        }
        let until = section.get(&ERRORS_UNTIL)?.map(time);
        Ok((Self { loss, corruption, links, until }, section.finish()?))
    }
}
