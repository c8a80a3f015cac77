//! Files that grow under a temporary name.

use crate::RecordsError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file that grows under a temporary name and gets its own when it is whole. Dropped before that, it leaves nothing
/// behind.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    temporary: PathBuf,
    finished: bool,
}

impl PartFile {
    /// Begins the file that will be at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(crate) fn create(path: &Path) -> Result<(Self, File), RecordsError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".part");
        let part = Self { path: path.to_owned(), temporary: temporary.into(), finished: false };
        let file = File::create(&part.temporary).map_err(|source| part.error(source))?;
        Ok((part, file))
    }

    /// Where the file is until it is whole.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// An error of the file system with it.
    pub(crate) fn error(&self, source: std::io::Error) -> RecordsError {
        RecordsError::Io { path: self.temporary.clone(), source }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub(crate) fn finish(mut self) -> Result<(), RecordsError> {
        fs::rename(&self.temporary, &self.path)
            .map_err(|source| RecordsError::Io { path: self.path.clone(), source })?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing is lost if this fails but tidiness: the name says that the file is not whole.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
