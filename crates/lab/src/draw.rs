//! Drawing charts as SVG and PNG. Fonts come with the program: a fresh machine may have none.

use crate::Error;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use raddle_records::stats;
use std::ops::Range;
use std::path::Path;
use std::sync::Once;

/// A point of a curve, or the top of a bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The ends of its error bar.
    pub(crate) error: Option<(f64, f64)>,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, error: None }
    }
}

/// The distribution function of a sorted sample, at most a few hundred points of it: more cannot be seen.
pub(crate) fn cdf(sample: &[f64]) -> Vec<Point> {
    const MOST: usize = 600;
    let points = stats::cdf(sample);
    let count = points.len();
    let step = count.div_ceil(MOST).max(1);
    let last = count.saturating_sub(1);
    // The tail, where percentiles are read, is kept whole.
    let kept = |i: usize| i.is_multiple_of(step) || last - i < MOST / 2;
    points.into_iter().enumerate().filter(|&(i, _)| kept(i)).map(|(_, point)| point.into()).collect()
}

/// A curve, or the bars of one colour.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) points: Vec<Point>,
}

/// How series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Curves,
    /// Side by side around each stop.
    Bars,
}

/// What is drawn.
#[derive(Debug)]
pub(crate) enum Chart {
    /// Series over a number, or over named stops 0, 1, 2, ….
    Plane {
        title: String,
        x_label: String,
        y_label: String,
        ticks: Option<Vec<String>>,
        log_x: bool,
        log_y: bool,
        mark: Mark,
        series: Vec<Series>,
    },
    /// Numbers in a table, the darker the larger.
    Cells { title: String, rows: Vec<String>, columns: Vec<String>, cells: Vec<Vec<Option<f64>>> },
}

/// Okabe and Ito's palette, which readers who confuse red and green can tell apart, and six of Tol's for more curves.
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

const SIZE: (u32, u32) = (760, 500);
/// Of that, what is between the axes, nearly.
const PLOT: (f64, f64) = (625.0, 390.0);
const MARGIN: u32 = 14;

/// Draws charts side by side, two in a row, as PNG if the file is called so, or else as SVG.
pub(crate) fn draw(charts: &[Chart], file: &Path) -> Result<(), Error> {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // The font is known to be one; a chart without words would still be drawn.
        let _ = register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let columns = charts.len().clamp(1, 2);
    let rows = charts.len().div_ceil(columns).max(1);
    let size = (SIZE.0 * columns as u32, SIZE.1 * rows as u32);
    if file.extension().is_some_and(|extension| extension == "png") {
        draw_on(&BitMapBackend::new(file, size).into_drawing_area(), (rows, columns), charts)
    } else {
        draw_on(&SVGBackend::new(file, size).into_drawing_area(), (rows, columns), charts)
    }
}

fn failed<E: std::fmt::Display>(error: E) -> Error {
    Error::Run(format!("the figure cannot be drawn: {error}"))
}

fn draw_on<B: DrawingBackend>(
    root: &DrawingArea<B, Shift>,
    grid: (usize, usize),
    charts: &[Chart],
) -> Result<(), Error> {
    root.fill(&WHITE).map_err(failed)?;
    for (area, chart) in root.split_evenly(grid).iter().zip(charts) {
        match chart {
            Chart::Plane { .. } => plane(area, chart)?,
            Chart::Cells { title, rows, columns, cells } => table(area, title, rows, columns, cells)?,
        }
    }
    root.present().map_err(failed)
}

/// An axis: values as they are drawn (logarithms on a logarithmic axis), and the values that are named.
struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
    log: bool,
    names: Option<Vec<String>>,
}

impl Ranged for &Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl plotters::coord::ranged1d::ValueFormatter<f64> for &Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.name(*value)
    }
}

impl Axis {
    /// Stops side by side.
    fn named(names: &[String], mark: Mark) -> Self {
        let ticks = (0..names.len()).map(|i| i as f64).collect();
        let range = match mark {
            // Room on the right for the legend.
            Mark::Curves => -0.4..names.len() as f64 + 0.2,
            Mark::Bars => -0.5..names.len() as f64 - 0.5,
        };
        Self { range, ticks, log: false, names: Some(names.to_vec()) }
    }

