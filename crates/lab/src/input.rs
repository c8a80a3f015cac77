//! Opens and reads files that the user names. Only regular files are allowed.
//!
//! Inputs are read more than once (for their digest, and by each rank of a program), and reading must end. A FIFO can
//! be read only once and may never have a writer. A device may have no end.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Opens an input.
///
/// # Errors
/// If the file cannot be opened, or is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a FIFO would wait for a writer, so the type is checked first. It is checked again after opening, since
    // the file may have been replaced.
    refuse_other_kinds(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    refuse_other_kinds(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads all bytes of an input.
///
/// # Errors
/// If the file cannot be read, or is not a regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads an input as text.
///
/// # Errors
/// If the file cannot be read, is not UTF-8, or is not a regular file.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn refuse_other_kinds(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let what = format!("{} cannot be an input; use a regular file", name(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_dir() { "a directory" } else { "a device" }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.toml");
        fs::write(&path, "text").expect("a file");
        assert_eq!(read_to_string(&path).expect("a regular file"), "text");
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
        assert!(made.success());
        let refused = |path: &Path| read(path).expect_err("refused").to_string();
        assert_eq!(refused(&fifo), "a FIFO cannot be an input; use a regular file");
        assert_eq!(refused(Path::new("/dev/zero")), "a device cannot be an input; use a regular file");
        assert_eq!(refused(folder.path()), "a directory cannot be an input; use a regular file");
    }
}
