//! Generates two lists of files in `papers/`, which the program embeds: the experiment files of figures, and the
//! files with the statements of each paper.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let papers = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("Cargo must set `CARGO_MANIFEST_DIR`"))
        .join("../../papers");
    let (mut figures, mut statements) = (String::from("&[\n"), String::from("&[\n"));
    for paper in sorted(&papers, Path::is_dir) {
        // Cargo considers a folder changed if a file in it is added, removed or modified.
        println!("cargo::rerun-if-changed={}", paper.display());
        for figure in sorted(&paper, |path| path.extension().is_some_and(|end| end == "toml")) {
            let (paper, name) = (stem(&paper), stem(&figure));
            let table = if name == "statements" { &mut statements } else { &mut figures };
            writeln!(table, "    ({paper:?}, {name:?}, include_str!({:?})),", figure.display().to_string())
                .expect("writing to a string never fails");
        }
    }
    println!("cargo::rerun-if-changed={}", papers.display());
    for (mut table, name) in [(figures, "figures.rs"), (statements, "statements.rs")] {
        table.push_str("]\n");
        let out = Path::new(&env::var("OUT_DIR").expect("Cargo must set `OUT_DIR`")).join(name);
        fs::write(&out, table).unwrap_or_else(|error| panic!("cannot write {}: {error}", out.display()));
    }
}

/// The entries of a folder that `wanted` accepts, sorted by name. Numbers in names are in numerical order: 2 before 10.
fn sorted(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder must be readable").path()).collect();
    paths.retain(|path| wanted(path));
    paths.sort_by_key(|path| counted(&stem(path)));
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("an entry of a folder must have a name").to_string_lossy().into_owned()
}

/// Splits a name into pairs of a text and the number that follows it (0 if none does), so that numbers compare by
/// value.
fn counted(name: &str) -> Vec<(String, u64)> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(letters);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        pieces.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    pieces
}
