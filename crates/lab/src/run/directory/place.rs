//! The location of a directory of results, and the rules for replacing an existing directory.

use super::MARKER;
use super::lock::{self, Lock};
use super::manifest::{Contents, MANIFEST, Manifest, Origin};
use super::part::discard;
use crate::Error;
use crate::lint::Warning;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Called with the title of a run and its warnings. An error refuses the run.
pub type Warned<'a> = dyn Fn(&str, &[Warning]) -> Result<(), Error> + Sync + 'a;

/// The directory for the results of a command, and the treatment of existing results.
#[derive(Clone, Copy)]
pub struct Out<'a> {
    /// The directory.
    pub path: &'a Path,
    /// True if the results replace any existing contents. Only files that Raddle wrote are deleted: a directory with
    /// other or changed files is renamed.
    pub force: bool,
    /// Called with the old and the new name of each renamed directory.
    pub renamed: &'a (dyn Fn(&Path, &Path) + Sync),
    /// Called with the title of a run and its warnings before the run begins. An error refuses the run.
    pub warned: &'a Warned<'a>,
}

/// The message for the user that a directory was renamed ([`Out::renamed`]).
#[must_use]
pub fn told_renamed(from: &Path, to: &Path) -> String {
    format!(
        "the directory {} was renamed to {}, because it held changed files or files that Raddle did not write",
        from.display(),
        to.display()
    )
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for Out<'a> {
    fn from(path: &'a P) -> Self {
        Self { path: path.as_ref(), force: false, renamed: &|_, _| {}, warned: &|_, _| Ok(()) }
    }
}

impl Out<'_> {
    /// Checks that results whose inputs are `origin` may replace the existing directory.
    ///
    /// # Errors
    /// If the results may not replace the directory, or the directory cannot be read.
    pub(crate) fn check(self, origin: &Origin) -> Result<(), Error> {
        Place::of(self.path)?.permit(origin, self.force).map(|_| ())
    }

    /// The kind of results in the existing directory, such as `run`; `None` if there is no directory or no valid
    /// manifest.
    pub(crate) fn kind(self) -> Option<String> {
        Manifest::read(self.path).map(|manifest| manifest.origin.kind)
    }

    /// The contents of the existing directory; `None` if there is no directory.
    ///
    /// # Errors
    /// If the path cannot hold results, or cannot be read.
    pub(crate) fn contents(self) -> Result<Option<Contents>, Error> {
        Place::of(self.path)?.contents()
    }
}

/// The location of a directory in its parent.
#[derive(Debug)]
pub(super) struct Place {
    /// The path as the user wrote it.
    shown: PathBuf,
    parent: PathBuf,
    name: OsString,
}

