//! The capacity that a rate controller divides among the flows of a link. The capacity grows while the link has spare
//! bandwidth, and shrinks while the link has a standing queue. This is RCP's law (Dukkipati 2007), which D3 adopts
//! (§5.2; specifications/pdq.md §6 and §7).
//!
//! After an interval of length T, the capacity C changes: `C := C + (T/d) · (alpha · (line - y) - beta · q · 8/d)`. T
//! is about d, the average round trip of the flows on the link. `line` is the link's rate, y is the arrival rate, and q
//! is the least backlog in bytes during the interval, without the packet in transmission. The current backlog would be
//! a worse measure than q, because it depends mostly on which packets happen to arrive together.
//!
//! Flows that began together keep sending their packets together. If d were shorter than the total serialization delay
//! of one packet from each flow, q would count such packets as a standing queue. Therefore d is at least this
//! serialization delay.
//!
//! A timer ends the intervals. The arrival rate is measured from the last packet of an interval to the last packet of
//! the next interval. If the rate were measured between timer events, an interval would contain, for example, sometimes
//! ten and sometimes eleven packets. A fully used link would then seem to be a few percent below or above its rate, and
//! would lose throughput. The timer stops at the end of an interval without arrivals if no packet waits then, so that
//! an idle fabric has no events. The next packet restarts the timer. The capacity then changes as if the idle time had
//! been one interval.
//!
//! Cost per packet: a few additions. Cost per round trip: a few divisions.

use crate::transport::explicit::Backlog;
use raddle_core::{Duration, PortState, Rate, Time};

/// Weight of the newest round trip in the average (specifications/pdq.md §4.1).
const RTT_GAIN: f64 = 0.05;

/// A difference from the papers of D3 and RCP, for the descriptions of both schemes.
pub(super) const LEAST_BACKLOG: &str = "the capacity to allocate depends on the smallest backlog within a round trip, \
     not on the current backlog";

/// Another difference from the papers of D3 and RCP, for the descriptions of both schemes.
pub(super) const PACE: &str = "the capacity to allocate changes at most once in the time that the link needs to send \
     one packet of each flow; otherwise bursts would look like standing queues";

const PS_PER_S: f64 = 1e12;

/// The gains with which the capacity adapts to the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    /// Fraction of the spare rate that is added per round trip (alpha).
    pub spare: f64,
    /// Fraction of the standing queue that must drain per round trip (beta).
    pub queue: f64,
}

/// The capacity of one link, and the measurements on which the capacity depends.
#[derive(Debug, Clone)]
pub(crate) struct AdaptedCapacity {
    gains: Gains,
    /// The link's rate, bit/s.
    line: f64,
    /// The current capacity, bit/s.
    capacity: f64,
    /// The average round trip, in picoseconds.
    rtt: f64,
    /// Size of the largest packet that has joined the queue, in bytes.
    largest: u32,
    /// Start of the measurement of the arrival rate: the arrival of the last packet before this interval, or the
    /// interval's start if no packet arrived in the previous interval.
    since: Time,
    /// Arrival time of the last packet of this interval, if a packet has arrived in it.
    last: Time,
    /// End of the interval; [`Time::NEVER`] while the timer is stopped.
    ends: Time,
    /// Number of bits that have arrived after time `since`.
    arrived: u64,
    /// Least backlog in the interval, in bytes.
    least: u64,
    backlog: Backlog,
}

