//! Draws charts as SVG and PNG. The font is embedded in the program, since the machine may have none installed.

mod axis;
mod cells;
mod legend;
mod letters;
mod plane;

use crate::Error;
use plane::Laid;
use plotters::coord::Shift;
use plotters::prelude::*;
use raddle_records::{PartFile, stats};
use std::path::Path;

/// A point of a curve, or the top of a bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The lower and the upper end of the point's error bar.
    pub(crate) error: Option<(f64, f64)>,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, error: None }
    }
}

/// The distribution function of a sorted sample. It is thinned to a few hundred points, since more points cannot be
/// seen.
pub(crate) fn cdf(sample: &[f64]) -> Vec<Point> {
    const MOST: usize = 600;
    let points = stats::cdf(sample);
    let count = points.len();
    let step = count.div_ceil(MOST).max(1);
    let last = count.saturating_sub(1);
    // All points of the tail are kept, because percentiles are read there.
    let kept = |i: usize| i.is_multiple_of(step) || last - i < MOST / 2;
    points.into_iter().enumerate().filter(|&(i, _)| kept(i)).map(|(_, point)| point.into()).collect()
}

/// A curve, or the bars of one colour.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) points: Vec<Point>,
}

/// The kind of mark that shows a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Curves,
    /// Bars, side by side around each position of the x axis.
    Bars,
}

/// The contents of a chart.
#[derive(Debug)]
pub(crate) enum Chart {
    Plane(Plane),
    Cells(Cells),
}

/// Series over a numeric x axis, or over named positions 0, 1, 2, ….
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) ticks: Option<Vec<String>>,
    pub(crate) log_x: bool,
    pub(crate) log_y: bool,
    pub(crate) mark: Mark,
    pub(crate) series: Vec<Series>,
}

/// A table of numbers. Larger numbers have darker cells.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) title: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    /// The numbers, by row and column; `None` for an empty cell.
    pub(crate) numbers: Vec<Vec<Option<f64>>>,
}

/// Okabe and Ito's palette, which red-green colour-blind readers can distinguish, followed by six colours of Tol's
/// palette.
const PALETTE: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(136, 34, 85),
    RGBColor(153, 153, 51),
    RGBColor(51, 34, 136),
    RGBColor(17, 119, 51),
    RGBColor(170, 68, 153),
];

/// Width and height of a chart without a legend above its plot, in pixels.
const SIZE: (u32, u32) = (760, 500);
/// Approximate width and height of the plot between its axes, in pixels.
const PLOT: (i32, i32) = (625, 390);
const MARGIN: u32 = 14;
const TITLE: (&str, u32) = ("sans-serif", 22);

/// Draws charts, two in a row. The format is PNG if the file's name ends in `.png`, and SVG otherwise.
#[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
pub(crate) fn draw(charts: &[Chart], file: &Path) -> Result<(), Error> {
    letters::register();
    let laid: Vec<Sheet<'_>> = charts.iter().map(Sheet::of).collect();
    let columns = laid.len().clamp(1, 2);
    let rows: Vec<&[Sheet<'_>]> = laid.chunks(columns).collect();
    let headroom = |row: &[Sheet<'_>]| row.iter().map(Sheet::headroom).max().unwrap_or(0);
    let height: u32 = rows.iter().map(|row| SIZE.1 + headroom(row)).sum();
    let size = (SIZE.0 * columns as u32, height.max(SIZE.1));
    let part = PartFile::create(file)?;
    let path = part.temporary();
    if file.extension().is_some_and(|extension| extension == "png") {
        draw_on(&BitMapBackend::new(path, size).into_drawing_area(), columns, &rows, headroom)?;
    } else {
        draw_on(&SVGBackend::new(path, size).into_drawing_area(), columns, &rows, headroom)?;
    }
    Ok(part.finish()?)
}

/// A chart that is laid out but not yet drawn. Its height depends on the position of its legend.
enum Sheet<'a> {
    Plane(Laid<'a>),
    Cells(&'a Cells),
}

impl<'a> Sheet<'a> {
    fn of(chart: &'a Chart) -> Self {
        match chart {
            Chart::Plane(plane) => Self::Plane(Laid::of(plane)),
            Chart::Cells(cells) => Self::Cells(cells),
        }
    }

    fn headroom(&self) -> u32 {
        match self {
            Self::Plane(laid) => laid.headroom(),
            Self::Cells(_) => 0,
        }
    }
}

fn failed<E: std::fmt::Display>(error: E) -> Error {
    Error::Run(format!("the figure cannot be drawn: {error}"))
}

/// Draws rows of at most `columns` charts. `headroom` is the extra height of a row for legends above the plots, in
/// pixels.
fn draw_on<B: DrawingBackend>(
    root: &DrawingArea<B, Shift>,
    columns: usize,
    rows: &[&[Sheet<'_>]],
    headroom: impl Fn(&[Sheet<'_>]) -> u32,
) -> Result<(), Error> {
    root.fill(&WHITE).map_err(failed)?;
    let mut rest = root.clone();
    for row in rows {
        let headroom = headroom(row);
        let (band, below) = rest.split_vertically(SIZE.1 + headroom);
        rest = below;
        for (area, sheet) in band.split_evenly((1, columns)).iter().zip(*row) {
            match sheet {
                Sheet::Plane(laid) => laid.draw(area, headroom)?,
                Sheet::Cells(cells) => cells::draw(area, cells)?,
            }
        }
    }
    root.present().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_drawn_with_its_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let (svg, png) = (folder.path().join("a.svg"), folder.path().join("a.png"));
        let points = [(1.0, 0.1), (100.0, 1.0)].map(Point::from).to_vec();
        let series = vec![Series { label: "R2C2".into(), points }];
        let chart = Chart::Plane(Plane {
            title: "A title".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            ticks: None,
            log_x: true,
            log_y: false,
            mark: Mark::Curves,
            series,
        });
        draw(std::slice::from_ref(&chart), &svg).expect("drawn");
        draw(&[chart], &png).expect("drawn");
        let text = std::fs::read_to_string(svg).expect("text");
        assert!(text.contains("A title") && text.contains("R2C2"));
        assert!(std::fs::metadata(png).expect("a file").len() > 2_000);
    }

    #[test]
    fn a_legend_above_a_plot_makes_the_picture_higher() {
        let folder = tempfile::tempdir().expect("a folder");
        let height = |mark| {
            let file = folder.path().join("a.svg");
            let series = vec![Series { label: "R2C2".into(), points: vec![(0.0, 1.0).into()] }];
            let plane = Plane {
                title: String::new(),
                x_label: String::new(),
                y_label: String::new(),
                ticks: Some(vec!["a".into()]),
                log_x: false,
                log_y: false,
                mark,
                series,
            };
            draw(&[Chart::Plane(plane)], &file).expect("drawn");
            let text = std::fs::read_to_string(file).expect("text");
            [500, 540].into_iter().find(|height| text.contains(&format!("height=\"{height}\"")))
        };
        assert_eq!([Mark::Curves, Mark::Bars].map(height), [Some(500), Some(540)]);
    }
}
