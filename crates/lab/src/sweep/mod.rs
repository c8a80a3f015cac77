//! Runs every cell of a sweep, several at a time, each into its own directory.

pub(crate) mod columns;
mod elsewhere;
pub(crate) mod labels;
mod refused;
pub(crate) mod replicas;
mod results;
pub mod search;
mod shard;

#[cfg(test)]
pub(crate) use elsewhere::tests::OtherDirectories;
pub use elsewhere::{Elsewhere, Files, do_task};
pub(crate) use elsewhere::{Job, can_leave, spread};
pub use refused::Refused;
pub(crate) use results::FOLDER;
pub use results::Results;
pub use shard::Shard;

use crate::experiment::{Cell, Document, EngineKind, Problem, read_all};
use crate::figure::{self, SEED};
use crate::run::directory::{Lock, Origin, Out};
use crate::run::records::is_unfaithful;
use crate::run::summary::Summary;
use crate::run::{self, RunState, kept_summary};
use crate::{Error, Threads, run_into};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The way in which a cell of a sweep ended.
#[derive(Debug, Clone)]
pub enum CellEnd {
    /// The cell has results. They are partial if the run was stopped.
    Ran(Box<CellRun>),
    /// The cell cannot run, because its settings do not fit together.
    Refused(Problem),
}

impl CellEnd {
    /// True if the cell's run was stopped before its end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::Ran(run) => run.summary.as_ref().is_some_and(|summary| !summary.is_complete()),
            Self::Refused(_) => false,
        }
    }
}

/// The results of a cell.
#[derive(Debug, Clone)]
pub struct CellRun {
    /// The directory of the cell.
    pub directory: PathBuf,
    /// The summary; `None` if this process did not do the run.
    pub summary: Option<Summary>,
    /// True if the directory already held the finished run.
    pub was_there: bool,
}

/// Maximum number of tries of a live run. A run is tried again until it is faithful, that is, not disturbed by the
/// machine (specifications/live.md §3).
const LIVE_TRIES: usize = 5;

/// The folder name of a cell: the cell's `name` in lower case. Characters other than letters, digits and dots become
/// dashes, and neighboring dashes become one. Dashes at the beginning and at the end are removed. If nothing remains,
/// the folder name is `run`.
#[must_use]
pub fn slug(name: &str) -> String {
    let dashed: String =
        name.to_lowercase().chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let words: Vec<_> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

/// The settings with which a sweep runs.
pub struct Control<'a> {
    /// Maximum number of threads. Up to this number of cells run at the same time. If there are fewer cells, the
    /// threads are divided equally among them. If a cell is a live run, the cells run one after the other, each on one
    /// thread, but a live run still has its own polling threads.
    pub threads: usize,
    /// The runs stop early if this flag is set.
    pub stop: &'a AtomicBool,
    /// True if no further cell begins after a cell has failed, and no cell begins if one of them cannot run.
    pub fail_fast: bool,
    /// The shard to which these cells belong, if other processes run the other shards into the same folder.
    pub shard: Option<Shard>,
    /// The other processes that do the runs, if there are any. Live runs stay in this process.
    pub elsewhere: Option<&'a dyn Elsewhere>,
    /// Called repeatedly with the index of a cell and the state of its run.
    pub progress: &'a (dyn Fn(usize, &RunState) + Sync),
    /// Called when a cell has ended, with the index of the cell and how it ended. Not called if no cell can run, or if
    /// `fail_fast` is true and one of the cells cannot run.
    pub ended: &'a (dyn Fn(usize, &CellEnd) + Sync),
}

