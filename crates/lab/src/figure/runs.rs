//! The runs of a figure: their positions in the grid of sweeps, and the replicas that differ only in their seed.

use crate::experiment::{Cause, Entry, Item, Problem, Value, list};
use crate::run::records::{Records, is_faithful};
use raddle_records::stats;

/// The position of a run in its figure's grid: pairs of sweep and label.
pub(crate) type Labels = Vec<(String, String)>;

/// The name of the sweep over seeds. Runs that differ only in their label of this sweep are replicas of one point of
/// the grid.
pub(crate) const SEED: &str = "seed";

/// A run: its position in the grid and its results.
pub(crate) struct Run {
    pub(crate) labels: Labels,
    pub(crate) data: Data,
}

/// The results of a run.
pub(crate) enum Data {
    /// The records of flows and links.
    Records(Records),
    /// A number that a computation or a search gave.
    Number(f64),
    /// Sorted values that were measured with this machine's clock, such as times, or times in percent of an interval.
    /// They differ from run to run.
    Timings(Vec<f64>),
}

impl Run {
    /// The verdict on a live run; `None` for other runs.
    pub(super) fn verdict(&self) -> Option<&str> {
        match &self.data {
            Data::Records(records) => records.verdict.as_deref(),
            _ => None,
        }
    }

    /// True for a live run whose results depend on the speed of the machine. No number is taken from such a run.
    pub(super) fn is_unfaithful(&self) -> bool {
        self.verdict().is_some_and(|verdict| !is_faithful(verdict))
    }

    /// The labels of the run, as text.
    pub(super) fn name(&self) -> String {
        self.labels.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn label(&self, sweep: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == sweep).map(|(_, label)| label.as_str())
    }

    pub(super) fn is_at(&self, labels: &[(String, String)]) -> bool {
        labels.iter().all(|(sweep, label)| self.label(sweep) == Some(label))
    }

    /// The labels of the run without the seed: its point in the grid.
    pub(super) fn point(&self) -> impl Iterator<Item = &(String, String)> {
        self.labels.iter().filter(|(sweep, _)| sweep != SEED)
    }
}

/// The replicas (runs that differ only in their seed) at one point of the grid: the point of the first run with these
/// labels. Live runs that were not faithful are left out.
pub(super) fn replicas<'a>(runs: &'a [Run], labels: &[(String, String)]) -> impl Iterator<Item = &'a Run> {
    let here = |run: &&Run| run.is_at(labels) && !run.is_unfaithful();
    let first = runs.iter().find(here);
    runs.iter().filter(here).filter(move |run| first.is_some_and(|first| run.point().eq(first.point())))
}

/// The labels of a sweep among `runs`, in order of first occurrence.
pub(super) fn labels_of<'a>(runs: impl IntoIterator<Item = &'a Run>, sweep: &str) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for label in runs.into_iter().filter_map(|run| run.label(sweep)) {
        if !labels.iter().any(|other| other == label) {
            labels.push(label.to_owned());
        }
    }
    labels
}

/// The replicas (runs that differ only in their seed) from which a number is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seeds<'a> {
    /// All replicas.
    All,
    /// The replica with this seed, or a run without a seed.
    One(&'a str),
    /// All replicas except the replica with this seed.
    AllBut(&'a str),
}

impl Seeds<'_> {
    pub(super) fn hold(self, run: &Run) -> bool {
        match self {
            Self::All => true,
            Self::One(seed) => run.label(SEED).is_none_or(|label| label == seed),
            Self::AllBut(seed) => run.label(SEED) != Some(seed),
        }
    }
}

/// The spread of a measured value over seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The smallest value that a single seed gave.
    pub least: f64,
    /// The largest value that a single seed gave.
    pub most: f64,
    /// Half the width of the 95% confidence interval of the value over all seeds; `None` for a single seed.
    pub margin: Option<f64>,
    /// Number of seeds that gave a value.
    pub seeds: usize,
}

