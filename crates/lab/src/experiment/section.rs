//! Reading a table key by key: each key read is known, what was not read is a mistake, and what was read, defaults
//! included, is the resolved table.

use super::problem::{Cause, Problem, nearest};
use super::quantity::{self, Quantity};
use super::value::{At, Entry, Item, Table, Value};
use raddle_core::{Bytes, Duration, Rate};

/// A value that a key can have.
pub trait Read: Sized {
    /// A value as it might be written, for the message that it is missing.
    const EXAMPLE: &'static str;

    /// Reads it.
    ///
    /// # Errors
    /// If the item has another type or cannot be.
    fn read(item: &Item) -> Result<Self, Problem>;

    /// The value as it is written in a resolved experiment.
    fn show(&self) -> toml::Value;
}

/// The problem that `item` has the wrong type.
pub(crate) fn wrong_type(item: &Item, expected: &'static str) -> Problem {
    Problem::at(&item.at, Cause::WrongType { expected, found: item.value.kind() })
}

fn read_quantity<Q: Quantity>(item: &Item) -> Result<Q, Problem> {
    let Value::String(text) = &item.value else { return Err(wrong_type(item, Q::WHAT)) };
    quantity::parse(text).map_err(|error| Problem::at(&item.at, error.into()))
}

macro_rules! read_quantity {
    ($type:ty, $example:literal) => {
        impl Read for $type {
            const EXAMPLE: &'static str = $example;
            fn read(item: &Item) -> Result<Self, Problem> {
                read_quantity(item)
            }
            fn show(&self) -> toml::Value {
                self.to_string().into()
            }
        }
    };
}

read_quantity!(Rate, "\"10 Gbps\"");
read_quantity!(Duration, "\"100 ns\"");
read_quantity!(Bytes, "\"9 KB\"");

impl Read for u64 {
    const EXAMPLE: &'static str = "1000";
    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::Integer(integer) = item.value else { return Err(wrong_type(item, "an integer")) };
        Self::try_from(integer).map_err(|_| out_of_range(&item.at, "a negative number", "zero or more"))
    }
    fn show(&self) -> toml::Value {
        i64::try_from(*self).map_or_else(|_| self.to_string().into(), Into::into)
    }
}

impl Read for u32 {
    const EXAMPLE: &'static str = "8";
    fn read(item: &Item) -> Result<Self, Problem> {
        Self::try_from(u64::read(item)?)
            .map_err(|_| out_of_range(&item.at, "too large a number", "below 2^32"))
    }
    fn show(&self) -> toml::Value {
        i64::from(*self).into()
    }
}

impl Read for f64 {
    const EXAMPLE: &'static str = "1.05";
    fn read(item: &Item) -> Result<Self, Problem> {
        match item.value {
            Value::Float(number) => Ok(number),
            Value::Integer(integer) => Ok(integer as Self),
            _ => Err(wrong_type(item, "a number")),
        }
    }
    fn show(&self) -> toml::Value {
        (*self).into()
    }
}

impl Read for bool {
    const EXAMPLE: &'static str = "true";
    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::Boolean(boolean) = item.value else { return Err(wrong_type(item, "true or false")) };
        Ok(boolean)
    }
    fn show(&self) -> toml::Value {
        (*self).into()
    }
}

impl Read for String {
    const EXAMPLE: &'static str = "\"…\"";
    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::String(text) = &item.value else { return Err(wrong_type(item, "a string")) };
        Ok(text.clone())
    }
    fn show(&self) -> toml::Value {
        self.as_str().into()
    }
}

/// A share between nothing and everything, as `0.05` or `"5%"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Fraction(pub f64);

impl Read for Fraction {
    const EXAMPLE: &'static str = "\"5%\"";
    fn read(item: &Item) -> Result<Self, Problem> {
        const WHAT: &str = "a fraction such as 0.05 or \"5%\"";
        let fraction = match &item.value {
            Value::String(text) => {
                let number =
                    text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
                number.ok_or_else(|| wrong_type(item, WHAT))? / 100.0
            }
            Value::Float(_) | Value::Integer(_) => f64::read(item)?,
            _ => return Err(wrong_type(item, WHAT)),
        };
        if (0.0..=1.0).contains(&fraction) {
            Ok(Self(fraction))
        } else {
            Err(out_of_range(&item.at, "a fraction outside 0 to 1", WHAT))
        }
    }
    fn show(&self) -> toml::Value {
        self.0.into()
    }
}

impl<T: Read> Read for Vec<T> {
    const EXAMPLE: &'static str = "[…]";
    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::Array(items) = &item.value else { return Err(wrong_type(item, "a list")) };
        items.iter().map(T::read).collect()
    }
    fn show(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(T::show).collect())
    }
}

/// A number for each priority or class of IEEE 802.1Q.
impl Read for [u8; 8] {
    const EXAMPLE: &'static str = "[0, 1, 2, 3, 4, 5, 6, 7]";
    fn read(item: &Item) -> Result<Self, Problem> {
        const WHAT: &str = "a list of eight numbers from 0 to 255";
        let numbers = Vec::<u64>::read(item)?.into_iter().map(u8::try_from).collect::<Result<Vec<_>, _>>();
        let eight = numbers.ok().and_then(|numbers| Self::try_from(numbers).ok());
        eight.ok_or_else(|| out_of_range(&item.at, "no list of eight small numbers", WHAT))
    }
    fn show(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(|&n| i64::from(n).into()).collect())
    }
}

/// The problem that a value cannot be.
pub(crate) fn out_of_range(at: &At, what: impl Into<String>, hint: impl Into<String>) -> Problem {
    Problem::at(at, Cause::OutOfRange { what: what.into(), hint: hint.into() })
}

