//! `raddle report`: finished runs as one HTML page that loads nothing from a network.
//!
//! The page consists of a template with style and scripts, and of the data as one JSON document. The template is part
//! of the program. The scripts draw the charts.

mod axis;
mod fabric;
mod groups;
mod rank_series;
mod rate_series;
mod run;
mod series;

use self::groups::Groups;
use crate::definitions;
use crate::figure::CLAIMS;
use crate::figure::runs::Labels;
use crate::run::directory::SUMMARY;
use crate::run::kept_summary::not_a_run;
use crate::sweep::{self, labels};
use crate::{Comparison, Error};
use raddle_records::write_file;
use raddle_schemes::registry::Registry;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The template of the page. The style, the scripts and the data each replace a placeholder in the template.
const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The scripts, in the order in which they run.
const SCRIPTS: [&str; 6] = [
    include_str!("page/chart.js"),
    include_str!("page/fabric.js"),
    include_str!("page/tables.js"),
    include_str!("page/groups.js"),
    include_str!("page/timeline.js"),
    include_str!("page/page.js"),
];

/// Name of the file with the plots of a figure or a sweep.
const PICTURE: &str = "figure.svg";

/// Largest number of runs that the report shows in detail, if the user chooses no runs.
const MOST_DETAILED: usize = 8;

/// Maximum total size, in bytes, of the data of the runs that are shown in detail, if the user chooses no runs. The
/// first run is shown even if its data are larger.
const MOST_BYTES: usize = 24 << 20;

/// The report on finished runs.
pub struct Report {
    data: Value,
    runs: usize,
    detailed: usize,
}

impl Report {
    /// Reads directories of runs, and directories of sweeps and figures, which hold directories of runs. Experiments
    /// may name schemes and topologies of `registry`.
    ///
    /// Runs that differ only in their seed are a group, and the report has the means of each group. The report shows
    /// the runs `detailed` in detail. If `detailed` is empty, it shows the first run of each group, up to 8 runs and
    /// about 24 MB of data.
    ///
    /// # Errors
    /// If a directory holds neither a run nor a figure, if a file in it cannot be read, or if a detailed run is not in
    /// the directories.
    pub fn read(directories: &[&Path], detailed: &[&Path], registry: &Arc<Registry>) -> Result<Self, Error> {
        let mut found = Found::default();
        for directory in directories {
            let before = found.count();
            found.search(directory)?;
            if found.count() == before {
                return Err(not_a_run(directory, "the directory holds neither a run nor a figure"));
            }
        }
        let groups = Groups::read(&found.runs, &found.labels)?;
        let chosen = detailed.iter().map(|path| found.run(path)).collect::<Result<Vec<_>, _>>()?;
        let is_limited = chosen.is_empty();
        let mut paths = if is_limited { groups.firsts().take(MOST_DETAILED).collect() } else { chosen };
        let (mut runs, mut size) = (Vec::new(), 0);
        for path in &paths {
            let run = run::read(path, registry)?;
            size += run.to_string().len();
            if is_limited && size > MOST_BYTES && !runs.is_empty() {
                break;
            }
            runs.push(run);
        }
        paths.truncate(runs.len());
        let data = json!({
            "version": crate::VERSION,
            "comparison": Comparison::read(&paths)?.json(),
            "groups": groups.json(&paths),
            "runs": runs,
            "figures": found.figures,
            "pictures": found.pictures,
            "definitions": definitions::all(),
        });
        Ok(Self { data, runs: found.runs.len(), detailed: runs.len() })
    }

    /// Number of runs that the report shows in detail.
    #[must_use]
    pub fn detailed(&self) -> usize {
        self.detailed
    }

    /// Number of runs in the report.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The page as HTML text.
    #[must_use]
    pub fn html(&self) -> String {
        // `</script>` in the data would end the element that holds the data.
        let data = self.data.to_string().replace('<', "\\u003c");
        // The data comes last, because a name in the data may look like a placeholder.
        PAGE.replacen("/*STYLE*/", STYLE, 1)
            .replacen("/*SCRIPT*/", &SCRIPTS.join("\n"), 1)
            .replacen("/*DATA*/", &data, 1)
    }

    /// Writes the page. An earlier file is replaced in one step.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        Ok(write_file(path, self.html().as_bytes())?)
    }
}

/// The runs and figures found in the directories that the user named.
#[derive(Default)]
struct Found {
    runs: Vec<PathBuf>,
    /// The labels of the runs of sweeps and figures.
    labels: BTreeMap<PathBuf, Labels>,
    /// The contents of the figures' [`CLAIMS`].
    figures: Vec<Value>,
    /// The [`PICTURE`] of each figure and sweep that has plots, with its directory.
    pictures: Vec<Value>,
}

