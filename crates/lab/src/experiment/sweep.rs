//! `[[sweep]]`: the parameter sweeps that turn one experiment into a grid of experiments.

use super::Document;
use super::keys::{Any, Key, keys};
use super::problem::{Cause, Problem};
use super::section::{Read, Section, list, out_of_range};
use super::value::{Item, Table, Value};
use crate::figure::SEED;

keys! {
    /// One dimension of a grid of experiments. The last sweep of the file varies fastest.
    pub(crate) SWEEP = "sweep" {
        /// Name of the sweep. Plots and claims refer to the sweep by this name. A sweep whose `key` is `engine.seed` is
        /// always called `seed`: its cells are replicas, and results are means over them.
        NAME: String = Key::new("name").required().example("\"load\"");
        /// The dotted key that takes the values. If left out, each value has a `label` and keys to `set`.
        KEY: String = Key::new("key").example("\"workload.arrivals.load\"");
        /// The values of `key`, or tables with `label` and `set`.
        VALUES: Vec<Any> = Key::new("values")
            .required()
            .table(&SWEEP_VALUE)
            .example("[{ label = \"PFQ\", set = { \"scheme.transport\" = \"pfq\" } }]");
    }

    /// One value of a sweep without `key`.
    SWEEP_VALUE = "sweep.values" {
        /// Name of the value. Plots and claims refer to the value by this name.
        LABEL: String = Key::new("label").required().example("\"PFQ\"");
        /// Dotted keys of the experiment, each with its value.
        SET: Any = Key::new("set").required().example("{ \"scheme.transport\" = \"pfq\" }");
    }
}

/// The key of the sweep [`SEED`].
const SEED_KEY: &str = "engine.seed";

/// One dimension of the grid.
#[derive(Debug, Clone)]
struct Axis {
    name: String,
    points: Vec<Point>,
}

/// One value of an axis: its label, and the keys that it sets.
#[derive(Debug, Clone)]
struct Point {
    label: String,
    set: Vec<(String, Item)>,
}

/// One experiment of the grid.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The name of each sweep, with the label of its value in this cell, in the order of the file.
    pub labels: Vec<(String, String)>,
    /// The experiment with the values of this cell.
    pub document: Document,
}

impl Document {
    /// The grid that the `[[sweep]]` tables span. The last sweep varies fastest. Without sweeps, the grid is this one
    /// experiment.
    ///
    /// # Errors
    /// If a sweep is malformed or one of its keys cannot be set, if two sweeps have the same name, or if two values of
    /// a sweep have the same label.
    pub fn cells(&self) -> Result<Vec<Cell>, Problem> {
        let mut axes: Vec<Axis> = Vec::new();
        if let Some(item) = self.root.get("sweep") {
            for item in list(item)? {
                let axis = Axis::read(item)?;
                if axes.iter().any(|other| other.name == axis.name) {
                    let at = Section::of(item, &SWEEP)?.at_key(&NAME).clone();
                    return Err(Problem::at(&at, Cause::Duplicate { what: "sweep", name: axis.name }));
                }
                axes.push(axis);
            }
        }
        let mut cells = vec![Cell { labels: Vec::new(), document: self.clone() }];
        for axis in &axes {
            cells = cells
                .iter()
                .flat_map(|cell| axis.points.iter().map(|point| cell.with(&axis.name, point)))
                .collect::<Result<_, _>>()?;
        }
        Ok(cells)
    }
}

/// Reads and checks the experiment of each cell.
///
/// # Errors
/// The first error that is not a contradiction between settings. If there is no such error, but every cell has a
/// contradiction, the contradiction of the first cell. If only some cells have a contradiction, there is no error here:
/// [`Document::prepare`] reports the contradictions of these cells.
pub fn read_all(cells: &[Cell]) -> Result<(), Problem> {
    let mut misfits = Vec::new();
    for cell in cells {
        match cell.document.experiment() {
            Err(problem) if problem.is_misfit() => misfits.push(problem),
            read => drop(read?),
        }
    }
    let is_any = misfits.len() < cells.len();
    misfits.into_iter().next().filter(|_| !is_any).map_or(Ok(()), Err)
}

