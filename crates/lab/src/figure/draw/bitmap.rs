//! A bitmap with smooth edges. The bitmaps of `plotters` itself have glyphs at whole pixels, and lines with steps and
//! with a thickness that depends on their direction.

use super::{letters, stroke};
use ab_glyph::{GlyphId, Outline, OutlineCurve, OutlinedGlyph, Point, PxScaleFactor, Rect, point};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};

pub(super) struct Bitmap<'a>(BitMapBackend<'a>);

type Failure<'a> = <BitMapBackend<'a> as DrawingBackend>::ErrorType;
type Drawn<'a> = Result<(), DrawingErrorKind<Failure<'a>>>;

impl<'a> Bitmap<'a> {
    /// A bitmap of this width and height. `pixels` has the red, green and blue of each pixel.
    pub(super) fn new(pixels: &'a mut [u8], size: (u32, u32)) -> Self {
        Self(BitMapBackend::with_buffer(pixels, size))
    }

    /// Fills an outline, whose coordinates are in pixels. If the outline covers only a part of a pixel, the color is
    /// mixed with the pixel's own color.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    fn fill(&mut self, mut outline: Outline, colour: BackendColor) -> Drawn<'a> {
        // Rounding can put a curve a little to the left of the bounds. `ab_glyph` would lose the curve, and shade the
        // whole glyph.
        outline.bounds.min.x -= 1.0;
        // The y axis of fonts goes up. The y axis of pixels goes down. Any shape can be drawn as the outline of a
        // glyph.
        let scale = PxScaleFactor { horizontal: 1.0, vertical: -1.0 };
        let glyph = OutlinedGlyph::new(GlyphId(0).with_scale(1.0), outline, scale);
        let corner = glyph.px_bounds().min;
        let (left, top) = (corner.x as i32, corner.y as i32);
        let mut drawn = Ok(());
        glyph.draw(|x, y, covered| {
            let alpha = colour.alpha * f64::from(covered.min(1.0));
            let at = (left + x.cast_signed(), top + y.cast_signed());
            if drawn.is_ok() && alpha > 0.0 {
                drawn = self.0.draw_pixel(at, BackendColor { alpha, ..colour });
            }
        });
        drawn
    }
}

