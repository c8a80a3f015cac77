//! Text generated from the declared keys: the book's page of all keys, and the output of `raddle explain`.

use super::super::ROOT;
use super::{Declared, Keys, Kind};
use crate::run::capabilities;
use raddle_core::Bytes;
use raddle_schemes::parameter::{Parameter, Value as Setting};
use raddle_schemes::registry::Registry;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Description of a kind and its keys on one line: `wrap-around grid: dims = [8, 8, 8]`.
pub(crate) fn described(kind: &Kind) -> String {
    let keys: Vec<_> = kind.keys.iter().map(|key| format!("{} = {}", key.name(), key.example())).collect();
    if keys.is_empty() { kind.words.to_owned() } else { format!("{}: {}", kind.words, keys.join(", ")) }
}

/// A declared key, and the table that the key belongs to.
struct Place {
    table: &'static Keys,
    /// The kind that the table must have; `None` if tables of every kind have the key.
    kind: Option<&'static Kind>,
    key: &'static dyn Declared,
}

impl Place {
    /// The dotted path of the key, such as `engine.grid`.
    fn path(&self) -> String {
        if self.table.path.is_empty() {
            self.key.name().to_owned()
        } else {
            format!("{}.{}", self.table.path, self.key.name())
        }
    }
}

/// The table and all tables within it. Each table occurs once, in the order of the keys.
fn tables(of: &'static Keys) -> Vec<&'static Keys> {
    let mut tables: Vec<&'static Keys> = Vec::new();
    let mut left = vec![of];
    while let Some(table) = left.pop() {
        if tables.iter().any(|other| std::ptr::eq(*other, table)) {
            continue;
        }
        tables.push(table);
        let inner: Vec<_> = places(table).iter().filter_map(|place| place.key.inner()).collect();
        left.extend(inner.into_iter().rev());
    }
    tables
}

/// The keys of a table. The keys of each kind follow the key that chooses the kind.
fn places(table: &'static Keys) -> Vec<Place> {
    let mut places = Vec::new();
    for key in table.all() {
        places.push(Place { table, kind: None, key });
        for kind in key.kinds() {
            places.extend(kind.keys.iter().map(|&key| Place { table, kind: Some(kind), key }));
        }
    }
    places
}

/// The dotted names of all keys, each with the first sentence of its description. Parameters of schemes are not
/// included.
#[must_use]
pub fn names() -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for place in tables(&ROOT).into_iter().flat_map(places) {
        let path = place.path();
        if !names.iter().any(|(other, _)| *other == path) {
            names.push((path, first_sentence(place.key.words()).to_owned()));
        }
    }
    names
}

/// The declared values for which `name` is an alias, such as `folded_clos` for the alias `leaf_spine`.
pub(crate) fn meant(name: &str, registry: &Registry) -> impl Iterator<Item = String> {
    all().filter_map(move |key| key.meant(name, registry))
}

/// The keys that have `name` among their values, with the description of the value, as text and as JSON; `None` if no
/// key has this value.
pub(crate) fn explain_value(name: &str, registry: &Registry) -> Option<(String, Value)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for place in tables(&ROOT).into_iter().flat_map(places) {
        let path = place.path();
        for (_, words) in place.key.choices(registry).into_iter().filter(|(choice, _)| choice == name) {
            if !lines.iter().any(|(other, _)| *other == path) {
                lines.push((path.clone(), words.to_owned()));
            }
        }
    }
    let text = |(path, words): &(String, String)| format!("{path} = \"{name}\"\n{words}\n");
    let json = |(path, words): &(String, String)| json!({ "key": path, "value": name, "words": words });
    let texts: Vec<_> = lines.iter().map(text).collect();
    (!lines.is_empty()).then(|| (texts.join("\n"), lines.iter().map(json).collect()))
}

/// The keys of all tables and of all kinds.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Declared> {
    tables(&ROOT).into_iter().flat_map(places).map(|place| place.key)
}

fn first_sentence(words: &str) -> &str {
    words.split_once(". ").map_or(words, |(first, _)| first).trim_end_matches('.')
}