/// The spread of `value` over the seeds of `runs`; `None` if the runs have no seeds, or no seed gives a value.
pub(super) fn spread(runs: &[Run], value: impl Fn(Seeds<'_>) -> Option<f64>) -> Option<Spread> {
    let of_one = |seed: String| Some((value(Seeds::One(&seed))?, seed));
    let (numbers, seeds): (Vec<f64>, Vec<String>) =
        labels_of(runs, SEED).into_iter().filter_map(of_one).unzip();
    let least = numbers.iter().copied().reduce(f64::min)?;
    let most = numbers.iter().copied().reduce(f64::max)?;
    Some(Spread { least, most, margin: margin(&seeds, value), seeds: seeds.len() })
}

/// Half the width of the 95% confidence interval of `value`, by the jackknife: each seed in turn is left out. For a
/// mean, this is the usual interval. For a ratio of means, the usual interval over the ratios of single seeds would be
/// wrong: a seed with a denominator near 0 would outweigh all others.
fn margin(seeds: &[String], value: impl Fn(Seeds<'_>) -> Option<f64>) -> Option<f64> {
    let (count, whole) = (seeds.len() as f64, value(Seeds::All)?);
    let share = |seed: &String| Some(count * whole - (count - 1.0) * value(Seeds::AllBut(seed))?);
    stats::margin(&seeds.iter().map(share).collect::<Option<Vec<_>>>()?)
}

/// Reads the labels that a run must have, such as `{ tau = "1 us" }`.
pub(super) fn read_labels(item: Option<&Item>) -> Result<Labels, Problem> {
    let label = |entry: &Entry| Ok((entry.key.clone(), label(&entry.item)?));
    entries(item, "a table such as { tau = \"1 us\" }")?.iter().map(label).collect()
}

/// Reads lists of labels such as `{ load = ["0.4", "0.6"] }`, and gives the points of the grid that they span. The last
/// sweep varies fastest.
pub(super) fn read_points(item: Option<&Item>) -> Result<Vec<Labels>, Problem> {
    let mut points = vec![Labels::new()];
    for entry in entries(item, "a table such as { load = [\"0.4\", \"0.6\"] }")? {
        let labels = list(&entry.item)?.iter().map(label).collect::<Result<Vec<_>, _>>()?;
        let with = |point: &Labels, label: &String| {
            point.iter().cloned().chain([(entry.key.clone(), label.clone())]).collect()
        };
        points = points.iter().flat_map(|point| labels.iter().map(move |label| with(point, label))).collect();
    }
    Ok(points)
}

fn entries<'a>(item: Option<&'a Item>, expected: &'static str) -> Result<&'a [Entry], Problem> {
    match item.map(|item| (item, &item.value)) {
        None => Ok(&[]),
        Some((_, Value::Table(table))) => Ok(&table.entries),
        Some((item, other)) => {
            Err(Problem::at(&item.at, Cause::WrongType { expected, found: other.kind().to_owned() }))
        }
    }
}

fn label(item: &Item) -> Result<String, Problem> {
    match &item.value {
        Value::String(label) => Ok(label.clone()),
        other => Err(Problem::at(
            &item.at,
            Cause::WrongType { expected: "a label", found: other.kind().to_owned() },
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_ratio_of_means_is_not_that_of_the_seeds_ratios() {
        // The denominator of the third seed is near 0.
        let pairs = [(10.0, 10.0), (9.0, 10.0), (1.0, 0.1)];
        let run = |seed: usize| Run {
            labels: vec![(SEED.to_owned(), seed.to_string())],
            data: Data::Number(seed as f64),
        };
        let runs: Vec<Run> = (0..pairs.len()).map(run).collect();
        let ratio = |seeds: Seeds<'_>| {
            let kept = runs.iter().zip(pairs).filter(|(run, _)| seeds.hold(run)).map(|(_, pair)| pair);
            let (above, below) = kept.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            Some(above / below)
        };
        let over = spread(&runs, ratio).expect("seeds");
        assert_eq!((over.least, over.most, over.seeds), (0.9, 10.0, 3));
        let margin = over.margin.expect("several seeds");
        assert!((0.1..1.0).contains(&margin), "{margin}");
        assert!(stats::margin(&[1.0, 0.9, 10.0]).is_some_and(|of_ratios| of_ratios > 10.0));
    }
}
