//! A GOAL file: checked once, then read by all its ranks at the same time, each at its own place.

use super::Program;
use super::check::check;
use super::lexer::Lexer;
use super::parse::Block;
use raddle_core::text::Misread;
use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that each rank reads at once.
const BUFFER: usize = 16 * 1024;

/// What a file can be.
trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file that several read at their own places.
struct Source(Mutex<Box<dyn ReadSeek>>);

/// One of them.
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

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Operations.
    pub operations: u64,
    /// Sends among them.
    pub messages: u64,
    /// Bytes that these send, unscaled.
    pub bytes: u64,
    /// Bytes of the largest.
    pub largest: u64,
}

/// A GOAL file that has been checked.
pub struct Trace {
    source: Arc<Source>,
    /// Where each rank's statements begin.
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
    /// Checks a file from beginning to end, in memory that does not grow with it: the form of each statement, labels and
    /// dependencies (those named within `window` statements of the operation that they hold back), cycles, and that
    /// sends and receives match in number wherever receives say from whom and with what tag.
    ///
    /// # Errors
    /// With rank and place of the first thing that is wrong.
    pub fn read(file: impl Read + Seek + Send + 'static, window: u64) -> Result<Self, Misread> {
        let source = Arc::new(Source(Mutex::new(Box::new(file))));
        let mut trace = Self { source, blocks: Vec::new(), counts: Counts::default() };
        check(&mut trace, window)?;
        Ok(trace)
    }

    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.blocks.len()).expect("the number of ranks fits 32 bits")
    }

    /// What it holds.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The program of a rank.
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
