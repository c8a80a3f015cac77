//! Reads a table by the declarations of its keys. A key in the table that no reader has asked for is an error. The
//! values that were read, defaults included, form the resolved table.

use super::keys::{Choices, Declared, Inner, Key, Keys, Kinded, Name, Tables};
use super::problem::{Cause, Problem, nearest};
use super::quantity::{self, Quantity};
use super::value::{At, Entry, Item, Table, Value};
use raddle_core::{Bytes, Duration, Rate};

/// A type of values that a key can have.
pub trait Read: Sized {
    /// An example of a value, as TOML.
    const EXAMPLE: &'static str;

    /// Reads a value of this type from `item`.
    ///
    /// # Errors
    /// If the item has another type, or a value that is not allowed.
    fn read(item: &Item) -> Result<Self, Problem>;

    /// The value as it is written in a resolved experiment.
    fn show(&self) -> toml::Value;

    /// The name of the type, as `raddle explain` shows it.
    fn what() -> String;

    /// The type's JSON Schema.
    fn schema() -> serde_json::Value;

    /// The value without aliases, such as `10 Gbps` for `10G`; `None` if `text` has no alias.
    #[must_use]
    fn meant(_text: &str) -> Option<String> {
        None
    }

    /// The names that values can have, each with a description; empty if values are not names.
    #[must_use]
    fn choices() -> Choices {
        Vec::new()
    }
}

/// Implements `Read::what` and `Read::schema`: the name of the type and its JSON Schema.
macro_rules! described {
    ($what:expr, $schema:tt) => {
        fn what() -> String {
            $what.to_string()
        }
        fn schema() -> serde_json::Value {
            serde_json::json!($schema)
        }
    };
}
pub(crate) use described;

/// The problem that `item` has the wrong type.
pub(crate) fn wrong_type(item: &Item, expected: &'static str) -> Problem {
    let found = match item.value {
        Value::Float(_) => item.at.text(),
        _ => item.value.kind(),
    };
    Problem::at(&item.at, Cause::WrongType { expected, found: found.to_owned() })
}

fn read_quantity<Q: Quantity>(item: &Item) -> Result<Q, Problem> {
    let Value::String(text) = &item.value else { return Err(wrong_type(item, Q::WHAT)) };
    quantity::parse(text).map_err(|error| Problem::at(&item.at, error.into()))
}

macro_rules! read_quantity {
    ($type:ty, $what:literal, $example:literal) => {
        impl Read for $type {
            const EXAMPLE: &'static str = $example;
            fn read(item: &Item) -> Result<Self, Problem> {
                read_quantity(item)
            }
            fn show(&self) -> toml::Value {
                self.to_string().into()
            }
            fn meant(text: &str) -> Option<String> {
                quantity::meant::<Self>(text)
            }
            described!($what, { "type": "string" });
        }
    };
}

read_quantity!(Rate, "rate", "\"10 Gbps\"");
read_quantity!(Duration, "time", "\"100 ns\"");
read_quantity!(Bytes, "size", "\"9 KB\"");

impl Read for u64 {
    const EXAMPLE: &'static str = "1000";
    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::Integer(integer) = item.value else { return Err(wrong_type(item, "an integer")) };
        Self::try_from(integer).map_err(|_| {
            out_of_range(
                &item.at,
                "the number must not be negative",
                "give 0 or \
         more",
            )
        })
    }
    fn show(&self) -> toml::Value {
        i64::try_from(*self).map_or_else(|_| self.to_string().into(), Into::into)
    }
    described!("integer", { "type": "integer", "minimum": 0 });
}

impl Read for u32 {
    const EXAMPLE: &'static str = "8";
    fn read(item: &Item) -> Result<Self, Problem> {
        Self::try_from(u64::read(item)?)
            .map_err(|_| out_of_range(&item.at, "the number is too large", "give less than 2^32"))
    }
    fn show(&self) -> toml::Value {
        i64::from(*self).into()
    }
    described!("integer", { "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 });
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
    described!("number", { "type": "number" });
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
    described!("true or false", { "type": "boolean" });
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
    described!("text", { "type": "string" });
}

/// A fraction from 0 to 1, written `0.05` or `"5%"`.
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
            Err(out_of_range(&item.at, "the fraction must be from 0 to 1", WHAT))
        }
    }
    fn show(&self) -> toml::Value {
        self.0.into()
    }
    described!("fraction", { "type": ["number", "string"] });
}

