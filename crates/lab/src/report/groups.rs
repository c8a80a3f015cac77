//! Runs that differ only in their seed form a group. A report of many runs shows each group by its means, and only some
//! runs in detail.

use super::run::short;
use crate::Error;
use crate::experiment::FOLDER;
use crate::figure::SEED as SEED_SWEEP;
use crate::figure::runs::Labels;
use crate::run::directory::EXPERIMENT;
use crate::run::kept_summary::{self, not_a_run};
use crate::sweep::replicas::{self, SHOWN};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The key in which the runs of a group differ.
const SEED: &str = "engine.seed";

/// The settings of a run: its experiment without the seed, by dotted keys.
type Settings = BTreeMap<String, toml::Value>;

/// A run, as its summary describes it.
struct Run {
    directory: PathBuf,
    values: Map<String, Value>,
    is_failed: bool,
}

/// Runs with the same settings.
struct Group {
    settings: Settings,
    /// The labels of the group's first run, except the label of the seed. Empty if the run is not of a sweep or a
    /// figure.
    labels: Labels,
    runs: Vec<Run>,
}

impl Group {
    /// The values of the runs that were not stopped. Only these runs count in means.
    fn complete(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.runs.iter().map(|run| &run.values).filter(|values| replicas::is_complete(values))
    }
}

/// All runs of a report, in groups.
pub(super) struct Groups(Vec<Group>);

impl Groups {
    /// Reads the summaries and the experiments of runs. The groups are in the order of their first runs. `labels` has
    /// the labels of runs that are of a sweep or a figure.
    ///
    /// # Errors
    /// If a directory is not a run directory, or if its summary has another schema version.
    pub(super) fn read(directories: &[PathBuf], labels: &BTreeMap<PathBuf, Labels>) -> Result<Self, Error> {
        let mut groups: Vec<Group> = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for directory in directories {
            let settings = settings(&directory.join(EXPERIMENT))?;
            let summary = kept_summary::read(directory)?;
            let run = Run {
                directory: directory.clone(),
                values: replicas::measures(&summary),
                is_failed: !summary["error"].is_null(),
            };
            let number = *numbers.entry(format!("{settings:?}")).or_insert(groups.len());
            match groups.get_mut(number) {
                Some(group) => group.runs.push(run),
                None => {
                    let labels = labels.get(directory).into_iter().flatten();
                    let labels = labels.filter(|(sweep, _)| sweep != SEED_SWEEP).cloned().collect();
                    groups.push(Group { settings, labels, runs: vec![run] });
                }
            }
        }
        Ok(Self(groups))
    }

