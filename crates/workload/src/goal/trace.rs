//! A GOAL file. The file is checked once. Then all ranks read the file at the same time, each rank at its own position.

use super::Program;
use super::check::check;
use super::lexer::Lexer;
use super::parse::Block;
use raddle_core::text::Misread;
use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of each rank's read buffer, in bytes.
const BUFFER: usize = 16 * 1024;

/// The traits that a trace file needs.
trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file shared by several readers, each at its own position.
struct Source(Mutex<Box<dyn ReadSeek>>);

/// One reader of the shared file.
pub(super) struct Part {
    source: Arc<Source>,
    offset: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.source.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.offset))?;
        let count = file.read(buffer)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// A position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Counts of the operations and messages in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of operations.
    pub operations: u64,
    /// Number of sends among the operations.
    pub messages: u64,
    /// Bytes of all sends, unscaled.
    pub bytes: u64,
    /// Bytes of the largest send.
    pub largest: u64,
}

/// A GOAL file that has been checked.
pub struct Trace {
    source: Arc<Source>,
    /// The position at which each rank's statements begin.
    pub(super) blocks: Vec<Place>,
    pub(super) counts: Counts,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("ranks", &self.ranks())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Trace {
    /// Checks a file from beginning to end, without holding the file in memory. Checks the form of each statement, the
    /// labels and the dependencies, and that no dependencies form a cycle. A dependency must follow the operation that
    /// it delays by at most `window` statements. A rank must receive as many messages as are sent to it. If all its
    /// receives name a sender, the numbers must match for each sender. They must also match for each tag, unless a send
    /// or receive of this pair of ranks has the tag -1. If some receives accept any sender, the receives that name a
    /// sender must not outnumber the messages of this sender.
    ///
    /// # Errors
    /// Returns a problem with its line and column.
    pub fn read(file: impl Read + Seek + Send + 'static, window: u64) -> Result<Self, Misread> {
        let source = Arc::new(Source(Mutex::new(Box::new(file))));
        let mut trace = Self { source, blocks: Vec::new(), counts: Counts::default() };
        check(&mut trace, window)?;
        Ok(trace)
    }

    /// Returns the number of ranks.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the number of ranks in a file fits in a `u32`")]
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.blocks.len()).expect("the number of ranks must fit 32 bits")
    }

    /// Returns the counts of the operations and messages in the file.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the program of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn program(&self, rank: u32) -> Program {
        Box::new(self.block(rank, self.blocks[rank as usize]))
    }

    pub(super) fn block(&self, rank: u32, at: Place) -> Block<BufReader<Part>> {
        Block::new(self.lexer(at), rank, self.ranks())
    }

    pub(super) fn lexer(&self, Place { offset, line, column }: Place) -> Lexer<BufReader<Part>> {
        let part = Part { source: Arc::clone(&self.source), offset };
        Lexer::new(BufReader::with_capacity(BUFFER, part), offset, line, column)
    }
}
