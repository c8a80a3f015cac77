//! Experiments on the live rack: the whole rack in this process, or a share of it, the rest in others.

use crate::Error;
use crate::observe::gather::{Gather, Sampled};
use crate::run::prepare::Prepared;
use crate::run::{Control, Ended, Watch};
use raddle_core::{NodeId, Observer, Progress, Time};
use raddle_live::rack::ip::IpHost;
use raddle_live::rack::{Config, Fidelity, Meeting, NoParty, NoRack, Party, Rack, Terms};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// What a process has of a rack that it shares with others.
#[derive(Debug, Clone)]
pub struct Share {
    /// Its nodes.
    pub nodes: Range<u32>,
    /// Where the processes meet.
    pub meeting: Meeting,
    /// Whether the others come to this process, which keeps the results of all, or this one goes to another.
    pub is_host: bool,
    /// A secret that all know; it may be empty where the processes meet at a Unix socket.
    pub secret: Vec<u8>,
}

/// What a process that is not the host says of its share at the end.
#[derive(Debug)]
pub struct Shared {
    /// Whether the run came to its own end.
    pub complete: bool,
    /// Packets that crossed a link to one of its nodes.
    pub packet_hops: u64,
    /// How faithful its nodes were.
    pub fidelity: Fidelity,
}

/// Runs an experiment in real time.
pub(crate) fn run<'a>(
    prepared: &mut Prepared,
    gather: Gather<'a>,
    watch: &mut Watch<'_>,
) -> Result<Ended<'a>, Error> {
    let mut rack = rack(prepared, &mut |progress| watch.look(progress))?;
    let hosts = ip_hosts(prepared, &mut rack)?;
    let mut gather = gather;
    let complete = if !hosts.is_empty() {
        let complete = rack.run(&mut (), |progress| watch.look(progress));
        drop(hosts);
        complete
    } else if gather.hears_packets() {
        let mut sampled = Sampled(gather);
        let complete = rack.run(&mut sampled, |progress| watch.look(progress));
        gather = sampled.into();
        complete
    } else {
        rack.run(&mut gather, |progress| watch.look(progress))
    };
    refuse_lost(&rack)?;
    let (waiting, retransmissions) = (rack.waiting(), rack.retransmissions());
    let fidelity = Some(rack.fidelity());
    let ended = Ended::new(gather, rack.totals(), rack.link_stats(), rack.now(), complete);
    Ok(Ended { waiting, retransmissions, fidelity, ..ended })
}

/// Runs the share that this process has in the rack of another, which keeps the results.
///
/// # Errors
/// If the processes do not come together, or the host goes before the end.
pub fn join(mut prepared: Prepared, control: Control<'_>) -> Result<Shared, Error> {
    let mut watch = Watch::new(control, &prepared);
    let mut rack = rack(&mut prepared, &mut |progress| watch.look(progress))?;
    let hosts = ip_hosts(&prepared, &mut rack)?;
    let record = &prepared.experiment.record;
    let hears_packets = record.pcap.is_some() || record.imbalance.is_some() || record.throughput.is_some();
    let look = |progress| watch.look(progress);
    let complete = match hears_packets {
        true => rack.run(&mut PassesAllOn, look),
        false => rack.run(&mut (), look),
    };
    drop(hosts);
    refuse_lost(&rack)?;
    Ok(Shared { complete, packet_hops: rack.totals().packet_hops, fidelity: rack.fidelity() })
}

/// Hears of every packet, so that the host does.
struct PassesAllOn;

impl Observer for PassesAllOn {
    const FORWARDED: bool = true;
}

/// The rack, or this process' share of it.
fn rack(prepared: &mut Prepared, look: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Rack, Error> {
    let topology = Arc::clone(&prepared.topology);
    let engine = &prepared.experiment.engine;
    let config = Config {
        dilation: engine.dilation.unwrap_or(1),
        threads: engine.polling_threads.unwrap_or(1) as usize,
        packet_bytes: (prepared.parts.mtu + prepared.parts.header_bytes) as usize + TAGS,
        decoders: prepared.errors.decoders.clone(),
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
    let node = |id| (prepared.parts.node)(id);
    let rack = match party {
        None => Rack::new(&topology, node, &prepared.flows, &config).map_err(NoRack::from),
        Some(party) => Rack::shared(&topology, node, &prepared.flows, &config, party),
    };
    let rack = rack.map_err(|error| Error::Run(error.to_string()))?;
    let rack = rack
        .with_limits(prepared.limits())
        .with_queues(|link| prepared.queue(link))
        .with_agents(|link| prepared.agent(link));
    Ok(rack.with_changes(prepared.changes.clone()).with_errors(&prepared.errors))
}

fn refuse_lost(rack: &Rack) -> Result<(), Error> {
    rack.lost().map_or(Ok(()), |lost| Err(Error::Run(lost.to_string())))
}

fn ip_hosts(prepared: &Prepared, rack: &mut Rack) -> Result<Vec<IpHost>, Error> {
    prepared.namespaces().into_iter().map(|(host, ..)| ip_host(rack, host)).collect()
}

/// A namespace at a host, whose programs reach those at the others.
fn ip_host(rack: &mut Rack, host: NodeId) -> Result<IpHost, Error> {
    let endpoint = rack.endpoint(host).map_err(|error| Error::Run(error.to_string()))?;
    IpHost::new(endpoint, IP_MTU).map_err(|error| {
        let hint = "making namespaces needs root, or the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN";
        Error::Run(format!("{error}: {hint}"))
    })
}

/// Bytes of the IP packets of programs: Ethernet's usual ones.
const IP_MTU: u16 = 1_500;

/// Bytes that tags of switches may add to a packet, and transports' largest control packets take beyond a data packet's.
const TAGS: usize = 256;
