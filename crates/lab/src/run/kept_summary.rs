//! Reads the summary of a run from the run's directory.

use crate::Error;
use crate::run::directory::SUMMARY;
use crate::run::summary::SCHEMA_VERSION;
use serde_json::Value;
use std::fmt;
use std::path::Path;

/// Keys that every summary must have.
const KEYS: [&str; 4] = ["digest", "complete", "classes", "totals"];

/// Reads the summary in a run directory.
///
/// # Errors
/// If the file cannot be read, is not a summary, or has a schema version other than `SCHEMA_VERSION`. A summary without
/// the key `schema_version` is accepted, because it was written before this key existed.
pub fn read(directory: &Path) -> Result<Value, Error> {
    let path = directory.join(SUMMARY);
    let text = std::fs::read_to_string(&path).map_err(|error| not_a_run(&path, error))?;
    let summary: Value = serde_json::from_str(&text)
        .map_err(|error| not_a_run(&path, format!("the file is not valid JSON: {error}")))?;
    if let Some(missing) = KEYS.into_iter().find(|key| summary.get(key).is_none_or(Value::is_null)) {
        return Err(not_a_run(&path, format!("the file is not a summary: the key `{missing}` is missing")));
    }
    match summary.get("schema_version") {
        Some(found) if *found != SCHEMA_VERSION => {
            let why = format!(
                "the summary has schema version {found}, but this version of Raddle reads schema version {SCHEMA_VERSION}"
            );
            Err(not_a_run(&path, why))
        }
        _ => Ok(summary),
    }
}

/// The error about a file that is missing from a run directory or is invalid.
pub(crate) fn not_a_run(path: &Path, why: impl fmt::Display) -> Error {
    let hint = "give a directory that Raddle wrote; a run directory holds summary.json".to_owned();
    Error::Usage { what: format!("{}: {why}", path.display()), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_summaries_of_this_version_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(SUMMARY);
        let read = |text: &str| {
            fs::write(&path, text).expect("a file");
            read(folder.path()).map_err(|error| error.to_string())
        };
        let whole = |version: &str| {
            format!("{{{version} \"digest\": \"0\", \"complete\": true, \"classes\": [], \"totals\": {{}}}}")
        };
        let refused = |why: &str| Err(format!("{}: {why}", path.display()));
        assert_eq!(read("{}"), refused("the file is not a summary: the key `digest` is missing"));
        assert_eq!(read("[1]"), refused("the file is not a summary: the key `digest` is missing"));
        assert!(read("{").is_err_and(|error| error.contains("the file is not valid JSON")));
        let other = "the summary has schema version 7, but this version of Raddle reads schema version 1";
        assert_eq!(read(&whole("\"schema_version\": 7,")), refused(other));
        assert!(read(&whole("\"schema_version\": 1,")).is_ok() && read(&whole("")).is_ok());
    }
}
