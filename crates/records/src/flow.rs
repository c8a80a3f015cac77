//! The record of a flow.

use crate::{Cell, Column, RecordsError, Row, Table};
use raddle_core::{Duration, Flow};

/// The result of a flow. Times are in picoseconds, without rounding. A time is `None` if its event has not happened.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct FlowRecord {
    /// The flow's number: its index in the workload. Flows that programs start have numbers after the workload's flows.
    pub id: u32,
    /// The sending node.
    pub src: u32,
    /// The receiving node.
    pub dst: u32,
    /// Size of the flow in application bytes.
    pub size_bytes: u64,
    /// Time at which the application handed the flow to the transport.
    pub start_ps: u64,
    /// Flow completion time: from the start to the last byte delivered in order at the receiver.
    pub fct_ps: Option<u64>,
    /// Time from the start until the sender learned that all bytes were delivered. If the sender's transport never
    /// learns this: time from the start until the sender had sent the last byte.
    pub sender_done_ps: Option<u64>,
    /// Deadline in ps after the start, if the flow has one.
    pub deadline_ps: Option<u64>,
    /// Ideal FCT: the completion time of the flow if it is alone on its best path.
    pub ideal_fct_ps: u64,
    /// Number of links on a shortest path from sender to receiver.
    pub hops: u32,
    /// Peak number of packets that waited at the receiver for an earlier packet.
    pub reorder_peak_packets: u32,
    /// Number of retransmitted packets.
    pub retransmissions: u32,
    /// Average over time of the rate that was set for the sender, in bit/s, from the start until the sender was done or
    /// the run ended. Until the rate was first set, line rate counts. `None` if the rate was never set.
    pub average_rate_bps: Option<f64>,
}

impl FlowRecord {
    /// Returns the record of a flow that has not started to send.
    #[must_use]
    pub fn unfinished(flow: &Flow, ideal_fct_ps: u64, hops: u32) -> Self {
        Self {
            id: flow.id.0,
            src: flow.src.0,
            dst: flow.dst.0,
            size_bytes: flow.size.0,
            start_ps: flow.start.as_ps(),
            fct_ps: None,
            sender_done_ps: None,
            deadline_ps: flow.deadline.map(Duration::as_ps),
            ideal_fct_ps,
            hops,
            reorder_peak_packets: 0,
            retransmissions: 0,
            average_rate_bps: None,
        }
    }

    /// Returns the FCT divided by the ideal FCT. A value below 1 means that the ideal is wrong. Such a value is not
    /// clamped, so that the error is visible. `None` for an unfinished flow.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        Some(self.fct_ps? as f64 / self.ideal_fct_ps as f64)
    }

    /// Returns the FCT seen by the sender: [`sender_done_ps`](Self::sender_done_ps), if the flow was delivered. `None`
    /// for a flow that the sender gave up or has not completed.
    #[must_use]
    pub fn sender_fct_ps(&self) -> Option<u64> {
        self.fct_ps.and(self.sender_done_ps)
    }

    /// True if the flow was delivered, and the sender knew this by the deadline (specifications/pdq.md §10). With a
    /// transport without acknowledgements, the sender must have sent the last byte by the deadline. `None` without a
    /// deadline. A flow that the sender gave up or has not completed has missed its deadline.
    #[must_use]
    pub fn meets_deadline(&self) -> Option<bool> {
        let deadline = self.deadline_ps?;
        Some(self.sender_fct_ps().is_some_and(|fct| fct <= deadline))
    }

    /// Reads flow records from a table, in the table's order. A row that lacks a required value is skipped.
    ///
    /// # Errors
    /// If the table is not a table of flows.
    pub fn of(table: &Table) -> Result<Vec<Self>, RecordsError> {
        let [ids, sources, destinations, hops] =
            ["flow", "src", "dst", "hops"].map(|name| table.integers(name));
        let (ids, sources, destinations, hops) = (ids?, sources?, destinations?, hops?);
        let (sizes, starts) = (table.integers("size_bytes")?, table.integers("start_ps")?);
        let (fcts, dones) = (table.integers("fct_ps")?, table.integers("sender_done_ps")?);
        let (ideals, deadlines) = (table.integers("ideal_fct_ps")?, table.integers("deadline_ps")?);
        let (peaks, again) = (table.integers("reorder_peak_packets")?, table.integers("retransmissions")?);
        let rates = table.floats("average_rate_bps")?;
        let small = |cell: Option<u64>| cell.and_then(|value| u32::try_from(value).ok());
        let flow = |row: usize| {
            Some(Self {
                id: small(ids[row])?,
                src: small(sources[row])?,
                dst: small(destinations[row])?,
                size_bytes: sizes[row]?,
                start_ps: starts[row]?,
                fct_ps: fcts[row],
                sender_done_ps: dones[row],
                deadline_ps: deadlines[row],
                ideal_fct_ps: ideals[row]?,
                hops: small(hops[row])?,
                reorder_peak_packets: small(peaks[row])?,
                retransmissions: small(again[row])?,
                average_rate_bps: rates[row],
            })
        };
        Ok((0..table.rows).filter_map(flow).collect())
    }

    /// Returns the goodput: application bits divided by FCT, in bit/s. `None` for an unfinished flow.
    #[must_use]
    pub fn goodput_bps(&self) -> Option<f64> {
        Some(self.size_bytes as f64 * 8e12 / self.fct_ps? as f64)
    }
}

