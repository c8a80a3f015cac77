//! Compares finished runs side by side.

use crate::figure::draw::{
    Chart, Look, Mark, Plane, Point, Series, caption_of_samples, cdf, draw, ensure_picture,
};
use crate::figure::size_class::{SIZE_BINS, SizeClass};
use crate::notation;
use crate::run::directory;
use crate::run::kept_summary::{self, not_a_run};
use crate::run::records::Records;
use crate::sweep::replicas::PAUSES;
use crate::{Error, table};
use raddle_records::{Table, stats};
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// The kind of a value. It decides whether the table also shows the value divided by the value of the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A result, such as a time, a rate or a count of drops: the quotient is shown.
    Measured,
    /// A result that is a share of 1 in the summary and a percentage in the table: the quotient is shown.
    Share,
    /// The seed, a number of flows, or the digest of the results: no quotient is shown.
    Given,
}

/// Rows above the rows of the size classes: JSON pointer in `summary.json`, name of the row, kind of the value.
const RUN: [(&str, &str, Kind); 3] = [
    ("/seed", "seed", Kind::Given),
    ("/flows", "flows", Kind::Given),
    ("/delivered", "delivered", Kind::Given),
];

/// Rows for each size class: key in the class's entry of `summary.json`, name of the row, kind of the value.
const CLASS: [(&str, &str, Kind); 11] = [
    ("flows", "finished", Kind::Given),
    ("unfinished", "unfinished", Kind::Given),
    ("fct_mean_us", "FCT mean us", Kind::Measured),
    ("fct_p50_us", "FCT p50 us", Kind::Measured),
    ("fct_p95_us", "FCT p95 us", Kind::Measured),
    ("fct_p99_us", "FCT p99 us", Kind::Measured),
    ("slowdown_mean", "slowdown mean", Kind::Measured),
    ("slowdown_p50", "slowdown p50", Kind::Measured),
    ("slowdown_p95", "slowdown p95", Kind::Measured),
    ("slowdown_p99", "slowdown p99", Kind::Measured),
    ("goodput_mean_gbps", "goodput mean Gbps", Kind::Measured),
];

/// Rows below the rows of the size classes: JSON pointer in `summary.json`, name of the row, kind of the value.
const FABRIC: [(&str, &str, Kind); 7] = [
    ("/peak_queue_p99_bytes", "peak queue p99 B", Kind::Measured),
    ("/peak_queue_max_bytes", "peak queue max B", Kind::Measured),
    ("/drops", "drops", Kind::Measured),
    ("/flow_control/pauses", "pauses", Kind::Measured),
    ("/flow_control/paused_share_mean", "paused share %", Kind::Share),
    ("/totals/data/packets", "data packet-hops", Kind::Measured),
    ("/digest", "digest", Kind::Given),
];

/// Rows at the end of the table: the tier of the switches, and the name of the row.
const IMBALANCE: [(u64, &str); 2] =
    [(1, "imbalance of uplinks, tier 1"), (2, "imbalance of uplinks, tier 2")];

/// The text below the table. It explains the numbers in brackets, the terms FCT and slowdown, and the percentiles.
const DEFINITIONS: &str = "
In brackets: the value divided by the value of the first run.
FCT: time from the moment a flow is handed to the transport until its last byte is delivered in order.
Slowdown: FCT divided by the FCT of the flow alone on one shortest path. Percentiles use the nearest rank, over finished flows.
";

/// A row of the comparison, with one value for each run.
struct Line {
    /// The size class of the row's flows; `None` for a row about the whole run.
    class: Option<&'static str>,
    name: &'static str,
    kind: Kind,
    values: Vec<Value>,
}

impl Line {
    /// The value divided by the value of the first run. `None` for the first run, for a [`Kind::Given`] value, for a
    /// missing value and for a division by 0.
    fn ratio(&self, run: usize) -> Option<f64> {
        let number = |run: usize| self.values[run].as_f64();
        let (first, this) = (number(0)?, number(run)?);
        (self.kind != Kind::Given && run > 0 && first != 0.0).then(|| this / first)
    }
}

/// Finished runs side by side. `Display` formats them as a text table.
pub struct Comparison {
    names: Vec<String>,
    directories: Vec<PathBuf>,
    summaries: Vec<Value>,
    differences: Vec<String>,
}

