//! Errors in an experiment, and how they are shown: the position in the text, the cause and a hint.

use super::meanings;
use super::value::{At, Source};
use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An error in an experiment, with its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The cause of the error.
    pub cause: Box<Cause>,
    /// The position of the error.
    pub at: At,
    text: miette::NamedSource<String>,
}

/// The causes of errors in an experiment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// A file cannot be read.
    #[error("cannot read {file}: {why}")]
    Unreadable {
        /// The path of the file.
        file: String,
        /// The reason that the system gives.
        why: String,
    },
    /// The content of a file that the experiment names is not valid.
    #[error("{file} is not a valid {what}: {why}")]
    BadFile {
        /// The path of the file as the experiment gives it.
        file: String,
        /// The expected content.
        what: &'static str,
        /// The error in the file, with its position if the position is known.
        why: String,
    },
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// An override that is not `key=value`.
    #[error("an override must have the form key=value")]
    BadOverride,
    /// A key that this table does not have.
    #[error("unknown key `{key}` in {section}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table, as `[path]`, or `the experiment` for the whole file.
        section: String,
        /// The keys that the table can have, or only the key that was probably meant.
        known: Vec<String>,
    },
    /// A required key is missing.
    #[error("the key `{key}` is missing in {section}")]
    MissingKey {
        /// The key.
        key: String,
        /// The table, as `[path]`, or `the experiment` for the whole file.
        section: String,
        /// A line that sets the key.
        example: String,
    },
    /// A required table is missing.
    #[error("the experiment has no table [{name}]")]
    MissingTable {
        /// The table.
        name: &'static str,
        /// The beginning of the table, as an example.
        begins: &'static str,
    },
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The expected type, in words.
        expected: &'static str,
        /// The type of the value, or the text of a floating-point number.
        found: String,
    },
    /// A quantity, such as a rate or a time, that cannot be read.
    #[error(transparent)]
    Quantity(#[from] super::quantity::QuantityError),
    /// A name that is not in the list of known names.
    #[error("unknown {what} `{name}`")]
    UnknownName {
        /// The kind of thing that the name should denote.
        what: &'static str,
        /// The name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// A value that is not allowed.
    #[error("{what}")]
    OutOfRange {
        /// The reason why the value is wrong.
        what: String,
        /// The advice for the user.
        hint: String,
    },
    /// Two settings that contradict each other.
    #[error("{what}")]
    Contradiction {
        /// The contradiction.
        what: String,
        /// A way to resolve the contradiction.
        hint: String,
    },
    /// A name that is given twice.
    #[error("the {what} `{name}` is given twice")]
    Duplicate {
        /// The kind of thing that has the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A node that the topology does not have, or a switch. No flow can start or end at a switch.
    #[error("{what}")]
    NoSuchHost {
        /// The reason why the node is refused.
        what: String,
        /// The advice for the user.
        hint: String,
    },
    /// A flow from a node to itself.
    #[error("`src` and `dst` must be different nodes (got node {0} for both)")]
    SelfFlow(u32),
    /// A flow between two nodes without a path between them.
    #[error("no path leads from node {src} to node {dst}")]
    Unreachable {
        /// The source node.
        src: u32,
        /// The destination node.
        dst: u32,
    },
    /// Routes that are too long for the scheme's header.
    #[error("{what}")]
    RouteTooLong {
        /// The length of the longest route, and the length that the header can hold.
        what: String,
        /// A change that would make the routes fit.
        hint: String,
    },
}

impl Cause {
    /// The advice for the user; `None` if there is none.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { key, section, known } => {
                Some(meant(key, known).or_else(|| elsewhere(key, section)).unwrap_or_else(|| one_of(known)))
            }
            Self::UnknownName { name, known, .. } => {
                Some(meant(name, known).unwrap_or_else(|| one_of(known)))
            }
            Self::MissingKey { example, .. } => Some(format!("for example: {example}")),
            Self::MissingTable { name, begins } => {
                Some(format!("add the table [{name}], with keys such as {begins}"))
            }
            Self::Quantity(error) => Some(error.hint()),
            Self::OutOfRange { hint, .. }
            | Self::Contradiction { hint, .. }
            | Self::NoSuchHost { hint, .. }
            | Self::RouteTooLong { hint, .. } => Some(hint.clone()),
            Self::BadOverride => Some("for example: --set scheme.transport=pfq".to_owned()),
            Self::Duplicate { what, .. } => Some(format!("rename one of the two {what}s")),
            Self::SelfFlow(_) => Some("give another node as `dst`".to_owned()),
            Self::Unreachable { .. } => Some(
                "possible reasons: the topology is not connected, all paths lead through hosts that do not relay, \
                 or a [[failure]] at the start cuts all paths"
                    .to_owned(),
            ),
            Self::Unreadable { .. } => {
                Some("paths in an experiment are relative to the experiment's file".to_owned())
            }
            Self::WrongType { expected: "an integer", found } if found.parse::<f64>().is_ok() => {
                Some("write a whole number, without a point or an exponent".to_owned())
            }
            Self::BadFile { .. } | Self::Syntax(_) | Self::WrongType { .. } => None,
        }
    }
}

