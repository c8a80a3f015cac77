//! The directory of a search has three files. `experiment.toml` holds the experiment with the defaults filled in, and
//! the search can be repeated from this file. `search.json` holds the result. `manifest.json` holds the inputs of the
//! search and the digests of the other files. The directory appears only when the search is done. The rules for
//! replacing the directory are the same as for the directories of [runs](crate::run::directory).

use super::{Found, Search};
use crate::experiment::{Cell, Document, Experiment};
use crate::lint::Warning;
use crate::run::directory::{EXPERIMENT, Lock, Origin, Out, Part};
use crate::run::{Control, RunState};
use crate::sweep::{directories, in_parallel, missing};
use crate::{Error, Threads, VERSION};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// File name of the result in a search's directory.
const SEARCH: &str = "search.json";

/// The content of `search.json`.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    #[serde(flatten)]
    found: Found,
}

/// Runs a search and writes its result into a directory. If the directory already has the result of the same search,
/// reads this result instead.
///
/// # Errors
/// If the experiment is wrong, the directory's contents may not be replaced, another process writes the directory, a
/// file cannot be written, a run fails, or the search is stopped.
pub fn run_into<'a>(
    search: &Search,
    document: &Document,
    out: impl Into<Out<'a>>,
    control: Control<'_>,
) -> Result<Found, Error> {
    let out = out.into();
    let (experiment, resolved, origin) = search.origin(document)?;
    if out.contents()?.is_some_and(|contents| contents.is_finished(&origin)) {
        return kept(out.path);
    }
    let part = Part::create(out, origin)?;
    let found = search.run(document, control)?;
    part.write(EXPERIMENT, &experiment.movable(resolved)?)?;
    let kept = Kept { version: VERSION.to_owned(), found };
    part.write(SEARCH, &format!("{:#}\n", serde_json::json!(kept)))?;
    part.finish(true)?;
    Ok(kept.found)
}

impl Search {
    /// The warnings that apply at every value of the searched key. Warnings about this key, or about a table that
    /// contains the key, are left out.
    pub(super) fn warnings(&self, mut warnings: Vec<Warning>) -> Vec<Warning> {
        let holds_key = |about: &str| {
            self.key.strip_prefix(about).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'.', ..]))
        };
        warnings.retain(|warning| !holds_key(&warning.key));
        warnings
    }

    /// The experiment, its resolved table with the search, and the origin of the search's results.
    fn origin(&self, document: &Document) -> Result<(Experiment, toml::Table, Origin), Error> {
        let experiment = self.document(document, 1)?.experiment()?;
        let mut resolved = experiment.resolved.clone();
        resolved.insert("search".to_owned(), self.resolved.clone().into());
        let origin = Origin::of("search", &resolved.to_string(), &experiment)?;
        Ok((experiment, resolved, origin))
    }
}

/// Reads the result of the finished search in `directory`.
fn kept(directory: &Path) -> Result<Found, Error> {
    let path = directory.join(SEARCH);
    let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let kept: Kept = serde_json::from_str(&text).map_err(|error| Error::io("read", &path)(error.into()))?;
    Ok(kept.found)
}

/// Runs the search of each cell of a sweep, on `threads` threads, into subfolders of `out`. Like
/// [`sweep`](crate::sweep::sweep()), it skips finished cells. `progress` is called with the index of a cell and the
/// state of the current run of the cell's search.
///
/// # Errors
/// - If a cell has no valid `[search]`, or its settings do not fit together.
/// - If two cells would share a folder, or a label is not a valid folder name.
/// - If a folder's contents may not be replaced, or another process writes into `out`.
/// - If a search is refused because of its warnings, fails, or is stopped.
pub fn sweep<'a>(
    cells: &[Cell],
    out: impl Into<Out<'a>>,
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, &RunState) + Sync),
) -> Result<Vec<Found>, Error> {
    let out = out.into();
    let places = directories(cells, out.path)?;
    let (mut searches, mut origins) = (Vec::new(), Vec::new());
    for cell in cells {
        let Some(search) = Search::read(&cell.document)? else {
            return Err(Error::Run(format!("{} has no table [search]", cell.name())));
        };
        let prepared = search.document(&cell.document, 1)?.prepare()?;
        (out.warned)(&cell.name(), &search.warnings(prepared.warnings))?;
        origins.push(search.origin(&cell.document)?.2);
        searches.push(search);
    }
    let _lock = Lock::of_folder(out.path, None)?;
    let missing = missing(places.iter().map(PathBuf::as_path).zip(&origins), out)?;
    let work = |i: usize, threads: usize| {
        let control =
            Control { stop, progress: &mut |state| progress(i, state), threads: Threads::UpTo(threads) };
        match missing[i] {
            Some(out) => run_into(&searches[i], &cells[i].document, out, control),
            None => kept(&places[i]),
        }
    };
    let found = in_parallel(cells.len(), threads, &|| stop.load(Ordering::Relaxed), &work)?;
    found.into_iter().collect::<Option<_>>().ok_or(Error::Interrupted)
}
