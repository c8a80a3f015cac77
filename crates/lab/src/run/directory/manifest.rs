//! `manifest.json`: the origin of the results in a directory, and the digests of the files that Raddle wrote into it.

use super::MARKER;
use crate::digest;
use crate::experiment::{Experiment, Scheme};
use crate::{Error, VERSION, sweep};
use raddle_records::write_file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path};

/// The file name of the manifest.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The inputs of the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The kind of results: a run, a search, a sweep or a figure.
    pub(super) kind: String,
    /// Raddle's version.
    version: String,
    /// The digest of the resolved experiment.
    experiment: String,
    /// The name of a routing that is not part of the program, and the digest of its source; `None` for other routings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    routing: Option<(String, String)>,
    /// The digest of `kind`, the resolved experiment, the bytes of every file that the experiment names, `routing`,
    /// Raddle's version, and the bytes of the program. Complete results with equal digests are equal, except for live
    /// runs.
    pub(crate) inputs: String,
}

impl Origin {
    /// The origin of results of this `kind` that depend on no input but the text `resolved`.
    ///
    /// # Errors
    /// If the program cannot read its own executable.
    pub(crate) fn new(kind: &str, resolved: &str) -> Result<Self, Error> {
        Self::with_inputs(kind, resolved, &[], None)
    }

    /// The origin of results of this `kind` that come from `experiment`. `resolved` is the experiment's resolved text.
    ///
    /// # Errors
    /// If the program cannot read its own executable.
    pub(crate) fn of(kind: &str, resolved: &str, experiment: &Experiment) -> Result<Self, Error> {
        let Scheme { routing, routing_source, .. } = &experiment.scheme;
        let routing = routing_source.clone().map(|source| (routing.clone(), source));
        Self::with_inputs(kind, resolved, &experiment.files, routing)
    }

    fn with_inputs(
        kind: &str,
        resolved: &str,
        files: &[String],
        routing: Option<(String, String)>,
    ) -> Result<Self, Error> {
        let program = digest::of_program().map_err(Error::io("read", Path::new("the running executable")))?;
        let experiment = digest::of_bytes(resolved.as_bytes());
        let inputs = serde_json::json!([kind, VERSION, program, experiment, files, routing]).to_string();
        let inputs = digest::of_bytes(inputs.as_bytes());
        Ok(Self { kind: kind.to_owned(), version: VERSION.to_owned(), experiment, routing, inputs })
    }
}

/// The content of `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    #[serde(flatten)]
    pub(super) origin: Origin,
    /// True if the results are complete; false for the results of an interrupted run.
    complete: bool,
    /// Wall-clock time from the creation of the directory to its completion, in seconds.
    #[serde(default)]
    seconds: f64,
    /// The digest of each file, by its path in the directory with `/` between folders.
    files: BTreeMap<String, String>,
}

impl Manifest {
    /// Writes a manifest that lists all files in `directory`.
    pub(super) fn write(
        directory: &Path,
        origin: &Origin,
        complete: bool,
        seconds: f64,
    ) -> Result<(), Error> {
        let mut files = BTreeMap::new();
        for Entry { name, kind } in entries(directory)? {
            if kind == Kind::File {
                let path = directory.join(&name);
                files.insert(name, digest::of_file(&path).map_err(Error::io("read", &path))?);
            }
        }
        let manifest = Self { origin: origin.clone(), complete, seconds, files };
        let text = format!("{:#}\n", serde_json::json!(manifest));
        Ok(write_file(&directory.join(MANIFEST), text.as_bytes())?)
    }

    /// The origin of the complete results in `directory`, and the wall-clock seconds that they took; `None` if there
    /// are no complete results. Files are not compared with their digests.
    pub(crate) fn finished(directory: &Path) -> Option<(Origin, f64)> {
        Self::read(directory)
            .filter(|manifest| manifest.complete)
            .map(|manifest| (manifest.origin, manifest.seconds))
    }

    /// The manifest of `directory`; `None` if it has none or the manifest is invalid.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(MANIFEST)).ok()?;
        let manifest: Self = serde_json::from_str(&text).ok()?;
        let inside = |name: &String| {
            name != MANIFEST && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
        };
        manifest.files.keys().all(inside).then_some(manifest)
    }

    /// Deletes the files that the manifest lists, their folders, the manifest, and the directory. Files that the
    /// manifest does not list are kept, with the folders that contain them.
    ///
    /// # Errors
    /// If a listed file, a folder or the manifest cannot be deleted.
    pub(super) fn remove(&self, directory: &Path) -> Result<(), Error> {
        let mut folders = BTreeSet::new();
        for name in self.files.keys() {
            let file = directory.join(name);
            gone(fs::remove_file(&file)).map_err(Error::io("remove", &file))?;
            folders.extend(Path::new(name).ancestors().skip(1).map(Path::to_path_buf));
        }
        let manifest = directory.join(MANIFEST);
        // Remove the deepest folders first. The directory itself (here the empty path) is removed last.
        for folder in folders.iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
            let folder = directory.join(folder);
            gone(if_empty(fs::remove_dir(&folder))).map_err(Error::io("remove", &folder))?;
        }
        gone(fs::remove_file(&manifest)).map_err(Error::io("remove", &manifest))?;
        if_empty(fs::remove_dir(directory)).map_err(Error::io("remove", directory))
    }
}

