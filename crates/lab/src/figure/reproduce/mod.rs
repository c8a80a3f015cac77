//! Reproduces figures: runs the experiments, judges the claims, draws the plots, and keeps the results.

use super::claim::Outcome;
use super::ledger::{Ledger, Moved};
use super::papers::{File, select};
use super::runs::{Data, Run};
use super::{Figure, LOOK, Look, compute::compute, draw_pictures, shipped_claims};
use crate::experiment::{Cell, Document, Problem, Value, list};
use crate::lint::Warning;
use crate::run::directory::{Lock, Origin, Out, Part};
use crate::run::records::Records;
use crate::run::{directory, kept_summary};
use crate::sweep::search::{self, Found};
use crate::sweep::{self, Elsewhere, Job, can_leave, directories, labels, replicated, slug, spread, sweep};
use crate::{Error, RunState, SizeClass};
use kept::Kept;
use raddle_records::write_file;
use raddle_schemes::registry::Registry;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The scale of a figure's runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// Small runs. Most figures take less than a minute.
    #[default]
    Quick,
    /// Runs of the paper's size.
    Full,
}

impl Scale {
    /// The name of the scale: `quick` or `full`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// The figures to reproduce, and options.
#[derive(Debug, Clone)]
pub struct Options {
    /// The schemes that figures can name.
    pub registry: Arc<Registry>,
    /// Selects the figures to reproduce by names of figures (`r2c2/fig10`), names of papers (`r2c2`) and paths of files
    /// (`mine.toml`). If empty, all embedded figures are selected.
    pub selectors: Vec<String>,
    /// If set, reproduces only figures that took at most this many seconds according to the [ledger](super::Ledger).
    pub within_s: Option<f64>,
    /// The scale of the runs.
    pub scale: Scale,
    /// The folder into which figures and the records of their runs are written.
    pub out: PathBuf,
    /// True if figures replace the contents of their folders, as in [`Out`]. Finished runs of earlier reproductions are
    /// then not copied.
    pub force: bool,
    /// Maximum number of simultaneous runs.
    pub threads: usize,
    /// True if the results are compared with the [ledger](super::Ledger).
    pub check: bool,
    /// The look of pictures. Its settings replace the settings that a figure's file gives.
    pub look: Look,
}

impl Options {
    /// The folder of a figure.
    fn folder(&self, file: &File) -> PathBuf {
        self.out.join(&file.paper).join(&file.figure)
    }

    /// The folder of a figure's runs until the figure is complete. It is beside the figure's folder, so that an
    /// interrupted reproduction can resume with the finished runs.
    fn unfinished(&self, file: &File) -> PathBuf {
        self.out.join(&file.paper).join(format!("{}.{}.unfinished", file.figure, self.scale.name()))
    }
}

/// An observer of a reproduction.
pub trait Watch: Sync {
    /// Other processes begin the runs of one or several figures. `runs` are the names of these runs. Each name begins
    /// with the name of the run's figure.
    fn begin_elsewhere(&self, runs: &[String]);
    /// The runs of a figure begin. `runs` are the names of these runs. Runs that were copied from finished runs are not
    /// among them. In a figure with a search, the search in a cell counts as one run.
    fn begin(&self, figure: &str, runs: &[String]);
    /// A run has progressed. `run` is its index among the runs that began together.
    fn progress(&self, run: usize, progress: &RunState);
    /// A run has ended. `_run` is its index among the runs that began together.
    fn ended(&self, _run: usize) {}
    /// The runs that began together have ended.
    fn end(&self);
    /// A reproduction was interrupted, or a run failed. The finished runs are in `folder`, and the next reproduction
    /// resumes from there. This is not called for searches and computations.
    fn kept(&self, folder: &Path);
    /// A directory was renamed because it holds files that Raddle did not write, or that were changed.
    fn renamed(&self, from: &Path, to: &Path);
    /// A figure is complete. It is the `_nth` of `_all` figures, counted from 1.
    ///
    /// # Errors
    /// If the observer cannot keep the figure's results. The reproduction then ends.
    fn reproduced(&self, _figure: &Reproduced, _nth: usize, _all: usize) -> Result<(), Error> {
        Ok(())
    }
    /// A run has warnings.
    fn warned(&self, _run: &str, _warnings: &[Warning]) {}
}

/// The message that tells a user where the finished runs of an interrupted reproduction are ([`Watch::kept`]).
#[must_use]
pub fn told_kept(folder: &Path) -> String {
    format!("finished runs are kept in {}; repeat the command to continue", folder.display())
}

/// The results of a reproduction.
#[derive(Debug, Clone, Default)]
pub struct Reproduction {
    /// The scale of the runs.
    pub scale: Scale,
    /// True if all figures were made; false if the reproduction was stopped.
    pub is_complete: bool,
    /// The figures, in the order in which they were made.
    pub figures: Vec<Reproduced>,
    /// Digest of all results: the digests of runs, and computed numbers.
    pub digest: u128,
    /// Figures that were left out because they are reproduced only if the user names them.
    pub left_out: Vec<String>,
    /// Runs with flows that never finished, in figures whose measures leave out such flows.
    pub unfinished: Vec<Unfinished>,
    /// The differences from the ledger, if the results were compared with it.
    pub moved: Option<Moved>,
}

impl Reproduction {
    /// The outcome of every claim, in the order of the figures.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.figures.iter().flat_map(|figure| &figure.outcomes)
    }

