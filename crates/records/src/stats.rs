//! Statistics of results. Percentiles are by nearest rank: a percentile is always a value of the sample and is never
//! interpolated. The caller sorts a sample once for all functions that need a sorted sample.

use std::cmp::Ordering;

/// Returns the `p`-th percentile of a sorted sample by nearest rank, with `p` in `0..=100`. The result is the
/// smallest value of the sample that is greater than or equal to at least `p` % of the values. `None` for an
/// empty sample.
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
pub fn percentile<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    sorted.get(rank(p, sorted.len() as u64) as usize - 1).copied()
}

/// Returns the rank of the `p`-th percentile of `count` values, counted from 1.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
pub(crate) fn rank(p: f64, count: u64) -> u64 {
    // The rank of 99.9 % of 1,000 values must be 999, although 99.9 as a double is slightly larger than 99.9.
    let rank = p / 100.0 * count as f64;
    ((rank - rank * 1e-12).ceil() as u64).clamp(1, count.max(1))
}

/// Returns the Kolmogorov-Smirnov distance of two sorted samples: the largest difference between their distribution
/// functions, from 0 to 1. `None` if a sample is empty.
#[must_use]
pub fn distance(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let share =
        |sample: &[f64], value| sample.partition_point(|&of| of <= value) as f64 / sample.len() as f64;
    let apart = |&value: &f64| (share(one, value) - share(other, value)).abs();
    one.iter().chain(other).map(apart).max_by(f64::total_cmp)
}

/// Returns the mean. `None` for an empty sample.
#[must_use]
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// Student's t for two-sided 95% confidence, for 1 to 30 degrees of freedom.
const STUDENT_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Returns half the width of the 95% confidence interval of the mean, by Student's t. `None` for fewer than two values,
/// whose spread is unknown.
#[must_use]
pub fn margin(sample: &[f64]) -> Option<f64> {
    let mean = mean(sample)?;
    let freedom = sample.len() - 1;
    let squares: f64 = sample.iter().map(|value| (value - mean) * (value - mean)).sum();
    let t = match freedom {
        0 => return None,
        1..=30 => STUDENT_95[freedom - 1],
        // The first two terms of the expansion of t around 1.96, the value of the normal distribution.
        _ => 1.960 + 2.372 / freedom as f64,
    };
    Some(t * (squares / freedom as f64 / sample.len() as f64).sqrt())
}

/// Sorts a sample of doubles in the order that the other functions expect.
pub fn sort(sample: &mut [f64]) {
    sample.sort_unstable_by(f64::total_cmp);
}

/// Returns the distribution function of a sorted sample. There is one point per distinct value: the value, and the
/// share of the sample that does not exceed it.
#[must_use]
pub fn cdf(sorted: &[f64]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (i, &value) in sorted.iter().enumerate() {
        let share = (i + 1) as f64 / sorted.len() as f64;
        match points.last_mut() {
            Some(last) if last.0.total_cmp(&value) == Ordering::Equal => last.1 = share,
            _ => points.push((value, share)),
        }
    }
    points
}

/// Sorts points (x, y) by x and divides them into up to `count` bins, whose numbers of points differ by at most
/// one. For each bin, returns its median x (for an even number of points, the lower of the two middle values) and its
/// sorted ys. Bins with the same median x are merged.
#[must_use]
pub fn equal_count_bins(mut points: Vec<(f64, f64)>, count: usize) -> Vec<(f64, Vec<f64>)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut bins: Vec<(f64, Vec<f64>)> = Vec::new();
    for i in 0..count {
        let bin = &points[i * points.len() / count..(i + 1) * points.len() / count];
        let Some(&(middle, _)) = bin.get(bin.len().saturating_sub(1) / 2) else { continue };
        if bins.last().is_none_or(|last| last.0.total_cmp(&middle).is_ne()) {
            bins.push((middle, Vec::new()));
        }
        let last = bins.len() - 1;
        bins[last].1.extend(bin.iter().map(|point| point.1));
    }
    bins.iter_mut().for_each(|bin| sort(&mut bin.1));
    bins
}

