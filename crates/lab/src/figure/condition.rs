//! Conditions: which flows a measure is of.

use crate::experiment::{At, Cause, Problem, quantity};
use raddle_core::Bytes;

/// Flows of these sizes, both ends included: `size < 100 KB`, `size >= 1 MB`, `100 KB <= size <= 1 MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Where {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Where {
    pub(super) fn read(text: &str, at: &At) -> Result<Self, Problem> {
        let wrong = || {
            let what = format!("`{text}` is no condition on flows");
            let hint = "for example: \"size < 100 KB\", or \"100 KB <= size <= 1 MB\"".to_owned();
            Problem::at(at, Cause::OutOfRange { what, hint })
        };
        let (left, right) = text.split_once("size").ok_or_else(wrong)?;
        let (left, right) = (left.trim(), right.trim());
        if left.is_empty() && right.is_empty() {
            return Err(wrong());
        }
        let limit = |size: &str| match quantity::parse::<Bytes>(size.trim()) {
            Ok(Bytes(size)) => Ok(size),
            Err(error) => Err(Problem::at(at, error.into())),
        };
        let mut sizes = Self { least: 0, most: u64::MAX };
        if let Some(size) = left.strip_suffix("<=") {
            sizes.least = limit(size)?;
        } else if let Some(size) = left.strip_suffix('<') {
            sizes.least = limit(size)?.checked_add(1).ok_or_else(wrong)?;
        } else if !left.is_empty() {
            return Err(wrong());
        }
        if let Some(size) = right.strip_prefix("<=") {
            sizes.most = limit(size)?;
        } else if let Some(size) = right.strip_prefix('<') {
            sizes.most = limit(size)?.checked_sub(1).ok_or_else(wrong)?;
        } else if !left.is_empty() && !right.is_empty() {
            return Err(wrong());
        } else if let Some(size) = right.strip_prefix(">=") {
            sizes.least = limit(size)?;
        } else if let Some(size) = right.strip_prefix('>') {
            sizes.least = limit(size)?.checked_add(1).ok_or_else(wrong)?;
        } else if !right.is_empty() {
            return Err(wrong());
        }
        if sizes.least > sizes.most { Err(wrong()) } else { Ok(sizes) }
    }

    pub(super) fn holds(self, size: u64) -> bool {
        (self.least..=self.most).contains(&size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Source, Table};

    fn read(text: &str) -> Option<(u64, u64)> {
        let source = Source { name: "test".to_owned(), text: String::new() };
        let root = Table::parse(source).expect("an empty table");
        Where::read(text, &root.at).ok().map(|sizes| (sizes.least, sizes.most))
    }

    #[test]
    fn limits_are_in_or_out_as_written() {
        assert_eq!(read("size < 100 KB"), Some((0, 99_999)));
        assert_eq!(read("size <= 100 KB"), Some((0, 100_000)));
        assert_eq!(read("size > 1 MB"), Some((1_000_001, u64::MAX)));
        assert_eq!(read("size >= 1 MB"), Some((1_000_000, u64::MAX)));
        assert_eq!(read("100 KB <= size <= 1 MB"), Some((100_000, 1_000_000)));
        assert_eq!(read("100 KB < size < 1 MB"), Some((100_001, 999_999)));
        assert_eq!(read("100 KB <= size"), Some((100_000, u64::MAX)));
    }

    #[test]
    fn what_no_flow_can_meet_is_refused() {
        let wrong =
            ["size", "size = 1 KB", "fct < 1 KB", "size < 0 B", "1 MB < size < 1 KB", "1 KB < size > 1 B"];
        for text in wrong.into_iter().chain(["1 KB > size", "size < 1", ""]) {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
