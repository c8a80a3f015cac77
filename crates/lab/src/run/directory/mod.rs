//! Run directories. Each run has one directory that describes itself:
//!
//! | file | holds |
//! |---|---|
//! | `experiment.toml` | the experiment, with all defaults filled in; it can be run again |
//! | `flows.parquet` | one row per flow that has started |
//! | `links.parquet` | unless `record.links` is false: one row per directed link |
//! | `queues.parquet` | with `record.queues`: a histogram of each port's queue length |
//! | `imbalance.parquet` | with `record.imbalance`: samples of how unevenly switches use their uplinks |
//! | `throughput.parquet` | with `record.throughput`: received packets and bytes of each flow in each interval |
//! | `queue_lengths.parquet` | with `record.queue_lengths`: samples of the backlog at ports |
//! | `series.parquet` | with `record.series`: traffic and queues of links in intervals |
//! | `paths.parquet` | with `record.series`: the links that the slowest flows crossed |
//! | `rate_series.parquet` | with `record.series`: throughput of senders and of the largest flows in each interval |
//! | `rank_series.parquet` | with `record.series`, for programs: how long each rank computed, sent and received |
//! | `flow_control.parquet` | if links have flow control: one row per directed link that has it |
//! | `packets.pcapng` | with `record.pcap`: the packets of chosen links |
//! | `ranks.parquet` | if the workload is a program: one row per rank |
//! | `summary.json` | seed, version, digests of the results and of their inputs, totals, percentiles |
//! | `log.txt` | the summary and the duration of the run, as text |
//! | `manifest.json` | the inputs of the run, and the digest of every file above |
//!
//! Runs, searches, figures and the results of sweeps are written in the same way, with these guarantees:
//!
//! - **The name always refers to whole results.** A directory is first written under a temporary name
//!   (`.NAME.part-RANDOM`), beside its final name. The temporary name cannot be guessed, and the directory is created
//!   exclusively. Its files and folders are synced before it gets its name, and the exchange with earlier results is
//!   one step. If the process is killed at any instant, the name refers to either the earlier or the new results, and
//!   they are whole. (On file systems that cannot exchange names, the exchange takes three steps, between which the
//!   name can be missing.)
//! - **Raddle deletes only files that it wrote.** Earlier results are replaced if their manifest has the same kind,
//!   version and experiment, and if no file was changed or added. Otherwise the run is refused. This is checked before
//!   the run starts, and again before the run replaces anything. With `--force` other results are replaced too. But a
//!   directory with a file that Raddle did not write, or with a changed file, is renamed to `NAME.old-RANDOM`. If new
//!   results cannot get the name when they are done, they are kept as `NAME.new-RANDOM`. This includes partial results
//!   that would replace complete results.
//! - **Only one process writes a directory at a time**, except on file systems without locks. The process holds a lock
//!   (`.NAME.raddle-lock`), which the kernel releases when the process ends, even if the process is killed. Another
//!   process is refused. A killed process leaves a temporary directory, which is recognized by its name and the file
//!   `.raddle-part`. The next process that has the lock removes this directory.
//! - **Results count as finished only if they are complete, unchanged, and have the kind and the inputs of the
//!   requested run**: the resolved experiment, the bytes of every file that it names, the source of a routing in
//!   Python, Raddle's version and the bytes of the program.

mod lock;
mod manifest;
mod part;
mod place;

pub(crate) use lock::Lock;
pub(crate) use manifest::{Contents, Manifest, Origin};
pub(crate) use part::Part;
pub use place::{Out, Warned, told_renamed};

use crate::Error;
use crate::observe::capture::Capture;
use crate::run::prepare::Prepared;
use crate::run::summary::{Summarizer, Summary};
use crate::run::{Control, Sinks, run_with};
use raddle_records::{FlowRecord, QueueLengthRecord, Row, TableWriter};
#[cfg(unix)]
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// File name of the summary.
pub const SUMMARY: &str = "summary.json";

/// File name of the table of flows.
pub(crate) const FLOWS: &str = "flows.parquet";

/// File name of the table of links.
pub(crate) const LINKS: &str = "links.parquet";

/// File name of the table of flow control on links.
pub(crate) const FLOW_CONTROL: &str = "flow_control.parquet";

/// File name of the samples of uplink imbalance.
pub(crate) const IMBALANCE: &str = "imbalance.parquet";

/// File name of the table of throughput per flow and interval.
pub(crate) const THROUGHPUT: &str = "throughput.parquet";

/// File name of the samples of queue lengths.
pub(crate) const QUEUE_LENGTHS: &str = "queue_lengths.parquet";

/// File name of the time series of links.
pub(crate) const SERIES: &str = "series.parquet";

/// File name of the paths of the slowest flows.
pub(crate) const PATHS: &str = "paths.parquet";

/// File name of the packet capture.
pub(crate) const PACKETS: &str = "packets.pcapng";

/// File name of the throughput of senders and of large flows over time.
pub(crate) const RATE_SERIES: &str = "rate_series.parquet";

/// File name of the time series of ranks.
pub(crate) const RANK_SERIES: &str = "rank_series.parquet";

/// File name of the table of ranks.
pub(crate) const RANKS: &str = "ranks.parquet";

/// File name of the resolved experiment.
pub const EXPERIMENT: &str = "experiment.toml";

