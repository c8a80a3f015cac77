//! Files that an experiment names.

use super::keys::{Key, Name};
use super::problem::{Cause, Problem};
use super::section::Section;
use crate::{digest, input};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

/// Reads the files that an experiment names, and remembers the digest of each.
pub(crate) struct Files<'a> {
    /// The folder that paths are relative to.
    folder: &'a Path,
    digests: RefCell<Vec<String>>,
}

impl<'a> Files<'a> {
    /// Files in `folder`.
    pub(crate) fn new(folder: &'a Path) -> Self {
        Self { folder, digests: RefCell::default() }
    }

    /// The digests of the files that were read, in the order in which they were.
    pub(super) fn digests(self) -> Vec<String> {
        self.digests.into_inner()
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

    /// The file of that name, at its beginning.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        let mut file = input::open(&self.folder.join(name))?;
        let digest = digest::of_reader(&file)?;
        self.digests.borrow_mut().push(digest);
        file.rewind()?;
        Ok(file)
    }
}

/// The format of the file of that name: the one that `key` names, or the one of the name's ending. A file with another ending
/// needs the key.
pub(super) fn file_format<T: Copy>(
    section: &mut Section<'_>,
    key: &Key<Name>,
    file: &str,
    formats: &[(&'static str, &str, T)],
) -> Result<T, Problem> {
    let ending = formats.iter().find(|(_, ending, _)| file.ends_with(ending)).map(|&(name, ..)| name);
    let choices: Vec<_> = formats.iter().map(|&(name, _, format)| (name, format)).collect();
    section.choose_or(key, &choices, ending)
}
