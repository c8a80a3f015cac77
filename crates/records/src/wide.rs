//! Tables whose columns are known only at run time, such as the tables of a sweep. They are written as CSV and Parquet.

use crate::parquet::{note, note_definition, properties};
use crate::part_file::PartFile;
use crate::{RecordsError, write_file};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A value of a wide table.
#[derive(Debug, Clone, PartialEq)]
pub enum WideCell {
    /// A text.
    Text(String),
    /// True or false.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A double.
    Float(f64),
}

/// A table with any columns. A row may lack the value of any column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WideTable {
    columns: Vec<String>,
    rows: Vec<Vec<Option<WideCell>>>,
}

/// The type of a column: the narrowest type that can hold all its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    Float,
    Text,
}

impl WideTable {
    /// Adds a row. Columns that no earlier row had are added after the existing columns.
    pub fn push(&mut self, cells: impl IntoIterator<Item = (String, WideCell)>) {
        let mut row = vec![None; self.columns.len()];
        for (name, cell) in cells {
            let column = self.columns.iter().position(|column| *column == name).unwrap_or_else(|| {
                self.columns.push(name);
                row.push(None);
                self.columns.len() - 1
            });
            row[column] = Some(cell);
        }
        self.rows.push(row);
    }

    /// Returns the names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the values of a column, one for each row.
    fn column(&self, index: usize) -> impl Iterator<Item = Option<&WideCell>> {
        self.rows.iter().map(move |row| row.get(index).and_then(Option::as_ref))
    }

    fn kind(&self, index: usize) -> Kind {
        let kind = |cell: &WideCell| match cell {
            WideCell::Text(_) => Kind::Text,
            WideCell::Boolean(_) => Kind::Boolean,
            WideCell::Integer(_) => Kind::Integer,
            WideCell::Float(_) => Kind::Float,
        };
        let kinds: Vec<Kind> = self.column(index).flatten().map(kind).collect();
        let all = |allowed: &[Kind]| kinds.iter().all(|kind| allowed.contains(kind));
        match () {
            () if all(&[Kind::Boolean]) => Kind::Boolean,
            () if all(&[Kind::Integer]) => Kind::Integer,
            () if all(&[Kind::Integer, Kind::Float]) => Kind::Float,
            () => Kind::Text,
        }
    }

    /// Writes the table as comma-separated values. Absent values stay empty. Doubles are written with enough digits
    /// that a reader gets the same values.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_csv(&self, path: &Path) -> Result<(), RecordsError> {
        let names = self.columns.iter().map(|name| quoted(name));
        let mut text = names.collect::<Vec<_>>().join(",");
        text.push('\n');
        for row in 0..self.rows.len() {
            for column in 0..self.columns.len() {
                let comma = if column == 0 { "" } else { "," };
                let cell = self.rows[row].get(column).and_then(Option::as_ref);
                let _ = write!(text, "{comma}{}", cell.map(|cell| quoted(&cell.text())).unwrap_or_default());
            }
            text.push('\n');
        }
        write_file(path, text.as_bytes())
    }

    /// Writes the table as a Parquet file, in which each column may lack values. `definition` is called with the name of
    /// each column. The file has the definitions as metadata.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_parquet(
        &self,
        path: &Path,
        name: &str,
        definition: impl Fn(&str) -> Option<String>,
    ) -> Result<(), RecordsError> {
        let part = PartFile::create(path)?;
        let file = part.file().try_clone().map_err(|source| part.error(source))?;
        self.write_into(file, name, definition)
            .map_err(|source| RecordsError::Parquet { path: part.temporary().to_owned(), source })?;
        part.finish()
    }

    fn write_into(
        &self,
        file: File,
        name: &str,
        definition: impl Fn(&str) -> Option<String>,
    ) -> ParquetResult<()> {
        let mut fields = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let (physical, logical) = match self.kind(index) {
                Kind::Boolean => (Physical::BOOLEAN, None),
                Kind::Integer => (Physical::INT64, None),
                Kind::Float => (Physical::DOUBLE, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(column, physical).with_logical_type(logical);
            fields.push(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?));
        }
        let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties()?))?;
        let mut group = writer.next_row_group()?;
        for index in 0..self.columns.len() {
            match self.kind(index) {
                Kind::Boolean => self.write_column::<BoolType>(index, &mut group, WideCell::boolean)?,
                Kind::Integer => self.write_column::<Int64Type>(index, &mut group, WideCell::integer)?,
                Kind::Float => self.write_column::<DoubleType>(index, &mut group, WideCell::float)?,
                Kind::Text => self.write_column::<ByteArrayType>(index, &mut group, |cell| {
                    Some(ByteArray::from(cell.text().into_bytes()))
                })?,
            }
        }
        group.close()?;
        note(&mut writer, "raddle.table", name);
        for column in &self.columns {
            if let Some(words) = definition(column) {
                note_definition(&mut writer, column, &words);
            }
        }
        writer.finish().map(drop)
    }

    fn write_column<D: DataType>(
        &self,
        index: usize,
        group: &mut SerializedRowGroupWriter<'_, File>,
        value: impl Fn(&WideCell) -> Option<D::T>,
    ) -> ParquetResult<()> {
        let values: Vec<Option<D::T>> = self.column(index).map(|cell| cell.and_then(&value)).collect();
        let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<D::T> = values.into_iter().flatten().collect();
        let mut column = group.next_column()?.expect("the schema must have every column of the table");
        column.typed::<D>().write_batch(&values, Some(&levels), None)?;
        column.close()
    }
}

