//! The intervals of simulated time in a table. The table has a row for each interval and each recorded object, such as
//! a port or a rank.

use super::run::short;
use crate::Error;
use raddle_records::Table;

/// The intervals of the rows of a table. All but the last interval of a run have the same length.
pub(super) struct Axis {
    froms: Vec<u64>,
    tos: Vec<u64>,
    begin: u64,
    length: u64,
    /// Number of intervals.
    pub(super) count: usize,
}

impl Axis {
    /// Reads the columns `from_ps` and `to_ps`. `None` if the table has no rows.
    pub(super) fn read(table: &Table) -> Result<Option<Self>, Error> {
        let (froms, tos) = (column(table, "from_ps")?, column(table, "to_ps")?);
        let (Some(&begin), Some(&last)) = (froms.iter().min(), froms.iter().max()) else { return Ok(None) };
        let length = froms.iter().zip(&tos).map(|(from, to)| to - from).max().unwrap_or(0).max(1);
        let count = usize::try_from((last - begin) / length + 1).unwrap_or(usize::MAX);
        Ok(Some(Self { froms, tos, begin, length, count }))
    }

    /// The number of a row's interval, counted from 0.
    #[allow(clippy::cast_possible_truncation, reason = "the interval is below `count`")]
    pub(super) fn interval(&self, row: usize) -> usize {
        ((self.froms[row] - self.begin) / self.length) as usize
    }

    /// The length of a row's interval in picoseconds, at least 1.
    pub(super) fn length_ps(&self, row: usize) -> u64 {
        (self.tos[row] - self.froms[row]).max(1)
    }

    /// The length of a row's interval in seconds.
    pub(super) fn seconds(&self, row: usize) -> f64 {
        self.length_ps(row) as f64 / 1e12
    }

    /// Start of the first interval, in microseconds.
    pub(super) fn begin_us(&self) -> f64 {
        short(self.begin as f64 / 1e6)
    }

    /// Length of every interval but the last, in microseconds.
    pub(super) fn interval_us(&self) -> f64 {
        self.length as f64 / 1e6
    }
}

/// A column of numbers; 0 where a row has no number.
pub(super) fn column(table: &Table, name: &str) -> Result<Vec<u64>, Error> {
    Ok(table.integers(name)?.iter().map(|value| value.unwrap_or(0)).collect())
}