/// Returns Jain's fairness index, `(Σx)² / (n Σx²)`. The index is 1 if all shares are equal, and 1/n if all
/// shares but one are 0. `None` if there are no shares or all are 0.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Returns the Kolmogorov-Smirnov distance of two sorted samples: the largest difference between their distribution
/// functions. `None` if a sample is empty.
#[must_use]
pub fn ks_distance(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mut i, mut j, mut distance) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        let value = if a[i].total_cmp(&b[j]).is_le() { a[i] } else { b[j] };
        let past = |sample: &[f64], from: usize| {
            from + sample[from..].iter().take_while(|x| x.total_cmp(&value).is_le()).count()
        };
        (i, j) = (past(a, i), past(b, j));
        distance = distance.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    Some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_as_far_apart_as_their_shares() {
        assert_eq!(distance(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(distance(&[1.0, 2.0], &[3.0]), Some(1.0));
        assert_eq!(distance(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 5.0, 6.0]), Some(0.5));
        assert_eq!(distance(&[1.0], &[]), None);
    }

    #[test]
    fn the_margin_is_of_the_mean() {
        assert_eq!([margin(&[]), margin(&[1.0])], [None, None]);
        // The mean is 2, the standard deviation is 1, and t is 4.303 (2 degrees of freedom), so the margin
        // is 4.303 * 1 / sqrt(3).
        let three = margin(&[1.0, 2.0, 3.0]).unwrap();
        assert!((three - 2.484).abs() < 0.001, "{three}");
        let many: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let of_many = margin(&many).unwrap();
        // The standard deviation is 0.5025 and t is 1.984, so the margin of the 100 values is 1.984 * 0.5025
        // / sqrt(100) = 0.0997.
        assert!((of_many - 0.0997).abs() < 0.0002, "{of_many}");
    }
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let sample: Vec<u32> = (1..=1_000).collect();
        let at = |p| percentile(&sample, p);
        assert_eq!(
            [0.0, 0.1, 50.0, 50.01, 99.0, 99.9, 100.0].map(at),
            [1, 1, 500, 501, 990, 999, 1_000].map(Some)
        );
        assert_eq!(percentile(&[15, 20, 35, 40, 50], 40.0), Some(20));
        assert_eq!(percentile(&[7], 99.0), Some(7));
        assert_eq!(percentile::<u32>(&[], 50.0), None);
    }

    #[test]
    fn cdf_has_a_point_a_distinct_value() {
        assert_eq!(cdf(&[1.0, 1.0, 2.0, 4.0]), [(1.0, 0.5), (2.0, 0.75), (4.0, 1.0)]);
    }

    #[test]
    fn bins_hold_equally_many_and_those_of_one_x_are_one() {
        let points = vec![(4.0, 1.0), (1.0, 9.0), (1.0, 3.0), (2.0, 5.0), (3.0, 2.0)];
        let bins = equal_count_bins(points.clone(), 2);
        assert_eq!(bins, [(1.0, vec![3.0, 9.0]), (3.0, vec![1.0, 2.0, 5.0])]);
        assert_eq!(equal_count_bins(points.clone(), 1), [(2.0, vec![1.0, 2.0, 3.0, 5.0, 9.0])]);
        // With more bins than points, each bin has at most one point, and the bins of the two points at x = 1 are
        // merged.
        assert_eq!(equal_count_bins(points, 20).len(), 4);
        assert_eq!(equal_count_bins(vec![(7.0, 2.0), (7.0, 1.0)], 2), [(7.0, vec![1.0, 2.0])]);
        assert_eq!(equal_count_bins(Vec::new(), 20), []);
    }

    #[test]
    fn jain_and_mean_of_known_samples() {
        assert_eq!(jain(&[2.0; 4]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[]), jain(&[0.0])), (None, None));
        assert_eq!((mean(&[1.0, 2.0, 6.0]), mean(&[])), (Some(3.0), None));
    }

    #[test]
    fn ks_distance_of_known_samples() {
        assert_eq!(ks_distance(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(ks_distance(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(ks_distance(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0]), Some(0.5));
        assert_eq!(ks_distance(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_least_value_that_enough_do_not_exceed(
            mut sample in proptest::collection::vec(0_u32..50, 1..60), percent in 1_u32..=100,
        ) {
            sample.sort_unstable();
            let value = percentile(&sample, percent.into()).unwrap();
            let enough = |limit: u32| {
                sample.partition_point(|&x| x <= limit) * 100 >= percent as usize * sample.len()
            };
            prop_assert!(enough(value));
            prop_assert!(value == 0 || !enough(value - 1));
        }
    }
}
