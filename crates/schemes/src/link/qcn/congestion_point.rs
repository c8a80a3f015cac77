//! The congestion point: samples a queue and computes how congested it is (specifications/cee.md §3.1).
//!
//! The queue holds the frames of one priority at one egress port, including the frame in transmission. The congestion
//! point takes a sample after a certain number of bytes has joined the queue. This number is smaller after greater
//! feedback. A sample adds two values, the second with a weight: the queue's *offset* from the equilibrium, and its
//! growth since the previous sample. The sum is converted to 6 bits of feedback. If the feedback is not 0, the source
//! of the frame that has just joined is notified. A sum that is not positive gives 0. A queue that shrinks fast enough
//! is therefore not treated as congested, however long it is.
//!
//! All arithmetic uses whole numbers. Cost per frame without a sample: an addition and two subtractions.

use super::params::{Interval, Params};
use super::{MOST_FEEDBACK, around};
use raddle_core::Stream;

/// The congestion point of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CongestionPoint {
    /// Bytes in the queue.
    queue: u64,
    /// Bytes in the queue at the previous sample.
    sampled: u64,
    /// Bytes until the next sample, which is due when this value is negative.
    to_sample: i64,
}

/// The result of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The feedback in 6 bits. Feedback of zero causes no notice.
    pub feedback: u8,
    /// Bytes by which the queue exceeds its equilibrium.
    pub offset: i64,
    /// Bytes by which the queue has grown since the previous sample.
    pub growth: i64,
}

impl CongestionPoint {
    /// The congestion point of an empty queue.
    #[must_use]
    pub(crate) fn new(params: &Params, random: &mut Stream) -> Self {
        Self { queue: 0, sampled: 0, to_sample: around(params.sample.0, random).cast_signed() }
    }

    /// Adds a frame of `bytes` bytes to the queue. Returns the sample if this frame is sampled.
    pub(crate) fn joined(&mut self, bytes: u32, params: &Params, random: &mut Stream) -> Option<Sample> {
        self.queue += u64::from(bytes);
        self.to_sample -= i64::from(bytes);
        (self.to_sample < 0).then(|| self.sample(params, random))
    }

    /// Removes a frame of `bytes` bytes from the queue: its last bit has left, or the frame was lost.
    ///
    /// # Panics
    /// In debug builds, if the queue holds fewer than `bytes` bytes.
    pub(crate) fn left(&mut self, bytes: u32) {
        self.queue -= u64::from(bytes);
    }

    fn sample(&mut self, params: &Params, random: &mut Stream) -> Sample {
        let offset = self.queue.cast_signed() - params.qeq.0.cast_signed();
        let growth = self.queue.cast_signed() - self.sampled.cast_signed();
        let feedback = quantized(offset + i64::from(params.w) * growth, params);
        self.sampled = self.queue;
        self.to_sample = around(interval(feedback, params), random).cast_signed();
        Sample { feedback, offset, growth }
    }
}

/// Converts congestion in bytes to 6 bits. The value 63 means a queue that has just grown from empty to twice the
/// equilibrium, or any greater congestion.
#[allow(clippy::cast_possible_truncation, reason = "the quotient is at most `MOST_FEEDBACK`")]
fn quantized(congestion: i64, params: &Params) -> u8 {
    let most = params.qeq.0 * (1 + 2 * u64::from(params.w));
    let congestion = congestion.max(0).cast_unsigned().min(most);
    (congestion * u64::from(MOST_FEEDBACK) / most) as u8
}

