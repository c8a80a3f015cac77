//! The figures that are embedded in the program (the files `papers/*/*.toml`, except `statements.toml`), and figures in
//! the user's own files.

use super::read_claims;
use crate::Error;
use crate::experiment::{Document, Problem, nearest};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// For each embedded figure: the name of the paper, the name of the figure, and the text of its file. `build.rs` writes
/// this list.
const FIGURES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/figures.rs"));

/// A figure's file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) paper: String,
    pub(super) figure: String,
    /// The path of the file, as messages show it. For an embedded figure, this is the path in Raddle's source tree.
    pub(super) path: PathBuf,
    pub(super) text: Cow<'static, str>,
}

/// The name that stands in place of a paper for figures in the user's own files. The folder for the results of these
/// figures has this name, too.
const OWN: &str = "own";

impl File {
    /// True if the figure is in a file of the user. Paths in the figure are relative to the folder of that file.
    pub(super) fn is_own(&self) -> bool {
        self.paper == OWN
    }

    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.paper, self.figure)
    }

    /// True if there is a figure or a claim of this name, such as `r2c2/fig10` or `r2c2/fig10/tcp-p99`. The figure is an
    /// embedded one or, if this file is the user's own, a file in the same folder.
    pub(super) fn knows(&self, name: &str) -> bool {
        let claim = || {
            let (figure, id) = name.rsplit_once('/')?;
            let document = self.named(figure)?.document().ok()?;
            read_claims(&document).ok()?.into_iter().find(|claim| claim.id() == id)
        };
        self.named(name).is_some() || claim().is_some()
    }

    /// The file as a document, without the folder to which its file names are relative.
    pub(super) fn document(self) -> Result<Document, Problem> {
        Document::parse(&self.path.display().to_string(), self.text.into_owned(), PathBuf::new())
    }

    fn named(&self, figure: &str) -> Option<File> {
        let beside = || selected(&self.path.with_file_name(figure).to_string_lossy()).ok()?.pop();
        file(figure).or_else(|| if self.is_own() { beside() } else { None })
    }
}

fn files() -> impl Iterator<Item = File> {
    FIGURES.iter().map(|&(paper, figure, text)| File {
        paper: paper.to_owned(),
        figure: figure.to_owned(),
        path: PathBuf::from(format!("papers/{paper}/{figure}.toml")),
        text: Cow::Borrowed(text),
    })
}

/// The names of all embedded figures, such as `r2c2/fig10`.
#[must_use]
pub fn names() -> Vec<String> {
    files().map(|file| file.name()).collect()
}

/// The embedded figure `name`; `None` if there is no such figure.
pub(super) fn file(name: &str) -> Option<File> {
    files().find(|file| file.name() == name)
}

/// The figures that the selectors name. A selector is the name of an embedded figure, the name of a paper, or the path
/// of a file that ends in `.toml`. An embedded figure is returned once, even if several selectors name it. Without
/// selectors, all embedded figures are returned.
pub(super) fn select(selectors: &[String]) -> Result<Vec<File>, Error> {
    if selectors.is_empty() {
        return Ok(files().collect());
    }
    let mut chosen: Vec<File> = Vec::new();
    for selector in selectors {
        for file in selected(selector)? {
            if file.is_own() || !chosen.iter().any(|other| other.name() == file.name()) {
                chosen.push(file);
            }
        }
    }
    Ok(chosen)
}

fn selected(selector: &str) -> Result<Vec<File>, Error> {
    let path = Path::new(selector);
    if path.extension().is_some_and(|end| end == "toml") {
        let text = crate::input::read_to_string(path).map_err(|error| Problem::unreadable(path, &error))?;
        let figure = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![File { paper: OWN.to_owned(), figure, path: path.to_owned(), text: text.into() }]);
    }
    let chosen: Vec<File> =
        files().filter(|file| selector == file.name() || selector == file.paper).collect();
    if chosen.is_empty() {
        let what = format!("unknown figure or paper `{selector}`");
        let names = names();
        let hint = match nearest(selector, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? `raddle list figures` prints all names"),
            None => "`raddle list figures` prints all names".to_owned(),
        };
        return Err(Error::Usage { what, hint });
    }
    Ok(chosen)
}
