//! The receiving end of one flow.

use super::Params;
use raddle_core::Time;

/// The answer to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// An ACK: all packets before the expected packet have arrived.
    Acknowledge,
    /// A NAK: all packets before the expected packet have arrived, and then a later packet has arrived.
    Refuse,
}

/// The receiver's state of a flow, besides the number of bytes received in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Receiver {
    /// The last NAK: the offset of the expected packet, and the time.
    refused: Option<(u64, Time)>,
}

impl Receiver {
    /// Handles a packet whose first byte is at `offset` in the flow, while the receiver expects the packet at offset
    /// `expected`. Returns whether the receiver accepts the packet, and the answer to the packet if there is one.
    ///
    /// `ack_request` is true if the packet requests an acknowledgement.
    pub(crate) fn take(
        &mut self,
        now: Time,
        expected: u64,
        offset: u64,
        ack_request: bool,
        params: &Params,
    ) -> (bool, Option<Answer>) {
        if offset == expected {
            return (true, ack_request.then_some(Answer::Acknowledge));
        }
        if offset < expected {
            return (false, Some(Answer::Acknowledge));
        }
        let is_news =
            self.refused.is_none_or(|(place, at)| place != expected || now >= at + params.nak_interval);
        if is_news {
            self.refused = Some((expected, now));
        }
        (false, is_news.then_some(Answer::Refuse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Duration;

    const PARAMS: Params = Params {
        rto: Duration::from_ms(4),
        retries: 7,
        ack_interval: 4,
        nak_interval: Duration::from_us(500),
    };

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn the_expected_packet_is_taken_and_acknowledged_if_it_asks() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.take(at(0), 2_048, 2_048, false, &PARAMS), (true, None));
        assert_eq!(receiver.take(at(0), 3_072, 3_072, true, &PARAMS), (true, Some(Answer::Acknowledge)));
    }

    #[test]
    fn a_duplicate_is_discarded_and_acknowledged() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.take(at(0), 2_048, 1_024, false, &PARAMS), (false, Some(Answer::Acknowledge)));
    }

    /// While the expected packet is missing, later packets cause at most one NAK every 500 us.
    #[test]
    fn later_packets_are_discarded_and_refused_once_in_an_interval() {
        let mut receiver = Receiver::default();
        let mut refuses = |us, expected| {
            receiver.take(at(us), expected, 9_216, true, &PARAMS) == (false, Some(Answer::Refuse))
        };
        assert_eq!([0, 1, 499, 500, 501].map(|us| refuses(us, 1_024)), [true, false, false, true, false]);
        assert!(refuses(502, 2_048), "another packet is missing");
        assert!(!refuses(503, 2_048));
    }
}
