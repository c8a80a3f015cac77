//! One subflow at its sender: the packets to send, the packets in flight, and the departure time of the next packet.

use super::View;
use raddle_core::{Bytes, Duration, Rate, Time};
use raddle_wire::rated::{Kind, Segment};
use std::collections::VecDeque;
use std::ops::Range;

/// The timeouts of a sender that waits for acknowledgements (specifications/pdq.md §2, rule 8).
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// Timeout before the first measurement of the round trip.
    pub(super) initial: Duration,
    /// Lower bound of the timeout after the first measurement of the round trip.
    pub(super) least: Duration,
}

/// Upper bound of the back-off: the timeout doubles at most this number of times.
const MOST_DOUBLINGS: u8 = 8;

/// The state of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No SYN has been acknowledged. The value is the departure time of the last SYN, if a SYN was sent.
    Opening(Option<Time>),
    /// The subflow sends data, or waits for a rate.
    Open,
    /// The subflow sends no more data. The value is the departure time of the last TERM, if a TERM was sent.
    Closing(Option<Time>),
    /// The TERM has been acknowledged, or the subflow never began.
    Closed,
}

/// The kind of packet that a subflow may send when its data is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The data.
    Data,
    /// A probe, since another subflow sends its data first.
    Probe,
}

/// A data packet in flight.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    number: u32,
    sent: Time,
    is_repeated: bool,
}

/// The number and the sizes of a flow's data packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packets {
    pub(super) count: u32,
    /// Payload bytes of every packet except the last.
    pub(super) full: u16,
    pub(super) last: u16,
    /// Header bytes per packet.
    pub(super) header: u32,
}

impl Packets {
    /// The packets of a flow with `size` bytes of data.
    ///
    /// # Panics
    /// If there are 2^32 packets or more.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the last packet's payload is at most the payload of a full packet"
    )]
    pub(super) fn of(size: Bytes, full: u16, header: u32) -> Self {
        let count = size.0.div_ceil(full.into()).max(1);
        let last = (size.0 - (count - 1) * u64::from(full)) as u16;
        let count = u32::try_from(count).expect("a flow must have fewer than 2^32 packets");
        Self { count, full, last, header }
    }

    pub(super) fn payload(&self, number: u32) -> u16 {
        if number + 1 == self.count { self.last } else { self.full }
    }

    /// Size of a packet in bytes, headers included.
    pub(super) fn size(&self, number: u32) -> u32 {
        self.header + u32::from(self.payload(number))
    }

    /// Total size of several packets in bytes, headers included.
    fn sizes(&self, numbers: &Range<u32>) -> u64 {
        let count = u64::from(numbers.end - numbers.start);
        let all = count * u64::from(self.header + u32::from(self.full));
        let missing = if numbers.contains(&(self.count - 1)) { u64::from(self.full - self.last) } else { 0 };
        all - missing
    }
}

/// A subflow, without its protocol's state.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) state: State,
    /// The packets that were never sent.
    fresh: VecDeque<Range<u32>>,
    /// The packets to retransmit.
    lost: VecDeque<u32>,
    /// Packets in flight, in order of departure.
    under_way: VecDeque<Transmission>,
    /// Bytes, headers included, of all unacknowledged packets, even of packets that were never sent.
    left: u64,
    /// Payload bytes sent, without retransmissions.
    sent: u64,
    /// Number of SYNs sent.
    syns: u32,
    /// Number and departure time of the last probe.
    probe: (u32, Time),
    /// Departure time of the last packet of any kind.
    last_sent: Time,
    /// Departure time of the last data packet, and its size in bytes, headers included.
    last_data: Option<(Time, u32)>,
    /// The smoothed round-trip time; zero before the first measurement.
    rtt: Duration,
    /// The least measured round-trip time; zero before the first measurement.
    least_rtt: Duration,
    doublings: u8,
    /// Time for which the subflow's timer is set; [`Time::NEVER`] if no timer is set, and [`Time::ZERO`] while the
    /// subflow waits for its turn without a timer.
    pub(super) armed: Time,
}

impl Subflow {
    /// A new subflow that must send the packets `numbers` of its flow.
    pub(super) fn new(numbers: Range<u32>, packets: &Packets) -> Self {
        Self {
            state: State::Opening(None),
            left: packets.sizes(&numbers),
            fresh: VecDeque::from([numbers]),
            lost: VecDeque::new(),
            under_way: VecDeque::new(),
            sent: 0,
            syns: 0,
            probe: (0, Time::ZERO),
            last_sent: Time::ZERO,
            last_data: None,
            rtt: Duration::ZERO,
            least_rtt: Duration::ZERO,
            doublings: 0,
            armed: Time::NEVER,
        }
    }

