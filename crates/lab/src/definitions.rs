//! The meaning of each number in results: the definitions on the book's page "Definitions", the columns of the tables
//! of runs and of sweeps, and the quantities of figures. `raddle report` and `raddle explain` take their texts from
//! this module, so they agree with the book.

use crate::figure::quantities;
use crate::sweep::columns as of_sweeps;
use crate::tables::{OF_SWEEP, columns};
use serde::Serialize;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/src/definitions.md");

/// A term and its meaning.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Definition {
    term: String,
    /// The words between the term and the colon, such as `of a link (share of the run)`. Empty if there are none.
    aside: String,
    meaning: String,
}

impl Definition {
    /// The names by which users ask for the term: the names in the term itself, such as `finished` and `unfinished`,
    /// and the names in parentheses before the colon, such as `assigned_rate`.
    fn names(&self) -> impl Iterator<Item = String> {
        let in_parentheses = self.aside.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let others = in_parentheses.map_or("", |(names, _)| names);
        self.term
            .split([',', '(', ')'])
            .chain(others.split([',', ';']))
            .map(as_name)
            .filter(|name| !name.is_empty())
    }
}

/// A name as users type it: lower case, with `_` between words.
fn as_name(words: &str) -> String {
    words.trim().to_lowercase().replace(' ', "_")
}

/// All names that [`explain`] knows.
pub(crate) fn names() -> Vec<String> {
    let terms = all().into_iter().flat_map(|definition| definition.names().collect::<Vec<_>>());
    let columns = columns().map(|(_, column)| column.name.to_owned()).chain(of_sweeps::names());
    terms.chain(columns).chain(quantities().map(|(name, ..)| name.to_owned())).collect()
}

/// The meaning of the number with this name, as text and as JSON: its definition, the columns of that name, and the
/// quantity of that name in figures. `None` if no number has the name.
pub(crate) fn explain(name: &str) -> Option<(String, Value)> {
    let name = as_name(name);
    let defined: Vec<_> =
        all().into_iter().filter(|definition| definition.names().any(|one| one == name)).collect();
    let of_runs = columns().filter(|(_, column)| column.name == name);
    let of_runs = of_runs.map(|(table, column)| (format!("{table}.parquet"), column.definition.to_owned()));
    let of_sweeps = of_sweeps::meaning(&name).map(|meaning| (OF_SWEEP.to_owned(), meaning));
    let columns: Vec<_> = of_runs.chain(of_sweeps).collect();
    let quantity = quantities().find(|&(known, ..)| known == name);
    let mut lines: Vec<String> = Vec::new();
    for Definition { term, aside, meaning } in &defined {
        let gap = if aside.is_empty() { "" } else { " " };
        lines.push(format!("{term}{gap}{aside}: {meaning}"));
    }
    for (file, meaning) in &columns {
        lines.push(format!("column `{name}` of {file}: {meaning}"));
    }
    if let Some((name, words, unit)) = quantity {
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        lines.push(format!("a figure selects this number with `of = \"{name}\"`: {words}{unit}"));
    }
    let quantity = quantity.map(|(name, words, unit)| json!({ "of": name, "summary": words, "unit": unit }));
    let columns: Vec<_> = columns
        .iter()
        .map(|(file, meaning)| {
            json!({ "table": file.trim_end_matches(".parquet"), "name": name, "definition": meaning })
        })
        .collect();
    let json = json!({ "definitions": defined, "columns": columns, "quantity": quantity });
    (!lines.is_empty()).then(|| (format!("{name}\n{}\n", lines.join("\n\n")), json))
}

/// The definitions in the order of the page. A definition is a list item that begins with a bold term. A colon stands
/// before its meaning.
pub(crate) fn all() -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let mut is_open = false;
    for line in PAGE.lines() {
        if let Some((term, rest)) = line.strip_prefix("- **").and_then(|rest| rest.split_once("**")) {
            let (aside, meaning) = rest.split_once(": ").unwrap_or((rest, ""));
            found.push(Definition { term: plain(term), aside: plain(aside), meaning: plain(meaning) });
            is_open = true;
        } else if let (Some(last), true) = (found.last_mut(), is_open && line.starts_with("  ")) {
            last.meaning.push(' ');
            last.meaning.push_str(&plain(line.trim().trim_start_matches("- ")));
        } else {
            is_open = false;
        }
    }
    found
}

