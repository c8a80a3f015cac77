//! Run directories. A run is one directory that describes itself:
//!
//! | file | holds |
//! |---|---|
//! | `experiment.toml` | the experiment with every default, which runs again as it is |
//! | `flows.parquet` | a row a flow |
//! | `links.parquet` | a row a directed link |
//! | `queues.parquet` | with `record.queues`: a histogram of each port's queue |
//! | `imbalance.parquet` | with `record.imbalance`: samples of how unevenly switches use their uplinks |
//! | `packets.pcapng` | with `record.pcap`: the packets of chosen links |
//! | `ranks.parquet` | if the workload is a program: a row a rank |
//! | `summary.json` | seed, version, digest, totals, percentiles |
//! | `log.txt` | what was run, and what the run said at its end |
//!
//! It grows under a temporary name and gets its own when it is whole, so a directory of that name is a finished run,
//! or one that was stopped and says so.

use crate::Error;
use crate::capture::Capture;
use crate::experiment::Record;
use crate::prepare::Prepared;
use crate::run::{Control, run_captured};
use crate::summary::{Summarizer, Summary};
use raddle_records::{FlowRecord, ImbalanceRecord, LinkRecord, QueueRecord, RankRecord, TableWriter};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The summary's name in a run directory.
pub const SUMMARY: &str = "summary.json";

/// The flows' name in a run directory.
pub(crate) const FLOWS: &str = "flows.parquet";

/// The links' name in a run directory.
pub(crate) const LINKS: &str = "links.parquet";

/// The name of samples of imbalance in a run directory.
pub(crate) const IMBALANCE: &str = "imbalance.parquet";

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
    let part = Part::create(directory)?;
    let seed = prepared.experiment.engine.seed;
    let resolved = prepared.experiment.resolved.clone();
    let workload = prepared.facts();
    let Record { links: keep_links, imbalance, pcap, .. } = &prepared.experiment.record;
    let (keep_links, keep_imbalance) = (*keep_links, imbalance.is_some());
    let capture = pcap
        .as_ref()
        .map(|pcap| Capture::create(&part.file(PACKETS), pcap, &prepared.captured, &prepared.topology));
    let capture = capture.transpose()?;
    let mut writer = TableWriter::<FlowRecord>::create(&part.file(FLOWS))?;
    let mut summarizer = Summarizer::default();
    let mut take = |flow: &FlowRecord| {
        summarizer.add(flow);
        Ok(writer.push(flow)?)
    };
    let outcome = run_captured(prepared, &mut take, capture, control)?;
    let digest = outcome.digest.to_string();
    let notes = [("raddle.seed", seed.to_string()), ("raddle.digest", digest)];
    let notes: Vec<_> = notes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    writer.finish(outcome.complete, &notes)?;
    if keep_links {
        let mut links = TableWriter::<LinkRecord>::create(&part.file(LINKS))?;
        outcome.links.iter().try_for_each(|link| links.push(link))?;
        links.finish(outcome.complete, &notes)?;
    }
    if !outcome.queues.is_empty() {
        let mut queues = TableWriter::<QueueRecord>::create(&part.file("queues.parquet"))?;
        outcome.queues.iter().try_for_each(|bin| queues.push(bin))?;
        queues.finish(outcome.complete, &notes)?;
    }
    if keep_imbalance {
        let mut samples = TableWriter::<ImbalanceRecord>::create(&part.file(IMBALANCE))?;
        outcome.imbalance.iter().try_for_each(|sample| samples.push(sample))?;
        samples.finish(outcome.complete, &notes)?;
    }
    if !outcome.ranks.is_empty() {
        let mut ranks = TableWriter::<RankRecord>::create(&part.file(RANKS))?;
        outcome.ranks.iter().try_for_each(|rank| ranks.push(rank))?;
        ranks.finish(outcome.complete, &notes)?;
    }
    let summary = summarizer.finish(title, seed, workload, &outcome);
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

/// Whether the run of that resolved experiment is there and came to its end.
#[must_use]
pub fn is_finished(directory: &Path, resolved: &str) -> bool {
    let summary = fs::read_to_string(directory.join(SUMMARY)).ok();
    let summary: Option<serde_json::Value> = summary.and_then(|text| serde_json::from_str(&text).ok());
    let same = fs::read_to_string(directory.join(EXPERIMENT)).is_ok_and(|text| text == resolved);
    same && summary.is_some_and(|summary| summary["complete"] == true && summary["version"] == crate::VERSION)
}

/// A run directory in the making; dropped before it is finished, it leaves nothing behind.
struct Part {
    directory: PathBuf,
    temporary: PathBuf,
}

impl Part {
    fn create(directory: &Path) -> Result<Self, Error> {
        if directory.exists() && !directory.join(SUMMARY).is_file() {
            let empty = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
            if !empty {
                let what = format!("{} is there already and is no run directory", directory.display());
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

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.file(name);
        fs::write(&path, text).map_err(Error::io("write", &path))
    }

    /// Takes the place of an earlier run of the same name.
    fn finish(self) -> Result<(), Error> {
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
