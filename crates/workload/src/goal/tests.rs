//! Tests of GOAL parsing and its error messages.

use super::{Label, Line, Operation, Statement, Trace};
use std::io::Cursor;

/// The example of specifications/cee.md §6.6.
pub(super) const EXAMPLE: &str = "num_ranks 2
rank 0 {
l1: calc 1000
l2: send 3000b to 1 tag 7
l2 requires l1
}
rank 1 {
l1: recv 3000b from 0 tag 7
l2: calc 500 cpu 0
l2 requires l1
}
";

pub(super) fn trace(text: &str) -> Trace {
    Trace::read(Cursor::new(text.to_owned()), 4_096).unwrap()
}

fn error(text: &str) -> String {
    error_within(text, 4_096)
}

fn error_within(text: &str, window: u64) -> String {
    Trace::read(Cursor::new(text.to_owned()), window).expect_err("something is wrong").to_string()
}

/// Returns the error for a program of two ranks in which rank 0 has these statements. The statements begin in
/// line 2.
fn error_of(statements: &str) -> String {
    error(&format!("num_ranks 2\nrank 0 {{{statements}\n}}\nrank 1 {{\n}}\n"))
}

fn statements(trace: &Trace, rank: u32) -> Vec<(usize, Statement)> {
    trace
        .program(rank)
        .map(|line| line.map(|Line { number, statement }| (number, statement)).unwrap())
        .collect()
}

fn operation(label: Option<u64>, cpu: u8, operation: Operation) -> Statement {
    Statement::Operation { label: label.map(Label), cpu, operation }
}

#[test]
fn the_example_is_read() {
    let trace = trace(EXAMPLE);
    let send = Operation::Send { bytes: 3_000, to: 1, tag: Some(7) };
    // The label of `l1` is 2: the number at the end of the name, plus one.
    let requires = Statement::Requires { after: Label(3), before: Label(2) };
    let first = [
        (3, operation(Some(2), 0, Operation::Calc { ns: 1_000 })),
        (4, operation(Some(3), 0, send)),
        (5, requires),
    ];
    let recv = Operation::Recv { bytes: 3_000, from: Some(0), tag: Some(7) };
    let second = [
        (8, operation(Some(2), 0, recv)),
        (9, operation(Some(3), 0, Operation::Calc { ns: 500 })),
        (10, requires),
    ];
    assert_eq!(statements(&trace, 0), first);
    assert_eq!(statements(&trace, 1), second);
    // Programs can be read again, in any order.
    assert_eq!(statements(&trace, 0), first);
    let counts = trace.counts();
    assert_eq!((trace.ranks(), counts.operations, counts.messages), (2, 4, 1));
    assert_eq!((counts.bytes, counts.largest), (3_000, 3_000));
}

#[test]
fn a_block_may_stand_on_one_line_and_comments_anywhere() {
    let text = "/* head\n * and more */ num_ranks 3 // three\n\n\
        rank 0 { l1: send 8b to 1 tag 0; l2: recv 8 b from 1 tag -1 cpu 2 nic 1; l3: calc 500; l2 irequires l1 }\n\
        rank 1\n{\n\tsend 8b to 0\t\n recv 0b from -1 /* any */ tag -1\n}\nrank 2 { }";
    let trace = trace(text);
    let one = [
        operation(Some(2), 0, Operation::Send { bytes: 8, to: 1, tag: Some(0) }),
        operation(Some(3), 2, Operation::Recv { bytes: 8, from: Some(1), tag: None }),
        operation(Some(4), 0, Operation::Calc { ns: 500 }),
        Statement::Irequires { after: Label(3), before: Label(2) },
    ];
    assert_eq!(statements(&trace, 0), one.map(|statement| (4, statement)));
    let two = [
        (7, operation(None, 0, Operation::Send { bytes: 8, to: 0, tag: Some(0) })),
        (8, operation(None, 0, Operation::Recv { bytes: 0, from: None, tag: None })),
    ];
    assert_eq!(statements(&trace, 1), two);
    assert_eq!(statements(&trace, 2), []);
}

#[test]
fn malformed_text_is_refused_at_its_place() {
    assert_eq!(error(""), "line 1, column 1: `num_ranks` is missing");
    assert_eq!(error("ranks 2"), "line 1, column 1: expected `num_ranks`, found `ranks`");
    assert_eq!(error("num_ranks 0"), "line 1, column 11: expected at least 1 rank, found `0`");
    assert_eq!(
        error("num_ranks 2\n\nrank 1 {\n}"),
        "line 3, column 6: expected rank 0 (ranks must be in order), found `1`"
    );
    assert_eq!(error("num_ranks 2\nrank 0 {\n}\n"), "line 4, column 1: `rank` is missing");
    assert_eq!(
        error("num_ranks 1\nrank 0 {\n calc 1\n"),
        "line 4, column 1: in rank 0: the program of rank 0 is not closed: `}` is missing"
    );
    assert_eq!(
        error("num_ranks 1\n /* rank 0 {"),
        "line 2, column 2: the comment is not closed: `*/` is missing"
    );
    let error = error_of;
    assert_eq!(
        error("\n l1: cal 5"),
        "line 3, column 6: in rank 0: expected calc, send, recv, `A requires B` or `A irequires B`, found `cal`"
    );
    assert_eq!(error("\n calc"), "line 3, column 6: in rank 0: a time in whole ns is missing");
    assert_eq!(error("\n calc -1"), "line 3, column 7: in rank 0: expected a time in whole ns, found `-1`");
    assert!(error("\n calc 18446744073709551616").starts_with("line 3, column 7:"));
    assert!(
        error("\n calc 1 tag 3")
            .starts_with("line 3, column 9: in rank 0: expected the end of the statement")
    );
    assert_eq!(error("\n send 8 to 1"), "line 3, column 9: in rank 0: expected `b`, found `to`");
    assert!(error("\n send xb to 1").starts_with("line 3, column 7: in rank 0: expected a number of bytes"));
    assert_eq!(
        error("\n send 8b to 2"),
        "line 3, column 13: in rank 0: expected a rank from 0 to 1 (after `from`, -1 means any rank), \
         found `2`"
    );
    assert_eq!(error("\n send 8b from 1"), "line 3, column 10: in rank 0: expected `to`, found `from`");
    assert!(error("\n recv 8b from -2").starts_with("line 3, column 15:"));
    assert!(error("\n send 8b to 1 cpu 0 tag 7").starts_with("line 3, column 21:"));
    assert!(error("\n send 8b to 1 tag 4294967296").starts_with("line 3, column 19:"));
    assert!(error("\n calc 8 cpu 256").starts_with("line 3, column 13:"));
    assert!(error("\n 1l: calc 8").starts_with("line 3, column 2: in rank 0: expected a label (a letter"));
    assert!(error("\n l-1: calc 8").starts_with("line 3, column 2:"));
    assert!(
        error("\n calc 8\nrank 1 {")
            .starts_with("line 4, column 9: in rank 0: the program of rank 0 is not closed")
    );
}

