//! Runs every cell of a sweep, several at a time, each into its own directory.

pub mod search;

use crate::experiment::{Cell, EngineKind};
use crate::run::directory::{Lock, Origin, Out};
use crate::run::records::is_unfaithful;
use crate::run::summary::Summary;
use crate::run::{Control, RunState};
use crate::{Error, Threads, run_into};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The result of a cell.
#[derive(Debug, Clone)]
pub struct CellRun {
    /// Its directory.
    pub directory: PathBuf,
    /// The summary; `None` if the directory already held the finished run.
    pub summary: Option<Summary>,
}

/// Number of tries of a live run until one is faithful, that is, not disturbed by the machine (specifications/live.md
/// §3).
const LIVE_TRIES: usize = 5;

/// The folder name of a cell: its labels in lower case, joined by dashes; `run` if it has no label.
#[must_use]
pub fn slug(name: &str) -> String {
    let dashed: String =
        name.to_lowercase().chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let words: Vec<_> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

/// Runs the cells into subfolders of `out`, on `threads` threads. As many cells run at a time; if there are fewer
/// cells, each gets several threads. A cell is skipped if its folder has a finished, whole run of the same inputs. All
/// cells are checked before the first one runs. `progress` gets the index of a cell and the state of its run.
///
/// # Errors
/// If a cell is wrong, two cells would share a folder, a label is not a valid folder name, a folder's contents may not
/// be replaced, another process writes into `out`, or a run fails. After a failed run, the other
/// threads still run the remaining cells.
pub fn sweep<'a>(
    cells: &[Cell],
    out: impl Into<Out<'a>>,
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, &RunState) + Sync),
) -> Result<Vec<CellRun>, Error> {
    let out = out.into();
    let directories = directories(cells, out.path)?;
    let origins = cells.iter().map(|cell| {
        let prepared = cell.document.prepare()?;
        (out.warned)(&cell.name(), &prepared.warnings)?;
        prepared.origin()
    });
    let origins = origins.collect::<Result<Vec<_>, Error>>()?;
    let _lock = Lock::of_folder(out.path)?;
    let missing = missing(&directories, &origins, Out { warned: &|_, _| Ok(()), ..out })?;
    let work = |i: usize, threads: usize| {
        let directory = directories[i].clone();
        let run = |out| {
            let control =
                Control { stop, progress: &mut |state| progress(i, state), threads: Threads::UpTo(threads) };
            run_into(cells[i].document.prepare()?, out, &cells[i].name(), control)
        };
        let mut summary = missing[i].map(run).transpose()?;
        for _ in 1..LIVE_TRIES {
            if summary.as_ref().is_none_or(Summary::is_faithful) || stop.load(Ordering::Relaxed) {
                break;
            }
            summary = missing[i].map(run).transpose()?;
        }
        Ok(CellRun { directory, summary })
    };
    // No other run may disturb a live run.
    let is_live =
        |cell: &Cell| cell.document.experiment().is_ok_and(|cell| cell.engine.kind == EngineKind::Live);
    let threads = if cells.iter().any(is_live) { 1 } else { threads };
    let runs = in_parallel(cells.len(), threads, stop, &work)?;
    Ok(runs.into_iter().flatten().collect())
}

/// The output place of each cell; `None` if the cell's results already exist. Damaged tables are made again: their
/// directory is renamed.
///
/// # Errors
/// If a folder's contents may not be replaced.
pub(crate) fn missing<'a>(
    directories: &'a [PathBuf],
    origins: &[Origin],
    out: Out<'a>,
) -> Result<Vec<Option<Out<'a>>>, Error> {
    let cell = |(path, origin): (&'a PathBuf, &Origin)| {
        let out = Out { path, ..out };
        let contents = out.contents()?;
        if contents.as_ref().is_some_and(|contents| contents.is_finished(origin)) && !is_unfaithful(path)? {
            return Ok(None);
        }
        let damaged = contents.is_some_and(|contents| contents.is_damaged(origin));
        let out = Out { force: out.force || damaged, ..out };
        out.check(origin)?;
        Ok(Some(out))
    };
    directories.iter().zip(origins).map(cell).collect()
}

/// Longest folder name of a cell in bytes. File systems allow 255, and temporary names need some of them.
const MOST_NAME: usize = 200;

/// The folder of each cell in `out`.
///
/// # Errors
/// If two cells would share one, or a label is not a valid folder name.
pub(crate) fn directories(cells: &[Cell], out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for cell in cells {
        let (label, name) = (cell.name(), slug(&cell.name()));
        // `..` would leave the folder, and hidden names are used for unfinished directories.
        if name.starts_with('.') || name.len() > MOST_NAME {
            let what = format!("the label `{label}` cannot be used as the folder name of its run");
            let hint = format!(
                "give a label that begins with a letter or a digit and has at most {MOST_NAME} bytes"
            );
            return Err(Error::Usage { what, hint });
        }
        let directory = out.join(name);
        if directories.contains(&directory) {
            let what = format!("the labels of two runs give the same folder, {}", directory.display());
            return Err(Error::Usage {
                what,
                hint: "give labels that differ in letters or digits".to_owned(),
            });
        }
        directories.push(directory);
    }
    Ok(directories)
}

/// Calls `work` with each number below `count`, on `threads` threads. As many calls run at a time; if `count` is
/// smaller, each call gets several threads, and their number is its second argument. Numbers not begun when `stop` was
/// set give `None`.
///
/// # Errors
/// If a call fails. The thread of that call then stops; other threads continue with the remaining numbers.
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
