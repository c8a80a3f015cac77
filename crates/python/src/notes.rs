//! Collects the warnings of runs, which become Python warnings.

use pyo3::prelude::*;
use raddle_lab::Error;
use raddle_lab::lint::Warning;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Warnings of runs, for Python's module `warnings`. Equal warnings are kept once.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub(crate) fn add(&self, note: String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    pub(crate) fn renamed(&self, from: &Path, to: &Path) {
        self.add(raddle_lab::told_renamed(from, to));
    }

    pub(crate) fn warned(&self) -> impl Fn(&str, &[Warning]) -> Result<(), Error> + Sync {
        |_: &str, warnings: &[Warning]| {
            warnings.iter().for_each(|warning| self.add(warning.to_string()));
            Ok(())
        }
    }

    pub(crate) fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let category = py.import("raddle.errors")?.getattr("RaddleWarning")?;
        let warn = py.import("warnings")?.getattr("warn")?;
        // Level 1 of the stack is the Python function of the package that called the native module. The warning is
        // shown for level 2, the caller of that Python function.
        for note in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            warn.call1((note, &category, 2))?;
        }
        Ok(())
    }
}