impl AdaptedCapacity {
    /// The capacity of a link before its first packet. `rtt` is the initial value of the average round trip.
    ///
    /// # Panics
    /// If `rtt` is zero.
    pub(crate) fn new(line: Rate, gains: Gains, rtt: Duration) -> Self {
        assert!(rtt > Duration::ZERO, "the round trip must be greater than zero");
        let line = line.as_bps_f64();
        Self {
            gains,
            line,
            capacity: line,
            rtt: rtt.as_ps() as f64,
            largest: 0,
            since: Time::ZERO,
            last: Time::ZERO,
            ends: Time::NEVER,
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
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_ps(self.rtt as u64)
    }

    /// Updates the average with the round trip that a flow reports in a packet. Zero means that the flow has not
    /// measured its round trip, and changes nothing.
    pub(crate) fn hear(&mut self, rtt: Duration) {
        if rtt > Duration::ZERO {
            self.rtt += RTT_GAIN * (rtt.as_ps() as f64 - self.rtt);
        }
    }

    /// Time of the next call of [`tick`](Self::tick), or [`Time::NEVER`] while the timer is stopped. A packet that
    /// [joins](Self::joined) the queue restarts a stopped timer.
    pub(crate) fn next_tick(&self) -> Time {
        self.ends
    }

    /// Ends the interval. Adapts the capacity, unless no packet arrived and none waits, or all packets arrived at the
    /// start of the measurement (`since`). The link has `flows` flows. An adapted capacity is between a hundredth of
    /// the link's rate and `most` times the link's rate.
    pub(crate) fn tick(&mut self, now: Time, flows: usize, most: f64) {
        self.ends = Time::NEVER;
        if self.arrived > 0 {
            self.begin_interval(now, self.last, flows, most);
        } else if self.backlog.waiting(now) > 0 {
            self.begin_interval(now, now, flows, most);
        } else {
            self.least = 0;
        }
    }

    /// Records that a packet of `size` bytes joins the queue of a link with `flows` flows. `most` limits the capacity
    /// as in [`tick`](Self::tick).
    pub(crate) fn joined(&mut self, now: Time, size: u32, flows: usize, most: f64) {
        if self.ends == Time::NEVER {
            self.begin_interval(now, now, flows, most);
        } else {
            self.last = now;
            self.arrived += 8 * u64::from(size);
        }
        self.largest = self.largest.max(size);
        self.backlog.join(size);
    }

    /// Adapts the capacity to the arrivals up to `until`, and begins another interval.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn begin_interval(&mut self, now: Time, until: Time, flows: usize, most: f64) {
        let elapsed = until.since(self.since).as_ps() as f64;
        let round_trip = self.rtt.max(self.one_of_each(flows));
        // If all packets arrived at one instant, there is no arrival rate to adapt to.
        if elapsed > 0.0 {
            self.adapt(elapsed, round_trip, most);
        }
        self.since = until;
        self.arrived = 0;
        self.least = self.backlog.waiting(now);
        self.ends = now + Duration::from_ps(round_trip as u64);
    }

    /// Total serialization delay of one packet from each flow, in picoseconds.
    fn one_of_each(&self, flows: usize) -> f64 {
        flows as f64 * f64::from(8 * self.largest) * (PS_PER_S / self.line)
    }

    /// Records that the port begins to send a packet of `size` bytes.
    pub(crate) fn begins(&mut self, now: Time, size: u32, port: &PortState) {
        self.backlog.leave(now, size, port);
        self.least = self.least.min(self.backlog.waiting(now));
    }

    /// Records that a packet of `size` bytes that had [joined](Self::joined) the queue has left the port or was lost
    /// there.
    pub(crate) fn left(&mut self, size: u32) {
        self.backlog.left(size);
    }

    /// Limits the capacity to `most` times the link's rate. Called when `most` may have become smaller.
    pub(crate) fn limit(&mut self, most: f64) {
        self.capacity = self.capacity.min(most * self.line);
    }

