//! The notification point: what the receiver of a flow's marked packets tells their sender, and how often (Zhu et al.,
//! §3.1, Figure 6).
//!
//! Differs from the paper: what is marked while a notice is still fresh leads to none when the time is over; the next marked
//! packet does.

use raddle_core::{Duration, Time};

/// The notification point of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NotificationPoint {
    /// Before then no further notice is sent.
    quiet_until: Time,
}

impl NotificationPoint {
    /// A marked packet has come in. Returns whether to send a notice, which is to be the only one for `interval`.
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
