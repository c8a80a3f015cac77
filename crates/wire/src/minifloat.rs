//! Numbers up to 4.4 · 10^12 in 16 bits, such as rates in kbit/s and times in nanoseconds: 5 bits of exponent and 11
//! bits of mantissa. Numbers that need more bits of mantissa are rounded down, by less than one part in 2,048.

/// A small unsigned floating-point number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Minifloat(pub u16);

const MANTISSA: u32 = 11;
const HIDDEN: u64 = 1 << MANTISSA;

impl Minifloat {
    /// The largest number: 4095 · 2^30.
    pub const MAX: Self = Self(u16::MAX);

    /// Returns the largest `Minifloat` that does not exceed `number`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the exponent and the mantissa fit in 16 bits")]
    pub const fn floor(number: u64) -> Self {
        if number < HIDDEN {
            return Self(number as u16);
        }
        let shift = number.ilog2() - MANTISSA;
        if shift > 30 {
            return Self::MAX;
        }
        let mantissa = (number >> shift) - HIDDEN;
        Self(((shift as u16 + 1) << MANTISSA) | mantissa as u16)
    }

    /// Returns the number that the bits represent.
    #[must_use]
    pub const fn get(self) -> u64 {
        let mantissa = self.0 as u64 & (HIDDEN - 1);
        match self.0 >> MANTISSA {
            0 => mantissa,
            exponent => (HIDDEN + mantissa) << (exponent - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_of_them_is_its_own_floor_and_they_are_in_order() {
        for bits in 0..=u16::MAX {
            assert_eq!(Minifloat::floor(Minifloat(bits).get()), Minifloat(bits));
            assert!(bits == 0 || Minifloat(bits).get() > Minifloat(bits - 1).get());
        }
    }

    #[test]
    fn values_between_two_floats_are_rounded_down_slightly() {
        for number in [0, 1, 2_047, 4_097, 999_999, 1_000_000, 101_700, 4_096 << 29] {
            let floor = Minifloat::floor(number).get();
            assert!(floor <= number && number - floor <= number / 2_048, "{number} and {floor}");
        }
        assert_eq!(Minifloat::floor(1_000_000).get(), 999_936);
        assert_eq!(Minifloat::floor(u64::MAX), Minifloat::MAX);
        assert_eq!(Minifloat::MAX.get(), 4_095 << 30);
    }
}
