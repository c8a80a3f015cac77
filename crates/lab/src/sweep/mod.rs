//! Running every cell of a sweep, several at a time, each into a directory of its own.

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

/// What became of a cell.
#[derive(Debug, Clone)]
pub struct CellRun {
    /// Its directory.
    pub directory: PathBuf,
    /// What it amounts to; `None` if the directory held the finished run already.
    pub summary: Option<Summary>,
}

/// How often a live run is tried until the machine leaves it alone (specs/live.md §3).
const LIVE_TRIES: usize = 5;

/// The folder name of a cell: its labels in small letters, joined by dashes; `run` of one without any.
#[must_use]
pub fn slug(name: &str) -> String {
    let dashed: String =
        name.to_lowercase().chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let words: Vec<_> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

/// Runs the cells into folders of `out`, on `threads` threads: as many cells at a time, or if there are fewer, several
/// threads for each. Leaves out those whose run is there, finished, whole, and made from the same inputs. All are checked
/// before the first one runs. `progress` is told which cell is how far.
///
/// # Errors
/// If a cell is wrong, two cells would share a folder, a label makes no folder name, a folder holds something that may not
/// be replaced, another process writes into `out`, or a run fails; the others still end.
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
    // Nothing else runs beside a live run.
    let is_live =
        |cell: &Cell| cell.document.experiment().is_ok_and(|cell| cell.engine.kind == EngineKind::Live);
    let threads = if cells.iter().any(is_live) { 1 } else { threads };
    let runs = in_parallel(cells.len(), threads, stop, &work)?;
    Ok(runs.into_iter().flatten().collect())
}

/// Where the cells' results go that are not there yet; `None` for a cell whose results are. Damaged tables are made again:
/// the directory that holds them is renamed.
///
/// # Errors
/// If a folder holds something that may not be replaced.
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

/// Most bytes of a cell's folder name: file systems allow 255, of which temporary names take some.
const MOST_NAME: usize = 200;

/// The folder of each cell in `out`.
///
/// # Errors
/// If two cells would share one, or a label makes no name of a folder in `out`.
pub(crate) fn directories(cells: &[Cell], out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for cell in cells {
        let (label, name) = (cell.name(), slug(&cell.name()));
        // `..` would leave the folder, and hidden names are those of directories in the making.
        if name.starts_with('.') || name.len() > MOST_NAME {
            let what = format!("the label `{label}` makes no folder name for its run");
            let hint = format!("begin it with a letter or a digit, and give it at most {MOST_NAME} bytes");
            return Err(Error::Usage { what, hint });
        }
        let directory = out.join(name);
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
