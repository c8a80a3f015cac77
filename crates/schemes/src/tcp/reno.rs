//! Reno's congestion window (RFC 5681).

/// Congestion window and slow-start threshold, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reno {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    mss: u64,
}

impl Reno {
    pub(super) fn new(mss: u64, initial_window: u64) -> Self {
        Self { cwnd: mss * initial_window, ssthresh: u64::MAX, mss }
    }

    /// New data were acknowledged outside loss recovery (§3.1, eqs. 2 and 3).
    pub(super) fn acked(&mut self, bytes: u64) {
        self.cwnd += if self.cwnd < self.ssthresh {
            bytes.min(self.mss)
        } else {
            (self.mss * self.mss / self.cwnd).max(1)
        };
    }

    /// Segments are lost of `flight` outstanding bytes (§3.1, eq. 4).
    pub(super) fn reduce_threshold(&mut self, flight: u64) {
        self.ssthresh = (flight / 2).max(2 * self.mss);
    }

    /// The loss window, after a timeout.
    pub(super) fn collapse(&mut self) {
        self.cwnd = self.mss;
    }
}
