//! Text files of words and numbers. Each word has its line and column in the file, so that error messages can name
//! them. Decimal numbers are read without rounding.

use std::str::FromStr;

/// A word, and its line and column in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a str,
    /// The word's line, counted from 1.
    pub line: usize,
    /// The position of the word's first byte in this line, counted from 1.
    pub column: usize,
}

/// An error in a word of a text file. The caller adds the file's name in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct Misread {
    /// The line of the word, counted from 1.
    pub line: usize,
    /// The position of the word's first byte in this line, counted from 1.
    pub column: usize,
    /// Description of the error.
    pub problem: String,
}

impl Word<'_> {
    /// Parses the word as a number. `what` describes the number that is expected.
    ///
    /// # Errors
    /// If the word is not such a number.
    pub fn number<T: FromStr>(&self, what: &str) -> Result<T, Misread> {
        self.text.parse().map_err(|_| self.error(format!("`{}` is not {what}", self.text)))
    }

    /// An error that points at the word.
    #[must_use]
    pub fn error(&self, problem: String) -> Misread {
        Misread { line: self.line, column: self.column, problem }
    }
}

/// The words of each line that has words outside its `#` comment.
pub fn lines(text: &str) -> impl Iterator<Item = Vec<Word<'_>>> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let content = line.split('#').next().unwrap_or_default();
        let words: Vec<_> = content
            .split_whitespace()
            .map(|word| {
                let column = word.as_ptr() as usize - line.as_ptr() as usize + 1;
                Word { text: word, line: i + 1, column }
            })
            .collect();
        (!words.is_empty()).then_some(words)
    })
}

/// The words of a line, which must have one word for each of `columns`.
///
/// # Errors
/// If the number of words is not `N`.
pub fn row<'a, const N: usize>(words: &[Word<'a>], columns: [&str; N]) -> Result<[Word<'a>; N], Misread> {
    words.try_into().map_err(|_| {
        let columns = columns.join(" ");
        words[0].error(format!("the number of columns must be {N} (got {}): {columns}", words.len()))
    })
}

/// Returns the product of `decimal`, such as `2.5`, and `scale`; `None` if `decimal` is not a decimal number, or if the
/// product is not a whole number below 2^64.
#[must_use]
pub fn scaled(decimal: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let product = mantissa.checked_mul(scale.into())?;
    product.is_multiple_of(divisor).then(|| u64::try_from(product / divisor).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_places() {
        let text = "# a comment\n\n  1 0->5 # more\n\t7";
        let words: Vec<_> = lines(text).flatten().map(|word| (word.text, word.line, word.column)).collect();
        assert_eq!(words, [("1", 3, 3), ("0->5", 3, 5), ("7", 4, 2)]);
        let word = Word { text: "x", line: 2, column: 3 };
        assert_eq!(
            word.number::<u32>("a count").unwrap_err().to_string(),
            "line 2, column 3: `x` is not a count"
        );
        let error = row(&[word, word], ["size"]).unwrap_err().to_string();
        assert_eq!(error, "line 2, column 3: the number of columns must be 1 (got 2): size");
    }

    #[test]
    fn decimals_are_scaled_exactly_or_not_at_all() {
        assert_eq!(scaled("2.50", 1_000_000_000), Some(2_500_000_000));
        assert_eq!(scaled("0.001", 1_000_000_000), Some(1_000_000));
        assert_eq!(scaled("18446744073709551615", 1), Some(u64::MAX));
        for text in ["", ".5", "1.2.3", "-1", "1e3", "0.5", "18446744073709551616", "9".repeat(50).as_str()] {
            assert_eq!(scaled(text, 1), None, "{text}");
        }
    }
}
