//! Runs experiments on the live rack. Either the whole rack runs in this process, or each of several processes runs
//! some of the rack's nodes.

use crate::Error;
use crate::experiment::{Namespaces, Scheme};
use crate::observe::gather::{Gather, Sampled};
use crate::observe::lossless;
use crate::run::desk::Desk;
use crate::run::graceful::Graceful;
use crate::run::prepare::Prepared;
use crate::run::{Control, Ended, Watch};
use raddle_core::{Flow, NodeId, Observer, Parts, Progress, Time};
use raddle_live::load::{self, Load};
use raddle_live::rack::ip::{FrameHost, Interface, IpHost, Namespace, NoFrameHost, NoNamespace};
use raddle_live::rack::{Config, Fidelity, Meeting, NoParty, NoRack, Party, Rack, Terms};
use std::net::Ipv4Addr;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// The part of a rack that one process runs.
#[derive(Debug, Clone)]
pub struct Share {
    /// The nodes that this process runs.
    pub nodes: Range<u32>,
    /// The address at which the processes connect to each other.
    pub meeting: Meeting,
    /// True if this is the host process, to which the other processes connect and which keeps all results.
    pub is_host: bool,
    /// A secret shared by all processes. It may be empty if the processes connect at a Unix socket.
    pub secret: Vec<u8>,
}

/// The results of a process that is not the host process.
#[derive(Debug)]
pub struct Shared {
    /// True if the run reached its end.
    pub complete: bool,
    /// Number of times that a packet crossed a link to one of this process's nodes.
    pub packet_hops: u64,
    /// Measured fidelity of this process's nodes.
    pub fidelity: Fidelity,
}

/// Runs an experiment on the live rack.
pub(crate) fn run<'a>(
    prepared: &mut Prepared,
    gather: Gather<'a>,
    watch: &mut Watch<'_>,
) -> Result<Ended<'a>, Error> {
    let mut rack = rack(prepared, &mut |progress| watch.look(progress))?;
    let hosts = linux_hosts(prepared, &mut rack)?;
    if prepared.loads_kernels() {
        rack = rack.with_load(load(prepared, &hosts)?);
    }
    // The rack cannot know when the users' programs in the namespaces have finished, so it must not end by itself.
    let stay = (!hosts.is_empty() && !prepared.loads_kernels()).then(|| rack.stay());
    let mut desk = Desk::open(&mut rack, &prepared.topology, prepared.share.is_some());
    let mut look = |progress| {
        desk.iter_mut().for_each(Desk::serve);
        watch.look(progress)
    };
    let mut gather = gather;
    let complete = if gather.hears_packets() {
        let mut sampled = Sampled(gather);
        let complete = rack.run(&mut sampled, &mut look);
        gather = sampled.into();
        complete
    } else {
        rack.run(&mut gather, &mut look)
    };
    drop((hosts, stay));
    refuse_lost(&rack)?;
    if let Some(why) = rack.load_failed() {
        return Err(Error::Run(format!("the load generator failed: {why}")));
    }
    let (waiting, retransmissions) = (rack.waiting(), rack.retransmissions());
    let fidelity = Some(rack.fidelity());
    let (now, totals, links) = (rack.now(), rack.totals(), rack.link_stats());
    let topology = &prepared.topology;
    let flow_control = lossless::records(&rack.flow_control(), topology, now);
    lossless::refuse_losses(&flow_control, &links, &totals.drops, topology)?;
    let ended = Ended::new(gather, totals, links, now, complete);
    Ok(Ended { flow_control, waiting, retransmissions, fidelity, ..ended })
}

/// Runs this process's part of a rack. The host process keeps the results.
///
/// # Errors
/// If the processes cannot connect to each other, if the run is stopped before they have connected, if the rack or a
/// namespace cannot be created, or if another process is lost before the end.
pub fn join(mut prepared: Prepared, control: Control<'_>) -> Result<Shared, Error> {
    let _graceful = Graceful::begin();
    let mut watch = Watch::new(control, &prepared);
    let mut rack = rack(&mut prepared, &mut |progress| watch.look(progress))?;
    let hosts = linux_hosts(&prepared, &mut rack)?;
    let stay = (!hosts.is_empty()).then(|| rack.stay());
    let record = &prepared.experiment.record;
    let hears_packets = record.pcap.is_some() || record.imbalance.is_some() || record.throughput.is_some();
    let look = |progress| watch.look(progress);
    let complete = match hears_packets {
        true => rack.run(&mut PassesAllOn, look),
        false => rack.run(&mut (), look),
    };
    drop((hosts, stay));
    refuse_lost(&rack)?;
    Ok(Shared { complete, packet_hops: rack.totals().packet_hops, fidelity: rack.fidelity() })
}

/// Subscribes to every forwarded packet, so that the host process receives these events.
struct PassesAllOn;

impl Observer for PassesAllOn {
    const FORWARDED: bool = true;
}

