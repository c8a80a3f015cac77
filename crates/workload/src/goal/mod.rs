//! Programs of message-passing ranks: GOAL text (LogGOPSim, ATLAHS), and their replay over any transport
//! (specifications/cee.md §6.5, §6.6).

mod check;

mod lexer;
mod matching;
mod names;
mod order;
mod parse;
mod payloads;
mod rank;
mod replay;
mod statement;
mod trace;
mod write;

pub use rank::{Account, Settings};
pub use replay::{Computing, Job, Replay};
pub use statement::{Label, Line, Operation, Program, Statement};
pub use trace::{Counts, Trace};
pub use write::write;

#[cfg(test)]
mod tests;