/// A hint with the known names that the user may have meant by `name`: names with a similar meaning, or else a name
/// with a similar spelling. Meaning comes first: `ndp` is a transport of other simulators, not a misspelled `udp`.
pub(crate) fn meant(name: &str, known: &[String]) -> Option<String> {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match &meanings::of(name, known)[..] {
        [] => nearest(name, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?")),
        [only] => Some(format!("did you mean `{only}`?")),
        several => Some(format!("Raddle has no `{name}`; names with a similar meaning: {}", quoted(several))),
    }
}

/// A hint that lists the tables, except `section`, that have a key named `key`.
fn elsewhere(key: &str, section: &str) -> Option<String> {
    /// Maximum number of tables that a hint lists.
    const NAMED: usize = 3;
    let tables = meanings::elsewhere(key, section);
    let more = if tables.len() > NAMED { ", and of other tables" } else { "" };
    let named: Vec<_> = tables.iter().take(NAMED).map(String::as_str).collect();
    (!named.is_empty()).then(|| format!("`{key}` is a key of {}{more}", named.join(" and of ")))
}

fn one_of(known: &[String]) -> String {
    if known.is_empty() {
        "there are no valid names to choose from".to_owned()
    } else {
        format!("one of: {}", known.join(", "))
    }
}

/// The most similar known name, if `name` may be a misspelling of it.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let slips = (name.chars().count() / 3).clamp(1, 3);
    known
        .map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= slips)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance (Damerau): the smallest number of edits that turn `a` into `b`. An edit adds, drops or replaces one
/// letter, or swaps two adjacent letters.
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
    /// True if each value is allowed by itself, but several values contradict each other. Other cells of a sweep may
    /// have values without a contradiction.
    #[must_use]
    pub fn is_misfit(&self) -> bool {
        matches!(*self.cause, Cause::Contradiction { .. })
    }

    /// A problem with `cause` at the position `at`.
    #[must_use]
    pub fn at(at: &At, cause: Cause) -> Self {
        let text = miette::NamedSource::new(&at.source.name, at.source.text.clone());
        Self { cause: Box::new(cause), at: at.clone(), text }
    }

    /// The problem as one line: its position or its key, its cause and the advice.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let name = &self.at.source.name;
        let place = match self.at.position() {
            Some((line, column)) => Some(format!("{name}:{line}:{column}: ")),
            None => self.at.key().map(|key| format!("{key}: ")),
        };
        let hint = self.help().map(|hint| format!(" ({hint})"));
        format!("{}{self}{}", place.unwrap_or_default(), hint.unwrap_or_default())
    }

    /// The problem that a file cannot be read. The message shows no line of the file.
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
            return None; // A hint says how to correct the text, and the text is empty.
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
