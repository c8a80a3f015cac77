//! Plots: the kinds of charts, and the numbers that they show.

use super::measure::{MEASURE, Measure, OF, Stat};
use super::runs::{Labels, Run, SEED, Seeds, labels_of, read_labels, replicas, spread};
use crate::experiment::keys::{self, Any, Key, Name, Named, Tables, key, keys};
use crate::experiment::{Cause, Item, Problem, Record, Section, Value};
use crate::figure::draw::{Cells, Chart, Mark, Plane, Point, Series, caption_of_samples, ccdf, cdf};
use crate::figure::size_class::SIZE_BINS;
use raddle_records::stats;
use std::collections::{BTreeMap, BTreeSet};

/// A plot of a figure.
#[derive(Debug, Clone)]
pub(super) struct Plot {
    kind: Kind,
    measure: Measure,
    at: Labels,
    /// The sweep whose labels name the curves, or the rows of a table.
    by: String,
    /// If not empty, each label of `by` has one curve for each of these named statistics.
    stats: Vec<(String, Stat)>,
    title: Option<String>,
    x_label: Option<String>,
    y_label: Option<String>,
    log_x: bool,
    log_y: bool,
}

/// A curve, or a row of a table: the measure, and the labels of its runs.
struct Curve {
    label: String,
    measure: Measure,
    at: Labels,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Distribution functions of a measure over flows or samples. The values of all seeds are pooled.
    Cdf,
    /// For each value, the share of flows or samples whose value is at least as large. This shows the tail of the
    /// distribution.
    Ccdf,
    /// A statistic against the size of flows. The flows of all seeds are pooled and divided into bins by size.
    BySize,
    /// A statistic along the labels of a sweep, with error bars over seeds. If `relative_to` is set, it is the label of
    /// a curve, and each value is divided by that curve's value at the same place. If the labels of the curves' sweep
    /// stand on the x axis, `relative_to` is one of them, and all values of a curve are divided by the curve's value
    /// there.
    Along { sweep: String, relative_to: Option<String>, mark: Mark, errors: Errors },
    /// A measure over simulated time, averaged over seeds. If `each` is not empty, each label of `by` has one curve for
    /// each of these named sets of flows or links.
    Series { each: Vec<(String, Measure)> },
    /// A table of numbers. The labels of `sweep` name the columns.
    Cells { sweep: String },
}

/// The meaning of error bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// From the least to the greatest value over seeds.
    Range,
    /// The 95% confidence interval of the mean over seeds.
    Interval,
}

keys! {
    /// A plot of a figure.
    pub(crate) PLOT = "plot" {
        /// The kind of plot.
        KIND: Name = Key::new("kind").required().of("plot", &[
            keys::Kind { name: "cdf", words: "the cumulative distribution over flows or samples", keys: &[] },
            keys::Kind { name: "ccdf", words: "the share of flows or samples whose value is at least x", keys: &[] },
            keys::Kind { name: "along", words: "curves of a statistic, with the labels of a sweep on the x axis", keys: &[&X, &RELATIVE_TO, &ERROR_BARS] },
            keys::Kind { name: "bars", words: "bars of a statistic, with the labels of a sweep on the x axis", keys: &[&X, &RELATIVE_TO, &ERROR_BARS] },
            keys::Kind { name: "by_size", words: "a statistic against the size of flows", keys: &[] },
            keys::Kind { name: "cells", words: "numbers in a table", keys: &[&X] },
            keys::Kind { name: "series", words: "a quantity over simulated time", keys: &[&EACH] },
        ]);
        /// Title of the plot. If left out, the quantity is the title.
        TITLE: String = Key::new("title").example("\"Median FCT\"");
        /// The sweep whose labels name the curves, or the rows of a table.
        BY: String = Key::new("by").or("\"scheme\"");
        /// Labels of the runs that are plotted.
        AT: Any = Key::new("at").example("{ load = \"0.6\" }");
        /// Statistics. Each curve is drawn once for each statistic. Only for the kinds `along`, `bars` and `by_size`.
        STATS: Vec<String> = Key::new("stats").example("[\"p50\", \"p99\"]");
        /// Label of the x axis. If left out, the label depends on the kind of plot.
        X_LABEL: String = Key::new("x_label").example("\"load\"");
        /// Label of the y axis. If left out, the label depends on the kind of plot.
        Y_LABEL: String = Key::new("y_label").example("\"FCT (us)\"");
        /// If true, the x axis is logarithmic.
        LOG_X: bool = Key::new("log_x").computed("true if `kind` is `by_size`, otherwise false").example("true");
        /// If true, the y axis is logarithmic.
        LOG_Y: bool = Key::new("log_y").computed("true if `kind` is `ccdf`, otherwise false").example("true");
        ..&MEASURE;
    }

    /// A set of flows or links. It has its own curve of the plot's quantity.
    PLOT_EACH = "plot.each" {
        /// Label of the curve.
        EACH_LABEL: String = Key::new("label").required().example("\"Path 1\"");
        ..&MEASURE;
    }
}

