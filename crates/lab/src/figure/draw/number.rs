//! Numbers in pictures. Every number of every picture follows one rule: at most some significant digits, and a letter
//! for thousands (k), millions (M) and so on. There are neither exponents nor separators. The page of `raddle report`
//! follows the same rule on its axes.

/// Letters for factors, the largest first.
const UNITS: [(f64, &str); 6] = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];

/// A number with at most `digits` significant digits: `0.5`, `950`, `1.5k`, `20M`.
pub(super) fn number(value: f64, digits: usize) -> String {
    let value = rounded(value, digits);
    let unit = UNITS.iter().find(|(factor, _)| value.abs() >= *factor);
    let (factor, letter) = unit.copied().unwrap_or((1.0, ""));
    // Rounding once more removes the rounding error of the division.
    format!("{}{letter}", rounded(value / factor, digits))
}

/// The value with so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_notation() {
        let read =
            [0.0, 0.5, 950.0, 1_000.0, 123_456.0, 999_960.0, 1.5e7, 2e12, -2_500.0, 3.0 * 1e-5, 0.1 + 0.2]
                .map(|value| number(value, 4));
        let expected = ["0", "0.5", "950", "1k", "123.5k", "1M", "15M", "2T", "-2.5k", "0.00003", "0.3"];
        assert_eq!(read, expected);
    }

    #[test]
    fn only_as_many_digits_remain_as_asked_for() {
        let read = [286.162, 1_234.5, 12.345, 0.123_456].map(|value| number(value, 3));
        assert_eq!(read, ["286", "1.23k", "12.3", "0.123"]);
    }
}
