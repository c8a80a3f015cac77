//! Time, rate and size as types: integers in one unit each.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const PS_PER_S: u64 = 1_000_000_000_000;

/// A point in time: picoseconds since the start of the run. The maximum is 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

/// A span of time in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Duration(u64);

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Rate(u64);

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Bytes(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// A time after all others.
    pub const NEVER: Self = Self(u64::MAX);

    /// A time in picoseconds since the start.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the start, as a float.
    #[must_use]
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds since the start, as a float.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The span since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// A span of zero.
    pub const ZERO: Self = Self(0);

    /// A span in picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span in nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span in microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span in milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// The span in picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The span in nanoseconds, as a float.
    #[must_use]
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The span in seconds, as a float.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
}

impl Rate {
    /// Zero bits per second.
    pub const ZERO: Self = Self(0);

    /// A rate in bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate in gigabits per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bits per second, as a float.
    #[must_use]
    pub const fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Time that `bytes` take at this rate, rounded up to a whole picosecond.
    ///
    /// # Panics
    /// If the rate is zero.
    #[must_use]
    pub fn time_for(self, bytes: Bytes) -> Duration {
        const BIT_PS: u64 = 8 * PS_PER_S;
        if bytes.0 <= u64::MAX / BIT_PS / 2 {
            Duration((bytes.0 * BIT_PS).div_ceil(self.0))
        } else {
            let ps = (u128::from(bytes.0) * u128::from(BIT_PS)).div_ceil(u128::from(self.0));
            Duration(u64::try_from(ps).unwrap_or(u64::MAX))
        }
    }

    /// Number of whole bytes that fit into `span` at this rate.
    #[must_use]
    #[inline]
    pub fn bytes_in(self, span: Duration) -> Bytes {
        const BYTE_PS: u64 = 8 * PS_PER_S;
        if let Some(product) = self.0.checked_mul(span.0) {
            return Bytes(product / BYTE_PS);
        }
        let bytes = u128::from(self.0) * u128::from(span.0) / u128::from(BYTE_PS);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        Self(items.map(|bytes| bytes.0).sum())
    }
}

/// Writes `value` in the largest unit that leaves no fraction.
fn exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let &(size, name) = units
        .iter()
        .find(|&&(size, _)| value >= size && value.is_multiple_of(size))
        .unwrap_or(&units[units.len() - 1]);
    write!(f, "{} {name}", value / size)
}

const TIME_UNITS: &[(u64, &str)] =
    &[(PS_PER_S, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(f, self.0, TIME_UNITS)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(f, self.0, TIME_UNITS)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &[(u64, &str)] = &[
            (1_000_000_000_000, "Tbps"),
            (1_000_000_000, "Gbps"),
            (1_000_000, "Mbps"),
            (1_000, "Kbps"),
            (1, "bps"),
        ];
        exact(f, self.0, UNITS)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &[(u64, &str)] = &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"), (1, "B")];
        exact(f, self.0, UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_is_exact_at_standard_rates_and_rounds_up_elsewhere() {
        assert_eq!(Rate::from_gbps(10).time_for(Bytes(1_500)), Duration::from_ns(1_200));
        assert_eq!(Rate::from_gbps(10).time_for(Bytes(16)), Duration::from_ps(12_800));
        assert_eq!(Rate::from_bps(3).time_for(Bytes(1)), Duration::from_ps(2_666_666_666_667));
    }

    #[test]
    fn large_sizes_do_not_overflow() {
        let day = Rate::from_gbps(1).time_for(Bytes(10_800_000_000_000));
        assert_eq!(day, Duration::from_ps(86_400 * PS_PER_S));
    }

    #[test]
    fn bytes_in_undoes_time_for() {
        let rate = Rate::from_gbps(40);
        assert_eq!(rate.bytes_in(rate.time_for(Bytes(123_456_789))), Bytes(123_456_789));
    }

    #[test]
    fn quantities_print_in_their_largest_exact_unit() {
        assert_eq!(Duration::from_ns(1_500).to_string(), "1500 ns");
        assert_eq!(Rate::from_gbps(10).to_string(), "10 Gbps");
        assert_eq!(Bytes(100_000).to_string(), "100 KB");
        assert_eq!(Time::ZERO.to_string(), "0 ps");
    }
}