key! {
    /// The sweep whose labels are on the x axis, or name the columns of a table.
    X: String = Key::new("x").required().example("\"load\"");
    /// Label of a curve, a point or a bar. All values of the plot are divided by the values that have this label.
    RELATIVE_TO: String = Key::new("relative_to").example("\"ECMP\"");
    /// Meaning of the error bars, which exist if several seeds were run.
    ERROR_BARS: Errors = Key::new("errors").or("\"interval\"");
    /// Sets of flows or links. Each set has its own curve.
    EACH: Tables = Key::new("each").table(&PLOT_EACH).example("[{ label = \"Path 1\", where = \"link = 16->14\" }]");
}

impl Named for Errors {
    const WHAT: &'static str = "kind of error bars";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("range", Self::Range, "from the smallest to the largest value over seeds"),
        ("interval", Self::Interval, "the 95% confidence interval of the mean over seeds"),
    ];
}

impl Plot {
    pub(super) fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, &PLOT)?;
        let mut kind = match section.kind(&KIND)? {
            "cdf" => Kind::Cdf,
            "ccdf" => Kind::Ccdf,
            chosen @ ("along" | "bars") => Kind::Along {
                sweep: section.read(&X)?,
                relative_to: section.get(&RELATIVE_TO)?,
                mark: if chosen == "along" { Mark::Curves } else { Mark::Bars },
                errors: section.read(&ERROR_BARS)?,
            },
            "by_size" => Kind::BySize,
            "series" => Kind::Series { each: Vec::new() },
            _ => Kind::Cells { sweep: section.read(&X)? },
        };
        let measure = Measure::read(&mut section)?;
        let sized = measure.is_of_flows() || !matches!(kind, Kind::BySize);
        let hint = "for example: of = \"slowdown\"";
        section.ensure(sized, &OF, "a `by_size` plot needs a quantity of flows", hint)?;
        if let Kind::Series { each } = &mut kind {
            *each = read_each(section.sections(&EACH)?, &measure)?;
            let hint = "for example: of = \"throughput\"";
            let what = "a `series` plot needs a quantity over simulated time";
            section.ensure(measure.is_timed(), &OF, what, hint)?;
        } else {
            measure.ensure_closed(&section)?;
        }
        let several = matches!(kind, Kind::Along { .. } | Kind::BySize);
        let stats = if several { Stat::list(&mut section, &STATS)? } else { Vec::new() };
        let plot = Self {
            measure,
            at: read_labels(section.item(&AT))?,
            by: section.read(&BY)?,
            stats,
            title: section.get(&TITLE)?,
            x_label: section.get(&X_LABEL)?,
            y_label: section.get(&Y_LABEL)?,
            log_x: section.or(&LOG_X, matches!(kind, Kind::BySize))?,
            log_y: section.or(&LOG_Y, matches!(kind, Kind::Ccdf))?,
            kind,
        };
        section.finish()?;
        Ok(plot)
    }

    /// Returns an error if `by`, the sweep of the curves, is not one of `sweeps`, the sweeps of the runs. The sweep may
    /// be missing if the plot at `item` leaves `by` out and no other sweep could be chosen for the curves.
    pub(super) fn check_curves(&self, item: &Item, sweeps: &BTreeSet<String>) -> Result<(), Problem> {
        let is_stop = |sweep: &str| match &self.kind {
            Kind::Along { sweep: x, .. } | Kind::Cells { sweep: x } => x == sweep,
            _ => false,
        };
        let is_chosen = |sweep: &str| self.at.iter().any(|(name, _)| name == sweep);
        let left = || sweeps.iter().filter(|sweep| !is_stop(sweep) && !is_chosen(sweep) && *sweep != SEED);
        let has_key = matches!(&item.value, Value::Table(table) if table.get("by").is_some());
        if sweeps.contains(&self.by) || (!has_key && left().next().is_none()) {
            return Ok(());
        }
        let what = format!("there is no sweep called `{}`, so the plot would be empty", self.by);
        let names: Vec<_> = left().map(|sweep| format!("by = \"{sweep}\"")).collect();
        let hint = match &names[..] {
            [] => "leave `by` out".to_owned(),
            names => format!("give the name of a sweep: {}", names.join(", or ")),
        };
        Err(Problem::at(&item.at, Cause::OutOfRange { what, hint }))
    }

    /// Returns an error if no cell records the plot's quantity. The error points to `item`, the plot's entry in the
    /// experiment's text.
    pub(super) fn check_recorded(&self, item: &Item, records: &[Record]) -> Result<(), Problem> {
        self.measure.check_recorded(item, records)
    }

    /// The curves that the plot draws from `runs`.
    fn curves(&self, runs: &[Run]) -> Vec<Curve> {
        let mut labels = labels_of(runs.iter().filter(|run| run.is_at(&self.at)), &self.by);
        if self.is_along_its_curves() {
            labels.clear(); // The labels are on the x axis, so one curve covers them all.
        }
        let at = |label: &String| self.at.iter().cloned().chain([(self.by.clone(), label.clone())]).collect();
        if let Kind::Series { each } = &self.kind
            && !each.is_empty()
        {
            return self.crossed(&labels, at, each.iter().cloned());
        }
        if self.stats.is_empty() && labels.is_empty() {
            return vec![Curve { label: String::new(), measure: self.measure.clone(), at: self.at.clone() }];
        }
        if self.stats.is_empty() {
            let of =
                |label: &String| Curve { label: label.clone(), measure: self.measure.clone(), at: at(label) };
            return labels.iter().map(of).collect();
        }
        let stats = self.stats.iter().map(|(name, stat)| (name.clone(), self.measure.with(*stat)));
        self.crossed(&labels, at, stats)
    }

    /// True if the sweep of the curves is also the sweep of the x axis. Then the labels of this sweep stand on the
    /// axis, and not in the legend.
    fn is_along_its_curves(&self) -> bool {
        matches!(&self.kind, Kind::Along { sweep, .. } if *sweep == self.by)
    }

    /// One curve for each measure at each of the labels. With fewer than two labels, the curves have the names of the
    /// measures alone.
    fn crossed(
        &self,
        labels: &[String],
        at: impl Fn(&String) -> Labels,
        measures: impl Iterator<Item = (String, Measure)> + Clone,
    ) -> Vec<Curve> {
        if labels.len() < 2 {
            return measures.map(|(label, measure)| Curve { label, measure, at: self.at.clone() }).collect();
        }
        let each = |label| measures.clone().map(move |(name, measure)| (label, name, measure));
        let curve = |(label, name, measure): (&String, String, Measure)| Curve {
            label: format!("{label}, {name}"),
            measure,
            at: at(label),
        };
        labels.iter().flat_map(each).map(curve).collect()
    }

    /// True if the measure of the plot leaves out flows that never finished.
    pub(super) fn is_of_finished_flows(&self) -> bool {
        self.measure.is_of_finished_flows()
    }

    /// The chart of the plot for the figure's runs.
    pub(super) fn chart(&self, runs: &[Run]) -> Chart {
        let curves = self.curves(runs);
        match &self.kind {
            Kind::Cdf | Kind::Ccdf => {
                let is_tail = matches!(self.kind, Kind::Ccdf);
                let series = |curve: Curve| {
                    let sample = replicas(runs, &curve.at).flat_map(|run| curve.measure.sample(run, runs));
                    let mut sample: Vec<f64> = sample.collect();
                    stats::sort(&mut sample);
                    let points = if is_tail { ccdf(&sample) } else { cdf(&sample) };
                    (Series { label: curve.label, points }, sample.len())
                };
                let prefix = if is_tail { "CCDF: " } else { "" };
                let labels = (self.label(), format!("{prefix}share of {}", self.sampled()));
                let (series, sizes): (_, Vec<_>) = curves.into_iter().map(series).unzip();
                self.plane(self.note(runs, &sizes), labels, None, Mark::Curves, series)
            }
            Kind::BySize => {
                let series = |curve: Curve| {
                    let flows = replicas(runs, &curve.at).flat_map(|run| curve.measure.by_size(run, runs));
                    let flows: Vec<_> = flows.collect();
                    let count = flows.len();
                    let bins = stats::equal_count_bins(flows, SIZE_BINS);
                    let point = |(size, sample): &(f64, Vec<f64>)| {
                        Some((*size, curve.measure.stat.of(sample)?).into())
                    };
                    let points = bins.iter().filter_map(point).collect();
                    (Series { label: curve.label, points }, count)
                };
                let labels = ("size of the flow (bytes)".to_owned(), self.label());
                let (series, sizes): (_, Vec<_>) = curves.into_iter().map(series).unzip();
                self.plane(self.note(runs, &sizes), labels, None, Mark::Curves, series)
            }
            Kind::Series { .. } => {
                let series = |curve: Curve| Series { points: over_time(&curve, runs), label: curve.label };
                let labels = ("time (ms)".to_owned(), self.label());
                let series = curves.into_iter().map(series).collect();
                self.plane(self.note(runs, &[]), labels, None, Mark::Curves, series)
            }
            Kind::Along { sweep, relative_to, mark, errors } => {
                self.along(runs, &curves, sweep, relative_to.as_deref(), *mark, *errors)
            }
            Kind::Cells { sweep } => {
                let columns = labels_of(runs.iter().filter(|run| run.is_at(&self.at)), sweep);
                let cell = |curve: &Curve, column| number(curve, sweep, column, runs, Seeds::All);
                let row = |curve: &Curve| columns.iter().map(|column| cell(curve, column)).collect();
                Chart::Cells(Cells {
                    title: self.title(),
                    note: self.note(runs, &[]),
                    corner: if curves.len() > 1 { format!("{} \\ {sweep}", self.by) } else { sweep.clone() },
                    numbers: curves.iter().map(row).collect(),
                    rows: curves.into_iter().map(|curve| curve.label).collect(),
                    columns,
                })
            }
        }
    }

    fn along(
        &self,
        runs: &[Run],
        curves: &[Curve],
        sweep: &str,
        relative_to: Option<&str>,
        mark: Mark,
        errors: Errors,
    ) -> Chart {
        let stops = labels_of(runs.iter().filter(|run| run.is_at(&self.at)), sweep);
        // If all labels are numbers, points are placed at these numbers. Otherwise, and for bars, the labels are evenly
        // spaced.
        let numbers = match mark {
            Mark::Curves => stops.iter().map(|stop| stop.parse().ok()).collect::<Option<Vec<f64>>>(),
            Mark::Bars => None,
        };
        let place = |i: usize| numbers.as_ref().map_or(i as f64, |numbers| numbers[i]);
        let value = |curve: &Curve, stop: &str, seeds: Seeds<'_>| {
            let over = number(curve, sweep, stop, runs, seeds)?;
            let Some(label) = relative_to else { return Some(over) };
            let base = if self.is_along_its_curves() {
                number(curve, sweep, label, runs, seeds)
            } else {
                let base = curves.iter().find(|curve| curve.label == label)?;
                number(base, sweep, stop, runs, seeds)
            };
            Some(over / base?)
        };
        let point = |curve: &Curve, (i, stop): (usize, &String)| {
            let y = value(curve, stop, Seeds::All)?;
            let over_seeds = spread(runs, |seeds| value(curve, stop, seeds)).filter(|over| over.seeds > 1);
            let error = over_seeds.and_then(|over| match errors {
                Errors::Range => Some((over.least, over.most)),
                Errors::Interval => over.margin.map(|margin| (y - margin, y + margin)),
            });
            Some(Point { x: place(i), y, error })
        };
        let series = |curve: &Curve| {
            let points = stops.iter().enumerate().filter_map(|stop| point(curve, stop)).collect();
            Series { label: curve.label.clone(), points }
        };
        // Bar charts leave out the curve by which all others are divided, because its values are always 1.
        let is_base = |curve: &Curve| match relative_to {
            Some(label) => curve.label == label,
            None => self.measure.is_base(&self.by, &curve.label),
        };
        let shown = |curve: &&Curve| mark == Mark::Curves || !is_base(curve);
        let series = curves.iter().filter(shown).map(series).collect();
        let ticks = numbers.is_none().then(|| stops.clone());
        self.plane(self.note(runs, &[]), (sweep.to_owned(), self.label()), ticks, mark, series)
    }

    /// The name of the quantity that the plot shows, with its unit. If the plot shows a statistic other than the mean,
    /// the statistic's name is included, unless the curves name the statistics (`stats`).
    fn label(&self) -> String {
        match &self.kind {
            Kind::Cdf | Kind::Ccdf | Kind::Series { .. } => self.measure.label_of_values(),
            Kind::Along { relative_to, .. } => self.measure.label(&self.stats, relative_to.as_deref()),
            Kind::BySize | Kind::Cells { .. } => self.measure.label(&self.stats, None),
        }
    }

    /// The title of the plot. Without a title in the file, it is the quantity that the plot shows.
    fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.label())
    }

    /// The word for the values of a sample in captions and axis labels: `flows` for a quantity of flows, otherwise
    /// `samples`.
    fn sampled(&self) -> &'static str {
        if self.measure.is_of_flows() { "flows" } else { "samples" }
    }

    /// The line below the title. For distributions and plots by size, it states the number of flows or samples of each
    /// curve (`sizes`), and the number of seeds if there are several. For other plots of several seeds, it states the
    /// number of seeds, and the meaning of the error bars if the plot can have them. Otherwise, it is `None`.
    fn note(&self, runs: &[Run], sizes: &[usize]) -> Option<String> {
        let seeds =
            labels_of(runs.iter().filter(|run| run.is_at(&self.at) && !run.is_unfaithful()), SEED).len();
        // With a curve for each seed, a curve has one seed.
        let of_curve = if self.by == SEED { 1 } else { seeds };
        let caption = caption_of_samples(sizes, self.sampled(), of_curve);
        if caption.is_some() {
            return caption;
        }
        if seeds < 2 {
            return None;
        }
        let errors = match &self.kind {
            Kind::Cdf | Kind::Ccdf | Kind::BySize => return None, // Without a caption, there is no curve.
            Kind::Series { .. } | Kind::Cells { .. } => "",
            Kind::Along { errors: Errors::Range, .. } => "; error bars: range over the seeds",
            Kind::Along { errors: Errors::Interval, .. } => "; error bars: 95% confidence interval",
        };
        Some(format!("mean of n = {seeds} seeds{errors}"))
    }

    /// A chart with the title and axis labels of the plot. `x_label` and `y_label` are used where the plot's keys give
    /// no axis label.
    fn plane(
        &self,
        note: Option<String>,
        (x_label, y_label): (String, String),
        ticks: Option<Vec<String>>,
        mark: Mark,
        series: Vec<Series>,
    ) -> Chart {
        Chart::Plane(Plane {
            title: self.title(),
            note,
            x_label: self.x_label.clone().unwrap_or(x_label),
            y_label: self.y_label.clone().unwrap_or(y_label),
            ticks,
            log_x: self.log_x,
            log_y: self.log_y,
            mark,
            series,
        })
    }
}