    /// The directory of the first run of each group.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|group| Some(group.runs.first()?.directory.as_path()))
    }

    /// The groups as the page needs them. `detailed` are the directories of the runs that the page shows in detail.
    pub(super) fn json(&self, detailed: &[&Path]) -> Value {
        let Names { keys, labels } = self.names();
        let mean = |group: &Group, name: &str| replicas::mean(group.complete(), name);
        let shown: Vec<_> = SHOWN
            .into_iter()
            .filter(|(name, ..)| self.0.iter().any(|group| mean(group, name).is_some()))
            .collect();
        let row = |(group, labels): (&Group, Vec<Value>)| {
            let number = |&(name, _, unit): &(&str, &str, f64)| {
                let (mean, margin) = mean(group, name)?;
                Some([Some(short(mean / unit)), margin.map(|margin| short(margin / unit))])
            };
            let in_detail =
                group.runs.iter().find_map(|run| detailed.iter().position(|path| *path == run.directory));
            json!({
                "labels": labels,
                "n": group.complete().count(),
                "stopped": group.runs.len() - group.complete().count(),
                "failed": group.runs.iter().filter(|run| run.is_failed).count(),
                "directory": group.runs[0].directory.display().to_string(),
                "detail": in_detail,
                "values": shown.iter().map(number).collect::<Vec<_>>(),
            })
        };
        json!({
            "runs": self.0.iter().map(|group| group.runs.len()).sum::<usize>(),
            "keys": keys,
            "measures": shown.iter().map(|(_, heading, _)| heading).collect::<Vec<_>>(),
            "rows": self.0.iter().zip(labels).map(row).collect::<Vec<_>>(),
        })
    }

    fn names(&self) -> Names {
        self.names_of_sweep().unwrap_or_else(|| {
            let keys = distinguishing(&self.0.iter().map(|group| &group.settings).collect::<Vec<_>>());
            let labels = |group: &Group| keys.iter().map(|key| label(group.settings.get(key))).collect();
            Names { labels: self.0.iter().map(labels).collect(), keys }
        })
    }

    /// Names for the groups from their labels in sweeps. A sweep in which all groups have the same label is left out.
    /// `None` if the first group has no labels, if the groups are of different sweeps, or if two groups have the same
    /// labels.
    fn names_of_sweep(&self) -> Option<Names> {
        let first = &self.0.first()?.labels;
        let sweeps = |labels: &Labels| labels.iter().map(|(sweep, _)| sweep.clone()).collect::<Vec<_>>();
        let is_same = |group: &Group| sweeps(&group.labels) == sweeps(first);
        if first.is_empty() || !self.0.iter().all(is_same) {
            return None;
        }
        let all = |i: usize| self.0.iter().map(move |group| group.labels[i].1.as_str());
        let differing: Vec<usize> =
            (0..first.len()).filter(|&i| all(i).any(|label| label != first[i].1)).collect();
        let is_number = |i: &usize| all(*i).all(|label| label.parse::<f64>().is_ok_and(f64::is_finite));
        let numeric: BTreeSet<usize> = differing.iter().copied().filter(is_number).collect();
        let label = |group: &Group, i: usize| match &group.labels[i].1 {
            text if numeric.contains(&i) => json!(text.parse::<f64>().ok()),
            text => json!(text),
        };
        let labels: Vec<Vec<Value>> =
            self.0.iter().map(|group| differing.iter().map(|&i| label(group, i)).collect()).collect();
        let distinct: BTreeSet<String> = labels.iter().map(|labels| format!("{labels:?}")).collect();
        let keys = differing.iter().map(|&i| first[i].0.clone()).collect();
        (distinct.len() == labels.len()).then_some(Names { keys, labels })
    }
}

/// The names of groups.
struct Names {
    /// The keys or sweeps in which the groups differ.
    keys: Vec<String>,
    /// For each group, its value of each of the keys.
    labels: Vec<Vec<Value>>,
}

/// The settings in the file of an experiment, without the seed.
fn settings(path: &Path) -> Result<Settings, Error> {
    let text = fs::read_to_string(path).map_err(|error| not_a_run(path, error))?;
    let experiment: toml::Table = text.parse().map_err(|error: toml::de::Error| not_a_run(path, error))?;
    let mut settings = Settings::new();
    flatten(&mut settings, "", &experiment);
    settings.remove(SEED);
    Ok(settings)
}

fn flatten(settings: &mut Settings, prefix: &str, table: &toml::Table) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => flatten(settings, &format!("{prefix}{key}."), inner),
            _ => {
                settings.insert(format!("{prefix}{key}"), value.clone());
            }
        }
    }
}

/// Keys whose values together distinguish the groups. The keys are tried one after the other, and a key is chosen if it
/// distinguishes groups that the chosen keys do not. Keys that all groups have are tried first, and among them keys
/// with fewer dots: `scheme.routing` says more than the parameters of each routing. `folder` is tried last.
fn distinguishing(groups: &[&Settings]) -> Vec<String> {
    let all: BTreeSet<&String> = groups.iter().flat_map(|settings| settings.keys()).collect();
    let mut candidates: Vec<&String> = all.into_iter().collect();
    candidates.sort_by_key(|key| {
        let is_missing = groups.iter().any(|settings| !settings.contains_key(*key));
        (*key == FOLDER.name(), is_missing, key.matches('.').count())
    });
    let mut chosen: Vec<String> = Vec::new();
    let mut parts = vec![0_usize; groups.len()];
    let mut count = usize::from(!groups.is_empty());
    for key in candidates.into_iter().take_while(|_| !groups.is_empty()) {
        let mut numbers: BTreeMap<(usize, String), usize> = BTreeMap::new();
        let mut finer = Vec::with_capacity(groups.len());
        for (part, settings) in parts.iter().zip(groups) {
            let next = numbers.len();
            finer.push(*numbers.entry((*part, format!("{:?}", settings.get(key)))).or_insert(next));
        }
        if numbers.len() > count {
            (parts, count) = (finer, numbers.len());
            chosen.push(key.clone());
        }
        if count == groups.len() {
            break;
        }
    }
    chosen
}

