//! Parses the statements of GOAL text.

use super::lexer::{End, Lexer, Word, Words};
use super::names::Names;
use super::{Line, Operation, Statement};
use raddle_core::text::Misread;
use std::io::BufRead;

/// Reads the head of the file and returns the number of ranks.
pub(super) fn read_head<R: BufRead>(lexer: &mut Lexer<R>) -> Result<u32, Misread> {
    let mut words = Words::default();
    read_filled(lexer, &mut words)?;
    let mut rest = Rest { words: &words, next: 0, lexer_at: (lexer.line, lexer.column) };
    rest.keyword("num_ranks")?;
    let word = rest.word("the number of ranks")?;
    let ranks = number(word, "the number of ranks")?;
    rest.end()?;
    if ranks == 0 {
        return Err(word.error("at least 1 rank"));
    }
    Ok(ranks)
}

/// Reads up to the `{` of the next rank's block, which must be the block of `rank`.
pub(super) fn read_rank<R: BufRead>(lexer: &mut Lexer<R>, rank: u32) -> Result<(), Misread> {
    let mut words = Words::default();
    read_filled(lexer, &mut words)?;
    let mut rest = Rest { words: &words, next: 0, lexer_at: (lexer.line, lexer.column) };
    rest.keyword("rank")?;
    let word = rest.word("a rank")?;
    if number::<u32>(word, "a rank")? != rank {
        return Err(word.error(&format!("rank {rank} (ranks must be in order)")));
    }
    rest.end()?;
    if words.end == End::Line {
        // The `{` may be on a later line, before any other word.
        read_filled(lexer, &mut words)?;
        if let Some(word) = words.get(0) {
            return Err(word.error("`{`"));
        }
    }
    match words.end {
        End::Open => Ok(()),
        _ => Err(lexer.error(format!("the program of rank {rank} has no `{{`"))),
    }
}

/// Reads the next statement, skipping empty lines. The words are empty only if a brace or the end of the text comes
/// first.
fn read_filled<R: BufRead>(lexer: &mut Lexer<R>, words: &mut Words) -> Result<(), Misread> {
    loop {
        lexer.read(words)?;
        if words.len() > 0 || words.end != End::Line {
            return Ok(());
        }
    }
}

/// The statements of one rank's block, up to its `}`.
#[derive(Debug)]
pub(super) struct Block<R> {
    pub(super) lexer: Lexer<R>,
    rank: u32,
    ranks: u32,
    names: Names,
    words: Words,
    ended: bool,
}

impl<R: BufRead> Block<R> {
    /// Creates the block of rank number `rank` in a program of `ranks` ranks. The lexer has just read the `{` of the
    /// block.
    pub(super) fn new(lexer: Lexer<R>, rank: u32, ranks: u32) -> Self {
        Self { lexer, rank, ranks, names: Names::default(), words: Words::default(), ended: false }
    }

    fn read(&mut self) -> Result<Option<Line>, Misread> {
        if self.ended {
            return Ok(None);
        }
        read_filled(&mut self.lexer, &mut self.words)?;
        let Self { lexer, rank, ranks, names, words, ended } = self;
        match words.end {
            End::Line => {}
            End::Close => *ended = true,
            End::Open | End::Text => {
                return Err(lexer.error(format!("the program of rank {rank} is not closed: `}}` is missing")));
            }
        }
        let Some(first) = words.get(0) else { return Ok(None) };
        let mut rest = Rest { words, next: 0, lexer_at: (lexer.line, lexer.column) };
        let statement = rest.statement(names, *ranks)?;
        rest.end()?;
        Ok(Some(Line { number: first.line, statement }))
    }
}

impl<R: BufRead> Iterator for Block<R> {
    type Item = Result<Line, Misread>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.read();
        self.ended |= line.is_err();
        line.transpose()
    }
}

/// The words of a statement that are still to be parsed.
struct Rest<'a> {
    words: &'a Words,
    next: usize,
    /// The line and column at which the text continues after the statement.
    lexer_at: (usize, usize),
}

