//! What flow control did to links, and how much waited at ports at a time.

use crate::{Cell, Column, Row};

/// What flow control did at the port that a directed link leaves.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct FlowControlRecord {
    /// The directed link.
    pub link: u32,
    /// The node it leaves.
    pub from: u32,
    /// The node it reaches.
    pub to: u32,
    /// How long what waited at the port had to wait because the neighbour had no room, whichever priority.
    pub paused_ps: u64,
    /// That as a share of the run.
    pub paused_share: f64,
    /// How often the port told the neighbour to stop, renewals aside.
    pub pauses_sent: u64,
    /// Most bytes of the node's memory that packets took which came in by the port.
    pub peak_memory_bytes: u64,
    /// Packets that came in by the port for which there was no room left.
    pub overflows: u64,
}

impl Row for FlowControlRecord {
    const TABLE: &'static str = "flow_control";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link"),
        Column::integer("from", "node it leaves"),
        Column::integer("to", "node it reaches"),
        Column::integer(
            "paused_ps",
            "how long its port was told to hold back what waited there: any priority",
        ),
        Column::float("paused_share", "that as a share of the run"),
        Column::integer("pauses_sent", "how often its port told the neighbour to stop, renewals aside"),
        Column::integer(
            "peak_memory_bytes",
            "most bytes of the node's memory that packets took which came in by the port",
        ),
        Column::integer("overflows", "packets that came in by the port for which there was no room left"),
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

/// How much waited at a port at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueLengthRecord {
    /// When.
    pub at_ps: u64,
    /// The directed link behind the port.
    pub link: u32,
    /// The node it leaves.
    pub from: u32,
    /// The node it reaches.
    pub to: u32,
    /// Bytes in the queue, the packet in service included.
    pub bytes: u64,
}

impl Row for QueueLengthRecord {
    const TABLE: &'static str = "queue_lengths";
    const COLUMNS: &'static [Column] = &[
        Column::integer("at_ps", "when"),
        Column::integer("link", "number of the directed link behind the port"),
        Column::integer("from", "node it leaves"),
        Column::integer("to", "node it reaches"),
        Column::integer("bytes", "bytes in the port's queue then, the packet in service included"),
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
