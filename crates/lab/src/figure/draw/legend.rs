//! The legend of a plot. It is in a corner of the plot where it hides no curve. If no corner is free, it is above the
//! plot, in as many columns as fit.

use super::axis::Axis;
use super::letters::{font, widest};
use super::{Mark, PALETTE, PLOT, Point, Series, failed};
use crate::Error;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Size of the text, in pixels.
const LETTERS: i32 = 16;
/// Distance between the top edges of two entries in a column, in pixels.
const LINE: i32 = 22;
/// Width of the sample of a curve or bar in an entry, plus the space between columns, in pixels.
const SAMPLE: i32 = 36;
const GAP: i32 = 18;
/// Margin inside and outside the legend, in pixels.
const EDGE: i32 = 6;

/// The position of a legend and the arrangement of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Legend {
    corner: Option<Corner>,
    columns: usize,
    rows: usize,
    /// Distance between the left edges of two columns, in pixels.
    column: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Corner {
    right: bool,
    upper: bool,
}

impl Legend {
    /// The legend of curves or bars. `drawn` has the points of each curve, in the units of the axes.
    pub(super) fn of(series: &[Series], mark: Mark, (x, y): (&Axis, &Axis), drawn: &[Vec<Point>]) -> Self {
        let labels = series.iter().map(|series| series.label.as_str());
        let column = SAMPLE + widest(labels, LETTERS) + GAP;
        let stacked = Self { corner: None, columns: 1, rows: series.len(), column };
        let corner = match mark {
            Mark::Curves => free_corner(x, y, drawn, stacked.size()),
            Mark::Bars => None,
        };
        if corner.is_some() {
            return Self { corner, ..stacked };
        }
        let fit = (((PLOT.0 + GAP - 2 * EDGE) / column) as usize).clamp(1, series.len().max(1));
        let rows = series.len().div_ceil(fit);
        // The columns have nearly equal numbers of entries.
        Self { columns: series.len().div_ceil(rows.max(1)), rows, ..stacked }
    }

    /// Width and height, in pixels.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    fn size(self) -> (i32, i32) {
        let width = self.columns as i32 * self.column - GAP + 2 * EDGE;
        (width, self.rows as i32 * LINE + 2 * EDGE)
    }

    /// Height of the legend above the plot, in pixels.
    pub(super) fn headroom(self) -> u32 {
        if self.corner.is_some() { 0 } else { (self.size().1 + EDGE) as u32 }
    }

    /// Draws the legend onto the area of a chart. The range of pixels is the plot within the area.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    pub(super) fn draw<B: DrawingBackend>(
        self,
        area: &DrawingArea<B, Shift>,
        plot: ((i32, i32), (i32, i32)),
        series: &[Series],
        mark: Mark,
    ) -> Result<(), Error> {
        let ((left, top), (right, bottom)) = plot;
        let (width, height) = self.size();
        let at = match self.corner {
            None => ((left + right - width) / 2, top - EDGE - height),
            Some(corner) => (
                if corner.right { right - EDGE - width } else { left + EDGE },
                if corner.upper { top + EDGE } else { bottom - EDGE - height },
            ),
        };
        if self.corner.is_some() {
            let frame = [at, (at.0 + width, at.1 + height)];
            area.draw(&Rectangle::new(frame, WHITE.mix(0.85).filled())).map_err(failed)?;
            area.draw(&Rectangle::new(frame, BLACK.mix(0.3))).map_err(failed)?;
        }
        let letters = font(LETTERS).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        for (i, curve) in series.iter().enumerate() {
            let (row, column) = ((i / self.columns) as i32, (i % self.columns) as i32);
            let (x, y) = (at.0 + EDGE + column * self.column, at.1 + EDGE + row * LINE + LINE / 2);
            let colour = PALETTE[i % PALETTE.len()];
            match mark {
                Mark::Curves => {
                    let line = PathElement::new([(x, y), (x + 28, y)], colour.stroke_width(2));
                    area.draw(&line).map_err(failed)?;
                    area.draw(&marker(i, (x + 14, y), colour)).map_err(failed)?;
                }
                Mark::Bars => {
                    let bar = [(x + 14, y - 7), (x + 28, y + 7)];
                    area.draw(&Rectangle::new(bar, colour.mix(0.8).filled())).map_err(failed)?;
                }
            }
            area.draw(&Text::new(curve.label.clone(), (x + SAMPLE, y), letters.clone())).map_err(failed)?;
        }
        Ok(())
    }
}

/// A corner where a legend of this width and height, in pixels, hides no part of a curve.
fn free_corner(x: &Axis, y: &Axis, drawn: &[Vec<Point>], (width, height): (i32, i32)) -> Option<Corner> {
    const CORNERS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];
    // The size of the legend with its margins, as a share of the plot.
    let (width, height) =
        (f64::from(width + 2 * EDGE) / f64::from(PLOT.0), f64::from(height + 2 * EDGE) / f64::from(PLOT.1));
    let ink: Vec<(f64, f64)> = drawn.iter().flat_map(|points| inked(points)).collect();
    let hides = |corner: &Corner| {
        let beside = |x: f64| if corner.right { x > 1.0 - width } else { x < width };
        let level = |y: f64| if corner.upper { y > 1.0 - height } else { y < height };
        ink.iter().any(|at| beside(x.share(at.0)) && level(y.share(at.1)))
    };
    CORNERS.into_iter().map(|(right, upper)| Corner { right, upper }).find(|corner| !hides(corner))
}

/// Points along a curve and its error bars, so close together that no legend fits between them.
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

/// The marker of the i-th curve, in pixels: a square, a triangle, a diamond, and so on. `at` is its centre.
pub(super) fn marker(i: usize, at: (i32, i32), colour: RGBColor) -> Polygon<(i32, i32)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn series(count: usize) -> Vec<Series> {
        (0..count).map(|i| Series { label: format!("curve {i}"), points: Vec::new() }).collect()
    }

    fn axis() -> Axis {
        Axis::new([0.0, 1.0].into_iter(), false, true)
    }

    fn corner(points: Vec<Point>) -> Option<Corner> {
        free_corner(&axis(), &axis(), &[points], (150, 90))
    }

    #[test]
    fn a_legend_hides_neither_lines_nor_error_bars() {
        let at = |x, y, error| Point { x, y, error };
        let line = vec![at(0.0, 0.0, None), at(0.5, 0.5, None), at(1.0, 0.9, None)];
        assert_eq!(corner(line), Some(Corner { right: true, upper: false }));
        // The curve passes through every corner of the plot, but no point of the curve is in a corner.
        let around = [(0.0, 0.5), (0.3, 1.0), (0.7, 1.0), (1.0, 0.5), (0.7, 0.0), (0.3, 0.0), (0.0, 0.5)];
        assert_eq!(corner(around.map(Point::from).to_vec()), None);
        let bars = [0.1, 0.9].map(|x| at(x, 0.5, Some((0.0, 1.0)))).to_vec();
        assert_eq!(corner(bars), None);
    }

    #[test]
    fn above_the_plot_a_legend_is_as_wide_as_that_at_most() {
        super::super::letters::register();
        for count in [1, 4, 9, 12] {
            let legend = Legend::of(&series(count), Mark::Bars, (&axis(), &axis()), &[]);
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
        super::super::letters::register();
        let drawn = [vec![(0.0, 0.0).into(), (0.1, 0.1).into()]];
        let of = |mark| Legend::of(&series(1), mark, (&axis(), &axis()), &drawn).headroom();
        assert_eq!(of(Mark::Curves), 0);
        assert_eq!(of(Mark::Bars), 40);
    }
}
