//! What can go wrong in the lab.

use crate::experiment::Problem;
use std::path::{Path, PathBuf};

/// Why the lab could not do what it was asked.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// The experiment is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problem(#[from] Box<Problem>),
    /// The user asked for something that is not there.
    #[error("{what}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What would be right.
        #[help]
        hint: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Records cannot be written or read.
    #[error(transparent)]
    Records(#[from] raddle_records::RecordsError),
    /// A run broke off.
    #[error("the run failed: {0}")]
    Run(String),
    /// Results are whole, but cannot stand where they were asked for.
    #[error("{why}; the results are kept in {kept}", kept = kept.display())]
    Displaced {
        /// Why not.
        why: Box<Error>,
        /// Where they are.
        kept: PathBuf,
    },
    /// The user ended what was going on.
    #[error("interrupted")]
    Interrupted,
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl Error {
    /// An error of the file system.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// The exit code that the command gives it: 2 for bad input, 3 for a run that failed, 130 for an interruption.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Problem(_) | Self::Usage { .. } => 2,
            Self::Io { .. } | Self::Records(_) | Self::Run(_) | Self::Displaced { .. } => 3,
            Self::Interrupted => 130,
        }
    }
}
