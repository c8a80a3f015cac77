//! Reads the results of a run from its directory.

mod links;
mod over_time;

pub(crate) use links::LinkRow;
pub(crate) use over_time::{Interval, QueueLength};

use crate::run::{directory, kept_summary};
use crate::{Error, SizeClass};
use raddle_live::rack::Verdict;
use raddle_records::{FlowRecord, Table};
use std::path::Path;

/// The results of a flow. Times and rates are in the units in which results are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowRow {
    /// The flow's number. Flows are numbered in the order of arrival.
    pub(crate) id: u64,
    /// Sending node.
    pub(crate) src: u64,
    /// Receiving node.
    pub(crate) dst: u64,
    /// Size in application bytes.
    pub(crate) size: u64,
    /// Arrival time in microseconds.
    pub(crate) start_us: f64,
    /// FCT in microseconds; `None` if the flow never finished.
    pub(crate) fct_us: Option<f64>,
    /// Time from the start until the sender learned that the flow was complete, in microseconds. With a transport
    /// without acknowledgements, until the sender sent the last byte. `None` if the flow was not delivered, or its
    /// sender has not come this far.
    pub(crate) sender_fct_us: Option<f64>,
    /// True if the flow was delivered, and the sender knew this by the deadline. With a transport without
    /// acknowledgements, the sender must have sent the last byte by the deadline. `None` without a deadline.
    pub(crate) met: Option<bool>,
    /// FCT divided by the ideal FCT, which the flow would have alone on one shortest path; `None` if the flow never
    /// finished.
    pub(crate) slowdown: Option<f64>,
    /// Maximum number of the flow's packets that waited at the same time at the receiver for an earlier packet.
    pub(crate) reorder: f64,
    /// Mean over time of the rate that was assigned to the sender, in Gbps, from the start until the sender was done or
    /// the run ended. Until a rate was first assigned, line rate counts. `None` if no rate was ever assigned.
    pub(crate) assigned_gbps: Option<f64>,
}

impl From<&FlowRecord> for FlowRow {
    fn from(flow: &FlowRecord) -> Self {
        Self {
            id: flow.id.into(),
            src: flow.src.into(),
            dst: flow.dst.into(),
            size: flow.size_bytes,
            start_us: flow.start_ps as f64 / 1e6,
            fct_us: flow.fct_ps.map(|fct| fct as f64 / 1e6),
            sender_fct_us: flow.sender_fct_ps().map(|fct| fct as f64 / 1e6),
            met: flow.meets_deadline(),
            slowdown: flow.slowdown(),
            reorder: flow.reorder_peak_packets.into(),
            assigned_gbps: flow.average_rate_bps.map(|bps| bps / 1e9),
        }
    }
}

/// The results of a run, with flows in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) links: Vec<LinkRow>,
    /// Tier and imbalance of each sample, if switches were sampled. The samples are those after the first arrival in
    /// `flows` and up to the last arrival. Later samples are left out, because they show only a few flows on a few
    /// links. If all flows arrive at the same time, all samples after this time are present.
    pub(crate) imbalance: Vec<(u64, f64)>,
    /// Throughput of flows in intervals, if recorded.
    pub(crate) intervals: Vec<Interval>,
    /// Samples of queue lengths, if recorded.
    pub(crate) queue_lengths: Vec<QueueLength>,
    /// Time at which the last rank ended, if the workload was a program and all ranks finished.
    pub(crate) makespan_ms: Option<f64>,
    /// The [verdict](raddle_live::rack::Verdict) on a live run; `None` for other runs.
    pub(crate) verdict: Option<String>,
    /// Median delay of a live run's packets, in microseconds of real time: from a packet's due time at a node until the
    /// node handled the packet. `None` for other runs.
    pub(crate) lateness_us: Option<f64>,
}

impl Records {
    /// Reads a run directory, but leaves out the flows that arrive first. `warm_up` is the share of all flows to leave
    /// out, from 0 to 1.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn read(directory: &Path, warm_up: f64) -> Result<Self, Error> {
        let table = Table::read(&directory.join(directory::FLOWS))?;
        let mut flows = FlowRecord::of(&table)?;
        flows.sort_unstable_by_key(|flow| flow.id);
        let first = (table.rows as f64 * warm_up) as u32;
        flows.retain(|flow| flow.id >= first);
        let starts = || flows.iter().map(|flow| flow.start_ps);
        let arrivals = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        let fidelity = fidelity(directory)?;
        Ok(Self {
            flows: flows.iter().map(FlowRow::from).collect(),
            links: links::links(directory)?,
            imbalance: imbalance(&directory.join(directory::IMBALANCE), arrivals)?,
            intervals: over_time::intervals(&directory.join(directory::THROUGHPUT))?,
            queue_lengths: over_time::queue_lengths(&directory.join(directory::QUEUE_LENGTHS))?,
            makespan_ms: makespan_ms(&directory.join(directory::RANKS))?,
            verdict: fidelity["verdict"].as_str().map(str::to_owned),
            lateness_us: fidelity["lateness_p50_ns"].as_f64().map(|ns| ns / 1e3),
        })
    }

    /// Number of flows of a size class that never finished.
    pub(crate) fn unfinished(&self, class: SizeClass) -> usize {
        self.flows.iter().filter(|flow| flow.fct_us.is_none() && class.holds(flow.size)).count()
    }
}

/// Time at which the last rank ended; `None` if there is no table of ranks, or if a rank did not finish.
fn makespan_ms(file: &Path) -> Result<Option<f64>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let table = Table::read(file)?;
    let finished: Option<Vec<u64>> = table.integers("finished_ps")?.iter().copied().collect();
    Ok(finished.and_then(|finished| finished.into_iter().max()).map(|last| last as f64 / 1e9))
}

/// True if the directory holds a live run.
pub(crate) fn is_live(directory: &Path) -> Result<bool, Error> {
    Ok(fidelity(directory)?["verdict"].is_string())
}

/// True if the directory holds a live run that was not faithful.
pub(crate) fn is_unfaithful(directory: &Path) -> Result<bool, Error> {
    Ok(fidelity(directory)?["verdict"].as_str().is_some_and(|verdict| !is_faithful(verdict)))
}

/// True if the verdict says that the run measured the fabric rather than the machine.
pub(crate) fn is_faithful(verdict: &str) -> bool {
    verdict == Verdict::Faithful.to_string()
}

/// How faithful the run in this directory was, from its summary; null if it was not a live run.
fn fidelity(directory: &Path) -> Result<serde_json::Value, Error> {
    Ok(kept_summary::read(directory)?.get_mut("fidelity").map(serde_json::Value::take).unwrap_or_default())
}

/// Tier and imbalance of each sample after the first arrival of a flow and up to the last arrival. If all flows arrive
/// at the same time, all samples after this time are returned. Empty if `file` does not exist.
fn imbalance(file: &Path, (first, last): (u64, u64)) -> Result<Vec<(u64, f64)>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let table = Table::read(file)?;
    let (times, tiers) = (table.integers("at_ps")?, table.integers("tier")?);
    let samples = table.floats("imbalance")?;
    let at_once = first == last;
    let within = |at: u64| first < at && (at_once || at <= last);
    let sample = |row: usize| times[row].filter(|&at| within(at)).and(tiers[row].zip(samples[row]));
    Ok((0..table.rows).filter_map(sample).collect())
}
