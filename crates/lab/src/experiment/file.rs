//! Files that an experiment names.

use super::keys::{Key, Name};
use super::problem::{Cause, Problem};
use super::section::{Section, out_of_range};
use crate::{digest, input};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek};
use std::path::PathBuf;

/// Reads the files that an experiment names, and keeps the digest of each.
pub(crate) struct Files {
    /// The folder to which the paths of the files are relative.
    folder: PathBuf,
    digests: RefCell<Vec<String>>,
}

impl Files {
    /// A reader of files whose paths are relative to `folder`.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, digests: RefCell::default() }
    }

    /// The folder, and the digests of the files that were read, in the order of reading.
    pub(super) fn into_parts(self) -> (PathBuf, Vec<String>) {
        (self.folder, self.digests.into_inner())
    }

    /// The name and text of the file that `key` names.
    pub(super) fn read(
        &self,
        section: &mut Section<'_>,
        key: &Key<String>,
    ) -> Result<(String, String), Problem> {
        let file: String = section.read(key)?;
        match input::read_to_string(&self.folder.join(&file)) {
            Ok(text) => {
                self.digests.borrow_mut().push(digest::of_bytes(text.as_bytes()));
                Ok((file, text))
            }
            Err(error) => {
                Err(Problem::at(section.at_key(key), Cause::Unreadable { file, why: error.to_string() }))
            }
        }
    }

    /// Opens the file `name`, and keeps its digest. The returned file is rewound to its start.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        let mut file = input::open(&self.folder.join(name))?;
        let digest = digest::of_reader(&file)?;
        self.digests.borrow_mut().push(digest);
        file.rewind()?;
        Ok(file)
    }
}

/// The format of `file`: the value of `key` if it is given, otherwise the format that belongs to the file name's
/// ending. A file with an unknown ending needs the key.
pub(super) fn file_format<T: Copy>(
    section: &mut Section<'_>,
    key: &Key<Name>,
    file: &str,
    formats: &[(&'static str, &str, T)],
) -> Result<T, Problem> {
    let ending = formats.iter().find(|(_, ending, _)| file.ends_with(ending)).map(|&(name, ..)| name);
    if ending.is_none() && !section.has(key) {
        let endings: Vec<_> =
            formats.iter().map(|(name, ending, _)| format!("format = \"{name}\" ({ending})")).collect();
        let what = format!("Raddle cannot tell the format of `{file}` from its name");
        let endings = endings.join(", ");
        let hint = format!("add one of these keys, or give the file the ending in parentheses: {endings}");
        return Err(out_of_range(section.at(), what, hint));
    }
    let choices: Vec<_> = formats.iter().map(|&(name, _, format)| (name, format)).collect();
    section.choose_or(key, &choices, ending)
}
