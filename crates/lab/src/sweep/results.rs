//! The results of a sweep as one table: a row for each cell that ran, with the cell's labels and the values of its
//! summary. Cells that differ only in the label of the sweep `seed` are replicas. Texts and JSON show the replicas of a
//! cell as one group, with the means of their values.

use crate::experiment::{Cell, Document};
use crate::figure;
use crate::notation::with_margin;
use crate::run::directory::{Contents, Origin, Out, Part};
use crate::run::kept_summary;
use crate::sweep::replicas::{self, PAUSES, SHOWN};
use crate::sweep::{CellEnd, Refused, columns, labels};
use crate::{Error, table};
use raddle_records::{WideCell, WideTable};
use serde_json::{Map, Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// The name of the sweep whose cells are replicas.
const SEED: &str = figure::SEED;

/// The folder of the table and the plots, in the folder of the sweep. No cell can have this folder, because the folder
/// names of cells have no underscore.
pub(crate) const FOLDER: &str = "sweep_results";

/// Explains the columns of the table of groups.
const DEFINITIONS: &str = "
n: number of runs, which differ in their seed. Numbers are means over runs. The number after ± is half the
width of the 95% confidence interval. A number has no ± if all runs agree, or if there is only one run.
FCT: time from the moment a flow is handed to the transport until its last byte is delivered in order.
The table shows the FCTs of finished flows of all sizes.
Goodput: size divided by FCT, mean over flows.
Slowdown: FCT divided by the FCT of the flow alone on one shortest path.
Percentiles use the nearest rank within each run.
";

/// A cell that has run.
struct Row {
    labels: Vec<(String, String)>,
    directory: PathBuf,
    values: Map<String, Value>,
}

/// The results of all cells of a sweep. `Display` formats the groups as a text table.
pub struct Results {
    rows: Vec<Row>,
    /// The folder of the table and the plots.
    folder: PathBuf,
    /// The names of the pictures in the folder, if the document has plots.
    pictures: &'static [&'static str],
    failures: Vec<(String, Value)>,
    refused: Refused,
    /// The names of the cells that were stopped or did not begin.
    unfinished: Vec<String>,
}

/// The replicas of one cell: rows whose labels differ only in the seed.
struct Group<'a> {
    /// The labels without the seed.
    labels: Vec<&'a (String, String)>,
    rows: Vec<&'a Row>,
}

impl Results {
    /// Checks that the results of a sweep into `out` may replace existing results.
    ///
    /// # Errors
    /// If the new results may not replace the existing ones, or the existing results cannot be read.
    pub fn check(out: Out<'_>) -> Result<(), Error> {
        Out { path: &out.path.join(FOLDER), ..out }.check(&origin()?)
    }

    /// Reads the summaries of the cells that ran, and writes the table and the plots of `document` into the folder
    /// `sweep_results` in `out`. An earlier table there is replaced, unless it is complete and the new table is not.
    /// `ends` has an entry for each cell. If the sweep was stopped, the table has the partial runs too, and nothing is
    /// drawn. `None` if no cell ran.
    ///
    /// # Errors
    /// If a cell that ran has no summary, a plot is wrong, existing results may not be replaced, or a file cannot be
    /// written.
    pub fn write(
        document: &Document,
        cells: &[Cell],
        ends: &[Option<CellEnd>],
        out: Out<'_>,
    ) -> Result<Option<Self>, Error> {
        let ran = cells.iter().zip(ends).filter_map(|(cell, end)| match end {
            Some(CellEnd::Ran(run)) => Some((cell, &*run.directory)),
            _ => None,
        });
        let ran: Vec<_> = ran.collect();
        if ran.is_empty() {
            return Ok(None);
        }
        let unfinished =
            cells.iter().zip(ends).filter(|(_, end)| end.as_ref().is_none_or(CellEnd::is_stopped));
        let unfinished: Vec<String> = unfinished.map(|(cell, _)| cell.name()).collect();
        let mut rows = Vec::new();
        let mut failures = Vec::new();
        for &(cell, directory) in &ran {
            let summary = kept_summary::read(directory)?;
            if !summary["error"].is_null() {
                failures.push((cell.name(), summary["error"].clone()));
            }
            let values = replicas::measures(&summary);
            rows.push(Row { labels: cell.labels.clone(), directory: directory.to_owned(), values });
        }
        let folder = out.path.join(FOLDER);
        let refused = Refused::of(cells, ends);
        let mut results = Self { rows, folder: folder.clone(), pictures: &[], failures, refused, unfinished };
        let is_complete = results.unfinished.is_empty();
        if !is_complete && folder.exists() && Contents::read(&folder)?.is_complete() {
            return Ok(Some(results)); // Partial results do not replace complete results.
        }
        let part = Part::create(Out { path: &folder, ..out }, origin()?)?;
        let wide = results.wide(out.path);
        wide.write_csv(&part.file("sweep.csv"))?;
        wide.write_parquet(&part.file("sweep.parquet"), "sweep", |column| results.meaning(column))?;
        let relative = |directory| Path::strip_prefix(directory, out.path).unwrap_or(directory);
        labels::write(part.path(), ran.iter().map(|&(cell, run)| (relative(run), &cell.labels)))?;
        if is_complete {
            results.pictures = figure::draw_plots(document, &ran, part.path())?;
        }
        part.finish(is_complete)?;
        Ok(Some(results))
    }

