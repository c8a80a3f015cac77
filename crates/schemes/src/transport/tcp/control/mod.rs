//! Congestion control: what acknowledgements, marks and losses make of a flow's window. An algorithm is a file here,
//! with its entry, and a line in the registry.

pub(crate) mod cubic;
pub(crate) mod dctcp;
pub(crate) mod newreno;
pub(crate) mod reno;

use super::Params;
use raddle_core::{Duration, Time};
use raddle_wire::Ecn;

/// An algorithm, and what it remembers of a flow beside the window. Loss recovery, which is the same for all, asks it
/// what becomes of the window.
pub(crate) trait CongestionControl: std::fmt::Debug + Default + Send + 'static {
    /// What its packets, but for pure acknowledgements, say to queues. Of those that may be marked, receivers echo every
    /// mark (RFC 8257 §3.2).
    const ECN: Ecn = Ecn::NotEct;

    /// Whether fast recovery without SACK ends with the first acknowledgement of something new, although more is missing of
    /// what had been sent when it began.
    const ENDS_RECOVERY_EARLY: bool = false;

    /// New data are acknowledged.
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledged);

    /// Segments are lost of `flight` outstanding bytes: sets the slow-start threshold, to which loss recovery then sets
    /// the window.
    fn lost(&mut self, window: &mut Window, flight: u64, mss: u16, sign: LossSign);

    /// Whether the next new segment is to tell that the window was reduced, which it tells once (CWR, RFC 3168 §6.1.2).
    fn take_reduced(&mut self) -> bool {
        false
    }
}

/// An acknowledgement of new data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    /// When it came.
    pub now: Time,
    /// How much it acknowledges that was not before.
    pub bytes: u64,
    /// One past what is acknowledged, as a sequence number of 64 bits.
    pub una: u64,
    /// One past the highest number sent, likewise.
    pub max: u64,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// The smoothed round trip; zero before the first sample.
    pub round_trip: Duration,
    /// Whether it echoes a mark.
    pub marked: bool,
    /// Whether the window may grow: it was in use, and no loss is being repaired.
    pub may_grow: bool,
    /// Whether what it acknowledges was sent before a loss, found by duplicates or by a timeout, for which the window
    /// has been reduced: marks on it are of the same event (RFC 3168 §6.1.2).
    pub recovering: bool,
}

/// How a loss was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossSign {
    /// By what was acknowledged after it.
    Duplicates,
    /// By the retransmission timer.
    Timeout,
}

/// Congestion window and slow-start threshold, in bytes.
///
/// 32 bits each: the receiver offers less than 64 MiB, and only a window in use grows.
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
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd.into()
    }

    /// The slow-start threshold.
    #[must_use]
    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh.into()
    }

    /// The congestion window becomes `bytes`.
    pub(crate) fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd = narrow(bytes);
    }

    /// The slow-start threshold becomes `bytes`, or two segments if that is more (RFC 5681 §3.1, eq. 4).
    pub(crate) fn set_ssthresh(&mut self, bytes: u64, mss: u16) {
        self.ssthresh = narrow(bytes.max(2 * u64::from(mss)));
    }

    /// Whether the window is below the threshold.
    #[must_use]
    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The window grows as Reno's: in slow start by what is acknowledged, at most a segment, and beyond by about a segment
    /// a round trip (RFC 5681 §3.1, eqs. 2 and 3).
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
