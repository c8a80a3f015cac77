//! `python/raddle/keys.py` holds the types of an experiment's tables. The file is generated from the declared keys.
//! This test fails if the file differs from the generated text. `RADDLE_WRITE=1 cargo test -p raddle-python --test
//! keys` writes the file.

use raddle_lab::experiment::keys::schema;
use raddle_schemes::registry::Registry;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = r#""""The types of an experiment's tables, generated from the declared keys. Do not edit.

`RADDLE_WRITE=1 cargo test -p raddle-python --test keys` writes this file.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from ._routing import Routing
"#;

/// Keywords of Python that could be names of keys.
const KEYWORDS: [&str; 7] = ["as", "class", "for", "from", "if", "in", "is"];

#[test]
fn types_of_tables_are_those_of_the_declared_keys() {
    let mut types = Types { text: HEAD.to_owned(), names: HashMap::new() };
    let root = types.of("Root", &schema(&Registry::builtin()));
    assert_eq!(root, "Root");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/raddle/keys.py");
    if std::env::var_os("RADDLE_WRITE").is_some() {
        std::fs::write(&path, &types.text).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the file exists");
    assert!(kept == types.text, "keys.py is old; write it with RADDLE_WRITE=1");
}

/// The text of the Python module under construction. The class of a table follows the classes of the tables that it
/// contains.
struct Types {
    text: String,
    /// The name of each table's class, indexed by the text of its keys. Tables with equal keys in several places share one
    /// class.
    names: HashMap<String, String>,
}

impl Types {
    /// The type of values with this schema. A table becomes a class called `name`.
    fn of(&mut self, name: &str, schema: &Value) -> String {
        if let Some(any) = schema["anyOf"].as_array() {
            return self.union(name, any);
        }
        if let Some(choices) = schema["enum"].as_array() {
            let choices: Vec<_> = choices.iter().map(Value::to_string).collect();
            return format!("Literal[{}]", choices.join(", "));
        }
        match &schema["type"] {
            Value::Array(kinds) => {
                let kinds: Vec<_> = kinds.iter().map(|kind| serde_json::json!({ "type": kind })).collect();
                self.union(name, &kinds)
            }
            Value::String(kind) => match kind.as_str() {
                "string" => "str".to_owned(),
                "integer" => "int".to_owned(),
                "number" => "float".to_owned(),
                "boolean" => "bool".to_owned(),
                "array" if schema["items"].is_object() => {
                    format!("list[{}]", self.of(name, &schema["items"]))
                }
                "array" => "list[Any]".to_owned(),
                "object" => match schema["properties"].as_object() {
                    Some(keys) => self.table(name, schema, keys),
                    None => "dict[str, Any]".to_owned(),
                },
                other => panic!("no type for `{other}`"),
            },
            _ => "Any".to_owned(),
        }
    }

    fn union(&mut self, name: &str, schemas: &[Value]) -> String {
        let mut kinds: Vec<String> = Vec::new();
        for (i, schema) in schemas.iter().enumerate() {
            let name = if i == 0 { name.to_owned() } else { format!("{name}{}", i + 1) };
            let kind = self.of(&name, schema);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.iter().any(|kind| kind == "Any") { "Any".to_owned() } else { kinds.join(" | ") }
    }

    fn table(&mut self, name: &str, schema: &Value, keys: &Map<String, Value>) -> String {
        let inner = |key: &str| if name == "Root" { camel(key) } else { format!("{name}{}", camel(key)) };
        // Tables of `compute` reuse other tables. These other tables come first, so that they determine the names of
        // the classes.
        let mut keys: Vec<_> = keys.iter().collect();
        keys.sort_by_key(|(key, _)| *key == "compute");
        let keys: Vec<(&String, String, &Value)> = keys
            .into_iter()
            .map(|(key, schema)| {
                let kind = self.of(&inner(key), schema);
                // A routing can be given by its class instead of its name.
                let is_routing = name == "Scheme" && key == "routing";
                let kind = if is_routing { format!("{kind} | type[Routing]") } else { kind };
                (key, kind, &schema["description"])
            })
            .collect();
        let words = schema["description"].as_str().unwrap_or("The tables of an experiment.");
        // A key with a hyphen, such as `tcp-newreno`, or a keyword of Python cannot be an attribute of a class.
        let is_class =
            keys.iter().all(|(key, ..)| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
                && keys.iter().all(|(key, ..)| !KEYWORDS.contains(&key.as_str()));
        let mut text = String::new();
        if is_class {
            for (key, kind, words) in keys {
                let _ = write!(text, "\n    {key}: {kind}\n");
                if let Some(words) = words.as_str().filter(|words| !words.is_empty()) {
                    let _ = writeln!(text, "    \"\"\"{}\"\"\"", escaped(words));
                }
            }
        } else {
            for (key, kind, words) in keys {
                let words = words.as_str().unwrap_or_default().replace('\n', " ");
                let _ = write!(text, "        # {words}\n        \"{key}\": {kind},\n");
            }
        }
        if let Some(same) = self.names.get(&text) {
            return same.clone();
        }
        let _ = if is_class {
            let words = escaped(words);
            write!(self.text, "\n\nclass {name}(TypedDict, total=False):\n    \"\"\"{words}\"\"\"\n{text}")
        } else {
            write!(
                self.text,
                "\n\n{name} = TypedDict(\n    \"{name}\",\n    {{\n{text}    }},\n    total=False,\n)\n"
            )
        };
        self.names.insert(text, name.to_owned());
        name.to_owned()
    }
}

/// Converts the name of a key to a part of a class's name: `min_rto` becomes `MinRto`.
fn camel(key: &str) -> String {
    let words = key.split(['_', '-', '.']);
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Prepares a text to stand between triple quotes.
fn escaped(words: &str) -> String {
    let words = words.trim().replace('\\', "\\\\");
    if words.ends_with('"') { format!("{words} ") } else { words }
}
