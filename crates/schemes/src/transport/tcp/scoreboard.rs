//! The SACK scoreboard (RFC 6675). It records which data beyond the cumulative acknowledgement has arrived, and
//! determines which data is lost and which segment is retransmitted next.

use crate::transport::ranges::Ranges;

/// A segment counts as lost after this number of duplicate acknowledgements, or when this number of segments above it
/// are SACKed.
pub(super) const DUP_THRESH: u32 = 3;

/// The data that the receiver has reported in SACK blocks, and the progress of the current recovery.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    /// One past the highest sequence number that this recovery has retransmitted (`HighRxt`).
    high_rxt: u64,
    /// Number of SACKed sequence numbers below `high_rxt`.
    sacked_below_rxt: u64,
    /// True if this recovery has used its rescue retransmission.
    rescued: bool,
}

impl Scoreboard {
    /// Records a SACK block. Returns the number of bytes in this block that were not SACKed before.
    pub(super) fn sack(&mut self, from: u64, to: u64) -> u64 {
        let news = self.sacked.insert(from, to);
        if to <= self.high_rxt {
            self.sacked_below_rxt += news;
        } else if from < self.high_rxt {
            self.set_high_rxt(self.high_rxt);
        }
        news
    }

    /// Records that all data below `una` is acknowledged.
    pub(super) fn advance(&mut self, una: u64) {
        let before = self.sacked.total();
        self.sacked.remove_below(una);
        self.sacked_below_rxt = self.sacked_below_rxt.saturating_sub(before - self.sacked.total());
    }

    /// The SACKed ranges.
    pub(super) fn sacked(&self) -> &Ranges {
        &self.sacked
    }

    /// True if no data beyond the cumulative acknowledgement is SACKed.
    pub(super) fn is_empty(&self) -> bool {
        self.sacked.total() == 0
    }

    /// Starts a recovery.
    pub(super) fn start(&mut self, una: u64) {
        self.set_high_rxt(una);
        self.rescued = false;
    }

    /// Records the retransmission of `[from, to)`. A retransmission beyond the SACKed data, such as the rescue
    /// retransmission, does not change `high_rxt`.
    pub(super) fn repeated(&mut self, from: u64, to: u64) {
        if from < self.sacked.end() {
            self.set_high_rxt(to);
        }
    }

    fn set_high_rxt(&mut self, to: u64) {
        self.high_rxt = to;
        self.sacked_below_rxt = self.sacked.covered_below(to);
    }

    /// Data below the returned sequence number is lost unless it is SACKed (`IsLost`). From this number on, at least
    /// three ranges are SACKed, or more bytes than two full segments contain. The number is 0 if no data is lost. A
    /// single number separates lost data from other data, because fewer bytes are SACKed beyond a higher sequence
    /// number.
    pub(super) fn lost_below(&self, mss: u64) -> u64 {
        self.loss(mss).map_or(0, |(below, _)| below)
    }

    /// The result of [`lost_below`](Self::lost_below), and the number of SACKed bytes from this sequence number on.
    /// `None` if no data is lost.
    fn loss(&self, mss: u64) -> Option<(u64, u64)> {
        let mut bytes = 0;
        for (ranges, &(from, to)) in (1..).zip(self.sacked.list().iter().rev()) {
            bytes += to - from;
            if ranges >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * mss {
                return Some((from, bytes));
            }
        }
        None
    }

    /// The estimated number of bytes between `una` and `max` that are in the network (`SetPipe`).
    pub(super) fn pipe(&self, una: u64, max: u64, mss: u64) -> u64 {
        let total = self.sacked.total();
        let lost = self.loss(mss).map_or(0, |(below, above)| below - una - (total - above));
        let repeated = self.high_rxt.saturating_sub(una) - self.sacked_below_rxt;
        max - una - total - lost + repeated
    }

    /// The next range to retransmit, if its data is lost (`NextSeg`, rule 1). The range lies between SACKed ranges, or
    /// before the first one.
    pub(super) fn lost_hole(&self, una: u64, mss: u64) -> Option<(u64, u64)> {
        self.hole(una).filter(|&(from, _)| from < self.lost_below(mss))
    }

    /// The next range to retransmit, even if its data does not count as lost (`NextSeg`, rule 3). `None` if no data
    /// beyond the range is SACKed.
    pub(super) fn hole(&self, una: u64) -> Option<(u64, u64)> {
        let hole = self.sacked.gap(self.high_rxt.max(una));
        (hole.0 < self.sacked.end()).then_some(hole)
    }

