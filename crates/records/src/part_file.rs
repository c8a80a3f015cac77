//! Files that get their final name only when they are complete.
//!
//! A file is created in its final folder, under a random name that no other file has and that cannot be guessed. It is
//! written, synced, and then renamed. At any time, the final name refers either to the whole earlier file, if there was
//! one, or to the whole new file.

use crate::RecordsError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Prefix of temporary names.
const PREFIX: &str = ".part-";

/// A file that is written under a temporary name and gets its final name when it is complete. If it is dropped before
/// `finish`, it is removed.
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    temporary: NamedTempFile,
}

impl PartFile {
    /// Creates the temporary file for the file at `path`. Both files have the same extension. If `path` is a symbolic
    /// link, the new file replaces the link's target.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, RecordsError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let ending = path.extension().map(|ending| format!(".{}", ending.display())).unwrap_or_default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(PREFIX).suffix(&ending);
        // Temporary files are private by default, but this file becomes an ordinary file with ordinary permissions.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|source| RecordsError::Io { path: path.clone(), source })?;
        Ok(Self { path, temporary })
    }

    /// Returns the temporary path of the file.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Adds this file's path to an error of the file system.
    pub(crate) fn error(&self, source: std::io::Error) -> RecordsError {
        RecordsError::Io { path: self.path.clone(), source }
    }

    /// Syncs the file and gives it its final name.
    ///
    /// # Errors
    /// If the file cannot be synced or renamed.
    pub fn finish(self) -> Result<(), RecordsError> {
        let Self { path, temporary } = self;
        let failed = |source| RecordsError::Io { path: path.clone(), source };
        temporary.as_file().sync_all().map_err(failed)?;
        temporary.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Writes a whole file. A `path` that is not a regular file, such as `/dev/stdout`, is written to directly.
///
/// # Errors
/// If the file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordsError> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return fs::write(path, bytes).map_err(|source| RecordsError::Io { path: path.to_owned(), source });
    }
    let part = PartFile::create(path)?;
    part.file().write_all(bytes).map_err(|source| part.error(source))?;
    part.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect()
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("table.csv");
        write_file(&path, b"old").expect("written");
        let part = PartFile::create(&path).expect("created");
        part.file().write_all(b"new, half").expect("written");
        assert!(part.temporary().extension().is_some_and(|ending| ending == "csv"));
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        drop(part);
        assert_eq!(names(folder.path()), ["table.csv"]);
        write_file(&path, b"new").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        assert_eq!(names(folder.path()), ["table.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_still_points_to_the_file_that_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file.csv"), folder.path().join("link.csv"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        write_file(&link, b"new").expect("written");
        assert_eq!(fs::read(&file).expect("a file"), b"new");
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_as_readable_as_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_file(&ours, b"").expect("written");
        fs::write(&plain, "").expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn a_folder_is_not_replaced_by_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let taken = folder.path().join("taken.svg");
        fs::create_dir(&taken).expect("created");
        assert!(write_file(&taken, b"x").is_err());
        assert!(PartFile::create(&taken).expect("created").finish().is_err());
        assert_eq!(names(folder.path()), ["taken.svg"]);
    }
}