/// The files in a directory, compared with its manifest.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(super) manifest: Option<Manifest>,
    /// Files, links and empty folders that Raddle did not write: those that are not in the manifest, and links or
    /// folders in the place of listed files. An empty folder in which listed files are missing does not count.
    foreign: Vec<String>,
    /// Files that have changed since they were written.
    changed: Vec<String>,
    /// Listed files that no longer exist.
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

    /// The manifest, if the directory holds only files that Raddle wrote, and no file has changed.
    pub(super) fn into_untouched(self) -> Option<Manifest> {
        self.manifest.filter(|_| self.foreign.is_empty() && self.changed.is_empty())
    }

    /// True if every listed file exists and is unchanged.
    pub(super) fn is_whole(&self) -> bool {
        self.manifest.is_some() && self.changed.is_empty() && self.missing.is_empty()
    }

    /// True if the results were complete when they were written.
    pub(crate) fn is_complete(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.complete)
    }

    /// True if these are complete, unchanged results whose inputs are `origin`. Additional files do not matter.
    pub(crate) fn is_finished(&self, origin: &Origin) -> bool {
        let same = |manifest: &Manifest| manifest.origin == *origin;
        self.is_complete() && self.is_whole() && self.manifest.as_ref().is_some_and(same)
    }

    /// True if tables or captures have changed since they were written, no other file has changed, and no file was
    /// added. The results must also have the kind, version and experiment of `origin`.
    pub(crate) fn is_damaged(&self, origin: &Origin) -> bool {
        let table = |name: &String| name.ends_with(".parquet") || name.ends_with(".pcapng");
        let damaged = !self.changed.is_empty() && self.changed.iter().all(table);
        damaged && self.foreign.is_empty() && self.other(origin).is_none()
    }

    /// The reason why results whose inputs are `origin` may not replace these results; `None` if they may.
    pub(super) fn refusal(&self, origin: &Origin) -> Option<String> {
        let listed = |names: &[String]| {
            let more = if names.len() > 3 { ", and more" } else { "" };
            format!("{}{more}", names[..names.len().min(3)].join(", "))
        };
        if let Some(other) = self.other(origin) {
            return Some(other);
        }
        if !self.foreign.is_empty() {
            return Some(format!("holds files that Raddle did not write: {}", listed(&self.foreign)));
        }
        let changed =
            || format!("holds files that were changed since Raddle wrote them: {}", listed(&self.changed));
        (!self.changed.is_empty()).then(changed)
    }

    /// The reason why these results do not have the kind, version and experiment of `origin`; `None` if they have all
    /// three, or if the directory is empty.
    fn other(&self, origin: &Origin) -> Option<String> {
        let Some(Manifest { origin: there, .. }) = &self.manifest else {
            if self.foreign.iter().any(|file| Path::new(file).starts_with(sweep::FOLDER)) {
                return Some(format!("holds a sweep, not a {}", origin.kind));
            }
            return (!self.is_empty())
                .then(|| format!("has no valid {MANIFEST}, so Raddle may not have written it"));
        };
        if there.kind != origin.kind {
            Some(format!("holds a {}, not a {}", there.kind, origin.kind))
        } else if there.version != origin.version {
            Some(format!(
                "holds a {} from Raddle {}, but this is Raddle {}",
                there.kind, there.version, origin.version
            ))
        } else if there.experiment != origin.experiment {
            Some(format!("holds a {} of another experiment or another seed", there.kind))
        } else {
            None
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    EmptyFolder,
    /// A link, a socket or a device.
    Other,
}

/// A file, a link or an empty folder in a directory.
struct Entry {
    /// Path of the entry in the directory, with `/` between folders.
    name: String,
    kind: Kind,
}

/// All files, links and empty folders in a directory and its subfolders, sorted by name. The manifest and the marker of
/// an unfinished directory are left out.
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

/// Ignores the error if the file does not exist.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Ignores the error if the folder is not empty.
fn if_empty(removed: io::Result<()>) -> io::Result<()> {
    removed
        .or_else(|error| if error.kind() == io::ErrorKind::DirectoryNotEmpty { Ok(()) } else { Err(error) })
}
