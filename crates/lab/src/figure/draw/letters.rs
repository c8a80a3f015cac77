//! Letters: the font, and how wide words are in it.

use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontStyle, IntoFont, RGBColor, TextStyle, register_font};
use std::sync::Once;

const NAME: &str = "sans-serif";

/// Letters that are smaller cannot be read.
const LEAST: i32 = 9;

/// Makes the font known, once: a fresh machine may have none.
pub(super) fn register() {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // The font is known to be one; a chart without words would still be drawn.
        let _ = register_font(NAME, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
}

/// Letters of a size in pixels.
pub(super) fn font(size: i32) -> FontDesc<'static> {
    (NAME, size).into_font()
}

/// Letters around a place.
pub(super) fn centred(size: i32, colour: RGBColor) -> TextStyle<'static> {
    font(size).color(&colour).pos(Pos::new(HPos::Center, VPos::Center))
}

/// Width of words, in pixels.
pub(super) fn width(words: &str, size: i32) -> i32 {
    // A font that cannot be measured cannot be drawn either, and that is an error then.
    font(size).box_size(words).map_or(0, |(width, _)| width as i32)
}

/// The width of the widest of these words, in pixels.
pub(super) fn widest<'a>(words: impl IntoIterator<Item = &'a str>, size: i32) -> i32 {
    words.into_iter().map(|words| width(words, size)).max().unwrap_or(0)
}

/// The size of letters, `most` or less, at which each of these words is at most `room` pixels wide.
pub(super) fn fitting<'a>(words: impl IntoIterator<Item = &'a str>, room: i32, most: i32) -> i32 {
    let words: Vec<&str> = words.into_iter().collect();
    (LEAST..=most).rev().find(|&size| widest(words.iter().copied(), size) <= room).unwrap_or(LEAST)
}