/// Mean number of bytes until the next sample, after this feedback.
fn interval(feedback: u8, params: &Params) -> u64 {
    /// Sampling intervals, indexed by the upper three bits of the feedback. The unit is 1/300 of the interval without
    /// congestion.
    const TABLE: [u64; 8] = [300, 150, 100, 75, 60, 50, 43, 37];
    match params.interval {
        // For feedback q, the sampling frequency is 1 + 9 q / 63 times the frequency without congestion.
        Interval::Linear => params.sample.0 * 7 / (7 + u64::from(feedback)),
        Interval::Table => params.sample.0 * TABLE[usize::from(feedback >> 3)] / TABLE[0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The congestion and the feedback of a sample, and the mean interval in bytes until the next sample. Since the
    /// previous sample, the queue's length has changed from `sampled` to `queue` bytes.
    fn found(queue: u64, sampled: u64, interval_by: Interval) -> (i64, u8, u64) {
        let params = Params { interval: interval_by, ..Params::default() };
        let mut point = CongestionPoint { queue, sampled, to_sample: 0 };
        let sample = point.sample(&params, &mut Stream::new(1, 0, "test"));
        assert_eq!(point.sampled, queue);
        let mean = interval(sample.feedback, &params);
        let drawn = point.to_sample as f64 / mean as f64;
        assert!((0.849..=1.151).contains(&drawn), "{drawn}");
        (sample.offset + 2 * sample.growth, sample.feedback, mean)
    }

    /// Columns, in bytes except for the feedback: queue length, queue length at the previous sample, congestion,
    /// feedback, and the sampling interval by the linear rule and by the table.
    #[test]
    fn oracle_8_7_feedback_and_intervals() {
        for (queue, sampled, congestion, feedback, linear, table) in [
            (50_000, 20_000, 90_000, 56, 16_666, 18_500),
            (85_000, 20_000, 195_000, 63, 15_000, 18_500),
            (40_000, 30_000, 40_000, 25, 32_812, 37_500),
            (60_000, 60_000, 40_000, 25, 32_812, 37_500),
            (21_500, 20_000, 4_500, 2, 116_666, 150_000),
            (20_500, 20_000, 1_500, 0, 150_000, 150_000),
            (20_000, 20_000, 0, 0, 150_000, 150_000),
            (30_000, 40_000, -10_000, 0, 150_000, 150_000),
        ] {
            assert_eq!(found(queue, sampled, Interval::Linear), (congestion, feedback, linear));
            assert_eq!(found(queue, sampled, Interval::Table), (congestion, feedback, table));
        }
    }

    #[test]
    fn oracle_8_7_a_standing_queue_is_congested_from_21_588_bytes_on() {
        let standing = |queue| found(queue, queue, Interval::Linear).1;
        assert_eq!([0, 20_000, 21_587, 21_588].map(standing), [0, 0, 0, 1]);
    }

    #[test]
    fn table_of_intervals() {
        let params = Params { interval: Interval::Table, ..Params::default() };
        let steps = [0, 7, 8, 16, 24, 32, 40, 48, 56, 63].map(|feedback| interval(feedback, &params));
        assert_eq!(steps, [150_000, 150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500, 18_500]);
    }

    /// Mean number of bytes between samples, over `samples` samples. Frames of one size join a queue whose length stays
    /// at `queue`.
    fn mean_interval(queue: u64, frame: u32, samples: u32) -> f64 {
        let (params, mut random) = (Params::default(), Stream::new(3, 0, "test"));
        let mut point = CongestionPoint { queue, sampled: queue, to_sample: -1 };
        point.sample(&params, &mut random);
        let (mut bytes, mut seen) = (0_u64, 0);
        while seen < samples {
            bytes += u64::from(frame);
            let sample = point.joined(frame, &params, &mut random);
            point.left(frame);
            seen += u32::from(sample.is_some());
        }
        bytes as f64 / f64::from(samples)
    }

    /// The mean interval is 15 KB (12 us at 10 Gb/s) under the greatest congestion, and 150 KB (120 us) without
    /// congestion. The frames are small, because a sample is taken only at the end of a frame.
    #[test]
    fn oracle_8_9_mean_intervals() {
        let congested = mean_interval(1_000_000, 64, 10_000);
        assert!((congested / 15_000.0 - 1.0).abs() < 0.01, "{congested}");
        let calm = mean_interval(0, 64, 10_000);
        assert!((calm / 150_000.0 - 1.0).abs() < 0.01, "{calm}");
    }

    /// The interval is drawn again at each sample. A sample is late by half a frame on average, so one frame in 10.5 is
    /// sampled instead of one in 10.
    #[test]
    fn full_frames_are_sampled_at_the_end_of_one() {
        let congested = mean_interval(1_000_000, 1_500, 10_000);
        assert!((congested / 15_750.0 - 1.0).abs() < 0.01, "{congested}");
    }

    proptest! {
        /// The queue holds the bytes that joined and have not left. Each sample contains the queue's offset and growth.
        #[test]
        fn samples_are_of_the_queue_as_it_is(frames in prop::collection::vec((64_u32..1_501, any::<bool>()), 1..400)) {
            let (params, mut random) = (Params::default(), Stream::new(5, 0, "test"));
            let mut point = CongestionPoint::new(&params, &mut random);
            let mut waiting = std::collections::VecDeque::new();
            let (mut before, mut since) = (0_i64, 0_i64);
            for (bytes, leaves) in frames {
                let sample = point.joined(bytes, &params, &mut random);
                waiting.push_back(bytes);
                since += i64::from(bytes);
                let queue: i64 = waiting.iter().copied().map(i64::from).sum();
                prop_assert_eq!(point.queue.cast_signed(), queue);
                if let Some(sample) = sample {
                    prop_assert_eq!((sample.offset, sample.growth), (queue - 20_000, queue - before));
                    prop_assert!(since >= 12_750, "an interval has at least 85% of 15,000 B");
                    (before, since) = (queue, 0);
                }
                if leaves {
                    point.left(waiting.pop_front().expect("one has just joined"));
                }
            }
        }
    }
}
