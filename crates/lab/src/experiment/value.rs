//! TOML values that keep their positions in the text, so that a message can show the text of a wrong value.

use super::problem::{Cause, Problem};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text that contains values, such as an experiment's file or one override.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The name that messages show, such as the path that the user gave, or `--set` for an override. It is empty if no
    /// user has seen the text. Messages then name keys instead of lines.
    pub name: String,
    /// The text.
    pub text: String,
}

/// The name of the source of an override.
const OVERRIDE: &str = "--set";

/// A position in a [`Source`]: a range of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The source whose text contains the range.
    pub source: Arc<Source>,
    /// The range of bytes in the text.
    pub span: Range<usize>,
}

impl At {
    /// The text in this range.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    /// Line and column at which the range starts, both counted from 1; `None` if the source has no text or no name.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        let Source { name, text } = &*self.source;
        let before = text.get(..self.span.start).filter(|_| !text.is_empty() && !name.is_empty())?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    /// The dotted key that contains this range, in its name or in its value, such as `topology.kind` or
    /// `sweep.0.values.1`; `None` if there is no such key.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        let Source { name, text } = &*self.source;
        match Table::parse(Source { name: name.clone(), text: text.clone() }) {
            Ok(root) => root.key_of(&self.span),
            // The value of an override need not be TOML.
            Err(_) if name == OVERRIDE => text.split_once('=').map(|(key, _)| key.trim().to_owned()),
            Err(_) => None,
        }
    }

    /// True if `range` is not empty and lies within this range. Both are ranges of the same text.
    fn contains(&self, range: &Range<usize>) -> bool {
        !range.is_empty() && self.span.start <= range.start && range.end <= self.span.end
    }

    /// The position of a part of this range. `range` is the part, in bytes from the start of this range.
    #[must_use]
    pub fn within(&self, range: Range<usize>) -> Self {
        let start = self.span.start;
        Self { source: Arc::clone(&self.source), span: start + range.start..start + range.end }
    }
}

/// A value and its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The value.
    pub value: Value,
    /// The position of the value. For a table under a header, the position of the header.
    pub at: At,
}

impl Item {
    /// The value at a dotted path within this value; `None` if there is no such value. After the name of a list, the
    /// path has an index, such as `list.0.size`.
    fn find(&self, path: &str) -> Option<&Self> {
        let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        let item = match &self.value {
            Value::Table(table) => table.get(head)?,
            Value::Array(items) => items.get(head.parse::<usize>().ok()?)?,
            _ => return None,
        };
        rest.map_or(Some(item), |rest| item.find(rest))
    }

    /// The dotted path from this value to the innermost value that contains `range` of the text.
    fn key_of(&self, range: &Range<usize>) -> Option<String> {
        match &self.value {
            Value::Table(table) => table.key_of(range),
            Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| {
                let inner = item.key_of(range).map(|inner| format!("{i}.{inner}"));
                inner.or_else(|| item.at.contains(range).then(|| i.to_string()))
            }),
            _ => None,
        }
    }

    /// Parses TOML text that is written in the code, such as the default of a key.
    pub(crate) fn constant(text: &str) -> Result<Self, Problem> {
        let source = Arc::new(Source { name: "a constant".to_owned(), text: text.to_owned() });
        let at = At { source: Arc::clone(&source), span: 0..text.len() };
        let value = DeValue::parse(text).map_err(|error| syntax(&error, &source))?;
        item(value.get_ref(), at)
    }

    /// True if the value comes from an override.
    fn is_override(&self) -> bool {
        self.at.source.name == OVERRIDE
    }
}

/// A TOML value. Dates are not supported.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A list.
    Array(Vec<Item>),
    /// Keys and values.
    Table(Table),
}

impl Value {
    /// The name of the value's type with its article, such as `a list`, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "a boolean",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// One key of a table, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The position of the key.
    pub key_at: At,
    /// The value, with its position.
    pub item: Item,
}

/// A TOML table. The keys are in the order of the text. Keys that [`Table::set`] adds come last.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The entries. No key occurs twice.
    pub entries: Vec<Entry>,
    /// The position of the table's header or braces, if the text has them.
    pub at: At,
}

impl Table {
    /// Reads a TOML document.
    ///
    /// # Errors
    /// If the text is not TOML, or contains a date, an integer that does not fit `i64`, or a number that is not finite.
    pub fn parse(source: Source) -> Result<Self, Problem> {
        let source = Arc::new(source);
        let at = At { source: Arc::clone(&source), span: 0..0 };
        let document = DeTable::parse(&source.text).map_err(|error| syntax(&error, &source))?;
        table(document.get_ref(), at)
    }

