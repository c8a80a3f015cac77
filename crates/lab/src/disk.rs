//! The free disk space for the records of runs.

use raddle_core::Bytes;
use std::io;
use std::path::Path;

/// The bytes that an unprivileged process can still write in the file system of `folder`.
///
/// # Errors
/// If the folder does not exist, or if its file system does not report the free space.
pub fn free(folder: &Path) -> io::Result<Bytes> {
    let facts = rustix::fs::statvfs(folder)?;
    Ok(Bytes(facts.f_bavail.saturating_mul(facts.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_that_exists_has_free_space() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(free(folder.path()).expect("free space").0 > 0);
        assert!(free(&folder.path().join("none")).is_err());
    }
}
