//! A sender's state of loss detection and recovery.

use super::Params;
use super::scoreboard::{DUP_THRESH, Scoreboard};

/// State of known and suspected losses. A flow without this state has no unacknowledged retransmissions, and its next
/// segment is new data.
#[derive(Debug, Default)]
pub(super) struct Loss {
    pub(super) scoreboard: Scoreboard,
    /// True during fast recovery (RFC 6582; with SACK, RFC 6675). Otherwise segments are sent in order, and SACKed data
    /// is skipped.
    pub(super) recovering: bool,
    /// True if the first unacknowledged segment must be retransmitted now, regardless of the window.
    pub(super) owed: bool,
    /// Number of duplicate acknowledgements since the last acknowledgement of new data.
    pub(super) duplicates: u32,
    /// One past the highest sequence number that was sent when the last recovery or timeout began. Losses below it
    /// belong to the same loss event.
    pub(super) recover: u64,
}

impl Loss {
    /// The cumulative acknowledgement has moved to `una`.
    pub(super) fn advance(&mut self, una: u64) {
        self.scoreboard.advance(una);
        self.duplicates = 0;
        self.owed = false;
    }

    /// True if segments are lost and no recovery has handled this loss yet; everything below `una` is acknowledged.
    pub(super) fn is_new(&self, una: u64, params: &Params) -> bool {
        !self.recovering
            && self.is_past(una, params)
            && (self.duplicates >= DUP_THRESH || self.scoreboard.lost_below(params.mss.into()) > una)
    }

    /// True if this state holds no information any more.
    pub(super) fn is_over(&self, una: u64, params: &Params) -> bool {
        !self.recovering && self.duplicates == 0 && self.scoreboard.is_empty() && self.is_past(una, params)
    }

    /// True if a loss at `una` would be a new loss event. Without SACK, duplicate acknowledgements caused by the last
    /// recovery's retransmissions must not look like a new loss (RFC 6582 §3.2, step 1).
    fn is_past(&self, una: u64, params: &Params) -> bool {
        if params.sack { una >= self.recover } else { una > self.recover }
    }
}
