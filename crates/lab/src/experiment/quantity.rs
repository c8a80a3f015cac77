//! Quantities with units, as text: `"10 Gbps"`, `"100 ns"`, `"9 KB"`. The unit is required, and the arithmetic is
//! exact.

use super::problem::nearest;
use raddle_core::text::scaled;
use raddle_core::{Bytes, Duration, Rate};

/// A type of quantity, such as a rate, with its units.
pub trait Quantity: Sized {
    /// Name of the type, with its article and an example.
    const WHAT: &'static str;
    /// The name of each unit, and its size in base units.
    const UNITS: &'static [(&'static str, u64)];
    /// Other names of units: each alias with the unit that it stands for.
    const ALIASES: &'static [(&'static str, &'static str)];
    /// The quantity of `base` base units.
    fn of(base: u64) -> Self;
}

impl Quantity for Rate {
    const WHAT: &'static str = "a rate such as \"10 Gbps\"";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("bps", 1),
        ("Kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("bit/s", "bps"),
        ("b/s", "bps"),
        ("K", "Kbps"),
        ("k", "Kbps"),
        ("kbps", "Kbps"),
        ("kbit/s", "Kbps"),
        ("Kb/s", "Kbps"),
        ("kb/s", "Kbps"),
        ("M", "Mbps"),
        ("mbps", "Mbps"),
        ("Mbit", "Mbps"),
        ("mbit", "Mbps"),
        ("Mbit/s", "Mbps"),
        ("Mb/s", "Mbps"),
        ("G", "Gbps"),
        ("g", "Gbps"),
        ("gbps", "Gbps"),
        ("Gbit", "Gbps"),
        ("gbit", "Gbps"),
        ("Gbit/s", "Gbps"),
        ("Gb/s", "Gbps"),
        ("GbE", "Gbps"),
        ("T", "Tbps"),
        ("tbps", "Tbps"),
        ("Tbit/s", "Tbps"),
        ("Tb/s", "Tbps"),
    ];
    fn of(base: u64) -> Self {
        Self::from_bps(base)
    }
}

impl Quantity for Duration {
    const WHAT: &'static str = "a time such as \"100 ns\"";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("psec", "ps"), ("nsec", "ns"), ("usec", "us"), ("μs", "us"), ("msec", "ms"), ("sec", "s")];
    fn of(base: u64) -> Self {
        Self::from_ps(base)
    }
}

impl Quantity for Bytes {
    const WHAT: &'static str = "a size such as \"9 KB\"";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("bytes", "B"), ("byte", "B"), ("kB", "KB"), ("kiB", "KiB")];
    fn of(base: u64) -> Self {
        Self(base)
    }
}

/// The reason why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with a unit: the number is missing or malformed, or a frequency has no slash before its
    /// unit.
    #[error("`{text}` cannot be read as a number with a unit")]
    NoNumber {
        /// The text.
        text: String,
        /// Name of the expected type.
        what: &'static str,
    },
    /// The number is negative.
    #[error("`{text}` must not be negative")]
    Negative {
        /// The text.
        text: String,
        /// Name of the expected type.
        what: &'static str,
    },
    /// The unit is missing.
    #[error("`{text}` has no unit")]
    NoUnit {
        /// The text.
        text: String,
        /// The known units.
        units: Vec<&'static str>,
    },
    /// The unit does not belong to the expected type.
    #[error("unknown unit `{unit}`")]
    UnknownUnit {
        /// The number before the unit.
        number: String,
        /// The unit.
        unit: String,
        /// The known units.
        units: Vec<&'static str>,
    },
    /// The value is not a whole number of base units, or too large.
    #[error("Raddle cannot represent `{text}` exactly")]
    Inexact {
        /// The text.
        text: String,
        /// The smallest unit.
        base: &'static str,
    },
}

