//! `raddle init`: example experiments to start from. The experiment file of each template has comments, and runs
//! without changes.

use raddle_lab::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// An example experiment to start from.
pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// The names and texts of the template's files. The experiment is the first file.
    files: &'static [(&'static str, &'static str)],
}

/// The name and the text of a file of the folder `templates`.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../templates/", $name)))
    };
}

/// All templates.
pub(crate) const TEMPLATES: [Template; 5] = [
    Template {
        name: "leaf-spine",
        summary: "web-search flows on a leaf-spine: a comparison of routings and loads, with a plot",
        files: &[file!("leaf-spine.toml")],
    },
    Template {
        name: "rack-torus",
        summary: "a rack whose nodes are joined in a 3D torus: R2C2 against TCP",
        files: &[file!("rack-torus.toml")],
    },
    Template {
        name: "ai-training",
        summary: "the gradient exchange of a training job: an all-reduce of 64 ranks over lossless Ethernet",
        files: &[file!("ai-training.toml")],
    },
    Template {
        name: "lossless",
        summary: "incast on lossless Ethernet: PFC with and without DCQCN",
        files: &[file!("lossless.toml")],
    },
    Template {
        name: "own-topology",
        summary: "flows on your own topology, which a graph file describes",
        files: &[file!("own-topology.toml"), file!("own-topology.json")],
    },
];

/// Writes the files of a template into `folder`, and returns their paths. Existing files are never changed.
///
/// # Errors
/// If there is no such template, one of the files exists already, or a file cannot be written.
pub(crate) fn init(name: &str, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let names = || TEMPLATES.iter().map(|template| template.name).collect::<Vec<_>>().join(", ");
    let Some(template) = TEMPLATES.iter().find(|template| template.name == name) else {
        let what = format!("unknown template `{name}`");
        return Err(Error::Usage { what, hint: format!("one of: {}", names()) });
    };
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let paths: Vec<PathBuf> = template.files.iter().map(|(name, _)| folder.join(name)).collect();
    if let Some(there) = paths.iter().find(|path| fs::symlink_metadata(path).is_ok()) {
        return Err(exists(there));
    }
    for (path, (_, text)) in paths.iter().zip(template.files) {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => Error::io("create", path)(error),
        })?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(Error::io("write", path))?;
    }
    Ok(paths)
}

/// The error for a file that already exists.
fn exists(path: &Path) -> Error {
    let what = format!("{} exists already", path.display());
    Error::Usage { what, hint: "choose another folder with --out, or rename the file".to_owned() }
}
