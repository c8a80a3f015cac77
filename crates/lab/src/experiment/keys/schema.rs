//! The declared keys as a JSON Schema. An editor uses the schema to complete and check an experiment's file.

use super::super::ROOT;
use super::{Declared, Keys, default_of};
use raddle_schemes::parameter::{Parameter, Value as Setting};
use raddle_schemes::registry::Registry;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The JSON Schema (draft 2020-12) of an experiment's file, including the parameters of all schemes in the registry.
#[must_use]
pub fn schema(registry: &Registry) -> Value {
    let mut schema = table(&ROOT, registry);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "A Raddle experiment".into();
    let parts = registry.schemes().filter(|info| !info.parameters.is_empty());
    for info in parts {
        let parameters = info.parameters.iter().map(|parameter| (parameter.name.to_owned(), of(parameter)));
        let parameters: Map<String, Value> = parameters.collect();
        schema["properties"]["scheme"]["properties"][info.name] = json!({
            "type": "object",
            "description": info.summary,
            "properties": parameters,
            "additionalProperties": false,
        });
    }
    schema
}

/// The schema of a table. If several kinds declare a key, the schema allows the values of each declaration.
fn table(keys: &'static Keys, registry: &Registry) -> Value {
    let mut declared: BTreeMap<&str, Vec<Declaration>> = BTreeMap::new();
    let mut add = |kind: Option<&'static str>, key: &'static dyn Declared| {
        let schema = value(key, registry);
        let others = declared.entry(key.name()).or_default();
        match others.iter_mut().find(|other| other.schema == schema) {
            Some(same) => same.kinds.extend(kind),
            None => others.push(Declaration { kinds: kind.into_iter().collect(), schema }),
        }
    };
    for key in keys.all() {
        add(None, key);
        for kind in key.kinds() {
            kind.keys.iter().for_each(|key| add(Some(kind.name), *key));
        }
    }
    let properties: Map<_, _> =
        declared.into_iter().map(|(name, declarations)| (name.to_owned(), any_of(declarations))).collect();
    let required: Vec<_> = keys.all().filter(|key| key.is_required()).map(Declared::name).collect();
    // A topology of another crate can have keys that are not declared here.
    let closed = keys.path != "topology";
    json!({
        "type": "object",
        "description": keys.words.trim(),
        "properties": properties,
        "required": required,
        "additionalProperties": !closed,
    })
}

/// A declaration of a key, and the kinds whose tables have the key. `kinds` is empty if tables of every kind have it.
struct Declaration {
    kinds: Vec<&'static str>,
    schema: Value,
}

/// The schema of a key with these declarations. If the declarations have different descriptions, the schema's
/// description contains each of them, after the names of the kinds to which it belongs.
fn any_of(mut declarations: Vec<Declaration>) -> Value {
    if declarations.len() == 1 {
        return declarations.swap_remove(0).schema;
    }
    let words =
        |declaration: &Declaration| declaration.schema["description"].as_str().unwrap_or_default().to_owned();
    let first = words(&declarations[0]);
    let described = |declaration: &Declaration| match declaration.kinds.join("`, `") {
        kinds if kinds.is_empty() => words(declaration),
        kinds => format!("`{kinds}`: {}", words(declaration)),
    };
    let description = if declarations.iter().all(|declaration| words(declaration) == first) {
        first
    } else {
        declarations.iter().map(described).collect::<Vec<_>>().join(" ")
    };
    let schemas: Vec<_> = declarations.into_iter().map(|declaration| declaration.schema).collect();
    json!({ "anyOf": schemas, "description": description })
}

/// The schema of a key's value.
fn value(key: &'static dyn Declared, registry: &Registry) -> Value {
    let mut schema = key.schema();
    let inner = key.inner().map(|inner| table(inner, registry));
    let names: Vec<_> = key.choices(registry).into_iter().map(|(name, _)| name).collect();
    if let Some(inner) = inner {
        schema = match schema["type"].as_str() {
            Some("array") if schema["items"]["type"] == "object" => {
                json!({ "type": "array", "items": inner })
            }
            Some("array") => json!({ "type": "array" }),
            Some(_) => inner,
            None => {
                let kinds = inner["properties"]["kind"].clone();
                json!({ "anyOf": [kinds, inner] })
            }
        };
    } else if !names.is_empty() {
        schema["enum"] = names.into();
    }
    schema["description"] = key.words().into();
    if let Some(default) = key.left_out() {
        schema["description"] = format!("{} (default: {default})", key.words()).into();
    }
    schema
}

/// The schema of a scheme's parameter.
fn of(parameter: &Parameter) -> Value {
    let kind = match parameter.default {
        Setting::Duration(_) | Setting::Rate(_) | Setting::Bytes(_) => json!({ "type": "string" }),
        Setting::Choice(_) => json!({ "enum": parameter.choices }),
        Setting::Count(_) => json!({ "type": "integer", "minimum": 0 }),
        Setting::Fraction(_) => json!({ "type": ["number", "string"] }),
        Setting::Eight(_) => {
            json!({ "type": "array", "items": { "type": "integer" }, "minItems": 8, "maxItems": 8 })
        }
        Setting::Flag(_) => json!({ "type": "boolean" }),
    };
    let mut schema = kind;
    schema["description"] = format!("{} (default: {})", parameter.doc, default_of(parameter)).into();
    schema
}
