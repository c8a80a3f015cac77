//! The keys of an experiment's file. Each key is declared once, with its name, type, default, range and description.
//! `run/capabilities.rs` lists the engines that do not support a key.
//!
//! A [`Section`](super::Section) reads a table by its declaration. The book's [page] of all keys, `raddle explain`,
//! `raddle list keys` and the JSON [`schema()`] are generated from the same declarations. A table is declared in the
//! source file that reads the table:
//!
//! ```text
//! keys! {
//!     /// How the experiment runs.
//!     pub(super) ENGINE = "engine" {
//!         /// Seed from which all random streams derive.
//!         SEED: u64 = Key::new("seed").or("1");
//!         /// The flow engine recomputes rates only at multiples of this time.
//!         GRID: Duration = Key::new("grid").above_zero();
//!     }
//! }
//! ```

mod named;
mod nested;
mod reference;
mod schema;

pub use named::{Name, Named};
pub use nested::{Any, Inner, Kinded, Tables};
#[cfg(test)]
pub(crate) use reference::all;
pub(crate) use reference::{default_of, described, explain_value, meant};
pub use reference::{explain, names, page};
pub use schema::schema;

use super::aliases;
use super::problem::Problem;
use super::section::{Read, out_of_range};
use super::value::Item;
use raddle_schemes::registry::Registry;

