//! Curves and bars between two axes.

use super::axis::Axis;
use super::legend::{Legend, marker};
use super::letters::{fitting, font, widest};
use super::style::Sizes;
use super::{Mark, Plane, Point, Series, failed, header, header_height};
use crate::Error;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::iter;

/// A plane with its layout: the points in the units of the axes, and the axes.
pub(super) struct Laid<'a> {
    plane: &'a Plane,
    sizes: &'a Sizes,
    drawn: Vec<Vec<Point>>,
    x: Axis,
    y: Axis,
    /// Height of the space below the plot and width of the space to the left of the plot, in pixels. The names of the
    /// ticks and the labels of the axes stand there.
    beside: (i32, i32),
    /// Width and height of the plot between its axes, in pixels.
    plot: (i32, i32),
    names: Names,
    /// The legend; `None` if no curve or bar has a label.
    legend: Option<Legend>,
}

/// Size and arrangement of the names below the x axis.
#[derive(Clone, Copy)]
struct Names {
    /// Font size, in pixels.
    size: i32,
    /// Number of lines. On two lines, neighbors alternate, so each name has twice the room.
    lines: i32,
}

impl Names {
    /// The arrangement of names on an axis that is `width` pixels wide. The names are on one line if they do not touch
    /// at the smallest readable size, otherwise on two lines. Their size is the largest at which they do not touch, but
    /// at least the smallest readable size and at most the style's size of tick names. `ticks` is empty for an axis of
    /// numbers.
    #[allow(clippy::cast_possible_truncation, reason = "an axis has few names")]
    fn of(ticks: &[String], width: i32, sizes: &Sizes) -> Self {
        let words = || ticks.iter().map(String::as_str);
        let room = width / (ticks.len() as i32).max(1) - sizes.sixteenths(6);
        let size = |lines| fitting(words(), lines * room, (sizes.smallest, sizes.ticks));
        let lines = if widest(words(), sizes.smallest) <= room { 1 } else { 2 };
        Self { size: size(lines), lines }
    }
}

/// Width of a bar with the gap beside it, as a share of the distance between groups. The bars of a group together take
/// 0.8 of this distance.
fn bar_width(plane: &Plane) -> f64 {
    0.8 / plane.series.len().max(1) as f64
}

/// Curves with error bars are moved apart, because error bars at the same place would hide each other. `ASIDE` is the
/// largest distance between neighboring curves. `ASIDE_TOGETHER` limits the distance from the first curve to the last.
/// Both are shares of the x axis.
const ASIDE: f64 = 0.007;
const ASIDE_TOGETHER: f64 = 0.02;

/// The place of a value on an axis. It is not finite for a value that a logarithmic axis cannot show.
fn place(value: f64, log: bool) -> f64 {
    if log { value.log10() } else { value }
}

