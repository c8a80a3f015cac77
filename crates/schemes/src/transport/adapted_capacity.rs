//! The capacity of a link that a controller of rates hands out: more than is used while bandwidth is spare, less while a
//! queue stands (RCP's law, Dukkipati 2007, which D3 §5.2 takes over; specs/pdq.md §6 and §7).
//!
//! Over an interval of length T, about the average round trip d of the flows that pass,
//! `C := C + (T/d) · (alpha · (line - y) - beta · q · 8/d)`: y is the rate at which packets arrived, q the fewest bytes that
//! waited at any time of the interval, the packet in service not among them. What waits at an instant is mostly how packets
//! happen to meet, and would outweigh what is spare.
//!
//! A round trip in which not every flow sends a packet says nothing on what stands: the packets of flows that began together
//! keep coming together. So d is at least the time that one packet of each flow takes on the link.
//!
//! There is no timer: an interval ends when the first packet joins the queue that is a round trip or more after its start, so
//! that it is as long as the packets take that it counts, and a link at its rate is seen at exactly that rate.
//!
//! Cost a packet: a few additions; a division once a round trip.

use crate::transport::explicit::Backlog;
use raddle_core::{Duration, PortState, Rate, Time};

/// Share of the newest round trip in their average (specs/pdq.md §4.1).
const RTT_GAIN: f64 = 0.05;

const PS_PER_S: f64 = 1e12;

/// How fast capacity follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    /// Share of the spare rate that is added in a round trip (alpha).
    pub spare: f64,
    /// Share of the standing queue that is to drain in a round trip (beta).
    pub queue: f64,
}

/// The capacity of one link, and what it follows.
#[derive(Debug, Clone)]
pub(crate) struct AdaptedCapacity {
    gains: Gains,
    /// The link's rate, bit/s.
    line: f64,
    /// Bit/s.
    capacity: f64,
    /// The average round trip, in picoseconds.
    rtt: f64,
    /// Bytes of the largest packet so far.
    largest: u32,
    /// When the interval began.
    since: Time,
    /// Bits that have arrived in it.
    arrived: u64,
    /// Fewest bytes that waited in it.
    least: u64,
    backlog: Backlog,
}

impl AdaptedCapacity {
    /// Of a link at which nothing has passed. Until flows say how long their round trips are, they are `rtt`.
    ///
    /// # Panics
    /// If `rtt` is zero.
    pub(crate) fn new(line: Rate, gains: Gains, rtt: Duration) -> Self {
        assert!(rtt > Duration::ZERO, "a round trip takes time");
        let line = line.as_bps_f64();
        Self {
            gains,
            line,
            capacity: line,
            rtt: rtt.as_ps() as f64,
            largest: 0,
            since: Time::ZERO,
            arrived: 0,
            least: 0,
            backlog: Backlog::default(),
        }
    }

    /// The capacity, bit/s.
    pub(crate) fn get(&self) -> f64 {
        self.capacity
    }

    /// The link's rate, bit/s.
    pub(crate) fn line(&self) -> f64 {
        self.line
    }

