//! Types of values that are tables with declared keys, and a type for values of any kind.

use super::super::problem::Problem;
use super::super::section::{Read, wrong_type};
use super::super::value::{Item, Value};
use serde_json::json;

/// A table, `[key]`.
#[derive(Debug, Clone, Copy)]
pub struct Inner;

/// A list of tables, `[[key]]`.
#[derive(Debug, Clone, Copy)]
pub struct Tables;

/// A table such as `{ kind = "pareto", shape = 1.05 }`. A string such as `"uniform"` stands for a table with that
/// `kind` and no other keys.
#[derive(Debug, Clone, Copy)]
pub struct Kinded;

macro_rules! nested {
    ($type:ty, $pattern:pat, $what:literal, $example:literal, $schema:tt) => {
        impl Read for $type {
            const EXAMPLE: &'static str = $example;

            fn read(item: &Item) -> Result<Self, Problem> {
                let fits = matches!(&item.value, $pattern);
                if fits { Ok(Self) } else { Err(wrong_type(item, $what)) }
            }

            fn show(&self) -> toml::Value {
                toml::Table::new().into()
            }

            fn what() -> String {
                $what.to_owned()
            }

            fn schema() -> serde_json::Value {
                json!($schema)
            }
        }
    };
}

nested!(Inner, Value::Table(_), "a table", "{ … }", { "type": "object" });
nested!(Tables, Value::Array(_), "a list", "[{ … }]", { "type": "array", "items": { "type": "object" } });
nested!(
    Kinded,
    Value::Table(_) | Value::String(_),
    "the name of a kind, or a table with `kind` and its parameters",
    "{ kind = \"…\" }",
    { "type": ["string", "object"] }
);

/// A value of any type. The code that reads the value checks it.
#[derive(Debug, Clone, Copy)]
pub struct Any;

nested!(Any, _, "value", "…", {});
