//! `[engine]`, `[record]`: how an experiment runs, and what it keeps.

use super::hosts::{self, Namespaces};
use super::problem::Problem;
use super::section::Section;
use super::value::{At, Table};
use raddle_core::discovery::Discovery;
use raddle_core::{Bytes, Duration, Time};
use raddle_live::rack::Provider;

/// The runtimes of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Every packet on every link.
    Packet,
    /// Flows as fluids.
    Flow,
    /// Encoded bytes between node objects under a shared virtual clock.
    Lockstep,
    /// Bytes in real time.
    Live,
}

impl EngineKind {
    const ALL: [Self; 4] = [Self::Packet, Self::Flow, Self::Lockstep, Self::Live];

    /// Its name in `engine.kind`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Flow => "flow",
            Self::Lockstep => "lockstep",
            Self::Live => "live",
        }
    }
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
    /// What they must have of it by then, if not the transport's headers.
    pub header: Option<Bytes>,
    /// When to stop, if flows are left.
    pub time_limit: Option<Time>,
    /// At multiples of which alone the flow engine works out rates, if not at every event.
    pub grid: Option<Duration>,
    /// Time between two hellos, if nodes find out by themselves which links are down; otherwise they are told.
    pub hellos: Option<Duration>,
    /// What is at the hosts of a live run, if not the scheme's own hosts.
    pub hosts: Option<Namespaces>,
    /// Real time over virtual time in a live run, if not 1.
    pub dilation: Option<u32>,
    /// Threads of a live run that poll, which want a core each; 1 if left out.
    pub polling_threads: Option<u32>,
    /// How packets of a live run go to other machines; by TCP if left out.
    pub provider: Option<Provider>,
    /// Simulated time between two looks for links that wait for each other in a circle, if not the usual one.
    pub watchdog: Option<Duration>,
}

fn time(span: Duration) -> Time {
    Time::ZERO + span
}

/// `discovery` and `hello_period`.
fn hellos(section: &mut Section<'_>) -> Result<Option<Duration>, Problem> {
    let ways = [("oracle", false), ("hello", true)];
    let says_hello = section.item("discovery").is_some()
        && section.choice("discovery", "way of topology discovery", &ways, None)?;
    if !says_hello {
        if section.item("hello_period").is_some() {
            let hint = "add `discovery = \"hello\"`, or leave `hello_period` out";
            return Err(section.contradiction("hello_period", "nodes of this experiment say no hello", hint));
        }
        return Ok(None);
    }
    let period = section.or("hello_period", Discovery::PERIOD)?;
    let hint = "for example: hello_period = \"1 ms\"";
    section.ensure(period > Duration::ZERO, "hello_period", "`hello_period` must be greater than 0", hint)?;
    Ok(Some(period))
}

/// `provider`.
fn provider(section: &mut Section<'_>) -> Result<Option<Provider>, Problem> {
    if section.item("provider").is_none() {
        return Ok(None);
    }
    section.choice("provider", "provider of libfabric", &Provider::NAMES, None).map(Some)
}

