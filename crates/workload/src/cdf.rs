//! Flow-size distributions read from files of points, the usual format in the field.

use raddle_core::Bytes;
use raddle_core::text::{self, Misread};

/// A distribution of sizes, interpolated linearly between its points.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeCdf {
    /// (bytes, probability of at most this size). Both columns are non-decreasing, and the probability ranges
    /// from 0 to 1.
    points: Vec<(f64, f64)>,
}

impl SizeCdf {
    /// Creates the distribution with these points. Both columns are non-decreasing, and the probability
    /// ranges from 0 to 1.
    pub(crate) fn of(points: Vec<(f64, f64)>) -> Self {
        Self { points }
    }

    /// Converts a distribution of sizes counted in units, such as packets, to bytes. Each unit has `unit` bytes.
    #[must_use]
    pub fn scaled(mut self, unit: Bytes) -> Self {
        for (size, _) in &mut self.points {
            *size *= unit.0 as f64;
        }
        self
    }

    /// Returns the points: (bytes, probability of at most this size). Both columns are non-decreasing, and
    /// the probability ranges from 0 to 1. Two points with the same size mean that a share of all flows has
    /// exactly this size. Two points with the same probability leave a gap between their sizes.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Reads a file of two columns: bytes, and percent (ending at 100) or probability (ending at 1). The first row has
    /// probability 0. `#` starts a comment.
    ///
    /// # Errors
    /// Returns an error with line and column if a row is malformed or a column decreases. Also returns an
    /// error if there are no rows, or the largest size is less than a byte. The first probability must be 0, and
    /// the last must be 1 (100%).
    pub fn parse(text: &str) -> Result<Self, Misread> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut ends = None;
        for words in text::lines(text) {
            let [size, share] = text::row(&words, ["bytes", "probability"])?;
            let point: (f64, f64) = (size.number("a size in bytes")?, share.number("a probability")?);
            let &(size_before, share_before) = points.last().unwrap_or(&(0.0, 0.0));
            // The comparison is written so that NaN fails too.
            if !(point.0 >= size_before && point.0.is_finite()) {
                return Err(size.error(format!(
                    "sizes must be finite, at least 0 and non-decreasing (got {} after {size_before})",
                    point.0
                )));
            }
            if !(point.1 >= share_before && point.1.is_finite()) {
                return Err(share.error(format!(
                    "probabilities must be finite, at least 0 and non-decreasing (got {} after \
                     {share_before})",
                    point.1
                )));
            }
            if points.is_empty() && point.1 > 0.0 {
                return Err(share.error(format!("the first row's probability must be 0 (got {})", point.1)));
            }
            points.push(point);
            ends = Some(share);
        }
        let (Some(last), Some(&(largest, total))) = (ends, points.last()) else {
            let problem = "the distribution has no rows".to_owned();
            return Err(Misread { line: 1, column: 1, problem });
        };
        if ![1.0, 100.0].contains(&total) {
            return Err(last.error(format!("the last row's probability must be 1 or 100 (got {total})")));
        }
        if largest < 1.0 {
            return Err(last.error(format!("the largest size must be at least 1 byte (got {largest})")));
        }
        for point in &mut points {
            point.1 /= total;
        }
        Ok(Self { points })
    }

    /// Removes the largest flows from the distribution. `share` is the fraction of all flows that is removed. The
    /// probabilities of the remaining sizes keep their ratios.
    ///
    /// # Panics
    /// If the share is not in `0..1`.
    #[must_use]
    pub fn without_largest(mut self, share: f64) -> Self {
        assert!(
            (0.0..1.0).contains(&share),
            "the share of flows to remove must be at least 0 and less than 1 (got {share})"
        );
        let kept = 1.0 - share;
        let next = self.points.partition_point(|&(_, share)| share < kept);
        let ((size, share), (next_size, next_share)) = (self.points[next - 1], self.points[next]);
        self.points.truncate(next);
        self.points.push((size + (next_size - size) * ((kept - share) / (next_share - share)), kept));
        for point in &mut self.points {
            point.1 /= kept;
        }
        self
    }

    /// Returns the mean size in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.points.windows(2).map(|p| (p[1].1 - p[0].1) * f64::midpoint(p[0].0, p[1].0)).sum()
    }

    /// Returns the size in bytes that the fraction `u` of the flows does not exceed. `u` is at least 0 and below 1.
    #[must_use]
    pub fn quantile(&self, u: f64) -> f64 {
        let next = self.points.partition_point(|&(_, share)| share <= u).clamp(1, self.points.len() - 1);
        let ((size, share), (next_size, next_share)) = (self.points[next - 1], self.points[next]);
        size + (next_size - size) * ((u - share) / (next_share - share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_probability_read_alike() {
        let percent = SizeCdf::parse("# web\n0 0\n10000 15\n20000 100\n").unwrap();
        let probability = SizeCdf::parse("0 0\n10000 0.15\n\n20000 1\n").unwrap();
        assert_eq!(percent, probability);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these values are exact")]
    fn sizes_are_linear_between_points() {
        let cdf = SizeCdf::parse("0 0\n1000 50\n3000 50\n5000 100").unwrap();
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(|u| cdf.quantile(u)), [0.0, 500.0, 3_000.0, 4_000.0]);
        assert_eq!(cdf.mean(), 250.0 + 2_000.0);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these values are exact")]
    fn repeated_sizes_are_atoms_at_either_end_and_between() {
        let cdf = SizeCdf::parse("6 0\n6 25\n8 25\n8 50\n8 75\n9 75\n9 100\n9 100").unwrap();
        let sizes = [0.0, 0.2, 0.25, 0.5, 0.7, 0.75, 0.999].map(|u| cdf.quantile(u));
        assert_eq!(sizes, [6.0, 6.0, 8.0, 8.0, 8.0, 9.0, 9.0]);
        assert_eq!((cdf.mean(), cdf.scaled(Bytes(1_000)).mean()), (7.75, 7_750.0));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these values are exact")]
    fn without_the_largest_the_others_are_as_likely_as_before() {
        let cdf = SizeCdf::parse("0 0\n1000 50\n3000 100").unwrap();
        assert_eq!(
            cdf.clone().without_largest(0.25).points(),
            [(0.0, 0.0), (1_000.0, 2.0 / 3.0), (2_000.0, 1.0)]
        );
        assert_eq!(cdf.clone().without_largest(0.5).points(), [(0.0, 0.0), (1_000.0, 1.0)]);
        assert_eq!(cdf.without_largest(0.5).quantile(0.5), 500.0);
    }

    #[test]
    fn malformed_files_are_refused_at_their_place() {
        let error = |text| SizeCdf::parse(text).unwrap_err().to_string();
        assert_eq!(error(""), "line 1, column 1: the distribution has no rows");
        assert_eq!(error("0 0\n\n10 x"), "line 3, column 4: `x` is not a probability");
        assert_eq!(
            error("0 0\n10"),
            "line 2, column 1: the number of columns must be 2 (got 1): bytes probability"
        );
        assert_eq!(
            error("0 0\n20 50\n10 100"),
            "line 3, column 1: sizes must be finite, at least 0 and non-decreasing (got 10 after 20)"
        );
        assert_eq!(
            error("0 0\n20 50\n30 20"),
            "line 3, column 4: probabilities must be finite, at least 0 and non-decreasing (got 20 after 50)"
        );
        assert_eq!(error("10 5\n20 100"), "line 1, column 4: the first row's probability must be 0 (got 5)");
        assert_eq!(
            error("0 0\n20 0.9"),
            "line 2, column 4: the last row's probability must be 1 or 100 (got 0.9)"
        );
        assert_eq!(error("0 0\n0 100"), "line 2, column 3: the largest size must be at least 1 byte (got 0)");
        assert!(SizeCdf::parse("0 0\nNaN 100").is_err());
    }
}
