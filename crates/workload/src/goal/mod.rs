//! Programs of message-passing ranks: GOAL text (LogGOPSim, ATLAHS), and their replay over any transport
//! (specs/cee.md §6.5, §6.6).

mod statement;

pub use statement::{Label, Line, Operation, Program, Statement};
