//! Reproducing figures: run, measure, judge, draw, keep.

use super::claim::Outcome;
use super::papers::{File, select};
use super::runs::{Data, Run, SEED};
use super::{Figure, compute::compute};
use crate::experiment::{Cell, Document, Problem, Value, list};
use crate::figure::draw::draw;
use crate::run::directory;
use crate::run::directory::{Origin, Out, Part};
use crate::run::records::Records;
use crate::sweep::search::{self, Found};
use crate::sweep::{directories, sweep};
use crate::{Error, RunState, SizeClass};
use raddle_records::{PartFile, write_file};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// How large a figure's runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// About a minute.
    Quick,
    /// The paper's size.
    Full,
}

impl Scale {
    /// `quick` or `full`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// What to reproduce and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// A figure (`r2c2/fig10`), a paper (`r2c2`), the file of a figure (`mine.toml`), or everything.
    pub selector: Option<String>,
    /// How large.
    pub scale: Scale,
    /// Where figures and records go.
    pub out: PathBuf,
    /// Whether figures replace whatever their folders hold, as in [`Out`].
    pub force: bool,
    /// Runs at a time.
    pub threads: usize,
}

impl Options {
    /// Where a figure goes.
    fn folder(&self, file: &File) -> PathBuf {
        self.out.join(&file.paper).join(&file.figure)
    }
}

/// Whoever follows a reproduction.
pub trait Watch: Sync {
    /// A figure begins, with runs of these names.
    fn begin(&self, figure: &str, runs: &[String]);
    /// A run of the figure is so far.
    fn progress(&self, run: usize, progress: &RunState);
    /// The figure is done.
    fn end(&self);
    /// A directory that holds something else than a figure's results was renamed.
    fn renamed(&self, from: &Path, to: &Path);
}

/// What a reproduction amounts to.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Every claim, in the order of the figures.
    pub outcomes: Vec<Outcome>,
    /// Of all results: runs' digests and computed numbers.
    pub digest: u128,
    /// The folder of each figure.
    pub folders: Vec<PathBuf>,
    /// Runs in which flows never finished, of figures that miss these.
    pub unfinished: Vec<Unfinished>,
}

/// Flows of a run that never finished, warm-up aside: no measure but a count of them knows of these.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// Paper and figure, and the run's labels.
    pub run: String,
    /// How many, by class of size.
    pub flows: Vec<(&'static str, usize)>,
}

impl Unfinished {
    /// Of a run called `name`; `None` if all its flows finished.
    fn of(name: String, records: &Records) -> Option<Self> {
        let count = |class: SizeClass| (class.name, records.unfinished(class));
        let flows = SizeClass::PARTS.map(count).to_vec();
        flows.iter().any(|&(_, count)| count > 0).then_some(Self { run: name, flows })
    }
}

/// Runs, draws and judges figures. A figure's folder is there only when it is whole.
///
/// # Errors
/// If the selector names nothing, a figure's file is wrong, what a figure's folder holds may not be replaced, or a run
/// fails or is stopped.
pub fn reproduce(options: &Options, stop: &AtomicBool, watch: &dyn Watch) -> Result<Reproduction, Error> {
    let mut all =
        Reproduction { outcomes: Vec::new(), digest: 0, folders: Vec::new(), unfinished: Vec::new() };
    // Figures that share an experiment and its inputs share its run.
    let mut kept: BTreeMap<String, PathBuf> = BTreeMap::new();
    let renamed = |from: &Path, to: &Path| watch.renamed(from, to);
    let out = Out { path: &options.out, force: options.force, renamed: &renamed };
    let files = select(options.selector.as_deref())?;
    for file in &files {
        Out { path: &options.folder(file), ..out }.check(&origin(file, options.scale)?)?;
    }
    for file in files {
        let folder = options.folder(&file);
        let part = Part::create(Out { path: &folder, ..out }, origin(&file, options.scale)?)?;
        one(&file, options, part.path(), &mut kept, stop, watch, &mut all)?;
        let temporary = part.path().to_owned();
        part.finish(true)?;
        for path in kept.values_mut() {
            if let Ok(rest) = path.strip_prefix(&temporary) {
                *path = folder.join(rest);
            }
        }
        all.folders.push(folder);
    }
    Ok(all)
}

/// What a figure is made from: its file at a scale. Plots and claims are made anew from the records of runs.
fn origin(file: &File, scale: Scale) -> Result<Origin, Error> {
    document(file, scale)?;
    let mut table: toml::Table =
        file.text.parse().map_err(|error: toml::de::Error| Error::Run(error.to_string()))?;
    table.retain(|key, _| key != "plot" && key != "claim");
    Origin::new("figure", &format!("{}\n{table}", scale.name()), &[])
}

/// The figure's document at a scale.
fn document(file: &File, scale: Scale) -> Result<Document, Problem> {
    let folder = file.path.parent().filter(|_| file.is_own()).unwrap_or(Path::new(""));
    let name = file.path.display().to_string();
    let mut document = Document::parse(&name, file.text.clone().into_owned(), folder.to_owned())?;
    let Some(scales) = document.root.get("scale").cloned() else { return Ok(document) };
    if let Value::Table(scales) = &scales.value
        && let Some(item) = scales.get(scale.name())
        && let Value::Table(overrides) = &item.value
    {
        for entry in &overrides.entries {
            document.root.set(&entry.key, &entry.key_at, entry.item.clone())?;
        }
    }
    Ok(document)
}