/// The plural of a type's name: `lists of numbers` for `list of numbers`.
fn plural(what: &str) -> String {
    what.strip_prefix("list ").map_or_else(|| format!("{what}s"), |rest| format!("lists {rest}"))
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
    fn meant(text: &str) -> Option<String> {
        T::meant(text)
    }
    described!(format_args!("list of {}", plural(&T::what())), { "type": "array", "items": (T::schema()) });
}

/// A number for each priority or class of IEEE 802.1Q.
impl Read for [u8; 8] {
    const EXAMPLE: &'static str = "[0, 1, 2, 3, 4, 5, 6, 7]";
    fn read(item: &Item) -> Result<Self, Problem> {
        const WHAT: &str = "give a list such as [0, 1, 2, 3, 4, 5, 6, 7]";
        let numbers = Vec::<u64>::read(item)?.into_iter().map(u8::try_from).collect::<Result<Vec<_>, _>>();
        let eight = numbers.ok().and_then(|numbers| Self::try_from(numbers).ok());
        eight.ok_or_else(|| out_of_range(&item.at, "the list must have eight numbers from 0 to 255", WHAT))
    }
    fn show(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(|&n| i64::from(n).into()).collect())
    }
    described!("list of eight numbers", { "type": "array", "items": { "type": "integer" }, "minItems": 8, "maxItems": 8 });
}

/// The problem that a value is not allowed. `what` is the reason, and `hint` is the advice.
pub(crate) fn out_of_range(at: &At, what: impl Into<String>, hint: impl Into<String>) -> Problem {
    Problem::at(at, Cause::OutOfRange { what: what.into(), hint: hint.into() })
}

/// A table that is read by the declarations of its keys.
#[derive(Debug)]
pub struct Section<'a> {
    table: &'a Table,
    path: String,
    /// The declarations of the keys; `None` if the keys are the parameters of a scheme.
    keys: Option<&'static Keys>,
    known: Vec<&'static str>,
    resolved: toml::Table,
}

impl<'a> Section<'a> {
    /// Begins to read `table`. `keys` declares the keys of the table.
    #[must_use]
    pub fn new(table: &'a Table, keys: &'static Keys) -> Self {
        let path = keys.path.to_owned();
        Self { table, path, keys: Some(keys), known: Vec::new(), resolved: toml::Table::new() }
    }

    /// Begins to read `item`, which must be a table. `keys` declares its keys.
    ///
    /// # Errors
    /// If `item` is not a table.
    pub fn of(item: &'a Item, keys: &'static Keys) -> Result<Self, Problem> {
        let Value::Table(table) = &item.value else { return Err(wrong_type(item, "a table")) };
        Ok(Self::new(table, keys))
    }

    /// Begins to read the table of a scheme's parameters. Messages name the table `path`.
    pub(crate) fn of_parameters(table: &'a Table, path: String) -> Self {
        Self { table, path, keys: None, known: Vec::new(), resolved: toml::Table::new() }
    }

    /// The name of the section in messages: its path in brackets, or `the experiment` if the path is empty.
    fn name(&self) -> String {
        if self.path.is_empty() { "the experiment".to_owned() } else { format!("[{}]", self.path) }
    }