impl QuantityError {
    /// The advice for the user.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoNumber { what, .. } => format!("write {what}"),
            Self::Negative { what, .. } => format!("write {what}, without a minus sign"),
            Self::NoUnit { units, .. } => format!("write the unit too: {}", units.join(", ")),
            Self::UnknownUnit { number, unit, units } => match nearest(unit, units.iter().copied()) {
                Some(near) => format!("did you mean \"{number} {near}\"?"),
                None => format!("units: {}", units.join(", ")),
            },
            Self::Inexact { base, .. } => {
                format!("give a whole number of {base}, less than 2^64")
            }
        }
    }
}

/// Reads a quantity such as `"2.5 Gbps"`. The space is optional, and `_` may group digits.
///
/// # Errors
/// If the number or the unit is missing, if the number is negative, if the type has no such unit, or if the value is
/// not exactly representable.
pub fn parse<Q: Quantity>(text: &str) -> Result<Q, QuantityError> {
    let text = text.trim();
    let owned = || text.to_owned();
    if text.starts_with(['-', '−']) {
        return Err(QuantityError::Negative { text: owned(), what: Q::WHAT });
    }
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    if !number.starts_with(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
        return Err(QuantityError::NoNumber { text: owned(), what: Q::WHAT });
    }
    let units = || Q::UNITS.iter().map(|&(name, _)| name).collect::<Vec<_>>();
    if unit.is_empty() {
        return Err(QuantityError::NoUnit { text: owned(), units: units() });
    }
    let Some(&(_, scale)) = Q::UNITS.iter().find(|&&(name, _)| name == unit) else {
        return Err(QuantityError::UnknownUnit {
            number: number.to_owned(),
            unit: unit.to_owned(),
            units: units(),
        });
    };
    scaled(&number.replace('_', ""), scale)
        .map(Q::of)
        .ok_or_else(|| QuantityError::Inexact { text: owned(), base: Q::UNITS[0].0 })
}

/// The same quantity with a declared unit, if `text` has the alias of a unit: `10 Gbps` for `10G`. Otherwise `None`.
#[must_use]
pub fn meant<Q: Quantity>(text: &str) -> Option<String> {
    let Err(QuantityError::UnknownUnit { number, unit, .. }) = parse::<Q>(text) else { return None };
    let &(_, unit) = Q::ALIASES.iter().find(|&&(alias, _)| alias == unit)?;
    Some(format!("{number} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!(parse::<Rate>("10 Gbps"), Ok(Rate::from_gbps(10)));
        assert_eq!(parse::<Rate>("2.50Gbps"), Ok(Rate::from_bps(2_500_000_000)));
        assert_eq!(parse::<Duration>("0.1 ns"), Ok(Duration::from_ps(100)));
        assert_eq!(parse::<Bytes>("1_000 KiB"), Ok(Bytes(1_024_000)));
        assert_eq!(parse::<Duration>("0 us"), Ok(Duration::ZERO));
    }

    #[test]
    fn quantities_that_are_not_exactly_representable_are_refused() {
        for text in ["0.5 ps", "1.0000000000001 s", "99999999999 s"] {
            assert!(matches!(parse::<Duration>(text), Err(QuantityError::Inexact { .. })), "{text}");
        }
    }

    #[test]
    fn a_near_unit_is_suggested() {
        let hint = |text| parse::<Rate>(text).map_err(|error| error.hint());
        assert_eq!(hint("10 Gbs"), Err("did you mean \"10 Gbps\"?".to_owned()));
        assert_eq!(hint("10 GB"), Err("units: bps, Kbps, Mbps, Gbps, Tbps".to_owned()));
    }

    #[test]
    fn every_alias_of_a_unit_is_another_units_name() {
        fn check<Q: Quantity + PartialEq + std::fmt::Debug>() {
            for (alias, unit) in Q::ALIASES {
                assert_eq!(meant::<Q>(&format!("2{alias}")), Some(format!("2 {unit}")));
                assert!(parse::<Q>(&format!("2 {unit}")).is_ok(), "{unit}");
            }
        }
        check::<Rate>();
        check::<Duration>();
        check::<Bytes>();
        assert_eq!(meant::<Rate>("10 Gbps"), None);
        assert_eq!(meant::<Rate>("10 parsecs"), None);
    }
}
