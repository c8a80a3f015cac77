//! Run directories. A run is one directory that describes itself:
//!
//! | file | holds |
//! |---|---|
//! | `experiment.toml` | the experiment with every default, which runs again as it is |
//! | `flows.parquet` | a row a flow |
//! | `links.parquet` | a row a directed link |
//! | `queues.parquet` | with `record.queues`: a histogram of each port's queue |
//! | `imbalance.parquet` | with `record.imbalance`: samples of how unevenly switches use their uplinks |
//! | `throughput.parquet` | with `record.throughput`: what receivers got of each flow in each interval |
//! | `queue_lengths.parquet` | with `record.queue_lengths`: how much waited at ports, from time to time |
//! | `flow_control.parquet` | if links have flow control: a row a directed link |
//! | `packets.pcapng` | with `record.pcap`: the packets of chosen links |
//! | `ranks.parquet` | if the workload is a program: a row a rank |
//! | `summary.json` | seed, version, digest, totals, percentiles |
//! | `log.txt` | what was run, and what the run said at its end |
//!
//! It grows under a temporary name and gets its own when it is whole, so a directory of that name is a finished run,
//! or one that was stopped and says so.

use crate::Error;
use crate::capture::Capture;
use crate::prepare::Prepared;
use crate::run::{Control, Sinks, run_with};
use crate::summary::{Summarizer, Summary};
use raddle_records::{FlowRecord, QueueLengthRecord, Row, TableWriter};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The summary's name in a run directory.
pub const SUMMARY: &str = "summary.json";

/// The flows' name in a run directory.
pub(crate) const FLOWS: &str = "flows.parquet";

/// The links' name in a run directory.
pub(crate) const LINKS: &str = "links.parquet";

/// The name of samples of imbalance in a run directory.
pub(crate) const IMBALANCE: &str = "imbalance.parquet";

/// The name of what receivers got in intervals in a run directory.
pub(crate) const THROUGHPUT: &str = "throughput.parquet";

/// The name of what waited at ports in a run directory.
pub(crate) const QUEUE_LENGTHS: &str = "queue_lengths.parquet";

/// The capture's name in a run directory.
pub(crate) const PACKETS: &str = "packets.pcapng";

/// The ranks' name in a run directory.
pub(crate) const RANKS: &str = "ranks.parquet";

/// The resolved experiment's name in a run directory.
pub const EXPERIMENT: &str = "experiment.toml";

/// Runs a prepared experiment into a directory; `title` is what the run is called.
///
/// # Errors
/// If the directory is there and no run directory, if a file cannot be written, or if the run fails.
pub fn run_into(
    prepared: Prepared,
    directory: &Path,
    title: &str,
    control: Control<'_>,
) -> Result<Summary, Error> {
    let part = Part::create(directory, SUMMARY)?;
    let seed = prepared.experiment.engine.seed;
    let resolved = prepared.experiment.resolved.clone();
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
    table.write("flow_control.parquet", !outcome.flow_control.is_empty(), &outcome.flow_control)?;
    table.write(RANKS, !outcome.ranks.is_empty(), &outcome.ranks)?;
    let summary = summarizer.finish(title, seed, &topology, workload, &outcome);
    part.write(EXPERIMENT, &resolved.to_string())?;
    part.write(SUMMARY, &format!("{:#}\n", summary.json()))?;
    let speed = outcome.totals.packet_hops() as f64 / outcome.seconds.max(1e-9);
    let log = format!(
        "raddle {}\n{summary}\n{:.2} s of wall clock, {speed:.0} packet-hops/s\nagain: raddle run experiment.toml\n",
        crate::VERSION,
        outcome.seconds
    );
    part.write("log.txt", &log)?;
    part.finish()?;
    Ok(summary)
}

/// How tables are written at the end of a run.
struct Written<'a> {
    part: &'a Part,
    complete: bool,
    notes: &'a [(&'static str, &'a str)],
}

impl Written<'_> {
    /// Writes the table `name` of these rows, if it is wanted.
    fn write<R: Row>(&self, name: &str, wanted: bool, rows: &[R]) -> Result<(), Error> {
        if wanted {
            let mut table = TableWriter::create(&self.part.file(name))?;
            rows.iter().try_for_each(|row| table.push(row))?;
            table.finish(self.complete, self.notes)?;
        }
        Ok(())
    }
}

/// Whether the run of that resolved experiment is there and came to its end.
#[must_use]
pub fn is_finished(directory: &Path, resolved: &str) -> bool {
    let summary = fs::read_to_string(directory.join(SUMMARY)).ok();
    let summary: Option<serde_json::Value> = summary.and_then(|text| serde_json::from_str(&text).ok());
    let same = fs::read_to_string(directory.join(EXPERIMENT)).is_ok_and(|text| text == resolved);
    same && summary.is_some_and(|summary| summary["complete"] == true && summary["version"] == crate::VERSION)
}

/// A directory in the making; dropped before it is finished, it leaves nothing behind.
pub(crate) struct Part {
    directory: PathBuf,
    temporary: PathBuf,
}

impl Part {
    /// Begins what will be at `directory`, in place of an earlier one, which is known by its file `mark`.
    pub(crate) fn create(directory: &Path, mark: &str) -> Result<Self, Error> {
        if directory.exists() && !directory.join(mark).is_file() {
            let empty = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
            if !empty {
                let what = format!("{} is there already and has no {mark}", directory.display());
                return Err(Error::Usage { what, hint: "choose another --out, or remove it".to_owned() });
            }
        }
        let mut temporary = OsString::from(directory.as_os_str());
        temporary.push(format!(".part-{}", std::process::id()));
        let temporary = PathBuf::from(temporary);
        fs::create_dir_all(&temporary).map_err(Error::io("create", &temporary))?;
        Ok(Self { directory: directory.to_owned(), temporary })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.temporary.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.file(name);
        fs::write(&path, text).map_err(Error::io("write", &path))
    }

    /// Takes the place of an earlier run of the same name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory).map_err(Error::io("replace", &self.directory))?;
        }
        fs::rename(&self.temporary, &self.directory).map_err(Error::io("create", &self.directory))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After `finish` the temporary name is gone; before, what is there is of no use, and failing to tidy up is no
        // reason to fail.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}