#[test]
fn labels_are_defined_once_and_before_use() {
    let error = error_of;
    assert_eq!(
        error("\nl1: calc 1\nl1: calc 2"),
        "line 4, column 1: in rank 0: another operation of this rank has the same label; labels must be unique within a rank"
    );
    assert!(
        error("\nl1: calc 1\nl1 requires l2\nl2: calc 1")
            .starts_with("line 4, column 1: in rank 0: this dependency uses a label that is not yet defined")
    );
    assert!(
        error("\nl1: calc 1\nl2 requires l1\n")
            .starts_with("line 4, column 1: in rank 0: this dependency uses a label that is not yet defined")
    );
    // Each rank has its own labels.
    trace("num_ranks 2\nrank 0 {\nl1: calc 1\n}\nrank 1 {\nl1: calc 1\n}");
}

#[test]
fn dependency_cycles_are_found() {
    let circle = "\nl1: calc 1\nl2: calc 1\nl3: calc 1\nl2 requires l3\nl3 irequires l2";
    assert_eq!(
        error_of(circle),
        "line 4, column 1: in rank 0: this operation can never begin: it is part of a cycle of dependencies, \
         or waits for an operation in a cycle"
    );
    assert!(error_of("\nl1: calc 1\nl1 requires l1").starts_with("line 3"));
    // A dependency on a later operation is not a cycle.
    trace("num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\n}");
}

#[test]
fn a_dependency_beyond_the_window_is_refused() {
    let text = |between: usize| {
        let calcs = "calc 1\n".repeat(between);
        format!("num_ranks 1\nrank 0 {{\nl1: calc 1\nl2: calc 1\n{calcs}l2 requires l1\n}}")
    };
    assert!(Trace::read(Cursor::new(text(9)), 10).is_ok());
    assert!(error_within(&text(10), 10).starts_with(
        "line 15, column 1: in rank 0: this dependency is more than 10 statements after the operation"
    ));
}

#[test]
fn the_lookahead_limit_does_not_depend_on_begun_operations() {
    // The operation `l2` waits for `l3`. Neither operation has begun when the last dependency is read.
    let text = |between: usize| {
        let calcs = "calc 1\n".repeat(between);
        format!(
            "num_ranks 1\nrank 0 {{\nl1: calc 1\nl2: calc 1\n{calcs}l3: calc 1\nl2 requires l3\nl2 requires l1\n}}"
        )
    };
    assert!(Trace::read(Cursor::new(text(7)), 10).is_ok());
    assert!(error_within(&text(8), 10).starts_with("line 15, column 1: in rank 0: this dependency is more"));
}

#[test]
fn sends_and_receives_match_in_number() {
    let text =
        |first: &str, second: &str| format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}");
    assert_eq!(
        error(&text("send 8b to 1 tag 3\nsend 8b to 1 tag 4", "recv 8b from 0 tag 4")),
        "line 3, column 1: rank 0 sends 1 messages with tag 3 to rank 1, but rank 1 receives 0"
    );
    assert_eq!(
        error(&text("send 8b to 1 tag 3\nsend 8b to 1 tag 4", "recv 8b from 0 tag 4\nrecv 8b from 0 tag 4")),
        "line 3, column 1: rank 0 sends 1 messages with tag 3 to rank 1, but rank 1 receives 0"
    );
    assert_eq!(
        error(&text("send 8b to 1 tag 2\nsend 8b to 1 tag 3", "recv 8b from 0 tag 4\nrecv 8b from 0 tag 1")),
        "line 8, column 1: rank 0 sends 0 messages with tag 1 to rank 1, but rank 1 receives 1"
    );
    trace(&text("send 8b to 1 tag 3\nsend 8b to 1 tag 4", "recv 8b from 0 tag 4\nrecv 8b from -1 tag 3"));
    trace(&text("send 8b to 1 tag 3\nsend 8b to 1 tag 4", "recv 8b from 0 tag 4\nrecv 8b from 0 tag -1"));
    assert_eq!(
        error(&text("send 8b to 1 tag 3\nsend 8b to 1 tag 4", "recv 8b from -1 tag 4")),
        "line 6, column 9: rank 1 must receive as many messages as are sent to rank 1"
    );
}