/// The rack, or this process's part of the rack.
#[allow(clippy::cast_possible_truncation, reason = "nodes are counted in `u32`")]
fn rack(prepared: &mut Prepared, look: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Rack, Error> {
    let topology = Arc::clone(&prepared.topology);
    let engine = &prepared.experiment.engine;
    let sends_frames = prepared.sends_frames();
    let mut packet_bytes = (prepared.parts.mtu + prepared.parts.header_bytes) as usize;
    let mut decoders = prepared.errors.decoders.clone();
    if sends_frames {
        packet_bytes = packet_bytes.max(MOST_FRAME);
        decoders = decoders.with_frames();
    }
    let config = Config {
        dilation: engine.dilation.unwrap_or(1),
        threads: engine.polling_threads.unwrap_or(1) as usize,
        packet_bytes: packet_bytes + TAGS,
        decoders,
        time_limit: engine.time_limit,
        provider: engine.provider.unwrap_or_default(),
        ..Config::default()
    };
    let nodes = topology.nodes().count() as u32;
    let party = match &prepared.share {
        None => None,
        Some(share) => {
            let terms = Terms {
                nodes: share.nodes.clone(),
                experiment: prepared.origin()?.inputs,
                secret: share.secret.clone(),
            };
            let meet = if share.is_host { Party::invite } else { Party::join };
            let at_first = Progress { now: Time::ZERO, packet_hops: 0, flows_delivered: 0 };
            let mut look = || look(at_first);
            Some(meet(share.meeting.clone(), nodes, &terms, &mut look).map_err(|error| match error {
                NoParty::Stopped => Error::Interrupted,
                other => Error::Run(other.to_string()),
            })?)
        }
    };
    let flows: Vec<Flow> =
        if prepared.loads_kernels() { Vec::new() } else { prepared.flows.iter().collect() };
    let node = |id| {
        let parts = (prepared.parts.node)(id);
        let host = parts.host.filter(|_| !sends_frames);
        Parts { host, ..parts }
    };
    let rack = match party {
        None => Rack::new(&topology, node, &flows, &config).map_err(NoRack::from),
        Some(party) => Rack::shared(&topology, node, &flows, &config, party),
    };
    let rack = rack.map_err(|error| Error::Run(error.to_string()))?;
    let rack = rack
        .with_limits(prepared.limits())
        .with_queues(|link| prepared.queue(link))
        .with_agents(|link| prepared.agent(link))
        .with_flow_control(|link| prepared.flow_control(link));
    Ok(rack.with_changes(prepared.changes.clone()).with_errors(&prepared.errors))
}

fn refuse_lost(rack: &Rack) -> Result<(), Error> {
    rack.lost().map_or(Ok(()), |lost| Err(Error::Run(lost.to_string())))
}

/// A host that is a Linux network namespace.
enum LinuxHost {
    Frames(FrameHost),
    Streams(IpHost),
}

impl LinuxHost {
    fn namespace(&self) -> &Namespace {
        match self {
            Self::Frames(host) => host.namespace(),
            Self::Streams(host) => host.namespace(),
        }
    }
}

/// The traffic generator for the workload's flows between these hosts.
fn load(prepared: &Prepared, hosts: &[LinuxHost]) -> Result<Load, Error> {
    let host = |((node, address), host): ((NodeId, Ipv4Addr), &LinuxHost)| {
        let namespace = host.namespace().open().map_err(|why| Error::Run(why.to_string()))?;
        Ok(load::Host { node, address: address.into(), namespace })
    };
    let hosts = prepared.namespaces().into_iter().zip(hosts).map(host).collect::<Result<_, Error>>()?;
    let congestion = interface(prepared).unwrap_or_default().congestion_control;
    let flows: Vec<Flow> = prepared.flows.iter().collect();
    Load::new(hosts, &flows, &congestion).map_err(|error| Error::Run(error.to_string()))
}

/// Creates the namespaces of this process's hosts. Returns an empty list if the scheme's own hosts are used. Programs
/// in a namespace can reach programs in the namespaces of all other hosts.
fn linux_hosts(prepared: &Prepared, rack: &mut Rack) -> Result<Vec<LinuxHost>, Error> {
    let Some(interface) = interface(prepared) else { return Ok(Vec::new()) };
    let refused = |error: NoNamespace| {
        let hint = match error {
            NoNamespace::Refused { .. } => {
                "; namespaces need root, or the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN"
            }
            NoNamespace::NoCongestionControl { .. } => "",
        };
        Error::Run(format!("{error}{hint}"))
    };
    let sends_frames = prepared.sends_frames();
    let host = |(node, _)| {
        if sends_frames {
            return match rack.frame_host(node, &interface) {
                Ok(host) => Ok(LinuxHost::Frames(host)),
                Err(NoFrameHost::Namespace(error)) => Err(refused(error)),
                Err(error) => Err(Error::Run(error.to_string())),
            };
        }
        let endpoint = rack.endpoint(node).map_err(|error| Error::Run(error.to_string()))?;
        IpHost::new(endpoint, &interface).map(LinuxHost::Streams).map_err(refused)
    };
    prepared.namespaces().into_iter().map(host).collect()
}

/// The settings of the network interfaces of hosts that are namespaces; `None` if the scheme's own hosts are used.
fn interface(prepared: &Prepared) -> Option<Interface> {
    let Scheme { transport, queue: limits, .. } = &prepared.experiment.scheme;
    let Namespaces { congestion_control, rto_min, queue } = prepared.experiment.engine.hosts.clone()?;
    let resembles = match transport.info.name {
        "tcp-reno" | "tcp-newreno" => "reno",
        "dctcp" => "dctcp",
        _ => "cubic",
    };
    Some(Interface {
        queue,
        ipv6: prepared.sends_frames(),
        congestion_control: congestion_control.unwrap_or_else(|| resembles.to_owned()),
        rto_min,
        ecn: limits.mark.is_some() || limits.mark_packets.is_some(),
        ..Interface::default()
    })
}

/// Size of a full Ethernet frame with two VLAN tags and without check sequence, in bytes.
const MOST_FRAME: usize = 1_522;

/// Margin in bytes for the tags that switches add to a packet, and for control packets that are larger than a data
/// packet.
const TAGS: usize = 256;
