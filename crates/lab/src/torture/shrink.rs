//! Shrinks an experiment that violates a property. Each smaller experiment must violate the same property.

use super::Violation;
use super::trial::guarded_trial;
use crate::experiment::quantity;
use raddle_core::{Bytes, Duration};
use raddle_schemes::registry::Registry;
use std::sync::Arc;
use toml::{Table, Value};

/// Maximum number of experiments to try.
const ATTEMPTS: u32 = 600;

/// The path from the root to a value: keys of tables and indices of arrays.
type Path = Vec<Step>;

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Place(usize),
}

/// Makes the experiment of `violation` smaller, as long as a smaller experiment violates the same property. Tries up to
/// [`ATTEMPTS`] experiments. Returns the violation of the smallest experiment that was found.
pub(super) fn shrink(mut violation: Violation, registry: &Arc<Registry>) -> Violation {
    let mut attempts = 0;
    let mut number = 0;
    // A change succeeds if the changed experiment still violates the property. A change that failed before may succeed
    // after another change, so all changes are tried again until none succeeds.
    let mut succeeded = false;
    loop {
        let Some(smaller) = candidate(&violation.experiment, number) else {
            if !succeeded {
                return violation;
            }
            (number, succeeded) = (0, false);
            continue;
        };
        attempts += 1;
        if attempts > ATTEMPTS {
            return violation;
        }
        match guarded_trial(smaller, registry) {
            Err(other) if other.property == violation.property => {
                violation = other;
                succeeded = true;
            }
            _ => number += 1,
        }
    }
}

/// The experiment with change number `number`, counted from 0: one value is removed or made smaller. `None` if there is
/// no change with this number.
fn candidate(experiment: &Table, number: usize) -> Option<Table> {
    let mut paths = Vec::new();
    visit(&Value::Table(experiment.clone()), &mut Vec::new(), &mut paths);
    let mut left = number;
    for path in paths {
        let mut root = Value::Table(experiment.clone());
        let changes = changes(at(&mut root, &path)?);
        if left >= changes.len() {
            left -= changes.len();
            continue;
        }
        let parent = at(&mut root, &path[..path.len() - 1])?;
        match (changes.into_iter().nth(left)?, parent, path.last()?) {
            (None, Value::Table(table), Step::Key(key)) => drop(table.remove(key)),
            (None, Value::Array(items), &Step::Place(place)) => drop(items.remove(place)),
            (Some(less), Value::Table(table), Step::Key(key)) => drop(table.insert(key.clone(), less)),
            (Some(less), Value::Array(items), &Step::Place(place)) => items[place] = less,
            _ => return None,
        }
        return match root {
            Value::Table(smaller) => Some(smaller),
            _ => None,
        };
    }
    None
}

/// Collects the paths to all values. The path of a table precedes the paths of its values.
fn visit(value: &Value, path: &mut Path, paths: &mut Vec<Path>) {
    let inner: Vec<(Step, &Value)> = match value {
        Value::Table(table) => table.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, value)| (Step::Place(i), value)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in inner {
        path.push(step);
        paths.push(path.clone());
        visit(value, path, paths);
        path.pop();
    }
}

fn at<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key.as_str()),
        Step::Place(place) => value.get_mut(*place),
    })
}

/// The ways to make a value smaller: removal (`None`), half of an array, a smaller integer, a smaller size in bytes, or
/// a shorter time span.
fn changes(value: &Value) -> Vec<Option<Value>> {
    let mut changes = vec![None];
    match value {
        Value::Array(items) if items.len() > 1 => {
            let (front, back) = items.split_at(items.len() / 2);
            changes.extend([front, back].map(|half| Some(Value::Array(half.to_vec()))));
        }
        Value::Integer(number) if *number > 1 => {
            changes.push(Some(Value::Integer(number / 2)));
            changes.push(Some(Value::Integer(number - 1)));
        }
        Value::String(text) => {
            if let Ok(Bytes(bytes)) = quantity::parse::<Bytes>(text)
                && bytes > 1
            {
                changes.push(Some(Bytes(bytes / 2).to_string().into()));
            }
            if let Ok(span) = quantity::parse::<Duration>(text)
                && span > Duration::from_ps(1)
            {
                changes.push(Some((span / 2).to_string().into()));
            }
        }
        _ => {}
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let table: Table = text.parse().expect("TOML");
        (0..).map_while(|number| candidate(&table, number)).map(|table| table.to_string()).collect()
    }

    #[test]
    fn everything_is_left_out_or_halved() {
        let smaller = all("a = [1, 2]\nb = \"4 KB\"\n[c]\nd = true");
        let texts = [
            "b = \"4 KB\"\n\n[c]\nd = true\n",
            "a = [1]\nb = \"4 KB\"\n\n[c]\nd = true\n",
            "a = [2]\nb = \"4 KB\"\n\n[c]\nd = true\n",
            "a = [1, 2]\nb = \"2 KB\"\n\n[c]\nd = true\n",
            "a = [1, 2]\nb = \"4 KB\"\n\n[c]\n",
            "a = [1, 2]\nb = \"4 KB\"\n",
        ];
        for text in texts {
            assert!(
                smaller.iter().any(|other| other == text),
                "{text}\nis not among\n{}",
                smaller.join("---\n")
            );
        }
    }
}
