//! Files of pictures: SVG, PNG, PDF and HTML.

use super::bitmap::Bitmap;
use super::pdf::Page;
use super::style::Look;
use super::{Picture, failed, html};
use crate::Error;
use plotters::prelude::*;
use raddle_records::write_file;
use std::path::Path;

/// The format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Svg,
    Png,
    Pdf,
    /// A page with the picture as SVG.
    Html,
}

/// Resolution of the layout of SVG, PDF and HTML pictures, in pixels per inch. The files have coordinates of this precision,
/// and no pixels.
const PRECISION: u32 = 720;
/// Maximum number of pixels of a PNG picture. A picture of this size takes 300 MB of memory.
const MOST_PIXELS: u64 = 100_000_000;
/// Pixels per inch in CSS. The width and height of an SVG picture are in these pixels.
const CSS_DPI: f64 = 96.0;

/// Returns an error if the ending of a file's name is not the ending of a picture.
///
/// # Errors
/// If the ending is not `.svg`, `.png`, `.pdf` or `.html`.
pub(crate) fn ensure_picture(file: &Path) -> Result<(), Error> {
    Format::of(file).map(drop)
}

impl Format {
    /// The format that the ending of the file's name gives.
    pub(super) fn of(file: &Path) -> Result<Self, Error> {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("pdf") => Ok(Self::Pdf),
            Some("html") => Ok(Self::Html),
            _ => {
                let what = format!(
                    "the name of a picture must end in .svg, .png, .pdf or .html (got {})",
                    file.display()
                );
                let hint = "give a name such as compare.svg".to_owned();
                Err(Error::Usage { what, hint })
            }
        }
    }

    /// Resolution of the picture's layout, in pixels per inch.
    pub(super) fn dpi(self, look: Look) -> u32 {
        match self {
            Self::Png => look.dpi(),
            Self::Svg | Self::Pdf | Self::Html => PRECISION,
        }
    }

    /// Draws a picture of this width and height in pixels, and writes the file.
    ///
    /// # Errors
    /// If a PNG picture has too many pixels, the picture cannot be drawn, or the file cannot be written.
    pub(super) fn write(
        self,
        file: &Path,
        size: (u32, u32),
        dpi: u32,
        picture: Picture<'_>,
    ) -> Result<(), Error> {
        let bytes = match self {
            Self::Svg => svg(size, dpi, picture)?.into_bytes(),
            Self::Html => html::page(picture.charts, &svg(size, dpi, picture)?).into_bytes(),
            Self::Png => {
                ensure_pixels(size, dpi)?;
                let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
                picture.draw(&Bitmap::new(&mut pixels, size).into_drawing_area())?;
                png(&pixels, size, dpi)?
            }
            Self::Pdf => {
                let mut page = Page::new(size, dpi);
                picture.draw(&(&mut page).into_drawing_area())?;
                page.finish()
            }
        };
        Ok(write_file(file, &bytes)?)
    }
}

/// Returns an error if a PNG picture of this size would have more than [`MOST_PIXELS`].
fn ensure_pixels((width, height): (u32, u32), dpi: u32) -> Result<(), Error> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= MOST_PIXELS {
        return Ok(());
    }
    let millions = |pixels: u64| pixels.div_ceil(1_000_000);
    let (most, got) = (millions(MOST_PIXELS), millions(pixels));
    let what = format!(
        "a PNG picture must have at most {most} million pixels (got {width} x {height}, which is {got} million)"
    );
    // The number of pixels grows with the square of the pixels per inch.
    let most_dpi = f64::from(dpi) * (MOST_PIXELS as f64 / pixels as f64).sqrt();
    let hint = format!("give a `dpi` of at most {:.0}, or a smaller `size`", most_dpi.floor());
    Err(Error::Usage { what, hint })
}

/// Draws a picture of this width and height in pixels as SVG.
fn svg(size: (u32, u32), dpi: u32, picture: Picture<'_>) -> Result<String, Error> {
    let mut text = String::new();
    picture.draw(&SVGBackend::with_string(&mut text, size).into_drawing_area())?;
    Ok(with_lengths(&text, size, dpi))
}

/// The SVG picture `svg` with its width and height changed to pixels of CSS. The coordinates in the picture stay as
/// they are.
fn with_lengths(svg: &str, (width, height): (u32, u32), dpi: u32) -> String {
    let css = |length: u32| (f64::from(length) * CSS_DPI / f64::from(dpi) * 100.0).round() / 100.0;
    let pixels = format!("width=\"{width}\" height=\"{height}\"");
    svg.replacen(&pixels, &format!("width=\"{}\" height=\"{}\"", css(width), css(height)), 1)
}

/// Encodes pixels of red, green and blue as a PNG file. The file states how large the picture is in print.
fn png(pixels: &[u8], (width, height): (u32, u32), dpi: u32) -> Result<Vec<u8>, Error> {
    const INCHES_PER_METRE: f64 = 39.370_078_74;
    #[allow(clippy::cast_possible_truncation, reason = "at most 2400 pixels per inch")]
    let per_metre = (f64::from(dpi) * INCHES_PER_METRE).round() as u32;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_gives_the_format() {
        let of = |name: &str| Format::of(Path::new(name)).ok();
        assert_eq!([of("a.svg"), of("a.pdf")], [Some(Format::Svg), Some(Format::Pdf)]);
        assert_eq!([of("a.jpg"), of("png")], [None, None]);
    }

    #[test]
    fn a_png_picture_with_too_many_pixels_is_refused() {
        assert!(ensure_pixels((10_000, 10_000), 200).is_ok());
        let Err(Error::Usage { what, hint }) = ensure_pixels((120_000, 120_000), 2_400) else {
            panic!("the picture would take 43 GB");
        };
        assert!(what.contains("100 million pixels (got 120000 x 120000, which is 14400 million)"), "{what}");
        assert!(hint.contains("at most 200"), "{hint}");
    }

    #[test]
    fn lengths_of_svg_do_not_depend_on_its_precision() {
        let svg = "<svg width=\"720\" height=\"1440\" viewBox=\"0 0 720 1440\">";
        let expected = "<svg width=\"96\" height=\"192\" viewBox=\"0 0 720 1440\">";
        assert_eq!(with_lengths(svg, (720, 1_440), 720), expected);
    }
}
