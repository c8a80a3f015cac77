//! SHA-256 digests of the data and the program from which results come, as hexadecimal text.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

/// The digest of bytes in memory.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

/// The digest of all bytes of a reader.
pub(crate) fn of_reader(mut reader: impl Read) -> io::Result<String> {
    let mut sha = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hex(sha.finalize().as_slice())),
            Ok(read) => sha.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The digest of a file.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    of_reader(File::open(path)?)
}

/// The digest of the running executable. If `loaded_from` has set a library file, the digest of that file instead. Two
/// builds of the same version can come from different sources, such as a working tree with changes. The digest
/// distinguishes such builds.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn of_program() -> io::Result<&'static str> {
    static PROGRAM: LazyLock<io::Result<String>> = LazyLock::new(|| match LIBRARY.get() {
        Some(library) => of_file(library),
        None => of_file(&executable()?),
    });
    PROGRAM.as_deref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

/// The file of the library that contains this code, if another program has loaded it.
static LIBRARY: OnceLock<PathBuf> = OnceLock::new();

/// Sets the library file from which another program, such as the Python interpreter, has loaded this code. The digest
/// of the running program is then the digest of this library file and not of the executable. Only the first call has an
/// effect. It must come before the first run.
pub fn loaded_from(library: PathBuf) {
    let _ = LIBRARY.set(library);
}

/// On Linux this path leads to the running executable, even if its file has been replaced since the start.
#[cfg(target_os = "linux")]
fn executable() -> io::Result<std::path::PathBuf> {
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
fn executable() -> io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_equal_the_sha_256_test_vectors() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b"abc"), known);
        assert_eq!(of_reader(&b"abc"[..]).expect("readable"), known);
        assert_eq!(of_program().expect("readable").len(), 64);
    }
}
