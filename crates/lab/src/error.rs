//! The errors of this crate.

use crate::experiment::Problem;
use miette::Diagnostic as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An error of this crate.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// The experiment is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problem(#[from] Box<Problem>),
    /// The user asked for something that does not exist or is not allowed.
    #[error("{what}")]
    Usage {
        /// The problem.
        what: String,
        /// A suggested correction.
        #[help]
        hint: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Records cannot be written or read.
    #[error(transparent)]
    Records(#[from] raddle_records::RecordsError),
    /// A run reached its end and delivered none of its flows.
    #[error("{what}")]
    Undelivered {
        /// The error: the number of flows, and the reasons why none of them was delivered.
        what: String,
        /// A suggested correction, if one is known.
        #[help]
        hint: Option<String>,
    },
    /// A run, or another computation of the command, failed.
    #[error("the run failed: {0}")]
    Run(String),
    /// The results are complete, but could not be stored under the requested name.
    #[error("{why}; the results are kept in {kept}", kept = kept.display())]
    Displaced {
        /// The reason.
        why: Box<Error>,
        /// The path of the results.
        kept: PathBuf,
    },
    /// The user interrupted the command.
    #[error("interrupted")]
    Interrupted,
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl Error {
    /// Returns a function that makes an [`Error::Io`] from the system's error. `action` is the operation that failed,
    /// and `path` is the file.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// The exit code of the command: 2 for bad input, including an experiment or a run directory that cannot be read; 3
    /// for a failed run or another failed access to a file; 130 for an interruption.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Problem(_) | Self::Usage { .. } => 2,
            Self::Io { .. }
            | Self::Records(_)
            | Self::Undelivered { .. }
            | Self::Run(_)
            | Self::Displaced { .. } => 3,
            Self::Interrupted => 130,
        }
    }

    /// The error as a JSON document: `{"error": {…}}` with its message and exit code. If known, the document also has a
    /// hint and the position of the error: the key, the file (or `--set`), the line and the column, both counted from 1.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut error = json!({
            "message": self.to_string(),
            "hint": self.help().map(|hint| hint.to_string()),
            "exit_code": self.exit_code(),
        });
        if let Self::Problem(problem) = self {
            error["key"] = problem.at.key().into();
            error["file"] = Some(problem.at.source.name.as_str()).filter(|name| !name.is_empty()).into();
            if let Some((line, column)) = problem.at.position() {
                error["line"] = line.into();
                error["column"] = column.into();
            }
        }
        json!({ "error": error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;

    #[test]
    fn an_error_in_a_text_says_where_it_is() {
        let text = "# a\ntopology = { \"é\" = 1, kind = \"torsu\" }\n";
        let document = Document::parse("a.toml", text.to_owned(), PathBuf::new()).expect("valid TOML");
        let Err(problem) = document.topology() else { panic!("there is no such kind") };
        let json = Error::from(problem).json();
        let place = ["key", "file", "line", "column", "hint"].map(|key| json["error"][key].clone());
        let hint = json!("did you mean `torus`?");
        assert_eq!(place, [json!("topology.kind"), json!("a.toml"), json!(2), json!(30), hint]);
    }

    #[test]
    fn an_error_in_a_text_without_a_name_says_the_key() {
        let place = |text: &str| {
            let document = Document::parse("", text.to_owned(), PathBuf::new()).expect("valid TOML");
            let problem = document.experiment().expect_err("an experiment with an error");
            (problem.in_one_line(), Error::from(problem).json()["error"].clone())
        };
        let (line, json) = place("[topology]\nkind = 'torsu'\n");
        assert_eq!(line, "topology.kind: unknown kind of topology `torsu` (did you mean `torus`?)");
        assert_eq!(
            (&json["key"], &json["file"], &json["line"]),
            (&"topology.kind".into(), &Value::Null, &Value::Null)
        );
        let topology = "kind = 'torus'\ndims = [3, 3]\nlink_rate = '10 Gbps'\nlink_delay = '1 us'\n";
        let (line, _) = place(&format!("[topology]\n{topology}[[topology.slow]]\nfrom = 0\nto = 'x'\n"));
        assert!(line.starts_with("topology.slow.0.to: "), "{line}");
        // A missing key has the place of its table. A missing table has no place.
        assert!(
            place("[topology]\nkind = 'torus'\n").0.starts_with("topology: the key `link_rate` is missing")
        );
        assert!(place("[engine]\nseed = 1\n").0.starts_with("the experiment has no table [topology]"));
    }

    #[test]
    fn an_error_without_a_text_has_no_line() {
        let json = Error::from(Problem::unreadable(Path::new("x"), &std::io::Error::other("no"))).json();
        assert_eq!((&json["error"]["file"], &json["error"]["line"]), (&"x".into(), &Value::Null));
        assert_eq!(Error::Interrupted.json()["error"]["exit_code"], 130);
    }
}
