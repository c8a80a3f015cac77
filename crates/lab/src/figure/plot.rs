//! Plots: which numbers are drawn against which.

use super::draw::{Chart, Series};
use super::measure::{Labels, Measure, Run, labels_of, read_labels};
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
    title: String,
    y_label: Option<String>,
    log_x: bool,
    log_y: bool,
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
        let plot = Self {
            kind,
            measure: Measure::read(&mut section)?,
            at: read_labels(section.item("at"))?,
            by: section.or("by", "scheme".to_owned())?,
            title: section.required("title")?,
            y_label: section.optional("y_label")?,
            log_x: section.or("log_x", false)?,
            log_y: section.or("log_y", false)?,
        };
        section.finish()?;
        Ok(plot)
    }

    /// The chart of the figure's runs.
    pub(super) fn chart(&self, runs: &[Run]) -> Chart {
        let here: Vec<&Run> = runs.iter().filter(|run| run.is_at(&self.at)).collect();
        let curves = labels_of(&here, &self.by);
        let find = |curve: &str, sweep: &str, label: &str| {
            let run =
                here.iter().find(|run| run.label(&self.by) == Some(curve) && run.label(sweep) == Some(label));
            run.and_then(|run| self.measure.number(run))
        };
        let of = self.measure.of.label();
        let y_label = self.y_label.clone();
        match &self.kind {
            Kind::Cdf => {
                let series = curves
                    .iter()
                    .filter_map(|curve| {
                        let run = here.iter().find(|run| run.label(&self.by) == Some(curve))?;
                        let points = thinned(stats::cdf(&self.measure.sample(run)));
                        Some(Series { label: curve.clone(), points })
                    })
                    .collect();
                Chart::Lines {
                    title: self.title.clone(),
                    x_label: of.to_owned(),
                    y_label: y_label.unwrap_or_else(|| "share of flows".to_owned()),
                    ticks: None,
                    log_x: self.log_x,
                    log_y: self.log_y,
                    series,
                }
            }
            Kind::Along { sweep, relative_to } => {
                let stops = labels_of(&here, sweep);
                let base = |stop: &str| match relative_to {
                    Some(curve) => find(curve, sweep, stop),
                    None => Some(1.0),
                };
                let series = curves
                    .iter()
                    .map(|curve| {
                        let point = |(i, stop): (usize, &String)| {
                            Some((i as f64, find(curve, sweep, stop)? / base(stop)?))
                        };
                        let points = stops.iter().enumerate().filter_map(point).collect();
                        Series { label: curve.clone(), points }
                    })
                    .collect();
                Chart::Lines {
                    title: self.title.clone(),
                    x_label: sweep.clone(),
                    y_label: y_label.unwrap_or_else(|| of.to_owned()),
                    ticks: Some(stops),
                    log_x: false,
                    log_y: self.log_y,
                    series,
                }
            }
            Kind::Cells { sweep } => {
                let columns = labels_of(&here, sweep);
                let row = |curve: &String| columns.iter().map(|column| find(curve, sweep, column)).collect();
                Chart::Cells {
                    title: self.title.clone(),
                    cells: curves.iter().map(row).collect(),
                    rows: curves,
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
