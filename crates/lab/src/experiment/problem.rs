//! What can be wrong with an experiment, and how it is shown: the place in the text, the cause, a hint.

use super::value::{At, Source};
use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Something wrong with an experiment, at a place in its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What is wrong.
    pub cause: Box<Cause>,
    /// Where.
    pub at: At,
    text: miette::NamedSource<String>,
}

/// The kinds of mistakes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// A file cannot be read.
    #[error("cannot read {file}: {why}")]
    Unreadable {
        /// The file as it was named.
        file: String,
        /// The system's reason.
        why: String,
    },
    /// A file named by the experiment is not what it should be.
    #[error("{file} is not a valid {what}: {why}")]
    BadFile {
        /// The file as it was named.
        file: String,
        /// What it should hold.
        what: &'static str,
        /// What is wrong, and where in the file.
        why: String,
    },
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// An override that is not `key=value`.
    #[error("an override must have the form key=value")]
    BadOverride,
    /// A key that means nothing here.
    #[error("unknown key `{key}` in {section}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table, as `[path]`.
        section: String,
        /// The keys it takes.
        known: Vec<String>,
    },
    /// A key that must be there and is not.
    #[error("the key `{key}` is missing in {section}")]
    MissingKey {
        /// The key.
        key: String,
        /// The table, as `[path]`.
        section: String,
        /// A line that would do.
        example: String,
    },
    /// A table that every experiment has, and this one has not.
    #[error("the experiment has no table [{name}]")]
    MissingTable {
        /// The table.
        name: &'static str,
        /// How it may begin.
        begins: &'static str,
    },
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What is wanted, with an example.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A quantity that is not understood.
    #[error(transparent)]
    Quantity(#[from] super::quantity::QuantityError),
    /// A name that is not one of a known list.
    #[error("unknown {what} `{name}`")]
    UnknownName {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A value that cannot be.
    #[error("{what}")]
    OutOfRange {
        /// What is wrong with it.
        what: String,
        /// What would be right.
        hint: String,
    },
    /// Two things that do not go together.
    #[error("{what}")]
    Contradiction {
        /// What does not go with what.
        what: String,
        /// How to resolve it.
        hint: String,
    },
    /// A name given twice.
    #[error("the {what} `{name}` is given twice")]
    Duplicate {
        /// What has the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A node that the topology does not have, or at which no flow can start or end.
    #[error("{what}")]
    NoSuchHost {
        /// What is wrong with it.
        what: String,
        /// Which nodes there are.
        hint: String,
    },
    /// A flow from a node to itself.
    #[error("a flow must go to another node (got a flow from node {0} to itself)")]
    SelfFlow(u32),
    /// A flow between nodes that no path joins.
    #[error("no path leads from node {src} to node {dst}")]
    Unreachable {
        /// From.
        src: u32,
        /// To.
        dst: u32,
    },
    /// Routes that the scheme's header cannot hold.
    #[error("{what}")]
    RouteTooLong {
        /// The longest route against the header's room.
        what: String,
        /// What would fit.
        hint: String,
    },
}

impl Cause {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { key, known, .. } => Some(choices(key, known)),
            Self::UnknownName { name, known, .. } => Some(choices(name, known)),
            Self::MissingKey { example, .. } => Some(format!("for example: {example}")),
            Self::MissingTable { name, begins } => Some(format!("for example: [{name}] {begins} …")),
            Self::Quantity(error) => Some(error.hint()),
            Self::OutOfRange { hint, .. }
            | Self::Contradiction { hint, .. }
            | Self::NoSuchHost { hint, .. }
            | Self::RouteTooLong { hint, .. } => Some(hint.clone()),
            Self::BadOverride => Some("for example: --set scheme.transport=pfq".to_owned()),
            Self::Duplicate { what, .. } => Some(format!("give each {what} a different name")),
            Self::SelfFlow(_) => Some("give another node as `dst`".to_owned()),
            Self::Unreachable { .. } => Some(
                "possible reasons: the topology is not connected, all paths lead through hosts that do not relay, \
                 or a [[failure]] at the start cuts all paths"
                    .to_owned(),
            ),
            Self::Unreadable { .. } => {
                Some("paths in an experiment are relative to the experiment's file".to_owned())
            }
            Self::BadFile { .. } | Self::Syntax(_) | Self::WrongType { .. } => None,
        }
    }
}

/// "did you mean …" where a known name is near, else the names there are.
fn choices(name: &str, known: &[String]) -> String {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "no name is allowed here".to_owned(),
        None => format!("one of: {}", known.join(", ")),
    }
}

/// The known name that a slip of the fingers may have meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let slips = (name.chars().count() / 3).clamp(1, 3);
    known
        .map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= slips)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance: letters added, dropped, replaced, or swapped with their neighbour (Damerau).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

impl Problem {
    /// A problem at a place.
    #[must_use]
    pub fn at(at: &At, cause: Cause) -> Self {
        let text = miette::NamedSource::new(&at.source.name, at.source.text.clone());
        Self { cause: Box::new(cause), at: at.clone(), text }
    }

    /// A file that cannot be read, before there is any text to point at.
    #[must_use]
    pub fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let file = path.display().to_string();
        let source = Arc::new(Source { name: file.clone(), text: String::new() });
        Self::at(&At { source, span: 0..0 }, Cause::Unreadable { file, why: error.to_string() })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        if self.at.source.text.is_empty() {
            return None; // no text to correct
        }
        self.cause.hint().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.at.source.text.is_empty()).then_some(&self.text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.at.span.clone();
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some("here".to_owned()), span))))
    }
}
