//! Runs a prepared experiment on its engine, and gathers the results.

pub(crate) mod capabilities;
mod desk;
pub mod directory;
mod faults;
mod flow_engine;
pub(crate) mod graceful;
pub(crate) mod ideal;
pub(crate) mod kept_summary;
pub(crate) mod live_engine;
mod lockstep_engine;
pub(crate) mod packet_engine;
pub(crate) mod prepare;
pub(crate) mod records;
pub(crate) mod summary;
pub(crate) mod survey;
pub(crate) mod undelivered;
mod waiting;

use crate::Error;
use crate::experiment::EngineKind;
use crate::observe::capture::Capture;
use crate::observe::gather::{Gather, Sampled};
use crate::observe::queue_lengths::QueueLengths;
use crate::observe::rank_series::RankSeries;
use crate::observe::ranks;
use crate::observe::rate_series::RateSeries;
use crate::observe::series::{QueueSeries, Series};
use crate::observe::throughput::Throughput;
use crate::observe::uplinks::Uplinks;
use crate::run::graceful::Graceful;
use crate::run::packet_engine::Samples;
use crate::run::prepare::Prepared;
use crate::run::undelivered::Undelivered;
use crate::run::waiting::refuse_waiting;
use raddle_core::{Application, FlowKey, Host, LinkStats, NodeId, Progress, Time, Totals};
use raddle_live::rack::Fidelity;
use raddle_packet_sim::Threads;
use raddle_records::{
    Digest, FlowControlRecord, FlowRecord, ImbalanceRecord, LinkRecord, PathRecord, QueueLengthRecord,
    QueueRecord, RankRecord, RankSeriesRecord, RateSeriesRecord, Recorder, SeriesRecord, ThroughputRecord,
    TotalsRecord,
};
use raddle_schemes::halt::Halt;
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The state of a run in progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunState {
    /// The engine's progress.
    pub progress: Progress,
    /// Total number of flows; 0 if it is unknown because programs begin the flows.
    pub flows: u64,
    /// The limit of the run's simulated time; `None` if there is no limit.
    pub limit: Option<Time>,
    /// Wall-clock time since the run began, in seconds.
    pub seconds: f64,
}

impl RunState {
    /// Packet hops per second of wall-clock time.
    #[must_use]
    pub fn hops_per_second(&self) -> f64 {
        self.progress.packet_hops as f64 / self.seconds.max(1e-9)
    }

    /// Estimate of the remaining wall-clock time, in seconds; `None` while the run's progress is 0. The progress is the
    /// larger of two shares: the share of the flows that are delivered, and the share of the time limit that has
    /// passed.
    #[must_use]
    pub fn seconds_left(&self) -> Option<f64> {
        let Progress { now, flows_delivered, .. } = self.progress;
        let flows = if self.flows > 0 { flows_delivered as f64 / self.flows as f64 } else { 0.0 };
        let time = self.limit.map_or(0.0, |limit| now.as_ps() as f64 / limit.as_ps() as f64);
        let share = flows.max(time).min(1.0);
        (share > 0.0).then(|| self.seconds * (1.0 - share) / share)
    }
}

/// Controls and observes a run.
pub struct Control<'a> {
    /// The run stops early if this flag is set.
    pub stop: &'a AtomicBool,
    /// Called now and then with the state of the run.
    pub progress: &'a mut dyn FnMut(&RunState),
    /// Number of threads for the packet engine. Other engines ignore it. The results do not depend on this number.
    pub threads: Threads,
}

