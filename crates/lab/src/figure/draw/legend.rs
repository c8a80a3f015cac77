//! The legend of a plot. The legend of curves is in a corner of the plot where it hides no curve. If no corner is free,
//! the legend is above the plot, in as few rows as possible. The legend of bars is always above the plot.

use super::axis::Axis;
use super::letters::{fitting, font, widest};
use super::style::Sizes;
use super::{Mark, Point, Series, failed};
use crate::Error;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The position of a legend and the arrangement of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Legend {
    corner: Option<Corner>,
    columns: usize,
    rows: usize,
    /// Size of the text, in pixels.
    letters: i32,
    /// Distance between the left edges of neighboring columns, and between the top edges of neighboring rows, in
    /// pixels.
    step: (i32, i32),
    /// Width of the sample of a curve or bar in an entry, in pixels. `gap` is the space between columns, in pixels.
    sample: i32,
    gap: i32,
    /// Margin inside and outside the legend, in pixels.
    edge: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Corner {
    right: bool,
    upper: bool,
}

impl Legend {
    /// The legend of curves or bars in a plot of this width and height in pixels. `drawn` has the points of each curve,
    /// in the units of the axes.
    pub(super) fn of(
        series: &[Series],
        mark: Mark,
        axes: (&Axis, &Axis),
        drawn: &[Vec<Point>],
        (plot, sizes): ((i32, i32), &Sizes),
    ) -> Self {
        let labels = || series.iter().map(|series| series.label.as_str());
        let (sample, gap, edge) = (sizes.sample(mark), sizes.sixteenths(18), sizes.sixteenths(6));
        let letters = fitting(labels(), plot.0 - sample - 2 * edge, (sizes.smallest, sizes.letters));
        let step = (sample + widest(labels(), letters) + gap, sizes.sixteenths(22));
        let stacked = Self { corner: None, columns: 1, rows: series.len(), letters, step, sample, gap, edge };
        let corner = match mark {
            Mark::Curves => stacked.free_corner(axes, drawn, plot),
            Mark::Bars => None,
        };
        if corner.is_some() {
            return Self { corner, ..stacked };
        }
        let fit = (((plot.0 + gap - 2 * edge) / step.0) as usize).clamp(1, series.len().max(1));
        let rows = series.len().div_ceil(fit);
        // There are only as many columns as these rows need. With `fit` columns, the last row could have far fewer
        // entries than the other rows.
        Self { columns: series.len().div_ceil(rows.max(1)), rows, ..stacked }
    }

    /// Width and height, in pixels.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    fn size(self) -> (i32, i32) {
        let width = self.columns as i32 * self.step.0 - self.gap + 2 * self.edge;
        (width, self.rows as i32 * self.step.1 + 2 * self.edge)
    }

    /// Height of the legend above the plot with the margin below the legend, in pixels; 0 if the legend is in a corner
    /// of the plot.
    pub(super) fn headroom(self) -> i32 {
        if self.corner.is_some() { 0 } else { self.size().1 + self.edge }
    }

    /// Draws the legend onto the area of a chart. `plot` has the upper left and the lower right corner of the plot, in
    /// pixels of the area.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    pub(super) fn draw<B: DrawingBackend>(
        self,
        area: &DrawingArea<B, Shift>,
        plot: ((i32, i32), (i32, i32)),
        (series, mark): (&[Series], Mark),
        sizes: &Sizes,
    ) -> Result<(), Error> {
        let ((left, top), (right, bottom)) = plot;
        let (width, height) = self.size();
        let Self { edge, sample, .. } = self;
        let at = match self.corner {
            None => ((left + right - width) / 2, top - edge - height),
            Some(corner) => (
                if corner.right { right - edge - width } else { left + edge },
                if corner.upper { top + edge } else { bottom - edge - height },
            ),
        };
        if self.corner.is_some() {
            let frame = [at, (at.0 + width, at.1 + height)];
            area.draw(&Rectangle::new(frame, WHITE.mix(0.85).filled())).map_err(failed)?;
            let line = BLACK.mix(0.3).stroke_width(sizes.thin);
            area.draw(&Rectangle::new(frame, line)).map_err(failed)?;
        }
        let letters = font(self.letters).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        for (i, curve) in series.iter().enumerate() {
            let (row, column) = ((i / self.columns) as i32, (i % self.columns) as i32);
            let y = at.1 + edge + row * self.step.1 + self.step.1 / 2;
            let x = at.0 + edge + column * self.step.0;
            // The last seventh of the sample's width stays empty, so that the label does not touch the sample.
            let (middle, end, colour) = (x + sample * 3 / 7, x + sample * 6 / 7, sizes.colour(i));
            match mark {
                Mark::Curves => {
                    let (line, ink) = ([(x, y), (end, y)], colour.stroke_width(sizes.line));
                    match sizes.dash(i) {
                        None => area.draw(&PathElement::new(line, ink)),
                        Some((dash, gap)) => area.draw(&DashedPathElement::new(line, dash, gap, ink)),
                    }
                    .map_err(failed)?;
                    area.draw(&marker(i, (middle, y), sizes)).map_err(failed)?;
                }
                Mark::Bars => {
                    let half = sizes.sixteenths(7);
                    let bar = [(end - 2 * half, y - half), (end, y + half)];
                    area.draw(&Rectangle::new(bar, colour.mix(0.8).filled())).map_err(failed)?;
                }
            }
            area.draw(&Text::new(curve.label.clone(), (x + sample, y), letters.clone())).map_err(failed)?;
        }
        Ok(())
    }

    /// A corner of the plot where the legend hides no part of a curve; `None` if there is no such corner.
    fn free_corner(self, (x, y): (&Axis, &Axis), drawn: &[Vec<Point>], plot: (i32, i32)) -> Option<Corner> {
        const CORNERS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];
        let (width, height) = self.size();
        // The size of the legend with its margins, as a share of the plot.
        let (width, height) = (
            f64::from(width + 2 * self.edge) / f64::from(plot.0),
            f64::from(height + 2 * self.edge) / f64::from(plot.1),
        );
        let ink: Vec<(f64, f64)> = drawn.iter().flat_map(|points| inked(points)).collect();
        let hides = |corner: &Corner| {
            let beside = |x: f64| if corner.right { x > 1.0 - width } else { x < width };
            let level = |y: f64| if corner.upper { y > 1.0 - height } else { y < height };
            ink.iter().any(|at| beside(x.share(at.0)) && level(y.share(at.1)))
        };
        CORNERS.into_iter().map(|(right, upper)| Corner { right, upper }).find(|corner| !hides(corner))
    }
}

