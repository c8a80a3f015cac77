//! What a run left, read back from its directory.

mod over_time;

pub(crate) use over_time::{Interval, QueueLength};

use crate::{Error, SizeClass, directory};
use raddle_records::Table;
use std::path::Path;

/// A flow, in columns' units as they are measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowRow {
    /// Its place in the order of arrivals.
    pub(crate) id: u64,
    /// Sending node.
    pub(crate) src: u64,
    /// Receiving node.
    pub(crate) dst: u64,
    /// Application bytes.
    pub(crate) size: u64,
    /// `None` if it never finished.
    pub(crate) fct_us: Option<f64>,
    /// FCT over that of the flow alone.
    pub(crate) slowdown: Option<f64>,
    /// Most packets that waited for an earlier one.
    pub(crate) reorder: f64,
    /// Mean over its life of the rate that it was assigned, if it ever was.
    pub(crate) assigned_gbps: Option<f64>,
}

/// What a run left, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) flows: Vec<FlowRow>,
    /// By link.
    pub(crate) peak_queue_bytes: Vec<f64>,
    /// By link.
    pub(crate) control_bytes: Vec<f64>,
    /// Tier and imbalance of switches, if it was sampled, from the first flow's arrival to the last one's, or to the
    /// end if they arrive at once: what drains afterwards is a few flows on a few links.
    pub(crate) imbalance: Vec<(u64, f64)>,
    /// What receivers got, if it was counted.
    pub(crate) intervals: Vec<Interval>,
    /// What waited at ports, if they were looked at.
    pub(crate) queue_lengths: Vec<QueueLength>,
    /// When the last rank came to its end, if the workload was a program and all did.
    pub(crate) makespan_ms: Option<f64>,
}

impl Records {
    /// Reads a run directory, without the first `warm_up` share of arrivals.
    pub(crate) fn read(directory: &Path, warm_up: f64) -> Result<Self, Error> {
        let table = Table::read(&directory.join(directory::FLOWS))?;
        let first = (table.rows as f64 * warm_up) as u64;
        let (ids, sizes) = (table.integers("flow")?, table.integers("size_bytes")?);
        let (sources, destinations) = (table.integers("src")?, table.integers("dst")?);
        let starts = table.integers("start_ps")?;
        let (fcts, slowdowns) = (table.integers("fct_ps")?, table.floats("slowdown")?);
        let (reorder, assigned) =
            (table.integers("reorder_peak_packets")?, table.floats("average_rate_bps")?);
        let flow = |row: usize| {
            Some(FlowRow {
                id: ids[row].filter(|&id| id >= first)?,
                src: sources[row]?,
                dst: destinations[row]?,
                size: sizes[row].unwrap_or(0),
                fct_us: fcts[row].map(|fct| fct as f64 / 1e6),
                slowdown: slowdowns[row],
                reorder: reorder[row].unwrap_or(0) as f64,
                assigned_gbps: assigned[row].map(|bps| bps / 1e9),
            })
        };
        let mut flows: Vec<_> = (0..table.rows).filter_map(flow).collect();
        flows.sort_unstable_by_key(|flow| flow.id);
        let kept = (0..table.rows).filter(|&row| ids[row].is_some_and(|id| id >= first));
        let starts = || kept.clone().filter_map(|row| starts[row]);
        let arrivals = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        let links = Table::read(&directory.join(directory::LINKS))?;
        let column = |name: &str| -> Result<Vec<f64>, Error> {
            Ok(links.integers(name)?.iter().map(|value| value.unwrap_or(0) as f64).collect())
        };
        Ok(Self {
            flows,
            peak_queue_bytes: column("peak_queue_bytes")?,
            control_bytes: column("control_bytes")?,
            imbalance: imbalance(&directory.join(directory::IMBALANCE), arrivals)?,
            intervals: over_time::intervals(&directory.join(directory::THROUGHPUT))?,
            queue_lengths: over_time::queue_lengths(&directory.join(directory::QUEUE_LENGTHS))?,
            makespan_ms: makespan_ms(&directory.join(directory::RANKS))?,
        })
    }

    /// Flows of a class that never finished.
    pub(crate) fn unfinished(&self, class: SizeClass) -> usize {
        self.flows.iter().filter(|flow| flow.fct_us.is_none() && class.holds(flow.size)).count()
    }
}

/// When the last rank came to its end, if there is such a file and all did.
fn makespan_ms(file: &Path) -> Result<Option<f64>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let table = Table::read(file)?;
    let finished: Option<Vec<u64>> = table.integers("finished_ps")?.iter().copied().collect();
    Ok(finished.and_then(|finished| finished.into_iter().max()).map(|last| last as f64 / 1e9))
}

/// Tier and imbalance from the first to the last arrival, if there is such a file.
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
