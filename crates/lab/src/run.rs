//! Running a prepared experiment on its engine, and gathering what comes out.

use crate::Error;
use crate::capture::Capture;
use crate::experiment::EngineKind;
use crate::prepare::Prepared;
use crate::ranks;
use crate::uplinks::Uplinks;
use raddle_core::{DropReason, LinkId, NodeId, Packet, PortId, Report, Time};
use raddle_live::lockstep::{self, Lockstep};
use raddle_packet_sim::{LinkStats, QueueDepths, Simulation};
use raddle_records::{
    Count, Digest, FlowRecord, ImbalanceRecord, LinkRecord, QueueRecord, RankRecord, Recorder, Totals,
};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Flows delivered.
    pub done: u64,
    /// Flows in all; 0 if nobody knows, since programs begin them.
    pub flows: u64,
    /// Packets that have crossed a link.
    pub packet_hops: u64,
    /// Simulated time.
    pub now: Time,
    /// Simulated time at which the run ends at the latest.
    pub limit: Option<Time>,
    /// Wall-clock seconds so far.
    pub seconds: f64,
}

impl Progress {
    /// Packets that cross a link in a second of wall-clock time.
    #[must_use]
    pub fn hops_per_second(&self) -> f64 {
        self.packet_hops as f64 / self.seconds.max(1e-9)
    }

    /// Wall-clock seconds to go, if flows go on finishing and time goes on passing as they have: whichever ends first.
    #[must_use]
    pub fn seconds_left(&self) -> Option<f64> {
        let flows = if self.flows > 0 { self.done as f64 / self.flows as f64 } else { 0.0 };
        let time = self.limit.map_or(0.0, |limit| self.now.as_ps() as f64 / limit.as_ps() as f64);
        let share = flows.max(time).min(1.0);
        (share > 0.0).then(|| self.seconds * (1.0 - share) / share)
    }
}

/// Whoever follows a run.
pub struct Control<'a> {
    /// Set from outside, it ends the run early.
    pub stop: &'a AtomicBool,
    /// Told now and then how far the run is.
    pub progress: &'a mut dyn FnMut(&Progress),
    /// Threads that share the run; what comes out does not depend on them.
    pub threads: usize,
}

/// What a run amounts to, flows aside.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// A row a directed link.
    pub links: Vec<LinkRecord>,
    /// A row a bin that is not empty of each port's queue histogram, if the experiment asks for it.
    pub queues: Vec<QueueRecord>,
    /// How unevenly switches used their uplinks, if the experiment asks for it.
    pub imbalance: Vec<ImbalanceRecord>,
    /// A row a rank, if the workload is a program.
    pub ranks: Vec<RankRecord>,
    /// Packets by kind, losses by reason.
    pub totals: Totals,
    /// Of all rows.
    pub digest: Digest,
    /// Flows of the workload, and those that programs began.
    pub flows: u64,
    /// Flows delivered.
    pub delivered: u64,
    /// Whether the run came to its own end, rather than being stopped.
    pub complete: bool,
    /// Reports of flows that nobody had opened, which a sound scheme does not make.
    pub unmatched: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl Outcome {
    /// The same without its rows: the numbers alone.
    pub(crate) fn without_rows(&self) -> Self {
        let Self { totals, digest, flows, delivered, complete, unmatched, seconds, .. } = *self;
        let (links, queues, imbalance) = (Vec::new(), Vec::new(), Vec::new());
        let ranks = Vec::new();
        Self {
            links,
            queues,
            imbalance,
            ranks,
            totals,
            digest,
            flows,
            delivered,
            complete,
            unmatched,
            seconds,
        }
    }

    /// When the last rank came to its end, in picoseconds; `None` without ranks, or if one did not.
    #[must_use]
    pub fn makespan_ps(&self) -> Option<u64> {
        let finished: Option<Vec<u64>> = self.ranks.iter().map(|rank| rank.finished_ps).collect();
        finished?.into_iter().max()
    }
}

/// The wall clock, for progress only: no result depends on it.
#[expect(clippy::disallowed_methods, reason = "progress is shown against the wall clock")]
fn wall_clock() -> Instant {
    Instant::now()
}