impl<'a> Laid<'a> {
    pub(super) fn of(plane: &'a Plane, sizes: &'a Sizes) -> Self {
        let Plane { log_x, log_y, mark, series, .. } = plane;
        let point = |point: &Point| Point {
            x: place(point.x, *log_x),
            y: place(point.y, *log_y),
            error: point.error.map(|(least, most)| (place(least, *log_y), place(most, *log_y))),
        };
        let is_shown = |at: &Point| at.x.is_finite() && at.y.is_finite();
        let points = |series: &Series| series.points.iter().map(point).filter(is_shown).collect();
        let mut drawn: Vec<Vec<Point>> = series.iter().map(points).collect();
        let all = || drawn.iter().flatten();
        // On a logarithmic axis, an error bar that reaches 0 ends at the x axis. On a linear axis, a 95% interval can
        // reach below zero although no value is negative. Then it is cut off at zero.
        let is_positive = !log_y && all().all(|at| at.y >= 0.0);
        let is_shown = |end: &f64| !log_y || *end > place(0.0, true);
        let cut = |end: f64| if is_positive { end.max(0.0) } else { end };
        let ends = |at: &Point| at.error.into_iter().flat_map(|(least, most)| [least, most]).filter(is_shown);
        let heights = all().flat_map(|at| iter::once(at.y).chain(ends(at).map(cut)));
        let x = match &plane.ticks {
            Some(names) => Axis::named(names),
            None => Axis::new(all().map(|at| at.x), *log_x, false),
        };
        let y = Axis::new(heights, *log_y, true);
        let step = match mark {
            Mark::Bars => bar_width(plane),
            Mark::Curves if all().any(|at| at.error.is_some()) => {
                ASIDE.min(ASIDE_TOGETHER / drawn.len() as f64) * (x.range.end - x.range.start)
            }
            Mark::Curves => 0.0,
        };
        let middle = (drawn.len() as f64 - 1.0) / 2.0;
        for (i, points) in drawn.iter_mut().enumerate() {
            for at in points {
                at.x += (i as f64 - middle) * step;
                at.error = at.error.map(|(least, most)| (least.max(y.range.start), most));
            }
        }
        let words = Sizes::line_of(sizes.words) + 2 * sizes.tick_mark();
        let y_names = widest(y.names().iter().map(String::as_str), sizes.ticks) + sizes.tick_mark();
        let width = sizes.chart.0 - sizes.margin - sizes.right_margin() - words - y_names;
        let names =
            plane.ticks.as_ref().map_or(Names::of(&[], width, sizes), |ticks| Names::of(ticks, width, sizes));
        let beside = (words + sizes.ticks * names.lines, words + y_names);
        let header = header_height(plane.note.as_deref(), sizes);
        let plot = (width, sizes.chart.1 - 2 * sizes.margin - header - beside.0);
        let named = series.iter().any(|series| !series.label.is_empty());
        let legend = named.then(|| Legend::of(series, *mark, (&x, &y), &drawn, (plot, sizes)));
        Self { plane, sizes, drawn, x, y, beside, plot, names, legend }
    }

    /// Height of the legend above the plot, in pixels; 0 if there is no legend above the plot.
    pub(super) fn headroom(&self) -> i32 {
        self.legend.map_or(0, Legend::headroom)
    }

