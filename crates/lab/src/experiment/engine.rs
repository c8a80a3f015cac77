//! `[engine]` and `[record]`: the settings of a run, and the records that it keeps.

use super::hosts::{self, HOSTS as HOSTS_KEYS, Namespaces};
use super::keys::{Key, Kinded, Named, keys};
use super::problem::Problem;
use super::section::Section;
use super::value::{At, Table};
use raddle_core::discovery::Discovery;
use raddle_core::{Bytes, Duration, Time};
use raddle_live::rack::Provider;

/// The engines that can run an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Simulates every packet on every link.
    Packet,
    /// Simulates flows as fluids.
    Flow,
    /// Passes encoded bytes between node objects under a shared virtual clock.
    Lockstep,
    /// Passes encoded bytes in real time.
    Live,
}

impl EngineKind {
    /// The engine's name in `engine.kind`.
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
    /// The engine.
    pub kind: EngineKind,
    /// The seed from which all random streams derive.
    pub seed: u64,
    /// True if nodes use cut-through forwarding: a node forwards a packet before the packet's last bit has arrived.
    pub cut_through: bool,
    /// Number of bytes of a packet that must have arrived before a node forwards the packet. `None` stands for the
    /// length of the transport's headers, or for 64 B if headers are part of the payload.
    pub header: Option<Bytes>,
    /// Simulated time at which the run stops even if flows are unfinished; `None` if the run ends with its last flow.
    pub time_limit: Option<Time>,
    /// The flow engine computes rates only at multiples of this time. If `None`, it computes them at every event.
    pub grid: Option<Duration>,
    /// Time between two hello messages. A node concludes that a link has failed if hello messages stop arriving on the
    /// link. `None` if the engine informs nodes of failures.
    pub hellos: Option<Duration>,
    /// The hosts of a live run if they are network namespaces; `None` for the hosts of the scheme.
    pub hosts: Option<Namespaces>,
    /// Ratio of real time to virtual time in a live run; `None` for 1.
    pub dilation: Option<u32>,
    /// Number of polling threads of a live run; `None` for 1. Each polling thread needs its own core.
    pub polling_threads: Option<u32>,
    /// The libfabric provider for packets between the processes of a live run, if the processes connect at a TCP
    /// address; `None` for TCP.
    pub provider: Option<Provider>,
    /// Simulated time between two searches for links that wait for each other in a cycle; `None` for the default.
    pub watchdog: Option<Duration>,
}

keys! {
    /// The engine and its settings.
    pub(crate) ENGINE = "engine" {
        /// The engine: `packet` simulates every packet, `flow` simulates flows as fluids, `lockstep` moves
        /// encoded bytes under a virtual clock, `live` moves bytes in real time.
        KIND: EngineKind = Key::new("kind").or("\"packet\"");
        /// Seed from which all random streams derive.
        SEED: u64 = Key::new("seed").or("1");
        /// If true, a node forwards a packet as soon as its header has arrived.
        CUT_THROUGH: bool = Key::new("cut_through").or("false");
        /// Number of bytes of a packet that must have arrived before a node forwards the packet. If left out, the
        /// length of the transport's headers, or 64 B if headers are part of the payload. Only with
        /// `cut_through = true`.
        HEADER: Bytes = Key::new("header").example("\"64 B\"").such("above 0 B and below 4 GiB", |header: &Bytes| {
            *header > Bytes(0) && u32::try_from(header.0).is_ok()
        });
        /// Simulated time at which the run stops even if flows are unfinished. If left out, the run ends with its last
        /// flow.
        TIME_LIMIT: Duration = Key::new("time_limit").above_zero().example("\"10 ms\"");
        /// The flow engine computes rates only at multiples of this time. If left out, it computes them at every event.
        GRID: Duration = Key::new("grid").above_zero().example("\"1 ms\"");
        /// The way in which nodes learn of failed links: with `oracle`, the engine informs every node; with `hello`, nodes exchange
        /// hello messages.
        DISCOVERY: Discoverer = Key::new("discovery").or("\"oracle\"");
        /// Time between two hello messages. Only with `discovery = "hello"`.
        HELLO_PERIOD: Duration = Key::new("hello_period").computed("1 ms").above_zero().example("\"1 ms\"");
        /// The hosts of a live run: the scheme's own hosts, or Linux network namespaces.
        HOSTS: Kinded = Key::new("hosts").table(&HOSTS_KEYS).example("\"namespaces\"");
        /// Ratio of real time to virtual time in a live run.
        DILATION: u32 = Key::new("dilation").computed("1").above_zero().example("10");
        /// Number of polling threads of a live run. Each thread needs its own core.
        POLLING_THREADS: u32 = Key::new("polling_threads")
            .computed("1")
            .above_zero()
            .example("2");
        /// The libfabric provider for packets between the processes of a live run, if the processes connect at a TCP
        /// address.
        PROVIDER: Provider = Key::new("provider").computed("`tcp`");
        /// Simulated time between two searches for links that wait for each other in a cycle. If left out, 10 ms. Only
        /// with `flow_control`.
        WATCHDOG: Duration = Key::new("watchdog").above_zero().example("\"10 ms\"");
    }
}