impl Comparison {
    /// Reads run directories, and compares the first run with each of the others.
    ///
    /// # Errors
    /// If one of the directories is not a run directory, or if its files cannot be read.
    pub fn read(directories: &[&Path]) -> Result<Self, Error> {
        let summaries =
            directories.iter().map(|path| kept_summary::read(path)).collect::<Result<Vec<_>, _>>()?;
        let mut comparison = Self {
            names: names(directories),
            directories: directories.iter().map(|path| path.to_path_buf()).collect(),
            summaries,
            differences: Vec::new(),
        };
        let flows = directories.iter().map(|path| flows(path)).collect::<Result<Vec<_>, _>>()?;
        comparison.note("flows", |run| same_flows(&flows[0], &flows[run]));
        let fabrics = directories.iter().map(|path| fabric(path)).collect::<Result<Vec<_>, _>>()?;
        comparison.note("topologies", |run| fabrics[0] == fabrics[run]);
        Ok(comparison)
    }

    /// The names of the runs that failed because they delivered no flow, each with the error in the run's summary.
    #[must_use]
    pub fn failures(&self) -> Vec<(&str, &Value)> {
        let errors =
            self.names.iter().zip(&self.summaries).map(|(name, summary)| (name.as_str(), &summary["error"]));
        errors.filter(|(_, error)| !error.is_null()).collect()
    }

    /// Adds a note with the names of the runs that differ from the first run in `what`, unless there are none.
    /// `like_first` returns true for a run that does not differ.
    fn note(&mut self, what: &str, like_first: impl Fn(usize) -> bool) {
        let others = (1..self.names.len()).filter(|&run| !like_first(run));
        let others: Vec<_> = others.map(|run| self.names[run].as_str()).collect();
        if let (Some(first), false) = (self.names.first(), others.is_empty()) {
            self.differences.push(format!(
                "the {what} of {first} differ from the {what} of these runs: {}",
                others.join(", ")
            ));
        }
    }

    fn lines(&self) -> Vec<Line> {
        let line = |class, name, kind, pointer: &str| {
            let value = |summary: &Value| match summary.pointer(pointer) {
                Some(share) if kind == Kind::Share => json!(share.as_f64().map(|share| share * 100.0)),
                value => value.cloned().unwrap_or(Value::Null),
            };
            Line { class, name, kind, values: self.summaries.iter().map(value).collect() }
        };
        let mut lines: Vec<_> =
            RUN.iter().map(|&(pointer, name, kind)| line(None, name, kind, pointer)).collect();
        for (i, class) in SizeClass::WITH_ALL.iter().enumerate() {
            let of_class = |&(key, name, kind): &(&str, &'static str, Kind)| {
                line(Some(class.name), name, kind, &format!("/classes/{i}/{key}"))
            };
            lines.extend(CLASS.iter().map(of_class));
        }
        lines.extend(FABRIC.iter().map(|&(pointer, name, kind)| line(None, name, kind, pointer)));
        lines.extend(IMBALANCE.map(|(tier, name)| {
            let values = self.summaries.iter().map(|summary| imbalance(summary, tier)).collect();
            Line { class: None, name, kind: Kind::Measured, values }
        }));
        lines.retain(|line| line.values.iter().any(|value| !value.is_null()));
        lines
    }

    /// A JSON document with the runs' summaries, the differences of flows and topologies between runs, and the rows of
    /// the table. For measured values, it also contains the ratios to the value of the first run.
    #[must_use]
    pub fn json(&self) -> Value {
        let runs: Vec<_> = (0..self.names.len())
            .map(|i| json!({ "run": self.names[i], "summary": self.summaries[i] }))
            .collect();
        let line = |line: &Line| {
            let ratios: Vec<_> = (0..line.values.len()).map(|run| line.ratio(run)).collect();
            json!({
                "class": line.class, "measure": line.name, "values": line.values, "over_first": ratios,
            })
        };
        let lines: Vec<_> = self.lines().iter().map(line).collect();
        json!({ "runs": runs, "differences": self.differences, "measures": lines })
    }