/// The results of a run, without its flow records and its samples of queue lengths.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// One row per directed link.
    pub links: Vec<LinkRecord>,
    /// One row per non-empty bin of each port's histogram of queue lengths, if the experiment asks for these records.
    pub queues: Vec<QueueRecord>,
    /// Samples of how unevenly switches used their uplinks, if the experiment asks for these records.
    pub imbalance: Vec<ImbalanceRecord>,
    /// Throughput of each flow in some intervals, if the experiment asks for these records. These are the intervals in
    /// which a packet of the flow arrived or a switch changed the flow's port.
    pub throughput: Vec<ThroughputRecord>,
    /// Traffic and queue of each link in each interval in which the link had traffic or a queue, if the experiment asks
    /// for series.
    pub series: Vec<SeriesRecord>,
    /// The links that the slowest flows crossed, if the experiment asks for series.
    pub paths: Vec<PathRecord>,
    /// Throughput of senders and of the largest flows in each interval, if the experiment asks for series.
    pub rate_series: Vec<RateSeriesRecord>,
    /// The times for which each rank computed, sent and received in each interval, if the experiment asks for series
    /// and the workload is a program.
    pub rank_series: Vec<RankSeriesRecord>,
    /// One row per directed link with flow control.
    pub flow_control: Vec<FlowControlRecord>,
    /// One row per rank, if the workload is a program.
    pub ranks: Vec<RankRecord>,
    /// Numbers of packets by kind and of drops by reason, and the simulated time.
    pub totals: TotalsRecord,
    /// The digest of the records of flows, ranks and links, and of the totals.
    pub digest: Digest,
    /// Number of flows: flows of the workload, and flows that programs began.
    pub flows: u64,
    /// Number of flows delivered.
    pub delivered: u64,
    /// Time of the latest delivery of a whole flow; `None` if no flow was delivered.
    pub last_delivery: Option<Time>,
    /// The reasons why no flow was delivered, if the run reached its end but counts as failed.
    pub undelivered: Option<Undelivered>,
    /// True if the run reached its end and was not stopped.
    pub complete: bool,
    /// Number of hosts' reports that match no open flow of the reporting host. A correct scheme causes no such report,
    /// unless links damage packets.
    pub unmatched: u64,
    /// Measured fidelity of a live run.
    pub fidelity: Option<Fidelity>,
    /// Wall-clock duration of the run, in seconds.
    pub seconds: f64,
}

impl Outcome {
    /// A copy in which the lists of records are empty.
    pub(crate) fn without_rows(&self) -> Self {
        let Self {
            totals,
            digest,
            flows,
            delivered,
            last_delivery,
            complete,
            unmatched,
            fidelity,
            seconds,
            ..
        } = *self;
        let (links, queues, imbalance) = (Vec::new(), Vec::new(), Vec::new());
        let (throughput, flow_control, ranks) = (Vec::new(), Vec::new(), Vec::new());
        let (series, paths) = (Vec::new(), Vec::new());
        let (rate_series, rank_series) = (Vec::new(), Vec::new());
        Self {
            links,
            queues,
            imbalance,
            throughput,
            series,
            paths,
            rate_series,
            rank_series,
            flow_control,
            ranks,
            totals,
            digest,
            flows,
            delivered,
            last_delivery,
            undelivered: self.undelivered.clone(),
            complete,
            unmatched,
            fidelity,
            seconds,
        }
    }

    /// Time at which the last rank ended, in picoseconds; `None` without ranks, or if a rank did not finish.
    #[must_use]
    pub fn makespan_ps(&self) -> Option<u64> {
        let finished: Option<Vec<u64>> = self.ranks.iter().map(|rank| rank.finished_ps).collect();
        finished?.into_iter().max()
    }
}

/// The current wall-clock time. No simulated result depends on this time.
#[expect(clippy::disallowed_methods, reason = "progress reports use the wall clock")]
pub(crate) fn wall_clock() -> Instant {
    Instant::now()
}

/// Receivers of records and packets during a run.
pub(crate) struct Sinks<'a> {
    /// Receives each flow's record as soon as the flow is done, and the records of unfinished flows at the end.
    pub(crate) flow: &'a mut dyn FnMut(&FlowRecord) -> Result<(), Error>,
    /// Receives samples of queue lengths, if the experiment asks for them.
    pub(crate) queue_length: &'a mut dyn FnMut(&QueueLengthRecord) -> Result<(), Error>,
    /// Writes the captured packets.
    pub(crate) capture: Option<Capture>,
}

