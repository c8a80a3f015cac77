//! Aliases, that is, other names for values: `leaf_spine` for `folded_clos`, `websearch` for `web_search`, `10G` for
//! `10 Gbps`.
//!
//! Aliases are replaced before an experiment is read, so the resolved experiment and its digest contain the declared
//! names. Each replacement gives a [`Note`], which the lint `alias` shows. The aliases of a unit are declared with its
//! quantity. The aliases of a name are declared with its key ([`Key::also`](super::keys::Key::also)), except spellings
//! that differ only in capitals, hyphens, underscores and spaces.

use super::ROOT;
use super::keys::{Declared, Keys};
use super::quantity;
use super::value::{Item, Table, Value};
use raddle_core::{Bytes, Duration, Rate};
use raddle_schemes::parameter::{Parameter, Value as Setting};
use raddle_schemes::registry::Registry;

/// An alias that an experiment used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// The dotted key whose value is the alias. For a scheme's table, such as `scheme.tcp`, the alias is the last part
    /// of the key.
    pub(crate) key: String,
    /// The alias.
    pub(crate) alias: String,
    /// The declared value that replaces the alias.
    pub(crate) meant: String,
}

/// Replaces the aliases in an experiment. Returns the replacements.
pub(crate) fn replace(root: &mut Table, registry: &Registry) -> Vec<Note> {
    let mut aliases = Aliases { registry, notes: Vec::new() };
    aliases.table(root, &ROOT, "");
    aliases.notes
}

/// The declared name that equals `name` apart from capitals, hyphens, underscores and spaces. `None` if no declared
/// name or more than one declared name matches.
pub(super) fn same<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.replace(['-', '_', ' '], "").to_lowercase();
    let name = plain(name);
    let mut same = names.filter(|other| plain(other) == name);
    // If two declared names match, they have different meanings, so neither is chosen.
    same.next().filter(|_| same.next().is_none())
}

struct Aliases<'a> {
    registry: &'a Registry,
    notes: Vec<Note>,
}

impl Aliases<'_> {
    /// Replaces the aliases in `table`, whose dotted name is `path`. `keys` declares the keys of the table.
    fn table(&mut self, table: &mut Table, keys: &Keys, path: &str) {
        for entry in &mut table.entries {
            let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            if let Some(key) = keys.find(&entry.key) {
                self.item(&mut entry.item, key, &path);
            } else if let (true, Value::Table(table)) = (keys.path == "scheme", &mut entry.item.value) {
                // This is a table with the parameters of a scheme.
                let meant = keys.all().find_map(|key| key.meant(&entry.key, self.registry));
                self.put(&mut entry.key, meant, &path);
                self.parameters(table, &entry.key, &path);
            }
        }
    }

    /// Replaces the aliases in a value of `key`.
    fn item(&mut self, item: &mut Item, key: &dyn Declared, path: &str) {
        match &mut item.value {
            Value::String(text) => {
                // A string can replace a table that has only the key `kind`.
                let kind = key.inner().and_then(|keys| keys.find("kind"));
                let meant = kind.unwrap_or(key).meant(text, self.registry);
                self.put(text, meant, path);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.item(item, key, path)),
            Value::Table(table) => {
                if let Some(keys) = key.inner() {
                    self.table(table, keys, path);
                }
            }
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => {}
        }
    }

    /// Replaces the aliases in the values of the parameters of `scheme`. `table` contains these parameters.
    fn parameters(&mut self, table: &mut Table, scheme: &str, path: &str) {
        let info = self.registry.schemes().find(|info| info.name == scheme);
        let Some(info) = info else { return };
        for entry in &mut table.entries {
            let parameter = info.parameters.iter().find(|parameter| parameter.name == entry.key);
            if let (Some(parameter), Value::String(text)) = (parameter, &mut entry.item.value) {
                let meant = meant(parameter, text);
                self.put(text, meant, &format!("{path}.{}", entry.key));
            }
        }
    }

    fn put(&mut self, text: &mut String, meant: Option<String>, path: &str) {
        if let Some(meant) = meant {
            let alias = std::mem::replace(text, meant.clone());
            self.notes.push(Note { key: path.to_owned(), alias, meant });
        }
    }
}

