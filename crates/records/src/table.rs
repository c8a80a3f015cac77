//! Rows of a table, described once for every format.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers below 2^63.
    Integer,
    /// Doubles.
    Float,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name, the unit last.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether rows may leave it empty.
    pub nullable: bool,
    /// What it means, in a sentence, as files and documentation give it.
    pub definition: &'static str,
}

impl Column {
    /// A column of whole numbers.
    #[must_use]
    pub const fn integer(name: &'static str, definition: &'static str) -> Self {
        Self { name, kind: Kind::Integer, nullable: false, definition }
    }

    /// A column of doubles.
    #[must_use]
    pub const fn float(name: &'static str, definition: &'static str) -> Self {
        Self { name, kind: Kind::Float, nullable: false, definition }
    }

    /// The same column, which rows may leave empty.
    #[must_use]
    pub const fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// A whole number.
    Integer(u64),
    /// A double.
    Float(f64),
    /// Nothing.
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
    /// Its columns, in order.
    const COLUMNS: &'static [Column];
    /// How many of them, the last ones, were added when results were out in the world already: the digest passes over
    /// them where they are empty, so that it stays what it was of results that do not need them.
    const ADDED: usize = 0;

    /// The row's values, one a column.
    fn cells(&self) -> impl AsRef<[Cell]>;
}