    /// The position of the section in the text.
    #[must_use]
    pub fn at(&self) -> &'a At {
        &self.table.at
    }

    /// The position of the value of `key` in the text; the position of the section if the key is missing.
    #[must_use]
    pub fn at_key(&self, key: &dyn Declared) -> &'a At {
        self.at_name(key.name())
    }

    pub(crate) fn at_name(&self, name: &str) -> &'a At {
        self.table.get(name).map_or(&self.table.at, |item| &item.at)
    }

    /// The value of `key`, not yet parsed; `None` if the key is missing. The caller must set the resolved value by
    /// [`resolve`](Self::resolve).
    pub fn item(&mut self, key: &dyn Declared) -> Option<&'a Item> {
        debug_assert!(
            self.keys.is_none_or(|keys| keys.find(key.name()).is_some()),
            "`{}` is not declared in {}",
            key.name(),
            self.name()
        );
        self.named(key.name())
    }

    /// The value of the key `name`. The section records that a reader has asked for this key.
    fn named(&mut self, name: &'static str) -> Option<&'a Item> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.table.get(name)
    }

    /// True if the section has the key.
    pub fn has(&mut self, key: &dyn Declared) -> bool {
        self.item(key).is_some()
    }

    /// The value of `key`; `None` if the key is missing.
    ///
    /// # Errors
    /// If the value has another type, or the key does not allow it.
    pub fn get<T: Read>(&mut self, key: &Key<T>) -> Result<Option<T>, Problem> {
        let value = self.item(key).map(|item| key.read(item)).transpose()?;
        if let Some(value) = &value {
            self.resolve(key, value.show());
        }
        Ok(value)
    }

    /// The value of `key`; its declared default if the key is missing.
    ///
    /// # Errors
    /// If the value has another type, or the key does not allow it, or the key is missing and has no default.
    pub fn read<T: Read>(&mut self, key: &Key<T>) -> Result<T, Problem> {
        match self.get(key)?.or_else(|| key.default()) {
            Some(value) => {
                self.resolve(key, value.show());
                Ok(value)
            }
            None => Err(self.missing(key)),
        }
    }

    /// The value of `key`; `default` if the key is missing. This method is for defaults that `key` does not declare.
    ///
    /// # Errors
    /// If the value has another type, or the key does not allow it.
    pub fn or<T: Read>(&mut self, key: &Key<T>, default: T) -> Result<T, Problem> {
        let value = self.get(key)?.unwrap_or(default);
        self.resolve(key, value.show());
        Ok(value)
    }

    /// The value of the scheme parameter `name`; `default` if it is missing.
    pub(crate) fn parameter<T: Read>(&mut self, name: &'static str, default: T) -> Result<T, Problem> {
        let value = self.named(name).map(T::read).transpose()?.unwrap_or(default);
        self.resolved.insert(name.to_owned(), value.show());
        Ok(value)
    }

    /// The kind that the value of `key` names.
    ///
    /// # Errors
    /// If the value is not a string or not a kind of the key, or the key is missing and has no default.
    pub fn kind(&mut self, key: &Key<Name>) -> Result<&'static str, Problem> {
        let kinds: Vec<_> = key.kinds().iter().map(|kind| (kind.name, kind.name)).collect();
        self.choose(key, &kinds)
    }

    /// The element of `choices` that the value of `key` names.
    ///
    /// # Errors
    /// If the value is not a string or not one of the choices, or the key is missing and has no default.
    pub fn choose<T: Copy>(&mut self, key: &Key<Name>, choices: &[(&str, T)]) -> Result<T, Problem> {
        let Name(name) = self.read(key)?;
        self.chosen(key.name(), key.chosen(), name, choices)
    }

    /// The element of `choices` that the value of `key` names. If the key is missing, the element that `default` names.
    ///
    /// # Errors
    /// If the value is not a string or not one of the choices, or both the key and `default` are missing.
    pub fn choose_or<T: Copy>(
        &mut self,
        key: &Key<Name>,
        choices: &[(&str, T)],
        default: Option<&str>,
    ) -> Result<T, Problem> {
        let name = self.get(key)?.map(|Name(name)| name).or_else(|| default.map(str::to_owned));
        let Some(name) = name else { return Err(self.missing(key)) };
        self.resolve(key, name.as_str());
        self.chosen(key.name(), key.chosen(), name, choices)
    }

    /// The element of `choices` that is the value of the scheme parameter `name`; `default` if the parameter is
    /// missing.
    pub(crate) fn parameter_choice(
        &mut self,
        name: &'static str,
        choices: &'static [&'static str],
        default: &str,
    ) -> Result<&'static str, Problem> {
        let value = self.parameter(name, default.to_owned())?;
        let choices: Vec<_> = choices.iter().map(|&choice| (choice, choice)).collect();
        self.chosen(name, "choice", value, &choices)
    }

    fn chosen<T: Copy>(
        &self,
        key: &str,
        what: &'static str,
        name: String,
        choices: &[(&str, T)],
    ) -> Result<T, Problem> {
        match choices.iter().find(|(choice, _)| *choice == name) {
            Some(&(_, choice)) => Ok(choice),
            None => {
                let known = choices.iter().map(|&(name, _)| name.to_owned()).collect();
                Err(Problem::at(self.at_name(key), Cause::UnknownName { what, name, known }))
            }
        }
    }

    /// The table at `key`; `None` if the key is missing.
    ///
    /// # Errors
    /// If the value is not a table.
    pub fn section(&mut self, key: &Key<Inner>) -> Result<Option<Section<'a>>, Problem> {
        self.item(key).map(|item| Section::of(item, key.inner())).transpose()
    }

    /// The table of the parameters of `scheme`; `None` if it is missing.
    ///
    /// # Errors
    /// If the value is not a table.
    pub(crate) fn table_of(&mut self, scheme: &'static str) -> Result<Option<Section<'a>>, Problem> {
        let Some(item) = self.named(scheme) else { return Ok(None) };
        let Value::Table(table) = &item.value else { return Err(wrong_type(item, "a table")) };
        Ok(Some(Section::of_parameters(table, format!("{}.{scheme}", self.path))))
    }

    /// The tables of the list at `key`; an empty list if the key is missing.
    ///
    /// # Errors
    /// If the value is not a list of tables.
    pub fn sections(&mut self, key: &Key<Tables>) -> Result<Vec<Section<'a>>, Problem> {
        let Some(item) = self.item(key) else { return Ok(Vec::new()) };
        list(item)?.iter().map(|item| Section::of(item, key.inner())).collect()
    }

    /// The table at `key`; `None` if the key is missing. A string is read as a table with that `kind` and no other
    /// keys.
    ///
    /// # Errors
    /// If the value is neither a table nor a string.
    pub fn kinded(&mut self, key: &Key<Kinded>) -> Result<Option<Table>, Problem> {
        self.item(key).map(kinded).transpose()
    }

    /// Sets the value of `key` in the resolved table.
    pub fn resolve(&mut self, key: &dyn Declared, value: impl Into<toml::Value>) {
        self.resolve_name(key.name(), value);
    }

    pub(crate) fn resolve_name(&mut self, name: &str, value: impl Into<toml::Value>) {
        self.resolved.insert(name.to_owned(), value.into());
    }

    /// The problem that `key` is missing. If the table has an unknown key with a similar name, the message suggests
    /// `key`.
    #[must_use]
    pub fn missing(&self, key: &dyn Declared) -> Problem {
        let name = key.name();
        let meant = |entry: &&Entry| {
            !self.known.contains(&&*entry.key) && nearest(&entry.key, std::iter::once(name)).is_some()
        };
        if let Some(entry) = self.table.entries.iter().find(meant) {
            let (key, section) = (entry.key.clone(), self.name());
            let cause = Cause::UnknownKey { key, section, known: vec![name.to_owned()] };
            return Problem::at(&entry.key_at, cause);
        }
        let example = format!("{name} = {}", key.example());
        Problem::at(self.at(), Cause::MissingKey { key: name.to_owned(), section: self.name(), example })
    }

    /// Returns an error at the value of `key` unless `ok` is true.
    ///
    /// # Errors
    /// If `ok` is false. `what` is the reason, and `hint` is the advice.
    pub fn ensure(&self, ok: bool, key: &dyn Declared, what: &str, hint: &str) -> Result<(), Problem> {
        if ok { Ok(()) } else { Err(out_of_range(self.at_key(key), what, hint)) }
    }

    /// The problem that the value of `key` contradicts another setting.
    #[must_use]
    pub fn contradiction(
        &self,
        key: &dyn Declared,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        Problem::at(self.at_key(key), Cause::Contradiction { what: what.into(), hint: hint.into() })
    }

    /// Finishes reading the section, and returns the resolved table.
    ///
    /// # Errors
    /// If the table has a key that no reader asked for.
    pub fn finish(self) -> Result<toml::Table, Problem> {
        match self.table.entries.iter().find(|entry| !self.known.contains(&&*entry.key)) {
            None => Ok(self.resolved),
            Some(entry) => {
                let (key, section) = (entry.key.clone(), self.name());
                let known = self.known.into_iter().map(str::to_owned).collect();
                Err(Problem::at(&entry.key_at, Cause::UnknownKey { key, section, known }))
            }
        }
    }
}

/// The elements of a list; an error if `item` is not a list.
pub(crate) fn list(item: &Item) -> Result<&[Item], Problem> {
    let Value::Array(items) = &item.value else { return Err(wrong_type(item, "a list")) };
    Ok(items)
}

/// Reads a table such as `{ kind = "pareto", shape = 1.05 }`. A string such as `"uniform"` is read as a table with that
/// `kind` and no other keys.
fn kinded(item: &Item) -> Result<Table, Problem> {
    match &item.value {
        Value::Table(table) => Ok(table.clone()),
        Value::String(_) => {
            let kind = Entry { key: "kind".to_owned(), key_at: item.at.clone(), item: item.clone() };
            Ok(Table { entries: vec![kind], at: item.at.clone() })
        }
        _ => Err(wrong_type(item, "the name of a kind, or a table with `kind` and its parameters")),
    }
}
