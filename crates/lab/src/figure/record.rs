//! Records figures in a ledger while they are reproduced.

use super::ledger::{self, Ledger};
use super::{Reproduced, Scale};
use crate::Error;
use crate::run::directory::Lock;
use std::path::{Path, PathBuf};

/// The ledger in which a reproduction records each figure as soon as the figure is complete. Several processes and
/// threads may record in one ledger at the same time.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    scale: Scale,
    commit: Option<String>,
}

impl Record {
    /// Begins to record in the ledger at `path`. If there is no file, the ledger is empty.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid ledger.
    pub fn begin(path: &Path, scale: Scale) -> Result<Self, Error> {
        Ledger::read(path)?;
        Ok(Self { path: path.to_owned(), scale, commit: ledger::commit(path) })
    }

    /// Reads the ledger, adds a figure to it, and writes it. A lock keeps other threads and processes from recording in
    /// the ledger meanwhile.
    ///
    /// # Errors
    /// If the ledger cannot be locked, read or written, or is no longer valid.
    pub fn add(&self, figure: &Reproduced) -> Result<(), Error> {
        let _lock = Lock::wait_for_file(&self.path)?;
        let mut ledger = Ledger::read(&self.path)?;
        ledger.add(std::slice::from_ref(figure), self.scale, self.commit.as_deref());
        ledger.write(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_at_the_same_time_keep_all_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.json");
        let figure = |name: String| Reproduced {
            name,
            title: String::new(),
            folder: PathBuf::new(),
            outcomes: Vec::new(),
            digest: 0,
            repeats: true,
            seconds: 1.0,
        };
        let records = [(); 2].map(|()| Record::begin(&path, Scale::Quick).expect("no ledger yet"));
        std::thread::scope(|scope| {
            for (process, record) in records.iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..50 {
                        record.add(&figure(format!("paper{process}/fig{number}"))).expect("a figure");
                    }
                });
            }
        });
        assert_eq!(Ledger::read(&path).expect("a ledger").entries().len(), 100);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "the lock's file is gone");
    }
}
