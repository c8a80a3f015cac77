//! Experiments: their texts, runs and sweeps.

use crate::attend::attend;
use crate::error::{exception, of_problem};
use crate::notes::Notes;
use crate::routing::{Definition, registry};
use crate::spread::Spread;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyMapping, PyString};
use raddle_lab::analysis::agree;
use raddle_lab::experiment::{self, Cell, read_all};
use raddle_lab::sweep::{self, CellEnd, Elsewhere, Refused, Results, Shard};
use raddle_lab::{Control, Error, Out, RunState, Threads, run_into};
use raddle_records::write_file;
use raddle_topology::io::write_node_link;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The text of an experiment with overrides.
#[pyclass(frozen, module = "raddle._raddle")]
pub(crate) struct Document(experiment::Document);

#[pymethods]
impl Document {
    /// Parses `text` and applies `overrides` to it. The text can select `routings` by their names. Error messages call
    /// the text `name`. If `name` is empty, the messages give the keys of wrong values instead of their lines. Paths in
    /// the text are relative to `folder`.
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        text: String,
        folder: PathBuf,
        overrides: Vec<String>,
        routings: Vec<Definition>,
    ) -> PyResult<Self> {
        let registry = Arc::new(registry(py, routings)?);
        let document = experiment::Document::parse(name, text, folder);
        let document = document.map(|document| document.with_registry(&registry));
        let document =
            document.and_then(|document| document.with_overrides(overrides.iter().map(String::as_str)));
        document.map(Self).map_err(|problem| of_problem(py, problem))
    }

    /// Checks the values of each cell. Settings of a cell that do not fit together are an error only if every cell has
    /// such settings.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let checked = py.detach(|| read_all(&self.0.cells()?));
        checked.map_err(|problem| of_problem(py, problem))
    }

    /// The experiment with all defaults, as a JSON text.
    fn resolved(&self, py: Python<'_>) -> PyResult<String> {
        let experiment = self.0.experiment().map_err(|problem| of_problem(py, problem))?;
        serde_json::to_string(&experiment.resolved).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Runs the experiment, and writes its results into the folder `out`. Returns whether Ctrl-C stopped the run.
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        title: &str,
        force: bool,
        threads: Option<usize>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let notes = Notes::default();
        let (ran, interrupted) = attend(py, watch.as_ref(), |stop, news| {
            self.0.refuse_sweep(&["run".to_owned(), "FILE".to_owned()])?;
            let (renamed, warned) = (|from: &Path, to: &Path| notes.renamed(from, to), notes.warned());
            let out = Out { path: &out, force, renamed: &renamed, warned: &warned };
            let progress = &mut |state: &RunState| news.progress(0, state);
            let control = Control { stop, progress, threads: Threads::UpTo(threads.unwrap_or_else(cores)) };
            run_into(self.0.prepare()?, out, title, control)
        })?;
        notes.tell(py)?;
        let summary = ran.map_err(|error: Error| exception(py, &error))?;
        match summary.failure() {
            Some(failure) if !interrupted => Err(exception(py, &failure)),
            _ => Ok(interrupted),
        }
    }

    /// Runs the experiment on exactly this many threads, if the fabric can be divided among them. Returns the digest of
    /// the records, but does not keep the records. Tests need this function, because [`run`](Self::run) uses several
    /// threads only where they are faster.
    fn digest(&self, py: Python<'_>, threads: usize) -> PyResult<String> {
        let (ran, _) = attend(py, None, |stop, _| {
            let control = Control { stop, progress: &mut |_| (), threads: Threads::Always(threads) };
            raddle_lab::run::run(self.0.prepare()?, &mut |_| Ok(()), control)
        })?;
        let outcome = ran.map_err(|error: Error| exception(py, &error))?;
        Ok(outcome.digest.to_string())
    }

    /// Runs the experiment in the packet engine and in the flow engine. Returns the comparison of the results as a
    /// text and a JSON text, whether the results agree, and whether Ctrl-C stopped the runs.
    fn agree(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<(String, String, bool, bool)> {
        let (agreement, interrupted) = attend(py, watch.as_ref(), |stop, news| {
            self.0.refuse_sweep(&["agree".to_owned(), "FILE".to_owned()])?;
            let progress = &mut |run: usize, state: &RunState| news.progress(run, state);
            agree::agree(&self.0, threads.unwrap_or_else(cores), stop, progress)
        })?;
        let agreement = agreement.map_err(|error: Error| exception(py, &error))?;
        Ok((agreement.to_string(), agreement.json().to_string(), agreement.holds(), interrupted))
    }

    /// The topology as NetworkX's node-link JSON.
    fn node_link(&self, py: Python<'_>) -> PyResult<String> {
        let topology = self.0.topology().map_err(|problem| of_problem(py, problem))?;
        write_node_link(&topology).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The names of the sweep's cells, with `seeds` replicas of each cell. If `seeds` is `None`, the key `seeds` of
    /// `[figure]` gives the number of replicas.
    fn cells(&self, py: Python<'_>, seeds: Option<u64>) -> PyResult<Vec<String>> {
        let cells = sweep::replicated(&self.0, seeds).map_err(|error| exception(py, &error))?;
        Ok(cells.iter().map(Cell::name).collect())
    }

    /// Runs the cells of a sweep, or of one shard `(index, count)` of it; `index` counts from 1. The results go into
    /// subfolders of `out`. If `spread` is given, it does the runs in other processes ([`Spread`]). Returns four
    /// values:
    /// - the folder of each cell, or `None` for a cell without results,
    /// - the name and the exception of each cell that cannot run,
    /// - the results of the cells as a text and a JSON text; `None` for a shard, if no cell has results, or if the
    ///   sweep ended early for another reason than Ctrl-C,
    /// - whether Ctrl-C stopped the sweep.
    #[expect(
        clippy::too_many_arguments,
        reason = "users pass the arguments by name to the Python method that calls this one"
    )]
    #[expect(clippy::type_complexity, reason = "PyO3 converts a Rust tuple to a Python tuple")]
    fn sweep(
        &self,
        py: Python<'_>,
        out: PathBuf,
        seeds: Option<u64>,
        shard: Option<(usize, usize)>,
        fail_fast: bool,
        force: bool,
        threads: Option<usize>,
        spread: Option<Py<PyAny>>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<(Vec<Option<PathBuf>>, Vec<(String, PyErr)>, Option<(String, String)>, bool)> {
        let shard = shard.map(|(index, count)| {
            let what = format!(
                "the index of a shard must be from 1 to the number of shards (got {index} of {count})"
            );
            Shard::new(index, count).ok_or_else(|| PyValueError::new_err(what))
        });
        let shard = shard.transpose()?;
        let notes = Notes::default();
        let spread = spread.map(Spread::new);
        let (swept, interrupted) = attend(py, watch.as_ref(), |stop, news| {
            let mut cells = sweep::replicated(&self.0, seeds)?;
            if let Some(shard) = shard {
                cells = shard.of(cells);
            }
            let (renamed, warned) = (|from: &Path, to: &Path| notes.renamed(from, to), notes.warned());
            let out = Out { path: &out, force, renamed: &renamed, warned: &warned };
            if shard.is_none() {
                Results::check(out)?;
            }
            let control = sweep::Control {
                threads: threads.unwrap_or_else(cores),
                stop,
                fail_fast,
                shard,
                elsewhere: spread.as_ref().map(|spread| spread as &dyn Elsewhere),
                progress: &|cell, state: &RunState| news.progress(cell, state),
                ended: &|cell, _: &CellEnd| news.ended(cell),
            };
            let ends = sweep::sweep(&cells, out, &control)?;
            let refused = Refused::of(&cells, &ends);
            if !refused.is_empty() {
                notes.add(refused.to_string());
            }
            let is_stopped = stop.load(std::sync::atomic::Ordering::Relaxed);
            let has_results = shard.is_none() && (is_stopped || ends.iter().all(Option::is_some));
            let results = has_results.then(|| Results::write(&self.0, &cells, &ends, out)).transpose()?;
            let texts = results.flatten().map(|results| (results.to_string(), results.json().to_string()));
            let folder = |end| match end {
                CellEnd::Ran(run) => Some(run.directory),
                CellEnd::Refused(_) => None,
            };
            let folders: Vec<_> = ends.into_iter().map(|end| end.and_then(folder)).collect();
            Ok((folders, refused, texts))
        })?;
        notes.tell(py)?;
        let (folders, refused, texts) =
            swept.map_err(|error: Error| Spread::exception(spread.as_ref(), py, &error))?;
        let refused = refused.iter().map(|(cell, problem)| (cell.name(), of_problem(py, problem.clone())));
        Ok((folders, refused.collect(), texts, interrupted))
    }
}