impl Row for FlowRecord {
    const TABLE: &'static str = "flows";
    const COLUMNS: &'static [Column] = &[
        Column::integer(
            "flow",
            "number of the flow; the workload's flows come first, in order of start, and the flows that \
             programs start follow",
        ),
        Column::integer("src", "sending node"),
        Column::integer("dst", "receiving node"),
        Column::integer("size_bytes", "application bytes"),
        Column::integer(
            "start_ps",
            "time from the start of the run until the flow was handed to the transport",
        ),
        Column::integer(
            "fct_ps",
            "time from the flow's start to the delivery of its last byte in order; empty if \
                         unfinished",
        )
        .nullable(),
        Column::float("fct_ns", "fct_ps in nanoseconds").nullable(),
        Column::integer(
            "sender_done_ps",
            "time from the flow's start until the sender knew that all bytes were delivered; without \
             acknowledgements, until the sender had sent the last byte",
        )
        .nullable(),
        Column::integer("ideal_fct_ps", "FCT of the flow alone on its best shortest path, headers included"),
        Column::float("slowdown", "fct_ps / ideal_fct_ps; values below 1 are kept").nullable(),
        Column::float("goodput_bps", "application bits divided by FCT, in bit/s").nullable(),
        Column::integer("hops", "number of links on the flow's shortest path"),
        Column::integer(
            "reorder_peak_packets",
            "largest number of packets that waited at the receiver for a missing earlier packet",
        ),
        Column::integer("retransmissions", "number of retransmitted packets"),
        Column::float(
            "average_rate_bps",
            "time average of the rate assigned to the sender; before the first assignment, the rate is the \
             line rate; empty if no rate was assigned",
        )
        .nullable(),
        Column::integer(
            "deadline_ps",
            "time from the flow's start to its deadline; empty if the flow has no deadline",
        )
        .nullable(),
    ];
    const ADDED: usize = 1;

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.id.into(),
            self.src.into(),
            self.dst.into(),
            self.size_bytes.into(),
            self.start_ps.into(),
            self.fct_ps.into(),
            self.fct_ps.map(|ps| ps as f64 / 1e3).into(),
            self.sender_done_ps.into(),
            self.ideal_fct_ps.into(),
            self.slowdown().into(),
            self.goodput_bps().into(),
            self.hops.into(),
            self.reorder_peak_packets.into(),
            self.retransmissions.into(),
            self.average_rate_bps.into(),
            self.deadline_ps.into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    #[test]
    fn slowdown_below_one_is_not_hidden() {
        let record = FlowRecord { fct_ps: Some(500), ideal_fct_ps: 1_000, ..record(1) };
        assert_eq!(record.slowdown(), Some(0.5));
    }

    #[test]
    fn goodput_counts_application_bits() {
        let record = FlowRecord { size_bytes: 1_250, fct_ps: Some(1_000_000), ..record(1) };
        assert_eq!(record.goodput_bps(), Some(1e10));
        let unfinished = FlowRecord { fct_ps: None, ..record };
        assert_eq!((unfinished.slowdown(), unfinished.goodput_bps()), (None, None));
    }

    #[test]
    fn a_deadline_is_met_when_the_sender_knows_in_time() {
        let due = FlowRecord { fct_ps: Some(900), deadline_ps: Some(1_000), ..record(1) };
        let done = |sender_done_ps| FlowRecord { sender_done_ps, ..due }.meets_deadline();
        assert_eq!([Some(1_000), Some(1_001), None].map(done), [true, false, false].map(Some));
        let given_up = FlowRecord { fct_ps: None, sender_done_ps: Some(500), ..due };
        assert_eq!((given_up.meets_deadline(), given_up.sender_fct_ps()), (Some(false), None));
        assert_eq!(FlowRecord { deadline_ps: None, ..due }.meets_deadline(), None);
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(record(1).cells().as_ref().len(), FlowRecord::COLUMNS.len());
    }
}