/// Runs a prepared experiment and captures nothing. Each flow's record goes to `flow` as soon as the flow is done; the
/// rest, of flows that were not, at the end.
///
/// # Errors
/// If `flow` fails, or the engine's own accounts do not add up.
pub fn run(
    prepared: Prepared,
    flow: &mut dyn FnMut(&FlowRecord) -> Result<(), Error>,
    control: Control<'_>,
) -> Result<Outcome, Error> {
    run_captured(prepared, flow, None, control)
}

/// [`run`], with a capture that is written.
pub(crate) fn run_captured(
    mut prepared: Prepared,
    flow: &mut dyn FnMut(&FlowRecord) -> Result<(), Error>,
    capture: Option<Capture>,
    control: Control<'_>,
) -> Result<Outcome, Error> {
    let started = wall_clock();
    let ideals = prepared.ideals();
    let interval = prepared.experiment.record.imbalance;
    let gather = Gather {
        recorder: Recorder::new(Arc::clone(&prepared.flows), move |flow| ideals.of(flow)),
        totals: Totals::default(),
        digest: Digest::default(),
        uplinks: interval.and_then(|interval| Uplinks::of(&prepared.topology, interval)),
        capture,
        flow,
        result: Ok(()),
    };
    let limit = prepared.experiment.engine.time_limit;
    let mut watch = Watch { control, started, flows: prepared.flows.len() as u64, limit };
    let ended = match prepared.experiment.engine.kind {
        EngineKind::Packet if gather.uplinks.is_some() || gather.capture.is_some() => {
            run_packets(&mut prepared, Sampled(gather), &mut watch)?
        }
        EngineKind::Packet => run_packets(&mut prepared, gather, &mut watch)?,
        EngineKind::Lockstep => run_lockstep(&mut prepared, gather, &mut watch),
    };
    finish(&prepared, ended, &watch)
}

/// What an engine leaves.
struct Ended<'a> {
    gather: Gather<'a>,
    links: Vec<LinkStats>,
    queues: Vec<QueueRecord>,
    events: u64,
    now: Time,
    complete: bool,
    /// What hosts still wait for, in words.
    waiting: Vec<String>,
}

fn run_packets<'a, O: raddle_packet_sim::Observer + Into<Gather<'a>>>(
    prepared: &mut Prepared,
    observer: O,
    watch: &mut Watch<'_>,
) -> Result<Ended<'a>, Error> {
    let (topology, config) = (Arc::clone(&prepared.topology), prepared.config(watch.control.threads));
    let mut setups: Vec<_> = (0..topology.link_slots()).map(|link| prepared.port(LinkId::of(link))).collect();
    let node = |id| (prepared.parts.node)(id);
    // Threads ask for their own links first.
    let port = |link: LinkId| std::mem::take(&mut setups[link.index()]);
    let mut simulation =
        Simulation::new(&topology, node, port, Arc::clone(&prepared.flows), config, observer);
    let complete =
        simulation.run(|progress| watch.look(progress.now, progress.flows_delivered, progress.packet_hops));
    let totals = simulation.totals();
    let inside = simulation.packets_inside() as u64;
    if totals.sent != totals.delivered + totals.dropped + inside {
        return Err(Error::Run(format!("packets are not conserved: {totals:?}, {inside} inside")));
    }
    let (now, links) = (simulation.now(), simulation.link_stats());
    let queues = queues(&simulation.queue_depths());
    let waits_for = |node| simulation.host(node)?.waits_for();
    let waiting = topology.nodes().filter_map(waits_for).collect();
    let mut gather: Gather<'a> = simulation.into_observer().into();
    let [data, ack, event, notice] =
        totals.kinds.map(|kind| Count { packets: kind.packets, bytes: kind.bytes });
    gather.totals = Totals { data, ack, event, notice, ..gather.totals };
    Ok(Ended { gather, links, queues, events: totals.events, now, complete, waiting })
}

/// The bins that are not empty.
fn queues(depths: &[(LinkId, QueueDepths)]) -> Vec<QueueRecord> {
    let bins = |&(link, depths): &(LinkId, QueueDepths)| {
        let counted = (0_u32..).zip(depths.0).filter(|&(_, packets)| packets > 0);
        counted.map(move |(bin, packets)| QueueRecord { link: link.0, below_bytes: 1_u64 << bin, packets })
    };
    depths.iter().flat_map(bins).collect()
}

