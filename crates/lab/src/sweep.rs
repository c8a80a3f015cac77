//! Running every cell of a sweep, several at a time, each into a directory of its own.

use crate::experiment::Cell;
use crate::run::{Control, RunState};
use crate::summary::Summary;
use crate::{Error, directory, run_into};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What became of a cell.
#[derive(Debug, Clone)]
pub struct CellRun {
    /// Its directory.
    pub directory: PathBuf,
    /// What it amounts to; `None` if the directory held the finished run already.
    pub summary: Option<Summary>,
}

/// The folder name of a cell: its labels in small letters, joined by dashes; `run` of one without any.
#[must_use]
pub fn slug(name: &str) -> String {
    let dashed: String =
        name.to_lowercase().chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let words: Vec<_> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

/// Runs the cells into folders of `out`, on `threads` threads: as many cells at a time, or if there are fewer, several
/// threads for each. Leaves out those whose run is there and finished. All are checked before the first one runs. `progress` is told which cell is how far.
///
/// # Errors
/// If a cell is wrong, two cells would share a folder, or a run fails; the others still end.
pub fn sweep(
    cells: &[Cell],
    out: &Path,
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, &RunState) + Sync),
) -> Result<Vec<CellRun>, Error> {
    let directories = directories(cells, out)?;
    let mut finished = Vec::new();
    for (cell, directory) in cells.iter().zip(&directories) {
        let resolved = cell.document.prepare()?.experiment.resolved.to_string();
        finished.push(directory::is_finished(directory, &resolved));
    }
    let work = |i: usize, threads: usize| {
        let directory = directories[i].clone();
        let summary = if finished[i] {
            None
        } else {
            let control = Control { stop, progress: &mut |state| progress(i, state), threads };
            Some(run_into(cells[i].document.prepare()?, &directory, &cells[i].name(), control)?)
        };
        Ok(CellRun { directory, summary })
    };
    let runs = in_parallel(cells.len(), threads, stop, &work)?;
    Ok(runs.into_iter().flatten().collect())
}

/// The folder of each cell in `out`.
///
/// # Errors
/// If two cells would share one.
pub(crate) fn directories(cells: &[Cell], out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for cell in cells {
        let directory = out.join(slug(&cell.name()));
        if directories.contains(&directory) {
            let what = format!("two runs of the sweep would be kept in {}", directory.display());
            return Err(Error::Usage { what, hint: "give their labels more different letters".to_owned() });
        }
        directories.push(directory);
    }
    Ok(directories)
}

/// Does `work` of the numbers up to `count` on `threads` threads: as many at a time, or if there are fewer, several threads
/// for each, which it is told with the number. What was not begun when somebody wanted it to stop is `None`.
///
/// # Errors
/// If some of the work fails; the rest still ends.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    work: &(dyn Fn(usize, usize) -> Result<T, Error> + Sync),
) -> Result<Vec<Option<T>>, Error> {
    let workers = threads.clamp(1, count.max(1));
    let each = threads.max(1) / workers;
    let next = AtomicUsize::new(0);
    let done = Mutex::new((0..count).map(|_| None).collect::<Vec<_>>());
    let worker = || -> Result<(), Error> {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let result = work(i, each)?;
            done.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(|worker| worker.join().expect("a worker that does not panic"));
        results.collect::<Vec<_>>().into_iter().collect::<Result<(), Error>>()
    })?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}
