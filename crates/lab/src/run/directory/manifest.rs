//! `manifest.json`: what a directory of results was made from, and which files Raddle put into it.

use super::MARKER;
use crate::digest;
use crate::{Error, VERSION};
use raddle_records::write_file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path};

/// The manifest's name in a directory.
pub(crate) const MANIFEST: &str = "manifest.json";

/// What results were made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// What the directory is: a run, a search or a figure.
    kind: String,
    /// Raddle's version.
    version: String,
    /// The digest of the resolved experiment.
    experiment: String,
    /// The digest of the resolved experiment, the bytes of every file that it names, Raddle's version, and the
    /// program's own bytes: results that agree in it are the same.
    pub(crate) inputs: String,
}

impl Origin {
    /// The origin of results of the kind `kind`, of an experiment that was read with these files, by their digests.
    ///
    /// # Errors
    /// If the program cannot read its own executable.
    pub(crate) fn new(kind: &str, resolved: &str, files: &[String]) -> Result<Self, Error> {
        let program = digest::of_program().map_err(Error::io("read", Path::new("the running executable")))?;
        let experiment = digest::of_bytes(resolved.as_bytes());
        let inputs = serde_json::json!([kind, VERSION, program, experiment, files]).to_string();
        let inputs = digest::of_bytes(inputs.as_bytes());
        Ok(Self { kind: kind.to_owned(), version: VERSION.to_owned(), experiment, inputs })
    }
}

/// The content of `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    #[serde(flatten)]
    origin: Origin,
    /// Whether the results are all that was asked for; those of a run that was interrupted are not.
    complete: bool,
    /// The digest of each file, by its path in the directory with `/` between folders.
    files: BTreeMap<String, String>,
}

impl Manifest {
    /// Writes the manifest of all files in `directory`.
    pub(super) fn write(directory: &Path, origin: &Origin, complete: bool) -> Result<(), Error> {
        let mut files = BTreeMap::new();
        for Entry { name, kind } in entries(directory)? {
            if kind == Kind::File {
                let path = directory.join(&name);
                files.insert(name, digest::of_file(&path).map_err(Error::io("read", &path))?);
            }
        }
        let manifest = Self { origin: origin.clone(), complete, files };
        let text = format!("{:#}\n", serde_json::json!(manifest));
        Ok(write_file(&directory.join(MANIFEST), text.as_bytes())?)
    }

    /// The manifest of `directory`, if it has one that can be read.
    fn read(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(MANIFEST)).ok()?;
        let manifest: Self = serde_json::from_str(&text).ok()?;
        let inside = |name: &String| {
            name != MANIFEST && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
        };
        manifest.files.keys().all(inside).then_some(manifest)
    }

    /// Deletes the files that the manifest lists, their folders, the manifest, and the directory. A file that it does
    /// not list stays, and its folders with it.
    ///
    /// # Errors
    /// If a listed file cannot be deleted.
    pub(super) fn remove(&self, directory: &Path) -> Result<(), Error> {
        let mut folders = BTreeSet::new();
        for name in self.files.keys() {
            let file = directory.join(name);
            gone(fs::remove_file(&file)).map_err(Error::io("remove", &file))?;
            folders.extend(Path::new(name).ancestors().skip(1).map(Path::to_path_buf));
        }
        let manifest = directory.join(MANIFEST);
        // The deepest first, and the directory itself, which is the empty path here, last.
        for folder in folders.iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
            let folder = directory.join(folder);
            gone(if_empty(fs::remove_dir(&folder))).map_err(Error::io("remove", &folder))?;
        }
        gone(fs::remove_file(&manifest)).map_err(Error::io("remove", &manifest))?;
        if_empty(fs::remove_dir(directory)).map_err(Error::io("remove", directory))
    }
}

/// What is in a directory, held against its manifest.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(super) manifest: Option<Manifest>,
    /// Files, links and empty folders that the manifest does not list.
    foreign: Vec<String>,
    /// Files that are not as they were written.
    changed: Vec<String>,
    /// Files that are not there any more.
    missing: Vec<String>,
}

