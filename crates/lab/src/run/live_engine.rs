//! Experiments on the live rack.

use crate::Error;
use crate::observe::gather::{Gather, Sampled};
use crate::run::prepare::Prepared;
use crate::run::{Ended, Watch, retransmissions, waiting};
use raddle_core::NodeId;
use raddle_live::rack::ip::IpHost;
use raddle_live::rack::{Config, Rack};
use std::sync::Arc;

/// Runs an experiment in real time.
pub(crate) fn run<'a>(
    prepared: &mut Prepared,
    gather: Gather<'a>,
    watch: &mut Watch<'_>,
) -> Result<Ended<'a>, Error> {
    let topology = Arc::clone(&prepared.topology);
    let engine = &prepared.experiment.engine;
    let config = Config {
        dilation: engine.dilation.unwrap_or(1),
        threads: engine.polling_threads.unwrap_or(1) as usize,
        packet_bytes: (prepared.parts.mtu + prepared.parts.header_bytes) as usize + TAGS,
        decoders: prepared.errors.decoders.clone(),
        time_limit: engine.time_limit,
        ..Config::default()
    };
    let node = |id| (prepared.parts.node)(id);
    let rack = Rack::new(&topology, node, &prepared.flows, &config);
    let rack = rack.map_err(|error| Error::Run(error.to_string()))?;
    let rack = rack.with_queues(|link| prepared.queue(link)).with_agents(|link| prepared.agent(link));
    let mut rack = rack.with_changes(prepared.changes.clone()).with_errors(&prepared.errors);
    let mut gather = gather;
    let hosts = prepared.namespaces().into_iter().map(|(host, ..)| ip_host(&mut rack, host));
    let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
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
    let (now, totals, links) = (rack.now(), rack.totals(), rack.link_stats());
    let fidelity = Some(rack.fidelity());
    let waiting = waiting(&topology, |node| rack.application(node));
    let retransmissions = retransmissions(&topology, |node| rack.host(node));
    let ended = Ended::new(gather, totals, links, now, complete);
    Ok(Ended { waiting, retransmissions, fidelity, ..ended })
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
