//! Tables as Parquet files (zstd), written row group by row group and read back by column.
//!
//! A file grows under a temporary name and gets its own when it is finished, so that what bears the name is whole.
//! A run that is cut short still finishes its files, marked `raddle.complete = false`.

use crate::part_file::PartFile;
use crate::{Cell, Kind, RecordsError, Row};
use parquet::basic::{Compression, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::collections::BTreeMap;
use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

/// The version of the tables' columns, in every file as `raddle.schema_version`. Raised when a column changes its
/// name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Rows held in memory before they are written.
const GROUP_ROWS: usize = 1 << 16;

/// A column of a table: some of its values, and which rows have one.
#[derive(Debug, Clone, PartialEq)]
struct Chunk<T> {
    values: Vec<T>,
    /// 1 for a row with a value, 0 for one without.
    levels: Vec<i16>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Chunk<T> {
    fn push(&mut self, value: T) {
        self.values.push(value);
        self.levels.push(1);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }

    fn write<D: DataType<T = T>, W: std::io::Write + Send>(
        &mut self,
        nullable: bool,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> ParquetResult<()> {
        let mut column = group.next_column()?.expect("as many columns as the schema has");
        let levels = nullable.then_some(&self.levels[..]);
        column.typed::<D>().write_batch(&self.values, levels, None)?;
        self.clear();
        column.close()
    }
}

enum Buffer {
    Integer(Chunk<i64>),
    Float(Chunk<f64>),
}

impl Buffer {
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Self::Integer(chunk), Cell::Integer(value)) => chunk.push(value.cast_signed()),
            (Self::Float(chunk), Cell::Float(value)) => chunk.push(value),
            (Self::Integer(Chunk { levels, .. }) | Self::Float(Chunk { levels, .. }), Cell::Empty) => {
                levels.push(0);
            }
            (_, cell) => unreachable!("{cell:?} in a column of another kind"),
        }
    }
}

/// Writes a table's rows as they come. Dropped before it is finished, it leaves nothing behind.
pub struct TableWriter<R: Row> {
    writer: SerializedFileWriter<File>,
    part: PartFile,
    buffers: Vec<Buffer>,
    buffered: usize,
    rows: PhantomData<fn(&R)>,
}