    pub(super) fn view(&self, now: Time, limit: Rate, deadline: Time) -> View {
        View {
            now,
            rtt: self.rtt,
            least_rtt: self.least_rtt,
            left: self.left,
            sent: self.sent,
            limit,
            deadline,
        }
    }

    pub(super) fn rtt(&self) -> Duration {
        self.rtt
    }

    /// Bytes, headers included, of all unacknowledged packets, even of packets that were never sent.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// True if a data packet waits to be sent.
    fn has_pending(&self) -> bool {
        !self.fresh.is_empty() || !self.lost.is_empty()
    }

    fn timeout(&self, timeouts: &Timeouts) -> Duration {
        let base = match self.rtt {
            Duration::ZERO => timeouts.initial,
            rtt => (rtt * 2).max(timeouts.least),
        };
        base * (1 << self.doublings)
    }

    /// Earliest departure time of the next data packet at `rate`. The computation starts from the departure of the last
    /// data packet, so that a new rate takes effect at once.
    fn data_due(&self, rate: Rate) -> Time {
        match self.last_data {
            _ if rate == Rate::ZERO => Time::NEVER,
            None => Time::ZERO,
            Some((at, size)) => at + rate.time_for(Bytes(size.into())),
        }
    }

    /// Time of the next probe, if no data packet leaves before that time. Without a rate, the subflow sends a probe
    /// every `interval`. With a rate, the subflow sends a probe after a round trip without packets. Without this probe,
    /// a subflow with a tiny rate would rarely request a new rate, because its data packets are rare
    /// (specifications/pdq.md §2, rule 9).
    fn probe_due(&self, rate: Rate, interval: Duration) -> Time {
        match (rate, self.rtt) {
            (Rate::ZERO, _) => self.last_sent + interval,
            (_, Duration::ZERO) => Time::NEVER,
            (_, rtt) => self.last_sent + rtt,
        }
    }

    /// Time of the next call of [`send`](Self::send), with this rate and this interval between probes.
    pub(super) fn due(&self, rate: Rate, interval: Duration, timeouts: &Timeouts) -> Time {
        let again = |sent: Option<Time>| sent.map_or(Time::ZERO, |at| at + self.timeout(timeouts));
        match self.state {
            State::Opening(sent) | State::Closing(sent) => again(sent),
            State::Open => {
                let lost = self.under_way.front().map_or(Time::NEVER, |first| again(Some(first.sent)));
                if self.has_pending() {
                    lost.min(self.data_due(rate)).min(self.probe_due(rate, interval))
                } else {
                    lost
                }
            }
            State::Closed => Time::NEVER,
        }
    }

    /// True if the subflow has sent nothing for a round trip.
    pub(super) fn is_silent(&self, now: Time) -> bool {
        self.state == State::Open && self.rtt > Duration::ZERO && self.last_sent + self.rtt <= now
    }

    /// Kind and number of the packet that the subflow sends now; `None` if the subflow sends no packet now.
    pub(super) fn send(
        &mut self,
        now: Time,
        turn: Turn,
        rate: Rate,
        interval: Duration,
        timeouts: &Timeouts,
        packets: &Packets,
    ) -> Option<(Kind, u32)> {
        if self.due(rate, interval, timeouts) > now {
            return None;
        }
        let sends = match &mut self.state {
            State::Opening(sent) => {
                self.doublings = (self.doublings + u8::from(sent.is_some())).min(MOST_DOUBLINGS);
                *sent = Some(now);
                self.syns += 1;
                Some((Kind::Syn, packets.count))
            }
            State::Closing(sent) => {
                self.doublings = (self.doublings + u8::from(sent.is_some())).min(MOST_DOUBLINGS);
                *sent = Some(now);
                Some((Kind::Term, 0))
            }
            State::Open => {
                self.expire(now, timeouts);
                if !self.has_pending() {
                    None
                } else if turn == Turn::Data && self.data_due(rate) <= now {
                    Some((Kind::Data, self.next_data(now, packets)))
                } else if self.probe_due(rate, interval) <= now {
                    self.probe = (self.probe.0 + 1, now);
                    Some((Kind::Probe, self.probe.0))
                } else {
                    None
                }
            }
            State::Closed => None,
        };
        if sends.is_some() {
            self.last_sent = now;
        }
        sends
    }