/// The declarations of the key with a dotted name such as `engine.grid`, as text and as JSON; `None` if there is no
/// such key. Several kinds can declare a key of the same name.
#[must_use]
pub fn explain(path: &str, registry: &Registry) -> Option<(String, Value)> {
    let (mut text, mut entries) = (String::new(), Vec::new());
    for place in tables(&ROOT).into_iter().flat_map(places).filter(|place| place.path() == path) {
        let Place { key, kind, .. } = place;
        let gap = if text.is_empty() { "" } else { "\n" };
        let of_kind = kind.map_or(String::new(), |kind| format!(" (kind = \"{}\")", kind.name));
        let _ = writeln!(text, "{gap}{path}{of_kind}\n{}\n", key.words());
        let facts = facts(&place);
        for (name, value) in &facts {
            let _ = writeln!(text, "{name:<9} {value}");
        }
        let example = format!("{} = {}", key.name(), key.example());
        let _ = writeln!(text, "{:<9} {example}", "example");
        let choices = key.choices(registry);
        let mut inner: Vec<_> = key.inner().into_iter().flat_map(places).collect();
        let mut seen = Vec::new();
        inner.retain(|place| {
            let is_new = !seen.contains(&(place.key.name(), place.key.words()));
            seen.push((place.key.name(), place.key.words()));
            is_new
        });
        listed(&mut text, "values", choices.iter().map(|(name, words)| (&name[..], *words)));
        listed(&mut text, "aliases", key.aliases().iter().copied());
        let keys = inner.iter().map(|inner| (inner.key.name(), first_sentence(inner.key.words())));
        listed(&mut text, "keys", keys);
        let facts: Map<String, Value> =
            facts.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let value = |(name, words): &(String, &str)| json!({ "name": name, "words": words });
        entries.push(json!({
            "key": path, "kind": kind.map(|kind| kind.name), "words": key.words(), "facts": facts, "example": example,
            "values": choices.iter().map(value).collect::<Vec<_>>(),
            "keys": inner.iter().map(|inner| inner.key.name()).collect::<Vec<_>>(),
        }));
    }
    (!entries.is_empty()).then_some((text, Value::Array(entries)))
}

/// Appends a title and a list of names, each with its description. Appends nothing if there are no names.
fn listed<'a>(text: &mut String, title: &str, names: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
    let Some(width) = names.clone().map(|(name, _)| name.len()).max() else { return };
    let _ = writeln!(text, "\n{title}");
    for (name, words) in names {
        let _ = writeln!(text, "{}", format!("  {name:<width$}  {words}").trim_end());
    }
}

/// Facts about a key: the type, the default, the range, and the engines that support the key if not all engines do.
fn facts(place: &Place) -> Vec<(&'static str, String)> {
    let key = place.key;
    let mut facts = vec![("type", key.what())];
    match key.left_out() {
        Some(default) => facts.push(("default", default)),
        None if key.is_required() => facts.push(("default", "none: the key is required".to_owned())),
        None => {}
    }
    facts.extend(key.limit().map(|limit| ("range", limit)));
    let engines = capabilities::engines_of(&place.path());
    if !engines.is_empty() {
        facts.push(("engines", engines.iter().map(|engine| engine.name()).collect::<Vec<_>>().join(", ")));
    }
    facts
}

/// The book's page of all keys and of the parameters of all schemes.
#[must_use]
pub fn page(registry: &Registry) -> String {
    let mut page = String::from(
        "# All keys\n\nEvery key of an experiment's file. This page is generated from the declarations of the \
             keys. `raddle explain KEY` shows one declaration, and `raddle schema` gives all of them to an editor. A \
             key without a default may be left out, unless it is *required*. \"Engines\" lists the engines that \
             support a key, if not all engines do. [Experiments](experiments.md) explains how to write values.\n",
    );
    for table in tables(&ROOT) {
        let title = if table.path.is_empty() { "The file".to_owned() } else { format!("`[{}]`", table.path) };
        let _ = write!(page, "\n## {title}\n\n{}\n\n", table.words.trim());
        let here = |key: &dyn Declared| !shared(table).any(|other| other.name() == key.name());
        let own = |place: &Place| place.kind.is_none() && here(place.key);
        rows(&mut page, places(table).into_iter().filter(own), registry);
        for others in table.others.iter().filter(|others| others.path != table.path) {
            let names: Vec<_> = others.all().map(|key| format!("`{}`", key.name())).collect();
            let _ = write!(page, "\nAnd, as in `[{}]`: {}.\n", others.path, names.join(", "));
        }
        let kinds: Vec<&'static Kind> =
            table.all().filter(|key| here(*key)).flat_map(Declared::kinds).collect();
        for kinds in kinds.chunk_by(|kind, next| have_the_same_keys(kind, next)) {
            let (kind, names) =
                (kinds[0], kinds.iter().map(|kind| format!("`{}` ({})", kind.name, kind.words)));
            if !kind.keys.is_empty() {
                let _ = write!(page, "\nWith {}:\n\n", names.collect::<Vec<_>>().join(", "));
                rows(
                    &mut page,
                    kind.keys.iter().map(|&key| Place { table, kind: Some(kind), key }),
                    registry,
                );
            }
        }
    }
    page.push_str(
        "\n## Parameters of schemes\n\nA scheme's parameters stand in the table `[scheme.NAME]`.\n",
    );
    for info in registry.schemes().filter(|info| !info.parameters.is_empty()) {
        let _ = write!(page, "\n### `[scheme.{}]`\n\n{}.\n\n", info.name, info.summary.trim_end_matches('.'));
        page.push_str("| key | default | range | meaning |\n|---|---|---|---|\n");
        for parameter in info.parameters {
            let _ = writeln!(page, "{}", row(parameter));
        }
    }
    page
}

