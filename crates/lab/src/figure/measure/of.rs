//! The quantities that can be measured.

use crate::experiment::{Cause, Item, Problem, Record};
use crate::figure::over_time::Received;

/// A quantity that can be measured. It has a value for each flow or each link, unless its comment says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::figure) enum Of {
    Fct,
    /// Completion time of a flow as the sender sees it.
    SenderFct,
    /// 1 for a delivered flow whose sender knew by the deadline that the flow was complete, otherwise 0. With a
    /// transport without acknowledgements, the sender must have sent the last byte by the deadline. Flows without a
    /// deadline have no value.
    Met,
    /// FCT divided by the FCT of the flow alone on one shortest path: the papers' normalized FCT.
    Slowdown,
    /// 1 for each flow that never finished. Most other quantities of flows leave out such flows (see
    /// [`Of::is_of_finished_flows`]).
    Unfinished,
    Goodput,
    /// Mean rate assigned to a flow. Flows without an assigned rate have no value.
    AssignedRate,
    ReorderPeak,
    PeakQueue,
    /// Bytes of packets with application data, on each link.
    DataBytes,
    /// Bytes of packets without application data, on each link.
    ControlBytes,
    /// Share of the run for which a link with flow control is paused.
    Paused,
    /// Maximum number of flows that are active at the same time.
    ActiveFlows,
    /// Maximum number of flows of one source that are active at the same time, for each source.
    ActiveFlowsOfSource,
    /// Maximum number of flows that are active at the same time and have the link on a shortest path, for each link.
    ActiveFlowsOfLink,
    /// Imbalance of the bytes that a switch's uplinks send in an interval: (maximum - minimum) / mean.
    Imbalance,
    /// A quantity that is recorded for each flow and interval, over the intervals of a window.
    Received(Received),
    /// Throughput of all flows together, one value for each interval of the record.
    ThroughputOfInterval,
    /// Length of a port's queue in bytes, one value for each sample.
    QueueLength,
    /// Time for which a port is congested without a break, one value for each such period.
    CongestionPeriod,
    /// Number of ports at which data waits, one value for each time at which queues are sampled.
    PortsInUse,
    /// Time at which the slowest rank of a program ended, in milliseconds. Programs that did not end have no value.
    Makespan,
    /// Median time for which packets of a live run are late at a node, in microseconds of real time.
    Lateness,
    /// The number that a computation or a search gave, or each of the times that a computation measured.
    Value,
}

