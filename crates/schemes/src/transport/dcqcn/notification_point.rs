//! The notification point: the receiver of a flow's marked packets sends notifications to the sender, at most one per
//! interval (Zhu et al., SIGCOMM 2015, §3.1, Figure 6).
//!
//! In the paper, a marked packet during an interval causes a notification at the end of the interval. Here, the first
//! marked packet after the interval causes the next notification.

use raddle_core::{Duration, Time};

/// The notification point of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NotificationPoint {
    /// No notification is sent before this time.
    quiet_until: Time,
}

impl NotificationPoint {
    /// Handles a marked packet. Returns true if the receiver must send a notification, which happens at most once per
    /// `interval`.
    pub(crate) fn marked(&mut self, now: Time, interval: Duration) -> bool {
        let due = now >= self.quiet_until;
        if due {
            self.quiet_until = now + interval;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_notice_an_interval() {
        let mut point = NotificationPoint::default();
        let at_us = [0, 1, 49, 50, 51, 99, 149, 200];
        let sent = at_us.map(|us| point.marked(Time::ZERO + Duration::from_us(us), Duration::from_us(50)));
        assert_eq!(sent, [true, false, false, true, false, false, true, true]);
    }
}
