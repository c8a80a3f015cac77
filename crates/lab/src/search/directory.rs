//! Search directories: `experiment.toml` with every default, which searches again as it is, and `search.json` with what was
//! found. Both are there only once the search is done.

use super::{Found, Search};
use crate::directory::{EXPERIMENT, Part};
use crate::experiment::{Cell, Document};
use crate::run::{Control, RunState};
use crate::sweep::{directories, in_parallel};
use crate::{Error, VERSION};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What was found, in a search's directory.
const SEARCH: &str = "search.json";

/// What `search.json` holds.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    #[serde(flatten)]
    found: Found,
}

/// Searches into a directory, or reads what a search of the same experiment left there.
///
/// # Errors
/// If the experiment is wrong, the directory is there and no search's, a file cannot be written, a run fails, or
/// somebody wants it to stop.
pub fn run_into(
    search: &Search,
    document: &Document,
    directory: &Path,
    control: Control<'_>,
) -> Result<Found, Error> {
    let mut resolved = search.document(document, 1)?.experiment()?.resolved;
    resolved.insert("search".to_owned(), search.resolved.clone().into());
    let resolved = resolved.to_string();
    if let Some(found) = finished(directory, &resolved) {
        return Ok(found);
    }
    let part = Part::create(directory, SEARCH)?;
    let found = search.run(document, control)?;
    part.write(EXPERIMENT, &resolved)?;
    let kept = Kept { version: VERSION.to_owned(), found };
    part.write(SEARCH, &format!("{:#}\n", serde_json::json!(kept)))?;
    part.finish()?;
    Ok(kept.found)
}

/// What the search of that resolved experiment found, if it is there.
fn finished(directory: &Path, resolved: &str) -> Option<Found> {
    let same = fs::read_to_string(directory.join(EXPERIMENT)).is_ok_and(|text| text == resolved);
    let kept = fs::read_to_string(directory.join(SEARCH)).ok().filter(|_| same)?;
    let kept: Kept = serde_json::from_str(&kept).ok()?;
    (kept.version == VERSION).then_some(kept.found)
}

/// Searches in each cell of a sweep, on `threads` threads, as [`sweep`](crate::sweep::sweep()) runs cells: into folders of
/// `out`, without what is there already. `progress` is told how far the run is that a cell's search is making.
///
/// # Errors
/// If a cell is wrong, two cells would share a folder, or a search fails or is stopped.
pub fn sweep(
    cells: &[Cell],
    out: &Path,
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, &RunState) + Sync),
) -> Result<Vec<Found>, Error> {
    let places = directories(cells, out)?;
    let mut searches = Vec::new();
    for cell in cells {
        let Some(search) = Search::read(&cell.document)? else {
            return Err(Error::Run(format!("{} has no table [search]", cell.name())));
        };
        search.document(&cell.document, 1)?.prepare()?;
        searches.push(search);
    }
    let work = |i: usize, threads: usize| {
        let control = Control { stop, progress: &mut |state| progress(i, state), threads };
        run_into(&searches[i], &cells[i].document, &places[i], control)
    };
    let found = in_parallel(cells.len(), threads, stop, &work)?;
    found.into_iter().collect::<Option<_>>().ok_or(Error::Interrupted)
}
