//! PDQ's packet (Hong, Caesar, Godfrey, SIGCOMM 2012, §3; specifications/pdq.md §1): the [common part](crate::rated) of
//! rate-controlled packets, followed by the scheduling header.
//!
//! | byte | bits | forward | back |
//! |---|---|---|---|
//! | 20 | 32 | R: rate asked for, kbit/s | rate granted |
//! | 24 | 32 | P: port that pauses the flow, all ones for none | the same |
//! | 28 | 32 | D: deadline, µs since the run began; all ones for none | the same |
//! | 32 | 32 | T: expected transmission time at full rate, 10 ns | the same |
//! | 36 | 16 | RTT of the flow, ns as a [`Minifloat`] | the same |
//! | 38 | 16 | 0 | I: probing interval in sixteenths of an RTT |
//!
//! The paper's header has four fields of four bytes, and acknowledgements reuse two of these fields (stated from
//! memory, not checked).

use crate::Minifloat;
use crate::field::{get16, get32, put16, put32};
use crate::rated::{OWN, Rated, Scheme, Segment};

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The common part: flow, direction and kind of the packet.
    pub segment: Segment,
    /// The scheduling header.
    pub scheduling: Scheduling,
}

/// The scheduling header, which senders and switches exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    /// The requested rate on the way out and the granted rate on the way back, in kbit/s of whole packets, headers
    /// included.
    pub rate: u32,
    /// The port that pauses the flow, or [`NOBODY`](Self::NOBODY).
    pub pauseby: u32,
    /// The time by which the flow must be complete, in microseconds since the run began, or [`NEVER`](Self::NEVER).
    pub deadline: u32,
    /// The expected transmission time in [tens of nanoseconds](Self::TICK_NS). By default, this is the time to send the
    /// rest of the flow at the sender's full rate. The field saturates at 42.9 s.
    pub expected: u32,
    /// The sender's round-trip time in nanoseconds; 0 before its first measurement.
    pub rtt: Minifloat,
    /// On the way back: the time between two probes, in [sixteenths](Self::INTERVALS_PER_RTT) of a round-trip time. On
    /// the way out: 0.
    pub interval: u16,
}

impl Scheduling {
    /// The value of `pauseby` if no port pauses the flow.
    pub const NOBODY: u32 = u32::MAX;
    /// The value of `deadline` if the flow has none.
    pub const NEVER: u32 = u32::MAX;
    /// The unit of `expected`, in nanoseconds.
    pub const TICK_NS: u64 = 10;
    /// Number of units of `interval` in one round-trip time.
    pub const INTERVALS_PER_RTT: u32 = 16;
}

impl Packet {
    /// Length on the wire without payload, in bytes.
    pub const LEN: usize = Segment::LEN;
}

impl Rated for Packet {
    const SCHEME: Scheme = Scheme::Pdq;
    /// PDQ's parameter `h_sched` may add header bytes that no field uses.
    const PADDED: bool = true;

    #[inline]
    fn segment(&self) -> &Segment {
        &self.segment
    }

    fn own(&self) -> [u8; OWN] {
        let Scheduling { rate, pauseby, deadline, expected, rtt, interval } = self.scheduling;
        let mut own = [0; OWN];
        for (at, word) in [rate, pauseby, deadline, expected].into_iter().enumerate() {
            put32(&mut own, 4 * at, word);
        }
        put16(&mut own, 16, rtt.0);
        put16(&mut own, 18, interval);
        own
    }

    fn new(segment: Segment, own: &[u8; OWN]) -> Self {
        let [rate, pauseby, deadline, expected] = [0, 4, 8, 12].map(|at| get32(own, at));
        let (rtt, interval) = (Minifloat(get16(own, 16)), get16(own, 18));
        Self { segment, scheduling: Scheduling { rate, pauseby, deadline, expected, rtt, interval } }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Header;
    use crate::rated;
    use crate::tests::{bytes_of, hex};

    pub(crate) const PACKET: Packet = Packet {
        segment: rated::tests::DATA,
        scheduling: Scheduling {
            rate: 1_000_000,
            pauseby: Scheduling::NOBODY,
            deadline: 20_000,
            expected: 822,
            rtt: Minifloat(0x2345),
            interval: 16,
        },
    };

    #[test]
    fn known_bytes() {
        let bytes = bytes_of(&Header::Pdq(PACKET));
        let expected = hex("e9 00 00 01 2e ce 02 03 04 00 00 71 00 00 00 02 00 03 2a bc \
                            00 0f 42 40 ff ff ff ff 00 00 4e 20 00 00 03 36 23 45 00 10 00 00 00");
        assert_eq!(bytes, expected);
        assert_eq!(Header::decode(&bytes), Ok((Header::Pdq(PACKET), 40)));
    }
}
