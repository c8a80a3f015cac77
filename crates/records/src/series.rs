//! Records that describe links, ranks and rates over time, and records of the paths of flows.

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
    /// Bytes that the link sent in the interval, headers included. The bytes of a packet that is sent in two intervals
    /// are divided between the intervals.
    pub bytes: u64,
    /// The application bytes in `bytes` that the link sent to their destination host. Packets that were lost on the
    /// link are included.
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
        Column::integer(
            "bytes",
            "bytes that the link sent, including headers; a packet sent across two intervals counts partly \
             in each interval",
        ),
        Column::integer(
            "delivered_bytes",
            "application bytes that the link sent in packets for the host at the end of the link, including \
             bytes lost on the link",
        ),
        Column::integer(
            "queue_bytes",
            "largest sampled length of the link's egress queue, including the packet in transmission",
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
        Column::integer("flow", "number of the flow, as in the table of flows"),
        Column::integer("link", "number of the directed link"),
        Column::integer("packets", "number of the flow's packets with application bytes that the link sent"),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [self.flow.into(), self.link.into(), self.packets.into()]
    }
}

/// The times for which a rank computed, sent and received within one interval. These times may overlap: a rank can
/// compute while its messages are under way. An interval in which a rank did nothing has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RankSeriesRecord {
    /// Start of the interval.
    pub from_ps: u64,
    /// End of the interval, or the end of the run if the run ended earlier.
    pub to_ps: u64,
    /// The rank.
    pub rank: u32,
    /// Time in which the rank computed.
    pub computing_ps: u64,
    /// Time in which a message of the rank was under way to another rank.
    pub sending_ps: u64,
    /// Time in which a message of another rank was under way to the rank.
    pub receiving_ps: u64,
}

impl Row for RankSeriesRecord {
    const TABLE: &'static str = "rank_series";
    const COLUMNS: &'static [Column] = &[
        Column::integer("from_ps", "start of the interval"),
        Column::integer("to_ps", "end of the interval, or end of the run if the run ended earlier"),
        Column::integer("rank", "number of the rank"),
        Column::integer("computing_ps", "time in which the rank computed"),
        Column::integer(
            "sending_ps",
            "time in which at least one message from the rank to another rank was in transit",
        ),
        Column::integer(
            "receiving_ps",
            "time in which at least one message from another rank to the rank was in transit",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.from_ps.into(),
            self.to_ps.into(),
            self.rank.into(),
            self.computing_ps.into(),
            self.sending_ps.into(),
            self.receiving_ps.into(),
        ]
    }
}

/// Application bytes of a sender, or of one of the largest flows, that arrived in one interval. An interval without
/// such bytes has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RateSeriesRecord {
    /// Start of the interval.
    pub from_ps: u64,
    /// End of the interval, or the end of the run if the run ended earlier.
    pub to_ps: u64,
    /// The host that sent the bytes.
    pub src: u32,
    /// The flow; `None` for all flows of the sender together.
    pub flow: Option<u32>,
    /// Application bytes in the packets that arrived, repeated bytes included.
    pub bytes: u64,
}

impl Row for RateSeriesRecord {
    const TABLE: &'static str = "rate_series";
    const COLUMNS: &'static [Column] = &[
        Column::integer("from_ps", "start of the interval"),
        Column::integer("to_ps", "end of the interval, or end of the run if the run ended earlier"),
        Column::integer("src", "node number of the host that sent the bytes"),
        Column::integer("flow", "number of the flow; empty in a row for all flows of the sender").nullable(),
        Column::integer(
            "bytes",
            "application bytes in the packets that arrived, including bytes that had arrived before",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [self.from_ps.into(), self.to_ps.into(), self.src.into(), self.flow.into(), self.bytes.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(SeriesRecord::default().cells().as_ref().len(), SeriesRecord::COLUMNS.len());
        assert_eq!(RankSeriesRecord::default().cells().as_ref().len(), RankSeriesRecord::COLUMNS.len());
        assert_eq!(RateSeriesRecord::default().cells().as_ref().len(), RateSeriesRecord::COLUMNS.len());
        assert_eq!(PathRecord::default().cells().as_ref().len(), PathRecord::COLUMNS.len());
    }
}