fn row(parameter: &Parameter) -> String {
    let range = match parameter.default {
        Setting::Choice(_) => {
            parameter.choices.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        }
        Setting::Eight(_) | Setting::Flag(_) => String::new(),
        _ => parameter.limits(),
    };
    let Parameter { name, doc, .. } = parameter;
    format!("| `{name}` | `{}` | {} | {} |", default_of(parameter), cell(&range), cell(doc))
}

/// The keys that the table shares with a table of another name.
fn shared(table: &'static Keys) -> impl Iterator<Item = &'static dyn Declared> {
    table.others.iter().filter(|others| others.path != table.path).flat_map(|others| others.all())
}

fn have_the_same_keys(kind: &Kind, other: &Kind) -> bool {
    let names = |kind: &Kind| kind.keys.iter().map(|key| (key.name(), key.words())).collect::<Vec<_>>();
    names(kind) == names(other)
}

/// Appends a Markdown table of keys.
fn rows(page: &mut String, places: impl Iterator<Item = Place>, registry: &Registry) {
    page.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
    for place in places {
        let key = place.key;
        let default = match key.left_out() {
            Some(default) => default,
            None if key.is_required() => "*required*".to_owned(),
            None => String::new(),
        };
        let mut words = key.words().to_owned();
        if let Some(limit) = key.limit() {
            let _ = write!(words, " Must be {limit}.");
        }
        let mut names: Vec<String> = Vec::new();
        for (name, _) in key.choices(registry) {
            // Two choices can have the same name, such as an algorithm that two operations have.
            let name = format!("`{name}`");
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if !names.is_empty() {
            let _ = write!(words, " One of {}.", names.join(", "));
        }
        let aliases: Vec<_> =
            key.aliases().iter().map(|(alias, name)| format!("`{alias}` (`{name}`)")).collect();
        if !aliases.is_empty() {
            let _ = write!(words, " Aliases: {}.", aliases.join(", "));
        }
        let engines = capabilities::engines_of(&place.path());
        if !engines.is_empty() {
            let names: Vec<_> = engines.iter().map(|engine| engine.name()).collect();
            let _ = write!(words, " Engines: {}.", names.join(", "));
        }
        let _ = write!(words, " Example: `{} = {}`", key.name(), key.example());
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            key.name(),
            cell(&key.what()),
            cell(&default),
            cell(&words)
        );
    }
}

/// Escapes text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A parameter's default, as it is written in an experiment's file.
pub(crate) fn default_of(parameter: &Parameter) -> String {
    match parameter.default {
        Setting::Duration(span) => format!("\"{span}\""),
        Setting::Rate(rate) => format!("\"{rate}\""),
        Setting::Bytes(bytes) => format!("\"{}\"", Bytes(bytes)),
        Setting::Count(count) => count.to_string(),
        Setting::Fraction(fraction) => fraction.to_string(),
        Setting::Eight(numbers) => format!("{numbers:?}"),
        Setting::Flag(flag) => flag.to_string(),
        Setting::Choice(word) => format!("\"{word}\""),
    }
}