/// Simulated time between two looks at a lockstep run.
const LOCKSTEP_SLICE: raddle_core::Duration = raddle_core::Duration::from_us(100);

fn run_lockstep<'a>(prepared: &mut Prepared, gather: Gather<'a>, watch: &mut Watch<'_>) -> Ended<'a> {
    let topology = Arc::clone(&prepared.topology);
    let links = vec![LinkStats::default(); topology.link_slots()];
    let observer = Linked { gather, topology: Arc::clone(&topology), links };
    let node = |id| (prepared.parts.node)(id);
    let runtime = Lockstep::new(&topology, node, prepared.flows.to_vec(), observer);
    let mut runtime = runtime.with_errors(&prepared.errors);
    let limit = prepared.experiment.engine.time_limit.unwrap_or(Time::NEVER);
    let mut complete = true;
    let mut until = Time::ZERO;
    while until < limit {
        until = limit.min(until + LOCKSTEP_SLICE);
        let rest = runtime.run(until);
        if rest {
            break;
        }
        let done = runtime.observer().gather.recorder.finished();
        if watch.look(runtime.now(), done, runtime.totals().packet_hops).is_break() {
            complete = false;
            break;
        }
    }
    let now = runtime.now();
    let waits_for = |node| runtime.host(node)?.waits_for();
    let waiting = topology.nodes().filter_map(waits_for).collect();
    let Linked { gather, links, .. } = runtime.into_observer();
    Ended { gather, links, queues: Vec::new(), events: 0, now, complete, waiting }
}

fn finish(prepared: &Prepared, ended: Ended<'_>, watch: &Watch<'_>) -> Result<Outcome, Error> {
    let Ended { mut gather, links, queues, events, now, complete, waiting } = ended;
    if complete && watch.limit.is_none_or(|limit| now < limit) {
        refuse_waiting(&waiting)?;
    }
    for record in gather.recorder.finish(now) {
        gather.take(&record);
    }
    gather.result?;
    if let Some(capture) = gather.capture {
        capture.finish(now)?;
    }
    let delivered = gather.recorder.finished();
    let (begun, unmatched) = (gather.recorder.begun(), gather.recorder.unmatched());
    let imbalance = gather.uplinks.map_or_else(Vec::new, |uplinks| uplinks.imbalance(now));
    let totals = Totals { simulated_ps: now.as_ps(), events, ..gather.totals };
    let links: Vec<_> = prepared
        .topology
        .links()
        .map(|(id, link)| {
            let stats = &links[id.index()];
            LinkRecord {
                link: id.0,
                from: link.from.0,
                to: link.to.0,
                data_packets: stats.data_packets,
                data_bytes: stats.data_bytes,
                control_packets: stats.control_packets,
                control_bytes: stats.control_bytes,
                drops: stats.drops,
                peak_queue_bytes: stats.peak_queue,
            }
        })
        .collect();
    let ranks = prepared.job.as_deref().map_or_else(Vec::new, ranks::records);
    let mut digest = gather.digest;
    ranks.iter().for_each(|rank| digest.add(rank));
    links.iter().for_each(|link| digest.add(link));
    digest.add(&totals);
    let seconds = watch.started.elapsed().as_secs_f64();
    Ok(Outcome {
        links,
        queues,
        imbalance,
        ranks,
        totals,
        digest,
        flows: watch.flows + begun,
        delivered,
        unmatched,
        complete,
        seconds,
    })
}

/// Most waiting hosts that an error names.
const MOST_NAMED: usize = 10;

/// Refuses a run that is at rest while programs have not come to their end: nothing will happen any more.
fn refuse_waiting(waiting: &[String]) -> Result<(), Error> {
    if waiting.is_empty() {
        return Ok(());
    }
    let named = waiting[..waiting.len().min(MOST_NAMED)].join("; ");
    let more = match waiting.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Err(Error::Run(format!("nothing moves any more, and programs have not come to their end: {named}{more}")))
}

/// Tells how far a run is, and whether to go on.
struct Watch<'a> {
    control: Control<'a>,
    started: Instant,
    flows: u64,
    limit: Option<Time>,
}