    /// The runs that failed because they delivered no flow: their names and errors.
    #[must_use]
    pub fn failures(&self) -> &[(String, Value)] {
        &self.failures
    }

    /// The cells that cannot run.
    #[must_use]
    pub fn refused(&self) -> &Refused {
        &self.refused
    }

    /// The table with a row for each cell that ran, and with directories relative to `folder`.
    fn wide(&self, folder: &Path) -> WideTable {
        let mut wide = WideTable::default();
        for row in &self.rows {
            let labels = row.labels.iter().map(|(sweep, label)| (sweep.clone(), self.label(sweep, label)));
            let is_label = |name: &str| row.labels.iter().any(|(sweep, _)| sweep == name);
            let measures = row.values.iter().filter(|(name, _)| !is_label(name));
            let measures = measures.filter_map(|(name, value)| Some((name.clone(), cell(value)?)));
            let directory =
                row.directory.strip_prefix(folder).unwrap_or(&row.directory).display().to_string();
            let directory = [("directory".to_owned(), WideCell::Text(directory))];
            wide.push(labels.chain(measures).chain(directory));
        }
        wide
    }

    /// The meaning of a column of the table.
    fn meaning(&self, column: &str) -> Option<String> {
        let is_label = self.rows.iter().any(|row| row.labels.iter().any(|(sweep, _)| sweep == column));
        match is_label && column != SEED {
            true => Some(format!("label of the cell in the sweep `{column}`")),
            false => columns::meaning(column),
        }
    }

    /// The table's entry for a label. It is a number if all labels of the sweep are numbers, and a text if not. A label
    /// such as `seed 2` counts as the number 2.
    fn label(&self, sweep: &str, label: &str) -> WideCell {
        let number = |label: &str| {
            let label = label.strip_prefix("seed ").unwrap_or(label);
            let integer = label.parse().ok().map(WideCell::Integer);
            integer.or_else(|| label.parse().ok().map(WideCell::Float))
        };
        let of_sweep =
            |row: &Row| row.labels.iter().find(|(name, _)| name == sweep).map(|(_, label)| label.clone());
        let all = self.rows.iter().filter_map(of_sweep).all(|label| number(&label).is_some());
        number(label).filter(|_| all).unwrap_or_else(|| WideCell::Text(label.to_owned()))
    }

