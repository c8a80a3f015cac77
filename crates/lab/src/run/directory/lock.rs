//! Locks that one process holds while it writes a directory or a file.
//!
//! The kernel releases a lock when its process ends, even if the process is killed. Locks do not depend on process
//! numbers, so processes in different containers, whose numbers can be equal, exclude each other too.

use crate::Error;
use crate::sweep::Shard;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The end of the name of a lock file.
pub(super) const ENDING: &str = "raddle-lock";

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// `None` on a file system without locks.
    file: Option<File>,
}

impl Lock {
    /// Locks the file at `path`. A process that holds this lock may write `directory`.
    ///
    /// # Errors
    /// If another process holds the lock, or the file cannot be created or locked.
    pub(super) fn take(path: PathBuf, directory: &Path) -> Result<Self, Error> {
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self { path, file: Some(file) }),
                // The previous holder removed the file before this process locked it, so this lock excludes no other
                // process.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let what = format!("another process is writing to {}", directory.display());
                    let hint = "wait until that process ends, or choose another --out".to_owned();
                    return Err(Error::Usage { what, hint });
                }
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self { path, file: None });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
            }
        }
    }

    /// Waits until no other process and no other thread holds the lock of this file, and takes it. The lock's own file
    /// lies beside the file: `.ledger.json.raddle-lock` for `ledger.json`.
    ///
    /// # Errors
    /// If the lock's file cannot be created or locked.
    pub(crate) fn wait_for_file(file: &Path) -> Result<Self, Error> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = file.with_file_name(format!(".{name}.{ENDING}"));
        loop {
            let file = open(&path)?;
            match file.lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self { path, file: Some(file) }),
                // As in `take`: the previous holder removed the file.
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self { path, file: None });
                }
                Err(error) => return Err(Error::io("lock", &path)(error)),
            }
        }
    }

    /// Locks a folder that holds the directories of several runs, and creates the folder if it does not exist.
    /// Processes that run different shards of a sweep do not exclude each other.
    ///
    /// # Errors
    /// If another process holds the lock, the folder cannot be created, or its lock file cannot be created or locked.
    pub(crate) fn of_folder(folder: &Path, shard: Option<Shard>) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let shard = shard.map_or(String::new(), |shard| format!("{shard}."));
        Self::take(folder.join(format!(".{shard}{ENDING}")), folder)
    }

    /// True if this lock is certain to exclude other processes.
    pub(super) fn excludes_others(&self) -> bool {
        self.file.is_some()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Keep a file with content: another program wrote it. A leftover lock file does no harm.
        if self.file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|file| file.len() == 0)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens the lock file at `path`, and creates it if it does not exist.
fn open(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    file.map_err(Error::io("create", path))
}

/// True if `path` still names this open file.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(file) = file.metadata() else { return false };
    fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino()))
}

/// Always true: systems other than Unix have no inodes to compare.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_holds_a_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".run.raddle-lock");
        let lock = Lock::take(path.clone(), Path::new("run")).expect("a lock");
        let refused = Lock::take(path.clone(), Path::new("run")).expect_err("it is held");
        assert_eq!(refused.to_string(), "another process is writing to run");
        drop(lock);
        assert!(!path.exists());
        drop(Lock::take(path, Path::new("run")).expect("it is free"));
    }

    #[test]
    fn threads_that_take_a_lock_in_turn_never_hold_it_together() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().expect("a folder");
        let (path, holders, taken) = (folder.path().join("lock"), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(_lock) = Lock::take(path.clone(), &path) else { continue };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
