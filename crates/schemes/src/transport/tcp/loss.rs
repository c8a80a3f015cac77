//! What a sender knows of losses.

use super::Params;
use super::scoreboard::{DUP_THRESH, Scoreboard};

/// What a sender knows of losses, and of what may turn out to be one. A flow without it has sent nothing twice since
/// all of that was acknowledged, and its next segment is a new one.
#[derive(Debug, Default)]
pub(super) struct Loss {
    pub(super) scoreboard: Scoreboard,
    /// Whether fast recovery is on (RFC 6582; by the scoreboard, RFC 6675). Otherwise segments are sent in order,
    /// without what is SACKed.
    pub(super) recovering: bool,
    /// The first segment not acknowledged is to be repeated now, whatever the window.
    pub(super) owed: bool,
    /// Acknowledgements of nothing new since the last of something new.
    pub(super) duplicates: u32,
    /// One past the highest number sent when the last recovery or timeout began: what lies below is the same loss event.
    pub(super) recover: u64,
}

impl Loss {
    /// The cumulative acknowledgement has moved to `una`.
    pub(super) fn advance(&mut self, una: u64) {
        self.scoreboard.advance(una);
        self.duplicates = 0;
        self.owed = false;
    }

    /// Whether segments are lost, with all below `una` acknowledged, and no recovery has taken it up.
    pub(super) fn is_new(&self, una: u64, params: &Params) -> bool {
        !self.recovering
            && self.is_past(una, params)
            && (self.duplicates >= DUP_THRESH || self.scoreboard.lost_below(params.mss.into()) > una)
    }

    /// Whether nothing is left to remember.
    pub(super) fn is_over(&self, una: u64, params: &Params) -> bool {
        !self.recovering && self.duplicates == 0 && self.scoreboard.is_empty() && self.is_past(una, params)
    }

    /// Whether a loss at `una` would be a new one. Without SACK, duplicates of the last recovery's repeats must not
    /// look like one (RFC 6582 §3.2, step 1).
    fn is_past(&self, una: u64, params: &Params) -> bool {
        if params.sack { una >= self.recover } else { una > self.recover }
    }
}
