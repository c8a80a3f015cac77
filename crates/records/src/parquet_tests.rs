#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::testing::record;
use crate::{FlowRecord, LinkRecord, Table};
use std::fs;

fn write(path: &Path, rows: &[FlowRecord], complete: bool) {
    let mut writer = TableWriter::create(path).unwrap();
    for row in rows {
        writer.push(row).unwrap();
    }
    writer.finish(complete, &[("raddle.seed", "7")]).unwrap();
}

#[test]
fn rows_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let unfinished = FlowRecord { fct_ps: None, sender_done_ps: None, average_rate_bps: None, ..record(2) };
    let due = |i: u32| FlowRecord { deadline_ps: Some(i.into()), ..record(i) };
    // Writes two row groups. The first group has rows with empty cells.
    let rows: Vec<_> =
        (0..GROUP_ROWS as u32 + 10).map(|i| if i % 1_000 == 2 { unfinished } else { due(i) }).collect();
    write(&path, &rows, true);
    let table = Table::read(&path).unwrap();
    assert_eq!(table.rows, rows.len());
    for (i, column) in FlowRecord::COLUMNS.iter().enumerate() {
        let cell = |row: &FlowRecord| row.cells().as_ref()[i];
        let cells: Vec<Cell> = match column.kind {
            Kind::Integer => table.integers(column.name).unwrap().iter().map(|&v| v.into()).collect(),
            Kind::Float => table.floats(column.name).unwrap().iter().map(|&v| v.into()).collect(),
        };
        assert!(rows.iter().map(cell).eq(cells), "{}", column.name);
    }
}

#[test]
fn files_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    write(&path, &[record(1)], false);
    let metadata = Table::read(&path).unwrap().metadata;
    let note = |key: &str| metadata[key].as_str();
    assert_eq!(note("raddle.table"), "flows");
    assert_eq!(note("raddle.schema_version"), "1");
    assert_eq!(note("raddle.complete"), "false");
    assert_eq!(note("raddle.seed"), "7");
    assert_eq!(note("raddle.definition.slowdown"), "fct_ps / ideal_fct_ps; values below 1 are kept");
}

#[test]
fn a_file_bears_its_name_only_when_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links.parquet");
    let mut writer = TableWriter::create(&path).unwrap();
    writer.push(&LinkRecord::default()).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "an abandoned writer must leave no file");
    TableWriter::<LinkRecord>::create(&path).unwrap().finish(true, &[]).unwrap();
    assert_eq!(Table::read(&path).unwrap().rows, 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_same_rows_make_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = ["a", "b"].map(|name| {
        let path = folder.path().join(name);
        write(&path, &[record(1), record(2)], true);
        fs::read(path).unwrap()
    });
    assert_eq!(bytes[0], bytes[1]);
}

#[test]
fn wrong_files_and_columns_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    assert!(matches!(Table::read(&path), Err(RecordsError::Io { .. })));
    fs::write(&path, "no table").unwrap();
    let refused = |path: &Path| Table::read(path).unwrap_err().to_string();
    assert_eq!(refused(&path), format!("{}: the file is not a Parquet file", path.display()));
    write(&path, &[record(1)], true);
    let table = Table::read(&path).unwrap();
    let error = table.floats("fct_ps").unwrap_err().to_string();
    assert!(
        error.starts_with("the table has no column `fct_ps` of type double; its columns are flow, src, dst"),
        "{error}"
    );
    assert!(TableWriter::<FlowRecord>::create(&folder.path().join("no/folder")).is_err());
}

#[test]
fn a_table_that_was_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    write(&path, &[record(1), record(2)], true);
    let bytes = fs::read(&path).unwrap();
    for length in [8, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let why = "the file was cut short: the end of a Parquet file is missing";
        assert_eq!(Table::read(&path).unwrap_err().to_string(), format!("{}: {why}", path.display()));
    }
}

#[test]
fn a_table_of_another_schema_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let mut writer = TableWriter::create(&path).unwrap();
    writer.push(&record(1)).unwrap();
    writer.finish(true, &[(SCHEMA_NOTE, "7")]).unwrap();
    let why = "the table has schema version 7, but this version of Raddle reads schema version 1";
    assert_eq!(Table::read(&path).unwrap_err().to_string(), format!("{}: {why}", path.display()));
}

#[test]
fn tables_of_the_common_compressions_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let level = parquet::basic::GzipLevel::default();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(level),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    for codec in codecs {
        let path = folder.path().join("other.parquet");
        let field =
            Type::primitive_type_builder("size", Physical::INT64).with_repetition(Repetition::REQUIRED);
        let schema = Type::group_type_builder("other").with_fields(vec![Arc::new(field.build().unwrap())]);
        let properties = WriterProperties::builder().set_compression(codec).build();
        let file = File::create(&path).unwrap();
        let schema = Arc::new(schema.build().unwrap());
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let sizes: Vec<i64> = (0..1_000).map(|i| i % 7).collect();
        column.typed::<Int64Type>().write_batch(&sizes, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let table = Table::read(&path).unwrap();
        let read = table.integers("size").unwrap().iter().map(|size| size.unwrap().cast_signed());
        assert!(read.eq(sizes), "{codec}");
    }
}
