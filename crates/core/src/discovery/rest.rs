//! The end of a run in which nodes say hello for ever.

use super::Discovery;
use crate::{Duration, Time};

/// Finds the end of a simulated run: nodes say hello for ever, and nothing else happens.
///
/// Without topology discovery a fabric is at rest when nothing is left to happen. With it, an engine looks at the end of each
/// period, whatever threads it has, whether anything but hellos moves or is to come. If links have changed, the fabric is
/// at rest only after [`Discovery::SETTLES`] such looks in a row: a host may wait for a link of which it has yet to hear.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    period: Duration,
    next_look: Time,
    /// Looks in a row at which nothing moved.
    still: u64,
}

impl Rest {
    /// A fabric at the start of a run, whose nodes say hello every `period`.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self { period, next_look: Time::ZERO + period, still: 0 }
    }

    /// Time at which the engine must look next, before any event of that instant.
    #[must_use]
    pub fn next_look(&self) -> Time {
        self.next_look
    }

    /// The engine has looked. Returns whether the fabric is at rest, and sets the next look if it is not.
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
        assert_eq!(rest.next_look(), Time::ZERO + Discovery::PERIOD * 13, "and stays at rest");
    }
}
