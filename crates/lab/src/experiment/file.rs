//! Files that an experiment names.

use super::problem::{Cause, Problem};
use super::section::Section;
use std::path::Path;

/// The name and text of the file that the key `file` names.
pub(super) fn read_file(section: &mut Section<'_>, folder: &Path) -> Result<(String, String), Problem> {
    let file: String = section.required("file")?;
    match std::fs::read_to_string(folder.join(&file)) {
        Ok(text) => Ok((file, text)),
        Err(error) => {
            Err(Problem::at(section.at_key("file"), Cause::Unreadable { file, why: error.to_string() }))
        }
    }
}

/// The format of the file of that name: the key `format`, or after its ending. A file of another ending must have it
/// said.
pub(super) fn file_format<T: Copy>(
    section: &mut Section<'_>,
    file: &str,
    formats: &[(&'static str, &str, T)],
) -> Result<T, Problem> {
    let ending = formats.iter().find(|(_, ending, _)| file.ends_with(ending)).map(|&(name, ..)| name);
    let choices: Vec<_> = formats.iter().map(|&(name, _, format)| (name, format)).collect();
    section.choice("format", "format", &choices, ending)
}