/// A value as the page shows it: a number, or text.
fn label(value: Option<&toml::Value>) -> Value {
    match value {
        None => json!("-"),
        Some(toml::Value::Integer(number)) => json!(number),
        Some(toml::Value::Float(number)) => json!(number),
        Some(toml::Value::String(text)) => json!(text),
        Some(other) => json!(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, fct: f64) -> Run {
        let values = json!({ "fct_mean_us": fct, "program_makespan_ps": 2e9 });
        let values = values.as_object().expect("a table").clone();
        Run { directory: name.into(), values, is_failed: false }
    }

    fn experiment(text: &str) -> Settings {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(EXPERIMENT);
        fs::write(&path, text).expect("a file");
        settings(&path).expect("an experiment")
    }

    #[test]
    fn a_group_has_the_mean_and_the_interval_of_its_runs() {
        let settings = experiment("[engine]\nseed = 1");
        assert_eq!(settings, experiment("[engine]\nseed = 2"));
        let runs = vec![run("a", 10.0), run("b", 12.0)];
        let groups = Groups(vec![Group { settings, labels: Labels::new(), runs }]);
        let json = groups.json(&[Path::new("b")]);
        let row = &json["rows"][0];
        assert_eq!((&row["n"], &row["detail"], &json["runs"]), (&json!(2), &json!(0), &json!(2)));
        // Student's t at 95% for one degree of freedom is 12.706. The standard error of the mean of 10 and 12 is 1.
        assert_eq!(row["values"], json!([[11.0, 12.706], [2.0, 0.0]]));
        assert_eq!(json["measures"], json!(["FCT mean us", "makespan ms"]));
    }

    #[test]
    fn a_stopped_run_counts_in_no_mean() {
        let mut runs = vec![run("a", 10.0), run("b", 99.0)];
        runs[1].values.insert("complete".to_owned(), json!(false));
        let groups = Groups(vec![Group { settings: Settings::new(), labels: Labels::new(), runs }]);
        let json = groups.json(&[]);
        let row = &json["rows"][0];
        assert_eq!((&row["n"], &row["stopped"], &row["values"][0][0]), (&json!(1), &json!(1), &json!(10.0)));
    }

    #[test]
    fn groups_of_a_sweep_are_named_by_its_labels() {
        let group = |labels: [&str; 3]| {
            let sweeps = ["control", "load", "hosts"].into_iter().zip(labels);
            let labels = sweeps.map(|(sweep, label)| (sweep.to_owned(), label.to_owned())).collect();
            Group { settings: Settings::new(), labels, runs: Vec::new() }
        };
        let groups = |labels: &[[&str; 3]]| Groups(labels.iter().copied().map(group).collect());
        let names = groups(&[["pfc-only", "0.4", "8"], ["dcqcn", "0.4", "8"], ["dcqcn", "0.8", "8"]]).names();
        assert_eq!(names.keys, ["control", "load"]);
        assert_eq!(
            names.labels,
            [[json!("pfc-only"), json!(0.4)], [json!("dcqcn"), json!(0.4)], [json!("dcqcn"), json!(0.8)]]
        );
        assert!(groups(&[["a", "1", "8"], ["a", "1", "8"]]).names_of_sweep().is_none());
        let mut mixed = groups(&[["a", "1", "8"], ["b", "1", "8"]]);
        mixed.0[1].labels.clear();
        assert!(mixed.names_of_sweep().is_none());
    }

    #[test]
    fn groups_are_named_by_the_keys_in_which_they_differ() {
        let text = |routing: &str, load: &str, own: &str| {
            experiment(&format!(
                "[scheme]\nrouting = \"{routing}\"\n{own}[topology]\nleaves = 4\n[workload.arrivals]\nload = {load}"
            ))
        };
        let groups = [
            text("ecmp", "0.4", ""),
            text("ecmp", "0.8", ""),
            text("conga", "0.4", "conga.bits = 3\n"),
            text("conga", "0.8", "conga.bits = 3\n"),
        ];
        let all: Vec<&Settings> = groups.iter().collect();
        assert_eq!(distinguishing(&all), ["scheme.routing", "workload.arrivals.load"]);
        assert_eq!(distinguishing(&all[..1]), [""; 0]);
        assert_eq!(label(groups[1].get("workload.arrivals.load")), json!(0.8));
    }
}
