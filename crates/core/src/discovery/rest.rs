//! Detects the end of a run whose nodes never stop sending hellos.

use super::Discovery;
use crate::{Duration, Time};

/// Detects the end of a simulated run. From then on, the nodes do nothing but send hellos.
///
/// Without topology discovery, a fabric is at rest when no event is left. With topology discovery, an engine checks at
/// the end of each period whether anything except hellos is in flight or scheduled. The times of the checks do not
/// depend on the number of threads. If links have changed, the fabric is at rest only if [`Discovery::SETTLES`]
/// successive checks find nothing, because a host may wait for a link whose new state it does not know yet.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    period: Duration,
    next_look: Time,
    /// Number of successive checks at which nothing except hellos was in flight or scheduled.
    still: u64,
}

impl Rest {
    /// Creates the detector for a run that starts at [`Time::ZERO`] and whose nodes send a hello every `period`.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self { period, next_look: Time::ZERO + period, still: 0 }
    }

    /// Time of the engine's next check. The check comes before all events of that instant.
    #[must_use]
    pub fn next_look(&self) -> Time {
        self.next_look
    }

    /// Records the result of a check. Returns true if the fabric is at rest. Otherwise sets the time of the next check.
    pub fn look(&mut self, is_still: bool, have_links_changed: bool) -> bool {
        self.still = if is_still { self.still + 1 } else { 0 };
        let needed = if have_links_changed { Discovery::SETTLES } else { 1 };
        let is_at_rest = self.still >= needed;
        if !is_at_rest {
            self.next_look += self.period;
        }
        is_at_rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_whose_links_have_changed_is_watched_for_longer() {
        let mut rest = Rest::new(Discovery::PERIOD);
        assert!(!rest.look(false, false) && rest.look(true, false));
        let mut rest = Rest::new(Discovery::PERIOD);
        let looks = [true, true, false].into_iter().chain([true; 9]);
        assert!(!looks.into_iter().any(|is_still| rest.look(is_still, true)));
        assert_eq!(rest.next_look(), Time::ZERO + Discovery::PERIOD * 13);
        assert!(rest.look(true, true));
        assert_eq!(rest.next_look(), Time::ZERO + Discovery::PERIOD * 13, "no further check is needed");
    }
}