impl<R: Row> TableWriter<R> {
    /// Begins the file that will be at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, RecordsError> {
        let part = PartFile::create(path)?;
        let in_file = |source| RecordsError::Parquet { path: part.temporary().to_owned(), source };
        let level = ZstdLevel::try_new(3).map_err(in_file)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(concat!("raddle ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = schema::<R>().map_err(in_file)?;
        let file = part.file().try_clone().map_err(|source| part.error(source))?;
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(in_file)?;
        let buffer = |kind| match kind {
            Kind::Integer => Buffer::Integer(Chunk::default()),
            Kind::Float => Buffer::Float(Chunk::default()),
        };
        Ok(Self {
            writer,
            part,
            buffers: R::COLUMNS.iter().map(|column| buffer(column.kind)).collect(),
            buffered: 0,
            rows: PhantomData,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, row: &R) -> Result<(), RecordsError> {
        let cells = row.cells();
        assert_eq!(cells.as_ref().len(), self.buffers.len(), "a cell for each column");
        for (buffer, &cell) in self.buffers.iter_mut().zip(cells.as_ref()) {
            buffer.push(cell);
        }
        self.buffered += 1;
        if self.buffered == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), RecordsError> {
        self.buffered = 0;
        let mut write = || {
            let mut group = self.writer.next_row_group()?;
            for (buffer, column) in self.buffers.iter_mut().zip(R::COLUMNS) {
                match buffer {
                    Buffer::Integer(chunk) => chunk.write::<Int64Type, _>(column.nullable, &mut group)?,
                    Buffer::Float(chunk) => chunk.write::<DoubleType, _>(column.nullable, &mut group)?,
                }
            }
            group.close()
        };
        match write() {
            Ok(_) => Ok(()),
            Err(source) => Err(RecordsError::Parquet { path: self.part.temporary().to_owned(), source }),
        }
    }

    /// Ends the file and gives it its name. `complete` says whether the run came to its end; `metadata` goes into
    /// the file beside the columns' definitions.
    ///
    /// # Errors
    /// If the file cannot be written or renamed.
    pub fn finish(mut self, complete: bool, metadata: &[(&str, &str)]) -> Result<(), RecordsError> {
        if self.buffered > 0 {
            self.write_group()?;
        }
        let mut note = |key: String, value: String| {
            self.writer.append_key_value_metadata(KeyValue::new(key, value));
        };
        note("raddle.table".to_owned(), R::TABLE.to_owned());
        note("raddle.schema_version".to_owned(), SCHEMA_VERSION.to_string());
        note("raddle.complete".to_owned(), complete.to_string());
        for column in R::COLUMNS {
            note(format!("raddle.definition.{}", column.name), column.definition.to_owned());
        }
        for &(key, value) in metadata {
            note(key.to_owned(), value.to_owned());
        }
        self.writer
            .finish()
            .map_err(|source| RecordsError::Parquet { path: self.part.temporary().to_owned(), source })?;
        self.part.finish()
    }
}

fn schema<R: Row>() -> ParquetResult<Arc<Type>> {
    let field = |column: &crate::Column| {
        let physical = match column.kind {
            Kind::Integer => Physical::INT64,
            Kind::Float => Physical::DOUBLE,
        };
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(column.name, physical).with_repetition(repetition).build().map(Arc::new)
    };
    let fields = R::COLUMNS.iter().map(field).collect::<ParquetResult<_>>()?;
    Ok(Arc::new(Type::group_type_builder(R::TABLE).with_fields(fields).build()?))
}

/// A column read back, a value a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integer(Vec<Option<u64>>),
    /// Doubles.
    Float(Vec<Option<f64>>),
}

/// A table read back: columns of whole numbers and of doubles; others are skipped.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its columns by name, in the file's order.
    pub columns: Vec<(String, Values)>,
    /// The notes in the file.
    pub metadata: BTreeMap<String, String>,
    /// Number of rows.
    pub rows: usize,
}

impl Table {
    /// Reads a file that [`TableWriter`] wrote.
    ///
    /// # Errors
    /// If it cannot be read, or is not Parquet.
    pub fn read(path: &Path) -> Result<Self, RecordsError> {
        let file = File::open(path).map_err(|source| RecordsError::Io { path: path.to_owned(), source })?;
        let read = || {
            let reader = SerializedFileReader::new(file)?;
            let notes = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
            let metadata = notes.into_iter().filter_map(|note| Some((note.key, note.value?))).collect();
            let columns = columns(&reader)?;
            let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
            Ok(Self { columns, metadata, rows })
        };
        read().map_err(|source| RecordsError::Parquet { path: path.to_owned(), source })
    }

    /// A column of whole numbers.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn integers(&self, name: &str) -> Result<&[Option<u64>], RecordsError> {
        match self.column(name) {
            Some(Values::Integer(values)) => Ok(values),
            _ => Err(self.no_column(name, "integer")),
        }
    }

    /// A column of doubles.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn floats(&self, name: &str) -> Result<&[Option<f64>], RecordsError> {
        match self.column(name) {
            Some(Values::Float(values)) => Ok(values),
            _ => Err(self.no_column(name, "double")),
        }
    }

    fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.0 == name).map(|column| &column.1)
    }

    fn no_column(&self, name: &str, kind: &'static str) -> RecordsError {
        let present = self.columns.iter().map(|column| column.0.clone()).collect();
        RecordsError::NoColumn { name: name.to_owned(), kind, present }
    }
}

fn columns(reader: &SerializedFileReader<File>) -> ParquetResult<Vec<(String, Values)>> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut columns = Vec::new();
    for (i, column) in schema.columns().iter().enumerate() {
        let mut values = match column.physical_type() {
            Physical::INT64 => Values::Integer(Vec::new()),
            Physical::DOUBLE => Values::Float(Vec::new()),
            _ => continue,
        };
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            match (&mut values, group.get_column_reader(i)?) {
                (Values::Integer(all), ColumnReader::Int64ColumnReader(reader)) => {
                    read_chunk(reader, rows, |value: Option<i64>| all.push(value.map(i64::cast_unsigned)))?;
                }
                (Values::Float(all), ColumnReader::DoubleColumnReader(reader)) => {
                    read_chunk(reader, rows, |value| all.push(value))?;
                }
                _ => unreachable!("a column has one type in all row groups"),
            }
        }
        columns.push((column.name().to_owned(), values));
    }
    Ok(columns)
}

fn read_chunk<D: DataType>(
    mut reader: ColumnReaderImpl<D>,
    rows: usize,
    mut each: impl FnMut(Option<D::T>),
) -> ParquetResult<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (records, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    // A column that is never empty has no levels.
    levels.resize(records, 1);
    let mut values = values.into_iter();
    for level in levels {
        each(if level == 1 { values.next() } else { None });
    }
    Ok(())
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
