//! The tables of runs and of sweeps, with the meaning of each column. The book's page "Columns of all tables" and
//! `raddle explain flows.parquet` take their texts from this module.

use crate::sweep::columns as of_sweeps;
use raddle_records::{
    Column, FlowControlRecord, FlowRecord, ImbalanceRecord, LinkRecord, PathRecord, QueueLengthRecord,
    QueueRecord, RankRecord, RankSeriesRecord, RateSeriesRecord, Row, SeriesRecord, ThroughputRecord,
    TotalsRecord,
};
use serde_json::{Value, json};
use std::fmt::Write;

/// The file name of a sweep's table.
pub(crate) const OF_SWEEP: &str = "sweep.parquet";

/// The columns of all tables of runs, each with the name of its table.
pub(crate) fn columns() -> impl Iterator<Item = (&'static str, &'static Column)> {
    fn of<R: Row>() -> impl Iterator<Item = (&'static str, &'static Column)> {
        R::COLUMNS.iter().map(|column| (R::TABLE, column))
    }
    of::<FlowRecord>()
        .chain(of::<LinkRecord>())
        .chain(of::<QueueRecord>())
        .chain(of::<FlowControlRecord>())
        .chain(of::<QueueLengthRecord>())
        .chain(of::<ImbalanceRecord>())
        .chain(of::<ThroughputRecord>())
        .chain(of::<RankRecord>())
        .chain(of::<SeriesRecord>())
        .chain(of::<PathRecord>())
        .chain(of::<RankSeriesRecord>())
        .chain(of::<RateSeriesRecord>())
        .chain(of::<TotalsRecord>())
}

/// A table: the name of its file, and the name and meaning of each column.
struct Table {
    file: String,
    columns: Vec<(String, String)>,
}

/// All tables: those of runs, and last that of sweeps.
fn all() -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for (table, column) in columns() {
        let file = format!("{table}.parquet");
        let says_when_empty = column.definition.contains("empty");
        let can_be_empty = if column.nullable && !says_when_empty { " (can be empty)" } else { "" };
        let of_column = (column.name.to_owned(), format!("{}{can_be_empty}", column.definition));
        match tables.last_mut().filter(|last| last.file == file) {
            Some(last) => last.columns.push(of_column),
            None => tables.push(Table { file, columns: vec![of_column] }),
        }
    }
    let of_sweep =
        of_sweeps::names().filter_map(|name| of_sweeps::meaning(&name).map(|meaning| (name, meaning)));
    tables.push(Table { file: OF_SWEEP.to_owned(), columns: of_sweep.collect() });
    tables
}

/// The names of the files of all tables.
pub(crate) fn names() -> impl Iterator<Item = String> {
    all().into_iter().map(|table| table.file)
}

/// The columns of the table in the file called `name`, as text and as JSON. `None` if there is no such table.
pub(crate) fn explain(name: &str) -> Option<(String, Value)> {
    let table = all().into_iter().find(|table| table.file == name)?;
    let mut rows = vec![vec!["column".to_owned(), "meaning".to_owned()]];
    rows.extend(table.columns.iter().map(|(name, meaning)| vec![name.clone(), meaning.clone()]));
    let columns: Vec<Value> =
        table.columns.iter().map(|(name, meaning)| json!({ "name": name, "definition": meaning })).collect();
    let text = format!("{name}\n\n{}", crate::table(&rows));
    Some((text, json!({ "table": { "file": name, "columns": columns } })))
}

/// The book's page of all tables.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "only the test that keeps the page current writes the page")
)]
fn page() -> String {
    let mut page = "# Columns of all tables\n\n\
        This page is generated. [Run directories](runs.md) says which keys of an experiment make a run write each file, and\n\
        [Definitions](definitions.md) has the numbers in these columns. The end of a column's name is its unit. `raddle explain\n\
        FILE`, such as `raddle explain flows.parquet`, prints the columns of one file.\n"
        .to_owned();
    for Table { file, columns } in all() {
        write!(page, "\n## `{file}`\n\n").expect("writing to a string never fails");
        if file == OF_SWEEP {
            page.push_str(
                "Before these columns, a sweep's table has a column for each `[[sweep]]`, which holds the label of the cell.\n\
                 `sweep.csv` has the same columns. Columns of FCT, goodput and slowdown exist for each size class too.\n\n",
            );
        }
        page.push_str("| column | meaning |\n|---|---|\n");
        for (name, meaning) in columns {
            let meaning = meaning.replace('|', "\\|");
            writeln!(page, "| `{name}` | {meaning} |").expect("writing to a string never fails");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{all, explain, names, page};
    use std::path::Path;

    #[test]
    fn the_page_of_all_columns_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/columns.md");
        let page = page();
        if std::env::var_os("RADDLE_WRITE").is_some() {
            std::fs::write(&path, &page).expect("the page can be written");
        }
        assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == page,
            "RADDLE_WRITE=1 cargo test -p raddle-lab --lib page_of_all_columns writes docs/src/columns.md anew"
        );
    }

    #[test]
    fn each_table_is_explained_with_all_its_columns() {
        for table in all() {
            let (text, json) = explain(&table.file).expect("a table");
            assert_eq!(json["table"]["columns"].as_array().map(Vec::len), Some(table.columns.len()));
            assert!(
                table.columns.iter().all(|(name, meaning)| text.contains(name) && text.contains(meaning))
            );
        }
        assert!(names().any(|name| name == "flows.parquet"));
        assert_eq!(explain("flows"), None);
    }
}
