//! Reads tables from Parquet files, either whole or one row group at a time.
//!
//! Only columns of 64-bit integers, doubles, booleans and texts are read. Other columns are skipped. Files rewritten by
//! other programs can be read if they are uncompressed or use Snappy, gzip, LZ4 or zstd.

use crate::RecordsError;
use crate::parquet::{SCHEMA_NOTE, SCHEMA_VERSION};
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The bytes with which every Parquet file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";

/// The values of a column, one per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Integers.
    Integer(Vec<Option<u64>>),
    /// Doubles.
    Float(Vec<Option<f64>>),
    /// Booleans.
    Boolean(Vec<Option<bool>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

impl Values {
    /// Appends the values of further rows of the same column.
    fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Integer(all), Self::Integer(more)) => all.extend(more),
            (Self::Float(all), Self::Float(more)) => all.extend(more),
            (Self::Boolean(all), Self::Boolean(more)) => all.extend(more),
            (Self::Text(all), Self::Text(more)) => all.extend(more),
            _ => unreachable!("a column must have one type in all row groups"),
        }
    }
}

/// A table read from a file, or a part of its rows and columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The columns with their names, in the file's order.
    pub columns: Vec<(String, Values)>,
    /// The file's key-value metadata; empty for a single row group.
    pub metadata: BTreeMap<String, String>,
    /// Number of rows.
    pub rows: usize,
}

impl Table {
    /// Reads a whole file.
    ///
    /// # Errors
    /// See [`TableReader::open`] and [`TableReader::group`].
    pub fn read(path: &Path) -> Result<Self, RecordsError> {
        let reader = TableReader::open(path)?;
        let names: Vec<String> = reader.columns().map(str::to_owned).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut groups = (0..reader.groups()).map(|group| reader.group(group, &names));
        let mut table = match groups.next() {
            Some(first) => first?,
            None => reader.empty(),
        };
        for more in groups {
            let more = more?;
            table.rows += more.rows;
            for ((_, values), (_, more)) in table.columns.iter_mut().zip(more.columns) {
                values.append(more);
            }
        }
        table.metadata = reader.metadata;
        Ok(table)
    }

    /// Returns a column of integers.
    ///
    /// # Errors
    /// If there is no column of integers with this name.
    pub fn integers(&self, name: &str) -> Result<&[Option<u64>], RecordsError> {
        match self.column(name) {
            Some(Values::Integer(values)) => Ok(values),
            _ => Err(self.no_column(name, "integer")),
        }
    }

    /// Returns a column of doubles.
    ///
    /// # Errors
    /// If there is no column of doubles with this name.
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

/// Reads a table one row group at a time.
pub struct TableReader {
    reader: SerializedFileReader<File>,
    path: PathBuf,
    metadata: BTreeMap<String, String>,
}

impl TableReader {
    /// Opens a file.
    ///
    /// # Errors
    /// If the file cannot be read, is not Parquet, is truncated, or has another [`SCHEMA_VERSION`]. A file without a
    /// version, such as the table of a sweep, is accepted.
    pub fn open(path: &Path) -> Result<Self, RecordsError> {
        let io = |source| RecordsError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        if let Some(why) = damage(&mut file).map_err(io)? {
            return Err(RecordsError::NoTable { path: path.to_owned(), why });
        }
        let reader = SerializedFileReader::new(file)
            .map_err(|source| RecordsError::Parquet { path: path.to_owned(), source })?;
        let notes = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let metadata: BTreeMap<_, _> =
            notes.into_iter().filter_map(|note| Some((note.key, note.value?))).collect();
        match metadata.get(SCHEMA_NOTE) {
            Some(found) if *found != SCHEMA_VERSION.to_string() => {
                Err(RecordsError::Version { path: path.to_owned(), found: found.clone() })
            }
            _ => Ok(Self { reader, path: path.to_owned(), metadata }),
        }
    }

    /// Returns the number of row groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Returns the names of the columns that can be read.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let columns = self.reader.metadata().file_metadata().schema_descr().columns();
        columns.iter().filter(|column| no_values(column).is_some()).map(|column| column.name())
    }

    /// Reads the columns in `names` of one row group. A name is skipped if the file has no such column or the column's
    /// type is not read.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or uses an unsupported compression.
    pub fn group(&self, group: usize, names: &[&str]) -> Result<Table, RecordsError> {
        self.read_group(group, names).map_err(|source| match self.unread_compression(group) {
            Some(codec) => RecordsError::Compression { path: self.path.clone(), codec },
            None => RecordsError::Parquet { path: self.path.clone(), source },
        })
    }

