//! The throughput of each flow at its receiver, in intervals.

use crate::{Cell, Column, Row};

/// Packets and bytes of a flow received in one interval. An interval without arrivals and without port changes of the
/// flow has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ThroughputRecord {
    /// The flow.
    pub flow: u32,
    /// Start of the interval.
    pub from_ps: u64,
    /// End of the interval, or the end of the run if the run ended earlier.
    pub to_ps: u64,
    /// Number of the flow's packets with application bytes whose last bit reaches the receiver in the interval, in any
    /// order. Packets that were lost on the last link are included.
    pub arrived_packets: u64,
    /// Application bytes of the arrived packets.
    pub arrived_bytes: u64,
    /// Application bytes delivered in order. `None` if the receiver did not report them for this interval, for example
    /// because the run ended first.
    pub in_order_bytes: Option<u64>,
    /// Number of packets that arrived after a packet that was sent later. `None` if the receiver did not report them.
    pub late_packets: Option<u64>,
    /// Number of times that a packet of the flow left a switch by another port than the flow's previous packet. Packets
    /// that were overtaken do not count.
    pub port_changes: u64,
    /// Sum of the absolute differences between the delays of consecutive arrived packets of the flow. A packet's delay
    /// is from its generation to its arrival. `None` if no packet arrived, or if packets do not carry the time of their
    /// generation.
    pub delay_changes_ps: Option<u64>,
}

impl Row for ThroughputRecord {
    const TABLE: &'static str = "throughput";
    const COLUMNS: &'static [Column] = &[
        Column::integer("flow", "number of the flow, as in the table of flows"),
        Column::integer("from_ps", "start of the interval"),
        Column::integer("to_ps", "end of the interval, or end of the run if the run ended earlier"),
        Column::integer(
            "arrived_packets",
            "packets with application bytes that arrived at the receiver in the interval, in any order; a \
             packet lost on the last link counts as if it had arrived",
        ),
        Column::integer("arrived_bytes", "application bytes of the packets in arrived_packets"),
        Column::integer(
            "in_order_bytes",
            "application bytes delivered in order; empty if the receiver did not report this number for the \
             interval",
        )
        .nullable(),
        Column::integer(
            "late_packets",
            "packets that arrived after a packet that was sent later; empty if the receiver did not report \
             this number",
        )
        .nullable(),
        Column::integer(
            "port_changes",
            "number of times that a packet left a switch through a different port than the flow's previous \
             packet; a packet does not count if a later packet of the flow had overtaken it",
        ),
        Column::integer(
            "delay_changes_ps",
            "sum of the absolute differences between the delays of packets that arrived in succession; empty \
             if no packet arrived, or if packets do not carry their generation time",
        )
        .nullable(),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.flow.into(),
            self.from_ps.into(),
            self.to_ps.into(),
            self.arrived_packets.into(),
            self.arrived_bytes.into(),
            self.in_order_bytes.into(),
            self.late_packets.into(),
            self.port_changes.into(),
            self.delay_changes_ps.into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(ThroughputRecord::default().cells().as_ref().len(), ThroughputRecord::COLUMNS.len());
    }
}
