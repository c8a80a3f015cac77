//! PDF pictures: a drawing surface that writes the operators of a page.
//!
//! Text is drawn as outlines of the embedded font, so a page needs no font. Colors are mixed with white instead of
//! being transparent, since some publishers refuse transparency. The same picture has the same bytes: a page holds
//! neither dates nor identifiers.
//!
//! To convert SVG pictures with `svg2pdf` would need 70 more crates, and would make every build a minute longer.

use super::letters;
use super::style::POINTS_PER_INCH;
use ab_glyph::{OutlineCurve, Point};
use pdf_writer::{Content, Filter, Finish, Pdf, Rect, Ref};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::convert::Infallible;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// The page of a picture.
pub(super) struct Page {
    content: Content,
    /// Width and height, in pixels.
    size: (u32, u32),
    /// Length of a pixel, in points.
    pixel: f32,
}

impl Page {
    /// An empty page of this width and height in pixels.
    #[allow(clippy::cast_possible_truncation, reason = "pixels and points of a page are small numbers")]
    pub(super) fn new(size: (u32, u32), dpi: u32) -> Self {
        let pixel = (POINTS_PER_INCH / f64::from(dpi)) as f32;
        let mut content = Content::new();
        // The y axis of PDF goes up. The y axis of pixels goes down.
        content.transform([pixel, 0.0, 0.0, -pixel, 0.0, size.1 as f32 * pixel]);
        Self { content, size, pixel }
    }

    /// The bytes of a file with this page.
    pub(super) fn finish(self) -> Vec<u8> {
        let [catalog, pages, page, contents] = [1, 2, 3, 4].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let mut written = pdf.page(page);
        let (width, height) = (self.size.0 as f32 * self.pixel, self.size.1 as f32 * self.pixel);
        written.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(contents);
        written.resources().finish();
        written.finish();
        let compressed = compressed(&self.content.finish());
        pdf.stream(contents, &compressed).filter(Filter::FlateDecode);
        pdf.finish()
    }

    /// Sets the color of lines and areas. Returns false for an invisible color.
    fn ink(&mut self, colour: BackendColor) -> bool {
        #[allow(clippy::cast_possible_truncation, reason = "an `f32` is precise enough for a share")]
        let mixed = |part: u8| ((f64::from(part) * colour.alpha / 255.0) + 1.0 - colour.alpha) as f32;
        let (r, g, b) = colour.rgb;
        let (r, g, b) = (mixed(r), mixed(g), mixed(b));
        self.content.set_stroke_rgb(r, g, b).set_fill_rgb(r, g, b);
        colour.alpha > 0.0
    }

    /// Adds a path through these points.
    fn path(&mut self, points: impl IntoIterator<Item = BackendCoord>) {
        for (i, (x, y)) in points.into_iter().enumerate() {
            let (x, y) = (x as f32, y as f32);
            if i == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    /// Adds the outline of a glyph.
    fn glyph(&mut self, curves: &[OutlineCurve]) {
        let mut last = None;
        for curve in curves {
            let (from, controls, to) = match *curve {
                OutlineCurve::Line(a, b) => (a, None, b),
                // A quadratic curve as a cubic curve: each control point is two thirds of the way from
                // an end to the given control point.
                OutlineCurve::Quad(a, control, b) => {
                    let toward = |end: Point| Point {
                        x: end.x + (control.x - end.x) * 2.0 / 3.0,
                        y: end.y + (control.y - end.y) * 2.0 / 3.0,
                    };
                    (a, Some((toward(a), toward(b))), b)
                }
                OutlineCurve::Cubic(a, first, second, b) => (a, Some((first, second)), b),
            };
            if last != Some(from) {
                self.content.move_to(from.x, from.y);
            }
            match controls {
                None => self.content.line_to(to.x, to.y),
                Some((first, second)) => {
                    self.content.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y)
                }
            };
            last = Some(to);
        }
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to a vector cannot fail")
}

impl DrawingBackend for &mut Page {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Drawn {
        if self.ink(colour) {
            self.content.rect(x as f32, y as f32, 1.0, 1.0).fill_nonzero();
        }
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        if self.ink(style.color()) {
            let (width, height) = (bottom_right.0 - upper_left.0, bottom_right.1 - upper_left.1);
            self.content.set_line_width(style.stroke_width() as f32);
            self.content.rect(upper_left.0 as f32, upper_left.1 as f32, width as f32, height as f32);
            if fill {
                self.content.fill_nonzero()
            } else {
                self.content.stroke()
            };
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        if self.ink(style.color()) {
            self.content.set_line_width(style.stroke_width() as f32);
            self.path(path);
            self.content.stroke();
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        if self.ink(style.color()) {
            self.path(corners);
            self.content.fill_nonzero();
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        if self.ink(style.color()) {
            letters::outlines(text, style, at).iter().for_each(|outline| self.glyph(&outline.curves));
            self.content.fill_nonzero();
        }
        Ok(())
    }
}
