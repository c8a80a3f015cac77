//! The intervals of simulated time in a table. Each row of the table describes one interval and one recorded object,
//! such as a link or a rank.

use crate::Error;
use crate::observe::series::MOST;
use raddle_records::Table;

/// The intervals of the rows of a table. All but the last interval of a run have the same length.
pub(super) struct Axis {
    froms: Vec<u64>,
    tos: Vec<u64>,
    begin: u64,
    length: u64,
    /// Number of intervals from the first to the last, including intervals without rows.
    pub(super) count: usize,
}

impl Axis {
    /// Reads the columns `from_ps` and `to_ps`. `None` if the table has no rows.
    ///
    /// # Errors
    /// If a column is missing, if an interval ends before it begins, or if there are more intervals than a run records.
    pub(super) fn read(table: &Table) -> Result<Option<Self>, Error> {
        let (froms, tos) = (column(table, "from_ps")?, column(table, "to_ps")?);
        let (Some(&begin), Some(&last)) = (froms.iter().min(), froms.iter().max()) else { return Ok(None) };
        let lengths = froms.iter().zip(&tos).map(|(from, to)| to.checked_sub(*from));
        let Some(lengths) = lengths.collect::<Option<Vec<_>>>() else {
            return Err(Error::Run(
                "a time series of a run is damaged: an interval ends before it begins".to_owned(),
            ));
        };
        let length = lengths.into_iter().max().unwrap_or(0).max(1);
        let count = usize::try_from((last - begin) / length + 1).unwrap_or(usize::MAX);
        // The page has a row for each interval, so a damaged table could demand any amount of memory.
        if count > MOST {
            return Err(Error::Run(format!(
                "a time series of a run is damaged: it has {count} intervals, but at most {MOST} are possible"
            )));
        }
        Ok(Some(Self { froms, tos, begin, length, count }))
    }

    /// The number of a row's interval, counted from 0.
    #[allow(clippy::cast_possible_truncation, reason = "the number of the interval is below `count`")]
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

    /// Start of the first interval, in microseconds. Unlike other numbers of the
    /// report, it is not rounded to five significant digits: if a short record begins late, the rounding error could be
    /// longer than the record.
    pub(super) fn begin_us(&self) -> f64 {
        self.begin as f64 / 1e6
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

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_records::{SeriesRecord, TableWriter};

    fn axis(spans: &[(u64, u64)]) -> Result<Option<usize>, Error> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("series.parquet");
        let row = |&(from_ps, to_ps): &(u64, u64)| SeriesRecord {
            from_ps,
            to_ps,
            link: 0,
            bytes: 1,
            delivered_bytes: 0,
            queue_bytes: 0,
        };
        let mut table = TableWriter::create(&file).expect("a table");
        spans.iter().map(row).for_each(|row| table.push(&row).expect("a row"));
        table.finish(true, &[]).expect("a file");
        Axis::read(&Table::read(&file).expect("a table")).map(|axis| axis.map(|axis| axis.count))
    }

    #[test]
    fn a_damaged_table_cannot_demand_memory() {
        assert_eq!(axis(&[]).expect("an empty table"), None);
        assert_eq!(axis(&[(0, 10), (30, 35)]).expect("a table"), Some(4));
        assert!(axis(&[(0, 10), (20, 19)]).is_err());
        assert!(axis(&[(0, 10), (10 * MOST as u64, u64::MAX)]).is_ok());
        assert!(axis(&[(0, 10), (u64::MAX - 1, u64::MAX)]).is_err());
    }
}
