//! Numbers that a sender gives its flows on the wire.

use raddle_core::{Duration, Time};
use std::collections::VecDeque;

/// How long a finished flow's number rests: longer than anything about the flow is in the fabric. R2C2 may repeat the end
/// of a flow for 6.4 ms, a neighbour for 5 ms more, and who hears of no flow but its end remembers that for 10 ms.
pub(crate) const QUARANTINE: Duration = Duration::from_ms(25);

/// A node's own flow numbers: 1 to 65,535, none used again within a quarantine.
#[derive(Debug, Default)]
pub(crate) struct Lids {
    used: u16,
    returned: VecDeque<(Time, u16)>,
}

impl Lids {
    /// A number, a fresh one as long as there are any.
    pub(crate) fn take(&mut self, now: Time) -> Option<u16> {
        if let Some(fresh) = self.used.checked_add(1) {
            self.used = fresh;
            return Some(fresh);
        }
        let &(at, lid) = self.returned.front()?;
        if at + QUARANTINE >= now {
            return None;
        }
        self.returned.pop_front();
        Some(lid)
    }

    pub(crate) fn give_back(&mut self, now: Time, lid: u16) {
        self.returned.push_back((now, lid));
    }

    /// When a number will be free.
    pub(crate) fn next_free(&self, now: Time) -> Time {
        if self.used < u16::MAX {
            return now;
        }
        self.returned.front().map_or(Time::NEVER, |&(at, _)| at + QUARANTINE + Duration::from_ps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_only_when_all_are_used_up_and_rested() {
        let mut lids = Lids::default();
        let at = |us| Time::ZERO + Duration::from_us(us);
        assert_eq!(lids.take(at(0)), Some(1));
        lids.give_back(at(1), 1);
        for lid in 2..=u16::MAX {
            assert_eq!(lids.take(at(40_000)), Some(lid));
        }
        lids.give_back(at(40_000), 7);
        assert_eq!(lids.take(at(40_000)), Some(1));
        assert_eq!(lids.take(at(40_000)), None);
        assert!(lids.next_free(at(40_000)) > at(65_000));
        assert_eq!(lids.take(lids.next_free(at(40_000))), Some(7));
    }
}