/// Checks that a directory holds a run, and that this version of Raddle can read the run's summary.
#[pyfunction]
pub(crate) fn check_run(py: Python<'_>, directory: PathBuf) -> PyResult<()> {
    raddle_lab::read_summary(&directory).map(drop).map_err(|error| exception(py, &error))
}

/// Reads the text of an experiment's file, and checks that it is TOML.
#[pyfunction]
pub(crate) fn read_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let document = experiment::Document::load(&path).map_err(|problem| of_problem(py, problem))?;
    Ok(document.root.at.source.text.clone())
}

/// Writes a text into a file. An earlier file is replaced in one step.
#[pyfunction]
pub(crate) fn write_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    write_file(&path, text.as_bytes()).map_err(|error| exception(py, &error.into()))
}

/// Converts tables of an experiment to TOML.
#[pyfunction]
pub(crate) fn toml_text(tables: &Bound<'_, PyMapping>) -> PyResult<String> {
    Ok(table(tables)?.to_string())
}

/// Converts a value of an experiment to TOML, in one line.
#[pyfunction]
pub(crate) fn toml_value(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value(object)?.to_string())
}

fn table(mapping: &Bound<'_, PyMapping>) -> PyResult<toml::Table> {
    let mut table = toml::Table::new();
    for item in mapping.items()?.iter() {
        let (key, object): (String, Bound<'_, PyAny>) = item.extract()?;
        table.insert(key, value(&object)?);
    }
    Ok(table)
}

fn value(object: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    if object.is_instance_of::<PyBool>() {
        return Ok(object.extract::<bool>()?.into());
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(object.extract::<i64>()?.into());
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(object.extract::<f64>()?.into());
    }
    if object.is_instance_of::<PyString>() {
        return Ok(object.extract::<String>()?.into());
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        return Ok(table(mapping)?.into());
    }
    if let Ok(path) = object.extract::<PathBuf>() {
        return Ok(path.display().to_string().into());
    }
    if let Ok(items) = object.try_iter() {
        return items.map(|item| value(&item?)).collect::<PyResult<Vec<_>>>().map(Into::into);
    }
    Err(PyTypeError::new_err(format!(
        "a value of an experiment must be a bool, an int, a float, a str, a path, a list or a dict (got {})",
        object.get_type().name()?
    )))
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