    /// Marks packets as lost if their acknowledgement has not arrived within the timeout.
    fn expire(&mut self, now: Time, timeouts: &Timeouts) {
        let timeout = self.timeout(timeouts);
        let before = self.lost.len();
        while let Some(first) = self.under_way.front().filter(|first| first.sent + timeout <= now) {
            self.lost.push_back(first.number);
            self.under_way.pop_front();
        }
        if self.lost.len() > before {
            self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        }
    }

    /// Number of the data packet that leaves now: a lost packet, or else the next packet that was never sent.
    fn next_data(&mut self, now: Time, packets: &Packets) -> u32 {
        let repeated = self.lost.pop_front();
        let number = repeated.unwrap_or_else(|| {
            let range = self.fresh.front_mut().expect("the caller must check that a packet is pending");
            let number = range.start;
            range.start += 1;
            if range.start == range.end {
                self.fresh.pop_front();
            }
            self.sent += u64::from(packets.payload(number));
            number
        });
        self.under_way.push_back(Transmission { number, sent: now, is_repeated: repeated.is_some() });
        self.last_data = Some((now, packets.size(number)));
        number
    }

    /// Handles an acknowledgement. Returns true if a data packet is acknowledged for the first time.
    pub(super) fn acknowledged(&mut self, now: Time, segment: &Segment, packets: &Packets) -> bool {
        self.doublings = 0;
        match (segment.kind, self.state) {
            (Kind::Syn, State::Opening(Some(sent))) => {
                self.state = State::Open;
                if self.syns == 1 {
                    self.measured(now.since(sent));
                }
                false
            }
            (Kind::Probe, State::Open) if segment.seq == self.probe.0 => {
                self.measured(now.since(self.probe.1));
                false
            }
            (Kind::Data, State::Open | State::Closing(_)) => {
                self.data_acknowledged(now, segment.seq, packets)
            }
            (Kind::Term, State::Closing(Some(_))) => {
                self.state = State::Closed;
                false
            }
            _ => false,
        }
    }

    /// Handles the acknowledgement of data packet `number`. Paths keep packets in order, so unacknowledged packets that
    /// were sent before this packet are lost. If this packet was retransmitted, its acknowledgement may belong to the
    /// original packet or to the retransmission. The acknowledgement then proves no loss and does not measure the round
    /// trip (Karn's rule).
    fn data_acknowledged(&mut self, now: Time, number: u32, packets: &Packets) -> bool {
        if let Some(place) = self.under_way.iter().position(|of| of.number == number) {
            let of = self.under_way[place];
            if of.is_repeated {
                self.under_way.remove(place);
            } else {
                self.measured(now.since(of.sent));
                self.lost.extend(self.under_way.drain(..=place).take(place).map(|of| of.number));
            }
        } else if let Some(place) = self.lost.iter().position(|&lost| lost == number) {
            self.lost.remove(place);
        } else {
            return false;
        }
        self.left -= u64::from(packets.size(number));
        true
    }

    fn measured(&mut self, rtt: Duration) {
        (self.rtt, self.least_rtt) = match self.rtt {
            Duration::ZERO => (rtt, rtt),
            smoothed => ((smoothed * 7 + rtt) / 8, self.least_rtt.min(rtt)), // gain 1/8 (specifications/pdq.md §2)
        };
    }

    /// Starts to close the subflow.
    pub(super) fn close(&mut self) {
        match self.state {
            State::Opening(None) => self.state = State::Closed,
            State::Opening(Some(_)) | State::Open => self.state = State::Closing(None),
            State::Closing(_) | State::Closed => {}
        }
    }

    /// Takes over the packets that subflow `other` has not sent or must retransmit. Packets in flight stay with
    /// `other`.
    pub(super) fn take_over(&mut self, other: &mut Self, packets: &Packets) {
        let fresh: u64 = other.fresh.iter().map(|numbers| packets.sizes(numbers)).sum();
        let lost: u64 = other.lost.iter().map(|&number| u64::from(packets.size(number))).sum();
        other.left -= fresh + lost;
        self.left += fresh + lost;
        self.fresh.append(&mut other.fresh);
        self.lost.append(&mut other.lost);
    }
}