/// The text of `markdown` without asterisks and backticks. Of each link, only the words are kept. A link in
/// parentheses, such as `([how](page.md))`, is left out with its parentheses, because its words alone say nothing.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, (_, after))) =
            link.split_once("](").and_then(|(words, to)| Some((words, to.split_once(')')?)))
        else {
            // This bracket does not begin a link. An example is the bracket of `[record]`.
            text.extend([before, "["]);
            rest = link;
            continue;
        };
        match (before.strip_suffix('('), after.strip_prefix(')')) {
            (Some(before), Some(after)) => {
                text.push_str(before.trim_end());
                rest = after;
            }
            _ => {
                text.extend([before, words]);
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text.replace(['*', '`'], "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_terms_of_the_report_are_defined() {
        let all = all();
        for term in ["FCT", "Ideal FCT", "Slowdown", "Goodput", "Queue", "Drops", "Digest", "Makespan"] {
            assert!(all.iter().any(|definition| definition.term == term), "{term}");
        }
        for Definition { term, aside, meaning } in all {
            let text = format!("{term} {aside}: {meaning}");
            assert!(!text.contains(['*', '`']) && !text.contains("]("), "{text}");
            assert!(!aside.starts_with(','), "a colon must stand before the meaning: {text}");
            assert!(meaning.split(' ').count() > 3 && meaning.ends_with('.'), "{text}");
        }
    }

    #[test]
    fn a_link_in_parentheses_is_left_out() {
        assert_eq!(plain("lost ([why](a.md)). `x` of [the page](b.md) (c)"), "lost. x of the page (c)");
    }

    #[test]
    fn a_definition_has_all_its_lines() {
        let all = all();
        let ideal = all.iter().find(|definition| definition.term == "Ideal FCT").expect("a definition");
        assert!(ideal.meaning.starts_with("the FCT of the flow alone on one shortest path."));
        assert!(ideal.meaning.ends_with("their frames count."), "{}", ideal.meaning);
    }

    #[test]
    fn every_name_of_a_number_is_explained() {
        let names = names();
        for name in ["slowdown", "fct_ps", "peak_queue", "jitter"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        for name in names {
            assert!(explain(&name).is_some(), "{name}");
        }
        assert_eq!(explain("speed"), None);
    }

    /// Adds to `tables` the names in all implementations of [`Row`] in the source files of `folder`.
    fn declared(folder: &Path, tables: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                declared(&path, tables);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let names = text.split("\nimpl Row for ").skip(1).map(|row| row.split('"').nth(1));
                tables.extend(names.map(|name| name.expect("the name of a table").to_owned()));
            }
        }
    }

    #[test]
    fn every_column_of_every_table_is_explained() {
        let mut tables = BTreeSet::new();
        declared(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut tables);
        assert!(tables.contains("flows") && tables.contains("rate_series"), "{tables:?}");
        let known: BTreeSet<String> = columns().map(|(table, _)| table.to_owned()).collect();
        assert_eq!(tables, known, "a table is missing in `columns`");
        for (table, column) in columns() {
            let (text, json) = explain(column.name).expect("a known column");
            assert!(!column.definition.is_empty(), "{table}.{}", column.name);
            assert!(text.contains(&format!("column `{}` of {table}.parquet: ", column.name)), "{text}");
            let tables = json["columns"].as_array().expect("columns");
            assert!(tables.iter().any(|known| known["table"] == table), "{json}");
        }
        assert!(explain("fct_p99_us_over_1_mb").is_some_and(|(text, _)| text.contains("of sweep.parquet: ")));
    }

    #[test]
    fn a_number_is_explained_by_its_definition_its_columns_and_its_quantity() {
        let (text, json) = explain("Slowdown").expect("a known number");
        assert!(
            text.starts_with("slowdown\nSlowdown (normalised FCT, NFCT; no unit): FCT / ideal FCT."),
            "{text}"
        );
        assert!(
            text.contains(
                "column `slowdown` of flows.parquet: fct_ps / ideal_fct_ps; values below 1 are \
                           kept"
            ),
            "{text}"
        );
        let ending = "a figure selects this number with `of = \"slowdown\"`: slowdown\n";
        assert!(text.ends_with(ending), "{text}");
        assert_eq!(json["columns"][0]["table"], "flows");
        assert!(
            explain("nfct").is_some()
                && explain("assigned_rate").is_some()
                && explain("unfinished").is_some()
        );
    }
}