impl Watch<'_> {
    fn look(&mut self, now: Time, done: u64, packet_hops: u64) -> ControlFlow<()> {
        let (flows, limit) = (self.flows, self.limit);
        let seconds = self.started.elapsed().as_secs_f64();
        (self.control.progress)(&Progress { done, flows, packet_hops, now, limit, seconds });
        if self.control.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Listens to an engine and hands out records.
struct Gather<'a> {
    recorder: Recorder,
    totals: Totals,
    digest: Digest,
    uplinks: Option<Uplinks>,
    capture: Option<Capture>,
    flow: &'a mut dyn FnMut(&FlowRecord) -> Result<(), Error>,
    /// The first failure to hand out a record or to write a packet.
    result: Result<(), Error>,
}

impl Gather<'_> {
    fn take(&mut self, record: &FlowRecord) {
        self.digest.add(record);
        if self.result.is_ok() {
            self.result = (self.flow)(record);
        }
    }

    fn heard(&mut self, now: Time, node: NodeId, report: Report) {
        if let Some(record) = self.recorder.report(now, node, report) {
            self.take(&record);
        }
    }

    fn forwarded(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet) {
        if let Some(uplinks) = &mut self.uplinks {
            uplinks.count(sent, link, packet.size);
        }
        if let Some(capture) = &mut self.capture
            && self.result.is_ok()
        {
            self.result = capture.accepted(now, sent, link, packet);
        }
    }
}

impl raddle_packet_sim::Observer for Gather<'_> {
    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.heard(now, node, report);
    }

    fn dropped(&mut self, _: Time, _: NodeId, _: Option<PortId>, packet: &Packet, why: DropReason) {
        self.totals.drops.count(packet, why);
    }
}

/// A listener that the packet engine tells of every packet, to sample what uplinks send and to capture.
struct Sampled<'a>(Gather<'a>);

impl<'a> From<Sampled<'a>> for Gather<'a> {
    fn from(sampled: Sampled<'a>) -> Self {
        sampled.0
    }
}

impl raddle_packet_sim::Observer for Sampled<'_> {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.0.heard(now, node, report);
    }

    fn forwarded(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet) {
        self.0.forwarded(now, sent, link, packet);
    }

    fn dropped(&mut self, _: Time, _: NodeId, _: Option<PortId>, packet: &Packet, why: DropReason) {
        self.0.totals.drops.count(packet, why);
    }
}

/// A listener that counts what passes over links, which the lockstep runtime does not.
struct Linked<'a> {
    gather: Gather<'a>,
    topology: Arc<Topology>,
    links: Vec<LinkStats>,
}

impl lockstep::Observer for Linked<'_> {
    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.gather.heard(now, node, report);
    }

    fn transmitted(&mut self, now: Time, sent: Time, link: LinkId, bytes: &mut [u8]) {
        let Ok(packet) = Packet::decode(bytes) else { return };
        self.gather.forwarded(now, sent, link, &packet);
        self.gather.totals.count(&packet);
        let (link, size) = (&mut self.links[link.index()], u64::from(packet.size));
        let (packets, bytes) = if packet.is_data() {
            (&mut link.data_packets, &mut link.data_bytes)
        } else {
            (&mut link.control_packets, &mut link.control_bytes)
        };
        *packets += 1;
        *bytes += size;
    }

    fn dropped(&mut self, _: Time, node: NodeId, port: Option<PortId>, packet: &Packet, why: DropReason) {
        self.gather.totals.drops.count(packet, why);
        if let Some(port) = port.filter(|port| port.index() < self.topology.port_count(node)) {
            self.links[self.topology.link_id(node, port).index()].drops += 1;
        }
    }

    fn malformed(&mut self, _: Time, link: LinkId, _: &[u8], _: raddle_wire::Error) {
        self.gather.totals.drops.malformed += 1;
        self.links[link.index()].drops += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(done: u64, now: u64, limit: Option<u64>) -> Option<f64> {
        let (now, limit) = (Time::from_ps(now), limit.map(Time::from_ps));
        Progress { done, flows: 100, packet_hops: 0, now, limit, seconds: 6.0 }.seconds_left()
    }

    #[test]
    fn what_is_left_follows_flows_or_time_whichever_is_further() {
        assert_eq!(left(0, 5, None), None);
        assert_eq!(left(25, 5, None), Some(18.0));
        assert_eq!(left(0, 50, Some(100)), Some(6.0));
        assert_eq!(left(75, 50, Some(100)), Some(2.0));
        assert_eq!(left(100, 100, Some(100)), Some(0.0));
    }
}