    /// Adapts the capacity after an interval of `elapsed` picoseconds. `round_trip` is d in picoseconds.
    fn adapt(&mut self, elapsed: f64, round_trip: f64, most: f64) {
        let arrived = self.arrived as f64 * (PS_PER_S / elapsed);
        let standing = (8 * self.least) as f64 * (PS_PER_S / round_trip);
        let change = self.gains.spare * (self.line - arrived) - self.gains.queue * standing;
        let capacity = self.capacity + elapsed / round_trip * change;
        self.capacity = capacity.clamp(0.01 * self.line, most * self.line);
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(1);
    const PORT: PortState = PortState::idle(LINE);
    const GAINS: Gains = Gains { spare: 0.1, queue: 1.0 };
    /// Serialization delay of a full packet.
    const PACKET: Duration = Duration::from_us(12);

    fn capacity() -> AdaptedCapacity {
        AdaptedCapacity::new(LINE, GAINS, Duration::from_us(120))
    }

    /// The capacity in whole Mbit/s.
    fn mbps(capacity: &AdaptedCapacity) -> u64 {
        (capacity.get() / 1e6).round() as u64
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Runs all ticks that are due by `now`.
    fn tick(capacity: &mut AdaptedCapacity, now: Time, flows: usize, most: f64) {
        while capacity.next_tick() <= now {
            capacity.tick(capacity.next_tick(), flows, most);
        }
    }

    /// Sends a packet over an idle link: the packet joins the queue and leaves at once.
    fn pass(capacity: &mut AdaptedCapacity, now: Time, size: u32) {
        tick(capacity, now, 1, 1.0);
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
    fn a_standing_queue_lowers_capacity_by_the_rate_that_drains_it_in_a_round_trip() {
        let mut capacity = capacity();
        // Five packets arrive at once. Then one packet arrives whenever another packet leaves.
        for _ in 0..5 {
            capacity.joined(Time::ZERO, 1_500, 1, 1.0);
        }
        capacity.begins(Time::ZERO, 1_500, &PORT);
        for packet in 1..=20 {
            let now = Time::ZERO + PACKET * packet;
            capacity.left(1_500);
            capacity.begins(now, 1_500, &PORT);
            capacity.joined(now, 1_500, 1, 1.0);
            tick(&mut capacity, now, 1, 1.0);
            let expected = match packet {
                // The first interval has not ended yet, so the capacity is the link's rate.
                ..10 => 1e9,
                // After the first packet, 14 packets arrived in the serialization delay of 10 packets: 0.4 Gb/s above
                // the link's rate. Alpha is 0.1.
                10..20 => 1e9 - 0.1 * 0.4e9,
                // The least backlog was 3 packets (36,000 bits), which must drain within one round trip of 120 us.
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
        tick(&mut capacity, at_us(120), 1, 1.0);
        assert_eq!(mbps(&capacity), 1_000, "packets that arrive at the same instant define no arrival rate");
        // The second interval ends after one round trip (120 us), which is longer than the serialization delay of a
        // packet of the only flow.
        tick(&mut capacity, at_us(240), 1, 1.0);
        assert_eq!(mbps(&capacity), 10);
        for _ in 0..10_000 {
            capacity.left(1_500);
        }
        pass(&mut capacity, at_us(50_000), 1_500);
        tick(&mut capacity, at_us(100_000), 1, 1.0);
        capacity.joined(at_us(100_000), 1_500, 1, 3.0);
        assert_eq!(mbps(&capacity), 3_000);
        capacity.limit(2.0);
        assert_eq!(mbps(&capacity), 2_000);
    }

    #[test]
    fn packets_of_flows_that_come_together_are_no_standing_queue() {
        // 25 flows of 40 Mb/s send their packets together every 300 us. After a round trip of 120 us, ten packets have
        // left, one is in transmission, and 14 still wait.
        let mut capacity = capacity();
        for burst in 0..10 {
            tick(&mut capacity, at_us(300 * burst), 25, 1.0);
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
    fn the_timer_stops_when_nothing_comes_and_nothing_waits() {
        let mut capacity = capacity();
        assert_eq!(capacity.next_tick(), Time::NEVER);
        capacity.joined(at_us(1_000), 1_500, 1, 1.0);
        capacity.joined(at_us(1_005), 1_500, 1, 1.0);
        capacity.begins(at_us(1_005), 1_500, &PORT);
        assert_eq!(capacity.next_tick(), at_us(1_120));
        capacity.tick(at_us(1_120), 1, 1.0);
        assert_eq!(capacity.next_tick(), at_us(1_240), "the timer keeps running after an arrival");
        capacity.tick(at_us(1_240), 1, 1.0);
        assert_eq!(capacity.next_tick(), at_us(1_360), "the timer keeps running while a packet waits");
        capacity.left(3_000);
        capacity.tick(at_us(1_360), 1, 1.0);
        assert_eq!(capacity.next_tick(), Time::NEVER);
        capacity.joined(at_us(9_000), 1_500, 1, 1.0);
        assert_eq!(capacity.next_tick(), at_us(9_120));
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