impl Place {
    /// The location of `path`. Symbolic links are followed: results replace the directory to which a link leads, and
    /// the link itself stays.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let refuse = |why: &str| {
            let hint = "choose a directory that does not exist yet".to_owned();
            Err(Error::Usage {
                what: format!("results cannot be written to {}: {why}", path.display()),
                hint,
            })
        };
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return refuse("the path is a symbolic link whose target does not exist");
                }
                let Some(name) = path.file_name() else {
                    return refuse("the path does not end in a directory name");
                };
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = parent.unwrap_or(Path::new(".")).to_owned();
                return Ok(Self { shown: path.to_owned(), parent, name: name.to_owned() });
            }
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        if !real.is_dir() {
            return refuse("the path is not a directory");
        }
        if std::env::current_dir().is_ok_and(|current| current.starts_with(&real)) {
            return refuse("the current directory and its parents cannot be replaced");
        }
        if is_mounted(&real) {
            return refuse("a mount point cannot be replaced");
        }
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return refuse("the root directory cannot be replaced");
        };
        Ok(Self { shown: path.to_owned(), parent: parent.to_owned(), name: name.to_owned() })
    }

    pub(super) fn parent(&self) -> &Path {
        &self.parent
    }

    /// The path of the directory.
    fn path(&self) -> PathBuf {
        self.parent.join(&self.name)
    }

    /// A hidden name beside the directory: `.NAME.ENDING`.
    pub(super) fn hidden(&self, ending: &str) -> OsString {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(".");
        name.push(ending);
        name
    }

    /// A visible path beside the directory: `NAME.WORD-RANDOM`. The random part comes from the temporary folder's name.
    fn beside(&self, word: &str, folder: &Path) -> PathBuf {
        let folder = folder.as_os_str().to_string_lossy();
        let random = folder.rsplit('-').next().unwrap_or_default();
        let mut name = self.name.clone();
        name.push(format!(".{word}-{random}"));
        self.parent.join(name)
    }

    /// Locks the directory.
    pub(super) fn lock(&self) -> Result<Lock, Error> {
        Lock::take(self.parent.join(self.hidden(lock::ENDING)), &self.shown)
    }

    /// The contents of the directory; `None` if it does not exist.
    ///
    /// The caller need not hold the lock, so another process can replace the directory while this process reads it. The
    /// manifest of one result would then be compared with the files of another result. To prevent this, a directory
    /// that was replaced meanwhile is read again.
    fn contents(&self) -> Result<Option<Contents>, Error> {
        let path = self.path();
        loop {
            // While the directory is open, no other directory gets its inode.
            let held = File::open(&path).ok();
            let contents = self.read_once();
            let replaced = match held {
                Some(held) => !lock::is_at(&held, &path),
                None => cfg!(unix) && matches!(contents, Ok(Some(_))),
            };
            if !replaced {
                return contents;
            }
        }
    }

    /// The contents of the directory, if no other process replaces it at the same time.
    fn read_once(&self) -> Result<Option<Contents>, Error> {
        let path = self.path();
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_dir() => Contents::read(&path).map(Some),
            Ok(_) => {
                let what = format!("{} is not a directory", self.shown.display());
                Err(Error::Usage { what, hint: "choose another --out".to_owned() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Checks that results whose inputs are `origin` may replace the existing directory. Returns the directory's
    /// contents; `None` if there is no directory. With `force`, any contents may be replaced.
    ///
    /// # Errors
    /// If the results may not replace the contents, or the directory cannot be read.
    pub(super) fn permit(&self, origin: &Origin, force: bool) -> Result<Option<Contents>, Error> {
        let contents = self.contents()?;
        match contents.as_ref().and_then(|contents| contents.refusal(origin)) {
            Some(why) if !force => {
                let what = format!("{} already exists and {why}", self.shown.display());
                let hint = "choose another --out, or add --force: it deletes a directory of unchanged Raddle \
                            results, and renames any other directory";
                Err(Error::Usage { what, hint: hint.to_owned() })
            }
            _ => Ok(contents),
        }
    }

    /// Renames `folder` to the name of the directory. `folder` lies beside the directory and holds the whole new
    /// results. On file systems that can exchange names, the name always refers to either the whole earlier or the
    /// whole new results. On other file systems, there is an instant at which no directory has the name. Returns the
    /// manifest of the earlier results if they are now in `folder` and may be removed.
    pub(super) fn put(
        &self,
        folder: &Path,
        origin: &Origin,
        complete: bool,
        out: Out<'_>,
    ) -> Result<Option<Manifest>, Error> {
        let path = self.path();
        let failed = || Error::io("replace", &self.shown);
        let Some(contents) = self.permit(origin, out.force)?.filter(|contents| !contents.is_empty()) else {
            fs::rename(folder, &path).map_err(failed())?;
            return Ok(None);
        };
        if contents.is_complete() && !complete && !out.force {
            let what = format!(
                "the new results are partial, so they do not replace the complete results in {}",
                self.shown.display()
            );
            return Err(Error::Usage {
                what,
                hint: "add --force to replace the complete results".to_owned(),
            });
        }
        if let Some(manifest) = contents.into_untouched() {
            exchange(folder, &path).map_err(failed())?;
            return Ok(Some(manifest));
        }
        // The new results are first renamed to the name under which the old directory will be kept. One exchange then
        // gives both directories their final names.
        let aside = self.beside("old", folder);
        fs::rename(folder, &aside).map_err(failed())?;
        let exchanged = exchange(&aside, &path).inspect_err(|_| {
            // If this fails too, the first error is returned.
            let _ = fs::rename(&aside, folder);
        });
        exchanged.map_err(failed())?;
        (out.renamed)(&self.shown, &aside);
        Ok(None)
    }

    /// Removes earlier results from `folder`, after the new results have taken their name.
    pub(super) fn remove(&self, manifest: &Manifest, folder: &Path, out: Out<'_>) -> Result<(), Error> {
        manifest.remove(folder)?;
        self.keep_rest(folder, out)
    }

    /// Gives a visible name to a directory that should be removed but still holds files that were added or changed.
    /// Does nothing if the directory no longer exists.
    fn keep_rest(&self, folder: &Path, out: Out<'_>) -> Result<(), Error> {
        if folder.exists() {
            let aside = self.beside("old", folder);
            fs::rename(folder, &aside).map_err(Error::io("rename", folder))?;
            (out.renamed)(&self.shown, &aside);
        }
        Ok(())
    }

    /// Renames whole results that could not get their final name, so that the next run does not remove them. Returns
    /// the path at which they are then.
    pub(super) fn keep(&self, folder: &Path) -> PathBuf {
        let kept = self.beside("new", folder);
        if fs::rename(folder, &kept).is_ok() { kept } else { folder.to_owned() }
    }

    /// Removes the temporary directories that ended processes have left behind. Whole results in such a directory get
    /// the final name if it is free. The caller must hold the lock, so that no other process is writing such a
    /// directory.
    pub(super) fn remove_orphans(&self, out: Out<'_>) -> Result<(), Error> {
        let prefix = self.hidden("part-");
        let random = |name: &OsStr| {
            let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
            rest.is_some_and(|rest| rest.len() == super::RANDOM && rest.iter().all(u8::is_ascii_alphanumeric))
        };
        let failed = || Error::io("read", &self.parent);
        for entry in fs::read_dir(&self.parent).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if !random(&entry.file_name()) || !entry.file_type().map_err(failed())?.is_dir() {
                continue;
            }
            let folder = entry.path();
            if folder.join(MARKER).exists() {
                discard(&folder).map_err(Error::io("remove", &folder))?;
            } else if fs::remove_dir(&folder).is_err() {
                self.remove_whole_orphan(&folder, out)?;
            }
        }
        Ok(())
    }

    /// Handles finished results under a temporary name. They are new results that have not got the final name yet, or
    /// old results that have lost it in the exchange. If they are whole and the final name is free, they get it.
    /// Otherwise they are deleted, unless a file was changed or added. In that case they are kept under a visible name.
    fn remove_whole_orphan(&self, folder: &Path, out: Out<'_>) -> Result<(), Error> {
        let contents = Contents::read(folder)?;
        let path = self.path();
        if contents.is_whole() && !path.exists() {
            return fs::rename(folder, &path).map_err(Error::io("rename", folder));
        }
        match contents.into_untouched() {
            Some(manifest) => self.remove(&manifest, folder, out),
            None if folder.join(MANIFEST).exists() => self.keep_rest(folder, out),
            None => Ok(()),
        }
    }
}

/// Exchanges the names of two directories.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        // The kernel or the file system does not support the exchange.
        Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => exchange_by_turns(new, old),
        done => Ok(done?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    exchange_by_turns(new, old)
}

/// Exchanges the names of two directories in three steps. If the process ends between the steps, the directory `old`
/// has a visible name: `NAME.before-RANDOM`.
fn exchange_by_turns(new: &Path, old: &Path) -> io::Result<()> {
    let mut aside = old.as_os_str().to_owned();
    aside.push(format!(
        ".before-{}",
        new.as_os_str().to_string_lossy().rsplit('-').next().unwrap_or_default()
    ));
    let aside = PathBuf::from(aside);
    fs::rename(old, &aside)?;
    fs::rename(new, old).inspect_err(|_| {
        // Restore the earlier results. If this fails too, the first error is returned.
        let _ = fs::rename(&aside, old);
    })?;
    fs::rename(&aside, new)
}

/// True if `path` is a mount point, which cannot be renamed.
#[cfg(target_os = "linux")]
fn is_mounted(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let there = statx(CWD, path, AtFlags::empty(), StatxFlags::empty());
    there.is_ok_and(|there| there.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_mounted(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).map(|there| there.dev()).ok();
    path.parent().is_some_and(|parent| device(parent) != device(path))
}

#[cfg(not(unix))]
fn is_mounted(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::directory::Part;
    use crate::run::directory::manifest::MANIFEST;

    fn origin(experiment: &str) -> Origin {
        Origin::new("run", experiment).expect("a program")
    }

    /// Writes a directory of results with one file that contains `word`.
    fn write(directory: &Path, word: &str) {
        let part = Part::create(directory.into(), origin("the same")).expect("created");
        part.write("log.txt", word).expect("written");
        part.finish(true).expect("finished");
    }

    fn word(directory: &Path) -> String {
        fs::read_to_string(directory.join("log.txt")).expect("a file")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn names_are_exchanged_by_turns_where_they_cannot_be_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let (old, new) = (folder.path().join("run"), folder.path().join(".run.part-abcdefghijkl"));
        for (directory, word) in [(&old, "old"), (&new, "new")] {
            fs::create_dir(directory).expect("created");
            fs::write(directory.join("log.txt"), word).expect("written");
        }
        exchange_by_turns(&new, &old).expect("exchanged");
        assert_eq!([word(&old), word(&new)], ["new", "old"]);
        exchange(&new, &old).expect("exchanged");
        assert_eq!([word(&old), word(&new)], ["old", "new"]);
        assert_eq!(names(folder.path()), [".run.part-abcdefghijkl", "run"]);
        // The new directory does not exist, so the earlier results keep their name.
        exchange_by_turns(&folder.path().join("nothing-new"), &old).expect_err("there is nothing");
        assert_eq!(word(&old), "old");
    }

    #[test]
    fn whole_results_without_a_name_get_it_if_it_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let (run, orphan) = (folder.path().join("run"), folder.path().join(".run.part-abcdefghijkl"));
        write(&run, "first");
        fs::rename(&run, &orphan).expect("renamed");
        let out = Out::from(&run);
        Place::of(&run).and_then(|place| place.remove_orphans(out)).expect("orphans are removed");
        assert_eq!((word(&run), names(folder.path())), ("first".to_owned(), vec!["run".to_owned()]));
        // Another directory has the name, so the orphan is removed. The orphan's experiment can be run again.
        fs::rename(&run, &orphan).expect("renamed");
        fs::create_dir(&run).expect("created");
        fs::write(run.join("log.txt"), "mine").expect("written");
        Place::of(&run).and_then(|place| place.remove_orphans(out)).expect("orphans are removed");
        assert_eq!((word(&run), names(folder.path())), ("mine".to_owned(), vec!["run".to_owned()]));
    }

    #[test]
    fn a_manifest_that_leads_elsewhere_deletes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (run, mine) = (folder.path().join("run"), folder.path().join("mine.txt"));
        write(&run, "first");
        fs::write(&mine, "first").expect("written");
        let manifest = run.join(MANIFEST);
        let text = fs::read_to_string(&manifest).expect("a manifest");
        fs::write(&manifest, text.replace("\"log.txt\"", "\"../mine.txt\"")).expect("written");
        assert!(Out::from(&run).check(&origin("the same")).is_err());
        write_with_force(&run);
        assert_eq!(fs::read_to_string(mine).expect("a file"), "first");
    }

    #[test]
    fn a_directory_that_is_replaced_while_it_is_read_is_never_taken_for_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        write(&run, "first");
        let written = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..200 {
                    write(&run, &format!("turn {turn}"));
                }
                written.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !written.load(std::sync::atomic::Ordering::Relaxed) {
                Out::from(&run).check(&origin("the same")).expect("it may be replaced");
            }
        });
    }

    fn write_with_force(directory: &Path) {
        let out = Out { force: true, ..Out::from(directory) };
        Part::create(out, origin("another")).and_then(|part| part.finish(true)).expect("finished");
    }
}
