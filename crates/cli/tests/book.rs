//! Checks that the links and includes of Markdown pages, and the citations of specifications in sources, have existing
//! targets. Also checks that `SUMMARY.md` names every page once, and that the tests run with the oldest supported
//! version of Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project's folder")
}

/// All files below `folder` whose names end in `.{end}`, except build outputs.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let is_output = entry.file_name().is_some_and(|name| name == "target" || name == "out");
            if entry.is_dir() && !is_output {
                folders.push(entry);
            } else if entry.extension().is_some_and(|other| other == end) {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of a Markdown text outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    })
}

/// The anchors of a page: its headings in lower case with hyphens, as mdBook makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let anchor = headings.map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|&c| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_');
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let times = seen.entry(anchor.clone()).or_default();
        *times += 1;
        if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
    });
    anchor.collect()
}

/// The targets of a page's links, except web addresses and mail addresses.
fn links(text: &str) -> Vec<String> {
    let pieces = prose(text).flat_map(|line| line.split("](").skip(1));
    let target = pieces.filter_map(|piece| piece.split([')', ' ']).next());
    target.filter(|to| !to.contains("://") && !to.starts_with("mailto:")).map(str::to_owned).collect()
}

/// The path without `.` and `..`. Symbolic links are not resolved.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn pages() -> Vec<PathBuf> {
    files(&root(), "md")
}

#[test]
fn links_lead_to_pages_and_headings() {
    let mut dead = Vec::new();
    for page in pages() {
        let own = text(&page);
        for link in links(&own) {
            let (to, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = match to {
                "" => page.clone(),
                to => plain(&page.parent().expect("a folder").join(to)),
            };
            let is_page = path.extension().is_some_and(|end| end == "md");
            let leads =
                path.exists() && (anchor.is_empty() || !is_page || anchors(&text(&path)).contains(anchor));
            if !leads {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere: {dead:#?}");
}

#[test]
fn the_summary_names_every_page_once() {
    let folder = root().join("docs/src");
    let named = links(&text(&folder.join("SUMMARY.md")));
    let pages: BTreeSet<String> = files(&folder, "md")
        .iter()
        .map(|page| page.strip_prefix(&folder).expect("below").display().to_string())
        .filter(|page| page != "SUMMARY.md")
        .collect();
    assert_eq!(named.len(), named.iter().collect::<BTreeSet<_>>().len(), "a page stands twice in SUMMARY.md");
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), pages);
}

#[test]
fn what_pages_include_is_there() {
    for page in pages() {
        for include in text(&page).split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next()) {
            let file = include.split(':').next().expect("a path").trim();
            let path = page.parent().expect("a folder").join(file);
            let source = text(&path);
            let anchor = include.split(':').nth(1).filter(|part| part.parse::<usize>().is_err());
            if let Some(anchor) = anchor {
                assert!(source.contains(&format!("ANCHOR: {anchor}")), "{}: no `{anchor}`", path.display());
            }
        }
    }
}

/// Comments cite the file of a specification, often with a section number. The file must exist. The section must exist
/// as a heading, or as a paragraph that begins with the number.
#[test]
fn cited_specifications_and_sections_exist() {
    let folder = root().join("docs/src/specifications");
    let mut headings = BTreeMap::<String, BTreeSet<String>>::new();
    for spec in files(&folder, "md") {
        let number = |line: &str| {
            let first = line.trim_start_matches('#').trim_start().split([' ', ':']).next()?;
            let number = first.trim_end_matches('.');
            let is_number = number.split('.').all(|part| part.parse::<u32>().is_ok());
            is_number.then(|| number.to_owned())
        };
        let name = spec.file_stem().expect("a name").to_string_lossy().into_owned();
        headings.insert(name, prose(&text(&spec)).filter_map(number).collect());
    }
    let mut dead = Vec::new();
    for folder in ["crates", "bench", "examples", "papers"] {
        for source in [files(&root().join(folder), "rs"), files(&root().join(folder), "toml")].concat() {
            if source.ends_with(file!()) {
                continue;
            }
            // A citation may span two lines of a comment.
            let all = text(&source).replace("\n//! ", " ").replace("\n/// ", " ").replace("\n# ", " ");
            for cited in all.split("specifications/").skip(1) {
                let Some((name, rest)) = cited.split_once(".md") else { continue };
                let Some(sections) = headings.get(name) else {
                    dead.push(format!("{}: specifications/{name}.md", source.display()));
                    continue;
                };
                let section = rest.strip_prefix(" §").map(|rest| {
                    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                    rest[..end].trim_end_matches('.')
                });
                if let Some(section) =
                    section.filter(|&section| !section.is_empty() && !sections.contains(section))
                {
                    dead.push(format!("{}: specifications/{name}.md §{section}", source.display()));
                }
            }
        }
    }
    dead.sort();
    dead.dedup();
    assert!(dead.is_empty(), "citations that lead nowhere: {dead:#?}");
}

#[test]
fn the_tests_run_with_the_least_supported_version_of_rust() {
    let value = |file: &str, key: &str| {
        let text = text(&root().join(file));
        let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("the key");
        line.trim_matches([' ', '=', '"']).to_owned()
    };
    let pinned = value("rust-toolchain.toml", "channel");
    assert_eq!(pinned.rsplit_once('.').expect("a version").0, value("Cargo.toml", "rust-version"));
}