impl Of {
    pub(super) const NAMES: [(&'static str, Self); 28] = [
        ("fct", Self::Fct),
        ("sender_fct", Self::SenderFct),
        ("met", Self::Met),
        ("slowdown", Self::Slowdown),
        ("unfinished", Self::Unfinished),
        ("goodput", Self::Goodput),
        ("assigned_rate", Self::AssignedRate),
        ("reorder_peak", Self::ReorderPeak),
        ("peak_queue", Self::PeakQueue),
        ("data_bytes", Self::DataBytes),
        ("control_bytes", Self::ControlBytes),
        ("paused", Self::Paused),
        ("active_flows", Self::ActiveFlows),
        ("active_flows_of_source", Self::ActiveFlowsOfSource),
        ("active_flows_of_link", Self::ActiveFlowsOfLink),
        ("imbalance", Self::Imbalance),
        ("throughput", Self::Received(Received::Throughput)),
        ("in_order", Self::Received(Received::InOrder)),
        ("late_share", Self::Received(Received::LateShare)),
        ("port_changes", Self::Received(Received::PortChanges)),
        ("jitter", Self::Received(Received::Jitter)),
        ("throughput_of_interval", Self::ThroughputOfInterval),
        ("queue_length", Self::QueueLength),
        ("congestion_period", Self::CongestionPeriod),
        ("ports_in_use", Self::PortsInUse),
        ("makespan", Self::Makespan),
        ("lateness", Self::Lateness),
        ("value", Self::Value),
    ];

    /// Words for the quantity, and its unit. The unit is empty if the quantity has none.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Fct => ("flow completion time", "us"),
            Self::SenderFct => ("flow completion time at the sender", "us"),
            Self::Met => ("share of deadlines that flows meet", ""),
            Self::Slowdown => ("slowdown", ""),
            Self::Unfinished => ("flows that never finished", ""),
            Self::Goodput => ("mean throughput of a flow", "Gbps"),
            Self::AssignedRate => ("mean rate assigned to a flow", "Gbps"),
            Self::ReorderPeak => ("reorder buffer", "packets"),
            Self::PeakQueue => ("largest queue of a port", "bytes"),
            Self::DataBytes => ("data traffic of a link", "bytes"),
            Self::ControlBytes => ("control traffic of a link", "bytes"),
            Self::Paused => ("time that the port of a link is paused", "share of the run"),
            Self::ActiveFlows => ("flows active at once", ""),
            Self::ActiveFlowsOfSource => ("flows that a node sends at once", ""),
            Self::ActiveFlowsOfLink => ("flows at once whose shortest paths have the link", ""),
            Self::Imbalance => ("throughput imbalance of a switch's uplinks", ""),
            Self::Received(Received::Throughput) => ("throughput", "Gbps"),
            Self::Received(Received::InOrder) => ("throughput of bytes delivered in order", "Gbps"),
            Self::Received(Received::LateShare) => ("share of packets that arrive out of order", ""),
            Self::Received(Received::PortChanges) => ("changes of a flow's egress port at switches", ""),
            Self::Received(Received::Jitter) => ("difference between the delays of successive packets", "us"),
            Self::ThroughputOfInterval => ("throughput in an interval", "Gbps"),
            Self::QueueLength => ("queue of a port", "bytes"),
            Self::CongestionPeriod => ("time for which a port is congested", "us"),
            Self::PortsInUse => ("ports at which data waits", ""),
            Self::Makespan => ("makespan", "ms"),
            Self::Lateness => ("real time for which a packet is late at a node, median", "us"),
            Self::Value => ("value", ""),
        }
    }

    /// True for a quantity of flows. A condition can select the flows.
    pub(super) fn is_of_flows(self) -> bool {
        let of_others = matches!(
            self,
            Self::ActiveFlows
                | Self::ActiveFlowsOfSource
                | Self::Imbalance
                | Self::Makespan
                | Self::Lateness
                | Self::Value
        );
        !of_others && !self.is_of_links()
    }

    /// True for a quantity of links. A condition can select the links.
    pub(super) fn is_of_links(self) -> bool {
        matches!(
            self,
            Self::PeakQueue
                | Self::DataBytes
                | Self::ControlBytes
                | Self::Paused
                | Self::ActiveFlowsOfLink
                | Self::QueueLength
                | Self::CongestionPeriod
                | Self::PortsInUse
        )
    }

    /// The line of `[record]` that makes runs record the quantity. `None` if every run records the quantity, or if
    /// `record` has the line.
    fn missing_in(self, record: &Record) -> Option<&'static str> {
        let (is_recorded, line) = match self {
            Self::PeakQueue
            | Self::DataBytes
            | Self::ControlBytes
            | Self::Paused
            | Self::ActiveFlowsOfLink => (record.links, "links = true"),
            Self::Imbalance => (record.imbalance.is_some(), "imbalance = \"1 ms\""),
            Self::Received(_) | Self::ThroughputOfInterval => {
                (record.throughput.is_some(), "throughput = \"1 ms\"")
            }
            Self::QueueLength | Self::CongestionPeriod | Self::PortsInUse => {
                (record.queue_lengths.is_some(), "queue_lengths = \"1 ms\"")
            }
            _ => (true, ""),
        };
        (!is_recorded).then_some(line)
    }

    /// Returns an error if none of the `records`, one for each cell, contains the quantity. The error points to `item`.
    pub(super) fn check_recorded(self, item: &Item, records: &[Record]) -> Result<(), Problem> {
        let missing: Option<Vec<_>> = records.iter().map(|record| self.missing_in(record)).collect();
        let Some(line) = missing.and_then(|lines| lines.first().copied()) else { return Ok(()) };
        let name = Self::NAMES.iter().find(|(_, of)| *of == self).map_or("", |(name, _)| name);
        let what = format!("the runs do not record `{name}`");
        let hint = format!("for example: {line}, in [record]");
        Err(Problem::at(&item.at, Cause::OutOfRange { what, hint }))
    }

    /// True if the quantity leaves out flows that never finished.
    pub(super) fn is_of_finished_flows(self) -> bool {
        self.is_of_flows()
            && !matches!(self, Self::Unfinished | Self::Met | Self::Received(_) | Self::ThroughputOfInterval)
    }

    /// True if the quantity can be measured in a window of simulated time.
    pub(super) fn is_timed(self) -> bool {
        matches!(
            self,
            Self::Received(_)
                | Self::ThroughputOfInterval
                | Self::QueueLength
                | Self::CongestionPeriod
                | Self::PortsInUse
        )
    }

    /// The greatest value that the quantity can have, if that is known.
    pub(super) fn most(self) -> Option<f64> {
        (self == Self::Met).then_some(1.0)
    }

    pub(super) fn is_rate(self) -> bool {
        matches!(self, Self::Received(received) if received.is_rate())
    }
}