impl Engine {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let kinds = EngineKind::ALL.map(|kind| (kind.name(), kind));
        let hellos = hellos(&mut section)?;
        let engine = Self {
            hellos,
            kind: section.choice("kind", "engine", &kinds, Some("packet"))?,
            seed: section.or("seed", 1)?,
            cut_through: section.or("cut_through", false)?,
            header: section.optional("header")?,
            time_limit: section.optional("time_limit")?.map(time),
            grid: section.optional("grid")?,
            hosts: hosts::read(&mut section)?,
            dilation: section.optional("dilation")?,
            polling_threads: section.optional("polling_threads")?,
            provider: provider(&mut section)?,
            watchdog: section.optional("watchdog")?,
        };
        let hint = "1 is real time: for example dilation = 10";
        section.ensure(engine.dilation != Some(0), "dilation", "time that stands still", hint)?;
        let hint = "a core each: for example polling_threads = 2";
        section.ensure(engine.polling_threads != Some(0), "polling_threads", "nobody polls", hint)?;
        let hint = "for example: grid = \"1 ms\"";
        section.ensure(engine.grid != Some(Duration::ZERO), "grid", "a grid of no time", hint)?;
        let hint = "for example: watchdog = \"10 ms\"";
        section.ensure(
            engine.watchdog != Some(Duration::ZERO),
            "watchdog",
            "looks of no time apart",
            hint,
        )?;
        section.ensure(
            engine.time_limit != Some(Time::ZERO),
            "time_limit",
            "no time to run in",
            "leave `time_limit` out to run until the last flow is done",
        )?;
        let hint = "add `cut_through = true`, or leave `header` out";
        let used = engine.header.is_none() || engine.cut_through;
        section.ensure(used, "header", "nodes that wait for whole packets look at no header first", hint)?;
        let fits = engine.header.is_none_or(|header| header > Bytes(0) && header.0 <= u32::MAX.into());
        section.ensure(fits, "header", "no size of a header", "for example: header = \"64 B\"")?;
        Ok((engine, section.finish()?))
    }
}

/// `[record]`: what a run keeps.
#[derive(Debug, Clone)]
pub struct Record {
    /// A row a directed link.
    pub links: bool,
    /// A histogram of each port's queue (packet engine).
    pub queues: bool,
    /// The interval in which what uplinks send is sampled for the imbalance of switches.
    pub imbalance: Option<Duration>,
    /// The interval in which what hosts receive of each flow is counted.
    pub throughput: Option<Duration>,
    /// Looks at queues (packet engine).
    pub queue_lengths: Option<QueueLengths>,
    /// A capture of packets.
    pub pcap: Option<Pcap>,
}

/// When queues are looked at, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLengths {
    /// Simulated time between two looks.
    pub interval: Duration,
    /// The links behind the ports: `all`, or a list of their ends and numbers such as `3->12, 40`.
    pub links: String,
}

impl QueueLengths {
    fn read(section: &mut Section<'_>) -> Result<Option<Self>, Problem> {
        let Some(interval) = section.optional("queue_lengths")? else { return Ok(None) };
        Ok(Some(Self { interval, links: section.or("queue_links", "all".to_owned())? }))
    }
}

/// What is captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pcap {
    /// Links: `all`, or a list of their ends and numbers such as `3->12, 40`.
    pub links: String,
    /// Bytes kept of each frame.
    pub snap: u32,
}

impl Pcap {
    /// As much as Wireshark reads of a frame.
    const MOST: u64 = 262_144;

    fn read(section: &mut Section<'_>) -> Result<Option<Self>, Problem> {
        let Some(links) = section.optional("pcap")? else { return Ok(None) };
        let Bytes(snap) = section.or("pcap_snap", Bytes(128))?;
        let fits = (1..=Self::MOST).contains(&snap);
        let hint = "1 to 262144 bytes, for example: pcap_snap = \"128 B\"";
        section.ensure(fits, "pcap_snap", "no part of a frame, or more than readers take", hint)?;
        Ok(Some(Self { links, snap: snap as u32 }))
    }
}

impl Record {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let record = Self {
            links: section.or("links", true)?,
            queues: section.or("queues", false)?,
            imbalance: section.optional("imbalance")?,
            throughput: section.optional("throughput")?,
            queue_lengths: QueueLengths::read(&mut section)?,
            pcap: Pcap::read(&mut section)?,
        };
        let queue_lengths = record.queue_lengths.as_ref().map(|asked| asked.interval);
        let intervals = [
            ("imbalance", record.imbalance),
            ("throughput", record.throughput),
            ("queue_lengths", queue_lengths),
        ];
        for (key, interval) in intervals {
            let hint = format!("for example: {key} = \"1 ms\"");
            section.ensure(interval != Some(Duration::ZERO), key, "samples of no time", &hint)?;
        }
        Ok((record, section.finish()?))
    }
}

/// An empty table to read defaults from, in place of one that is not there.
pub(super) fn absent(at: &At) -> Table {
    Table { entries: Vec::new(), at: at.clone() }
}