/// Runs a prepared experiment. Captures no packets, and discards the samples of queue lengths that
/// `record.queue_lengths` asks for. `flow` receives each flow's record as soon as the flow is done, and the records of
/// unfinished flows at the end.
///
/// # Errors
/// - If `flow` fails, if packets or bytes are not conserved, or if a packet is lost despite flow control.
/// - If links wait for each other in a cycle, or if no further event will happen although programs have not ended.
/// - If a part of the scheme cannot go on.
/// - If the run is stopped during its set-up.
/// - If a live run cannot be set up, or if it loses a process or its load generator.
pub fn run(
    prepared: Prepared,
    flow: &mut dyn FnMut(&FlowRecord) -> Result<(), Error>,
    control: Control<'_>,
) -> Result<Outcome, Error> {
    run_with(prepared, Sinks { flow, queue_length: &mut |_| Ok(()), capture: None }, control)
}

/// Like [`run`], but also passes on the samples of queue lengths and the captured packets.
pub(crate) fn run_with(
    mut prepared: Prepared,
    Sinks { flow, queue_length, capture }: Sinks<'_>,
    control: Control<'_>,
) -> Result<Outcome, Error> {
    let _graceful = Graceful::begin();
    let ideals = prepared.ideals();
    let record = &prepared.experiment.record;
    let topology = &prepared.topology;
    let begin = prepared.flows.iter().next().map_or(Time::ZERO, |flow| flow.start);
    let job = prepared.job.as_deref().filter(|_| record.series);
    let gather = Gather {
        recorder: Recorder::new(&prepared.flows, move |flow| ideals.of(flow)),
        digest: Digest::default(),
        uplinks: record.imbalance.and_then(|interval| Uplinks::of(topology, interval)),
        throughput: record.throughput.map(|interval| Throughput::of(topology, interval)),
        series: record.series.then(|| Series::of(topology, begin)),
        rates: record.series.then(|| RateSeries::of(topology, begin)),
        ranks: job.map(|job| RankSeries::of(job, topology, begin)),
        capture,
        flow,
        last_delivery: None,
        result: Ok(()),
    };
    let looked_at = prepared.looked_at.clone();
    let queue_lengths = record.queue_lengths.as_ref();
    let queue_lengths =
        queue_lengths.map(|asked| QueueLengths::of(topology, looked_at, asked.interval, queue_length));
    let queue_series = record.series.then(|| QueueSeries::of(topology, begin));
    let samples = Samples { queue_lengths, queue_series };
    let mut watch = Watch::new(control, &prepared);
    let ended = match prepared.experiment.engine.kind {
        EngineKind::Packet if gather.hears_packets() => {
            packet_engine::run(&mut prepared, Sampled(gather), samples, &mut watch)
        }
        EngineKind::Packet => packet_engine::run(&mut prepared, gather, samples, &mut watch),
        EngineKind::Flow if gather.hears_packets() => {
            Ok(flow_engine::run(&mut prepared, Sampled(gather), &mut watch))
        }
        EngineKind::Flow => Ok(flow_engine::run(&mut prepared, gather, &mut watch)),
        EngineKind::Lockstep => lockstep_engine::run(&mut prepared, gather, &mut watch),
        EngineKind::Live => live_engine::run(&mut prepared, gather, &mut watch),
    };
    // If a part of the scheme could not go on, the engine's own error may be a consequence. So the part's error comes
    // first.
    if let Some(error) = prepared.parts.halt.error() {
        return Err(Error::Run(error.to_owned()));
    }
    finish(&prepared, ended?, &watch)
}

