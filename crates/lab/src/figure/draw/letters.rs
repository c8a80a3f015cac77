//! Text in charts: the font, and the width of text in this font.

use super::failed;
use crate::Error;
use ab_glyph::FontRef;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontStyle, IntoFont, RGBColor, TextStyle, register_font};
use std::sync::Once;

const NAME: &str = "sans-serif";
const FONT: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

/// Registers the font, since the machine may have none installed. Further calls have no effect.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The embedded font is known to be valid, so the result needs no check. Without a font, charts would be drawn
        // without text.
        let _ = register_font(NAME, FontStyle::Normal, FONT);
    });
}

/// The outlines of the font.
pub(super) fn outlines() -> Result<FontRef<'static>, Error> {
    FontRef::try_from_slice(FONT).map_err(failed)
}

/// The font at a size in pixels.
pub(super) fn font(size: i32) -> FontDesc<'static> {
    (NAME, size).into_font()
}

/// A text style that centres the text on its position.
pub(super) fn centred(size: i32, colour: RGBColor) -> TextStyle<'static> {
    font(size).color(&colour).pos(Pos::new(HPos::Center, VPos::Center))
}

/// Width of words, in pixels.
pub(super) fn width(words: &str, size: i32) -> i32 {
    // A font that cannot be measured cannot be drawn either. Drawing then returns the error.
    font(size).box_size(words).map_or(0, |(width, _)| width as i32)
}

/// The width of the widest of `words`, in pixels.
pub(super) fn widest<'a>(words: impl IntoIterator<Item = &'a str>, size: i32) -> i32 {
    words.into_iter().map(|words| width(words, size)).max().unwrap_or(0)
}

/// The largest text size, from `least` to `most`, at which each of `words` is at most `room` pixels wide.
pub(super) fn fitting<'a>(
    words: impl IntoIterator<Item = &'a str>,
    room: i32,
    (least, most): (i32, i32),
) -> i32 {
    let words: Vec<&str> = words.into_iter().collect();
    (least..=most).rev().find(|&size| widest(words.iter().copied(), size) <= room).unwrap_or(least)
}
