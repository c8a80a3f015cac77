//! Runs that differ only in their seed form a group. A report of many runs shows each group by its means, and only some
//! runs in detail.

use super::run::short;
use crate::Error;
use crate::experiment::FOLDER;
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
    runs: Vec<Run>,
}

/// All runs of a report, in groups.
pub(super) struct Groups(Vec<Group>);

impl Groups {
    /// Reads the summaries and the experiments of runs. The groups are in the order of their first runs.
    ///
    /// # Errors
    /// If a directory is not that of a run.
    pub(super) fn read(directories: &[PathBuf]) -> Result<Self, Error> {
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
                None => groups.push(Group { settings, runs: vec![run] }),
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
        let keys = distinguishing(&self.0.iter().map(|group| &group.settings).collect::<Vec<_>>());
        let mean = |group: &Group, name: &str| replicas::mean(group.runs.iter().map(|run| &run.values), name);
        let shown: Vec<_> = SHOWN
            .into_iter()
            .filter(|(name, ..)| self.0.iter().any(|group| mean(group, name).is_some()))
            .collect();
        let row = |group: &Group| {
            let number = |&(name, _, unit): &(&str, &str, f64)| {
                let (mean, margin) = mean(group, name)?;
                Some([Some(short(mean / unit)), margin.map(|margin| short(margin / unit))])
            };
            let in_detail =
                group.runs.iter().find_map(|run| detailed.iter().position(|path| *path == run.directory));
            json!({
                "labels": keys.iter().map(|key| label(group.settings.get(key))).collect::<Vec<_>>(),
                "n": group.runs.len(),
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
            "rows": self.0.iter().map(row).collect::<Vec<_>>(),
        })
    }
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
        let groups = Groups(vec![Group { settings, runs: vec![run("a", 10.0), run("b", 12.0)] }]);
        let json = groups.json(&[Path::new("b")]);
        let row = &json["rows"][0];
        assert_eq!((&row["n"], &row["detail"], &json["runs"]), (&json!(2), &json!(0), &json!(2)));
        // Student's t at 95% for one degree of freedom is 12.706. The standard error of the mean of 10 and 12 is 1.
        assert_eq!(row["values"], json!([[11.0, 12.706], [2.0, 0.0]]));
        assert_eq!(json["measures"], json!(["FCT mean us", "makespan ms"]));
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
