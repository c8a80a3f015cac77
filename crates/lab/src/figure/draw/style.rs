//! The style of pictures, and the sizes that follow from it. All pictures are drawn by the same code, with the sizes of
//! their style.

use super::Mark;
use crate::experiment::keys::{Key, Named, keys};
use crate::experiment::{Problem, Section};
use plotters::style::RGBColor;

/// The purpose of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A screen: two plots in a row.
    Screen,
    /// A column of a printed paper: 3.3 inches wide, with type of 8 points. Curves and bars also differ when they are
    /// printed in shades of gray.
    Paper,
    /// Slides, with large type and thick lines. Each plot fills a slide of 16:9, with its legend.
    Slides,
}

impl Style {
    /// The style with this name: `screen`, `paper` or `slides`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|&(_, style, _)| style)
    }
}

impl Named for Style {
    const WHAT: &'static str = "picture style";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("screen", Self::Screen, "two plots side by side"),
        ("paper", Self::Paper, "for a column 3.3 inches wide, with 8-point type, readable in grey"),
        ("slides", Self::Slides, "16:9 with large type"),
    ];
}

/// The look of a figure's pictures. A setting that is `None` has its default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// The purpose of the pictures. The default is a screen.
    pub style: Option<Style>,
    /// Pixels per inch of PNG pictures. The default depends on the style.
    pub dpi: Option<u32>,
    /// Width and height of each plot, in inches. The default depends on the style.
    pub size: Option<(f64, f64)>,
}

keys! {
    /// The look of a figure's pictures.
    pub(crate) LOOK = "figure" {
        /// The purpose of the pictures, which decides their size, type and colors.
        STYLE: Style = Key::new("style").or("\"screen\"").example("\"paper\"");
        /// Pixels per inch of the picture in PNG.
        DPI: u32 = Key::new("dpi").computed("96; 600 in the style `paper`, 144 in the style `slides`").within(30.0, 2400.0).example("300");
        /// Width and height of each plot, in inches.
        SIZE: Vec<f64> = Key::new("size")
            .computed("7.9 by 5.2; 3.3 by 2.3 in the style `paper`, 13.3 by 7.5 in the style `slides`")
            .such("two lengths from 1 to 50 inches", |size: &Vec<f64>| {
                size.len() == 2 && size.iter().all(|length| (1.0..=50.0).contains(length))
            })
            .example("[3.3, 2.0]");
    }
}

impl Look {
    /// Reads the keys of the look from `[figure]`.
    pub(crate) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let size = section.get(&SIZE)?.map(|size| (size[0], size[1]));
        Ok(Self { style: section.get(&STYLE)?, dpi: section.get(&DPI)?, size })
    }

    /// This look, with the settings of `other` where this look has none.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            style: self.style.or(other.style),
            dpi: self.dpi.or(other.dpi),
            size: self.size.or(other.size),
        }
    }

    fn lengths(&self) -> &'static Lengths {
        match self.style {
            None | Some(Style::Screen) => &SCREEN,
            Some(Style::Paper) => &PAPER,
            Some(Style::Slides) => &SLIDES,
        }
    }

    /// Pixels per inch of PNG pictures.
    pub(super) fn dpi(&self) -> u32 {
        self.dpi.unwrap_or(self.lengths().dpi)
    }

    /// The sizes of a picture with `dpi` pixels per inch.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    pub(super) fn sizes(&self, dpi: u32) -> Sizes {
        let of = self.lengths();
        let pixels = |points: f64| (points * f64::from(dpi) / POINTS_PER_INCH).round() as i32;
        let inches = |inches: f64| inches * POINTS_PER_INCH;
        let chart = self.size.map_or(of.chart, |(width, height)| (inches(width), inches(height)));
        Sizes {
            chart: (pixels(chart.0), pixels(chart.1)),
            keeps_height: of.keeps_height,
            columns: of.columns,
            margin: pixels(of.margin),
            title: pixels(of.title),
            words: pixels(of.words),
            ticks: pixels(of.ticks),
            letters: pixels(of.letters),
            smallest: pixels(of.smallest),
            line: pixels(of.line).max(1).unsigned_abs(),
            thin: pixels(of.thin).max(1).unsigned_abs(),
            palette: of.palette,
            is_dashed: of.is_dashed,
        }
    }
}

