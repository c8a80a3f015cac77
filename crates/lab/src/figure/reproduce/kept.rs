//! The finished runs of figures. Figures share a run if its experiment and inputs are the same in all of them.

use crate::Error;
use crate::run::directory::{Manifest, Origin, Out};
use crate::run::records::is_live;
use raddle_records::PartFile;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of each finished run, by the digest of the run's inputs.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<String, PathBuf>);

impl Kept {
    /// The finished runs that earlier reproductions left in the folder `out`, including runs of interrupted figures.
    /// Live runs are left out, because every reproduction measures them anew.
    ///
    /// # Errors
    /// If a folder or a summary cannot be read.
    pub(super) fn earlier(out: &Path) -> Result<Self, Error> {
        let mut kept = Self::default();
        for figure in
            folders(out)?.iter().map(|paper| folders(paper)).collect::<Result<Vec<_>, _>>()?.concat()
        {
            let is_unfinished = figure.extension().is_some_and(|extension| extension == "unfinished");
            let runs = if is_unfinished { figure } else { figure.join("runs") };
            for run in folders(&runs)? {
                if let Some((origin, _)) = Manifest::finished(&run)
                    && !is_live(&run)?
                {
                    kept.add(&origin, run);
                }
            }
        }
        Ok(kept)
    }

    /// Adds a finished run.
    pub(super) fn add(&mut self, origin: &Origin, run: PathBuf) {
        self.0.insert(origin.inputs.clone(), run);
    }

    /// Makes sure that `place` has the run whose origin is `origin`, by copying it if `place` does not exist. Returns the
    /// seconds that the run took when it ran. Returns `None`, and copies nothing, if `place` has something else, or if
    /// there is no such run with unchanged files.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(super) fn share(&self, origin: &Origin, place: &Path) -> Result<Option<f64>, Error> {
        if place.exists() {
            let is_kept =
                Manifest::finished(place).is_some() && !is_live(place)? && is_intact(place, origin)?;
            return Ok(if is_kept { Manifest::finished(place).map(|(_, seconds)| seconds) } else { None });
        }
        let Some(run) = self.finished(origin)? else { return Ok(None) };
        copy(run, place)?;
        Ok(Manifest::finished(run).map(|(_, seconds)| seconds))
    }

    /// The directory of the run whose origin is `origin`; `None` if there is no such run, or if its files have changed.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn finished(&self, origin: &Origin) -> Result<Option<&Path>, Error> {
        let Some(run) = self.0.get(&origin.inputs) else { return Ok(None) };
        Ok(is_intact(run, origin)?.then_some(run.as_path()))
    }

    /// Updates the paths of the runs' directories after the folder `from` was renamed to `to`.
    pub(super) fn moved(&mut self, from: &Path, to: &Path) {
        for path in self.0.values_mut() {
            if let Ok(rest) = path.strip_prefix(from) {
                *path = to.join(rest);
            }
        }
    }
}

/// True if the folder `run` has the finished run whose origin is `origin`, with unchanged files.
fn is_intact(run: &Path, origin: &Origin) -> Result<bool, Error> {
    let out = Out { path: run, force: false, renamed: &|_, _| (), warned: &|_, _| Ok(()) };
    Ok(out.contents()?.is_some_and(|contents| contents.is_finished(origin)))
}

/// The folders in `folder`, sorted by name, without hidden folders. Empty if `folder` does not exist or is not a
/// folder.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Err(why) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&why.kind()) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(Error::io("read", folder))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("read", folder))?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.file_type().map_err(Error::io("read", &entry.path()))?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Copies the files of a run.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("read", from))? {
        let entry = entry.map_err(Error::io("read", from))?;
        let target = to.join(entry.file_name());
        let mut original = fs::File::open(entry.path()).map_err(Error::io("read", &entry.path()))?;
        let part = PartFile::create(&target)?;
        io::copy(&mut original, &mut part.file()).map_err(Error::io("write", &target))?;
        part.finish()?;
    }
    Ok(())
}