/// Runs the cells into subfolders of `out`. A cell is skipped if its folder has a finished and undamaged run of the
/// same inputs, except for a live run that was not faithful. All cells are checked before the first one runs, and those
/// whose settings do not fit together are refused. The result has an entry for each cell, which is `None` if the cell
/// did not begin.
///
/// # Errors
/// - If the experiment's file is wrong, or no cell can run.
/// - If two cells would share a folder, or a label is not a valid folder name.
/// - If `out` holds results that are not a sweep, a folder's contents may not be replaced, or another process writes
///   into `out`.
/// - If a run is refused because of its warnings, or fails.
///
/// After an error of a run, the other threads still run the remaining cells, unless the sweep is to fail fast.
pub fn sweep<'a>(
    cells: &[Cell],
    out: impl Into<Out<'a>>,
    control: &Control<'_>,
) -> Result<Vec<Option<CellEnd>>, Error> {
    let out = out.into();
    let directories = directories(cells, out.path)?;
    if let Some(kind) = out.kind() {
        let what = format!("{} holds a {kind}, and a sweep needs a folder of its own", out.path.display());
        return Err(Error::Usage { what, hint: "choose another --out".to_owned() });
    }
    if let Some(cell) = cells.first() {
        figure::check_plots(&cell.document)?; // All cells have the plots of their file.
    }
    read_all(cells)?;
    let mut ends: Vec<Option<CellEnd>> = vec![None; cells.len()];
    let mut fitting = Vec::new();
    for (i, (cell, directory)) in cells.iter().zip(directories).enumerate() {
        match cell.document.prepare() {
            Ok(prepared) => {
                (out.warned)(&cell.name(), &prepared.warnings)?;
                fitting.push(Fitting { number: i, cell, directory, origin: prepared.origin()? });
            }
            Err(problem) => {
                ends[i] = Some(CellEnd::Refused(problem));
                if control.fail_fast {
                    return Ok(ends);
                }
            }
        }
    }
    if fitting.is_empty()
        && let Some(Some(CellEnd::Refused(problem))) = ends.first()
    {
        return Err(problem.clone().into());
    }
    for (i, end) in ends.iter().enumerate() {
        end.iter().for_each(|end| (control.ended)(i, end));
    }
    for (end, cell) in run_all(&fitting, out, control)?.into_iter().zip(&fitting) {
        ends[cell.number] = end;
    }
    Ok(ends)
}

/// A cell whose settings fit together.
struct Fitting<'a> {
    /// The index of the cell in the sweep.
    number: usize,
    cell: &'a Cell,
    directory: PathBuf,
    origin: Origin,
}

/// Runs the cells. The result has an entry for each cell, which is `None` if the cell did not begin.
fn run_all(
    cells: &[Fitting<'_>],
    out: Out<'_>,
    control: &Control<'_>,
) -> Result<Vec<Option<CellEnd>>, Error> {
    let _lock = Lock::of_folder(out.path, control.shard)?;
    let places = cells.iter().map(|cell| (&*cell.directory, &cell.origin));
    let missing = missing(places, Out { warned: &|_, _| Ok(()), ..out })?;
    let Control { stop, fail_fast, .. } = *control;
    let failed = AtomicBool::new(false);
    let is_over = || stop.load(Ordering::Relaxed) || fail_fast && failed.load(Ordering::Relaxed);
    let mut elsewhere: Vec<Option<CellEnd>> = vec![None; cells.len()];
    if let Some(others) = control.elsewhere {
        let (mut jobs, mut numbers) = (Vec::new(), Vec::new());
        for (i, out) in missing.iter().enumerate() {
            if let Some(out) = *out
                && can_leave(cells[i].cell)?
            {
                jobs.push(Job { cell: cells[i].cell, origin: &cells[i].origin, out });
                numbers.push(i);
            }
        }
        let mut ended = |job: usize| {
            let i = numbers[job];
            let is_failure = !kept_summary::read(&cells[i].directory)?["error"].is_null();
            failed.fetch_or(is_failure, Ordering::Relaxed);
            let directory = cells[i].directory.clone();
            let end = CellEnd::Ran(Box::new(CellRun { directory, summary: None, was_there: false }));
            (control.ended)(cells[i].number, &end);
            elsewhere[i] = Some(end);
            Ok(())
        };
        spread(&jobs, others, &is_over, &mut ended)?;
    }
    let run = |i: usize, threads: usize| -> Result<CellRun, Error> {
        let Fitting { number, cell, ref directory, .. } = cells[i];
        let run = |out| {
            let progress = &mut |state: &RunState| (control.progress)(number, state);
            let control = run::Control { stop, progress, threads: Threads::UpTo(threads) };
            run_into(cell.document.prepare()?, out, &cell.name(), control)
        };
        let mut summary = missing[i].map(run).transpose()?;
        for _ in 1..LIVE_TRIES {
            if summary.as_ref().is_none_or(Summary::is_faithful) || stop.load(Ordering::Relaxed) {
                break;
            }
            summary = missing[i].map(run).transpose()?;
        }
        Ok(CellRun { directory: directory.clone(), summary, was_there: missing[i].is_none() })
    };
    let work = |i: usize, threads: usize| {
        if let Some(end) = &elsewhere[i] {
            return Ok(Some(end.clone()));
        }
        let run = match run(i, threads) {
            // A run that is stopped while it is set up has not begun.
            Err(Error::Interrupted) => return Ok(None),
            run => run.inspect_err(|_| failed.store(true, Ordering::Relaxed))?,
        };
        let is_failure = run.summary.as_ref().is_some_and(|summary| summary.failure().is_some());
        failed.fetch_or(is_failure, Ordering::Relaxed);
        let end = CellEnd::Ran(Box::new(run));
        (control.ended)(cells[i].number, &end);
        Ok(Some(end))
    };
    // A live run has the machine to itself, because other runs would disturb it.
    let is_live = |cell: &Fitting<'_>| {
        cell.cell.document.experiment().is_ok_and(|cell| cell.engine.kind == EngineKind::Live)
    };
    let threads = if cells.iter().any(is_live) { 1 } else { control.threads };
    let runs = in_parallel(cells.len(), threads, &is_over, &work)?;
    // If the sweep ended early, other processes may have done the runs of cells whose work has not begun here.
    Ok(runs.into_iter().zip(elsewhere).map(|(run, elsewhere)| run.flatten().or(elsewhere)).collect())
}