    /// Groups of cells whose labels differ only in the seed, in the order of the sweep. Partial runs are left out.
    fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for row in self.rows.iter().filter(|row| replicas::is_complete(&row.values)) {
            let labels: Vec<_> = row.labels.iter().filter(|(sweep, _)| sweep != SEED).collect();
            match groups.iter_mut().find(|group| group.labels == labels) {
                Some(group) => group.rows.push(row),
                None => groups.push(Group { labels, rows: vec![row] }),
            }
        }
        groups
    }

    /// The groups with the directories of their cells, the failures, the cells that cannot run, and the cells that were
    /// stopped or did not begin, as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let group = |group: &Group<'_>| {
            let labels = group.labels.iter().map(|(sweep, label)| (sweep.clone(), json!(label)));
            let means = group.names().into_iter().filter_map(|name| {
                let (mean, margin) = group.number(&name)?;
                Some((name, json!({ "mean": mean, "margin_95": margin })))
            });
            let directories: Vec<_> =
                group.rows.iter().map(|row| row.directory.display().to_string()).collect();
            let digests: Vec<_> = group.rows.iter().map(|row| &row.values["digest"]).collect();
            json!({
                "labels": labels.collect::<Map<_, _>>(), "n": group.rows.len(), "measures": means.collect::<Map<_, _>>(),
                "directories": directories, "digests": digests,
            })
        };
        let failures = self.failures.iter().map(|(run, error)| json!({ "run": run, "error": error }));
        json!({
            "groups": self.groups().iter().map(group).collect::<Vec<_>>(),
            "results": self.folder.display().to_string(),
            "failures": failures.collect::<Vec<_>>(),
            "refused": self.refused.json(),
            "unfinished": self.unfinished,
        })
    }
}

impl Group<'_> {
    /// The names of those values of the group's first run that are numbers.
    fn names(&self) -> Vec<String> {
        let first = self.rows.first().map(|row| &row.values);
        let numbers = first.into_iter().flatten().filter(|(_, value)| value.is_number());
        numbers.map(|(name, _)| name.clone()).collect()
    }

    /// The mean of the value `name` over the group's runs, and half the width of the mean's confidence interval. Both
    /// come from [`replicas::mean`].
    fn number(&self, name: &str) -> Option<(f64, Option<f64>)> {
        replicas::mean(self.rows.iter().map(|row| &row.values), name)
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.groups();
        let shown: Vec<_> = SHOWN
            .into_iter()
            .filter(|(name, ..)| groups.iter().any(|group| group.number(name).is_some()))
            .collect();
        let sweeps = groups.first().map_or(&[][..], |group| &group.labels);
        let sweeps = sweeps.iter().map(|(sweep, _)| sweep.clone());
        let headings = shown.iter().map(|&(_, heading, _)| heading.to_owned());
        let mut rows = vec![sweeps.chain(["n".to_owned()]).chain(headings).collect::<Vec<_>>()];
        for group in &groups {
            let labels = group.labels.iter().map(|(_, label)| label.clone());
            let numbers = shown.iter().map(|&(name, _, unit)| match group.number(name) {
                None => "-".to_owned(),
                Some((mean, margin)) => with_margin(mean / unit, margin.map(|margin| margin / unit)),
            });
            rows.push(labels.chain([group.rows.len().to_string()]).chain(numbers).collect());
        }
        if !groups.is_empty() {
            let has_pauses = shown.iter().any(|(name, ..)| name.starts_with("flow_control_"));
            let pauses = if has_pauses { PAUSES } else { "" };
            writeln!(f, "{}{DEFINITIONS}{pauses}", table(&rows))?;
        }
        write!(f, "all numbers of all runs: {}", self.folder.join("sweep.csv").display())?;
        for picture in self.pictures {
            write!(f, "\npicture: {}", self.folder.join(picture).display())?;
        }
        for (name, error) in &self.failures {
            write!(f, "\n{name} failed: {}", error["message"].as_str().unwrap_or_default())?;
        }
        if !self.refused.is_empty() {
            write!(f, "\n{}", self.refused)?;
        }
        if !self.unfinished.is_empty() {
            write!(f, "\nunfinished cells: {}; the means leave them out", self.unfinished.len())?;
        }
        Ok(())
    }
}

/// The origin of all tables of sweeps. A table is computed from the runs beside it, so a newer table may replace it.
fn origin() -> Result<Origin, Error> {
    Origin::new("sweep", "")
}

