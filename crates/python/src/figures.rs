//! Reproduces figures of papers.

use crate::attend::{News, attend};
use crate::document::cores;
use crate::notes::Notes;
use crate::spread::Spread;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raddle_lab::figure::{self, Look, Options, Record, Reproduced, Reproduction, Scale, Style, Watch};
use raddle_lab::lint::Warning;
use raddle_lab::sweep::Elsewhere;
use raddle_lab::{Error, RunState};
use raddle_schemes::registry::Registry;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Reproduces figures, and writes their results into the folder `out`. If `spread` is given, it does the runs in other
/// processes ([`Spread`]). Returns the results as a text and a JSON text. If Ctrl-C stopped the reproduction, the
/// results are not complete.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "users pass the arguments by name to the Python function that calls this one"
)]
pub(crate) fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    out: PathBuf,
    full: bool,
    check: bool,
    within: Option<f64>,
    record: Option<PathBuf>,
    force: bool,
    threads: Option<usize>,
    style: Option<&str>,
    dpi: Option<u32>,
    spread: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    let notes = Notes::default();
    let spread = spread.map(Spread::new);
    let unknown = |name: &str| {
        PyValueError::new_err(format!("style must be 'screen', 'paper' or 'slides' (got '{name}')"))
    };
    let style = style.map(|name| Style::named(name).ok_or_else(|| unknown(name))).transpose()?;
    let options = Options {
        registry: Registry::builtin().into(),
        selectors: names,
        within_s: within,
        scale: if full { Scale::Full } else { Scale::Quick },
        out,
        force,
        threads: threads.unwrap_or_else(cores),
        check,
        look: Look { style, dpi, size: None },
    };
    let (done, _) = attend(py, watch.as_ref(), |stop, news| {
        // If the ledger at `record` is not valid, the reproduction fails before the runs, which can take hours.
        let record = record.map(|path| Record::begin(&path, options.scale)).transpose()?;
        let elsewhere = spread.as_ref().map(|spread| spread as &dyn Elsewhere);
        figure::reproduce(&options, elsewhere, stop, &Heard { news, notes: &notes, record })
    })?;
    notes.tell(py)?;
    let done = done.map_err(|error: Error| Spread::exception(spread.as_ref(), py, &error))?;
    Ok((done.to_string(), json(&done).to_string()))
}

/// Passes the news of a reproduction to `news` and `notes`, and adds its figures to the ledger `record`.
struct Heard<'a> {
    news: &'a News,
    notes: &'a Notes,
    record: Option<Record>,
}

impl Watch for Heard<'_> {
    fn begin_elsewhere(&self, runs: &[String]) {
        self.news.begun("on the cluster", runs.len());
    }

    fn begin(&self, figure: &str, runs: &[String]) {
        self.news.begun(figure, runs.len());
    }

    fn progress(&self, run: usize, progress: &RunState) {
        self.news.progress(run, progress);
    }

    fn ended(&self, run: usize) {
        self.news.ended(run);
    }

    fn end(&self) {}

    fn kept(&self, folder: &Path) {
        self.notes.add(figure::told_kept(folder));
    }

    fn renamed(&self, from: &Path, to: &Path) {
        self.notes.renamed(from, to);
    }

    fn reproduced(&self, figure: &Reproduced, _: usize, _: usize) -> Result<(), Error> {
        self.record.iter().try_for_each(|record| record.add(figure))
    }

    fn warned(&self, run: &str, warnings: &[Warning]) {
        (self.notes.warned())(run, warnings).expect("`Notes::warned` must not treat warnings as errors");
    }
}

/// The results as JSON, for the classes of `python/raddle/_figures.py`.
fn json(done: &Reproduction) -> Value {
    let scale = done.scale.name();
    let figure = |figure: &Reproduced| {
        let claims: Vec<Value> = figure.outcomes.iter().map(|outcome| outcome.json(scale)).collect();
        json!({
            "name": figure.name, "title": figure.title, "directory": figure.folder, "claims": claims,
            "digest": format!("{:032x}", figure.digest), "repeats": figure.repeats, "seconds": figure.seconds,
        })
    };
    json!({
        "scale": scale,
        "complete": done.is_complete,
        "as_expected": done.is_expected(),
        "figures": done.figures.iter().map(figure).collect::<Vec<_>>(),
        "digest": format!("{:032x}", done.digest),
        "left_out": done.left_out,
        "moved": done.moved.as_ref().map(|moved| &moved.results),
        "measured_otherwise": done.moved.as_ref().map(|moved| &moved.measured),
    })
}