pub(super) const POINTS_PER_INCH: f64 = 72.0;

/// The lengths of a style, in points, and its other settings. The size of type is the distance from the highest
/// ascender to the lowest descender, which is 1.12 em in the font of pictures.
struct Lengths {
    /// Width and height of a chart. A legend above the plot makes the chart higher, unless `keeps_height` is set.
    chart: (f64, f64),
    /// True if a legend above the plot makes the plot lower, and not the chart higher.
    keeps_height: bool,
    /// Number of charts in a row.
    columns: usize,
    margin: f64,
    /// Size of type of titles. `words` is the size of axis labels and of the text in tables. `ticks` is the size of
    /// tick names. `letters` is the size of legends and of notes below titles.
    title: f64,
    words: f64,
    ticks: f64,
    letters: f64,
    /// Size of the smallest readable type. Text that does not fit is drawn smaller, but not smaller than this.
    smallest: f64,
    /// Thickness of curves. `thin` is the thickness of axes and error bars.
    line: f64,
    thin: f64,
    palette: &'static [RGBColor],
    /// True if curves differ in their dashes, and not only in their colors and markers.
    is_dashed: bool,
    /// Pixels per inch of PNG pictures.
    dpi: u32,
}

const SCREEN: Lengths = Lengths {
    chart: (570.0, 375.0),
    keeps_height: false,
    columns: 2,
    margin: 10.5,
    title: 16.5,
    words: 13.5,
    ticks: 11.25,
    letters: 12.0,
    smallest: 6.75,
    line: 1.5,
    thin: 0.75,
    palette: &COLOURS,
    is_dashed: false,
    dpi: 96,
};

/// Letters of 9 points from ascender to descender are type of 8 points, as typesetters count.
const PAPER: Lengths = Lengths {
    chart: (237.6, 165.6),
    keeps_height: false,
    columns: 1,
    margin: 4.0,
    title: 9.0,
    words: 9.0,
    ticks: 8.0,
    letters: 8.0,
    smallest: 5.6,
    line: 0.9,
    thin: 0.5,
    palette: &GREY_SAFE,
    is_dashed: true,
    dpi: 600,
};

const SLIDES: Lengths = Lengths {
    chart: (960.0, 540.0),
    keeps_height: true,
    columns: 1,
    margin: 22.0,
    title: 38.0,
    words: 32.0,
    ticks: 27.0,
    letters: 28.0,
    smallest: 18.0,
    line: 4.0,
    thin: 1.5,
    palette: &COLOURS,
    is_dashed: false,
    dpi: 144,
};

/// The first six colors are of Okabe and Ito's palette, which red-green color-blind readers can distinguish. A gray and
/// five colors of Tol's palette follow.
const COLOURS: [RGBColor; 12] = [
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

/// Colors whose shades of gray also differ.
const GREY_SAFE: [RGBColor; 6] = [
    RGBColor(0, 34, 87),
    RGBColor(213, 94, 0),
    RGBColor(235, 178, 50),
    RGBColor(136, 20, 60),
    RGBColor(80, 190, 130),
    RGBColor(0, 120, 170),
];

/// The shade of gray of a color in black and white, from 0 for black to 255 for white (ITU-R BT.601).
pub(super) fn grey(RGBColor(r, g, b): RGBColor) -> f64 {
    0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b)
}

/// The dashes of curves, in multiples of their thickness: the length of a dash and of the gap after it. `None` for a
/// solid curve.
const DASHES: [Option<(u32, u32)>; 4] = [None, Some((6, 3)), Some((2, 2)), Some((12, 3))];