/// The results that an engine returns.
pub(crate) struct Ended<'a> {
    pub(crate) gather: Gather<'a>,
    pub(crate) totals: Totals,
    pub(crate) links: Vec<LinkStats>,
    pub(crate) queues: Vec<QueueRecord>,
    pub(crate) queue_series: Option<QueueSeries>,
    pub(crate) flow_control: Vec<FlowControlRecord>,
    pub(crate) now: Time,
    pub(crate) complete: bool,
    /// For each host whose program still waits: a text that describes the events for which the program waits.
    pub(crate) waiting: Vec<String>,
    /// The sender, the key and the number of retransmissions of each flow that the sender has not closed by the end of
    /// the run. Flows without retransmissions may be missing.
    pub(crate) retransmissions: Vec<(NodeId, FlowKey, u32)>,
    /// Measured fidelity of a live run.
    pub(crate) fidelity: Option<Fidelity>,
}

impl<'a> Ended<'a> {
    /// The results that every engine has. An engine with further results adds them.
    pub(crate) fn new(
        gather: Gather<'a>,
        totals: Totals,
        links: Vec<LinkStats>,
        now: Time,
        complete: bool,
    ) -> Self {
        Self {
            gather,
            totals,
            links,
            now,
            complete,
            queues: Vec::new(),
            queue_series: None,
            flow_control: Vec::new(),
            waiting: Vec::new(),
            retransmissions: Vec::new(),
            fidelity: None,
        }
    }
}

/// Collects [`Application::waits_for`] from the program of every node.
pub(crate) fn waiting<'h>(
    topology: &Topology,
    application: impl Fn(NodeId) -> Option<&'h dyn Application>,
) -> Vec<String> {
    topology.nodes().filter_map(|node| application(node)?.waits_for()).collect()
}

/// Collects [`Host::retransmissions`] from the host of every node.
pub(crate) fn retransmissions<'h>(
    topology: &Topology,
    host: impl Fn(NodeId) -> Option<&'h dyn Host>,
) -> Vec<(NodeId, FlowKey, u32)> {
    let of_host = |node| {
        let counts = host(node).map_or_else(Vec::new, Host::retransmissions);
        counts.into_iter().map(move |(key, count)| (node, key, count))
    };
    topology.nodes().flat_map(of_host).collect()
}

/// Refuses a run in which packets or application bytes are not conserved. `inside` is the number of packets still
/// inside the fabric.
fn refuse_imbalance(totals: &Totals, inside: u64) -> Result<(), Error> {
    if totals.sent != totals.delivered + totals.dropped + inside {
        return Err(Error::Run(format!(
            "packets are not conserved: {totals:?}, {inside} packets still inside the fabric"
        )));
    }
    let ended = totals.delivered_bytes + totals.dropped_bytes;
    // The number of application bytes in malformed packets, and in packets still inside the fabric, is unknown.
    let conserved = if inside == 0 && totals.drops.malformed == 0 {
        totals.sent_bytes == ended
    } else {
        totals.sent_bytes >= ended
    };
    if !conserved {
        return Err(Error::Run(format!(
            "bytes are not conserved: {totals:?}, {inside} packets still inside the fabric"
        )));
    }
    Ok(())
}