impl Named for EngineKind {
    const WHAT: &'static str = "engine";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("packet", Self::Packet, "simulates every packet on every link"),
        ("flow", Self::Flow, "simulates flows as fluids"),
        ("lockstep", Self::Lockstep, "moves encoded bytes between nodes under a virtual clock"),
        ("live", Self::Live, "moves encoded bytes between nodes in real time"),
    ];
}

/// The source from which nodes learn of failed links: the engine, or hello messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discoverer {
    Oracle,
    Hello,
}

impl Named for Discoverer {
    const WHAT: &'static str = "method of topology discovery";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        (
            "oracle",
            Self::Oracle,
            "the engine informs every node of a failure, after the delay `failure.discovery` or `faults.discovery`",
        ),
        (
            "hello",
            Self::Hello,
            "nodes exchange hello messages, and announce a link as failed if its hello messages stop",
        ),
    ];
}

impl Named for Provider {
    const WHAT: &'static str = "libfabric provider";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("tcp", Self::Tcp, "TCP sockets"),
        ("shm", Self::Shm, "shared memory between processes on one machine"),
        ("verbs", Self::Verbs, "RDMA cards"),
    ];
}

fn time(span: Duration) -> Time {
    Time::ZERO + span
}

/// Reads `discovery` and `hello_period`. Returns the period, or `None` without hello messages.
fn hellos(section: &mut Section<'_>) -> Result<Option<Duration>, Problem> {
    let discoverer = section.get(&DISCOVERY)?;
    if discoverer != Some(Discoverer::Hello) {
        if section.has(&HELLO_PERIOD) {
            let hint = "add `discovery = \"hello\"`, or leave `hello_period` out";
            return Err(section.contradiction(
                &HELLO_PERIOD,
                "`hello_period` needs `discovery = \"hello\"`",
                hint,
            ));
        }
        return Ok(None);
    }
    section.or(&HELLO_PERIOD, Discovery::PERIOD).map(Some)
}

impl Engine {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let hellos = hellos(&mut section)?;
        let engine = Self {
            hellos,
            kind: section.read(&KIND)?,
            seed: section.read(&SEED)?,
            cut_through: section.read(&CUT_THROUGH)?,
            header: section.get(&HEADER)?,
            time_limit: section.get(&TIME_LIMIT)?.map(time),
            grid: section.get(&GRID)?,
            hosts: hosts::read(&mut section)?,
            dilation: section.get(&DILATION)?,
            polling_threads: section.get(&POLLING_THREADS)?,
            provider: section.get(&PROVIDER)?,
            watchdog: section.get(&WATCHDOG)?,
        };
        let hint = "add `cut_through = true`, or leave `header` out";
        let used = engine.header.is_none() || engine.cut_through;
        section.ensure(used, &HEADER, "`header` needs `cut_through = true`", hint)?;
        Ok((engine, section.finish()?))
    }
}

/// `[record]`: the records that a run keeps.
#[derive(Debug, Clone)]
pub struct Record {
    /// True to keep a row for each directed link.
    pub links: bool,
    /// True to keep a histogram of the queue length at each port (packet engine).
    pub queues: bool,
    /// Length of the intervals in which the bytes on uplinks are counted; `None` to count nothing. The throughput
    /// imbalance of a switch's uplinks is computed for each interval.
    pub imbalance: Option<Duration>,
    /// Length of the intervals in which the bytes that hosts receive are counted, for each flow; `None` to count
    /// nothing.
    pub throughput: Option<Duration>,
    /// The sampling of queue lengths (packet engine); `None` to sample nothing.
    pub queue_lengths: Option<QueueLengths>,
    /// True to keep time series, and the paths of the slowest flows, for `raddle report`.
    pub series: bool,
    /// The capture of packets; `None` to capture nothing.
    pub pcap: Option<Pcap>,
}

