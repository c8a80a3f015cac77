//! The file with the labels of the runs of a sweep or a figure. `raddle report` takes the names and the order of its
//! groups from this file.

use super::results;
use crate::Error;
use crate::figure::CLAIMS;
use crate::figure::runs::Labels;
use crate::run::kept_summary::not_a_run;
use raddle_records::write_file;
use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "labels.json";

/// Writes the file into `folder`. Each run has its directory, relative to the folder that holds the runs, and its
/// labels.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write<'a>(
    folder: &Path,
    runs: impl Iterator<Item = (&'a Path, &'a Labels)>,
) -> Result<(), Error> {
    let runs: Vec<_> = runs.collect();
    let text = serde_json::to_string_pretty(&runs).expect("paths and labels are text");
    Ok(write_file(&folder.join(FILE), format!("{text}\n").as_bytes())?)
}

/// The runs in `folder`, in the order of the sweep or the figure, each with its directory and its labels. Empty if the
/// folder is neither that of a sweep nor that of a figure.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(folder: &Path) -> Result<Vec<(PathBuf, Labels)>, Error> {
    let of_sweep = folder.join(results::FOLDER);
    let place = if folder.join(CLAIMS).exists() { folder } else { &of_sweep };
    let file = place.join(FILE);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
    let runs: Vec<(PathBuf, Labels)> =
        serde_json::from_str(&text).map_err(|error| not_a_run(&file, error))?;
    Ok(runs.into_iter().map(|(directory, labels)| (folder.join(directory), labels)).collect())
}