    /// True if the results are as expected. If they were compared with the ledger, no figure with reproducible results
    /// may differ from it. If they were not compared, no claim may fail, except for known deviations.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        match &self.moved {
            Some(moved) => moved.results.is_empty(),
            None => !self.outcomes().any(Outcome::is_unexpected),
        }
    }
}

/// The results of one figure.
#[derive(Debug, Clone)]
pub struct Reproduced {
    /// Name of the figure, with its paper: `r2c2/fig10`.
    pub name: String,
    /// The figure's title.
    pub title: String,
    /// The figure's folder.
    pub folder: PathBuf,
    /// The outcomes of the figure's claims.
    pub outcomes: Vec<Outcome>,
    /// Digest of the figure's results: the digests of runs, and computed numbers.
    pub digest: u128,
    /// True if another reproduction gives the same results: no part of the figure runs live or measures time.
    pub repeats: bool,
    /// Time in seconds that this process took to reproduce the figure, plus the times that runs of earlier processes
    /// and of other figures took when they ran.
    pub seconds: f64,
}

/// The unfinished flows of a run, without flows of the warm-up. Most measures of flows leave out unfinished flows.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// Name of the figure, followed by the run's labels.
    pub run: String,
    /// Number of unfinished flows, by class of size.
    pub flows: Vec<(&'static str, usize)>,
}

impl Unfinished {
    /// The unfinished flows of the run `name`; `None` if all its flows finished.
    fn of(name: String, records: &Records) -> Option<Self> {
        let count = |class: SizeClass| (class.name, records.unfinished(class));
        let flows = SizeClass::PARTS.map(count).to_vec();
        flows.iter().any(|&(_, count)| count > 0).then_some(Self { run: name, flows })
    }
}

/// Runs, draws and judges figures. The folder of a figure appears only when the figure is complete. If `stop` is set,
/// the result has only the figures that were complete by then. If `elsewhere` is given, other processes first do the
/// missing runs of all figures, except live runs. Live runs, searches and computations stay in this process.
///
/// # Errors
/// If a selector names no figure, a figure's file is wrong, the contents of a figure's folder may not be replaced, a run
/// fails, the other processes cannot be reached, or the observer cannot keep a figure's results.
pub fn reproduce(
    options: &Options,
    elsewhere: Option<&dyn Elsewhere>,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Reproduction, Error> {
    let kept = if options.force { Kept::default() } else { Kept::earlier(&options.out)? };
    let done = Reproduction { scale: options.scale, ..Reproduction::default() };
    let mut session = Session { options, stop, watch, kept, done, digest: 0 };
    let renamed = |from: &Path, to: &Path| watch.renamed(from, to);
    let out = Out { path: &options.out, force: options.force, renamed: &renamed, warned: &|_, _| Ok(()) };
    let (files, left_out) = chosen(options)?;
    session.done.left_out = left_out.iter().map(File::name).collect();
    for file in &files {
        Out { path: &options.folder(file), ..out }.check(&origin(file, options)?)?;
    }
    if let Some(elsewhere) = elsewhere {
        session.spread(&files, elsewhere)?;
    }
    let all = files.len();
    for (file, nth) in files.into_iter().zip(1..) {
        if stop.load(Ordering::Relaxed) {
            return Ok(session.done);
        }
        let folder = options.folder(&file);
        let part = Part::create(Out { path: &folder, ..out }, origin(&file, options)?)?;
        let mut done = match session.reproduce(&file, part.path()) {
            Err(Error::Interrupted) => return Ok(session.done),
            done => done?,
        };
        let temporary = part.path().to_owned();
        part.finish(true)?;
        session.kept.moved(&temporary, &folder);
        done.folder = folder;
        watch.reproduced(&done, nth, all)?;
        session.done.figures.push(done);
    }
    if options.check {
        let mut ledger = Ledger::builtin()?;
        ledger.judge_anew(&shipped_claims(session.done.figures.iter().map(|figure| figure.name.clone()))?);
        session.done.moved = Some(ledger.check(&session.done.figures, options.scale));
    }
    session.done.is_complete = true;
    Ok(session.done)
}

/// The figures to reproduce, and the selected figures that are left out because the user did not name them. If
/// `within_s` is set, figures that took longer or are not in the ledger are in neither list.
fn chosen(options: &Options) -> Result<(Vec<File>, Vec<File>), Error> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    let ledger = Ledger::builtin()?;
    for file in select(&options.selectors)? {
        let is_named = file.is_own() || options.selectors.contains(&file.name());
        let is_quick_enough = options.within_s.is_none_or(|most| {
            let last = ledger.last(&file.name(), options.scale.name());
            last.is_some_and(|entry| entry.seconds <= most)
        });
        if !is_quick_enough {
            continue;
        }
        let runs = is_named || !Figure::read(&document(&file, options)?)?.by_name;
        if runs { &mut files } else { &mut left_out }.push(file);
    }
    Ok((files, left_out))
}

