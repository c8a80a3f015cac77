//! What a rank's program is made of.

use raddle_core::text::Misread;

/// The name of an operation, unique within its rank. Only equality means anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u64);

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It computes.
    Calc {
        /// Nanoseconds.
        ns: u64,
    },
    /// It sends a message.
    Send {
        /// Bytes; 0 is sent as 1.
        bytes: u64,
        /// The rank that it goes to.
        to: u32,
        /// The tag; `None` matches any.
        tag: Option<u32>,
    },
    /// It waits for a message. Its size is the sender's; what is written here is not looked at.
    Recv {
        /// Bytes.
        bytes: u64,
        /// The rank that it comes from; `None` is any.
        from: Option<u32>,
        /// The tag; `None` is any.
        tag: Option<u32>,
    },
}

/// A statement of a rank's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// An operation.
    Operation {
        /// Its name, if anything depends on it or it depends on anything.
        label: Option<Label>,
        /// The stream on which it runs; operations on one stream run one after another.
        cpu: u8,
        /// What it is.
        operation: Operation,
    },
    /// `after` may not begin before `before` has finished.
    Requires {
        /// The later operation.
        after: Label,
        /// The earlier one.
        before: Label,
    },
    /// `after` may not begin before `before` has begun.
    Irequires {
        /// The later operation.
        after: Label,
        /// The earlier one.
        before: Label,
    },
}

/// A statement and where it stands: the line of the file, or the place in a generated program, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub number: usize,
    /// What it says.
    pub statement: Statement,
}

/// The program of one rank, in file order: both labels of a dependency stand before it.
pub type Program = Box<dyn Iterator<Item = Result<Line, Misread>> + Send>;
