//! Rows of a table. One description of a row serves all file formats.

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integers from 0 to 2^63 - 1.
    Integer,
    /// Doubles.
    Float,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The column's name, which ends with the unit if the values have one.
    pub name: &'static str,
    /// The type of the column's values.
    pub kind: Kind,
    /// True if the column can be empty in a row.
    pub nullable: bool,
    /// The column's meaning in a few words, for files and documentation.
    pub definition: &'static str,
}

impl Column {
    /// Returns a column of integers.
    #[must_use]
    pub const fn integer(name: &'static str, definition: &'static str) -> Self {
        Self { name, kind: Kind::Integer, nullable: false, definition }
    }

    /// Returns a column of doubles.
    #[must_use]
    pub const fn float(name: &'static str, definition: &'static str) -> Self {
        Self { name, kind: Kind::Float, nullable: false, definition }
    }

    /// Returns the same column, marked as a column that can be empty in a row.
    #[must_use]
    pub const fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// An integer.
    Integer(u64),
    /// A double.
    Float(f64),
    /// No value.
    Empty,
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// A row of a table.
pub trait Row {
    /// The table's name.
    const TABLE: &'static str;
    /// The table's columns, in order.
    const COLUMNS: &'static [Column];
    /// Number of columns at the end that were added after results had been published. The digest skips an added column
    /// if it is empty, so the digests of older results stay the same.
    const ADDED: usize = 0;

    /// Returns the row's values, one per column.
    fn cells(&self) -> impl AsRef<[Cell]>;
}