/// The sampling of queue lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLengths {
    /// Simulated time between two samples.
    pub interval: Duration,
    /// The links whose egress queues are sampled: `all`, or a list of node pairs and link numbers such as `3->12, 40`.
    pub links: String,
}

impl QueueLengths {
    fn read(section: &mut Section<'_>) -> Result<Option<Self>, Problem> {
        let Some(interval) = section.get(&QUEUE_LENGTHS)? else { return Ok(None) };
        Ok(Some(Self { interval, links: section.read(&QUEUE_LINKS)? }))
    }
}

/// The capture of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pcap {
    /// The links whose packets are captured: `all`, or a list of node pairs and link numbers such as `3->12, 40`.
    pub links: String,
    /// Maximum number of bytes that are kept of each frame, from the start of the frame.
    pub snap: u32,
}

keys! {
    /// The records that a run keeps in addition to the records of its flows.
    pub(crate) RECORD = "record" {
        /// A row for each directed link.
        LINKS: bool = Key::new("links").or("true");
        /// For each port, a histogram of the queue length when a packet joins the queue, this packet included.
        QUEUES: bool = Key::new("queues").or("false");
        /// Length of the intervals in which the bytes on uplinks are counted. The throughput imbalance of a switch's
        /// uplinks is computed for each interval. If left out, nothing is counted.
        IMBALANCE: Duration = Key::new("imbalance").above_zero().example("\"1 ms\"");
        /// Length of the intervals in which the bytes that hosts receive are counted, for each flow.
        THROUGHPUT: Duration = Key::new("throughput").above_zero().example("\"1 ms\"");
        /// Time between two samples of queue lengths.
        QUEUE_LENGTHS: Duration = Key::new("queue_lengths")
            .above_zero()
            .example("\"1 ms\"");
        /// Links whose queues are sampled: `all`, or a list of node pairs and link numbers such as `3->12, 40`. Only
        /// with `queue_lengths`.
        QUEUE_LINKS: String = Key::new("queue_links").or("\"all\"");
        /// Time series for `raddle report`: the traffic and the queue of each link, the throughput of each sender and
        /// of the largest flows, and the times in which the ranks of a program compute, send and receive. Also the
        /// paths of the slowest flows. If left out, none of these are recorded.
        SERIES: bool = Key::new("series").example("true");
        /// Links whose packets are captured in `packets.pcapng`: `all`, or a list of node pairs and link numbers such
        /// as `3->12, 40`.
        PCAP: String = Key::new("pcap").example("\"all\"");
        /// Maximum number of bytes that the capture keeps of each frame, from the start of the frame. Only with `pcap`.
        PCAP_SNAP: Bytes = Key::new("pcap_snap")
            .or("\"128 B\"")
            .such("from 1 to 262144 bytes", |&Bytes(snap)| (1..=Pcap::MOST).contains(&snap));
    }
}

impl Pcap {
    /// The size of the largest frame that Wireshark reads, in bytes.
    const MOST: u64 = 262_144;

    #[allow(clippy::cast_possible_truncation, reason = "`PCAP_SNAP` is at most 262,144")]
    fn read(section: &mut Section<'_>) -> Result<Option<Self>, Problem> {
        let Some(links) = section.get(&PCAP)? else { return Ok(None) };
        let Bytes(snap) = section.read(&PCAP_SNAP)?;
        Ok(Some(Self { links, snap: snap as u32 }))
    }
}

impl Record {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let record = Self {
            links: section.read(&LINKS)?,
            queues: section.read(&QUEUES)?,
            imbalance: section.get(&IMBALANCE)?,
            throughput: section.get(&THROUGHPUT)?,
            queue_lengths: QueueLengths::read(&mut section)?,
            series: section.get(&SERIES)? == Some(true),
            pcap: Pcap::read(&mut section)?,
        };
        Ok((record, section.finish()?))
    }
}

/// An empty table in place of a table that the experiment leaves out. All keys of the table then take their defaults.
pub(super) fn absent(at: &At) -> Table {
    Table { entries: Vec::new(), at: at.clone() }
}
