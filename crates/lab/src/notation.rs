//! The notation of numbers for people. There are neither exponents nor separators of thousands. The page of
//! `raddle report` follows the same rules (report/page/chart.js).
//!
//! - Tables and sentences ([`shown`]): four significant digits, and all digits before the decimal point.
//! - Pictures (`brief`): at most a given number of significant digits, and a letter for thousands (k), millions (M)
//!   and so on. In a column of a drawn table (`column`), the numbers also have the same letter and the same number of
//!   decimals, if the smallest number other than 0 keeps at least two digits. Ticks that need many digits (`plain`)
//!   never have a letter.

/// A number with four significant digits, without zeros at the end of the decimals: `58408`, `2.783`, `0.5`. It has at
/// most six decimals, and all digits before the decimal point.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "there are from 0 to 6 decimals")]
pub fn shown(number: f64) -> String {
    let decimals = if number == 0.0 { 0 } else { (3 - number.abs().log10().floor() as i32).clamp(0, 6) };
    let text = format!("{number:.*}", decimals as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The number, or `-` if there is none.
pub(crate) fn shown_or_dash(number: Option<f64>) -> String {
    number.map_or("-".to_owned(), shown)
}

/// A mean, and half the width of its confidence interval: `4061 ± 1500`. The half width has two significant digits. It
/// is left out if it is 0 except for rounding errors.
pub(crate) fn with_margin(mean: f64, margin: Option<f64>) -> String {
    match margin {
        Some(margin) if margin > 1e-9 * mean.abs() => {
            format!("{} ± {}", shown(mean), shown_margin(margin))
        }
        _ => shown(mean),
    }
}

/// Half the width of a confidence interval, with two significant digits.
pub(crate) fn shown_margin(margin: f64) -> String {
    shown(rounded(margin, 2))
}

/// A share as a percentage: `12.5%`.
pub(crate) fn percent(share: f64) -> String {
    shown(share * 100.0) + "%"
}

/// Letters for factors, the largest first.
const UNITS: [(f64, &str); 6] = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];

/// A number with at most `digits` significant digits: `0.5`, `950`, `1.5k`, `20M`.
pub(crate) fn brief(value: f64, digits: usize) -> String {
    let value = rounded(value, digits);
    let (factor, letter) = unit(value);
    // Rounding once more removes the rounding error of the division.
    format!("{}{letter}", rounded(value / factor, digits))
}

/// A number with at most `digits` significant digits and without a letter: `2000150`.
pub(crate) fn plain(value: f64, digits: usize) -> String {
    rounded(value, digits).to_string()
}

/// The numbers of a column of a table. The largest number has at most `digits` significant digits. All numbers have the
/// letter of the largest number, and the same number of decimals: `114.2` beside `135.0`. If the smallest number other
/// than 0 would keep fewer than two digits, each number has a letter and decimals of its own: `0.031` beside `114.2`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "there are from 0 to 19 decimals")]
pub(crate) fn column(values: &[Option<f64>], digits: usize) -> Vec<Option<String>> {
    let each = |show: &dyn Fn(f64) -> String| values.iter().map(|value| value.map(show)).collect();
    let sizes =
        || values.iter().flatten().map(|value| value.abs()).filter(|size| size.is_finite() && *size > 0.0);
    let most = rounded(sizes().fold(0.0, f64::max), digits);
    let (factor, letter) = unit(most);
    // The decimal place of the first digit: 2 for 135, -1 for 0.5.
    let first = |size: f64| (size / factor).log10().floor();
    let decimals = digits as f64 - 1.0 - first(most);
    let is_common = (0.0..20.0).contains(&decimals) && sizes().all(|size| first(size) + decimals >= 1.0);
    if !is_common {
        return each(&|value| brief(value, digits));
    }
    let shown = |value: f64, decimals: usize| format!("{:.decimals$}", value / factor);
    // Decimals at the end that are 0 in all numbers are left out.
    let needed = |&value: &f64| {
        let text = shown(value, decimals as usize);
        text.split_once('.').map_or(0, |(_, fraction)| fraction.trim_end_matches('0').len())
    };
    let decimals = values.iter().flatten().map(needed).max().unwrap_or(0);
    each(&|value| format!("{}{letter}", shown(value, decimals)))
}

/// The largest factor in [`UNITS`] that is at most the absolute value of `value`, and the letter of this factor. For
/// values below 1,000, the factor is 1, without a letter.
fn unit(value: f64) -> (f64, &'static str) {
    UNITS.into_iter().find(|(factor, _)| value.abs() >= *factor).unwrap_or((1.0, ""))
}

/// The value rounded to `digits` significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of the report's page (crates/cli/tests/report) check the same numbers.
    #[test]
    fn numbers_in_tables_have_four_digits() {
        let numbers =
            [0.0, 0.5, 2.783_4, 17.928, 950.0, 9_999.6, 58_408.44, 1.0 / 3.0, -4_061.3, 0.000_012_34];
        let expected = ["0", "0.5", "2.783", "17.93", "950", "10000", "58408", "0.3333", "-4061", "0.000012"];
        assert_eq!(numbers.map(shown), expected);
        assert_eq!(shown_or_dash(None), "-");
        assert_eq!(percent(0.123_456), "12.35%");
    }

    #[test]
    fn margins_have_two_digits() {
        assert_eq!(with_margin(4_061.3, Some(1_503.7)), "4061 ± 1500");
        assert_eq!(with_margin(2.5, Some(0.123_4)), "2.5 ± 0.12");
        assert_eq!([with_margin(2.5, Some(1e-12)), with_margin(2.5, None)], ["2.5", "2.5"]);
    }

    #[test]
    fn numbers_in_pictures_have_letters() {
        let read =
            [0.0, 0.5, 950.0, 1_000.0, 123_456.0, 999_960.0, 1.5e7, 2e12, -2_500.0, 3.0 * 1e-5, 0.1 + 0.2]
                .map(|value| brief(value, 4));
        let expected = ["0", "0.5", "950", "1k", "123.5k", "1M", "15M", "2T", "-2.5k", "0.00003", "0.3"];
        assert_eq!(read, expected);
    }

    #[test]
    fn only_as_many_digits_remain_as_asked_for() {
        let read = [286.162, 1_234.5, 12.345, 0.123_456].map(|value| brief(value, 3));
        assert_eq!(read, ["286", "1.23k", "12.3", "0.123"]);
    }

    #[test]
    fn numbers_of_a_column_have_the_same_decimals() {
        let of = |values: &[f64]| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            column(&values, 4).into_iter().flatten().collect::<Vec<_>>()
        };
        assert_eq!(of(&[114.24, 135.0, 9.87]), ["114.2", "135.0", "9.9"]);
        assert_eq!(of(&[0.5, 0.25, 0.0]), ["0.50", "0.25", "0.00"]);
        assert_eq!(of(&[4.0, 16.0, 512.0]), ["4", "16", "512"]);
        assert_eq!(of(&[10.0, 20.0]), ["10", "20"]);
        assert_eq!(of(&[950.0, 12_340.0]), ["0.95k", "12.34k"]);
        assert_eq!(of(&[999.97, 1.0e3]), ["1k", "1k"]);
        assert_eq!(of(&[-114.24, 135.0]), ["-114.2", "135.0"]);
        // A common number of decimals would hide the small numbers.
        assert_eq!(of(&[114.24, 0.031]), ["114.2", "0.031"]);
        assert_eq!(of(&[1.0, 2e6]), ["1", "2M"]);
        assert_eq!(column(&[None, Some(0.0)], 4), [None, Some("0".to_owned())]);
        assert_eq!(column(&[Some(f64::NAN), Some(0.5)], 4), [Some("NaN".to_owned()), Some("0.5".to_owned())]);
    }
}
