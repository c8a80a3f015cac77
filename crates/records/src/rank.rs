//! The record of a rank of a message-passing program.

use crate::{Cell, Column, Row};

/// The results of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RankRecord {
    /// The rank's number.
    pub rank: u32,
    /// The host on which the rank ran.
    pub node: u32,
    /// Time at which the rank's program ended. `None` if the program did not end.
    pub finished_ps: Option<u64>,
    /// Total compute time of the rank, summed over its streams, which are independent sequences of operations.
    pub computed_ps: u64,
    /// Number of messages that the rank sent.
    pub sent_messages: u64,
    /// Total size of the sent messages in bytes.
    pub sent_bytes: u64,
}

impl Row for RankRecord {
    const TABLE: &'static str = "ranks";
    const COLUMNS: &'static [Column] = &[
        Column::integer("rank", "number of the rank"),
        Column::integer("node", "host on which the rank ran"),
        Column::integer(
            "finished_ps",
            "time from the start of the run to the end of the rank's program; empty if the program did not end",
        )
        .nullable(),
        Column::integer("computed_ps", "total computing time of the rank, summed over its streams"),
        Column::integer(
            "sent_messages",
            "messages that the rank sent, including messages to itself; requests to send and replies to such \
             requests do not count",
        ),
        Column::integer("sent_bytes", "bytes of the messages in sent_messages"),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.rank.into(),
            self.node.into(),
            self.finished_ps.into(),
            self.computed_ps.into(),
            self.sent_messages.into(),
            self.sent_bytes.into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let row = RankRecord {
            rank: 1,
            node: 2,
            finished_ps: None,
            computed_ps: 3,
            sent_messages: 4,
            sent_bytes: 5,
        };
        assert_eq!(row.cells().as_ref().len(), RankRecord::COLUMNS.len());
    }
}