impl Document {
    /// Returns an error if the file has sweeps. Commands that run a single experiment call this method. If overrides
    /// set every swept key, the file counts as a single experiment. `command` and `file` are words of the command line,
    /// such as `run` and `FILE` in `raddle run FILE`. The message contains them.
    ///
    /// # Errors
    /// If a sweep sets a key that is not overridden, or a sweep is malformed.
    pub fn refuse_sweep(&self, [command, file]: &[String; 2]) -> Result<(), Problem> {
        let Some(sweep) = self.root.get("sweep") else { return Ok(()) };
        let axes = list(sweep)?.iter().map(Axis::read).collect::<Result<Vec<_>, _>>()?;
        let keys = axes.into_iter().flat_map(|axis| axis.points).flat_map(|point| point.set);
        let mut open: Vec<String> =
            keys.map(|(key, _)| key).filter(|key| !self.root.is_overridden(key)).collect();
        open.sort();
        open.dedup();
        if open.is_empty() {
            return Ok(());
        }
        let count = self.cells()?.len();
        let what = format!(
            "`raddle {command}` runs only one experiment, but the sweeps in this file define {count} \
                     experiments"
        );
        let hint = format!(
            "`raddle sweep {file}` runs all experiments; to run one experiment, set each swept key by \
             `--set KEY=VALUE`: {}",
            open.join(", ")
        );
        let at = list(sweep)?.first().map_or(&sweep.at, |first| &first.at);
        Err(Problem::at(at, Cause::Contradiction { what, hint }))
    }
}

impl Cell {
    fn with(&self, name: &str, point: &Point) -> Result<Self, Problem> {
        let mut cell = self.clone();
        cell.labels.push((name.to_owned(), point.label.clone()));
        for (path, item) in &point.set {
            cell.document.root.set(path, &item.at, item.clone())?;
        }
        Ok(cell)
    }

    /// The labels, separated by commas, such as `R2C2, 1 us`; `run` if there are no sweeps.
    #[must_use]
    pub fn name(&self) -> String {
        if self.labels.is_empty() {
            return "run".to_owned();
        }
        let labels: Vec<_> = self.labels.iter().map(|(_, label)| label.as_str()).collect();
        labels.join(", ")
    }
}

impl Axis {
    fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, &SWEEP)?;
        let (name, key) = (section.read(&NAME)?, section.get(&KEY)?);
        let is_named = key.as_deref() != Some(SEED_KEY) || name == SEED;
        section.ensure(
            is_named,
            &NAME,
            "a sweep of `engine.seed` must have the name `seed`",
            "name = \"seed\"",
        )?;
        let Some(values) = section.item(&VALUES) else { return Err(section.missing(&VALUES)) };
        let mut points: Vec<Point> = Vec::new();
        for value in list(values)? {
            let point = match &key {
                Some(key) => Point { label: label_of(value), set: vec![(key.clone(), value.clone())] },
                None if !matches!(value.value, Value::Table(_)) => {
                    let what = "each value of a sweep without `key` must be a table with `label` and `set`";
                    let hint = "add the key that the sweep sets, for example: key = \"scheme.routing\"";
                    return Err(out_of_range(&value.at, what, hint));
                }
                None => Point::read(value)?,
            };
            if points.iter().any(|other| other.label == point.label) {
                return Err(Problem::at(&value.at, Cause::Duplicate { what: "label", name: point.label }));
            }
            points.push(point);
        }
        if points.is_empty() {
            return Err(out_of_range(&values.at, "the sweep has no values", "give at least one value"));
        }
        section.finish()?;
        Ok(Self { name, points })
    }
}

impl Point {
    fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, &SWEEP_VALUE)?;
        let label = section.read(&LABEL)?;
        let Some(set) = section.item(&SET) else { return Err(section.missing(&SET)) };
        let Value::Table(set) = &set.value else {
            return Err(super::section::wrong_type(set, "a table of keys and values"));
        };
        let set = leaves(set);
        section.finish()?;
        Ok(Self { label, set })
    }
}

/// The entries of a `set` table. Its keys are quoted dotted paths.
fn leaves(set: &Table) -> Vec<(String, Item)> {
    set.entries.iter().map(|entry| (entry.key.clone(), entry.item.clone())).collect()
}

/// The label of a value without a stated label: the text of a string, or any other value as it is written in the file.
fn label_of(item: &Item) -> String {
    String::read(item).unwrap_or_else(|_| item.at.text().to_owned())
}
