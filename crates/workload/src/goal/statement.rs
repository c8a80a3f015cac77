//! The elements of a rank's program.

use raddle_core::text::Misread;

/// The name of an operation, unique within its rank. Only equality of labels has a meaning, not their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u64);

/// An action of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The rank computes.
    Calc {
        /// Duration in nanoseconds.
        ns: u64,
    },
    /// The rank sends a message.
    Send {
        /// Size in bytes, before scaling. A size of 0 is sent as a size of 1.
        bytes: u64,
        /// The receiving rank.
        to: u32,
        /// The tag; `None` matches any tag.
        tag: Option<u32>,
    },
    /// The rank waits for a message. The sender determines the message's size. The size in the receiver's program is
    /// ignored.
    Recv {
        /// Bytes, ignored.
        bytes: u64,
        /// The sending rank; `None` matches any rank.
        from: Option<u32>,
        /// The tag; `None` matches any tag.
        tag: Option<u32>,
    },
}

/// A statement of a rank's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// An operation.
    Operation {
        /// The operation's name. Only operations to which a dependency refers need a name.
        label: Option<Label>,
        /// The stream of the operation. While a computation runs on a stream, no other operation of the stream begins.
        cpu: u8,
        /// The operation itself.
        operation: Operation,
    },
    /// `after` may not begin before `before` has finished.
    Requires {
        /// The later operation.
        after: Label,
        /// The earlier operation.
        before: Label,
    },
    /// `after` may not begin before `before` has begun.
    Irequires {
        /// The later operation.
        after: Label,
        /// The earlier operation.
        before: Label,
    },
}

/// A statement and its number: the line in the file, or the position in a generated program. Both count from
/// 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The line in the file, or the position in a generated program.
    pub number: usize,
    /// The statement.
    pub statement: Statement,
}

/// The program of one rank, in file order. A dependency follows the definitions of both its labels.
pub type Program = Box<dyn Iterator<Item = Result<Line, Misread>> + Send>;