/// The cells of a document, each with several seeds: the cell's own seed and the numbers that follow it. The seeds
/// become the labels of an additional sweep `seed`. With one seed, the cells stay as they are. If `seeds` is `None`,
/// the key `seeds` of `[figure]` gives the number of seeds.
///
/// # Errors
/// If a sweep, a cell's `[engine]` or the key `seeds` is wrong, or the cells already belong to a sweep `seed`.
pub fn replicated(document: &Document, seeds: Option<u64>) -> Result<Vec<Cell>, Error> {
    let cells = document.cells()?;
    let seeds = seeds.map_or_else(|| figure::seeds(document), Ok)?;
    if seeds == 1 {
        return Ok(cells);
    }
    if cells.iter().any(|cell| cell.labels.iter().any(|(sweep, _)| sweep == SEED)) {
        let what = "the experiment already has a sweep called `seed`".to_owned();
        return Err(Error::Usage {
            what,
            hint: "leave out either the sweep `seed` or the number of seeds".to_owned(),
        });
    }
    let mut all = Vec::new();
    for cell in cells {
        let first = cell.document.seed()?;
        for seed in (0..seeds).map(|i| first.wrapping_add(i)) {
            let mut replica = cell.clone();
            replica.document = replica.document.with_overrides([format!("engine.seed={seed}").as_str()])?;
            replica.labels.push((SEED.to_owned(), format!("seed {seed}")));
            all.push(replica);
        }
    }
    Ok(all)
}

/// For each cell: the place to which its results are to be written, or `None` if the results already exist. A cell is
/// given by its directory and its origin. If only tables or captures of the earlier results have changed, the cell runs
/// again and the old directory is renamed. A live run that was not faithful runs again, too.
///
/// # Errors
/// If a folder's contents may not be replaced.
pub(crate) fn missing<'a>(
    cells: impl Iterator<Item = (&'a Path, &'a Origin)>,
    out: Out<'a>,
) -> Result<Vec<Option<Out<'a>>>, Error> {
    let cell = |(path, origin)| {
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
    cells.map(cell).collect()
}

/// Maximum length of a cell's folder name, in bytes. File systems allow 255 bytes, and temporary names are longer.
const MOST_NAME: usize = 200;

/// The folder of each cell in `out`.
///
/// # Errors
/// If two cells would share a folder, or a label is not a valid folder name.
pub(crate) fn directories(cells: &[Cell], out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for cell in cells {
        let (label, name) = (cell.name(), slug(&cell.name()));
        // `..` would leave the folder, and hidden names are used for unfinished directories.
        if name.starts_with('.') || name.len() > MOST_NAME {
            let what = format!("the label `{label}` cannot be the folder name of a run");
            let hint = format!(
                "give a label that begins with a letter or a digit and has at most {MOST_NAME} bytes"
            );
            return Err(Error::Usage { what, hint });
        }
        let directory = out.join(name);
        if directories.contains(&directory) {
            let what = format!(
                "two runs would share the folder {}, because their labels are too similar",
                directory.display()
            );
            return Err(Error::Usage {
                what,
                hint: "give labels that differ in letters or digits".to_owned(),
            });
        }
        directories.push(directory);
    }
    Ok(directories)
}

/// Calls `work` with each number below `count`, on `threads` threads. If `count` is smaller than `threads`, the threads
/// are divided equally among the calls, rounded down. The second argument of `work` is the number of threads for the
/// call. The result has an entry for each number. It is `None` if the call had not begun when `is_over` became true.
///
/// # Errors
/// If a call fails. The thread of that call then stops. Other threads continue with the remaining numbers.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    is_over: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(usize, usize) -> Result<T, Error> + Sync),
) -> Result<Vec<Option<T>>, Error> {
    let workers = threads.clamp(1, count.max(1));
    let each = threads.max(1) / workers;
    let next = AtomicUsize::new(0);
    let done = Mutex::new((0..count).map(|_| None).collect::<Vec<_>>());
    let worker = || -> Result<(), Error> {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count || is_over() {
                return Ok(());
            }
            let result = work(i, each)?;
            done.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(|worker| worker.join().expect("a worker must not panic"));
        results.collect::<Vec<_>>().into_iter().collect::<Result<(), Error>>()
    })?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}