impl WideCell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
        }
    }

    fn boolean(&self) -> Option<bool> {
        if let Self::Boolean(value) = self { Some(*value) } else { None }
    }

    fn integer(&self) -> Option<i64> {
        if let Self::Integer(value) = self { Some(*value) } else { None }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }
}

/// Quotes a text as a field of a CSV line, if necessary (RFC 4180 §2).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn table() -> WideTable {
        let mut table = WideTable::default();
        let row = |routing: &str, load: WideCell| {
            [("routing".to_owned(), WideCell::Text(routing.to_owned())), ("load".to_owned(), load)]
        };
        table.push(row("ecmp, hashed", WideCell::Integer(1)));
        let drops =
            [("drops".to_owned(), WideCell::Integer(7)), ("whole".to_owned(), WideCell::Boolean(true))];
        table.push(row("a \"b\"", WideCell::Float(0.5)).into_iter().chain(drops));
        table
    }

    #[test]
    fn csv_quotes_texts_and_leaves_absent_values_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sweep.csv");
        table().write_csv(&path).expect("written");
        let text = std::fs::read_to_string(path).expect("a file");
        assert_eq!(text, "routing,load,drops,whole\n\"ecmp, hashed\",1,,\n\"a \"\"b\"\"\",0.5,7,true\n");
    }

    #[test]
    fn parquet_holds_the_same_values() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sweep.parquet");
        table().write_parquet(&path, "sweep", |_| None).expect("written");
        let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
        let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string());
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                "{routing: \"ecmp, hashed\", load: 1.0, drops: null, whole: null}",
                "{routing: \"a \"b\"\", load: 0.5, drops: 7, whole: true}",
            ]
        );
    }

    #[test]
    fn the_reader_returns_values_of_all_types() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sweep.parquet");
        let definition = |column: &str| (column == "load").then(|| "offered load".to_owned());
        table().write_parquet(&path, "sweep", definition).expect("written");
        let read = crate::Table::read(&path).expect("a table");
        let definitions: Vec<_> =
            read.metadata.iter().filter(|(key, _)| key.starts_with("raddle.definition.")).collect();
        let (key, words) = ("raddle.definition.load".to_owned(), "offered load".to_owned());
        assert_eq!(definitions, [(&key, &words)]);
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            ("routing", Values::Text(vec![text("ecmp, hashed"), text("a \"b\"")])),
            ("load", Values::Float(vec![Some(1.0), Some(0.5)])),
            ("drops", Values::Integer(vec![None, Some(7)])),
            ("whole", Values::Boolean(vec![None, Some(true)])),
        ];
        assert_eq!(read.columns, expected.map(|(name, values)| (name.to_owned(), values)));
    }
}
