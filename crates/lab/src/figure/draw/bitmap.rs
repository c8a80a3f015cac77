//! A bitmap whose text stands where it belongs: `plotters` draws text too high by a seventh of its size.

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
}

impl<'a> DrawingBackend for Bitmap<'a> {
    type ErrorType = Failure<'a>;

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn<'a> {
        #[allow(clippy::cast_possible_truncation, reason = "a size in pixels")]
        let lower = (style.size() / 7.0).round() as i32;
        let (across, down) = style.transform().transform(0, lower);
        self.0.draw_text(text, style, (x + across, y + down))
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
        self.0.draw_line(from, to, style)
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
        self.0.draw_path(path, style)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn<'a> {
        self.0.fill_polygon(corners, style)
    }
}