impl<'a> Rest<'a> {
    fn word(&mut self, need: &str) -> Result<Word<'a>, Misread> {
        let word = self.words.get(self.next).ok_or_else(|| {
            // Point to the column right after the last word, where the missing word belongs.
            let last = self.words.len().checked_sub(1).and_then(|last| self.words.get(last));
            let behind = |word: Word<'_>| (word.line, word.column + word.text.len());
            let (line, column) = last.map_or(self.lexer_at, behind);
            Misread { line, column, problem: format!("{need} is missing") }
        })?;
        self.next += 1;
        Ok(word)
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), Misread> {
        let word = self.word(&format!("`{keyword}`"))?;
        if word.text == keyword.as_bytes() { Ok(()) } else { Err(word.error(&format!("`{keyword}`"))) }
    }

    /// Consumes the next word if the word is `keyword`. Returns true if the word was consumed.
    fn takes(&mut self, keyword: &str) -> bool {
        let is_next = self.words.get(self.next).is_some_and(|word| word.text == keyword.as_bytes());
        self.next += usize::from(is_next);
        is_next
    }

    fn end(&self) -> Result<(), Misread> {
        match self.words.get(self.next) {
            None => Ok(()),
            Some(word) => Err(word.error(
                "the end of the statement (`send` and `recv` accept the options `tag N`, `cpu N` and `nic N` \
                 in this order; `calc` accepts only `cpu N`)",
            )),
        }
    }

    fn statement(&mut self, names: &mut Names, ranks: u32) -> Result<Statement, Misread> {
        let first = self.word("a statement")?;
        if let Some(what @ (b"requires" | b"irequires")) = self.words.get(1).map(|word| word.text) {
            self.next += 1;
            let after = label(names, first)?;
            let before = label(names, self.word("a label")?)?;
            return Ok(match what {
                b"requires" => Statement::Requires { after, before },
                _ => Statement::Irequires { after, before },
            });
        }
        let mut verb = first;
        let mut name = None;
        if self.takes(":") {
            name = Some(label(names, first)?);
            verb = self.word("calc, send or recv")?;
        }
        let operation = match verb.text {
            b"calc" => {
                Operation::Calc { ns: number(self.word("a time in whole ns")?, "a time in whole ns")? }
            }
            b"send" => {
                let bytes = self.bytes()?;
                self.keyword("to")?;
                let to = rank(self.word("a rank")?, ranks)?;
                Operation::Send { bytes, to, tag: self.tag()? }
            }
            b"recv" => {
                let bytes = self.bytes()?;
                self.keyword("from")?;
                let from = any(self.word("a rank")?, |word| rank(word, ranks))?;
                Operation::Recv { bytes, from, tag: self.tag()? }
            }
            _ => return Err(verb.error("calc, send, recv, `A requires B` or `A irequires B`")),
        };
        let cpu = self.option("cpu")?;
        if !matches!(operation, Operation::Calc { .. }) {
            // The network adapter's number is ignored: each host has one adapter.
            self.option("nic")?;
        }
        Ok(Statement::Operation { label: name, cpu, operation })
    }

    /// Reads a size, written `100b` or `100 b`.
    fn bytes(&mut self) -> Result<u64, Misread> {
        let what = "a number of bytes such as `100b`";
        let word = self.word(what)?;
        let Some(digits) = word.text.strip_suffix(b"b") else {
            let bytes = number(word, what)?;
            self.keyword("b")?;
            return Ok(bytes);
        };
        decimal(digits).ok_or_else(|| word.error(what))
    }

    fn tag(&mut self) -> Result<Option<u32>, Misread> {
        if self.takes("tag") { any(self.word("a tag")?, |word| number(word, "a tag")) } else { Ok(Some(0)) }
    }

    fn option(&mut self, keyword: &str) -> Result<u8, Misread> {
        if self.takes(keyword) {
            number(self.word("a number up to 255")?, "a number up to 255")
        } else {
            Ok(0)
        }
    }
}

fn label(names: &mut Names, word: Word<'_>) -> Result<super::Label, Misread> {
    let is_label = word.text.first().is_some_and(u8::is_ascii_alphabetic)
        && word.text.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_label {
        return Err(word.error("a label (a letter, then letters, digits and `_`)"));
    }
    names.label(word.text).ok_or_else(|| {
        word.error(
            "at most 65,536 label names per rank (names that differ only in the number at their end count as \
             one)",
        )
    })
}

/// Parses a word with `read`. Returns `None` for -1, which matches any value.
fn any<'a, T>(word: Word<'a>, read: impl Fn(Word<'a>) -> Result<T, Misread>) -> Result<Option<T>, Misread> {
    if word.text == b"-1" { Ok(None) } else { read(word).map(Some) }
}

fn rank(word: Word<'_>, ranks: u32) -> Result<u32, Misread> {
    let need = || format!("a rank from 0 to {} (after `from`, -1 means any rank)", ranks - 1);
    let rank = decimal(word.text).filter(|&rank| rank < u64::from(ranks));
    rank.and_then(|rank| u32::try_from(rank).ok()).ok_or_else(|| word.error(&need()))
}

fn number<T: TryFrom<u64>>(word: Word<'_>, what: &str) -> Result<T, Misread> {
    decimal(word.text).and_then(|value| T::try_from(value).ok()).ok_or_else(|| word.error(what))
}

/// Parses a decimal number below 2^64 that consists only of digits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        value.checked_mul(10)?.checked_add(digit.into())
    })
}
