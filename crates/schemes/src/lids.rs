//! Numbers that a sender gives its flows on the wire.

use raddle_core::{Duration, Time};
use std::collections::VecDeque;

/// How long a finished flow's number rests: longer than anything about the flow is in the fabric.
pub(crate) const QUARANTINE: Duration = Duration::from_ms(10);

/// A node's own flow numbers: 1 to 65,535, none used again within a quarantine.
#[derive(Debug, Default)]
pub(crate) struct Lids {
    used: u16,
    returned: VecDeque<(Time, u16)>,
}

impl Lids {
    pub(crate) fn take(&mut self, now: Time) -> Option<u16> {
        if let Some(&(at, lid)) = self.returned.front()
            && at + QUARANTINE < now
        {
            self.returned.pop_front();
            return Some(lid);
        }
        self.used = self.used.checked_add(1)?;
        Some(self.used)
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
