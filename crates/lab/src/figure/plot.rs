//! Plots: which numbers are drawn against which.

use super::draw::{Chart, Series};
use super::measure::{Labels, Measure, Run, Stat, labels_of, read_labels};
use crate::experiment::{Item, Problem, Section};
use raddle_records::stats;

/// A plot of a figure.
#[derive(Debug, Clone)]
pub(super) struct Plot {
    kind: Kind,
    measure: Measure,
    at: Labels,
    /// The sweep whose labels are the curves, or the rows.
    by: String,
    /// If there are any, these statistics of one run at each stop are the curves, by name, and not `by`.
    stats: Vec<(String, Stat)>,
    title: String,
    x_label: Option<String>,
    y_label: Option<String>,
    log_x: bool,
    log_y: bool,
}

/// A curve, or a row: what is measured, and of which runs.
struct Curve {
    label: String,
    measure: Measure,
    at: Labels,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Distribution functions.
    Cdf,
    /// A statistic along the labels of a sweep, relative to one curve if so wished.
    Along { sweep: String, relative_to: Option<String> },
    /// Numbers in cells, columns by the labels of a sweep.
    Cells { sweep: String },
}

impl Plot {
    pub(super) fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, "plot")?;
        let kinds = [("cdf", 0), ("along", 1), ("cells", 2)];
        let kind = match section.choice("kind", "plot", &kinds, None)? {
            0 => Kind::Cdf,
            1 => Kind::Along { sweep: section.required("x")?, relative_to: section.optional("relative_to")? },
            _ => Kind::Cells { sweep: section.required("x")? },
        };
        let measure = Measure::read(&mut section)?;
        let stats = if matches!(kind, Kind::Along { .. }) { Stat::list(&mut section)? } else { Vec::new() };
        let plot = Self {
            kind,
            measure,
            at: read_labels(section.item("at"))?,
            by: section.or("by", "scheme".to_owned())?,
            stats,
            title: section.required("title")?,
            x_label: section.optional("x_label")?,
            y_label: section.optional("y_label")?,
            log_x: section.or("log_x", false)?,
            log_y: section.or("log_y", false)?,
        };
        section.finish()?;
        Ok(plot)
    }

    /// The curves among the plot's runs.
    fn curves(&self, here: &[&Run]) -> Vec<Curve> {
        if self.stats.is_empty() {
            let of = |label: String| {
                let at = vec![(self.by.clone(), label.clone())];
                Curve { label, measure: self.measure.clone(), at }
            };
            return labels_of(here, &self.by).into_iter().map(of).collect();
        }
        let of = |(label, stat): &(String, Stat)| Curve {
            label: label.clone(),
            measure: self.measure.with(*stat),
            at: Labels::new(),
        };
        self.stats.iter().map(of).collect()
    }

    /// The chart of the figure's runs.
    pub(super) fn chart(&self, runs: &[Run]) -> Chart {
        let here: Vec<&Run> = runs.iter().filter(|run| run.is_at(&self.at)).collect();
        let curves = self.curves(&here);
        let find = |curve: &Curve, sweep: &str, label: &str| {
            let run = here.iter().find(|run| run.is_at(&curve.at) && run.label(sweep) == Some(label));
            run.and_then(|run| curve.measure.number(run, runs))
        };
        let of = self.measure.label();
        let y_label = self.y_label.clone();
        match &self.kind {
            Kind::Cdf => {
                let series = curves
                    .into_iter()
                    .filter_map(|curve| {
                        let run = here.iter().find(|run| run.is_at(&curve.at))?;
                        let points = thinned(stats::cdf(&curve.measure.sample(run, runs)));
                        Some(Series { label: curve.label, points })
                    })
                    .collect();
                Chart::Lines {
                    title: self.title.clone(),
                    x_label: of,
                    y_label: y_label.unwrap_or_else(|| "share of flows".to_owned()),
                    ticks: None,
                    log_x: self.log_x,
                    log_y: self.log_y,
                    series,
                }
            }
            Kind::Along { sweep, relative_to } => {
                let stops = labels_of(&here, sweep);
                // Stops that are numbers stand where they belong, others side by side.
                let numbers: Option<Vec<f64>> = stops.iter().map(|stop| stop.parse().ok()).collect();
                let place = |i: usize| numbers.as_ref().map_or(i as f64, |numbers| numbers[i]);
                let base = |stop: &str| match relative_to {
                    Some(label) => {
                        let curve = curves.iter().find(|curve| curve.label == *label)?;
                        find(curve, sweep, stop)
                    }
                    None => Some(1.0),
                };
                let series = curves
                    .iter()
                    .map(|curve| {
                        let point = |(i, stop): (usize, &String)| {
                            Some((place(i), find(curve, sweep, stop)? / base(stop)?))
                        };
                        let points = stops.iter().enumerate().filter_map(point).collect();
                        Series { label: curve.label.clone(), points }
                    })
                    .collect();
                Chart::Lines {
                    title: self.title.clone(),
                    x_label: self.x_label.clone().unwrap_or_else(|| sweep.clone()),
                    y_label: y_label.unwrap_or(of),
                    ticks: numbers.is_none().then_some(stops),
                    log_x: self.log_x,
                    log_y: self.log_y,
                    series,
                }
            }
            Kind::Cells { sweep } => {
                let columns = labels_of(&here, sweep);
                let row = |curve: &Curve| columns.iter().map(|column| find(curve, sweep, column)).collect();
                Chart::Cells {
                    title: self.title.clone(),
                    cells: curves.iter().map(row).collect(),
                    rows: curves.into_iter().map(|curve| curve.label).collect(),
                    columns,
                }
            }
        }
    }
}

/// At most a few hundred points of a distribution function: more cannot be seen.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const MOST: usize = 600;
    let count = points.len();
    let step = count.div_ceil(MOST).max(1);
    let last = count.saturating_sub(1);
    // The tail, where percentiles are read, is kept whole.
    let kept = |i: usize| i.is_multiple_of(step) || last - i < MOST / 2;
    points.into_iter().enumerate().filter(|&(i, _)| kept(i)).map(|(_, point)| point).collect()
}
