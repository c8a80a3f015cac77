//! CUBIC's window (RFC 9438). After a loss, the window grows as a cubic function of time. The growth is slow near the
//! window size at which the loss occurred.
//!
//! The cubic function takes seconds to rise. In a data center, this is thousands of round trips, so the window grows as
//! a Reno sender's window would grow (the Reno-friendly region).

use super::{Acknowledged, CongestionControl, LossSign, Window};
use crate::scheme::{Info, Make, Streams, Transport};
use crate::transport::tcp::scheme;
use raddle_core::Time;

/// TCP CUBIC.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "tcp-cubic",
        summary: "TCP CUBIC with selective acknowledgements",
        source: "RFC 9438, with the loss recovery of tcp-newreno",
        differs: &[
            "slow start ends at a loss or at its threshold; there is no HyStart++",
            "the clock of the cubic function also runs while the application sends less than the window \
             allows",
            scheme::DIFFERS[0],
            scheme::DIFFERS[1],
            scheme::DIFFERS[2],
            scheme::DIFFERS[3],
        ],
        ..scheme::INFO
    },
    make: Make::Hosts(scheme::build::<Cubic>),
    fluid: Some(scheme::fluid),
    streams: Streams::Carried,
};

/// Coefficient of the cubic function, in segments per cubic second.
const C: f64 = 0.4;
/// Factor by which the window is multiplied after a loss.
const BETA: f64 = 0.7;
/// Growth in segments per round trip of `W_est`, the window that Reno would have. It applies until `W_est` reaches
/// `cwnd_prior`, the data in flight at the last loss. With this growth, a sender that multiplies its window by [`BETA`]
/// after a loss has the same throughput as a Reno sender, which halves its window (§4.3).
const RENO_GROWTH: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Greatest factor by which the window grows in one round trip (§4.2).
const MOST_GROWTH: f64 = 1.5;