/// The inputs of a figure: the scale, and the figure's file without its plots, its claims and the look of its pictures.
/// These are left out because plots are drawn and claims are judged anew whenever the figure is reproduced.
fn origin(file: &File, options: &Options) -> Result<Origin, Error> {
    document(file, options)?;
    let mut table: toml::Table =
        file.text.parse().map_err(|error: toml::de::Error| Error::Run(error.to_string()))?;
    table.retain(|key, _| key != "plot" && key != "claim");
    if let Some(figure) = table.get_mut("figure").and_then(toml::Value::as_table_mut) {
        figure.retain(|key, _| LOOK.find(key).is_none());
    }
    Origin::new("figure", &format!("{}\n{table}", options.scale.name()))
}

/// The figure's document at the scale of `options`.
fn document(file: &File, options: &Options) -> Result<Document, Problem> {
    let folder = file.path.parent().filter(|_| file.is_own()).unwrap_or(Path::new(""));
    let name = file.path.display().to_string();
    let document = Document::parse(&name, file.text.clone().into_owned(), folder.to_owned())?;
    let mut document = document.with_registry(&options.registry);
    let Some(scales) = document.root.get("scale").cloned() else { return Ok(document) };
    if let Value::Table(scales) = &scales.value
        && let Some(item) = scales.get(options.scale.name())
        && let Value::Table(overrides) = &item.value
    {
        for entry in &overrides.entries {
            document.root.set(&entry.key, &entry.key_at, entry.item.clone())?;
        }
    }
    Ok(document)
}

/// A reproduction under way.
struct Session<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    watch: &'a dyn Watch,
    /// The finished runs. Figures with the same experiment and inputs share a run.
    kept: Kept,
    done: Reproduction,
    /// Digest of the results of the figure that is being reproduced.
    digest: u128,
}

/// The figure that is being reproduced.
struct Current<'a> {
    /// Name of the figure, with its paper: `r2c2/fig10`.
    name: String,
    document: &'a Document,
    figure: &'a Figure,
    /// The temporary folder in which the figure is made.
    part: &'a Path,
    /// The folder of the figure's runs until the figure is complete.
    unfinished: &'a Path,
}

