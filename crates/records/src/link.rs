//! Records of the traffic on links, and of queue lengths.

use crate::{Cell, Column, Row};

/// Traffic and drops of one directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct LinkRecord {
    /// The number of the directed link. Parallel links have the same ends and differ only in this number.
    pub link: u32,
    /// The node at the sending end.
    pub from: u32,
    /// The node at the receiving end.
    pub to: u32,
    /// Number of packets with application bytes that the link's port accepted, including packets that were lost later.
    pub data_packets: u64,
    /// Bytes of the packets in `data_packets`, including headers.
    pub data_bytes: u64,
    /// Number of packets without application bytes that the link's port accepted, including packets that were lost
    /// later.
    pub control_packets: u64,
    /// Bytes of the packets in `control_packets`, including headers.
    pub control_bytes: u64,
    /// Number of packets lost at the link's egress port or on the link, including damaged packets that the receiving
    /// node discarded.
    pub drops: u64,
    /// Peak number of bytes in the egress queue, including the packet in service.
    pub peak_queue_bytes: u64,
}

impl Row for LinkRecord {
    const TABLE: &'static str = "links";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link"),
        Column::integer("from", "node at the sending end"),
        Column::integer("to", "node at the receiving end"),
        Column::integer(
            "data_packets",
            "packets with application bytes that the link's egress port accepted, including packets lost \
             later",
        ),
        Column::integer("data_bytes", "bytes of the packets in data_packets, headers included"),
        Column::integer(
            "control_packets",
            "packets without application bytes that the link's egress port accepted, including packets lost \
             later",
        ),
        Column::integer("control_bytes", "bytes of the packets in control_packets, headers included"),
        Column::integer(
            "drops",
            "packets lost at the link's egress port or on the link, including damaged packets that the receiving \
             node discarded",
        ),
        Column::integer(
            "peak_queue_bytes",
            "peak length of the link's egress queue, including the packet in transmission",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [
            self.link.into(),
            self.from.into(),
            self.to.into(),
            self.data_packets.into(),
            self.data_bytes.into(),
            self.control_packets.into(),
            self.control_bytes.into(),
            self.drops.into(),
            self.peak_queue_bytes.into(),
        ]
    }
}

/// A bin of the histogram of a port's queue length: the number of packets that joined a queue whose length is in the
/// bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueRecord {
    /// The directed link that starts at the port.
    pub link: u32,
    /// The upper bound of the bin, a power of two. The queue had fewer bytes than this bound, and at least half as
    /// many. The bytes include the joining packet and the packet in service.
    pub below_bytes: u64,
    /// Number of packets that joined a queue whose length is in the bin.
    pub packets: u64,
}

impl Row for QueueRecord {
    const TABLE: &'static str = "queues";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link that starts at the port"),
        Column::integer(
            "below_bytes",
            "exclusive upper bound of the queue length, a power of two; the lower bound is half of this \
             value; the length includes the joining packet",
        ),
        Column::integer("packets", "packets that joined a queue with a length in this range"),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [self.link.into(), self.below_bytes.into(), self.packets.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(LinkRecord::default().cells().as_ref().len(), LinkRecord::COLUMNS.len());
        assert_eq!(QueueRecord::default().cells().as_ref().len(), QueueRecord::COLUMNS.len());
    }
}