    /// From zero on, or the values' own range.
    fn new(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Self {
        let values = values.filter(|value| value.is_finite());
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if !least.is_finite() {
            return Self { range: 0.0..1.0, ticks: vec![0.0, 1.0], log, names: None };
        }
        if log {
            let (low, high) = (least.floor(), (most.ceil()).max(least.floor() + 1.0));
            let ticks = (low as i64..=high as i64).map(|decade| decade as f64).collect();
            return Self { range: low..high, ticks, log, names: None };
        }
        let edge = 0.05 * (most - least);
        // Zero is shown where it is near, and the values are more than one.
        let apart = !from_zero && least > (most - least) / 4.0 && edge > 0.0;
        let low = if apart { least - edge } else { least.min(0.0) };
        let high = if apart {
            most + edge
        } else if most > 0.0 {
            most * 1.05
        } else {
            1.0
        };
        let step = nice((high - low) / 6.0);
        let ticks = ((low / step).ceil() as i64..=(high / step) as i64).map(|i| i as f64 * step).collect();
        Self { range: low..high, ticks, log, names: None }
    }

    fn name(&self, tick: f64) -> String {
        match &self.names {
            Some(names) => names.get(tick.round().max(0.0) as usize).cloned().unwrap_or_default(),
            None => number(if self.log { 10_f64.powf(tick) } else { tick }),
        }
    }
}

/// The step of 1, 2 or 5 times a power of ten that is next to `about`.
fn nice(about: f64) -> f64 {
    let decade = 10_f64.powf(about.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= about).unwrap_or(10.0);
    factor * decade
}

fn number(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    if rounded != 0.0 && (rounded.abs() >= 1e7 || rounded.abs() < 1e-3) {
        return format!("{value:.0e}");
    }
    let text = rounded.to_string();
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let grouped: Vec<String> =
        whole.as_bytes().rchunks(3).rev().map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect();
    if rest.is_empty() { grouped.join(",") } else { format!("{}.{rest}", grouped.join(",")) }
}

fn plane<B: DrawingBackend>(area: &DrawingArea<B, Shift>, chart: &Chart) -> Result<(), Error> {
    let Chart::Plane { title, x_label, y_label, ticks, log_x, log_y, mark, series } = chart else {
        return Ok(());
    };
    let place = |value: f64, log: bool| if log { value.max(1e-12).log10() } else { value };
    // Bars of a group take most of the way to the next group.
    let width = 0.8 / series.len().max(1) as f64;
    let aside = |i: usize| match mark {
        Mark::Curves => 0.0,
        Mark::Bars => (i as f64 + 0.5) * width - 0.4,
    };
    let point = |point: &Point, aside: f64| Point {
        x: place(point.x, *log_x) + aside,
        y: place(point.y, *log_y),
        error: point.error.map(|(least, most)| (place(least, *log_y), place(most, *log_y))),
    };
    let points = |(i, curve): (usize, &Series)| {
        curve.points.iter().map(|at| point(at, aside(i))).filter(|at| at.y.is_finite()).collect()
    };
    let drawn: Vec<Vec<Point>> = series.iter().enumerate().map(points).collect();
    let all = || drawn.iter().flatten();
    let heights = all().flat_map(|at| [Some(at.y), at.error.map(|ends| ends.0), at.error.map(|ends| ends.1)]);
    let x = match ticks {
        Some(names) => Axis::named(names, *mark),
        None => Axis::new(all().map(|at| at.x), *log_x, false),
    };
    let mut y = Axis::new(heights.flatten(), *log_y, true);
    let longest = series.iter().map(|curve| curve.label.chars().count()).max().unwrap_or(0);
    let size = (60 + 9 * longest, 14 + 22 * series.len());
    let (hidden, mut legend) = free_corner(&x, &y, &drawn, size);
    if hidden > 0 || *mark == Mark::Bars {
        // No corner is free, so there is room made above all that is drawn.
        let share = (size.1 as f64 / PLOT.1).min(0.5);
        y.range.end = y.range.start + (y.range.end - y.range.start) / (1.0 - share);
        legend = SeriesLabelPosition::UpperRight;
    }
    let mut context = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 22))
        .margin(MARGIN)
        .margin_right(3 * MARGIN)
        .x_label_area_size(52)
        .y_label_area_size(76)
        .build_cartesian_2d(&x, &y)
        .map_err(failed)?;
    context
        .configure_mesh()
        .x_desc(x_label)
        .y_desc(y_label)
        .axis_desc_style(("sans-serif", 18))
        .label_style(("sans-serif", 15))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .draw()
        .map_err(failed)?;
    for (i, (curve, points)) in series.iter().zip(&drawn).enumerate() {
        let colour = PALETTE[i % PALETTE.len()];
        let style = colour.stroke_width(2);
        match mark {
            Mark::Curves => {
                let line = LineSeries::new(points.iter().map(|at| (at.x, at.y)), style);
                context.draw_series(line).map_err(failed)?.label(&curve.label).legend(move |(x, y)| {
                    EmptyElement::at((x, y))
                        + PathElement::new([(0, 0), (28, 0)], style)
                        + marker(i, (14, 0), colour)
                });
                // A few markers tell curves apart where colours do not.
                let every = points.len().div_ceil(9).max(1);
                let marked = points.iter().skip(every / 2).step_by(every);
                let marked = marked.map(|at| EmptyElement::at((at.x, at.y)) + marker(i, (0, 0), colour));
                context.draw_series(marked).map_err(failed)?;
            }
            Mark::Bars => {
                let (floor, half) = (y.range.start.max(place(0.0, *log_y)), 0.46 * width);
                let bar = |at: &Point| {
                    Rectangle::new([(at.x - half, floor), (at.x + half, at.y)], colour.mix(0.8).filled())
                };
                let bars = context.draw_series(points.iter().map(bar)).map_err(failed)?;
                bars.label(&curve.label).legend(move |(x, y)| {
                    Rectangle::new([(x + 7, y - 6), (x + 21, y + 6)], colour.mix(0.8).filled())
                });
            }
        }
        let ink = match mark {
            Mark::Curves => colour.stroke_width(1),
            Mark::Bars => BLACK.stroke_width(1),
        };
        let cap = 0.005 * (x.range.end - x.range.start);
        let strokes =
            points.iter().filter_map(|at| Some((at.x, at.error?))).flat_map(|(x, (least, most))| {
                let across = |y| [(x - cap, y), (x + cap, y)];
                [[(x, least), (x, most)], across(least), across(most)]
            });
        context.draw_series(strokes.map(|ends| PathElement::new(ends, ink))).map_err(failed)?;
    }
    context
        .configure_series_labels()
        .position(legend)
        .legend_area_size(36)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 16))
        .draw()
        .map_err(failed)
}