/// The points of a curve over simulated time. Times are in milliseconds, and values are averaged over seeds. If a run
/// has several values for one time, they are summed. If only some runs have a value at a time, the others count as 0
/// there.
fn over_time(curve: &Curve, runs: &[Run]) -> Vec<Point> {
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    let mut seeds = 0;
    for run in replicas(runs, &curve.at) {
        seeds += 1;
        for (at, value) in curve.measure.series(run) {
            *sums.entry(at).or_default() += value;
        }
    }
    sums.into_iter().map(|(at, sum)| (at as f64 / 1e9, sum / f64::from(seeds)).into()).collect()
}

/// Reads named sets of flows or links, as in `[{ label = "Path_1", where = "link = 16->14" }]`. Each set gets the
/// plot's measure, limited to this set.
fn read_each(tables: Vec<Section<'_>>, measure: &Measure) -> Result<Vec<(String, Measure)>, Problem> {
    let each = |mut section: Section<'_>| {
        let each = (section.read(&EACH_LABEL)?, measure.read_of_those(&mut section)?);
        section.finish()?;
        Ok(each)
    };
    tables.into_iter().map(each).collect()
}

/// The value of a curve at the label `stop` of the sweep `sweep`. `None` if no value was measured there.
fn number(curve: &Curve, sweep: &str, stop: &str, runs: &[Run], seeds: Seeds<'_>) -> Option<f64> {
    let at: Labels = curve.at.iter().cloned().chain([(sweep.to_owned(), stop.to_owned())]).collect();
    curve.measure.number(runs, &at, seeds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;
    use crate::figure::runs::{Data, SEED};

    fn run(scheme: &str, seed: &str, number: f64) -> Run {
        let labels = [("scheme", scheme), (SEED, seed)].map(|(sweep, label)| (sweep.into(), label.into()));
        Run { labels: labels.into(), data: Data::Number(number) }
    }

    /// The plane of a plot with these keys, for two schemes that are each run with two seeds.
    fn plane(keys: &str) -> Plane {
        let x = if keys.contains("cdf") { "" } else { "x = \"scheme\"\n" };
        let text = format!("[plot]\n{x}title = \"\"\n{keys}");
        let document = Document::parse("test.toml", text, "".into()).expect("TOML");
        let plot = Plot::read(document.root.get("plot").expect("a table")).expect("a plot");
        let runs = [run("A", "1", 2.0), run("A", "2", 4.0), run("B", "1", 3.0), run("B", "2", 12.0)];
        match plot.chart(&runs) {
            Chart::Plane(plane) => plane,
            Chart::Cells(_) => panic!("no plane"),
        }
    }

    #[test]
    fn a_plot_names_the_number_of_seeds_and_its_intervals() {
        let note = |keys: &str| plane(keys).note.unwrap();
        let range = "mean of n = 2 seeds; error bars: range over the seeds";
        assert_eq!(note("kind = \"bars\"\nerrors = \"range\""), range);
        let interval = "mean of n = 2 seeds; error bars: 95% confidence interval";
        assert_eq!(note("kind = \"along\"\nerrors = \"interval\""), interval);
        let single = "kind = \"along\"\nat = { seed = \"1\" }";
        assert_eq!(plane(single).note, None);
        assert_eq!(note("kind = \"cdf\""), "each curve: n = 2 samples of 2 seeds");
        assert_eq!(note("kind = \"ccdf\"\nat = { seed = \"1\" }"), "each curve: n = 1 samples");
        let by_seed = "kind = \"cdf\"\nby = \"seed\"\nat = { scheme = \"A\" }";
        assert_eq!(note(by_seed), "each curve: n = 1 samples");
    }

    #[test]
    fn error_bars_are_intervals_unless_the_plot_says_otherwise() {
        assert!(plane("kind = \"along\"").note.is_some_and(|note| note.contains("95% confidence interval")));
        let of_a = |keys: &str| plane(keys).series[0].points[0].error.expect("two seeds");
        // At 95%, Student's t for one degree of freedom is 12.706. The standard error of the mean of 2 and 4 is 1.
        let (least, most) = of_a("kind = \"bars\"");
        assert!((least + 9.706).abs() < 1e-3 && (most - 15.706).abs() < 1e-3, "{least} to {most}");
        assert_eq!(of_a("kind = \"bars\"\nerrors = \"range\""), (2.0, 4.0));
    }

    #[test]
    fn bars_along_the_sweep_of_the_curves_stand_at_their_names() {
        let places = |keys: &str| {
            let Plane { series, ticks, .. } = plane(keys);
            assert_eq!((series.len(), series[0].label.as_str(), ticks.unwrap().len()), (1, "", 2));
            series[0].points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>()
        };
        assert_eq!(places("kind = \"bars\""), [(0.0, 3.0), (1.0, 7.5)]);
        // The ratio of the means over seeds is 2.5. The mean of the seeds' ratios would be 2.25.
        assert_eq!(places("kind = \"bars\"\nrelative_to = \"A\""), [(0.0, 1.0), (1.0, 2.5)]);
    }
}
