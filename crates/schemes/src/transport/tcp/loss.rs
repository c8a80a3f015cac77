//! A sender's state of loss detection and recovery.

use super::Params;
use super::scoreboard::{DUP_THRESH, Scoreboard};

/// The state of known and suspected losses. If a flow has no such state, it has no unacknowledged retransmissions, and
/// its next segment is new data.
#[derive(Debug, Default)]
pub(super) struct Loss {
    pub(super) scoreboard: Scoreboard,
    /// True during fast recovery (RFC 6582; with SACK, RFC 6675). Otherwise segments are sent in order, and SACKed data
    /// is skipped.
    pub(super) recovering: bool,
    /// True if the first unacknowledged segment must be retransmitted now, regardless of the window.
    pub(super) owed: bool,
    /// Number of duplicate acknowledgements since the last acknowledgement of new data or the last timeout.
    pub(super) duplicates: u32,
    /// One past the highest sequence number that had been sent when the last recovery, or the last timeout of data,
    /// began. Losses below this number belong to the same loss event as that recovery or timeout. If Reno ends a
    /// recovery early, the number is lowered, so that further losses are new events.
    pub(super) recover: u64,
}

impl Loss {
    /// Called when the cumulative acknowledgement has moved to `una`.
    pub(super) fn advance(&mut self, una: u64) {
        self.scoreboard.advance(una);
        self.duplicates = 0;
        self.owed = false;
    }

    /// True if a loss has been detected for which no recovery has started yet. All data below `una` is acknowledged.
    pub(super) fn is_new(&self, una: u64, params: &Params) -> bool {
        !self.recovering
            && self.is_past(una, params)
            && (self.duplicates >= DUP_THRESH || self.scoreboard.lost_below(params.mss.into()) > una)
    }

    /// True if this state is no longer needed.
    pub(super) fn is_over(&self, una: u64, params: &Params) -> bool {
        !self.recovering && self.duplicates == 0 && self.scoreboard.is_empty() && self.is_past(una, params)
    }

    /// True if a loss at `una` would be a new loss event. Without SACK, retransmissions of the last recovery can cause
    /// duplicate acknowledgements at `recover`, which must not count as a new loss (RFC 6582 §3.2, step 1).
    fn is_past(&self, una: u64, params: &Params) -> bool {
        if params.sack { una >= self.recover } else { una > self.recover }
    }
}
