//! Records figures in a ledger while they are reproduced.

use super::ledger::{self, Ledger};
use super::{Reproduced, Scale};
use crate::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The ledger in which a reproduction records each figure as soon as the figure is complete.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    scale: Scale,
    commit: Option<String>,
    ledger: Mutex<Ledger>,
}

impl Record {
    /// Begins to record in the ledger at `path`. If there is no file, the ledger is empty.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid ledger.
    pub fn begin(path: &Path, scale: Scale) -> Result<Self, Error> {
        let ledger = Mutex::new(Ledger::read(path)?);
        Ok(Self { path: path.to_owned(), scale, commit: ledger::commit(path), ledger })
    }

    /// Adds a figure, and writes the ledger.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&self, figure: &Reproduced) -> Result<(), Error> {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.add(std::slice::from_ref(figure), self.scale, self.commit.as_deref());
        ledger.write(&self.path)
    }
}
