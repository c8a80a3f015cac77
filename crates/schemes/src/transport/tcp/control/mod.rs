//! Congestion control: the reaction of a flow's window to acknowledgements, ECN marks and losses. Each algorithm has
//! its own file in this folder. The file also contains the algorithm's registry entry, to which one line of the
//! registry refers.

pub(crate) mod cubic;
pub(crate) mod dctcp;
pub(crate) mod newreno;
pub(crate) mod reno;

use super::Params;
use raddle_core::{Duration, Time};
use raddle_wire::Ecn;

/// A congestion control algorithm, with the algorithm's state of one flow except the window. Loss recovery is the same
/// for all algorithms, except for [`ENDS_RECOVERY_EARLY`](Self::ENDS_RECOVERY_EARLY). Loss recovery calls the algorithm
/// to set the slow-start threshold.
pub(crate) trait CongestionControl: std::fmt::Debug + Default + Send + 'static {
    /// The ECN field of all packets except pure acknowledgements. If these packets are ECN-capable, receivers echo ECN
    /// marks (RFC 8257 §3.2).
    const ECN: Ecn = Ecn::NotEct;

    /// True if fast recovery without SACK ends at the first acknowledgement of new data, even if other data from before
    /// the recovery is still missing.
    const ENDS_RECOVERY_EARLY: bool = false;

    /// Handles an acknowledgement of new data: may change the window.
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledged);

    /// Handles a loss that was detected while `flight` bytes were outstanding: sets the slow-start threshold. Loss
    /// recovery then sets the window.
    fn lost(&mut self, window: &mut Window, flight: u64, mss: u16, sign: LossSign);

    /// True if the window has been reduced since the last call, so that the next new segment must carry CWR (RFC 3168
    /// §6.1.2). Always false without ECN.
    fn take_reduced(&mut self) -> bool {
        false
    }
}

/// An acknowledgement of new data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    /// Arrival time of the acknowledgement.
    pub now: Time,
    /// Number of newly acknowledged bytes.
    pub bytes: u64,
    /// First unacknowledged byte, as a 64-bit sequence number.
    pub una: u64,
    /// One past the highest sequence number sent, as a 64-bit sequence number.
    pub max: u64,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// The smoothed round trip; zero before the first sample.
    pub round_trip: Duration,
    /// True if the acknowledgement echoes an ECN mark.
    pub marked: bool,
    /// True if the window may grow, because the window was fully used and no fast recovery is in progress.
    pub may_grow: bool,
    /// True if the acknowledged data was sent before a loss was detected, and the window has already been reduced for
    /// this loss. Marks on this data belong to the same congestion event as the loss (RFC 3168 §6.1.2).
    pub recovering: bool,
}

/// The event by which a loss was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossSign {
    /// Duplicate acknowledgements, or SACKs of later segments.
    Duplicates,
    /// Expiry of the retransmission timer.
    Timeout,
}

/// Congestion window and slow-start threshold, in bytes.
///
/// 32 bits are enough for each value, because the receive window is less than 64 MiB and only a fully used window
/// grows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    cwnd: u32,
    ssthresh: u32,
}

impl Window {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            cwnd: u32::from(params.mss) * u32::from(params.initial_window),
            ssthresh: params.initial_ssthresh,
        }
    }

    /// The congestion window.
    #[must_use]
    pub(crate) fn cwnd(self) -> u64 {
        self.cwnd.into()
    }

    /// The slow-start threshold.
    #[must_use]
    pub(crate) fn ssthresh(self) -> u64 {
        self.ssthresh.into()
    }

    /// Sets the congestion window.
    pub(crate) fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd = narrow(bytes);
    }

    /// Sets the slow-start threshold to `bytes`, or to two segments if that is more (RFC 5681 §3.1, eq. 4).
    pub(crate) fn set_ssthresh(&mut self, bytes: u64, mss: u16) {
        self.ssthresh = narrow(bytes.max(2 * u64::from(mss)));
    }

    /// True if the window is below the slow-start threshold.
    #[must_use]
    pub(crate) fn is_in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows the window as Reno does. In slow start, the window grows by the number of acknowledged bytes, but by at
    /// most one segment. In congestion avoidance, the window grows by about one segment per round trip (RFC 5681 §3.1,
    /// eqs. 2 and 3).
    pub(crate) fn grow(&mut self, bytes: u64, mss: u16) {
        let mss = u32::from(mss);
        let more =
            if self.is_in_slow_start() { narrow(bytes).min(mss) } else { (mss * mss / self.cwnd).max(1) };
        self.cwnd = self.cwnd.saturating_add(more);
    }
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
