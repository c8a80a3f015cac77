//! Tests of the declarations of keys: defaults and examples can be read, the page in the book is current, and the
//! schema describes the experiments that Raddle ships.

use super::super::ROOT;
use super::{page, schema};
use raddle_schemes::registry::Registry;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn the_page_of_all_keys_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/keys.md");
    let page = page(&Registry::builtin());
    if std::env::var_os("RADDLE_WRITE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "RADDLE_WRITE=1 cargo test -p raddle-lab --lib page_of_all_keys writes docs/src/keys.md anew"
    );
}

#[test]
fn defaults_and_examples_of_all_keys_can_be_read() {
    let mut left = vec![&ROOT];
    let mut seen: Vec<*const super::Keys> = Vec::new();
    let mut keys = 0;
    while let Some(table) = left.pop() {
        if seen.contains(&std::ptr::from_ref(table)) {
            continue;
        }
        seen.push(table);
        for key in table.all().flat_map(|key| {
            std::iter::once(key).chain(key.kinds().iter().flat_map(|kind| kind.keys.iter().copied()))
        }) {
            key.check();
            assert!(key.words().ends_with(['.', ')', '`']), "{}.{}: {}", table.path, key.name(), key.words());
            left.extend(key.inner());
            keys += 1;
        }
    }
    assert!(keys > 200, "only {keys} keys are declared");
}

#[test]
fn the_schema_describes_every_key() {
    fn check(schema: &Value, path: &str) {
        schema["anyOf"].as_array().into_iter().flatten().for_each(|schema| check(schema, path));
        if schema["items"].is_object() {
            check(&schema["items"], path);
        }
        for (name, key) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            assert!(key["description"].as_str().is_some_and(|words| !words.is_empty()), "{path}");
            check(key, &path);
        }
    }
    let schema = schema(&Registry::builtin());
    check(&schema, "");
    let k = schema["properties"]["topology"]["properties"]["k"]["description"].as_str().unwrap();
    assert!(k.starts_with("`fat_tree`: Number of ports of each switch."), "{k}");
    assert!(k.contains(" `k_ary_n_tree`: Number of children"), "{k}");
}

/// Adds to `found` each path at which `value` does not match `schema`, with the reason. Checks only the JSON
/// Schema keywords `anyOf`, `type`, `enum`, `minimum`, `maximum`, `items`, `required`, `properties` and
/// `additionalProperties`.
fn misfits(value: &Value, schema: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = |schema: &&Value| {
            let mut found = Vec::new();
            misfits(value, schema, path, &mut found);
            found.is_empty()
        };
        if !any.iter().any(|schema| fits(&schema)) {
            found.push(format!("{path}: fits none of {}", schema["anyOf"]));
        }
        return;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => value.is_number(),
    };
    if !types.is_empty() && !types.iter().any(is) {
        return found.push(format!("{path}: {value} is none of {types:?}"));
    }
    if schema["enum"].as_array().is_some_and(|names| !names.contains(value)) {
        found.push(format!("{path}: {value} is none of {}", schema["enum"]));
    }
    let beyond = |bound: &Value, is: fn(f64, f64) -> bool| {
        value.as_f64().zip(bound.as_f64()).is_some_and(|(value, bound)| is(value, bound))
    };
    if beyond(&schema["minimum"], |value, least| value < least)
        || beyond(&schema["maximum"], |value, most| value > most)
    {
        found.push(format!("{path}: {value} is out of range"));
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        misfits(item, &schema["items"], &format!("{path}[{i}]"), found);
    }
    let Some(object) = value.as_object() else { return };
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(key) {
            found.push(format!("{path} lacks {key}"));
        }
    }
    for (key, value) in object {
        match schema["properties"].get(key) {
            Some(schema) => misfits(value, schema, &format!("{path}.{key}"), found),
            None if schema["additionalProperties"] == false => found.push(format!("{path}.{key} is unknown")),
            None => {}
        }
    }
}

/// Adds all TOML files below a folder to `found`.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn the_schema_describes_all_experiments_that_raddle_ships() {
    let (root, mut found) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), Vec::new());
    for folder in ["papers", "docs/examples"] {
        files(&root.join(folder), &mut found);
    }
    let schema = schema(&Registry::builtin());
    let mut experiments = 0;
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let value: Value = toml::from_str(&text).unwrap();
        if value["statement"].is_array() {
            continue; // A paper's list of statements is not an experiment.
        }
        let mut found = Vec::new();
        misfits(&value, &schema, "", &mut found);
        assert!(found.is_empty(), "{}: {found:#?}", path.display());
        experiments += 1;
    }
    assert!(experiments > 100, "only {experiments} experiments were checked");
}

#[test]
fn the_schema_refuses_the_same_experiments_as_the_reader() {
    let schema = schema(&Registry::builtin());
    let misfits = |text: &str| {
        let mut found = Vec::new();
        misfits(&toml::from_str(text).unwrap(), &schema, "", &mut found);
        found
    };
    let topology =
        "topology = { kind = \"torus\", dims = [4, 4], link_rate = \"1 Gbps\", link_delay = \"1 us\" }\n";
    assert!(misfits(topology).is_empty());
    for wrong in [
        "engine = { seeds = 1 }",
        "engine = { kind = \"pcket\" }",
        "engine = { seed = -1 }",
        "engine = { grid = 1 }",
        "workload = { priority = 16 }",
        "scheme = { routing = \"ecmp\" }",
        "scheme = { transport = \"r2c2\", r2c2 = { hedroom = 0.1 } }",
    ] {
        assert!(!misfits(&format!("{topology}{wrong}")).is_empty(), "{wrong}");
    }
}