/// Declares tables and their keys. The doc comments are also the descriptions in the book.
macro_rules! keys {
    ($(
        $(#[doc = $words:literal])+
        $visibility:vis $table:ident = $path:literal {
            $( $(#[doc = $doc:literal])+ $key:ident: $type:ty = $declared:expr; )*
            $( ..$($others:expr),+; )?
        }
    )+) => {$(
        $( $(#[doc = $doc])+ $visibility static $key: $crate::experiment::keys::Key<$type> = $declared.says(concat!($($doc),+)); )*
        $(#[doc = $words])+
        $visibility static $table: $crate::experiment::keys::Keys = $crate::experiment::keys::Keys {
            path: $path,
            words: concat!($($words),+),
            keys: &[$(&$key),*],
            others: &[$($($others),+)?],
        };
    )+};
}
pub(crate) use keys;

/// Declares keys that a table has only if it has a certain kind. The doc comments are also the descriptions in the
/// book.
macro_rules! key {
    ($( $(#[doc = $doc:literal])+ $visibility:vis $key:ident: $type:ty = $declared:expr; )+) => {$(
        $(#[doc = $doc])+
        $visibility static $key: $crate::experiment::keys::Key<$type> = $declared.says(concat!($($doc),+));
    )+};
}
pub(crate) use key;

/// The declared keys of a table.
#[derive(Debug)]
pub struct Keys {
    /// The table's dotted name, without brackets.
    pub path: &'static str,
    /// Description of the table.
    pub words: &'static str,
    /// The table's own keys, in the order in which the book lists them.
    pub keys: &'static [&'static dyn Declared],
    /// Declarations of the keys that the table shares with other tables. The table has these keys in addition to its
    /// own.
    pub others: &'static [&'static Keys],
}

impl Keys {
    /// All keys of the table: its own keys, and the keys that it shares with other tables.
    pub fn all(&self) -> impl Iterator<Item = &'static dyn Declared> {
        let shared: Vec<_> = self.others.iter().flat_map(|others| others.all()).collect();
        self.keys.iter().copied().chain(shared)
    }

    /// The key named `name`, among the table's keys and the keys of all kinds that the table can have. `None` if there
    /// is no such key.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static dyn Declared> {
        let of_kinds =
            |key: &'static dyn Declared| key.kinds().iter().flat_map(|kind| kind.keys.iter().copied());
        self.all().flat_map(|key| std::iter::once(key).chain(of_kinds(key))).find(|key| key.name() == name)
    }
}

/// A kind that the value of a key can name. A table of this kind can have further keys.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The kind's name.
    pub name: &'static str,
    /// Description of the kind.
    pub words: &'static str,
    /// The keys that a table of this kind has.
    pub keys: &'static [&'static dyn Declared],
}

/// Names that can be the value of a key, each with a description.
pub type Choices = Vec<(String, &'static str)>;

/// A key of a table. Its values have the type `T`.
pub struct Key<T> {
    name: &'static str,
    words: &'static str,
    need: Need,
    limit: Limit<T>,
    example: Option<&'static str>,
    /// The word for possible values in messages, as in "unknown routing `name`".
    chosen: &'static str,
    /// Other names for values: each alias with the value that it stands for.
    also: &'static [(&'static str, &'static str)],
    kinds: &'static [Kind],
    /// Returns all names that the value can be; `None` if none of them come from the registry of schemes.
    registered: Option<fn(&Registry) -> Choices>,
    table: Option<&'static Keys>,
}

/// Requirement or default of a key.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// The key may be left out, and has no default.
    Optional,
    /// The key is required.
    Required,
    /// The default value, as TOML.
    Or(&'static str),
    /// The default is not declared as TOML. These words describe the default.
    Computed(&'static str),
}

/// Limits on the values of a key.
enum Limit<T> {
    Any,
    Such { allows: fn(&T) -> bool, words: &'static str },
    Range { number: fn(&T) -> f64, least: f64, most: f64 },
}

impl<T> Key<T> {
    /// An optional key named `name`, without a default.
    pub(crate) const fn new(name: &'static str) -> Self {
        let (words, need, limit, example) = ("", Need::Optional, Limit::Any, None);
        Self {
            name,
            words,
            need,
            limit,
            example,
            chosen: "",
            also: &[],
            kinds: &[],
            registered: None,
            table: None,
        }
    }

    /// Makes the key required.
    pub(crate) const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }

    /// Sets the default, as TOML.
    pub(crate) const fn or(mut self, default: &'static str) -> Self {
        self.need = Need::Or(default);
        self
    }

    /// Sets the description of the default, for a default that is not declared as TOML.
    pub(crate) const fn computed(mut self, words: &'static str) -> Self {
        self.need = Need::Computed(words);
        self
    }

    /// Sets an example of a value, in TOML.
    pub(crate) const fn example(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// Sets the kinds that the value of the key can name. `chosen` is the word for these kinds in messages, as in
    /// "unknown kind of topology `name`".
    pub(crate) const fn of(mut self, chosen: &'static str, kinds: &'static [Kind]) -> Self {
        (self.chosen, self.kinds) = (chosen, kinds);
        self
    }

    /// Sets the aliases of values: each alias with the value that it stands for.
    pub(crate) const fn also(mut self, also: &'static [(&'static str, &'static str)]) -> Self {
        self.also = also;
        self
    }

    /// Sets the function that returns all names that the value can be, each with a one-line description. A key needs
    /// this function if some of the names come from the registry. `chosen` is the word for the names in messages.
    pub(crate) const fn registered(mut self, chosen: &'static str, names: fn(&Registry) -> Choices) -> Self {
        (self.chosen, self.registered) = (chosen, Some(names));
        self
    }

    /// The kinds that the key declares.
    pub(crate) const fn own_kinds(&self) -> &'static [Kind] {
        self.kinds
    }

    /// The word for possible values in messages.
    pub(crate) const fn chosen(&self) -> &'static str {
        self.chosen
    }

    /// Sets the declared keys of the table that is the key's value. If the value is a list of tables, these are the
    /// keys of each table in the list.
    pub(crate) const fn table(mut self, keys: &'static Keys) -> Self {
        self.table = Some(keys);
        self
    }

    /// Allows only values for which `allows` is true. `words` completes the sentence "must be …" in messages.
    pub(crate) const fn such(mut self, words: &'static str, allows: fn(&T) -> bool) -> Self {
        self.limit = Limit::Such { allows, words };
        self
    }

    /// Sets the description.
    pub(crate) const fn says(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    /// The key's name.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// The declared keys of the table that is the key's value. If the value is a list of tables, these are the keys of
    /// each table in the list.
    ///
    /// # Panics
    /// If the key declares no table.
    pub(crate) fn inner(&self) -> &'static Keys {
        self.table.unwrap_or_else(|| panic!("the key `{}` must declare the keys of its table", self.name))
    }
}

impl<T: Default + PartialOrd> Key<T> {
    /// Allows only values above zero.
    pub(crate) const fn above_zero(self) -> Self {
        self.such("greater than 0", |value| *value > T::default())
    }
}

/// A type whose values can be converted to a number, for range checks.
pub trait Number {
    /// The value as a number.
    fn number(&self) -> f64;
}

impl Number for u64 {
    fn number(&self) -> f64 {
        *self as f64
    }
}

impl Number for u32 {
    fn number(&self) -> f64 {
        f64::from(*self)
    }
}

impl Number for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

impl<T: Number> Key<T> {
    /// Allows only values from `least` to `most`, both included.
    pub(crate) const fn within(mut self, least: f64, most: f64) -> Self {
        self.limit = Limit::Range { number: T::number, least, most };
        self
    }
}

impl<T: Read> Key<T> {
    /// An example of a value, as TOML.
    fn shown_example(&self) -> String {
        if let Some(example) = self.example {
            return example.to_owned();
        }
        match (self.need, self.kinds.first()) {
            (Need::Or(default), _) => default.to_owned(),
            (_, Some(kind)) => format!("\"{}\"", kind.name),
            _ => T::EXAMPLE.to_owned(),
        }
    }

    /// Reads a value of the key.
    ///
    /// # Errors
    /// If the item is not a value of type `T`, or the key does not allow the value.
    pub(crate) fn read(&self, item: &Item) -> Result<T, Problem> {
        let value = T::read(item)?;
        if self.allows(&value) {
            return Ok(value);
        }
        let limit = self.limit().unwrap_or_default();
        let what = format!("`{}` must be {limit} (got {})", self.name, shown(&value.show()));
        Err(out_of_range(&item.at, what, format!("for example: {} = {}", self.name, self.shown_example())))
    }

    fn allows(&self, value: &T) -> bool {
        match self.limit {
            Limit::Any => true,
            Limit::Such { allows, .. } => allows(value),
            Limit::Range { number, least, most } => (least..=most).contains(&number(value)),
        }
    }

    /// The default value; `None` if the key has no fixed default.
    pub(crate) fn default(&self) -> Option<T> {
        let Need::Or(text) = self.need else { return None };
        let read = Item::constant(text).and_then(|item| self.read(&item));
        Some(read.unwrap_or_else(|problem| panic!("the default of `{}` is invalid: {problem}", self.name)))
    }
}

/// A value as messages show it: strings without quotes.
fn shown(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A declared key, whatever the type of its values.
pub trait Declared: Sync + std::fmt::Debug {
    /// The key's name.
    fn name(&self) -> &'static str;
    /// The key's description.
    fn words(&self) -> &'static str;
    /// The type of the values, in words.
    fn what(&self) -> String;
    /// An example of a value, as TOML.
    fn example(&self) -> String;
    /// True if the key is required.
    fn is_required(&self) -> bool;
    /// The default, as TOML or in words; `None` if the key is required or has no default.
    fn left_out(&self) -> Option<String>;
    /// The allowed values, in words that complete the sentence "must be …"; `None` if the type is the only limit.
    fn limit(&self) -> Option<String>;
    /// The kinds of table, such as `torus`, of which the value of the key can be the name.
    fn kinds(&self) -> &'static [Kind];
    /// The names that the value of the key can be, each with a description.
    fn choices(&self, registry: &Registry) -> Choices;
    /// Other names for values: each alias with the value that it stands for.
    fn aliases(&self) -> &'static [(&'static str, &'static str)];
    /// The declared value for which `text` is an alias or another spelling; `None` if `text` is itself a value, or
    /// unknown.
    fn meant(&self, text: &str, registry: &Registry) -> Option<String>;
    /// The declared keys of the table that is the key's value; `None` if the key declares no table. If the value is a
    /// list of tables, these are the keys of each table in the list.
    fn inner(&self) -> Option<&'static Keys>;
    /// The JSON Schema of the key's value, without the schema of the [table](Self::inner) that is the value.
    fn schema(&self) -> serde_json::Value;
    /// Panics if the key does not allow its own default or example. Examples with `…` are not checked.
    #[cfg(test)]
    fn check(&self);
}

impl<T> std::fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<T: Read> Declared for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn words(&self) -> &'static str {
        self.words.trim()
    }

    fn what(&self) -> String {
        T::what()
    }

    fn example(&self) -> String {
        self.shown_example()
    }

    fn is_required(&self) -> bool {
        matches!(self.need, Need::Required)
    }

    fn left_out(&self) -> Option<String> {
        match self.need {
            Need::Or(text) => Some(format!("`{text}`")),
            Need::Computed(words) => Some(words.to_owned()),
            Need::Optional | Need::Required => None,
        }
    }

    fn limit(&self) -> Option<String> {
        match self.limit {
            Limit::Any => None,
            Limit::Such { words, .. } => Some(words.to_owned()),
            Limit::Range { least, most, .. } => Some(format!("from {least} to {most}")),
        }
    }

    fn kinds(&self) -> &'static [Kind] {
        self.kinds
    }

    fn choices(&self, registry: &Registry) -> Choices {
        if let Some(names) = self.registered {
            return names(registry);
        }
        match self.kinds {
            [] => T::choices(),
            kinds => kinds.iter().map(|kind| (kind.name.to_owned(), kind.words)).collect(),
        }
    }

    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        self.also
    }

    fn meant(&self, text: &str, registry: &Registry) -> Option<String> {
        let choices = self.choices(registry);
        let names = || choices.iter().map(|(name, _)| name.as_str());
        if choices.is_empty() {
            return T::meant(text);
        }
        if names().any(|name| name == text) {
            return None;
        }
        let alias = aliases::same(text, self.also.iter().map(|&(alias, _)| alias));
        let of_alias = self.also.iter().find(|&&(other, _)| Some(other) == alias).map(|&(_, name)| name);
        of_alias.or_else(|| aliases::same(text, names())).map(str::to_owned)
    }

    fn inner(&self) -> Option<&'static Keys> {
        self.table
    }

    fn schema(&self) -> serde_json::Value {
        let mut schema = T::schema();
        if let (Limit::Range { least, most, .. }, Some(object)) = (&self.limit, schema.as_object_mut())
            && object.get("type").is_some_and(|kind| kind == "integer" || kind == "number")
        {
            object.insert("minimum".to_owned(), (*least).into());
            object.insert("maximum".to_owned(), (*most).into());
        }
        schema
    }

    #[cfg(test)]
    fn check(&self) {
        let _ = self.default();
        let example = self.shown_example();
        if !example.contains('…') {
            let read = Item::constant(&example).and_then(|item| self.read(&item).map(drop));
            assert!(read.is_ok(), "`{} = {example}`: {read:?}", self.name);
        }
    }
}

#[cfg(test)]
mod tests;