    /// Plots p50 and p99 of slowdown against flow size, and the distribution of FCTs in the classes of the smallest and
    /// the largest flows. In each chart, each run has one curve. A class without finished flows gets no chart.
    /// `look` sets the style of the charts.
    ///
    /// # Errors
    /// If a run's records cannot be read, if the file's name does not end in `.svg`, `.png`, `.pdf` or `.html`, or if the file
    /// cannot be written.
    pub fn plot(&self, file: &Path, look: Look) -> Result<(), Error> {
        ensure_picture(file)?;
        let records = self.directories.iter().map(|path| Records::read(path, 0.0));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        let series = |points: &dyn Fn(&Records) -> Vec<Point>| -> Vec<Series> {
            let named = self.names.iter().zip(&records);
            named.map(|(name, records)| Series { label: name.clone(), points: points(records) }).collect()
        };
        let note = |count: &dyn Fn(&Records) -> usize| {
            caption_of_samples(&records.iter().map(count).collect::<Vec<_>>(), "flows", 1)
        };
        let mut charts = Vec::new();
        for p in [50.0, 99.0] {
            let title = format!("p{p} slowdown of flows by size, up to {SIZE_BINS} bins");
            let words = [
                title.as_str(),
                "size of the flow (bytes)",
                "slowdown: FCT divided by the FCT of the flow alone",
            ];
            let note = note(&|records| fcts(records, SizeClass::WITH_ALL[0]).len());
            charts.push(chart(words, note, true, series(&|records| by_size(records, p))));
        }
        for class in [SizeClass::PARTS[0], SizeClass::PARTS[2]] {
            let series = series(&|records| cdf(&fcts(records, class)));
            if series.iter().all(|curve| curve.points.is_empty()) {
                continue;
            }
            let title = format!("Flows {}", class.name);
            charts.push(chart(
                [title.as_str(), "flow completion time (us)", "share of flows"],
                note(&|records| fcts(records, class).len()),
                false,
                series,
            ));
        }
        draw(&charts, look, file)
    }
}

/// A chart with the given title and axis labels, and with `note`, if any, below the title. The x axis is logarithmic.
/// The y axis is logarithmic if `log_y` is true.
fn chart(
    [title, x_label, y_label]: [&str; 3],
    note: Option<String>,
    log_y: bool,
    series: Vec<Series>,
) -> Chart {
    Chart::Plane(Plane {
        title: title.to_owned(),
        note,
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        ticks: None,
        log_x: true,
        log_y,
        mark: Mark::Curves,
        series,
    })
}

/// The `p`-th percentile of slowdown against flow size in bytes, over finished flows. The flows are divided into up to
/// [`SIZE_BINS`] bins with about the same number of flows. Bins with the same median size are merged.
pub(crate) fn by_size(records: &Records, p: f64) -> Vec<Point> {
    let flows = records.flows.iter().filter_map(|flow| Some((flow.size as f64, flow.slowdown?)));
    let bins = stats::equal_count_bins(flows.collect(), SIZE_BINS);
    bins.iter().filter_map(|(size, sample)| Some((*size, stats::percentile(sample, p)?).into())).collect()
}

/// The FCTs of the finished flows of a size class in microseconds, sorted.
pub(crate) fn fcts(records: &Records, class: SizeClass) -> Vec<f64> {
    let flows = records.flows.iter().filter(|flow| class.holds(flow.size));
    let mut sample: Vec<f64> = flows.filter_map(|flow| flow.fct_us).collect();
    stats::sort(&mut sample);
    sample
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![[String::new()].iter().chain(&self.names).cloned().collect::<Vec<_>>()];
        let mut class = None;
        for line in self.lines() {
            if line.class != class {
                class = line.class;
                rows.extend(class.map(|class| vec![class.to_owned()]));
            }
            let name = if class.is_some() { format!("  {}", line.name) } else { line.name.to_owned() };
            let cell = |(run, value)| {
                let ratio = line.ratio(run).map_or(String::new(), |ratio| format!(" ({ratio:.2})"));
                shown(value) + &ratio
            };
            rows.push([name].into_iter().chain(line.values.iter().enumerate().map(cell)).collect());
        }
        f.write_str(&table(&rows))?;
        f.write_str(DEFINITIONS)?;
        if self.summaries.iter().any(|summary| !summary["flow_control"].is_null()) {
            f.write_str(PAUSES)?;
        }
        for difference in &self.differences {
            write!(f, "\nthe runs are not of the same experiment: {difference}")?;
        }
        for (name, error) in self.failures() {
            write!(f, "\n{name} failed: {}", error["message"].as_str().unwrap_or_default())?;
        }
        Ok(())
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => notation::shown(number),
            None => number.to_string(),
        },
        Value::String(text) => text.chars().take(12).collect(),
        _ => "-".to_owned(),
    }
}

/// The directories' names, or their whole paths if two names are equal.
fn names(directories: &[&Path]) -> Vec<String> {
    let own = |path: &&Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let names: Vec<String> = directories.iter().map(own).collect();
    let twice = (1..names.len()).any(|i| names[..i].contains(&names[i]));
    if twice { directories.iter().map(|path| path.display().to_string()).collect() } else { names }
}

