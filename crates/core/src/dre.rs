//! The discounting rate estimator: the utilisation of a link, from one register per direction (CONGA §3.2; Expeditus
//! §3.2).
//!
//! A packet adds its bytes to the register X. Every period the register loses the share alpha. Under a steady rate R
//! the register settles at R · tau, with tau = period / alpha. X / (C · tau) is therefore the utilisation of a link of
//! rate C. Packets carry this utilisation in a few bits. The register decays when it is read or written, not by a
//! timer. All registers have the same phase: their ticks are at multiples of the period.
//!
//! Decay factors are computed by repeated multiplication, so they are bit-identical on every machine.
//!
//! Cost per packet: an addition. If a tick has passed since the previous packet, a division and a look-up are needed
//! too.

use crate::{Duration, Rate, Time};

/// Parameters that a family of registers shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Dre {
    period: u64,
    /// `factors[n]` is the share of a register that remains after n + 1 ticks. After more ticks than there are factors,
    /// nothing remains.
    factors: Box<[f64]>,
    /// The time constant of a register, in seconds.
    tau: f64,
    /// Number of levels from idle to line rate.
    levels: f64,
    /// The largest load that is reported.
    most: u8,
}

/// A discounted count of the bytes that a link carried recently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DreRegister {
    /// Number of bytes in the register after all ticks before `due`.
    bytes: f64,
    /// Time of the next tick, in picoseconds.
    due: u64,
}

impl Default for DreRegister {
    fn default() -> Self {
        Self { bytes: 0.0, due: 0 }
    }
}

/// A register that has decayed to this share of its value is set to zero: of a gigabyte, at most one byte would remain.
const NEGLIGIBLE: f64 = 1e-9;

impl Dre {
    /// Creates the parameters of registers that lose the share `alpha` every `period`. Loads are quantised to `bits`
    /// bits.
    ///
    /// # Panics
    /// If the period is zero, `alpha` is not in `0.001..=1`, or `bits` is not in `1..=7`.
    #[must_use]
    pub fn new(period: Duration, alpha: f64, bits: u32) -> Self {
        assert!(period > Duration::ZERO, "`period` must be greater than 0");
        assert!((0.001..=1.0).contains(&alpha), "`alpha` must be 0.001 to 1 (got {alpha})");
        assert!((1..=7).contains(&bits), "`bits` must be 1 to 7 (got {bits})");
        let kept = 1.0 - alpha;
        let factors = std::iter::successors(Some(kept), |factor| Some(factor * kept));
        Self {
            period: period.as_ps(),
            factors: factors.take_while(|&factor| factor > NEGLIGIBLE).collect(),
            tau: period.as_secs_f64() / alpha,
            levels: f64::from(1_u32 << bits),
            most: (1 << bits) - 1,
        }
    }

    /// The time constant of a register, tau = period / alpha.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a fraction of a picosecond does not count")]
    pub fn time_constant(&self) -> Duration {
        Duration::from_ps((self.tau * 1e12).round() as u64)
    }

    /// The largest value of [`load`](Self::load): the load of a link at line rate. Schemes also use it for a link that
    /// is down.
    #[must_use]
    pub fn most(&self) -> u8 {
        self.most
    }

    /// Counts a packet of `bytes` bytes.
    #[inline]
    pub fn count(&self, register: &mut DreRegister, now: Time, bytes: u32) {
        if now.as_ps() >= register.due {
            *register = self.decayed(*register, now);
        }
        register.bytes += f64::from(bytes);
    }

    /// The register at `now`, after all ticks up to then.
    fn decayed(&self, register: DreRegister, now: Time) -> DreRegister {
        let Some(late) = now.as_ps().checked_sub(register.due) else { return register };
        let ticks = late / self.period;
        let factor = usize::try_from(ticks).ok().and_then(|ticks| self.factors.get(ticks));
        let bytes = register.bytes * factor.copied().unwrap_or(0.0);
        DreRegister { bytes, due: register.due + (ticks + 1) * self.period }
    }