/// The corner where a legend of this width and height, in pixels, hides the fewest places of curves, and how many.
fn free_corner(
    x: &Axis,
    y: &Axis,
    drawn: &[Vec<Point>],
    (width, height): (usize, usize),
) -> (usize, SeriesLabelPosition) {
    const CORNERS: [(bool, bool, SeriesLabelPosition); 4] = [
        (true, true, SeriesLabelPosition::UpperRight),
        (true, false, SeriesLabelPosition::LowerRight),
        (false, true, SeriesLabelPosition::UpperLeft),
        (false, false, SeriesLabelPosition::LowerLeft),
    ];
    let share = |axis: &Axis, value: f64| (value - axis.range.start) / (axis.range.end - axis.range.start);
    let (width, height) = (width as f64 / PLOT.0, height as f64 / PLOT.1);
    let ink: Vec<(f64, f64)> = drawn.iter().flat_map(|points| inked(points)).collect();
    let hidden = |right: bool, upper: bool| {
        let beside = |x: f64| if right { x > 1.0 - width } else { x < width };
        let level = |y: f64| if upper { y > 1.0 - height } else { y < height };
        ink.iter().filter(|at| beside(share(x, at.0)) && level(share(y, at.1))).count()
    };
    let counted = CORNERS.into_iter().map(|(right, upper, corner)| (hidden(right, upper), corner));
    counted.min_by_key(|&(hidden, _)| hidden).unwrap_or((0, SeriesLabelPosition::UpperRight))
}

/// Places along a curve and its error bars, close enough together that no legend fits between them.
fn inked(points: &[Point]) -> impl Iterator<Item = (f64, f64)> {
    const STEPS: u32 = 20;
    let between = |a: (f64, f64), b: (f64, f64)| {
        (0..=STEPS).map(move |i| {
            let share = f64::from(i) / f64::from(STEPS);
            (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1))
        })
    };
    let lines =
        points.windows(2).flat_map(move |pair| between((pair[0].x, pair[0].y), (pair[1].x, pair[1].y)));
    let errors = points.iter().filter_map(|at| Some((at.x, at.error?)));
    let errors = errors.flat_map(move |(x, (least, most))| between((x, least), (x, most)));
    points.iter().map(|at| (at.x, at.y)).chain(lines).chain(errors)
}

/// The marker of the i-th curve, in pixels: a square, a triangle, a diamond, and so on.
fn marker(i: usize, at: (i32, i32), colour: RGBColor) -> Polygon<(i32, i32)> {
    let shapes: [&[(i32, i32)]; 4] = [
        &[(-4, 4), (4, 4), (4, -4), (-4, -4)],
        &[(0, -6), (6, 5), (-6, 5)],
        &[(0, -6), (6, 0), (0, 6), (-6, 0)],
        &[(0, 6), (6, -5), (-6, -5)],
    ];
    let points: Vec<(i32, i32)> =
        shapes[i % shapes.len()].iter().map(|&(x, y)| (at.0 + x, at.1 + y)).collect();
    Polygon::new(points, colour.filled())
}

