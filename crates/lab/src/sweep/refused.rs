//! The cells of a sweep that cannot run, because their settings do not fit together.

use super::CellEnd;
use crate::Error;
use crate::experiment::{Cell, Problem};
use serde_json::{Map, Value, json};
use std::fmt;

/// The cells that cannot run, in the order of the sweep, and the number of all cells. `Display` names the cells of each
/// problem.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    cells: Vec<(Cell, Problem)>,
    of: usize,
}

impl Refused {
    /// The cells that were refused. `ends` has an entry for each cell.
    #[must_use]
    pub fn of(cells: &[Cell], ends: &[Option<CellEnd>]) -> Self {
        let refused = cells.iter().zip(ends).filter_map(|(cell, end)| match end {
            Some(CellEnd::Refused(problem)) => Some((cell.clone(), problem.clone())),
            _ => None,
        });
        Self { cells: refused.collect(), of: cells.len() }
    }

    /// True if no cell was refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cells, each with its problem.
    pub fn iter(&self) -> impl Iterator<Item = &(Cell, Problem)> {
        self.cells.iter()
    }

    /// The cells, with their labels and errors, as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let cell = |(cell, problem): &(Cell, Problem)| {
            let labels = cell.labels.iter().map(|(sweep, label)| (sweep.clone(), json!(label)));
            let error = Error::from(problem.clone()).json();
            json!({ "run": cell.name(), "labels": labels.collect::<Map<_, _>>(), "error": error["error"] })
        };
        self.cells.iter().map(cell).collect()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} cells cannot run:", self.cells.len(), self.of)?;
        let mut told: Vec<&Problem> = Vec::new();
        for (_, problem) in &self.cells {
            if told.contains(&problem) {
                continue;
            }
            told.push(problem);
            let same = self.cells.iter().filter(|(_, other)| other == problem).map(|(cell, _)| cell.name());
            write!(f, "\n  {}\n    {}", same.collect::<Vec<_>>().join("; "), problem.in_one_line())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::Document;
    use crate::sweep::{self, CellEnd, Results, sweep};
    use crate::{Error, Out};
    use serde_json::json;
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    /// CONGA needs a leaf-spine, so one of the four cells cannot run. With two seeds, two of eight cells cannot run.
    const GRID: &str = r#"
[workload]
flows = 20
arrivals = { kind = "poisson", mean_gap = "1 us" }
sizes = { kind = "fixed", size = "9 KB" }
pairs = "uniform"
[scheme]
transport = "tcp-newreno"
[[sweep]]
name = "fabric"
values = [
    { label = "torus", set = { topology = { kind = "torus", dims = [4, 4], link_rate = "10 Gbps", link_delay = "100 ns" } } },
    { label = "clos", set = { topology = { kind = "folded_clos", leaves = 2, spines = 2, hosts_per_leaf = 2, link_rate = "10 Gbps", link_delay = "100 ns" } } },
]
[[sweep]]
name = "scheme"
key = "scheme.routing"
values = ["ecmp", "conga"]
[[plot]]
kind = "along"
x = "fabric"
of = "fct"
"#;

    /// The end of each cell, the indices of the cells that ended, and the results if all cells ended.
    type Swept = (Vec<Option<CellEnd>>, Vec<usize>, Option<Results>);

    /// Runs the sweep `text` with two seeds.
    fn swept(
        text: &str,
        out: &Path,
        fail_fast: bool,
        elsewhere: Option<&dyn sweep::Elsewhere>,
    ) -> Result<Swept, Error> {
        let document = Document::parse("grid.toml", text.to_owned(), PathBuf::new())?;
        let cells = sweep::replicated(&document, Some(2))?;
        let ended = Mutex::new(Vec::new());
        let control = sweep::Control {
            threads: 2,
            stop: &AtomicBool::new(false),
            fail_fast,
            shard: None,
            elsewhere,
            progress: &|_, _| (),
            ended: &|cell, _| ended.lock().expect("no panic").push(cell),
        };
        let ends = sweep(&cells, out, &control)?;
        let results = ends
            .iter()
            .all(Option::is_some)
            .then(|| Results::write(&document, &cells, &ends, Out::from(out)))
            .transpose()?
            .flatten();
        Ok((ends, ended.into_inner().expect("no panic"), results))
    }

    #[test]
    fn the_cells_that_fit_run_and_the_others_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let others = sweep::OtherDirectories::default();
        for (out, elsewhere) in [("here", None), ("there", Some(&others as &dyn sweep::Elsewhere))] {
            let out = folder.path().join(out);
            let (ends, mut ended, results) = swept(GRID, &out, false, elsewhere).expect("a sweep");
            let refused: Vec<usize> =
                (0..8).filter(|&i| matches!(ends[i], Some(CellEnd::Refused(_)))).collect();
            assert_eq!(refused, [2, 3]);
            ended.sort_unstable();
            assert_eq!(ended, (0..8).collect::<Vec<_>>());
            let results = results.expect("all cells ended");
            let table = std::fs::read_to_string(out.join("sweep_results/sweep.csv")).expect("a table");
            assert_eq!(table.lines().count(), 7, "{table}");
            assert!(
                out.join("sweep_results/figure.svg").exists() && !out.join("torus-conga-seed-1").exists()
            );
            let text = results.to_string();
            let told =
                "2 of 8 cells cannot run:\n  torus, conga, seed 1; torus, conga, seed 2\n    grid.toml:18:";
            assert!(text.contains(told), "{text}");
            let cell = &results.json()["refused"][0];
            assert_eq!(cell["labels"], json!({ "fabric": "torus", "scheme": "conga", "seed": "seed 1" }));
            assert_eq!((&cell["error"]["file"], &cell["error"]["line"]), (&json!("grid.toml"), &json!(18)));
            assert!(cell["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{cell}");
        }
        assert_eq!(*others.tasks.lock().expect("no panic"), 6);
    }

    #[test]
    fn a_sweep_that_fails_fast_runs_nothing_if_a_cell_cannot_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ends, ended, results) = swept(GRID, folder.path(), true, None).expect("a sweep");
        assert!(matches!(ends[2], Some(CellEnd::Refused(_))) && results.is_none() && ended.is_empty());
        assert_eq!(ends.iter().flatten().count(), 1);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn an_error_of_the_file_or_of_all_cells_is_an_error_of_the_sweep() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |changes: &[(&str, &str)]| {
            let text = changes.iter().fold(GRID.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
            let Err(error) = swept(&text, folder.path(), false, None) else {
                panic!("{changes:?} are refused")
            };
            assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
            error.to_string()
        };
        assert!(refused(&[("\"conga\"]", "\"congo\"]")]).contains("unknown routing"));
        assert!(refused(&[("leaves = 2", "leaves = 2, leafs = 2")]).contains("unknown key `leafs`"));
        assert!(refused(&[("dims = [4, 4]", "dims = 4")]).contains("expected"));
        assert_eq!(
            refused(&[("tcp-newreno", "r2c2"), ("\"ecmp\", ", "")]),
            "the transport `r2c2` cannot use the routing `conga`"
        );
    }
}
