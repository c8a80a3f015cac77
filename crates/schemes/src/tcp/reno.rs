//! Reno's congestion window (RFC 5681).

/// Congestion window and slow-start threshold, in bytes.
///
/// 32 bits each: the receiver offers less than 64 MiB, and only a window in use grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reno {
    cwnd: u32,
    ssthresh: u32,
}

impl Reno {
    pub(super) fn new(mss: u16, initial_window: u16) -> Self {
        Self { cwnd: u32::from(mss) * u32::from(initial_window), ssthresh: u32::MAX }
    }

    /// The congestion window.
    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd.into()
    }

    /// The slow-start threshold.
    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh.into()
    }

    /// The congestion window becomes `bytes`.
    pub(super) fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd = narrow(bytes);
    }

    /// New data were acknowledged outside loss recovery (§3.1, eqs. 2 and 3).
    pub(super) fn acked(&mut self, bytes: u64, mss: u16) {
        let mss = u32::from(mss);
        let more =
            if self.cwnd < self.ssthresh { narrow(bytes).min(mss) } else { (mss * mss / self.cwnd).max(1) };
        self.cwnd = self.cwnd.saturating_add(more);
    }

    /// Segments are lost of `flight` outstanding bytes (§3.1, eq. 4).
    pub(super) fn reduce_threshold(&mut self, flight: u64, mss: u16) {
        self.ssthresh = narrow((flight / 2).max(2 * u64::from(mss)));
    }
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
