//! The figures that come with the program: the files of `papers/`, one a figure; and figures in files of the user's.

use crate::Error;
use crate::experiment::Problem;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A paper's figures.
pub struct Paper {
    /// Its name, and its folder in `papers/`.
    pub name: &'static str,
    figures: &'static [(&'static str, &'static str)],
}

macro_rules! figures {
    ($paper:literal: $($figure:literal),*) => {
        Paper {
            name: $paper,
            figures: &[$(($figure, include_str!(concat!("../../../../papers/", $paper, "/", $figure, ".toml")))),*],
        }
    };
}

const PAPERS: &[Paper] = &[
    figures!("cee": "fig7", "fig8a", "fig8b", "fig8c", "fig9a", "fig9b", "fig9c", "fig9d", "fig9e", "fig9f", "fig10a", "fig10b", "fig11a", "fig11b"),
    figures!("expeditus": "fig10", "fig11", "fig12", "fig13", "fig14a", "fig14b", "fig15a", "fig15b", "fig16", "balancers"),
    figures!("pdq": "fig3a", "fig3b", "fig3c", "fig3d", "fig3e", "fig4a", "fig4b", "fig5a", "fig5b", "fig5c", "fig6a", "fig6b", "fig6c", "fig7a", "fig7b", "fig7c", "fig8a", "fig8b", "fig8c", "fig8d", "fig8e", "fig9a", "fig9b", "fig10"),
    figures!("r2c2": "fig2", "fig2-definitions", "fig4", "fig8", "fig9", "fig10", "fig10-rules", "fig11", "fig12", "fig13", "fig14", "fig15", "fig16", "fig17a", "fig17b", "fig18", "fig19", "fig19-counted", "switched"),
];

/// A figure's file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) paper: String,
    pub(super) figure: String,
    /// How the user knows the file.
    pub(super) path: PathBuf,
    pub(super) text: Cow<'static, str>,
}

/// Where figures go that stand in a file of the user's.
const OWN: &str = "own";

impl File {
    /// Whether it stands in a file of the user's, from which other files are looked for.
    pub(super) fn is_own(&self) -> bool {
        self.paper == OWN
    }

    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.paper, self.figure)
    }

    /// Whether there is a figure of this name: one that comes with the program, or a file beside this one of the user's.
    pub(super) fn knows(&self, figure: &str) -> bool {
        let beside = self.path.parent().unwrap_or(Path::new("")).join(figure);
        files().any(|file| file.name() == figure) || (self.is_own() && beside.is_file())
    }
}

fn files() -> impl Iterator<Item = File> {
    PAPERS.iter().flat_map(|paper| {
        paper.figures.iter().map(|&(figure, text)| File {
            paper: paper.name.to_owned(),
            figure: figure.to_owned(),
            path: PathBuf::from(format!("papers/{}/{figure}.toml", paper.name)),
            text: Cow::Borrowed(text),
        })
    })
}

/// The names of all figures, such as `r2c2/fig10`.
#[must_use]
pub fn names() -> Vec<String> {
    files().map(|file| file.name()).collect()
}

/// The figure of that name.
pub(super) fn file(name: &str) -> Option<File> {
    files().find(|file| file.name() == name)
}

/// The figures that `selector` names: a figure, a paper, a file that ends in `.toml`, or all.
pub(super) fn select(selector: Option<&str>) -> Result<Vec<File>, Error> {
    if let Some(path) =
        selector.map(Path::new).filter(|path| path.extension().is_some_and(|end| end == "toml"))
    {
        let text = std::fs::read_to_string(path).map_err(|error| Problem::unreadable(path, &error))?;
        let figure = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![File { paper: OWN.to_owned(), figure, path: path.to_owned(), text: text.into() }]);
    }
    let wanted = |file: &File| selector.is_none_or(|word| word == file.name() || word == file.paper);
    let chosen: Vec<File> = files().filter(wanted).collect();
    if chosen.is_empty() {
        let what = format!("no figure `{}`", selector.unwrap_or("of any paper"));
        return Err(Error::Usage { what, hint: format!("one of: {}", names().join(", ")) });
    }
    Ok(chosen)
}
