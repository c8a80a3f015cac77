//! Checks the book's pages about figures. The page of figure keys must have a row for every key, with its default. Its
//! examples must show every key, and [`Figure::read`] must accept them. The gallery must show every file in the folder
//! `docs/gallery`.

use super::Figure;
use crate::experiment::keys::{Declared, Keys};
use crate::experiment::{Document, FIGURE_TABLES, ROOT};
use std::collections::HashSet;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/src/figure-keys.md");

/// The TOML examples of `PAGE`, in order. The first example has the sweeps that the other examples name.
fn examples() -> impl Iterator<Item = &'static str> {
    PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// The memory address of a key's declaration, which identifies the declaration. A key that belongs to several tables
/// has only one declaration.
fn declaration(key: &'static dyn Declared) -> *const () {
    std::ptr::from_ref(key).cast()
}

/// Adds to `shown` the declarations of the keys in `table` and in all tables within it. `table` is an example or a
/// table within an example.
fn collect(table: &toml::Table, keys: &'static Keys, shown: &mut HashSet<*const ()>) {
    for (name, value) in table {
        let Some(key) = keys.find(name) else { continue };
        shown.insert(declaration(key));
        let Some(inner) = key.inner() else { continue };
        let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        list.iter().filter_map(toml::Value::as_table).for_each(|table| collect(table, inner, shown));
    }
}

/// All keys that a table and the tables within it can have, including keys that only some kinds of a table have. Each
/// key comes with the path of its table.
fn declared(keys: &'static Keys) -> Vec<(&'static str, &'static dyn Declared)> {
    let of_kinds = |key: &'static dyn Declared| key.kinds().iter().flat_map(|kind| kind.keys);
    let own = keys.all().flat_map(|key| std::iter::once(key).chain(of_kinds(key).copied()));
    let with_inner = |key: &'static dyn Declared| {
        std::iter::once((keys.path, key)).chain(key.inner().map_or_else(Vec::new, declared))
    };
    own.flat_map(with_inner).collect()
}

fn declared_of_figures() -> impl Iterator<Item = (&'static str, &'static dyn Declared)> {
    FIGURE_TABLES.into_iter().filter_map(Declared::inner).flat_map(declared)
}

#[test]
fn the_reader_accepts_every_example() {
    let sweeps = examples().next().expect("an example");
    for example in examples() {
        let mut text = example.to_owned();
        if !text.contains("[[sweep]]") {
            text.push_str(sweeps);
        }
        if !text.contains("[record]") {
            text.push_str(
                "[record]\nthroughput = \"1 ms\"\nqueue_lengths = \"1 ms\"\nimbalance = \"1 ms\"\n",
            );
        }
        if !text.contains("[figure]") {
            text.push_str("[figure]\ntitle = \"\"\n");
        }
        let document = Document::parse("figure-keys.md", text, "".into());
        let figure = document.and_then(|document| Figure::read(&document).map(drop));
        figure.unwrap_or_else(|problem| panic!("{problem:?}\n{example}"));
    }
}

#[test]
fn every_key_has_an_example() {
    let mut shown = HashSet::new();
    for example in examples() {
        collect(&example.parse().expect("TOML"), &ROOT, &mut shown);
    }
    let is_shown = |key: &'static dyn Declared| shown.contains(&declaration(key));
    let missing: Vec<_> = declared_of_figures().filter(|&(_, key)| !is_shown(key)).collect();
    let missing: Vec<_> = missing.iter().map(|(path, key)| format!("{path}.{}", key.name())).collect();
    assert!(missing.is_empty(), "docs/src/figure-keys.md has no example of {missing:?}");
}

#[test]
fn every_key_has_a_row_with_its_default() {
    for (path, key) in declared_of_figures() {
        let default = match key.left_out() {
            Some(default) => default,
            None if key.is_required() => "*required*".to_owned(),
            None => String::new(),
        };
        let begin = format!("| `{}` |", key.name());
        let cell =
            |line: &str| line.trim_end_matches('|').rsplit('|').next().map(str::trim).map(str::to_owned);
        let rows: Vec<_> = PAGE.lines().filter(|line| line.starts_with(&begin)).filter_map(cell).collect();
        assert!(
            rows.contains(&default),
            "{path}.{}: the default is {default:?}, but docs/src/figure-keys.md has {rows:?}",
            key.name()
        );
    }
}

#[test]
fn the_gallery_shows_every_file_of_its_folder() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("src/gallery.md")).expect("a page");
    let mut files = 0;
    for entry in std::fs::read_dir(docs.join("gallery")).expect("a folder") {
        let path = entry.expect("a file").path();
        let document = Document::load(&path).expect("TOML");
        Figure::read(&document).expect("a figure");
        for cell in document.cells().expect("a grid") {
            assert_eq!(cell.document.prepare().expect("an experiment").warnings, [], "{}", path.display());
        }
        let name = path.file_stem().expect("a name").to_string_lossy();
        for shown in [format!("docs/gallery/{name}.toml"), format!("images/gallery/{name}.png")] {
            assert!(page.contains(&shown), "docs/src/gallery.md does not show {shown}");
        }
        assert!(
            docs.join(format!("src/images/gallery/{name}.png")).exists(),
            "docs/src/images/gallery/{name}.png is missing; draw it with `make gallery`"
        );
        files += 1;
    }
    assert!(files >= 8, "{files} files");
}