impl Found {
    /// The found run whose directory is `directory`. The path of the run and `directory` may be spelled differently:
    /// both are made canonical before they are compared.
    fn run(&self, directory: &Path) -> Result<&Path, Error> {
        let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let wanted = whole(directory);
        self.runs.iter().map(PathBuf::as_path).find(|run| whole(run) == wanted).ok_or_else(|| Error::Usage {
            what: format!("{} is not the directory of a run in this report", directory.display()),
            hint: "give a directory that holds summary.json and lies in one of the report's directories"
                .to_owned(),
        })
    }

    fn count(&self) -> usize {
        self.runs.len() + self.figures.len()
    }

    /// Adds the run or the figure in a directory, and those in its folders. The runs of a sweep or a figure are in the
    /// order of that sweep or figure, and other runs in the order of their names. The folders of a run are searched
    /// too, because a sweep can have been written into them. Hidden folders are left out.
    fn search(&mut self, directory: &Path) -> Result<(), Error> {
        let before = self.runs.len();
        if directory.join(SUMMARY).exists() {
            self.runs.push(directory.to_owned());
        }
        let claims = directory.join(CLAIMS);
        if claims.exists() {
            let text = fs::read_to_string(&claims).map_err(Error::io("read", &claims))?;
            let figure = serde_json::from_str(&text).map_err(|error| not_a_run(&claims, error))?;
            self.figures.push(figure);
        }
        let picture = directory.join(PICTURE);
        let is_of_raddle = claims.exists() || directory.ends_with(sweep::FOLDER);
        if is_of_raddle && picture.exists() {
            let svg = fs::read_to_string(&picture).map_err(Error::io("read", &picture))?;
            self.pictures.push(json!({ "directory": directory.display().to_string(), "svg": svg }));
        }
        let mut folders = Vec::new();
        for entry in fs::read_dir(directory).map_err(|error| not_a_run(directory, error))? {
            let entry = entry.map_err(Error::io("read", directory))?;
            if entry.path().is_dir() && !entry.file_name().as_encoded_bytes().starts_with(b".") {
                folders.push(entry.path());
            }
        }
        folders.sort();
        folders.iter().try_for_each(|folder| self.search(folder))?;
        let labels = labels::read(directory)?;
        let places: BTreeMap<_, _> =
            labels.iter().enumerate().map(|(i, (run, _))| (run.clone(), i)).collect();
        self.runs[before..].sort_by_key(|run| places.get(run));
        self.labels.extend(labels);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let report = Report { data: json!({ "name": "</script><script>alert(1)" }), runs: 0, detailed: 0 };
        assert!(report.html().contains(r"\u003c/script>\u003cscript>alert(1)"));
        assert_eq!(report.html().matches("</script>").count(), 2);
    }

    #[test]
    fn the_plots_of_figures_and_sweeps_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join(sweep::FOLDER);
        fs::create_dir(&results).expect("a folder in the folder");
        fs::write(results.join(PICTURE), "<svg/>").expect("a file");
        let mut found = Found::default();
        found.search(folder.path()).expect("a folder");
        assert_eq!(found.pictures[0]["svg"], "<svg/>");
    }

    #[test]
    fn files_of_others_with_names_of_ours_are_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("labels.json"), "{ \"cat\": 0 }").expect("a file");
        fs::write(folder.path().join(PICTURE), [0xff]).expect("a file");
        let mut found = Found::default();
        found.search(folder.path()).expect("a folder");
        assert!(found.labels.is_empty() && found.pictures.is_empty());
    }

    #[test]
    fn runs_in_the_folder_of_a_run_are_found_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("ecmp");
        fs::create_dir(&inside).expect("a folder in the folder");
        for directory in [folder.path(), &inside] {
            fs::write(directory.join(SUMMARY), "{}").expect("a file");
        }
        let mut found = Found::default();
        found.search(folder.path()).expect("two runs");
        assert_eq!(found.runs, [folder.path(), &inside]);
    }

    #[test]
    fn runs_of_a_sweep_are_in_its_order_and_have_its_labels() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |scheme: &str| vec![("scheme".to_owned(), scheme.to_owned())];
        let runs = ["ecmp", "conga"].map(|name| (Path::new(name), of(name)));
        for (name, _) in &runs {
            fs::create_dir(folder.path().join(name)).expect("a folder in the folder");
            fs::write(folder.path().join(name).join(SUMMARY), "{}").expect("a file");
        }
        let results = folder.path().join(crate::sweep::FOLDER);
        fs::create_dir(&results).expect("a folder in the folder");
        labels::write(&results, runs.iter().map(|(run, labels)| (*run, labels))).expect("a file");
        let mut found = Found::default();
        found.search(folder.path()).expect("two runs");
        assert_eq!(found.runs, ["ecmp", "conga"].map(|name| folder.path().join(name)));
        assert_eq!(found.labels[&found.runs[0]], of("ecmp"));
    }

    #[test]
    fn a_folder_without_runs_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = Report::read(&[folder.path()], &[], &Registry::builtin().into());
        assert!(read.is_err_and(|error| error.to_string().contains("neither a run nor a figure")));
    }
}