    /// Draws the plane. `headroom` is the space for a legend above the plot, in pixels.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        headroom: i32,
    ) -> Result<(), Error> {
        let Self { plane, sizes, x, y, .. } = self;
        let Plane { title, note, x_label, y_label, ticks, mark, series, .. } = plane;
        let area = header(area, (title, note.as_deref()), sizes)?;
        let words = |text: &str, room| fitting([text], room, (sizes.smallest, sizes.words));
        let plot_height = self.plot.1 - headroom + sizes.height_added_by(headroom);
        let words = words(x_label, self.plot.0).min(words(y_label, plot_height));
        let tick = |tick: &f64| if self.names.lines > 1 { String::new() } else { x.name(*tick) };
        let mut context = ChartBuilder::on(&area)
            .margin_top(headroom)
            .margin_right(sizes.right_margin() - sizes.margin)
            .x_label_area_size(self.beside.0)
            .y_label_area_size(self.beside.1)
            .build_cartesian_2d(x, y)
            .map_err(failed)?;
        context
            .configure_mesh()
            .x_desc(x_label)
            .y_desc(y_label)
            .axis_desc_style(font(words))
            .x_label_style(font(self.names.size))
            .y_label_style(font(sizes.ticks))
            .x_label_formatter(&tick)
            .set_all_tick_mark_size(sizes.tick_mark())
            .axis_style(BLACK.stroke_width(sizes.thin))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12).stroke_width(sizes.thin))
            .draw()
            .map_err(failed)?;
        for (i, points) in self.drawn.iter().enumerate() {
            let colour = sizes.colour(i);
            match mark {
                Mark::Curves => {
                    let (line, ink) = (points.iter().map(|at| (at.x, at.y)), colour.stroke_width(sizes.line));
                    match sizes.dash(i) {
                        None => context.draw_series(LineSeries::new(line, ink)).map(drop),
                        Some((dash, gap)) => {
                            context.draw_series(DashedLineSeries::new(line, dash, gap, ink)).map(drop)
                        }
                    }
                    .map_err(failed)?;
                    // A few markers on each curve distinguish curves for readers who cannot see the colors.
                    let every = points.len().div_ceil(9).max(1);
                    let marked = points.iter().skip(every / 2).step_by(every);
                    let marked = marked.map(|at| EmptyElement::at((at.x, at.y)) + marker(i, (0, 0), sizes));
                    context.draw_series(marked).map_err(failed)?;
                }
                Mark::Bars => {
                    let (floor, half) = (y.range.start.max(place(0.0, plane.log_y)), 0.46 * bar_width(plane));
                    let bar = |at: &Point| {
                        Rectangle::new([(at.x - half, floor), (at.x + half, at.y)], colour.mix(0.8).filled())
                    };
                    context.draw_series(points.iter().map(bar)).map_err(failed)?;
                }
            }
            let ink = match mark {
                Mark::Curves => colour.stroke_width(sizes.thin),
                Mark::Bars => BLACK.stroke_width(sizes.thin),
            };
            let cap = 0.005 * (x.range.end - x.range.start);
            let errors = points.iter().filter_map(|at| Some((at.x, at.error?)));
            let strokes = errors.flat_map(|(x, (least, most))| {
                let across = |y| [(x - cap, y), (x + cap, y)];
                // An error bar that is cut off at the axis has no cap there.
                let lower = (least > y.range.start).then(|| across(least));
                [Some([(x, least), (x, most)]), lower, Some(across(most))].into_iter().flatten()
            });
            context.draw_series(strokes.map(|ends| PathElement::new(ends, ink))).map_err(failed)?;
        }
        let (origin, (across, down)) = (area.get_base_pixel(), context.plotting_area().get_pixel_range());
        let inside = |(x, y): (i32, i32)| (x - origin.0, y - origin.1);
        let plot = (inside((across.start, down.start)), inside((across.end, down.end)));
        if self.names.lines > 1 {
            let style = font(self.names.size).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
            for (i, name) in (0..).zip(ticks.iter().flatten()) {
                let at = plot.0.0 + (f64::from(plot.1.0 - plot.0.0) * x.share(f64::from(i))) as i32;
                let below = plot.1.1 + 2 * sizes.tick_mark() + i % self.names.lines * sizes.ticks;
                area.draw(&Text::new(name.clone(), (at, below), style.clone())).map_err(failed)?;
            }
        }
        self.legend.map_or(Ok(()), |legend| legend.draw(&area, plot, (series, *mark), sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Look, Style, letters};
    use super::*;

    #[test]
    fn names_that_do_not_fit_beside_each_other_take_two_lines() {
        letters::register();
        let sizes = Look { style: Some(Style::Paper), ..Look::default() }.sizes(600);
        let names = |count: usize| Names::of(&vec!["Clairvoyant".to_owned(); count], 1_450, &sizes);
        assert_eq!([3, 8].map(|count| names(count).lines), [1, 2]);
        let Names { size, .. } = names(8);
        assert!(size >= sizes.smallest && widest(["Clairvoyant"], size) <= 2 * 1_450 / 8);
    }

    #[test]
    fn an_interval_of_positive_numbers_is_cut_off_at_zero() {
        letters::register();
        let sizes = Look::default().sizes(96);
        let begins = |y: f64, log_y| {
            let error = Some((-2.0, 28.0));
            let series = vec![Series { label: String::new(), points: vec![Point { x: 0.0, y, error }] }];
            let (title, x_label, y_label) = Default::default();
            let (ticks, mark) = (Some(vec!["a".to_owned()]), Mark::Bars);
            let plane =
                Plane { title, note: None, x_label, y_label, ticks, log_x: false, log_y, mark, series };
            let laid = Laid::of(&plane, &sizes);
            (laid.y.range.start, laid.drawn[0][0].error.map(|(least, _)| least))
        };
        assert_eq!(begins(13.0, false), (0.0, Some(0.0)));
        assert_eq!(begins(-1.0, false), (-2.0, Some(-2.0)));
        assert_eq!(begins(13.0, true), (1.0, Some(1.0)), "10 is the power of ten below 13");
    }

    #[test]
    fn an_error_bar_that_reaches_zero_does_not_stretch_a_logarithmic_axis() {
        letters::register();
        let points = vec![Point { x: 0.0, y: 20.0, error: Some((-5.0, 45.0)) }];
        let plane = Plane {
            title: String::new(),
            note: None,
            x_label: String::new(),
            y_label: String::new(),
            ticks: None,
            log_x: false,
            log_y: true,
            mark: Mark::Curves,
            series: vec![Series { label: String::new(), points }],
        };
        let range = Laid::of(&plane, &Look::default().sizes(96)).y.range;
        assert!(range.start >= 0.0 && range.end >= 45.0_f64.log10() && range.end <= 2.0, "{range:?}");
    }
}