    /// The number of bytes X in the register at `now`.
    #[must_use]
    pub fn bytes(&self, register: &DreRegister, now: Time) -> f64 {
        self.decayed(*register, now).bytes
    }

    /// The load of a link of this rate: the link's utilisation in 2^bits levels, rounded down, at most
    /// [`most`](Self::most).
    #[must_use]
    pub fn load(&self, register: &DreRegister, now: Time, rate: Rate) -> u8 {
        self.scaled_load(register, now, rate, (1, 1))
    }

    /// The [`load`](Self::load) of a register whose bytes are multiplied by `times.0 / times.1`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn scaled_load(&self, register: &DreRegister, now: Time, rate: Rate, times: (u64, u64)) -> u8 {
        // Number of bytes in the register at line rate: C · tau.
        let full = rate.as_bps_f64() * self.tau / 8.0;
        let held = self.bytes(register, now) * times.0 as f64 * self.levels;
        // A cast from a float saturates. A link of rate 0 is fully loaded as soon as its register holds any bytes.
        ((held / (full * times.1 as f64)) as u8).min(self.most)
    }

    /// The load of a queue that takes the time `drains_in` to drain: this time as a share of the period, in 2^bits
    /// levels, rounded down, at most [`most`](Self::most). (Expeditus's testbed uses queue loads because its timers
    /// were too slow for the estimator alone.)
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn queue_load(&self, drains_in: Duration) -> u8 {
        let share = drains_in.as_ps() as f64 / self.period as f64;
        ((share * self.levels) as u8).min(self.most)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these tests compare only exact values, such as 100,000 * 0.9")]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const C: Rate = Rate::from_gbps(10);

    fn paper() -> Dre {
        Dre::new(Duration::from_us(20), 0.1, 3)
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Creates a register that holds `bytes` bytes at `now`.
    fn holding(dre: &Dre, now: Time, bytes: u32) -> DreRegister {
        let mut register = DreRegister::default();
        dre.count(&mut register, now, bytes);
        register
    }

    /// Checks levels and decay (specifications/expeditus.md §11.1, first line).
    #[test]
    fn oracle_11_1_levels() {
        let dre = paper();
        let register = holding(&dre, at(5), 100_000);
        assert_eq!((dre.bytes(&register, at(19)), dre.load(&register, at(19), C)), (100_000.0, 3));
        assert_eq!((dre.bytes(&register, at(20)), dre.load(&register, at(20), C)), (90_000.0, 2));
        let load = |bytes| dre.load(&holding(&dre, at(0), bytes), at(0), C);
        assert_eq!([218_750, 218_749, 250_000, 1_000_000].map(load), [7, 6, 7, 7]);
        assert_eq!([31_249, 31_250, 20 * 1_518].map(load), [0, 1, 0]);
    }

    /// Checks the bytes per level for each rate, period and alpha (specifications/expeditus.md §2).
    #[test]
    fn oracle_2_2_level_widths() {
        let mbps = |mbps: u64| Rate::from_bps(mbps * 1_000_000);
        for (dre, rate, least) in [
            (paper(), mbps(10_000), 31_250),
            (paper(), mbps(40_000), 125_000),
            (paper(), mbps(1_000), 3_125),
            (Dre::new(Duration::from_us(20), 0.3, 3), mbps(10_000), 10_417),
            (Dre::new(Duration::from_ms(1), 0.1, 3), mbps(1_000), 156_250),
            (Dre::new(Duration::from_ms(1), 0.1, 3), mbps(250), 39_063),
            (Dre::new(Duration::from_ms(1), 0.1, 3), mbps(25), 3_907),
        ] {
            let load = |bytes| dre.load(&holding(&dre, at(0), bytes), at(0), rate);
            assert_eq!((load(least - 1), load(least)), (0, 1), "{rate:?}: {least} B a level");
        }
    }

    /// Returns the loads observed over time if packets are paced at the share `share` of the line rate. A frame
    /// has 1,518 B in the register and takes 1,538 B on the wire.
    fn steady(dre: &Dre, share: f64) -> BTreeSet<u8> {
        let gap = 1_538.0 * 8.0 / (share * 10e9) * 1e12;
        let mut register = DreRegister::default();
        let mut seen = BTreeSet::new();
        for n in 0..20_000_u32 {
            let now = Time::from_ps((f64::from(n) * gap) as u64);
            let before = dre.load(&register, now, C);
            dre.count(&mut register, now, 1_518);
            if now > at(4_000) {
                seen.extend([before, dre.load(&register, now, C)]);
            }
        }
        seen
    }

    /// Checks the loads at steady rates (specifications/expeditus.md §11.1, second line).
    #[test]
    fn oracle_11_1_steady_rates() {
        let expected: [(f64, &[u8]); 10] = [
            (0.1, &[0]),
            (0.2, &[1]),
            (0.3, &[2]),
            (0.4, &[2, 3]),
            (0.5, &[3]),
            (0.6, &[4]),
            (0.7, &[4, 5]),
            (0.8, &[5, 6]),
            (0.9, &[6, 7]),
            (1.0, &[7]),
        ];
        for (share, loads) in expected {
            assert_eq!(steady(&paper(), share), loads.iter().copied().collect(), "alpha 0.1, {share}");
        }
        let quick = Dre::new(Duration::from_us(20), 0.3, 3);
        for (share, loads) in [(0.5, [2, 3, 4]), (0.8, [4, 5, 6]), (1.0, [5, 6, 7])] {
            assert_eq!(steady(&quick, share), loads.into(), "alpha 0.3, {share}");
        }
    }

    /// Checks a step from idle to full rate and back (specifications/expeditus.md §11.1, third line). Full
    /// rate is 25,000 B per period, counted as one packet at the end of the period.
    #[test]
    fn oracle_11_1_steps() {
        let dre = paper();
        let mut register = DreRegister::default();
        let mut first = [0; 8];
        for k in 1..=60 {
            dre.count(&mut register, at(20 * k - 1), 25_000);
            let load = usize::from(dre.load(&register, at(20 * k - 1), C));
            first[1..=load].iter_mut().filter(|first| **first == 0).for_each(|first| *first = k);
        }
        assert_eq!(first[1..], [2, 3, 5, 7, 10, 14, 20]);

        let register = holding(&dre, at(0), 250_000);
        let below = |load| (0..100).find(|&k| dre.load(&register, at(20 * k), C) < load);
        assert_eq!([7, 6, 5, 4, 3, 2, 1].map(below), [2, 3, 5, 7, 10, 14, 20].map(Some));
    }

    /// Checks loads that are scaled before they are rounded (specifications/expeditus.md §11.3, "prescale").
    #[test]
    fn oracle_11_3_prescale() {
        let dre = paper();
        for (share, load) in [(30_000, 1), (50_000, 3), (75_000, 4), (92_500, 5)] {
            let register = holding(&dre, at(0), share);
            assert_eq!(dre.scaled_load(&register, at(0), C, (2, 1)), load, "{share} B");
        }
    }

    #[test]
    fn looking_often_changes_nothing() {
        let dre = paper();
        let mut looked = holding(&dre, at(3), 123_457);
        let left = looked;
        for us in 3..1_500 {
            looked = dre.decayed(looked, at(us));
        }
        let (looked, left) = (dre.bytes(&looked, at(1_500)), dre.bytes(&left, at(1_500)));
        assert!((looked - left).abs() < 1e-9 * left, "{looked} {left}");
    }

    #[test]
    fn all_is_forgotten_in_the_end() {
        let dre = paper();
        assert_eq!(dre.bytes(&holding(&dre, at(0), u32::MAX), at(1 << 40)), 0.0);
    }

    #[test]
    fn a_register_is_small() {
        assert_eq!(size_of::<DreRegister>(), 16);
    }
}