/// The declared value of `parameter` for which `text` is an alias. `None` if `text` is no alias.
fn meant(parameter: &Parameter, text: &str) -> Option<String> {
    match parameter.default {
        Setting::Duration(_) => quantity::meant::<Duration>(text),
        Setting::Rate(_) => quantity::meant::<Rate>(text),
        Setting::Bytes(_) => quantity::meant::<Bytes>(text),
        Setting::Choice(_) if !parameter.choices.contains(&text) => {
            same(text, parameter.choices.iter().copied()).map(str::to_owned)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;
    use std::path::PathBuf;

    const PLAIN: &str = "[topology]\nkind = \"folded_clos\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
        link_rate = \"10 Gbps\"\nlink_delay = \"1 us\"\n[workload]\nflows = 10\nsizes = \"web_search\"\n\
        pairs = { kind = \"all_to_all\" }\narrivals = { kind = \"poisson\", load = 0.5 }\n[scheme]\n\
        transport = \"tcp-newreno\"\nrouting = \"ecmp\"\nqueue = { kind = \"fifo\", limit = \"150 KB\" }\n\
        [scheme.tcp-newreno]\nmin_rto = \"1 ms\"\n";

    fn document(text: &str) -> Document {
        Document::parse("aliases.toml", text.to_owned(), PathBuf::new()).expect("TOML")
    }

    #[test]
    fn an_experiment_with_aliases_is_the_one_with_the_declared_names() {
        let aliases = [
            ("folded_clos", "leaf_spine"),
            ("10 Gbps", "10G"),
            ("1 us", "1 usec"),
            ("web_search", "websearch"),
            ("all_to_all", "all2all"),
            ("transport = \"tcp-newreno\"", "transport = \"tcp\""),
            ("ecmp", "ECMP"),
            ("150 KB", "150kB"),
            ("1 ms", "1msec"),
        ];
        let mut text = PLAIN.to_owned();
        for (name, alias) in aliases {
            assert!(text.contains(name), "{name}");
            text = text.replacen(name, alias, 1);
        }
        let (plain, other) = (document(PLAIN), document(&text));
        let resolved = |document: &Document| document.experiment().expect("an experiment").resolved;
        assert_eq!(resolved(&other), resolved(&plain));
        let notes = replace(&mut other.root.clone(), &other.registry);
        let shown: Vec<_> = notes.iter().map(|note| format!("{}: {}", note.key, note.alias)).collect();
        assert_eq!(
            shown,
            [
                "topology.kind: leaf_spine",
                "topology.link_rate: 10G",
                "topology.link_delay: 1 usec",
                "workload.sizes: websearch",
                "workload.pairs.kind: all2all",
                "scheme.transport: tcp",
                "scheme.routing: ECMP",
                "scheme.queue.limit: 150kB",
                "scheme.tcp-newreno.min_rto: 1msec",
            ]
        );
        assert_eq!(replace(&mut plain.root.clone(), &plain.registry), []);
    }

    #[test]
    fn every_alias_stands_for_a_value_of_its_key() {
        let registry = Registry::builtin();
        for key in super::super::keys::all() {
            let names: Vec<_> = key.choices(&registry).into_iter().map(|(name, _)| name).collect();
            for (alias, name) in key.aliases() {
                assert!(names.iter().any(|known| known == name), "{}: `{name}` is no value", key.name());
                assert!(!names.iter().any(|known| known == alias), "{}: `{alias}` is a value", key.name());
                assert_eq!(key.meant(alias, &registry).as_deref(), Some(*name), "{}: {alias}", key.name());
            }
        }
    }

    #[test]
    fn names_that_differ_by_capitals_and_hyphens_are_the_same() {
        let names = ["web_search", "data-mining", "a_b", "ab"];
        assert_eq!(same("WebSearch", names.into_iter()), Some("web_search"));
        assert_eq!(same("data mining", names.into_iter()), Some("data-mining"));
        assert_eq!(same("a-b", names.into_iter()), None);
        assert_eq!(same("hadoop", names.into_iter()), None);
    }
}