impl Contents {
    /// Reads a directory and all files that its manifest lists.
    pub(crate) fn read(directory: &Path) -> Result<Self, Error> {
        let manifest = Manifest::read(directory);
        let none = BTreeMap::new();
        let files = manifest.as_ref().map_or(&none, |manifest| &manifest.files);
        let mut missing: BTreeSet<&String> = files.keys().collect();
        let (mut foreign, mut changed) = (Vec::new(), Vec::new());
        for Entry { name, kind } in entries(directory)? {
            let within = |file: &String| file.strip_prefix(&name).is_some_and(|rest| rest.starts_with('/'));
            match files.get(&name) {
                Some(digest) if kind == Kind::File => {
                    missing.remove(&name);
                    let path = directory.join(&name);
                    if digest::of_file(&path).map_err(Error::io("read", &path))? != *digest {
                        changed.push(name);
                    }
                }
                None if kind == Kind::EmptyFolder && files.keys().any(within) => {}
                _ => foreign.push(name),
            }
        }
        let missing = missing.into_iter().cloned().collect();
        Ok(Self { manifest, foreign, changed, missing })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.manifest.is_none() && self.foreign.is_empty()
    }

    /// The manifest, if all that the directory holds is as Raddle wrote it.
    pub(super) fn into_untouched(self) -> Option<Manifest> {
        self.manifest.filter(|_| self.foreign.is_empty() && self.changed.is_empty())
    }

    /// Whether all that Raddle wrote is there.
    pub(super) fn is_whole(&self) -> bool {
        self.manifest.is_some() && self.changed.is_empty() && self.missing.is_empty()
    }

    /// Whether the results were all that was asked for when they were written.
    pub(super) fn is_complete(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.complete)
    }

    /// Whether these are the whole results of that origin. Files that others put beside them do not matter.
    pub(crate) fn is_finished(&self, origin: &Origin) -> bool {
        let same = |manifest: &Manifest| manifest.origin == *origin;
        self.is_complete() && self.is_whole() && self.manifest.as_ref().is_some_and(same)
    }

    /// Whether these are results of the same experiment of which only tables and captures are not as they were written.
    pub(crate) fn is_damaged(&self, origin: &Origin) -> bool {
        let table = |name: &String| name.ends_with(".parquet") || name.ends_with(".pcapng");
        let damaged = !self.changed.is_empty() && self.changed.iter().all(table);
        damaged && self.foreign.is_empty() && self.other(origin).is_none()
    }

    /// Why results of that origin may not replace these.
    pub(super) fn refusal(&self, origin: &Origin) -> Option<String> {
        let listed = |names: &[String]| {
            let more = if names.len() > 3 { ", and more" } else { "" };
            format!("{}{more}", names[..names.len().min(3)].join(", "))
        };
        if let Some(other) = self.other(origin) {
            return Some(other);
        }
        if !self.foreign.is_empty() {
            return Some(format!("holds files that Raddle did not make: {}", listed(&self.foreign)));
        }
        let changed =
            || format!("holds files that were changed since Raddle wrote them: {}", listed(&self.changed));
        (!self.changed.is_empty()).then(changed)
    }

    /// Why these are other results than those of that origin made anew.
    fn other(&self, origin: &Origin) -> Option<String> {
        let Some(Manifest { origin: there, .. }) = &self.manifest else {
            return (!self.is_empty()).then(|| format!("has no {MANIFEST}, so Raddle did not make it"));
        };
        if there.kind != origin.kind {
            Some(format!("holds a {}, not a {}", there.kind, origin.kind))
        } else if there.version != origin.version {
            Some(format!(
                "holds a {} by Raddle {}, and this is Raddle {}",
                there.kind, there.version, origin.version
            ))
        } else if there.experiment != origin.experiment {
            Some(format!("holds a {} of another experiment (another seed is another experiment)", there.kind))
        } else {
            None
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    EmptyFolder,
    /// A link, a socket, a device.
    Other,
}

/// Something in a directory that has nothing in it.
struct Entry {
    /// Its path in the directory, with `/` between folders.
    name: String,
    kind: Kind,
}

/// All files, links and empty folders in a directory and the folders in it, in order of names; without its manifest
/// and the marker of a directory in the making.
fn entries(directory: &Path) -> Result<Vec<Entry>, Error> {
    fn walk(folder: &Path, prefix: &str, found: &mut Vec<Entry>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().display());
            let kind = entry.file_type()?;
            let before = found.len();
            if kind.is_dir() {
                walk(&entry.path(), &format!("{name}/"), found)?;
                if found.len() == before {
                    found.push(Entry { name, kind: Kind::EmptyFolder });
                }
            } else if name != MANIFEST && name != MARKER {
                found.push(Entry { name, kind: if kind.is_file() { Kind::File } else { Kind::Other } });
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(directory, "", &mut found).map_err(Error::io("read", directory))?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// A file that is not there any more is as good as removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// A folder with something else in it stays.
fn if_empty(removed: io::Result<()>) -> io::Result<()> {
    removed
        .or_else(|error| if error.kind() == io::ErrorKind::DirectoryNotEmpty { Ok(()) } else { Err(error) })
}