    /// The entry of `key`.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Item> {
        self.entry(key).map(|entry| &entry.item)
    }

    /// The dotted path of the innermost key that contains `range` of the text, in its name or in its value.
    fn key_of(&self, range: &Range<usize>) -> Option<String> {
        self.entries.iter().find_map(|Entry { key, key_at, item }| {
            let inner = item.key_of(range).map(|inner| format!("{key}.{inner}"));
            let is_here = key_at.contains(range) || item.at.contains(range);
            inner.or_else(|| is_here.then(|| key.clone()))
        })
    }

    /// Puts `item` at a dotted path such as `scheme.transport`, in place of any existing value. Missing tables on the
    /// path are created. After the name of a list, the path has an index, such as `list.0`.
    ///
    /// # Errors
    /// If the path leads through a value that is neither a table nor a list, through a list directly within a list, or
    /// to an index that a list does not have.
    pub fn set(&mut self, path: &str, key_at: &At, item: Item) -> Result<(), Problem> {
        let not_a_table = |at: &At, found: &Value| {
            Problem::at(at, Cause::WrongType { expected: "a table", found: found.kind().to_owned() })
        };
        let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        let position = self.entries.iter().position(|entry| entry.key == head).unwrap_or_else(|| {
            let table = Self { entries: Vec::new(), at: key_at.clone() };
            let item = Item { value: Value::Table(table), at: key_at.clone() };
            self.entries.push(Entry { key: head.to_owned(), key_at: key_at.clone(), item });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[position];
        let Some(rest) = rest else {
            entry.key_at = key_at.clone();
            entry.item = item;
            return Ok(());
        };
        match &mut entry.item.value {
            Value::Table(table) => table.set(rest, key_at, item),
            Value::Array(items) => {
                let (index, rest) = rest.split_once('.').unwrap_or((rest, ""));
                match index.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                    Some(element) if rest.is_empty() => *element = item,
                    Some(Item { value: Value::Table(table), .. }) => table.set(rest, key_at, item)?,
                    Some(Item { value, .. }) => return Err(not_a_table(key_at, value)),
                    None => {
                        let known = (0..items.len()).map(|i| i.to_string()).collect();
                        let name = index.to_owned();
                        return Err(Problem::at(key_at, Cause::UnknownName { what: "element", name, known }));
                    }
                }
                Ok(())
            }
            other => Err(not_a_table(key_at, other)),
        }
    }

    /// True if the value at a dotted path comes from an override.
    pub(super) fn is_overridden(&self, path: &str) -> bool {
        let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        let item = self.get(head).and_then(|item| rest.map_or(Some(item), |rest| item.find(rest)));
        item.is_some_and(Item::is_override)
    }

    /// Applies one override of the form `key=value`. The value is read as TOML. A value that is not valid TOML is
    /// used as a string.
    ///
    /// # Errors
    /// If there is no `=`, if the value is a date, an integer that does not fit `i64` or a number that is not finite,
    /// or if [`Self::set`] refuses the key.
    pub fn set_from(&mut self, assignment: &str) -> Result<(), Problem> {
        let source = Arc::new(Source { name: OVERRIDE.to_owned(), text: assignment.to_owned() });
        let whole = At { source, span: 0..assignment.len() };
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(Problem::at(&whole, Cause::BadOverride));
        };
        let value_at = whole.within(key.len() + 1..assignment.len());
        let key_at = whole.within(0..key.trim_end().len());
        let item = match DeValue::parse(value) {
            Ok(parsed) => item(parsed.get_ref(), value_at)?,
            Err(_) => Item { value: Value::String(value.trim().to_owned()), at: value_at },
        };
        self.set(key.trim(), &key_at, item)
    }
}

fn syntax(error: &toml::de::Error, source: &Arc<Source>) -> Problem {
    let span = error.span().unwrap_or_default();
    Problem::at(&At { source: Arc::clone(source), span }, Cause::Syntax(error.message().to_owned()))
}

fn table(table: &DeTable<'_>, at: At) -> Result<Table, Problem> {
    let mut entries = table
        .iter()
        .map(|(key, value)| {
            let key_at = At { source: Arc::clone(&at.source), span: key.span() };
            let item = spanned(value, &at)?;
            Ok(Entry { key: key.get_ref().to_string(), key_at, item })
        })
        .collect::<Result<Vec<_>, Problem>>()?;
    entries.sort_by_key(|entry| entry.key_at.span.start);
    Ok(Table { entries, at })
}

fn spanned(value: &Spanned<DeValue<'_>>, parent: &At) -> Result<Item, Problem> {
    let at = At { source: Arc::clone(&parent.source), span: value.span() };
    item(value.get_ref(), at)
}

fn item(value: &DeValue<'_>, at: At) -> Result<Item, Problem> {
    let refuse = |what: &str, hint: &str| {
        Problem::at(&at, Cause::OutOfRange { what: what.to_owned(), hint: hint.to_owned() })
    };
    let value = match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map(Value::Integer).map_err(|_| {
                refuse(
                    "the integer does not fit into a signed 64-bit number",
                    "give an integer from -2^63 to 2^63 - 1",
                )
            })?
        }
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => return Err(refuse("the number must be finite", "give a finite number")),
        },
        DeValue::Boolean(boolean) => Value::Boolean(*boolean),
        DeValue::Datetime(_) => {
            return Err(refuse(
                "dates are not allowed: no key of an experiment takes a date",
                "give a time span, such as \"100 ns\"",
            ));
        }
        DeValue::Array(array) => {
            Value::Array(array.iter().map(|item| spanned(item, &at)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => Value::Table(table(entries, at.clone())?),
    };
    Ok(Item { value, at })
}
