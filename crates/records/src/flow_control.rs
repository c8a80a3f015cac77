//! Records of flow control on links, and of queue lengths.

use crate::{Cell, Column, Row};

/// Flow control at the port that sends on a directed link.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct FlowControlRecord {
    /// The directed link.
    pub link: u32,
    /// The node at the sending end.
    pub from: u32,
    /// The node at the receiving end.
    pub to: u32,
    /// Time during which the neighbour paused at least one priority of the port.
    pub paused_ps: u64,
    /// `paused_ps` as a share of the run's duration.
    pub paused_share: f64,
    /// Number of pauses that the port sent to the neighbour, without renewals.
    pub pauses_sent: u64,
    /// Peak amount of the node's memory, in bytes, occupied by packets of a single priority received at the port.
    pub peak_memory_bytes: u64,
    /// Number of packets received at the port for which the node's memory had no room left.
    pub overflows: u64,
}

impl Row for FlowControlRecord {
    const TABLE: &'static str = "flow_control";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link"),
        Column::integer("from", "node at the sending end"),
        Column::integer("to", "node at the receiving end"),
        Column::integer("paused_ps", "time for which at least one priority of the link's port was paused"),
        Column::float("paused_share", "paused time as a fraction of the run"),
        Column::integer(
            "pauses_sent",
            "number of pauses that the port sent to its neighbour; renewals do not count",
        ),
        Column::integer(
            "peak_memory_bytes",
            "largest number of bytes in the node's memory that packets of a single priority occupied at \
             once; only packets that arrived at the port count",
        ),
        Column::integer(
            "overflows",
            "packets that arrived at the port when the node's memory had no room for them",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.link.into(),
            self.from.into(),
            self.to.into(),
            self.paused_ps.into(),
            self.paused_share.into(),
            self.pauses_sent.into(),
            self.peak_memory_bytes.into(),
            self.overflows.into(),
        ]
    }
}

/// The backlog at a port at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueLengthRecord {
    /// Time of the sample.
    pub at_ps: u64,
    /// The directed link that starts at the port.
    pub link: u32,
    /// The node at the sending end.
    pub from: u32,
    /// The node at the receiving end.
    pub to: u32,
    /// Bytes in the queue, including the packet in service.
    pub bytes: u64,
}

impl Row for QueueLengthRecord {
    const TABLE: &'static str = "queue_lengths";
    const COLUMNS: &'static [Column] = &[
        Column::integer("at_ps", "time of the sample"),
        Column::integer("link", "number of the directed link that starts at the port"),
        Column::integer("from", "node at the sending end"),
        Column::integer("to", "node at the receiving end"),
        Column::integer(
            "bytes",
            "bytes in the port's queue at that time, including the packet in transmission",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [self.at_ps.into(), self.link.into(), self.from.into(), self.to.into(), self.bytes.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(FlowControlRecord::default().cells().as_ref().len(), FlowControlRecord::COLUMNS.len());
        assert_eq!(QueueLengthRecord::default().cells().as_ref().len(), QueueLengthRecord::COLUMNS.len());
    }
}