/// The sizes of everything in a picture, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) chart: (i32, i32),
    keeps_height: bool,
    pub(super) columns: usize,
    pub(super) margin: i32,
    pub(super) title: i32,
    pub(super) words: i32,
    pub(super) ticks: i32,
    pub(super) letters: i32,
    pub(super) smallest: i32,
    pub(super) line: u32,
    pub(super) thin: u32,
    palette: &'static [RGBColor],
    is_dashed: bool,
}

impl Sizes {
    /// Height by which a legend of this height above the plot makes its chart higher. A legend that would take more than
    /// half the chart always makes the chart higher.
    pub(super) fn height_added_by(&self, legend: i32) -> i32 {
        if self.keeps_height { (legend - self.chart.1 / 2).max(0) } else { legend }
    }

    /// The color of the i-th curve.
    pub(super) fn colour(&self, i: usize) -> RGBColor {
        self.palette[i % self.palette.len()]
    }

    /// The number of the marker and of the dashes of the i-th curve. Colors and shapes take turns, and both begin anew
    /// after twelve curves. The shapes then move on by one, so that 24 curves differ.
    pub(super) const fn shape(i: usize) -> usize {
        (i + i / COLOURS.len()) % DASHES.len()
    }

    /// The length of a dash and of the gap after it on the i-th curve, in pixels; `None` if the curve is solid.
    pub(super) fn dash(&self, i: usize) -> Option<(u32, u32)> {
        let dash = DASHES[Self::shape(i)].filter(|_| self.is_dashed);
        dash.map(|(dash, gap)| (dash * self.line, gap * self.line))
    }

    /// Length of the mark at a tick of an axis, in pixels.
    pub(super) fn tick_mark(&self) -> i32 {
        self.sixteenths(5)
    }

    /// Margin to the right of a plot, in pixels. Half of the last tick's name stands there.
    pub(super) fn right_margin(&self) -> i32 {
        3 * self.margin
    }

    /// Width of the sample of a curve or bar in a legend, in pixels. Dashes need a longer sample.
    pub(super) fn sample(&self, mark: Mark) -> i32 {
        self.sixteenths(if self.is_dashed && mark == Mark::Curves { 70 } else { 35 })
    }

    /// Height of a line of type of this size, in pixels.
    pub(super) fn line_of(type_size: i32) -> i32 {
        type_size * 5 / 4
    }

    /// `count` sixteenths of the size of letters, in pixels.
    pub(super) fn sixteenths(&self, count: i32) -> i32 {
        self.letters * count / 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_for_a_column_is_as_wide_as_the_column() {
        let paper = Look { style: Some(Style::Paper), ..Look::default() };
        let sizes = paper.sizes(600);
        assert_eq!(sizes.chart.0, 1_980); // 3.3 inches
        assert_eq!(sizes.words, 75); // 9 points
        let slides = Look { style: Some(Style::Slides), ..Look::default() }.sizes(144);
        assert_eq!(slides.chart, (1_920, 1_080));
        let own = Look { size: Some((4.0, 2.5)), ..paper };
        assert_eq!(own.sizes(100).chart, (400, 250));
    }

    #[test]
    fn no_two_of_many_curves_have_the_same_colour_and_shape() {
        for style in [Style::Screen, Style::Paper, Style::Slides] {
            let sizes = Look { style: Some(style), ..Look::default() }.sizes(144);
            let looks: Vec<_> = (0..24).map(|i| (sizes.colour(i), Sizes::shape(i))).collect();
            let differ = |(i, look)| looks[..i].iter().all(|other| other != look);
            assert!(looks.iter().enumerate().all(differ), "{style:?}");
        }
    }

    #[test]
    fn colours_of_papers_differ_in_grey() {
        let mut greys = GREY_SAFE.map(grey);
        greys.sort_by(f64::total_cmp);
        assert!(greys.windows(2).all(|pair| pair[1] - pair[0] > 25.0), "{greys:?}");
        assert!(greys[5] < 200.0, "the lightest colour can be seen on white: {greys:?}");
    }
}