fn cell(value: &Value) -> Option<WideCell> {
    match value {
        Value::String(text) => Some(WideCell::Text(text.clone())),
        Value::Bool(value) => Some(WideCell::Boolean(*value)),
        Value::Number(number) => {
            number.as_i64().map(WideCell::Integer).or_else(|| number.as_f64().map(WideCell::Float))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(routing: &str, seed: u32, fct: f64) -> Row {
        let labels = [("routing", routing.to_owned()), ("seed", format!("seed {seed}"))];
        let labels = labels.into_iter().map(|(sweep, label)| (sweep.to_owned(), label)).collect();
        let values = json!({ "fct_mean_us": fct, "drops": 3, "digest": "ab", "seed": seed });
        let values = values.as_object().expect("a table").clone();
        Row { labels, directory: PathBuf::from(format!("out/{routing}-{seed}")), values }
    }

    fn results() -> Results {
        let rows =
            vec![row("ecmp", 1, 10.0), row("ecmp", 2, 12.0), row("drill", 1, 5.0), row("drill", 2, 5.0)];
        Results {
            rows,
            folder: PathBuf::from("out/sweep_results"),
            pictures: &["figure.svg"],
            failures: Vec::new(),
            refused: Refused::default(),
            unfinished: Vec::new(),
        }
    }

    #[test]
    fn cells_that_differ_in_their_seed_are_one_group_with_an_interval() {
        let results = results();
        let groups = results.groups();
        assert_eq!(groups.len(), 2);
        let (mean, margin) = groups[0].number("fct_mean_us").expect("a number");
        // Student's t at 95% for one degree of freedom is 12.706. The standard error of the values 10 and 12 is 1.
        assert!((mean - 11.0).abs() < 1e-9 && (margin.expect("an interval") - 12.706).abs() < 1e-9);
        let shown = results.to_string();
        assert!(shown.contains("11 ± 13"), "{shown}");
        assert_eq!(results.json()["groups"][0]["n"], 2);
    }

    #[test]
    fn labels_of_numbers_are_numbers_in_the_table() {
        let results = results();
        assert_eq!(results.label("seed", "seed 2"), WideCell::Integer(2));
        assert_eq!(results.label("routing", "ecmp"), WideCell::Text("ecmp".to_owned()));
        let wide = results.wide(Path::new("out"));
        assert_eq!(wide.columns(), ["routing", "seed", "digest", "drops", "fct_mean_us", "directory"]);
    }

    #[test]
    fn pauses_are_shown_if_a_run_has_flow_control() {
        let mut results = results();
        assert!(!results.to_string().to_lowercase().contains("pause"));
        let pauses = json!({ "flow_control_pauses": 7, "flow_control_paused_share_mean": 0.034 });
        results.rows[2].values.extend(pauses.as_object().expect("a table").clone());
        let shown = results.to_string();
        let numbers = |routing: &str| {
            let line = shown.lines().find(|line| line.starts_with(routing)).expect("a row");
            line.split_whitespace().rev().take(2).collect::<Vec<_>>()
        };
        assert!(shown.contains("  pauses  paused share %\n") && shown.contains("Paused share: "), "{shown}");
        assert_eq!((numbers("drill"), numbers("ecmp")), (vec!["3.4", "7"], vec!["-", "-"]), "{shown}");
    }

    #[test]
    fn every_column_of_the_table_has_a_meaning() {
        let results = results();
        let wide = results.wide(Path::new("out"));
        let lacking: Vec<_> =
            wide.columns().iter().filter(|column| results.meaning(column).is_none()).collect();
        assert!(lacking.is_empty(), "{lacking:?}");
        assert_eq!(results.meaning("routing").as_deref(), Some("label of the cell in the sweep `routing`"));
        assert_eq!(results.meaning("seed").as_deref(), Some("seed of the run"));
    }

    #[test]
    fn a_stopped_run_has_a_row_but_counts_in_no_mean() {
        let mut results = results();
        results.rows[1].values.insert("complete".to_owned(), json!(false));
        results.unfinished = vec!["ecmp, seed 2".to_owned()];
        assert_eq!(results.wide(Path::new("out")).columns().len(), 7);
        assert_eq!(results.groups().iter().map(|group| group.rows.len()).collect::<Vec<_>>(), [1, 2]);
        assert!(results.to_string().ends_with("unfinished cells: 1; the means leave them out"));
        assert_eq!(results.json()["unfinished"], json!(["ecmp, seed 2"]));
    }
}