fn one(
    file: &File,
    options: &Options,
    part: &Path,
    kept: &mut BTreeMap<String, PathBuf>,
    stop: &AtomicBool,
    watch: &dyn Watch,
    all: &mut Reproduction,
) -> Result<(), Error> {
    let document = document(file, options.scale)?;
    let figure = Figure::read(&document)?;
    let claims = document.root.get("claim").map_or(Ok(&[][..]), list)?;
    for (claim, item) in figure.claims.iter().zip(claims) {
        claim.check_deviation(item, |name| file.knows(name))?;
    }
    let runs = match compute(&document, options.threads)? {
        Some(runs) => {
            for run in &runs {
                // Timings differ from run to run, so they have no place in a digest.
                if let Data::Number(number) = run.data {
                    all.digest = mixed(all.digest, number.to_bits().into());
                }
            }
            runs
        }
        None if document.root.get("search").is_some() => {
            searched(&file.name(), &document, options, part, stop, watch, all)?
        }
        None => simulated(&file.name(), &document, &figure, options, part, kept, stop, watch, all)?,
    };
    for (claim, item) in figure.claims.iter().zip(claims) {
        claim.check(item, &runs)?;
    }
    let outcomes: Vec<Outcome> = figure.claims.iter().map(|claim| claim.judge(&file.name(), &runs)).collect();
    let charts: Vec<_> = figure.plots.iter().map(|plot| plot.chart(&runs)).collect();
    for name in ["figure.svg", "figure.png"] {
        draw(&charts, &part.join(name))?;
    }
    let claims: Vec<_> = outcomes.iter().map(|outcome| outcome.json(options.scale.name())).collect();
    let path = part.join("claims.json");
    let text = format!("{:#}\n", serde_json::json!({ "title": figure.title, "claims": claims }));
    write_file(&path, text.as_bytes())?;
    all.outcomes.extend(outcomes);
    Ok(())
}

/// What the search in each cell found, a number each.
fn searched(
    name: &str,
    document: &Document,
    options: &Options,
    part: &Path,
    stop: &AtomicBool,
    watch: &dyn Watch,
    all: &mut Reproduction,
) -> Result<Vec<Run>, Error> {
    let cells = document.cells()?;
    let names: Vec<String> = cells.iter().map(Cell::name).collect();
    watch.begin(name, &names);
    let progress = |cell: usize, progress: &RunState| watch.progress(cell, progress);
    let found = search::sweep(&cells, &part.join("searches"), options.threads, stop, &progress);
    watch.end();
    let found = found?;
    for found in &found {
        all.digest = mixed(all.digest, u128::from_str_radix(&found.digest, 16).unwrap_or(0));
    }
    let run = |(cell, found): (Cell, Found)| Run { labels: cell.labels, data: Data::Number(found.value) };
    Ok(cells.into_iter().zip(found).map(run).collect())
}

#[expect(clippy::too_many_arguments, reason = "one step of `one`, on all that it has")]
fn simulated(
    name: &str,
    document: &Document,
    figure: &Figure,
    options: &Options,
    part: &Path,
    kept: &mut BTreeMap<String, PathBuf>,
    stop: &AtomicBool,
    watch: &dyn Watch,
    all: &mut Reproduction,
) -> Result<Vec<Run>, Error> {
    let cells = replicated(document.cells()?, figure.seeds)?;
    let folder = part.join("runs");
    let places = directories(&cells, &folder)?;
    let mut missing = Vec::new();
    let mut origins = Vec::new();
    for (cell, place) in cells.iter().zip(&places) {
        let inputs = cell.document.prepare()?.origin()?.inputs;
        match kept.get(&inputs) {
            Some(run) => copy(run, place)?,
            None => missing.push(cell.clone()),
        }
        origins.push(inputs);
    }
    let names: Vec<String> = missing.iter().map(Cell::name).collect();
    watch.begin(name, &names);
    let done =
        sweep(&missing, &folder, options.threads, stop, &|run, progress| watch.progress(run, progress));
    watch.end();
    done?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let mut runs = Vec::new();
    for ((cell, run), inputs) in cells.iter().zip(places).zip(origins) {
        let summary = run.join(directory::SUMMARY);
        let text = fs::read_to_string(&summary).map_err(Error::io("read", &summary))?;
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let digest = summary["digest"].as_str().and_then(|hex| u128::from_str_radix(hex, 16).ok());
        all.digest = mixed(all.digest, digest.unwrap_or(0));
        let records = Records::read(&run, figure.warm_up)?;
        if figure.is_of_finished_flows() {
            all.unfinished.extend(Unfinished::of(format!("{name}: {}", cell.name()), &records));
        }
        kept.insert(inputs, run);
        runs.push(Run { labels: cell.labels.clone(), data: Data::Records(records) });
    }
    Ok(runs)
}

/// Every cell once a seed: its own seed and those that follow.
fn replicated(cells: Vec<Cell>, seeds: u64) -> Result<Vec<Cell>, Problem> {
    if seeds == 1 {
        return Ok(cells);
    }
    let mut all = Vec::new();
    for cell in cells {
        let first = cell.document.experiment()?.engine.seed;
        for seed in (0..seeds).map(|i| first.wrapping_add(i)) {
            let mut replica = cell.clone();
            replica.document = replica.document.with_overrides([format!("engine.seed={seed}").as_str()])?;
            replica.labels.push((SEED.to_owned(), format!("seed {seed}")));
            all.push(replica);
        }
    }
    Ok(all)
}

/// One digest of many, which depends on their order.
fn mixed(digest: u128, next: u128) -> u128 {
    digest.rotate_left(41).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) ^ next
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("read", from))? {
        let entry = entry.map_err(Error::io("read", from))?;
        let target = to.join(entry.file_name());
        let mut original = fs::File::open(entry.path()).map_err(Error::io("read", &entry.path()))?;
        let part = PartFile::create(&target)?;
        io::copy(&mut original, &mut part.file()).map_err(Error::io("write", &target))?;
        part.finish()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
