//! Types whose values are written as names.

use super::super::problem::{Cause, Problem};
use super::super::section::{Read, wrong_type};
use super::super::value::{Item, Value};
use super::Choices;
use serde_json::json;

/// A type whose values are written as names, such as the engines.
pub trait Named: Copy + PartialEq + 'static {
    /// The word that messages use for the names, as in "unknown placement `name`".
    const WHAT: &'static str;
    /// The names, each with its value and description.
    const ALL: &'static [(&'static str, Self, &'static str)];
}

impl<T: Named> Read for T {
    const EXAMPLE: &'static str = "\"…\"";

    fn read(item: &Item) -> Result<Self, Problem> {
        let Value::String(name) = &item.value else { return Err(wrong_type(item, "a string")) };
        T::ALL.iter().find(|(known, ..)| known == name).map(|&(_, value, _)| value).ok_or_else(|| {
            let known = T::ALL.iter().map(|&(name, ..)| name.to_owned()).collect();
            Problem::at(&item.at, Cause::UnknownName { what: T::WHAT, name: name.clone(), known })
        })
    }

    fn show(&self) -> toml::Value {
        T::ALL.iter().find(|(_, value, _)| value == self).map_or("", |&(name, ..)| name).into()
    }

    fn what() -> String {
        "name".to_owned()
    }

    fn schema() -> serde_json::Value {
        json!({ "type": "string" })
    }

    fn choices() -> Choices {
        T::ALL.iter().map(|&(name, _, words)| (name.to_owned(), words)).collect()
    }
}

/// A name as the value of a key, such as the name of a kind or of a scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(pub String);

impl Read for Name {
    const EXAMPLE: &'static str = "\"…\"";

    fn read(item: &Item) -> Result<Self, Problem> {
        String::read(item).map(Self)
    }

    fn show(&self) -> toml::Value {
        self.0.as_str().into()
    }

    fn what() -> String {
        "name".to_owned()
    }

    fn schema() -> serde_json::Value {
        json!({ "type": "string" })
    }
}
