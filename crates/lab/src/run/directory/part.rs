//! Directories that are being written.

use super::lock::Lock;
use super::manifest::{Manifest, Origin};
use super::place::{Out, Place};
use super::{MARKER, RANDOM, sync_folder};
use crate::Error;
use crate::run::graceful::Graceful;
use raddle_records::write_file;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::{Builder, TempDir};

/// A directory that is being written, under a temporary name beside its final name. If this value is dropped before the
/// directory is finished, the directory is removed.
pub(crate) struct Part<'a> {
    out: Out<'a>,
    origin: Origin,
    place: Place,
    folder: Folder,
    begin: Instant,
    /// The lock is held until the directory has its final name.
    _lock: Lock,
    _parents: Parents,
    _graceful: Graceful,
}

/// Folders that were made for a directory, the innermost first. When this value is dropped, those that are empty are
/// removed, because no results were written.
struct Parents(Vec<PathBuf>);

impl Parents {
    /// Makes `folder` and the folders that contain it, if they do not exist.
    fn make(folder: &Path) -> Result<Self, Error> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(is_missing).map(Path::to_path_buf).collect();
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        Ok(Self(missing))
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        // Folders with results or with files of others are not empty, and stay.
        self.0.iter().map_while(|folder| fs::remove_dir(folder).ok()).for_each(drop);
    }
}

impl<'a> Part<'a> {
    /// Begins a directory for results whose inputs are `origin`.
    ///
    /// # Errors
    /// If another process writes the directory, if the results may not replace the existing directory, or if a file
    /// cannot be created.
    pub(crate) fn create(out: Out<'a>, origin: Origin) -> Result<Self, Error> {
        let graceful = Graceful::begin();
        #[expect(clippy::disallowed_methods, reason = "the manifest records the duration of the run")]
        let begin = Instant::now();
        let place = Place::of(out.path)?;
        let parent = place.parent();
        let parents = Parents::make(parent)?;
        let lock = place.lock()?;
        if lock.excludes_others() {
            place.remove_orphans(out)?;
        }
        place.permit(&origin, out.force)?;
        let mut builder = Builder::new();
        let prefix = place.hidden("part-");
        let folder = builder.prefix(&prefix).rand_bytes(RANDOM).tempdir_in(parent);
        let folder = folder.map_err(Error::io("create a directory in", parent))?;
        let marker = folder.path().join(MARKER);
        File::create_new(&marker).map_err(Error::io("create", &marker))?;
        let folder = Folder(folder);
        Ok(Self { out, origin, place, folder, begin, _lock: lock, _parents: parents, _graceful: graceful })
    }

    /// The directory's temporary path.
    pub(crate) fn path(&self) -> &Path {
        self.folder.0.path()
    }

    /// The path of a file in the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(write_file(&self.file(name), text.as_bytes())?)
    }

    /// Gives the directory its final name, in place of earlier results. `complete` says whether the results are
    /// complete.
    ///
    /// # Errors
    /// - If a file cannot be written. The new results are then deleted.
    /// - If the new results may not or cannot replace the existing results, for example if they are partial and the
    ///   existing results are complete. The new results are then kept under another name.
    /// - If the replaced results cannot be deleted. The new results then have the name already.
    pub(crate) fn finish(self, complete: bool) -> Result<(), Error> {
        Manifest::write(self.path(), &self.origin, complete, self.begin.elapsed().as_secs_f64())?;
        self.put(complete)
    }

    /// Gives the directory its final name. All its files, among them the manifest of complete results, must have been
    /// copied from another directory.
    ///
    /// # Errors
    /// In the cases of [`Self::finish`].
    pub(crate) fn finish_copy(self) -> Result<(), Error> {
        self.put(true)
    }

    fn put(self, complete: bool) -> Result<(), Error> {
        // Bindings are dropped in reverse order, so the lock outlives the folder.
        let Self { _graceful, _lock, out, origin, place, mut folder, .. } = self;
        let path = folder.0.path().to_owned();
        sync_folders(&path)?;
        folder.0.disable_cleanup(true);
        let name = || {
            let marker = path.join(MARKER);
            fs::remove_file(&marker).map_err(Error::io("remove", &marker))?;
            sync_folder(&path)?;
            place.put(&path, &origin, complete, out)
        };
        match name() {
            Ok(replaced) => {
                sync_folder(place.parent())?;
                replaced.map_or(Ok(()), |manifest| place.remove(&manifest, &path, out))
            }
            Err(why) => Err(Error::Displaced { why: Box::new(why), kept: place.keep(&path) }),
        }
    }
}

/// A temporary folder. When it is dropped, it is deleted if it still contains the marker of an unfinished directory.
struct Folder(TempDir);

impl Drop for Folder {
    fn drop(&mut self) {
        // Ignore an error here: the next process that has the lock tries again.
        let _ = discard(self.0.path());
    }
}

/// Removes an unfinished directory; does nothing without the file that marks it as unfinished. This file is removed
/// after all others. So if the process is killed earlier, the directory is still recognized as unfinished.
pub(super) fn discard(folder: &Path) -> io::Result<()> {
    let marker = folder.join(MARKER);
    if !marker.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != MARKER {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(marker)?;
    fs::remove_dir(folder)
}

/// Syncs the subfolders of `folder`. Their files were synced when they were written.
fn sync_folders(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        if entry.file_type().map_err(Error::io("read", folder))?.is_dir() {
            sync_folders(&entry.path())?;
            sync_folder(&entry.path())?;
        }
    }
    Ok(())
}
