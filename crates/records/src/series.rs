//! Records over time of links, and the paths of flows.

use crate::{Cell, Column, Row};

/// The traffic and the queue of a directed link in one interval. An interval in which a link had neither traffic nor a
/// queue has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct SeriesRecord {
    /// Start of the interval.
    pub from_ps: u64,
    /// End of the interval, or the end of the run if the run ended earlier.
    pub to_ps: u64,
    /// The number of the directed link.
    pub link: u32,
    /// Bytes of the packets whose last bit the link sent in the interval, headers included.
    pub bytes: u64,
    /// Application bytes of the packets in `bytes` that the link delivered to their destination.
    pub delivered_bytes: u64,
    /// The longest of the sampled lengths of the link's egress queue, in bytes, the packet in service included.
    pub queue_bytes: u64,
}

impl Row for SeriesRecord {
    const TABLE: &'static str = "series";
    const COLUMNS: &'static [Column] = &[
        Column::integer("from_ps", "start of the interval"),
        Column::integer("to_ps", "end of the interval, or end of the run if the run ended earlier"),
        Column::integer("link", "number of the directed link"),
        Column::integer("bytes", "bytes of the packets that the link finished sending, headers included"),
        Column::integer(
            "delivered_bytes",
            "application bytes of the packets that the link delivered to their destination",
        ),
        Column::integer(
            "queue_bytes",
            "longest of the sampled lengths of the link's egress queue, the packet in transmission included",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.from_ps.into(),
            self.to_ps.into(),
            self.link.into(),
            self.bytes.into(),
            self.delivered_bytes.into(),
            self.queue_bytes.into(),
        ]
    }
}

/// A link that packets of a flow crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PathRecord {
    /// The flow.
    pub flow: u32,
    /// The number of the directed link.
    pub link: u32,
    /// Number of the flow's packets with application bytes that the link sent.
    pub packets: u64,
}

impl Row for PathRecord {
    const TABLE: &'static str = "paths";
    const COLUMNS: &'static [Column] = &[
        Column::integer("flow", "number of the flow, in the order of arrival"),
        Column::integer("link", "number of the directed link"),
        Column::integer("packets", "packets of the flow with application bytes that the link sent"),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [self.flow.into(), self.link.into(), self.packets.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(SeriesRecord::default().cells().as_ref().len(), SeriesRecord::COLUMNS.len());
        assert_eq!(PathRecord::default().cells().as_ref().len(), PathRecord::COLUMNS.len());
    }
}