fn finish(prepared: &Prepared, ended: Ended<'_>, watch: &Watch<'_>) -> Result<Outcome, Error> {
    let Ended { mut gather, totals, links, queues, flow_control, now, complete, .. } = ended;
    let Ended { waiting, retransmissions, fidelity, queue_series, .. } = ended;
    if complete && watch.limit.is_none_or(|limit| now < limit) {
        refuse_waiting(&waiting, &prepared.changes, &links, &prepared.topology, now)?;
    }
    for (node, key, count) in retransmissions {
        gather.recorder.retransmitted(node, key, count);
    }
    let rest = gather.recorder.finish(now);
    for record in &rest {
        gather.take(record);
    }
    gather.result?;
    if let Some(capture) = gather.capture {
        capture.finish(now)?;
    }
    let delivered = gather.recorder.finished();
    let (begun, unmatched) = (gather.recorder.begun(), gather.recorder.unmatched());
    let imbalance = gather.uplinks.map_or_else(Vec::new, |uplinks| uplinks.imbalance(now));
    let throughput = gather.throughput.map_or_else(Vec::new, |throughput| throughput.records(now));
    let series = gather.series.map(|series| series.records(queue_series, now));
    let (series, paths) = series.unwrap_or_default();
    let rate_series = gather.rates.map_or_else(Vec::new, |rates| rates.records(now));
    let rank_series = gather.ranks.map_or_else(Vec::new, |ranks| ranks.records(now));
    let totals = TotalsRecord::new(&totals, now);
    let undelivered =
        (complete && delivered == 0).then(|| Undelivered::of(&rest, &totals, prepared, now)).flatten();
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
        throughput,
        series,
        paths,
        rate_series,
        rank_series,
        flow_control,
        ranks,
        totals,
        digest,
        flows: watch.flows + begun,
        delivered,
        last_delivery: gather.last_delivery,
        undelivered,
        unmatched,
        fidelity,
        complete,
        seconds,
    })
}

/// Reports the progress of a run, and decides whether it goes on.
pub(crate) struct Watch<'a> {
    control: Control<'a>,
    halt: Halt,
    started: Instant,
    flows: u64,
    limit: Option<Time>,
}

impl<'a> Watch<'a> {
    /// Starts to watch a run. The elapsed time is measured from this call on.
    pub(crate) fn new(control: Control<'a>, prepared: &Prepared) -> Self {
        let (flows, limit) = (prepared.flows.len() as u64, prepared.experiment.engine.time_limit);
        Self { control, halt: prepared.parts.halt.clone(), started: wall_clock(), flows, limit }
    }

    pub(crate) fn look(&mut self, progress: Progress) -> ControlFlow<()> {
        let (flows, limit) = (self.flows, self.limit);
        let seconds = self.started.elapsed().as_secs_f64();
        (self.control.progress)(&RunState { progress, flows, limit, seconds });
        if self.control.stop.load(Ordering::Relaxed) || self.halt.error().is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(flows_delivered: u64, now: u64, limit: Option<u64>) -> Option<f64> {
        let (now, limit) = (Time::from_ps(now), limit.map(Time::from_ps));
        let progress = Progress { now, packet_hops: 0, flows_delivered };
        RunState { progress, flows: 100, limit, seconds: 6.0 }.seconds_left()
    }

    #[test]
    fn packets_and_bytes_that_do_not_add_up_are_refused() {
        let even = Totals {
            sent: 7,
            delivered: 4,
            dropped: 2,
            sent_bytes: 70,
            delivered_bytes: 40,
            dropped_bytes: 20,
            ..Totals::default()
        };
        assert!(refuse_imbalance(&even, 1).is_ok());
        assert!(refuse_imbalance(&even, 0).is_err(), "a packet is missing");
        let all = Totals { delivered: 5, ..even };
        assert!(refuse_imbalance(&all, 0).is_err(), "10 bytes are missing");
        assert!(refuse_imbalance(&Totals { delivered_bytes: 50, ..all }, 0).is_ok());
        assert!(refuse_imbalance(&Totals { delivered_bytes: 60, ..even }, 1).is_err(), "10 bytes too many");
    }

    #[test]
    fn remaining_time_is_estimated_from_flows_or_time_whichever_is_further() {
        assert_eq!(left(0, 5, None), None);
        assert_eq!(left(25, 5, None), Some(18.0));
        assert_eq!(left(0, 50, Some(100)), Some(6.0));
        assert_eq!(left(75, 50, Some(100)), Some(2.0));
        assert_eq!(left(100, 100, Some(100)), Some(0.0));
    }
}
