//! Text in charts: the font, and the layout of a line of text. PNG and PDF draw the same layout. In SVG, the viewer
//! lays out the text.

use ab_glyph::{Font, FontRef, GlyphId, Outline, OutlineCurve, Point, Rect, ScaleFont, point};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontStyle, IntoFont, RGBColor, TextStyle, register_font};
use plotters_backend::{BackendCoord, BackendTextStyle, FontTransform};
use std::sync::{LazyLock, Once};

const NAME: &str = "sans-serif";
const FILE: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;
static FONT: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::try_from_slice(FILE).expect("the embedded font must be valid"));

/// Registers the font, since the machine may have none installed. Further calls have no effect.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The embedded font is known to be valid, so the result needs no check. Without a font, charts would be drawn
        // without text.
        let _ = register_font(NAME, FontStyle::Normal, FILE);
    });
}

/// The font at a size in pixels.
pub(super) fn font(size: i32) -> FontDesc<'static> {
    (NAME, size).into_font()
}

/// A text style that centers the text on its position.
pub(super) fn centred(size: i32, colour: RGBColor) -> TextStyle<'static> {
    font(size).color(&colour).pos(Pos::new(HPos::Center, VPos::Center))
}

/// A line of text. `plotters` rounds the position of each glyph to a whole pixel, which spaces small type unevenly. So
/// this module computes its own layout. Glyphs are not kerned, because `ab_glyph` reads no kerning from this font.
struct Line {
    /// Each glyph, and the distance of its origin from the start of the line, in pixels.
    glyphs: Vec<(GlyphId, f32)>,
    /// Width of the line, in pixels.
    width: f32,
}

impl Line {
    /// The layout of a text at a size in pixels.
    fn of(text: &str, size: f32) -> Self {
        let font = FONT.as_scaled(size);
        let (mut width, mut glyphs) = (0.0, Vec::new());
        for letter in text.chars() {
            let glyph = font.glyph_id(letter);
            glyphs.push((glyph, width));
            width += font.h_advance(glyph);
        }
        Self { glyphs, width }
    }
}

/// The outlines of a text's glyphs, in pixels of the picture. The text's anchor, which `style` gives, is at `at`.
pub(super) fn outlines<S: BackendTextStyle>(text: &str, style: &S, at: BackendCoord) -> Vec<Outline> {
    #[allow(clippy::cast_possible_truncation, reason = "an `f32` is precise enough for a size in pixels")]
    let size = style.size() as f32;
    let line = Line::of(text, size);
    let begin = match style.anchor().h_pos {
        HPos::Left => 0.0,
        HPos::Center => -line.width / 2.0,
        HPos::Right => -line.width,
    };
    // The height of capitals is 0.62 of the size of type.
    let base = match style.anchor().v_pos {
        VPos::Top => 0.65 * size,
        VPos::Center => 0.3 * size,
        VPos::Bottom => -0.2 * size,
    };
    // Horizontal strokes are sharp if the base line is at a whole pixel.
    let (base, unit) = (base.round(), size / FONT.height_unscaled());
    let placed = |(glyph, from): (GlyphId, f32)| {
        let outline = FONT.outline(glyph)?;
        let place = |Point { x, y }: Point| {
            let (across, down) = turned(&style.transform(), (begin + from + x * unit, base - y * unit));
            point(at.0 as f32 + across, at.1 as f32 + down)
        };
        let curve = |curve: &OutlineCurve| match *curve {
            OutlineCurve::Line(a, b) => OutlineCurve::Line(place(a), place(b)),
            OutlineCurve::Quad(a, control, b) => OutlineCurve::Quad(place(a), place(control), place(b)),
            OutlineCurve::Cubic(a, first, second, b) => {
                OutlineCurve::Cubic(place(a), place(first), place(second), place(b))
            }
        };
        let (a, b) = (place(outline.bounds.min), place(outline.bounds.max));
        let bounds = Rect { min: point(a.x.min(b.x), a.y.min(b.y)), max: point(a.x.max(b.x), a.y.max(b.y)) };
        Some(Outline { bounds, curves: outline.curves.iter().map(curve).collect() })
    };
    line.glyphs.into_iter().filter_map(placed).collect()
}

/// The distance of a point from a text's anchor, to the right and down, after the text was turned around this anchor.
fn turned(transform: &FontTransform, (across, down): (f32, f32)) -> (f32, f32) {
    match transform {
        FontTransform::None => (across, down),
        FontTransform::Rotate90 => (-down, across),
        FontTransform::Rotate180 => (-across, -down),
        FontTransform::Rotate270 => (down, -across),
    }
}

/// Width of words, in pixels, rounded up.
#[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
pub(super) fn width(words: &str, size: i32) -> i32 {
    Line::of(words, size as f32).width.ceil() as i32
}

/// The width of the widest of `words`, in pixels.
pub(super) fn widest<'a>(words: impl IntoIterator<Item = &'a str>, size: i32) -> i32 {
    words.into_iter().map(|words| width(words, size)).max().unwrap_or(0)
}

/// The largest text size, from `least` to `most`, at which each of `words` is at most `room` pixels wide; `least`
/// if there is no such size.
pub(super) fn fitting<'a>(
    words: impl IntoIterator<Item = &'a str>,
    room: i32,
    (least, most): (i32, i32),
) -> i32 {
    let words: Vec<&str> = words.into_iter().collect();
    (least..=most).rev().find(|&size| widest(words.iter().copied(), size) <= room).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_far_apart_as_the_font_asks_for() {
        let gaps = |text: &str| {
            let places: Vec<f32> = Line::of(text, 15.0).glyphs.iter().map(|&(_, place)| place).collect();
            places.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f32>>()
        };
        let [first, second] = gaps("lll")[..] else { panic!("three letters have two gaps") };
        assert!((first - second).abs() < 1e-4 && first.fract() > 0.01, "{first} {second}");
    }

    #[test]
    fn outlines_are_as_wide_as_the_line() {
        let style = centred(40, RGBColor(0, 0, 0));
        let outlines = outlines("HIH", &style, (100, 50));
        let (left, right) = (outlines[0].bounds.min.x, outlines[2].bounds.max.x);
        assert!((left + right - 200.0).abs() < 0.1, "{left} {right}");
        let room = width("HIH", 40) as f32;
        assert!(right - left < room && right - left > 0.85 * room, "{left} {right} {room}");
    }
}