fn table<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    rows: &[String],
    columns: &[String],
    cells: &[Vec<Option<f64>>],
) -> Result<(), Error> {
    let area = area.margin(MARGIN, MARGIN, MARGIN, MARGIN);
    let area = area.titled(title, ("sans-serif", 22)).map_err(failed)?;
    let (width, height) = area.dim_in_pixel();
    // The names of rows take twice a cell's width.
    let cell_width = width as i32 / (columns.len() as i32 + 2);
    let cell_height = height as i32 / (rows.len() as i32 + 1);
    let font = |size: i32| ("sans-serif", size).into_font();
    let centred = |size, colour: RGBColor| {
        use plotters::style::text_anchor::{HPos, Pos, VPos};
        font(size).color(&colour).pos(Pos::new(HPos::Center, VPos::Center))
    };
    let most = cells.iter().flatten().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let middle = |column: i32, row: i32| {
        let half = if column == 0 { cell_width } else { (2 * column + 3) * cell_width / 2 };
        (half, row * cell_height + cell_height / 2)
    };
    for (i, column) in (1..).zip(columns) {
        area.draw(&Text::new(column.clone(), middle(i, 0), centred(18, BLACK))).map_err(failed)?;
    }
    for ((j, row), numbers) in (1..).zip(rows).zip(cells) {
        area.draw(&Text::new(row.clone(), middle(0, j), centred(18, BLACK))).map_err(failed)?;
        for (i, value) in (1..).zip(numbers) {
            let Some(value) = value else { continue };
            let depth = (value / most).clamp(0.0, 1.0).sqrt();
            let corner = ((i + 1) * cell_width, j * cell_height);
            let frame = [corner, (corner.0 + cell_width - 3, corner.1 + cell_height - 3)];
            let shade = PALETTE[0].mix(0.08 + 0.82 * depth);
            area.draw(&Rectangle::new(frame, shade.filled())).map_err(failed)?;
            let ink = if depth > 0.6 { WHITE } else { BLACK };
            area.draw(&Text::new(format!("{value:.3}"), middle(i, j), centred(18, ink))).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let read = [0.0, 0.5, 1_000.0, 1_234_567.0, 2e7, 1e-5].map(number);
        assert_eq!(read, ["0", "0.5", "1,000", "1,234,567", "2e7", "1e-5"]);
    }

    #[test]
    fn steps_are_of_one_two_and_five() {
        let steps = [0.9, 1.3, 3.0, 7.0].map(nice);
        for (step, expected) in steps.into_iter().zip([1.0, 2.0, 5.0, 10.0]) {
            assert!((step - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn an_axis_begins_at_zero_where_that_is_near() {
        let begins =
            |values: [f64; 2], from_zero| Axis::new(values.into_iter(), false, from_zero).range.start;
        assert!(begins([0.1, 0.8], false) == 0.0 && begins([40.0, 50.0], true) == 0.0);
        assert!(begins([40.0, 50.0], false) > 39.0 && begins([-2.0, 1.0], true) < -1.9);
    }

    #[test]
    fn a_legend_hides_neither_lines_nor_error_bars() {
        let axis = || Axis { range: 0.0..1.0, ticks: Vec::new(), log: false, names: None };
        let at = |x, y, error| Point { x, y, error };
        let corners = |points: Vec<Point>| free_corner(&axis(), &axis(), &[points], (150, 90)).0;
        let line = vec![at(0.0, 0.0, None), at(0.5, 0.5, None)];
        assert_eq!(corners(line), 0);
        // Around and through every corner, with points in none.
        let around = [(0.0, 0.5), (0.3, 1.0), (0.7, 1.0), (1.0, 0.5), (0.7, 0.0), (0.3, 0.0), (0.0, 0.5)];
        assert!(corners(around.map(Point::from).to_vec()) > 0);
        let bars = [0.1, 0.9].map(|x| at(x, 0.5, Some((0.0, 1.0)))).to_vec();
        assert!(corners(bars) > 0);
    }

    #[test]
    fn a_chart_is_drawn_with_its_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let (svg, png) = (folder.path().join("a.svg"), folder.path().join("a.png"));
        let points = [(1.0, 0.1), (100.0, 1.0)].map(Point::from).to_vec();
        let series = vec![Series { label: "R2C2".into(), points }];
        let chart = Chart::Plane {
            title: "A title".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            ticks: None,
            log_x: true,
            log_y: false,
            mark: Mark::Curves,
            series,
        };
        draw(std::slice::from_ref(&chart), &svg).expect("drawn");
        draw(&[chart], &png).expect("drawn");
        let text = std::fs::read_to_string(svg).expect("text");
        assert!(text.contains("A title") && text.contains("R2C2"));
        assert!(std::fs::metadata(png).expect("a file").len() > 2_000);
    }
}
