//! Writes programs as GOAL text, for other tools and for storage.

use super::{Label, Operation, Program, Statement};
use std::io::{self, Write};

/// Writes the programs of `ranks` ranks, one after another, statement by statement.
///
/// # Errors
/// If `to` cannot be written, or a program cannot be read.
pub fn write(ranks: u32, mut program: impl FnMut(u32) -> Program, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "num_ranks {ranks}")?;
    for rank in 0..ranks {
        writeln!(to, "rank {rank} {{")?;
        for line in program(rank) {
            write_statement(&line.map_err(io::Error::other)?.statement, to)?;
        }
        writeln!(to, "}}")?;
    }
    Ok(())
}

fn write_statement(statement: &Statement, to: &mut impl Write) -> io::Result<()> {
    match *statement {
        Statement::Operation { label, cpu, operation } => {
            if let Some(Label(label)) = label {
                write!(to, "l{label}: ")?;
            }
            match operation {
                Operation::Calc { ns } => write!(to, "calc {ns}")?,
                Operation::Send { bytes, to: peer, tag } => {
                    write!(to, "send {bytes}b to {peer} tag {}", any(tag))?;
                }
                Operation::Recv { bytes, from, tag } => {
                    write!(to, "recv {bytes}b from {} tag {}", any(from), any(tag))?;
                }
            }
            if cpu > 0 { writeln!(to, " cpu {cpu}") } else { writeln!(to) }
        }
        Statement::Requires { after, before } => writeln!(to, "l{} requires l{}", after.0, before.0),
        Statement::Irequires { after, before } => writeln!(to, "l{} irequires l{}", after.0, before.0),
    }
}

/// Returns the number to write in a GOAL file: -1 for `None`, which matches any rank or tag.
fn any(number: Option<u32>) -> i64 {
    number.map_or(-1, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::{Line, Trace};
    use crate::mpi::collectives::{ALGORITHMS, Collective};
    use crate::mpi::nas::Class;
    use crate::mpi::{KNOWN, Skeleton};
    use std::io::Cursor;

    fn text(ranks: u32, program: impl FnMut(u32) -> Program) -> String {
        let mut text = Vec::new();
        write(ranks, program, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn statements_are_written_in_the_form_in_which_they_are_read() {
        let operation = |label, cpu, operation| Statement::Operation { label, cpu, operation };
        let [first, second] = [Label(1), Label(2)];
        let program = |rank| -> Program {
            let statements = match rank {
                0 => vec![
                    operation(Some(first), 0, Operation::Calc { ns: 7 }),
                    operation(Some(second), 2, Operation::Send { bytes: 5, to: 1, tag: Some(3) }),
                    Statement::Requires { after: second, before: first },
                ],
                _ => vec![
                    operation(Some(first), 0, Operation::Recv { bytes: 5, from: None, tag: None }),
                    operation(Some(second), 0, Operation::Calc { ns: 0 }),
                    Statement::Irequires { after: second, before: first },
                    operation(None, 1, Operation::Calc { ns: 9 }),
                ],
            };
            Box::new((1..).zip(statements).map(|(number, statement)| Ok(Line { number, statement })))
        };
        let expected = "num_ranks 2\n\
                        rank 0 {\nl1: calc 7\nl2: send 5b to 1 tag 3 cpu 2\nl2 requires l1\n}\n\
                        rank 1 {\nl1: recv 5b from -1 tag -1\nl2: calc 0\nl2 irequires l1\ncalc 9 cpu 1\n}\n";
        assert_eq!(text(2, program), expected);
        assert_eq!(Trace::read(Cursor::new(expected), 100).unwrap().counts().operations, 5);
    }

    /// Every generated program, written as a file, passes the checks of a GOAL file. These cover labels, dependencies
    /// and the matching of messages.
    #[test]
    fn programs_made_here_are_sound_files() {
        let known = KNOWN.iter().map(|known| known.skeleton(Some(Class::S), 16).unwrap());
        let collectives =
            ALGORITHMS.map(|algorithm| Skeleton::new(Collective::new(algorithm, 8, 900).unwrap()));
        for skeleton in known.chain(collectives) {
            let skeleton = Skeleton { iterations: 2, ..skeleton };
            let text = text(skeleton.ranks(), |rank| skeleton.program(rank));
            let trace = Trace::read(Cursor::new(text), 200).unwrap();
            let traffic = skeleton.traffic().total();
            let counts = trace.counts();
            assert_eq!((counts.messages, counts.bytes), (traffic.messages, traffic.bytes), "{skeleton:?}");
        }
    }
}