/// The mean imbalance of the uplinks of switches in a tier, from the run's summary. Null if the summary has no
/// imbalance for this tier.
fn imbalance(summary: &Value, tier: u64) -> Value {
    let tiers = summary["imbalance"].as_array().map_or(&[][..], Vec::as_slice);
    let of_tier = tiers.iter().find(|entry| entry["tier"] == tier);
    of_tier.map_or(Value::Null, |entry| entry["mean"].clone())
}

/// The section `[topology]` of the experiment file in the run directory. Keys that the user left out have their
/// defaults there. `None` if there is no such section.
fn fabric(directory: &Path) -> Result<Option<toml::Value>, Error> {
    let path = directory.join(directory::EXPERIMENT);
    let text = std::fs::read_to_string(&path).map_err(|error| not_a_run(&path, error))?;
    let experiment: toml::Table = text.parse().map_err(|error: toml::de::Error| not_a_run(&path, error))?;
    Ok(experiment.get("topology").cloned())
}

/// The ID, source, destination, size (bytes) and start (ps) of each flow that started, sorted by ID.
fn flows(directory: &Path) -> Result<Vec<[u64; 5]>, Error> {
    let table = Table::read(&directory.join(directory::FLOWS))?;
    let columns = ["flow", "src", "dst", "size_bytes", "start_ps"].map(|name| table.integers(name));
    let [ids, srcs, dsts, sizes, starts] = columns;
    let columns = [ids?, srcs?, dsts?, sizes?, starts?];
    let flow = |row: usize| columns.map(|column| column[row].unwrap_or_default());
    let mut flows: Vec<_> = (0..table.rows).map(flow).collect();
    flows.sort_unstable();
    Ok(flows)
}

/// True if the flows of one run are the first flows of the other run, or the runs have equal flows.
fn same_flows(a: &[[u64; 5]], b: &[[u64; 5]]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_ended_early_saw_the_same_flows_as_far_as_they_went() {
        let flows = [[0, 1, 2, 1_000, 5], [1, 2, 1, 2_000, 6]];
        assert!(same_flows(&flows, &flows[..1]));
        assert!(!same_flows(&flows, &[[0, 1, 2, 1_001, 5]]));
    }

    #[test]
    fn imbalance_is_that_of_the_tier() {
        let summary = json!({ "imbalance": [{ "tier": 2, "samples": 7, "mean": 0.5 }] });
        assert_eq!([1, 2].map(|tier| imbalance(&summary, tier)), [Value::Null, json!(0.5)]);
        assert_eq!(imbalance(&json!({}), 1), Value::Null);
    }

    #[test]
    fn pauses_are_rows_if_a_run_has_flow_control() {
        let summaries = vec![
            json!({ "drops": 1 }),
            json!({ "drops": 1, "flow_control": { "pauses": 7, "paused_share_mean": 0.034 } }),
        ];
        let mut comparison = Comparison {
            names: vec!["a".to_owned(), "b".to_owned()],
            directories: Vec::new(),
            summaries,
            differences: Vec::new(),
        };
        let rows: Vec<_> = comparison.lines().into_iter().map(|line| (line.name, line.values)).collect();
        let expected = [("drops", [json!(1), json!(1)]), ("pauses", [Value::Null, json!(7)])];
        assert_eq!(rows[..2], expected.map(|(name, values)| (name, values.into())));
        assert!(rows[2].0 == "paused share %" && rows[2].1[0].is_null(), "{rows:?}");
        assert!((rows[2].1[1].as_f64().expect("a number") - 3.4).abs() < 1e-9, "{rows:?}");
        assert!(comparison.to_string().contains("Paused share: "));
        comparison.summaries.truncate(1);
        comparison.names.truncate(1);
        assert!(!comparison.to_string().to_lowercase().contains("pause"));
    }

    #[test]
    fn runs_of_one_name_are_called_by_their_paths() {
        let paths = [Path::new("a/run"), Path::new("b/run"), Path::new("c")];
        assert_eq!(names(&paths), ["a/run", "b/run", "c"]);
        assert_eq!(names(&paths[1..]), ["run", "c"]);
    }

    #[test]
    fn only_measured_numbers_are_compared_with_the_first_run() {
        let line = |kind, values: [Value; 3]| Line { class: None, name: "", kind, values: values.into() };
        let measured = line(Kind::Measured, [json!(2), json!(3.0), Value::Null]);
        assert_eq!([0, 1, 2].map(|run| measured.ratio(run)), [None, Some(1.5), None]);
        assert_eq!(line(Kind::Given, [json!(2), json!(3), json!(4)]).ratio(1), None);
        assert_eq!(line(Kind::Measured, [json!(0), json!(3), json!(4)]).ratio(1), None);
    }
}
