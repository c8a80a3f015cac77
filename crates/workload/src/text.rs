//! Words of a text file, each with its place, for errors that point at it.

use crate::WorkloadError;
use std::str::FromStr;

/// A word and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl Word<'_> {
    /// The word as a number.
    pub(crate) fn number<T: FromStr>(&self, what: &str) -> Result<T, WorkloadError> {
        self.text.parse().map_err(|_| self.error(format!("`{}` is not {what}", self.text)))
    }

    /// An error that points at the word.
    pub(crate) fn error(&self, problem: String) -> WorkloadError {
        WorkloadError::Parse { line: self.line, column: self.column, problem }
    }
}

/// A line of exactly `N` words.
pub(crate) type Row<'a, const N: usize> = [Word<'a>; N];

/// The lines that hold something besides a `#` comment, split at white space.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Vec<Word<'_>>> {
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

/// The line's words, which must be as many as `columns` names.
pub(crate) fn row<'a, const N: usize>(
    words: &[Word<'a>],
    columns: [&str; N],
) -> Result<Row<'a, N>, WorkloadError> {
    words.try_into().map_err(|_| {
        let columns = columns.join(" ");
        words[0].error(format!("{} columns where there should be {N}: {columns}", words.len()))
    })
}
