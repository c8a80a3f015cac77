//! Draws charts as SVG, PNG, PDF and HTML. The font is embedded in the program, since the machine may have none installed.

mod axis;
mod bitmap;
mod cells;
mod file;
mod html;
mod legend;
mod letters;
mod pdf;
mod plane;
mod stroke;
mod style;

pub(crate) use file::ensure_picture;
pub(crate) use style::LOOK;
pub use style::{Look, Style};

use crate::Error;
use file::Format;
use plane::Laid;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use raddle_records::stats;
use std::path::Path;
use style::Sizes;

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

/// The distribution function of a sorted sample. It is thinned to at most about 900 points, since more points cannot be
/// seen.
pub(crate) fn cdf(sample: &[f64]) -> Vec<Point> {
    const MOST: usize = 600;
    let points = stats::cdf(sample);
    let count = points.len();
    let step = count.div_ceil(MOST).max(1);
    let last = count.saturating_sub(1);
    // All points of the tail, which are the last 300, are kept, because high percentiles are read there.
    let kept = |i: usize| i.is_multiple_of(step) || last - i < MOST / 2;
    points.into_iter().enumerate().filter(|&(i, _)| kept(i)).map(|(_, point)| point.into()).collect()
}

/// The caption of a chart with a curve for each sample. It states the number of values in a sample and the number of
/// seeds that gave them. `what` names the values, and `sizes` are the sizes of the samples. `None` without samples.
pub(crate) fn caption_of_samples(sizes: &[usize], what: &str, seeds: usize) -> Option<String> {
    let (least, most) = (sizes.iter().min()?, sizes.iter().max()?);
    let each = if sizes.len() > 1 { "each curve: " } else { "" };
    let count = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let of_seeds = if seeds > 1 { format!(" of {seeds} seeds") } else { String::new() };
    Some(format!("{each}n = {count} {what}{of_seeds}"))
}

/// For each value of a sorted sample, the share of the sample that is at least as large. The share of the largest value
/// is not 0, so a logarithmic axis can show it. The values are thinned as in [`cdf`], and a share includes the omitted
/// values just below its value.
pub(crate) fn ccdf(sample: &[f64]) -> Vec<Point> {
    let mut above = 1.0;
    let at_least = |Point { x, y, .. }: Point| (x, std::mem::replace(&mut above, 1.0 - y)).into();
    cdf(sample).into_iter().map(at_least).collect()
}

/// A curve, or the bars of one color.
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
    /// A line below the title, such as the number of seeds over which the points are averaged.
    pub(crate) note: Option<String>,
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
    /// A line below the title.
    pub(crate) note: Option<String>,
    /// The words in the corner: the names of the sweeps of the rows and of the columns, or only the latter for a single
    /// row.
    pub(crate) corner: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    /// The numbers, by row and column; `None` for an empty cell.
    pub(crate) numbers: Vec<Vec<Option<f64>>>,
}

/// Color of words that explain others: the note below a title, and the corner of a table.
const GREY: RGBColor = RGBColor(90, 90, 90);

/// Draws charts in rows. The ending of the file's name gives the format.
///
/// # Errors
/// If the ending is not `.svg`, `.png`, `.pdf` or `.html`, if a PNG picture has too many pixels, or if the file cannot be drawn
/// or written.
#[allow(clippy::cast_possible_truncation, reason = "a figure has few columns")]
pub(crate) fn draw(charts: &[Chart], look: Look, file: &Path) -> Result<(), Error> {
    letters::register();
    let format = Format::of(file)?;
    let dpi = format.dpi(look);
    let sizes = look.sizes(dpi);
    let laid: Vec<Sheet<'_>> = charts.iter().map(|chart| Sheet::of(chart, &sizes)).collect();
    let columns = laid.len().clamp(1, sizes.columns);
    let rows: Vec<Row<'_>> = laid.chunks(columns).map(|sheets| Row::of(sheets, &sizes)).collect();
    let height: i32 = rows.iter().map(|row| row.height).sum();
    let size = (sizes.chart.0.unsigned_abs() * columns as u32, height.max(sizes.chart.1).unsigned_abs());
    format.write(file, size, dpi, Picture { charts, rows: &rows, columns, sizes: &sizes })
}

/// Charts that are laid out in rows.
#[derive(Clone, Copy)]
struct Picture<'a> {
    charts: &'a [Chart],
    rows: &'a [Row<'a>],
    columns: usize,
    sizes: &'a Sizes,
}

/// A row of charts.
struct Row<'a> {
    sheets: &'a [Sheet<'a>],
    /// Height of the legends above the plots, in pixels.
    headroom: i32,
    height: i32,
}

impl<'a> Row<'a> {
    fn of(sheets: &'a [Sheet<'a>], sizes: &Sizes) -> Self {
        let headroom = sheets.iter().map(Sheet::headroom).max().unwrap_or(0);
        Self { sheets, headroom, height: sizes.chart.1 + sizes.height_added_by(headroom) }
    }
}

