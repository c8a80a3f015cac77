//! Lines in bitmaps. A pixel at the edge of a line is covered in part, so lines of all directions look equally thick.

use plotters_backend::BackendCoord;
use std::collections::BTreeMap;
use std::ops::Range;

/// The pixels that a line covers, each with the share of the pixel that is covered, from 0 to 1. The line goes through
/// the middles of the pixels `points` and is `thickness` pixels thick. Its corners are round. Its ends are straight,
/// and include the first and the last pixel. `size` is the width and height of the bitmap.
pub(super) fn covered(
    points: &[BackendCoord],
    thickness: u32,
    size: (u32, u32),
) -> BTreeMap<BackendCoord, f64> {
    let mut shares = BTreeMap::new();
    let last = points.len().saturating_sub(2);
    for (i, ends) in points.windows(2).enumerate() {
        let segment = Segment::of((ends[0], ends[1]), thickness, (i > 0, i < last));
        for y in segment.rows(size.1) {
            for x in segment.columns(y, size.0) {
                // A pixel that two segments cover, such as at a corner, counts once, with the larger share.
                let share: &mut f64 = shares.entry((x, y)).or_default();
                *share = share.max(segment.covers((x, y)));
            }
        }
    }
    shares
}

/// A straight part of a line.
struct Segment {
    from: (f64, f64),
    to: (f64, f64),
    length: f64,
    /// The direction, as a vector of length 1.
    along: (f64, f64),
    /// Half the thickness.
    half: f64,
    /// For the first and for the last point: true if another segment of the line meets this segment there.
    joins: (bool, bool),
}

impl Segment {
    fn of((from, to): (BackendCoord, BackendCoord), thickness: u32, joins: (bool, bool)) -> Self {
        let place = |(x, y): BackendCoord| (f64::from(x), f64::from(y));
        let (from, to) = (place(from), place(to));
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let length = across.hypot(down);
        let along = if length > 0.0 { (across / length, down / length) } else { (1.0, 0.0) };
        Self { from, to, length, along, half: f64::from(thickness) / 2.0, joins }
    }

    /// The rows of pixels that the segment may cover, among the `height` rows of the bitmap.
    fn rows(&self, height: u32) -> Range<i32> {
        self.within((self.from.1.min(self.to.1), self.from.1.max(self.to.1)), height)
    }

    /// The columns of pixels that the segment may cover in row `y`, among the `width` columns of the bitmap.
    fn columns(&self, y: i32, width: u32) -> Range<i32> {
        let (least, most) = (self.from.0.min(self.to.0), self.from.0.max(self.to.0));
        let (across, down) = self.along;
        if down == 0.0 {
            return self.within((least, most), width);
        }
        // The center line of the segment crosses the row at `middle`. The edges of the segment cross the row at most
        // `aside` from there.
        let middle = self.from.0 + (f64::from(y) - self.from.1) * across / down;
        let aside = (self.half + 1.0) / down.abs();
        self.within(((middle - aside).clamp(least, most), (middle + aside).clamp(least, most)), width)
    }

    /// The pixels from `least` to `most`, and those that the thickness adds on both sides. Only pixels from 0 to below
    /// `count` are in the range.
    #[allow(clippy::cast_possible_truncation, reason = "a figure has few pixels")]
    fn within(&self, (least, most): (f64, f64), count: u32) -> Range<i32> {
        let reach = self.half + 1.0;
        let end = ((most + reach).ceil() as i32).min(count.cast_signed());
        ((least - reach).floor() as i32).max(0)..end
    }

    /// The share of a pixel that the segment covers, from 0 to 1.
    fn covers(&self, (x, y): BackendCoord) -> f64 {
        let (x, y) = (f64::from(x) - self.from.0, f64::from(y) - self.from.1);
        let (along, aside) = (x * self.along.0 + y * self.along.1, y * self.along.0 - x * self.along.1);
        let (beyond, joins) = if -along > along - self.length {
            (-along, self.joins.0)
        } else {
            (along - self.length, self.joins.1)
        };
        let share = |distance: f64| (self.half + 0.5 - distance).clamp(0.0, 1.0);
        if joins {
            share(aside.hypot(beyond.max(0.0)))
        } else {
            share(aside.abs()).min((1.0 - beyond).clamp(0.0, 1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: (u32, u32) = (200, 200);

    /// The number of pixels that a line covers, with each pixel counted by its share.
    fn ink(points: &[BackendCoord], thickness: u32) -> f64 {
        covered(points, thickness, SIZE).values().sum()
    }

    #[test]
    fn a_line_is_equally_thick_in_all_directions() {
        for end in [(150, 50), (150, 60), (150, 120), (150, 150), (100, 150), (50, 150), (10, 150), (10, 55)]
        {
            for thickness in [1, 2, 3, 8] {
                let length = f64::from(end.0 - 50).hypot(f64::from(end.1 - 50)) + 1.0;
                let thick = ink(&[(50, 50), end], thickness) / length;
                // A diagonal line with a thickness of 1 is drawn an eighth too thick.
                assert!((thick - f64::from(thickness)).abs() < 0.15, "{end:?}: {thick} of {thickness}");
            }
        }
    }

    #[test]
    fn a_line_along_pixels_is_sharp() {
        let pixels = covered(&[(10, 20), (12, 20)], 1, SIZE);
        let full: Vec<_> = pixels.into_iter().filter(|&(_, share)| share > 0.0).collect();
        assert_eq!(full, [((10, 20), 1.0), ((11, 20), 1.0), ((12, 20), 1.0)]);
    }

    #[test]
    fn a_line_in_many_parts_has_the_ink_of_one_part() {
        let parts: Vec<BackendCoord> = (0..=100).map(|i| (20 + i, 20 + i)).collect();
        let (many, one) = (ink(&parts, 3), ink(&[(20, 20), (120, 120)], 3));
        assert!((many - one).abs() < 0.01 * one, "{many} {one}");
    }

    #[test]
    fn a_line_stays_within_the_bitmap() {
        let pixels = covered(&[(-50, 5), (500, 300)], 4, SIZE);
        assert!(!pixels.is_empty());
        assert!(pixels.keys().all(|&(x, y)| (0..200).contains(&x) && (0..200).contains(&y)));
        assert_eq!(covered(&[(5, 5)], 4, SIZE).len(), 0);
    }
}