/// CUBIC's state of one flow. All windows are in segments.
#[derive(Debug, Default)]
pub(crate) struct Cubic {
    /// The data in flight at the last loss (`W_max`). Fast convergence makes this value smaller, so that the flow gives
    /// up capacity. 0 if unknown, as after a timeout; the next epoch then sets it to the current window.
    w_max: f64,
    /// The data in flight at the last loss (`cwnd_prior`). Fast convergence does not change this value.
    prior: f64,
    /// The current epoch; `None` until the window can first grow in congestion avoidance after the start or a loss.
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance, in which the window follows one cubic function.
#[derive(Debug)]
struct Epoch {
    start: Time,
    /// Time from `start` until the function reaches `w_max`, in seconds (`K`).
    k: f64,
    /// The window that Reno would have (`W_est`).
    reno: f64,
    /// The fraction of a byte of growth that has not been added to the window yet.
    fraction: f64,
}

impl Cubic {
    /// Value of the cubic function `seconds` after the start of the epoch (§4.2, eq. 1).
    fn window_at(&self, k: f64, seconds: f64) -> f64 {
        let t = seconds - k;
        C * t * t * t + self.w_max
    }
}

impl CongestionControl for Cubic {
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledged) {
        if !ack.may_grow {
            return;
        }
        if window.is_in_slow_start() {
            window.grow(ack.bytes, ack.mss);
            return;
        }
        let mss = f64::from(ack.mss);
        let cwnd = window.cwnd() as f64 / mss;
        let mut epoch = self.epoch.take().unwrap_or_else(|| {
            self.w_max = self.w_max.max(cwnd); // §4.8 and §4.10, for an epoch that did not begin with a reduction
            Epoch { start: ack.now, k: libm::cbrt((self.w_max - cwnd) / C), reno: cwnd, fraction: 0.0 }
        });
        let acked = ack.bytes as f64 / mss;
        let growth = if epoch.reno < self.prior { RENO_GROWTH } else { 1.0 };
        epoch.reno += growth * acked / cwnd;
        let elapsed = ack.now.since(epoch.start).as_secs_f64();
        if self.window_at(epoch.k, elapsed) < epoch.reno {
            window.set_cwnd(window.cwnd().max((epoch.reno * mss) as u64));
        } else {
            let after = self.window_at(epoch.k, elapsed + ack.round_trip.as_secs_f64());
            let target = after.clamp(cwnd, MOST_GROWTH * cwnd);
            let more = (target - cwnd) / cwnd * acked * mss + epoch.fraction;
            let whole = libm::floor(more);
            epoch.fraction = more - whole;
            window.set_cwnd(window.cwnd() + whole as u64);
        }
        self.epoch = Some(epoch);
    }

    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn lost(&mut self, window: &mut Window, flight: u64, mss: u16, sign: LossSign) {
        self.epoch = None;
        self.prior = flight as f64 / f64::from(mss);
        self.w_max = match sign {
            LossSign::Timeout => 0.0, // unknown: the next epoch sets `w_max` to the window at its start, §4.8
            // Fast convergence (§4.7): if the window is smaller than `w_max`, the flow releases more capacity.
            LossSign::Duplicates if self.prior < self.w_max => self.prior * (1.0 + BETA) / 2.0,
            LossSign::Duplicates => self.prior,
        };
        window.set_ssthresh((flight as f64 * BETA) as u64, mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::Params;
    use raddle_core::Duration;

    const MSS: u16 = 1_000;

    /// A flow that always fills its window. The simulation advances by one round trip at a time.
    struct Flow {
        cubic: Cubic,
        window: Window,
        now: Time,
        round_trip: Duration,
    }

    impl Flow {
        /// A flow that has just lost a segment of a window of `segments` segments.
        fn reduced_from(segments: u64, round_trip: Duration) -> Self {
            let params = Params { mss: MSS, ..Params::default() };
            let mut flow =
                Self { cubic: Cubic::default(), window: Window::new(&params), now: Time::ZERO, round_trip };
            flow.lose(segments, LossSign::Duplicates);
            flow
        }

        /// Loses a segment of a window of `segments` segments, and completes the recovery.
        fn lose(&mut self, segments: u64, sign: LossSign) {
            self.cubic.lost(&mut self.window, segments * u64::from(MSS), MSS, sign);
            self.window.set_cwnd(self.window.ssthresh());
        }

        /// Simulates one round trip, in which each segment of the window is acknowledged.
        fn round(&mut self) {
            self.now += self.round_trip;
            for _ in 0..self.window.cwnd() / u64::from(MSS) {
                let ack = Acknowledged {
                    now: self.now,
                    bytes: MSS.into(),
                    una: 0,
                    max: 0,
                    mss: MSS,
                    round_trip: self.round_trip,
                    marked: false,
                    may_grow: true,
                    recovering: false,
                };
                self.cubic.acknowledged(&mut self.window, &ack);
            }
        }

        fn rounds(&mut self, count: usize) -> &mut Self {
            for _ in 0..count {
                self.round();
            }
            self
        }

        /// The window in segments.
        fn cwnd(&self) -> f64 {
            self.window.cwnd() as f64 / f64::from(MSS)
        }
    }

    fn assert_near(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
    }

    /// The expected windows follow from RFC 9438 §4.2, eq. 1. A loss reduces the window from 1,000 to 700 segments, so
    /// K = cbrt(300 / 0.4) = 9.0856 s.
    #[test]
    fn oracle_7_3_cubic_growth_follows_the_function() {
        let mut flow = Flow::reduced_from(1_000, Duration::from_ms(100));
        assert_near(flow.cwnd(), 700.0, 0.0);
        flow.round(); // the epoch begins with the first acknowledgement
        for (seconds, expected) in
            [(1, 788.46), (3, 909.89), (6, 988.25), (9, 1_000.0), (12, 1_009.90), (15, 1_082.75)]
        {
            let passed = flow.now.since(Time::ZERO).as_ps() / 100_000_000_000;
            flow.rounds(usize::try_from(seconds * 10 + 1 - passed).expect("few"));
            // `expected` is the function's value at this time. The window is slightly larger, because each
            // acknowledgement moves the window towards the function's value one round trip later.
            assert_near(flow.cwnd(), expected, expected * 0.006);
        }
    }

    /// With a round trip of 100 us, the cubic function hardly rises within the test, so the Reno-friendly estimate
    /// determines the window. The estimate grows by 3·0.3/1.7 = 0.529 segments per round trip. When the estimate has
    /// reached the window before the loss, it grows by 1 segment per round trip (§4.3).
    #[test]
    fn oracle_7_3_short_round_trips_are_reno_friendly() {
        let mut flow = Flow::reduced_from(100, Duration::from_us(100));
        let slow = flow.rounds(20).cwnd();
        assert_near(slow, 70.0 + 20.0 * 0.529, 0.3);
        flow.rounds(40);
        let back = flow.cwnd();
        assert!(back > 100.0, "{back} after 60 round trips at 0.529 segments each");
        assert_near(flow.rounds(10).cwnd() - back, 10.0, 0.2);
    }

    #[test]
    fn oracle_7_3_fast_convergence_gives_up_capacity() {
        let mut flow = Flow::reduced_from(100, Duration::from_ms(10));
        assert_near(flow.cubic.w_max, 100.0, 0.0);
        flow.lose(80, LossSign::Duplicates);
        assert_near(flow.cubic.w_max, 80.0 * 0.85, 1e-9);
        assert_near(flow.cwnd(), 56.0, 0.0);
        flow.lose(90, LossSign::Duplicates);
        assert_near(flow.cubic.w_max, 90.0, 0.0);
    }

    /// RFC 9438 §4.8: after a timeout and slow start, K is 0, and the cubic function starts at the current window.
    #[test]
    fn a_timeout_forgets_where_the_loss_was() {
        let mut flow = Flow::reduced_from(1_000, Duration::from_ms(100));
        flow.lose(1_000, LossSign::Timeout);
        flow.rounds(1);
        let Some(epoch) = &flow.cubic.epoch else { panic!("slow start has ended") };
        assert_near(epoch.k, 0.0, 0.0);
        assert_near(flow.cubic.w_max, 700.0, 0.0);
        flow.rounds(50); // the function gives 700 + 0.4·5.1³ = 753 segments at 5.1 s
        assert_near(flow.cwnd(), 753.0, 753.0 * 0.01);
    }

    #[test]
    fn a_round_trip_grows_the_window_by_half_at_most() {
        let mut flow = Flow::reduced_from(10, Duration::from_ms(100_000));
        flow.rounds(1);
        let before = flow.cwnd();
        flow.round(); // after 100 s, the function gives more than 300,000 segments
        assert!(flow.cwnd() > before * 1.4 && flow.cwnd() <= before * 1.65, "{before} to {}", flow.cwnd());
    }
}
