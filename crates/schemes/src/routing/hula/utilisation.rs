//! Measures the utilisation of a switch's links in the direction away from the switch (HULA §3.2). A packet that is
//! forwarded dt after the previous packet sets the estimate to U = D + U · max(0, 1 - dt / tau). D is the size in bytes
//! of the frame around the packet. Packets count before they are queued, even if the queue drops them. Under a steady
//! rate R the estimate settles at R · tau.

use raddle_core::{Duration, PortId, Rate, Time};

/// One estimate per egress port.
#[derive(Debug)]
pub(super) struct Utilisation {
    tau: Duration,
    estimates: Box<[Estimate]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    /// The estimate U, in bytes, at the time of the last packet.
    bytes: f64,
    counted: Time,
}

impl Estimate {
    fn bytes(self, now: Time, tau: Duration) -> f64 {
        let idle = now.since(self.counted);
        if idle >= tau {
            return 0.0;
        }
        self.bytes * (1.0 - idle.as_ps() as f64 / tau.as_ps() as f64)
    }
}

impl Utilisation {
    /// Estimates for `ports` ports with time constant `tau`.
    pub(super) fn new(ports: usize, tau: Duration) -> Self {
        Self { tau, estimates: vec![Estimate::default(); ports].into() }
    }

    /// Counts a packet that is forwarded by `port`, in a frame of `frame` bytes.
    #[inline]
    pub(super) fn count(&mut self, now: Time, port: PortId, frame: u32) {
        let estimate = &mut self.estimates[port.index()];
        let bytes = f64::from(frame) + estimate.bytes(now, self.tau);
        *estimate = Estimate { bytes, counted: now };
    }

    /// The utilisation of the link at `port`, in 255ths of its rate, rounded down, at most 255.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(super) fn of(&self, now: Time, port: PortId, rate: Rate) -> u8 {
        let full = rate.as_bps_f64() * self.tau.as_secs_f64() / 8.0;
        // If the rate is zero, the result is 255 after a recent packet, and 0 if the link is idle.
        (self.estimates[port.index()].bytes(now, self.tau) / full * 255.0) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortId = PortId(1);
    const RATE: Rate = Rate::from_gbps(10);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Two idle ports. The time constant is 400 us, in which a link of 10 Gb/s carries 500,000 bytes.
    fn fresh() -> Utilisation {
        Utilisation::new(2, Duration::from_us(400))
    }

    #[test]
    fn a_burst_fades_in_a_straight_line_and_is_gone_after_tau() {
        let mut utilisation = fresh();
        utilisation.count(us(0), PORT, 500_000);
        assert_eq!(
            [0, 100, 200, 399, 400].map(|at| utilisation.of(us(at), PORT, RATE)),
            [255, 191, 127, 0, 0]
        );
        utilisation.count(us(200), PORT, 250_000);
        assert_eq!([200, 300, 600].map(|at| utilisation.of(us(at), PORT, RATE)), [255, 191, 0]);
        assert_eq!(utilisation.of(us(0), PortId(0), RATE), 0);
    }

    #[test]
    fn a_steady_rate_is_found() {
        for tenths in 1..=10 {
            let mut utilisation = fresh();
            // A packet of 1,500 bytes takes 1.2 us at line rate.
            let gap = Duration::from_ns(12_000 / tenths);
            let mut now = Time::ZERO;
            for _ in 0..5_000 {
                utilisation.count(now, PORT, 1_500);
                now += gap;
            }
            let expected = 255 * tenths / 10;
            let found = u64::from(utilisation.of(now, PORT, RATE));
            assert!(found.abs_diff(expected) <= 3, "{tenths} tenths: {found}, not {expected}");
        }
    }

    #[test]
    fn more_than_line_rate_counts_as_line_rate() {
        let mut utilisation = fresh();
        utilisation.count(us(0), PORT, 2_000_000);
        assert_eq!(utilisation.of(us(0), PORT, RATE), 255);
        assert_eq!(utilisation.of(us(0), PORT, Rate::ZERO), 255);
        assert_eq!(utilisation.of(us(0), PortId(0), Rate::ZERO), 0, "and an idle one for idle");
    }
}