    fn read_group(&self, group: usize, names: &[&str]) -> ParquetResult<Table> {
        let group = self.reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut columns = Vec::new();
        for (i, column) in group.metadata().columns().iter().enumerate() {
            let name = column.column_descr().name();
            if !names.contains(&name) {
                continue;
            }
            let values = match group.get_column_reader(i)? {
                ColumnReader::Int64ColumnReader(reader) => Values::Integer(
                    chunk(reader, rows)?.into_iter().map(|value| value.map(i64::cast_unsigned)).collect(),
                ),
                ColumnReader::DoubleColumnReader(reader) => Values::Float(chunk(reader, rows)?),
                ColumnReader::BoolColumnReader(reader) => Values::Boolean(chunk(reader, rows)?),
                ColumnReader::ByteArrayColumnReader(reader)
                    if is_text(group.metadata().column(i).column_descr()) =>
                {
                    let texts = chunk(reader, rows)?.into_iter();
                    let text = |bytes: ByteArray| bytes.as_utf8().map(str::to_owned);
                    Values::Text(texts.map(|bytes| bytes.map(text).transpose()).collect::<Result<_, _>>()?)
                }
                _ => continue,
            };
            columns.push((name.to_owned(), values));
        }
        Ok(Table { columns, metadata: BTreeMap::new(), rows })
    }

    /// Returns a table without rows that has all columns of the file whose types can be read.
    fn empty(&self) -> Table {
        let columns = self.reader.metadata().file_metadata().schema_descr().columns();
        let empty = columns.iter().filter_map(|column| Some((column.name().to_owned(), no_values(column)?)));
        let columns = empty.collect();
        Table { columns, metadata: BTreeMap::new(), rows: 0 }
    }

    /// Returns the first compression of a row group's columns that is not supported; `None` if all are supported.
    fn unread_compression(&self, group: usize) -> Option<String> {
        let columns = self.reader.metadata().row_group(group).columns();
        let is_read = |codec| {
            matches!(
                codec,
                Compression::UNCOMPRESSED
                    | Compression::SNAPPY
                    | Compression::GZIP(_)
                    | Compression::LZ4
                    | Compression::LZ4_RAW
                    | Compression::ZSTD(_)
            )
        };
        let codec = columns.iter().map(ColumnChunkMetaData::compression).find(|&codec| !is_read(codec))?;
        Some(codec.to_string())
    }
}

/// Returns an empty list of values of the column's type; `None` if columns of this type are not read.
fn no_values(column: &ColumnDescriptor) -> Option<Values> {
    match column.physical_type() {
        Physical::INT64 => Some(Values::Integer(Vec::new())),
        Physical::DOUBLE => Some(Values::Float(Vec::new())),
        Physical::BOOLEAN => Some(Values::Boolean(Vec::new())),
        Physical::BYTE_ARRAY if is_text(column) => Some(Values::Text(Vec::new())),
        _ => None,
    }
}

/// True if the bytes of the column's values are UTF-8 text. Older writers mark such a column only by its converted
/// type.
fn is_text(column: &ColumnDescriptor) -> bool {
    column.logical_type_ref() == Some(&LogicalType::String) || column.converted_type() == ConvertedType::UTF8
}

/// Checks the first and the last bytes of a file. If the file is not a complete Parquet file, returns the reason.
fn damage(file: &mut File) -> std::io::Result<Option<&'static str>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut ends = [[0; 4]; 2];
    if length >= 8 {
        file.rewind()?;
        file.read_exact(&mut ends[0])?;
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut ends[1])?;
    }
    file.rewind()?;
    Ok(match ends.each_ref().map(|end| end == MAGIC) {
        [true, true] => None,
        [true, false] => Some("the file was cut short: the end of a Parquet file is missing"),
        _ => Some("the file is not a Parquet file"),
    })
}

/// Reads the values of a column in a row group.
fn chunk<D: DataType>(mut reader: ColumnReaderImpl<D>, rows: usize) -> ParquetResult<Vec<Option<D::T>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (records, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if records != rows {
        let what = format!("a column has {records} values, but its row group has {rows} rows");
        return Err(parquet::errors::ParquetError::General(what));
    }
    // A column that must have a value in every row has no definition levels.
    levels.resize(rows, 1);
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level == 1 { values.next() } else { None }).collect())
}