    /// The average round trip.
    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_ps(self.rtt as u64)
    }

    /// A flow whose packet passes says how long its round trip is; zero says that it does not know.
    pub(crate) fn hear(&mut self, rtt: Duration) {
        if rtt > Duration::ZERO {
            self.rtt += RTT_GAIN * (rtt.as_ps() as f64 - self.rtt);
        }
    }

    /// A packet of so many bytes joins the queue of a link that so many flows pass. Capacity stays within a hundredth of the
    /// link's rate and `most` times that rate.
    pub(crate) fn joined(&mut self, now: Time, size: u32, flows: usize, most: f64) {
        let elapsed = now.since(self.since).as_ps() as f64;
        let round_trip = self.rtt.max(self.one_of_each(flows));
        if elapsed >= round_trip {
            self.adapt(elapsed, round_trip, most);
            self.since = now;
            self.arrived = 0;
            self.least = self.backlog.waiting(now);
        }
        self.largest = self.largest.max(size);
        self.arrived += 8 * u64::from(size);
        self.backlog.join(size);
    }

    /// How long a packet of each flow takes on the link, in picoseconds.
    fn one_of_each(&self, flows: usize) -> f64 {
        flows as f64 * f64::from(8 * self.largest) * (PS_PER_S / self.line)
    }

    /// A packet of so many bytes begins to leave.
    pub(crate) fn begins(&mut self, now: Time, size: u32, port: &PortState) {
        self.backlog.leave(now, size, port);
        self.least = self.least.min(self.backlog.waiting(now));
    }

    /// A packet of so many bytes that had [joined](Self::joined) has left the port, or was lost there.
    pub(crate) fn left(&mut self, size: u32) {
        self.backlog.left(size);
    }

    /// Keeps capacity within `most` times the link's rate, which has become less.
    pub(crate) fn limit(&mut self, most: f64) {
        self.capacity = self.capacity.min(most * self.line);
    }

    /// The interval is over, which was so many picoseconds long; so long is d.
    fn adapt(&mut self, elapsed: f64, round_trip: f64, most: f64) {
        let arrived = self.arrived as f64 * (PS_PER_S / elapsed);
        let standing = (8 * self.least) as f64 * (PS_PER_S / round_trip);
        let change = self.gains.spare * (self.line - arrived) - self.gains.queue * standing;
        let capacity = self.capacity + elapsed / round_trip * change;
        self.capacity = capacity.clamp(0.01 * self.line, most * self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(1);
    const PORT: PortState = PortState::idle(LINE);
    const GAINS: Gains = Gains { spare: 0.1, queue: 1.0 };
    /// Of a full packet.
    const PACKET: Duration = Duration::from_us(12);

    fn capacity() -> AdaptedCapacity {
        AdaptedCapacity::new(LINE, GAINS, Duration::from_us(120))
    }

    /// Its capacity in whole Mbit/s.
    fn mbps(capacity: &AdaptedCapacity) -> u64 {
        (capacity.get() / 1e6).round() as u64
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A packet that finds the link idle.
    fn pass(capacity: &mut AdaptedCapacity, now: Time, size: u32) {
        capacity.joined(now, size, 1, 1.0);
        capacity.begins(now, size, &PORT);
        capacity.left(size);
    }

    #[test]
    fn a_link_at_its_rate_keeps_its_capacity() {
        let mut capacity = capacity();
        for packet in 0..1_000 {
            pass(&mut capacity, Time::ZERO + PACKET * packet, 1_500);
            assert_eq!(mbps(&capacity), 1_000, "packet {packet}");
        }
    }

    #[test]
    fn a_standing_queue_takes_away_what_would_drain_it_in_a_round_trip() {
        let mut capacity = capacity();
        // Five packets at once; then one as each leaves.
        for _ in 0..5 {
            capacity.joined(Time::ZERO, 1_500, 1, 1.0);
        }
        capacity.begins(Time::ZERO, 1_500, &PORT);
        for packet in 1..=20 {
            let now = Time::ZERO + PACKET * packet;
            capacity.left(1_500);
            capacity.begins(now, 1_500, &PORT);
            capacity.joined(now, 1_500, 1, 1.0);
            let expected = match packet {
                // At first nothing waited.
                ..10 => 1e9,
                // In the time of 10 packets came 14.
                10..20 => 1e9 - 0.1 * 0.4e9,
                // Whenever one began to leave, 3 others waited: 36,000 bits.
                20.. => 0.96e9 - 36_000.0 / 120e-6,
            };
            assert!((capacity.get() - expected).abs() < 1.0, "{} of {expected}", capacity.get());
        }
    }

    #[test]
    fn spare_bandwidth_comes_back_by_its_share_a_round_trip_however_long_nobody_looks() {
        let mut lowered = capacity();
        lowered.capacity = 0.5e9;
        let mut once = lowered.clone();
        for round in 1..=3 {
            pass(&mut lowered, at_us(120 * round), 0);
        }
        pass(&mut once, at_us(360), 0);
        assert!((lowered.get() - 0.8e9).abs() < 1.0, "{}", lowered.get());
        assert!((once.get() - 0.8e9).abs() < 1.0, "{}", once.get());
        pass(&mut once, at_us(10_000), 0);
        assert_eq!(mbps(&once), 1_000);
    }

    #[test]
    fn capacity_stays_within_a_hundredth_and_the_most() {
        let mut capacity = capacity();
        for _ in 0..10_000 {
            capacity.joined(Time::ZERO, 1_500, 1, 1.0);
        }
        capacity.joined(at_us(120), 1_500, 1, 1.0);
        assert_eq!(mbps(&capacity), 10);
        for _ in 0..10_001 {
            capacity.left(1_500);
        }
        pass(&mut capacity, at_us(50_000), 1_500);
        capacity.joined(at_us(100_000), 1_500, 1, 3.0);
        assert_eq!(mbps(&capacity), 3_000);
        capacity.limit(2.0);
        assert_eq!(mbps(&capacity), 2_000);
    }

    #[test]
    fn packets_of_flows_that_come_together_are_no_standing_queue() {
        // 25 flows of 40 Mb/s each, whose packets come at once, 300 us apart: after 120 us 14 of them wait.
        let mut capacity = capacity();
        for burst in 0..10 {
            for _ in 0..25 {
                capacity.joined(at_us(300 * burst), 1_500, 25, 1.0);
            }
            for packet in 0..25 {
                capacity.begins(at_us(300 * burst) + PACKET * packet, 1_500, &PORT);
                capacity.left(1_500);
            }
            assert_eq!(mbps(&capacity), 1_000);
        }
    }

    #[test]
    fn intervals_follow_the_round_trips_that_flows_tell() {
        let mut capacity = capacity();
        capacity.hear(Duration::ZERO);
        assert_eq!(capacity.rtt(), Duration::from_us(120));
        capacity.hear(Duration::from_us(220));
        assert_eq!(capacity.rtt(), Duration::from_us(125));
        for _ in 0..1_000 {
            capacity.hear(Duration::from_us(220));
        }
        assert!(Duration::from_us(220) - capacity.rtt() < Duration::from_ns(1));
    }
}