/// A table that is being read.
#[derive(Debug)]
pub struct Section<'a> {
    table: &'a Table,
    path: String,
    known: Vec<String>,
    resolved: toml::Table,
}

impl<'a> Section<'a> {
    /// Begins to read `table`, which the user knows as `path`.
    #[must_use]
    pub fn new(table: &'a Table, path: &str) -> Self {
        Self { table, path: path.to_owned(), known: Vec::new(), resolved: toml::Table::new() }
    }

    /// Begins to read an item that must be a table.
    ///
    /// # Errors
    /// If it is not.
    pub fn of(item: &'a Item, path: &str) -> Result<Self, Problem> {
        let Value::Table(table) = &item.value else { return Err(wrong_type(item, "a table")) };
        Ok(Self::new(table, path))
    }

    /// Its name for messages, in brackets.
    fn name(&self) -> String {
        if self.path.is_empty() { "the experiment".to_owned() } else { format!("[{}]", self.path) }
    }

    /// Where the section stands.
    #[must_use]
    pub fn at(&self) -> &'a At {
        &self.table.at
    }

    /// Where the value of `key` stands, or else the section.
    #[must_use]
    pub fn at_key(&self, key: &str) -> &'a At {
        self.table.get(key).map_or(&self.table.at, |item| &item.at)
    }

    /// The value of `key` as it stands; whoever asks also says how it is [resolved](Self::resolve).
    pub fn item(&mut self, key: &str) -> Option<&'a Item> {
        if !self.known.iter().any(|known| known == key) {
            self.known.push(key.to_owned());
        }
        self.table.get(key)
    }

    /// The value of `key`, if it is there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn optional<T: Read>(&mut self, key: &str) -> Result<Option<T>, Problem> {
        let value = self.item(key).map(T::read).transpose()?;
        if let Some(value) = &value {
            self.resolve(key, value.show());
        }
        Ok(value)
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    pub fn required<T: Read>(&mut self, key: &str) -> Result<T, Problem> {
        self.optional(key)?.ok_or_else(|| self.missing(key, T::EXAMPLE))
    }

    /// The value of `key`, or what it is taken to be.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    pub fn or<T: Read>(&mut self, key: &str, default: T) -> Result<T, Problem> {
        let value = self.optional(key)?.unwrap_or(default);
        self.resolve(key, value.show());
        Ok(value)
    }

    /// One of the `choices` by name.
    ///
    /// # Errors
    /// If the key holds no string, or one that is not a choice, or is missing where there is no default.
    pub fn choice<T: Copy>(
        &mut self,
        key: &str,
        what: &'static str,
        choices: &[(&str, T)],
        default: Option<&str>,
    ) -> Result<T, Problem> {
        let example = choices.first().map_or(String::new(), |(name, _)| format!("\"{name}\""));
        let name = match (self.optional::<String>(key)?, default) {
            (Some(name), _) => name,
            (None, Some(default)) => default.to_owned(),
            (None, None) => return Err(self.missing(key, &example)),
        };
        self.resolve(key, name.as_str());
        match choices.iter().find(|(choice, _)| *choice == name) {
            Some(&(_, choice)) => Ok(choice),
            None => {
                let known = choices.iter().map(|&(name, _)| name.to_owned()).collect();
                Err(Problem::at(self.at_key(key), Cause::UnknownName { what, name, known }))
            }
        }
    }

    /// The table at `key`.
    ///
    /// # Errors
    /// If it is there and no table.
    pub fn section(&mut self, key: &str) -> Result<Option<Section<'a>>, Problem> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.item(key).map(|item| Section::of(item, &path)).transpose()
    }

    /// Says how `key` is written in the resolved experiment.
    pub fn resolve(&mut self, key: &str, value: impl Into<toml::Value>) {
        self.resolved.insert(key.to_owned(), value.into());
    }

    /// The problem that `key` is not there, or is misspelt.
    #[must_use]
    pub fn missing(&self, key: &str, example: &str) -> Problem {
        let meant = |entry: &&Entry| {
            !self.known.contains(&entry.key) && nearest(&entry.key, std::iter::once(key)).is_some()
        };
        if let Some(entry) = self.table.entries.iter().find(meant) {
            let cause = Cause::UnknownKey {
                key: entry.key.clone(),
                section: self.name(),
                known: vec![key.to_owned()],
            };
            return Problem::at(&entry.key_at, cause);
        }
        let example = format!("{key} = {example}");
        Problem::at(self.at(), Cause::MissingKey { key: key.to_owned(), section: self.name(), example })
    }

    /// Refuses the value of `key` unless `ok`.
    ///
    /// # Errors
    /// With what is wrong and what would be right, unless `ok`.
    pub fn ensure(&self, ok: bool, key: &str, what: &str, hint: &str) -> Result<(), Problem> {
        if ok { Ok(()) } else { Err(out_of_range(self.at_key(key), what, hint)) }
    }

    /// The problem that the value of `key` does not go with something else.
    #[must_use]
    pub fn contradiction(&self, key: &str, what: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::at(self.at_key(key), Cause::Contradiction { what: what.into(), hint: hint.into() })
    }

    /// Ends the section and gives its resolved form.
    ///
    /// # Errors
    /// If a key is left that nobody asked for.
    pub fn finish(self) -> Result<toml::Table, Problem> {
        match self.table.entries.iter().find(|entry| !self.known.contains(&entry.key)) {
            None => Ok(self.resolved),
            Some(entry) => {
                let (key, section) = (entry.key.clone(), self.name());
                Err(Problem::at(&entry.key_at, Cause::UnknownKey { key, section, known: self.known }))
            }
        }
    }
}