impl Prepared {
    /// The inputs of this run's results.
    pub(crate) fn origin(&self) -> Result<Origin, Error> {
        Origin::of("run", &self.experiment.resolved.to_string(), &self.experiment)
    }
}

/// Runs a prepared experiment into a directory. `title` is the run's title in messages and in the summary.
///
/// # Errors
/// If [`Out::warned`] refuses the run, if the directory's contents may not be replaced, or if another process writes
/// the directory. Also if a file cannot be written, or if the run fails.
pub fn run_into<'a>(
    prepared: Prepared,
    out: impl Into<Out<'a>>,
    title: &str,
    control: Control<'_>,
) -> Result<Summary, Error> {
    let out = out.into();
    (out.warned)(title, &prepared.warnings)?;
    let origin = prepared.origin()?;
    let inputs = origin.inputs.clone();
    let warnings = prepared.warnings.clone();
    let part = Part::create(out, origin)?;
    let seed = prepared.experiment.engine.seed;
    let experiment = prepared.experiment.movable(prepared.experiment.resolved.clone())?;
    let (topology, workload) = (Arc::clone(&prepared.topology), prepared.facts());
    let record = prepared.experiment.record.clone();
    let capture = record
        .pcap
        .as_ref()
        .map(|pcap| Capture::create(&part.file(PACKETS), pcap, &prepared.captured, &prepared.topology));
    let capture = capture.transpose()?;
    let mut writer = TableWriter::<FlowRecord>::create(&part.file(FLOWS))?;
    let mut summarizer = Summarizer::default();
    let mut flow = |flow: &FlowRecord| {
        summarizer.add(flow);
        Ok(writer.push(flow)?)
    };
    let lengths = record.queue_lengths.is_some();
    let mut lengths = lengths.then(|| TableWriter::create(&part.file(QUEUE_LENGTHS))).transpose()?;
    let mut queue_length =
        |row: &QueueLengthRecord| Ok(lengths.iter_mut().try_for_each(|table| table.push(row))?);
    let sinks = Sinks { flow: &mut flow, queue_length: &mut queue_length, capture };
    let outcome = run_with(prepared, sinks, control)?;
    let digest = outcome.digest.to_string();
    let notes = [("raddle.seed", seed.to_string()), ("raddle.digest", digest)];
    let notes: Vec<_> = notes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    writer.finish(outcome.complete, &notes)?;
    if let Some(lengths) = lengths {
        lengths.finish(outcome.complete, &notes)?;
    }
    let complete = outcome.complete;
    let table = Written { part: &part, complete, notes: &notes };
    table.write(LINKS, record.links, &outcome.links)?;
    table.write("queues.parquet", !outcome.queues.is_empty(), &outcome.queues)?;
    table.write(IMBALANCE, record.imbalance.is_some(), &outcome.imbalance)?;
    table.write(THROUGHPUT, record.throughput.is_some(), &outcome.throughput)?;
    table.write(SERIES, record.series, &outcome.series)?;
    table.write(PATHS, record.series, &outcome.paths)?;
    table.write(RATE_SERIES, record.series, &outcome.rate_series)?;
    table.write(RANK_SERIES, record.series && !outcome.ranks.is_empty(), &outcome.rank_series)?;
    table.write(FLOW_CONTROL, !outcome.flow_control.is_empty(), &outcome.flow_control)?;
    table.write(RANKS, !outcome.ranks.is_empty(), &outcome.ranks)?;
    let mut summary = summarizer.finish(title, seed, &topology, workload, &outcome, &part.file(FLOWS))?;
    summary.inputs = inputs;
    summary.warnings = warnings;
    part.write(EXPERIMENT, &experiment)?;
    part.write(SUMMARY, &format!("{:#}\n", summary.json()))?;
    let speed = outcome.totals.packet_hops() as f64 / outcome.seconds.max(1e-9);
    let log = format!(
        "raddle {}\n{summary}\n{:.2} s of wall clock, {speed:.0} packet-hops/s\nrepeat it with: raddle run \
         experiment.toml\n",
        crate::VERSION,
        outcome.seconds
    );
    part.write("log.txt", &log)?;
    part.finish(complete)?;
    Ok(summary)
}

/// Settings for the tables that are written at the end of a run.
struct Written<'a> {
    part: &'a Part<'a>,
    complete: bool,
    notes: &'a [(&'static str, &'a str)],
}

impl Written<'_> {
    /// Writes these rows as the table `name`, if `wanted`.
    fn write<R: Row>(&self, name: &str, wanted: bool, rows: &[R]) -> Result<(), Error> {
        if wanted {
            let mut table = TableWriter::create(&self.part.file(name))?;
            rows.iter().try_for_each(|row| table.push(row))?;
            table.finish(self.complete, self.notes)?;
        }
        Ok(())
    }
}

/// File that marks an unfinished directory.
const MARKER: &str = ".raddle-part";

/// Number of random letters and digits in the name of an unfinished directory.
const RANDOM: usize = 12;

/// Syncs the directory entries of a folder.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<(), Error> {
    let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(Error::io("sync", folder))
}

/// Does nothing: systems other than Unix cannot open folders, and they sync directory entries themselves.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<(), Error> {
    Ok(())
}
