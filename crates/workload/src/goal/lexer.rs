//! Splits GOAL text into words, one statement at a time, so a file of any size can be read.

use raddle_core::text::Misread;
use std::io::{self, BufRead};

/// The words of one statement, and the token that ended it.
#[derive(Debug, Default)]
pub(super) struct Words {
    text: Vec<u8>,
    /// Byte range of each word in `text`, with its line and column.
    places: Vec<Place>,
    pub(super) end: End,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    from: usize,
    to: usize,
    line: usize,
    column: usize,
}

/// The token that ends a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum End {
    /// The end of the line, or `;`.
    Line,
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// The end of the text.
    #[default]
    Text,
}

/// A word, and its line and column in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a [u8],
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Word<'_> {
    /// Returns an error that points at the word. `need` describes the expected text.
    pub(super) fn error(&self, need: &str) -> Misread {
        let problem = format!("expected {need}, found `{}`", String::from_utf8_lossy(self.text));
        Misread { line: self.line, column: self.column, problem }
    }
}

impl Words {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<Word<'_>> {
        let &Place { from, to, line, column } = self.places.get(index)?;
        Some(Word { text: &self.text[from..to], line, column })
    }
}

/// Reads words and keeps track of the position in the text. A comment may occur wherever a space may occur.
#[derive(Debug)]
pub(super) struct Lexer<R> {
    input: R,
    /// Offset of the next byte from the beginning of the text, in bytes.
    pub(super) offset: u64,
    /// The line of the next byte, from 1.
    pub(super) line: usize,
    /// The column of the next byte, from 1.
    pub(super) column: usize,
}

impl<R: BufRead> Lexer<R> {
    /// Creates a lexer of `input`, which starts at the given offset, line and column of the text.
    pub(super) fn new(input: R, offset: u64, line: usize, column: usize) -> Self {
        Self { input, offset, line, column }
    }

    pub(super) fn error(&self, problem: String) -> Misread {
        Misread { line: self.line, column: self.column, problem }
    }

    fn peek(&mut self) -> Result<Option<u8>, Misread> {
        match self.input.fill_buf() {
            Ok(bytes) => Ok(bytes.first().copied()),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    #[cold]
    fn unreadable(&self, error: &io::Error) -> Misread {
        self.error(format!("the rest of the file cannot be read: {error}"))
    }

    fn advance(&mut self, byte: u8) {
        self.input.consume(1);
        self.offset += 1;
        self.column += 1;
        if byte == b'\n' {
            self.line += 1;
            self.column = 1;
        }
    }

    /// Reads the next statement into `words`, which may stay empty.
    ///
    /// # Errors
    /// If the text cannot be read, or a comment does not end.
    pub(super) fn read(&mut self, words: &mut Words) -> Result<(), Misread> {
        words.text.clear();
        words.places.clear();
        loop {
            let (line, column) = (self.line, self.column);
            let Some(byte) = self.peek()? else {
                words.end = End::Text;
                return Ok(());
            };
            self.advance(byte);
            let end = match byte {
                b' ' | b'\t' | b'\r' => continue,
                b'\n' | b';' => End::Line,
                b'{' => End::Open,
                b'}' => End::Close,
                b'/' if matches!(self.peek()?, Some(b'/' | b'*')) => {
                    self.comment()?;
                    continue;
                }
                _ => {
                    let from = words.text.len();
                    words.text.push(byte);
                    while byte != b':'
                        && let Some(next) = self.peek()?
                        && !b" \t\r\n;{}:/".contains(&next)
                    {
                        self.advance(next);
                        words.text.push(next);
                    }
                    words.places.push(Place { from, to: words.text.len(), line, column });
                    continue;
                }
            };
            words.end = end;
            return Ok(());
        }
    }

    /// Skips a comment, whose first `/` has been read. The newline that ends a `//` comment is not consumed.
    fn comment(&mut self) -> Result<(), Misread> {
        let (line, column) = (self.line, self.column - 1);
        let is_block = self.peek()? == Some(b'*');
        let mut previous = 0;
        while let Some(byte) = self.peek()? {
            if !is_block && byte == b'\n' {
                return Ok(());
            }
            self.advance(byte);
            if is_block && previous == b'*' && byte == b'/' {
                return Ok(());
            }
            // In `/*/`, the opening star must not close the comment.
            previous = if (previous, byte) == (0, b'*') { b' ' } else { byte };
        }
        let problem = "the comment is not closed: `*/` is missing".to_owned();
        if is_block { Err(Misread { line, column, problem }) } else { Ok(()) }
    }
}
