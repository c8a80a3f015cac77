//! Experiments on the flow engine: what of them it knows, and how it runs them.

use crate::experiment::{Experiment, Record};
use crate::observe::gather::Gather;
use crate::run::prepare::Prepared;
use crate::run::{Ended, Watch};
use raddle_core::{Count, LinkStats, PacketKind, Totals};
use raddle_flow_sim::{Config, LinkLoad, Simulation};
use std::sync::Arc;

/// The first key of an experiment for the flow engine that asks for what only packets have, and why they alone have it.
pub(crate) fn unknown_to_fluids(prepared: &Prepared) -> Option<(&'static str, &'static str)> {
    prepared.fluid.as_ref()?;
    let Experiment { failures, faults, errors, record, .. } = &prepared.experiment;
    let Record { queues, imbalance, throughput, queue_lengths, pcap, .. } = record;
    let keys = [
        (prepared.job.is_some(), "workload", "programs run on hosts, which the flow engine has none of"),
        (!failures.is_empty(), "failure", "nothing fails in the flow engine"),
        (faults.is_some(), "faults", "nothing fails in the flow engine"),
        (errors.is_some(), "errors", "fluids cannot be lost or damaged on a link"),
        (*queues, "record.queues", "fluids do not queue"),
        (queue_lengths.is_some(), "record.queue_lengths", "fluids do not queue"),
        (imbalance.is_some(), "record.imbalance", "the flow engine samples no links"),
        (throughput.is_some(), "record.throughput", "the flow engine counts bytes of whole flows only"),
        (pcap.is_some(), "record.pcap", "fluids have no packets to capture"),
    ];
    keys.into_iter().find(|&(asked, ..)| asked).map(|(_, key, what)| (key, what))
}

/// Runs an experiment that has been prepared for the flow engine.
pub(crate) fn run<'a>(prepared: &mut Prepared, mut gather: Gather<'a>, watch: &mut Watch<'_>) -> Ended<'a> {
    let scheme = prepared.fluid.take().expect("prepared for the flow engine");
    let engine = &prepared.experiment.engine;
    let config = Config {
        framing: prepared.framing(),
        lookahead: prepared.lookahead(),
        handshake: prepared.parts.handshake,
        acknowledged: scheme.acknowledged,
        grid: engine.grid,
        time_limit: engine.time_limit,
    };
    let flows = Arc::clone(&prepared.flows);
    let mut simulation = Simulation::new(&prepared.topology, &flows, scheme.sharing, scheme.split, config);
    let complete = simulation
        .run(&mut |now, node, report| gather.heard(now, node, report), |progress| watch.look(*progress));
    let links: Vec<LinkStats> = simulation.loads().into_iter().map(link_stats).collect();
    let sum = |of: fn(&LinkStats) -> u64| links.iter().map(of).sum();
    let mut totals = Totals { events: simulation.events(), ..Totals::default() };
    totals.kinds[PacketKind::Data as usize] =
        Count { packets: sum(|link| link.data_packets), bytes: sum(|link| link.data_bytes) };
    let (queues, flow_control, waiting, retransmissions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let now = simulation.now();
    Ended { gather, totals, links, queues, flow_control, now, complete, waiting, retransmissions }
}

/// What crossed a link, in whole packets and bytes.
fn link_stats(load: LinkLoad) -> LinkStats {
    let whole = |count: f64| count.round() as u64;
    LinkStats { data_packets: whole(load.packets), data_bytes: whole(load.bytes), ..LinkStats::default() }
}