impl<'a> DrawingBackend for Bitmap<'a> {
    type ErrorType = Failure<'a>;

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn<'a> {
        let outlines = letters::outlines(text, style, at);
        outlines.into_iter().try_for_each(|outline| self.fill(outline, style.color()))
    }

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn<'a> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Drawn<'a> {
        self.0.present()
    }

    fn draw_pixel(&mut self, at: BackendCoord, colour: BackendColor) -> Drawn<'a> {
        self.0.draw_pixel(at, colour)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn<'a> {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn<'a> {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn<'a> {
        let (points, colour) = (path.into_iter().collect::<Vec<_>>(), style.color());
        let mut covered = stroke::covered(&points, style.stroke_width(), self.get_size()).into_iter();
        covered.try_for_each(|(at, share)| {
            self.draw_pixel(at, BackendColor { alpha: colour.alpha * share, ..colour })
        })
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn<'a> {
        // The coordinates name pixels, and the sides go through the middles of these pixels.
        let middle = |(x, y): BackendCoord| point(x as f32 + 0.5, y as f32 + 0.5);
        let corners: Vec<_> = corners.into_iter().map(middle).collect();
        let Some(&first) = corners.first() else { return Ok(()) };
        let wider = |Rect { min, max }: Rect, corner: &Point| Rect {
            min: point(min.x.min(corner.x), min.y.min(corner.y)),
            max: point(max.x.max(corner.x), max.y.max(corner.y)),
        };
        let bounds = corners.iter().fold(Rect { min: first, max: first }, wider);
        let sides = corners.iter().zip(corners.iter().cycle().skip(1));
        let curves = sides.map(|(&from, &to)| OutlineCurve::Line(from, to)).collect();
        self.fill(Outline { bounds, curves }, style.color())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::style::{BLACK, FontTransform};

    /// Length of the sides of a bitmap, in pixels.
    const SIDE: u32 = 200;

    /// The darkness of each pixel, by row, of a bitmap with a text in its middle.
    fn darkness(text: &str, transform: FontTransform) -> Vec<Vec<u8>> {
        let mut pixels = vec![255; 3 * (SIDE * SIDE) as usize];
        let style = letters::centred(15, BLACK).transform(transform);
        let middle = (SIDE / 2).cast_signed();
        Bitmap::new(&mut pixels, (SIDE, SIDE)).draw_text(text, &style, (middle, middle)).expect("drawn");
        pixels
            .chunks(3 * SIDE as usize)
            .map(|row| row.iter().step_by(3).map(|ink| 255 - ink).collect())
            .collect()
    }

    #[test]
    fn equal_letters_are_equally_far_apart() {
        let rows = darkness("l l l l l l", FontTransform::None);
        let column = |x: usize| rows.iter().map(|row| f64::from(row[x])).sum::<f64>();
        let columns: Vec<f64> = (0..SIDE as usize).map(column).collect();
        // The middle of the ink of each letter. There is no ink between two letters.
        let (mut middles, mut ink, mut moment) = (Vec::new(), 0.0, 0.0);
        for (x, &dark) in columns.iter().enumerate() {
            if dark == 0.0 && ink > 0.0 {
                middles.push(moment / ink);
                (ink, moment) = (0.0, 0.0);
            }
            ink += dark;
            moment += dark * x as f64;
        }
        let gaps: Vec<f64> = middles.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.len(), 5, "{middles:?}");
        // If letters were at whole pixels, some would be a pixel farther apart than others. The tolerance is needed
        // because the middle of a stem thinner than a pixel cannot be computed exactly from the pixels.
        assert!(gaps.iter().all(|gap| (gap - gaps[0]).abs() < 0.25), "{gaps:?}");
    }

    #[test]
    fn a_letter_that_begins_at_a_whole_pixel_has_no_background() {
        const WIDTH: usize = 760;
        const HEIGHT: usize = 40;
        let (text, style) =
            ("Mean throughput of flows over 1 MB, relative to TCP", letters::centred(22, BLACK));
        let at = (380, 20);
        let last = letters::outlines(text, &style, at).pop().expect("a letter").bounds;
        assert_eq!((last.min.x, last.max.x.floor(), last.max.y), (600.0, 609.0, 27.0), "the place of the P");
        let mut pixels = vec![255; 3 * WIDTH * HEIGHT];
        Bitmap::new(&mut pixels, (760, 40)).draw_text(text, &style, at).expect("drawn");
        assert_eq!(pixels[3 * (26 * WIDTH + 609)], 255, "there is no ink to the right of the foot of the P");
    }

    #[test]
    fn turned_text_has_the_same_ink() {
        let none = darkness("Expeditus", FontTransform::None);
        let last = SIDE as usize - 1;
        let is_turned = |transform, place: fn(usize, usize, usize) -> (usize, usize)| {
            let turned = darkness("Expeditus", transform);
            let pixels = (0..=last).flat_map(|y| (0..=last).map(move |x| (x, y)));
            pixels.into_iter().all(|(x, y)| {
                let (to_x, to_y) = place(x, y, last);
                none[y][x].abs_diff(turned[to_y][to_x]) <= 2
            })
        };
        assert!(is_turned(FontTransform::Rotate90, |x, y, last| (last - y, x)));
        assert!(is_turned(FontTransform::Rotate180, |x, y, last| (last - x, last - y)));
        assert!(is_turned(FontTransform::Rotate270, |x, y, last| (y, last - x)));
        assert!(none.iter().flatten().any(|&ink| ink > 150));
    }
}