/// A chart that is laid out but not yet drawn. Its height depends on the position of its legend.
enum Sheet<'a> {
    Plane(Box<Laid<'a>>),
    Cells(&'a Cells),
}

impl<'a> Sheet<'a> {
    fn of(chart: &'a Chart, sizes: &'a Sizes) -> Self {
        match chart {
            Chart::Plane(plane) => Self::Plane(Laid::of(plane, sizes).into()),
            Chart::Cells(cells) => Self::Cells(cells),
        }
    }

    fn headroom(&self) -> i32 {
        match self {
            Self::Plane(laid) => laid.headroom(),
            Self::Cells(_) => 0,
        }
    }
}

fn failed<E: std::fmt::Display>(error: E) -> Error {
    Error::Run(format!("the figure cannot be drawn: {error}"))
}

impl Picture<'_> {
    fn draw<B: DrawingBackend>(self, root: &DrawingArea<B, Shift>) -> Result<(), Error> {
        root.fill(&WHITE).map_err(failed)?;
        let mut rest = root.clone();
        for row in self.rows {
            let (band, below) = rest.split_vertically(row.height);
            rest = below;
            for (area, sheet) in band.split_evenly((1, self.columns)).iter().zip(row.sheets) {
                match sheet {
                    Sheet::Plane(laid) => laid.draw(area, row.headroom)?,
                    Sheet::Cells(cells) => cells::draw(area, cells, self.sizes)?,
                }
            }
        }
        root.present().map_err(failed)
    }
}

/// Draws the title of a chart and the note below it. Returns the rest of the area, within the margins.
fn header<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    (title, note): (&str, Option<&str>),
    sizes: &Sizes,
) -> Result<DrawingArea<B, Shift>, Error> {
    let margin = sizes.margin;
    let area = area.margin(margin, margin, margin, margin);
    let width = area.dim_in_pixel().0.cast_signed();
    let lines = [(title, sizes.title, BLACK), (note.unwrap_or_default(), sizes.letters, GREY)];
    let mut y = 0;
    for (text, most, colour) in lines {
        let size = letters::fitting([text], width, (sizes.smallest, most));
        let style = letters::font(size).color(&colour).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(text.to_owned(), (width / 2, y), style)).map_err(failed)?;
        y += Sizes::line_of(most);
    }
    Ok(area.margin(header_height(note, sizes), 0, 0, 0))
}

/// Height of a chart's title and of the note below it, in pixels.
fn header_height(note: Option<&str>, sizes: &Sizes) -> i32 {
    Sizes::line_of(sizes.title) + note.map_or(0, |_| Sizes::line_of(sizes.letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_ends_at_the_share_of_the_largest_value() {
        let points: Vec<_> = ccdf(&[1.0, 2.0, 2.0, 5.0]).iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(1.0, 1.0), (2.0, 0.75), (5.0, 0.25)]);
    }

    #[test]
    fn a_chart_is_drawn_with_its_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let [svg, png, pdf, html] =
            ["a.svg", "a.png", "a.pdf", "a.html"].map(|name| folder.path().join(name));
        let points = [(1.0, 0.1), (100.0, 1.0)].map(Point::from).to_vec();
        let series = vec![Series { label: "R2C2".into(), points }];
        let chart = Chart::Plane(Plane {
            title: "A title".into(),
            note: Some("mean over n = 3 seeds".into()),
            x_label: "x".into(),
            y_label: "y".into(),
            ticks: None,
            log_x: true,
            log_y: false,
            mark: Mark::Curves,
            series,
        });
        let draw = |file: &Path| draw(std::slice::from_ref(&chart), Look::default(), file).expect("drawn");
        [&svg, &png, &pdf, &html].into_iter().for_each(|file| draw(file));
        let text = std::fs::read_to_string(svg).expect("text");
        assert!(text.contains("A title") && text.contains("R2C2") && text.contains("n = 3"));
        let page = std::fs::read_to_string(html).expect("text");
        assert!(
            page.contains("<svg role=\"img\"") && page.contains("<td>R2C2</td><td>100</td><td>1</td>"),
            "{page}"
        );
        assert!(std::fs::read(&pdf).expect("a file").starts_with(b"%PDF-"));
        for file in [&png, &pdf] {
            let bytes = std::fs::read(file).expect("a file");
            assert!(bytes.len() > 2_000);
            draw(file);
            assert_eq!(std::fs::read(file).expect("a file"), bytes, "the same picture has the same bytes");
        }
    }

    #[test]
    fn a_legend_above_a_plot_makes_the_picture_higher_unless_it_is_a_slide() {
        let folder = tempfile::tempdir().expect("a folder");
        let height = |mark, style| {
            let file = folder.path().join("a.svg");
            let series = vec![Series { label: "R2C2".into(), points: vec![(0.0, 1.0).into()] }];
            let plane = Plane {
                title: String::new(),
                note: None,
                x_label: String::new(),
                y_label: String::new(),
                ticks: Some(vec!["a".into()]),
                log_x: false,
                log_y: false,
                mark,
                series,
            };
            draw(&[Chart::Plane(plane)], Look { style: Some(style), ..Look::default() }, &file)
                .expect("drawn");
            let text = std::fs::read_to_string(file).expect("text");
            [500, 540, 720].into_iter().find(|height| text.contains(&format!("height=\"{height}\"")))
        };
        assert_eq!(
            [Mark::Curves, Mark::Bars].map(|mark| height(mark, Style::Screen)),
            [Some(500), Some(540)]
        );
        assert_eq!(height(Mark::Bars, Style::Slides), Some(720));
    }
}