/// Points along a curve and along its error bars. No two neighboring points are so far apart that a legend fits between
/// them.
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

/// The marker of the i-th curve. Four shapes take turns: a square, a triangle, a diamond, and a triangle upside down.
/// `at` is the center of the marker, in pixels.
pub(super) fn marker(i: usize, at: (i32, i32), sizes: &Sizes) -> Polygon<(i32, i32)> {
    // Corners of the shapes, relative to their center, in halves of the thickness of curves.
    let shapes: [&[(i32, i32)]; 4] = [
        &[(-4, 4), (4, 4), (4, -4), (-4, -4)],
        &[(0, -6), (6, 5), (-6, 5)],
        &[(0, -6), (6, 0), (0, 6), (-6, 0)],
        &[(0, 6), (6, -5), (-6, -5)],
    ];
    let half = |length: i32| length * sizes.line.cast_signed() / 2;
    let corner = |&(x, y): &(i32, i32)| (at.0 + half(x), at.1 + half(y));
    let points: Vec<(i32, i32)> = shapes[Sizes::shape(i)].iter().map(corner).collect();
    Polygon::new(points, sizes.colour(i).filled())
}

#[cfg(test)]
mod tests {
    use super::super::style::Look;
    use super::*;

    fn series(count: usize) -> Vec<Series> {
        (0..count).map(|i| Series { label: format!("curve {i}"), points: Vec::new() }).collect()
    }

    fn axis() -> Axis {
        Axis::new([0.0, 1.0].into_iter(), false, true)
    }

    /// The sizes of the default style with 96 pixels per inch.
    fn sizes() -> Sizes {
        super::super::letters::register();
        Look::default().sizes(96)
    }

    const PLOT: (i32, i32) = (625, 390);

    fn legend(count: usize, mark: Mark, drawn: &[Vec<Point>]) -> Legend {
        Legend::of(&series(count), mark, (&axis(), &axis()), drawn, (PLOT, &sizes()))
    }

    /// The corner that is free for a legend of 150 by 90 pixels, in a plot with a curve through `points`.
    fn corner(points: Vec<Point>) -> Option<Corner> {
        let legend = Legend { corner: None, columns: 1, step: (156, 26), ..legend(3, Mark::Curves, &[]) };
        assert_eq!(legend.size(), (150, 90));
        legend.free_corner((&axis(), &axis()), &[points], PLOT)
    }

    #[test]
    fn a_legend_hides_neither_lines_nor_error_bars() {
        let at = |x, y, error| Point { x, y, error };
        let line = vec![at(0.0, 0.0, None), at(0.5, 0.5, None), at(1.0, 0.9, None)];
        assert_eq!(corner(line), Some(Corner { right: true, upper: false }));
        // The lines between the curve's points cross every corner where the legend could be, but none of the points is
        // there.
        let around = [(0.0, 0.5), (0.3, 1.0), (0.7, 1.0), (1.0, 0.5), (0.7, 0.0), (0.3, 0.0), (0.0, 0.5)];
        assert_eq!(corner(around.map(Point::from).to_vec()), None);
        let bars = [0.1, 0.9].map(|x| at(x, 0.5, Some((0.0, 1.0)))).to_vec();
        assert_eq!(corner(bars), None);
    }

    #[test]
    fn above_the_plot_a_legend_is_as_wide_as_that_at_most() {
        for count in [1, 4, 9, 12] {
            let legend = legend(count, Mark::Bars, &[]);
            assert!(legend.corner.is_none() && legend.size().0 <= PLOT.0, "{legend:?}");
            assert!(legend.columns * legend.rows >= count, "{legend:?}");
            assert!(legend.columns * (legend.rows - 1) < count, "no row is empty: {legend:?}");
            // With one more column, the entries would not fit, or would not need fewer rows.
            let wider = Legend { columns: legend.columns + 1, ..legend };
            assert!(wider.size().0 > PLOT.0 || count.div_ceil(wider.columns) == legend.rows, "{legend:?}");
        }
    }

    #[test]
    fn a_legend_takes_room_above_the_plot_only_where_no_corner_is_free() {
        let drawn = [vec![(0.0, 0.0).into(), (0.1, 0.1).into()]];
        let of = |mark| legend(1, mark, &drawn).headroom();
        assert_eq!(of(Mark::Curves), 0);
        assert_eq!(of(Mark::Bars), 40);
    }
}