impl Session<'_> {
    /// Gives the missing runs of `files` to other processes. A run that several figures need is done only once. Figures
    /// with a search or a computation are left out, and so are runs that must stay in this process. The runs go into
    /// the folders of unfinished figures, where [`Self::simulate`] finds them.
    fn spread(&mut self, files: &[File], elsewhere: &dyn Elsewhere) -> Result<(), Error> {
        let renamed = |from: &Path, to: &Path| self.watch.renamed(from, to);
        let (mut runs, mut names, mut locks) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for file in files {
            let document = document(file, self.options)?;
            let figure = Figure::read(&document)?;
            if ["compute", "search"].iter().any(|table| document.root.get(table).is_some()) {
                continue;
            }
            let folder = self.options.unfinished(file);
            let cells = replicated(&document, Some(figure.seeds))?;
            let before = runs.len();
            for (cell, place) in cells.iter().zip(directories(&cells, &folder)?) {
                let origin = cell.document.prepare()?.origin()?;
                let is_missing = can_leave(cell)? && self.kept.finished(&origin)?.is_none();
                if is_missing && seen.insert(origin.inputs.clone()) {
                    names.push(format!("{}: {}", file.name(), cell.name()));
                    runs.push((cell.clone(), origin, place));
                }
            }
            if runs.len() > before {
                locks.push(Lock::of_folder(&folder, None)?);
            }
        }
        let out = Out { path: Path::new(""), force: true, renamed: &renamed, warned: &|_, _| Ok(()) };
        let jobs =
            runs.iter().map(|(cell, origin, place)| Job { cell, origin, out: Out { path: place, ..out } });
        let jobs: Vec<Job<'_>> = jobs.collect();
        self.watch.begin_elsewhere(&names);
        let mut count = 0;
        let mut ended = |job: usize| {
            count += 1;
            self.kept.add(jobs[job].origin, jobs[job].out.path.to_owned());
            self.watch.ended(job);
            Ok(())
        };
        let spread = spread(&jobs, elsewhere, &|| self.stop.load(Ordering::Relaxed), &mut ended);
        self.watch.end();
        if count > 0 && (spread.is_err() || self.stop.load(Ordering::Relaxed)) {
            self.watch.kept(&self.options.out);
        }
        spread
    }

    /// Makes the figure of `file` in the folder `part`.
    fn reproduce(&mut self, file: &File, part: &Path) -> Result<Reproduced, Error> {
        #[expect(clippy::disallowed_methods, reason = "the time that a figure takes depends on this machine")]
        let begin = Instant::now();
        self.digest = 0;
        let document = &document(file, self.options)?;
        let figure = &Figure::read(document)?;
        let claims = document.root.get("claim").map_or(Ok(&[][..]), list)?;
        for (claim, item) in figure.claims.iter().zip(claims) {
            claim.check_deviation(item, |name| file.knows(name))?;
        }
        let unfinished = &self.options.unfinished(file);
        let current = Current { name: file.name(), document, figure, part, unfinished };
        let mut shared_seconds = 0.0;
        let runs = match compute(document, self.options.threads, self.stop)? {
            Some(_) if self.stop.load(Ordering::Relaxed) => return Err(Error::Interrupted),
            Some(runs) => {
                for run in &runs {
                    // Timings differ from run to run, so the digest does not cover them.
                    if let Data::Number(number) = run.data {
                        self.mix(number.to_bits().into());
                    }
                }
                runs
            }
            None if document.root.get("search").is_some() => self.search(&current)?,
            None => self.simulate(&current, &mut shared_seconds)?,
        };
        for (claim, item) in figure.claims.iter().zip(claims) {
            claim.check(item, &runs)?;
        }
        let outcomes: Vec<Outcome> =
            figure.claims.iter().map(|claim| claim.judge(&current.name, &runs)).collect();
        let charts: Vec<_> = figure.plots.iter().map(|plot| plot.chart(&runs)).collect();
        draw_pictures(&charts, self.options.look.or(figure.look), part)?;
        let scale = self.options.scale.name();
        let claims: Vec<_> = outcomes.iter().map(|outcome| outcome.json(scale)).collect();
        let text = format!("{:#}\n", serde_json::json!({ "title": figure.title, "claims": claims }));
        write_file(&part.join(super::CLAIMS), text.as_bytes())?;
        self.take_runs(unfinished, part, &runs)?;
        let is_measured = |run: &Run| matches!(run.data, Data::Timings(_)) || run.verdict().is_some();
        Ok(Reproduced {
            name: current.name,
            title: figure.title.clone(),
            folder: part.to_owned(),
            outcomes,
            digest: self.digest,
            repeats: !runs.iter().any(is_measured),
            seconds: shared_seconds + begin.elapsed().as_secs_f64(),
        })
    }

    /// Moves the figure's runs from `unfinished` to the folder `runs` in `part`, the figure's temporary folder, and
    /// writes the labels of the runs to `part`.
    fn take_runs(&mut self, unfinished: &Path, part: &Path, runs: &[Run]) -> Result<(), Error> {
        if !unfinished.exists() {
            return Ok(());
        }
        let to = &part.join("runs");
        fs::create_dir_all(to).map_err(Error::io("create", to))?;
        let mut places = Vec::new();
        for name in runs.iter().map(|run| slug(&run.name())) {
            let from = unfinished.join(&name);
            fs::rename(&from, to.join(&name)).map_err(Error::io("rename", &from))?;
            places.push(Path::new("runs").join(name));
        }
        labels::write(part, places.iter().zip(runs).map(|(place, run)| (&**place, &run.labels)))?;
        // The folder remains if it holds runs of an earlier version of the figure.
        let _ = fs::remove_dir(unfinished);
        self.kept.moved(unfinished, to);
        Ok(())
    }

    /// Runs the search in each cell, and returns a run for each cell with the number that the search found.
    fn search(&mut self, current: &Current<'_>) -> Result<Vec<Run>, Error> {
        let cells = current.document.cells()?;
        let names: Vec<String> = cells.iter().map(Cell::name).collect();
        self.watch.begin(&current.name, &names);
        let progress = |cell: usize, progress: &RunState| self.watch.progress(cell, progress);
        let folder = current.part.join("searches");
        let found = search::sweep(&cells, &folder, self.options.threads, self.stop, &progress);
        self.watch.end();
        let found = found?;
        for found in &found {
            let digest = digest(&found.digest);
            self.mix(digest.ok_or_else(|| Error::Run(format!("`{}` is not a digest", found.digest)))?);
        }
        let run = |(cell, found): (Cell, Found)| Run { labels: cell.labels, data: Data::Number(found.value) };
        Ok(cells.into_iter().zip(found).map(run).collect())
    }

    /// Simulates the cells that are not yet simulated, and reads the records of all runs. Adds to `shared_seconds` the
    /// seconds that the other runs took when they ran.
    fn simulate(&mut self, current: &Current<'_>, shared_seconds: &mut f64) -> Result<Vec<Run>, Error> {
        let cells = replicated(current.document, Some(current.figure.seeds))?;
        let folder = current.unfinished;
        let places = directories(&cells, folder)?;
        let mut missing = Vec::new();
        let mut origins = Vec::new();
        for (cell, place) in cells.iter().zip(&places) {
            let origin = cell.document.prepare()?.origin()?;
            match self.kept.share(&origin, place)? {
                Some(seconds) => *shared_seconds += seconds,
                None => missing.push(cell.clone()),
            }
            origins.push(origin);
        }
        let names: Vec<String> = missing.iter().map(Cell::name).collect();
        self.watch.begin(&current.name, &names);
        let progress = |run: usize, progress: &RunState| self.watch.progress(run, progress);
        let renamed = |from: &Path, to: &Path| self.watch.renamed(from, to);
        let warned = |run: &str, warnings: &[Warning]| {
            self.watch.warned(run, warnings);
            Ok(())
        };
        // The folder may hold runs of an earlier version of the figure, which `force` replaces.
        let out = Out { path: folder, force: true, renamed: &renamed, warned: &warned };
        let control = sweep::Control {
            threads: self.options.threads,
            stop: self.stop,
            fail_fast: false,
            shard: None,
            elsewhere: None,
            progress: &progress,
            ended: &|run, _| self.watch.ended(run),
        };
        let swept = sweep(&missing, out, &control);
        self.watch.end();
        if swept.is_err() || self.stop.load(Ordering::Relaxed) {
            self.watch.kept(folder);
        }
        swept?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let mut runs = Vec::new();
        for ((cell, run), origin) in cells.iter().zip(places).zip(origins) {
            self.mix(digest_of_run(&run)?);
            let records = Records::read(&run, current.figure.warm_up)?;
            if current.figure.is_of_finished_flows() {
                let name = format!("{}: {}", current.name, cell.name());
                self.done.unfinished.extend(Unfinished::of(name, &records));
            }
            self.kept.add(&origin, run);
            runs.push(Run { labels: cell.labels.clone(), data: Data::Records(records) });
        }
        Ok(runs)
    }

    /// Mixes a digest into the digest of the figure and into the digest of all results. Both digests depend on the
    /// order of calls.
    fn mix(&mut self, next: u128) {
        for digest in [&mut self.digest, &mut self.done.digest] {
            *digest = digest.rotate_left(41).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) ^ next;
        }
    }
}

/// The digest in the summary of a run.
fn digest_of_run(run: &Path) -> Result<u128, Error> {
    let summary = kept_summary::read(run)?;
    let why = "the digest is not 32 hexadecimal digits";
    let damaged = || kept_summary::not_a_run(&run.join(directory::SUMMARY), why);
    summary["digest"].as_str().and_then(digest).ok_or_else(damaged)
}

/// Parses a digest; `None` if the text is not 32 hexadecimal digits.
fn digest(text: &str) -> Option<u128> {
    if text.len() != 32 {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

mod kept;
mod shown;
#[cfg(test)]
mod tests;
