//! The sending end of one flow: records the acknowledged packets, and decides when the flow goes back.

use super::{NUMBERS, Params, on_wire};
use raddle_core::Time;

/// The sender's state of a flow, whose packets are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sender {
    /// Number of the first unacknowledged packet (`snd_una` in the ns-3 models).
    acknowledged: u64,
    /// One past the highest packet number that has been sent.
    sent: u64,
    /// Time at which the timer expires; [`Time::NEVER`] while the timer is stopped.
    deadline: Time,
    /// Number of timeouts since the last progress.
    timeouts: u32,
    retransmissions: u32,
}

/// The effect of the transport timer's expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// No effect, because the timer is stopped or has not yet expired.
    Later,
    /// The sender must send all unacknowledged packets again.
    GoBack,
    /// The sender gives up the flow.
    GiveUp,
}

impl Sender {
    /// The state of a flow before its first packet.
    pub(crate) const fn new() -> Self {
        Self { acknowledged: 0, sent: 0, deadline: Time::NEVER, timeouts: 0, retransmissions: 0 }
    }

    /// Number of the first unacknowledged packet. All packets before it are acknowledged.
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Number of retransmissions of packets.
    pub(crate) const fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    /// Time at which the timer expires; [`Time::NEVER`] while the timer is stopped.
    pub(crate) const fn deadline(&self) -> Time {
        self.deadline
    }

    /// Records that packet `number` begins to leave. Starts the timer, if the timer is stopped.
    pub(crate) fn sends(&mut self, now: Time, number: u64, params: &Params) {
        if number < self.sent {
            self.retransmissions = self.retransmissions.saturating_add(1);
        } else {
            self.sent = number + 1;
        }
        if self.deadline == Time::NEVER {
            self.deadline = now + params.rto;
        }
    }

    /// Handles an acknowledgement: `expected` is the number (24 bits) of the packet that the receiver expects. Returns
    /// false if a newer acknowledgement has already arrived, or if this acknowledgement covers packets that were never
    /// sent. Otherwise all packets before the expected packet are now [acknowledged](Self::acknowledged).
    pub(crate) fn hears(&mut self, now: Time, expected: u32, params: &Params) -> bool {
        let ahead = (u64::from(expected) + NUMBERS - u64::from(on_wire(self.acknowledged))) % NUMBERS;
        if self.acknowledged + ahead > self.sent {
            return false;
        }
        if ahead > 0 {
            self.acknowledged += ahead;
            self.timeouts = 0;
            self.deadline = if self.acknowledged == self.sent { Time::NEVER } else { now + params.rto };
        }
        true
    }

    /// Handles the timer, if it has expired by `now`.
    pub(crate) fn expire(&mut self, now: Time, params: &Params) -> Expiry {
        if now < self.deadline {
            return Expiry::Later;
        }
        self.deadline = Time::NEVER;
        if self.timeouts == params.retries {
            return Expiry::GiveUp;
        }
        self.timeouts += 1;
        Expiry::GoBack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raddle_core::Duration;

    const PARAMS: Params = Params {
        rto: Duration::from_ms(4),
        retries: 2,
        ack_interval: 4,
        nak_interval: Duration::from_us(500),
    };

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// A sender that has sent `count` packets, one per millisecond.
    fn sender(count: u64) -> Sender {
        let mut sender = Sender::new();
        for number in 0..count {
            sender.sends(ms(number), number, &PARAMS);
        }
        assert_eq!(sender.deadline(), ms(4), "the first packet starts the timer");
        sender
    }

    #[test]
    fn progress_starts_the_timer_again_and_all_of_it_stops_the_timer() {
        let mut sender = sender(10);
        assert!(sender.hears(ms(3), 4, &PARAMS));
        assert_eq!((sender.acknowledged(), sender.deadline()), (4, ms(7)));
        assert_eq!(sender.expire(ms(4), &PARAMS), Expiry::Later);
        assert!(sender.hears(ms(5), 4, &PARAMS), "a repeated NAK is valid");
        assert_eq!(sender.deadline(), ms(7), "a repeated NAK is no progress");
        assert!(sender.hears(ms(6), 10, &PARAMS));
        assert_eq!((sender.deadline(), sender.expire(ms(9), &PARAMS)), (Time::NEVER, Expiry::Later));
    }

    /// Test oracle 4 of specifications/transports.md §7: a loss in a window of w packets costs w retransmissions, of
    /// the lost packet and of the w - 1 packets after it.
    #[test]
    fn a_loss_costs_the_window() {
        let mut sender = sender(100);
        assert!(sender.hears(ms(1), 0, &PARAMS), "packet 0 was lost");
        (0..100).for_each(|number| sender.sends(ms(1), number, &PARAMS));
        assert_eq!(sender.retransmissions(), 100);
    }

    #[test]
    fn a_flow_without_progress_is_given_up_after_its_retries() {
        let mut sender = sender(3);
        for timeout in 1..=2 {
            assert_eq!(sender.expire(ms(4 * timeout), &PARAMS), Expiry::GoBack);
            assert_eq!(sender.deadline(), Time::NEVER, "the timer is stopped until the flow sends again");
            sender.sends(ms(4 * timeout), 0, &PARAMS);
        }
        let mut lucky = sender;
        assert_eq!(sender.expire(ms(12), &PARAMS), Expiry::GiveUp);
        assert!(lucky.hears(ms(11), 1, &PARAMS));
        assert_eq!(lucky.expire(ms(15), &PARAMS), Expiry::GoBack, "progress resets the retry counter");
    }

    #[test]
    fn numbers_wrap() {
        let mut sender = Sender { acknowledged: NUMBERS - 2, sent: NUMBERS + 5, ..Sender::new() };
        assert!(sender.hears(ms(0), 3, &PARAMS));
        assert_eq!(sender.acknowledged(), NUMBERS + 3);
        assert!(!sender.hears(ms(0), 2, &PARAMS), "an older acknowledgement");
        assert!(!sender.hears(ms(0), 6, &PARAMS), "an acknowledgement of packets that were never sent");
    }

    proptest! {
        /// For any sequence of acknowledgements, the first unacknowledged packet only advances, and no packet that was
        /// never sent counts as acknowledged.
        #[test]
        fn acknowledgements_advance(sent in 1_u64..50, heard in prop::collection::vec(0_u32..1 << 24, 0..20)) {
            let mut sender = sender(sent);
            for expected in heard {
                let before = sender.acknowledged();
                let is_valid = sender.hears(ms(1), expected, &PARAMS);
                prop_assert_eq!(is_valid, (before..=sent).contains(&u64::from(expected)));
                prop_assert!((before..=sent).contains(&sender.acknowledged()));
            }
        }
    }
}
