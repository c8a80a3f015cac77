//! Mutates valid experiments. Parsing a mutated experiment never panics, and every error has a message. Errors in valid
//! TOML also have a position in the text.

use raddle_lab::experiment::Document;
use raddle_mutate::{Mutator, hold};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the experiments in a folder of the repository and in its subfolders.
fn experiments(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(experiments(&path));
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push((path.clone(), fs::read_to_string(&path).expect("a text")));
        }
    }
    found
}

#[test]
fn no_experiment_makes_its_reader_panic() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all: Vec<_> =
        ["docs/examples", "papers"].into_iter().flat_map(|folder| experiments(&root.join(folder))).collect();
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    assert!(texts.len() > 60, "{} experiments", texts.len());
    let check = |text: &String| {
        let document = match Document::parse("hostile.toml", text.clone(), PathBuf::new()) {
            Ok(document) => document,
            Err(problem) => {
                assert!(!problem.to_string().is_empty());
                return false;
            }
        };
        match document.experiment() {
            // A resolved experiment is valid TOML and resolves to itself.
            Ok(experiment) => {
                let text = experiment.resolved.to_string();
                let again = Document::parse("resolved.toml", text.clone(), PathBuf::new()).expect(&text);
                let again = again.experiment().unwrap_or_else(|problem| panic!("{problem}\n{text}"));
                assert!(again.resolved == experiment.resolved, "{text}\n{}", again.resolved);
                true
            }
            Err(problem) => {
                let (text, span) = (&problem.at.source.text, &problem.at.span);
                assert!(!problem.to_string().is_empty());
                assert!(span.start <= span.end && span.end <= text.len(), "{problem}");
                false
            }
        }
    };
    let inputs = 10_000;
    let read = hold(inputs, |mutator: &mut Mutator| mutator.text(&texts), check, String::clone);
    assert!(read > inputs / 100, "{read} of {inputs} experiments are read");
}
