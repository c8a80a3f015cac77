//! Writes tables as Parquet files (zstd), one row group after another.
//!
//! A file is written under a temporary name and is renamed when it is finished, so a file with its final name is
//! complete. A run that is stopped early still finishes its files, marked `raddle.complete = false`.

use crate::part_file::PartFile;
use crate::{Cell, Column, Kind, RecordsError, Row};
use parquet::basic::{Compression, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

/// The version of the tables' columns. A [`TableWriter`] stores it in the key-value metadata of its file, under the key
/// `raddle.schema_version`. The version increases when a column changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The key of the [`SCHEMA_VERSION`] in a file's key-value metadata.
pub(crate) const SCHEMA_NOTE: &str = "raddle.schema_version";

/// Number of rows held in memory before they are written as a group. For the file's footer, the writer keeps some
/// kilobytes per group in memory until the end. Smaller groups would therefore take more memory in a long run.
const GROUP_ROWS: usize = 1 << 18;

/// The buffered values of a column, and a flag for each row: whether the row has a value.
#[derive(Debug, Clone, PartialEq)]
struct Chunk<T> {
    values: Vec<T>,
    /// 1 for a row with a value, 0 for a row without. The vector is empty for a column that must have a value in every
    /// row.
    levels: Vec<i16>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Chunk<T> {
    fn push(&mut self, value: T, nullable: bool) {
        self.values.push(value);
        if nullable {
            self.levels.push(1);
        }
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
        let mut column = group.next_column()?.expect("the schema must have a column for every buffer");
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
    fn push(&mut self, cell: Cell, nullable: bool) {
        match (self, cell) {
            (Self::Integer(chunk), Cell::Integer(value)) => chunk.push(value.cast_signed(), nullable),
            (Self::Float(chunk), Cell::Float(value)) => chunk.push(value, nullable),
            (Self::Integer(Chunk { levels, .. }) | Self::Float(Chunk { levels, .. }), Cell::Empty) => {
                levels.push(0);
            }
            (_, cell) => unreachable!("a cell must have the type of its column (got {cell:?})"),
        }
    }
}

/// Writes the rows of a table as they arrive. If the writer is dropped before `finish`, no file remains.
pub struct TableWriter<R: Row> {
    writer: SerializedFileWriter<File>,
    part: PartFile,
    buffers: Vec<Buffer>,
    buffered: usize,
    rows: PhantomData<fn(&R)>,
}

impl<R: Row> TableWriter<R> {
    /// Returns the peak memory in bytes that a writer needs to buffer rows, for a table with `rows` rows.
    #[must_use]
    pub fn buffer_bytes(rows: u64) -> u64 {
        let cell = |column: &Column| size_of::<u64>() + if column.nullable { size_of::<i16>() } else { 0 };
        rows.min(GROUP_ROWS as u64) * R::COLUMNS.iter().map(cell).sum::<usize>() as u64
    }

    /// Creates the writer of the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, RecordsError> {
        let part = PartFile::create(path)?;
        let in_file = |source| RecordsError::Parquet { path: part.temporary().to_owned(), source };
        let properties = properties().map_err(in_file)?;
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
    ///
    /// # Panics
    /// If the number of cells of the row differs from the number of columns of its type, or a cell is not of the kind
    /// of its column.
    pub fn push(&mut self, row: &R) -> Result<(), RecordsError> {
        let cells = row.cells();
        assert_eq!(cells.as_ref().len(), self.buffers.len(), "a row must have one cell per column");
        for ((buffer, &cell), column) in self.buffers.iter_mut().zip(cells.as_ref()).zip(R::COLUMNS) {
            buffer.push(cell, column.nullable);
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

    /// Ends the file and gives it its final name. `complete` states whether the run reached its end. `metadata` is
    /// stored in the file next to the definitions of the columns.
    ///
    /// # Errors
    /// If the file cannot be written or renamed.
    pub fn finish(mut self, complete: bool, metadata: &[(&str, &str)]) -> Result<(), RecordsError> {
        if self.buffered > 0 {
            self.write_group()?;
        }
        let writer = &mut self.writer;
        note(writer, "raddle.table", R::TABLE);
        note(writer, SCHEMA_NOTE, &SCHEMA_VERSION.to_string());
        note(writer, "raddle.complete", &complete.to_string());
        for column in R::COLUMNS {
            note_definition(writer, column.name, column.definition);
        }
        for &(key, value) in metadata {
            note(writer, key, value);
        }
        self.writer
            .finish()
            .map_err(|source| RecordsError::Parquet { path: self.part.temporary().to_owned(), source })?;
        self.part.finish()
    }
}

/// Returns the settings with which all Parquet files are written.
pub(crate) fn properties() -> ParquetResult<WriterProperties> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        // The Parquet library keeps pages with a dictionary in memory until the dictionary is complete. A dictionary
        // would save little space, since compression already removes repetitions.
        .set_dictionary_enabled(false)
        // An index of pages would grow in memory until the end of the file.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("raddle ", env!("CARGO_PKG_VERSION")).to_owned());
    Ok(properties.build())
}

/// Adds an entry to a file's key-value metadata.
pub(crate) fn note(writer: &mut SerializedFileWriter<File>, key: &str, value: &str) {
    writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
}

/// Adds the definition of a column to a file's key-value metadata.
pub(crate) fn note_definition(writer: &mut SerializedFileWriter<File>, column: &str, definition: &str) {
    note(writer, &format!("raddle.definition.{column}"), definition);
}

fn schema<R: Row>() -> ParquetResult<Arc<Type>> {
    let field = |column: &Column| {
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

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