    /// The rescue retransmission: the part of the last `len` sent sequence numbers that lies beyond the SACKed data. A
    /// recovery makes this retransmission at most once, when no other data can be sent. The receiver's answer shows
    /// which data has arrived (`NextSeg`, rule 4).
    pub(super) fn rescue(&mut self, una: u64, max: u64, len: u64) -> Option<(u64, u64)> {
        let from = self.sacked.end().max(una).max(max.saturating_sub(len));
        let first = !std::mem::replace(&mut self.rescued, true);
        (first && from < max).then_some((from, max))
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 100;

    fn board(blocks: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for &(from, to) in blocks {
            board.sack(from, to);
        }
        board
    }

    #[test]
    fn three_ranges_or_more_than_two_segments_above_make_a_loss() {
        assert_eq!(board(&[(100, 300)]).lost_below(MSS), 0);
        assert_eq!(board(&[(100, 301)]).lost_below(MSS), 100);
        assert_eq!(board(&[(100, 110), (200, 210), (300, 310)]).lost_below(MSS), 100);
        assert_eq!(board(&[(100, 200), (300, 400), (500, 601)]).lost_below(MSS), 300);
    }

    #[test]
    fn pipe_counts_unsacked_segments_that_are_not_lost_and_retransmissions() {
        // Bytes 0-99 and 200-299 are lost, bytes 100-199 and 300-599 are SACKed, and bytes 600-999 are in flight.
        let mut board = board(&[(100, 200), (300, 600)]);
        assert_eq!(board.pipe(0, 1_000, MSS), 400);
        board.start(0);
        board.repeated(0, 100);
        assert_eq!(board.pipe(0, 1_000, MSS), 500);
        board.repeated(200, 300);
        assert_eq!(board.pipe(0, 1_000, MSS), 600);
        board.advance(200);
        assert_eq!(board.pipe(200, 1_000, MSS), 500);
    }

    #[test]
    fn holes_come_in_order_and_the_rescue_once() {
        let mut board = board(&[(100, 200), (300, 600), (700, 750)]);
        board.start(0);
        assert_eq!(board.lost_hole(0, MSS), Some((0, 100)));
        board.repeated(0, 100);
        assert_eq!(board.lost_hole(0, MSS), Some((200, 300)));
        board.repeated(200, 300);
        assert_eq!(board.lost_hole(0, MSS), None, "only one range of 50 bytes above the hole is SACKed");
        assert_eq!(board.hole(0), Some((600, 700)));
        board.repeated(600, 700);
        assert_eq!(board.hole(0), None);
        assert_eq!(board.rescue(0, 1_000, MSS), Some((900, 1_000)));
        assert_eq!(board.rescue(0, 1_000, MSS), None);
        board.repeated(900, 1_000);
        board.sack(850, 900);
        assert_eq!(board.hole(0), Some((750, 850)), "the rescue retransmission must not hide this hole");
    }
    proptest! {
        #[test]
        fn pipe_equals_a_count_over_all_segments(
            operations in prop::collection::vec((0_u8..4, 0_u64..40, 1_u64..6), 1..60),
        ) {
            const SEGMENT: u64 = 100;
            const MAX: u64 = 50 * SEGMENT;
            let mut board = Scoreboard::default();
            let mut una = 0;
            for (operation, at, count) in operations {
                let (from, to) = (at * SEGMENT, (at + count) * SEGMENT);
                match operation {
                    0 | 1 if from > una => {
                        board.sack(from, to);
                    }
                    2 => {
                        una = una.max(from);
                        board.advance(una);
                    }
                    _ => board.repeated(from.max(una), to.max(una)),
                }
                // The expected value applies `SetPipe` (RFC 6675 §4) to each segment.
                let is_sacked = |from: u64| board.sacked().containing(from).is_some();
                let missing = (una..MAX).step_by(SEGMENT as usize).filter(|&from| !is_sacked(from));
                let lost = board.lost_below(SEGMENT);
                let pipe: u64 = missing
                    .map(|from| SEGMENT * (u64::from(from >= lost) + u64::from(from < board.high_rxt)))
                    .sum();
                prop_assert_eq!(board.pipe(una, MAX, SEGMENT), pipe);
            }
        }
    }
}
