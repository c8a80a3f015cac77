//! Records of the traffic on links and of queues.

use crate::{Cell, Column, Row};

/// Traffic and drops of one directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct LinkRecord {
    /// The directed link. Parallel links differ only in this number.
    pub link: u32,
    /// The node at the sending end.
    pub from: u32,
    /// The node at the receiving end.
    pub to: u32,
    /// Packets with application bytes.
    pub data_packets: u64,
    /// Bytes of these packets, headers included.
    pub data_bytes: u64,
    /// Packets without application bytes.
    pub control_packets: u64,
    /// Bytes of these packets.
    pub control_bytes: u64,
    /// Packets lost at its egress port or on the link.
    pub drops: u64,
    /// Largest number of bytes in its egress queue, the packet in service included.
    pub peak_queue_bytes: u64,
}

impl Row for LinkRecord {
    const TABLE: &'static str = "links";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link"),
        Column::integer("from", "node at the sending end"),
        Column::integer("to", "node at the receiving end"),
        Column::integer("data_packets", "packets with application bytes that crossed the link"),
        Column::integer("data_bytes", "bytes of these packets, headers included"),
        Column::integer("control_packets", "packets without application bytes that crossed the link"),
        Column::integer("control_bytes", "their bytes"),
        Column::integer("drops", "packets lost at the link's egress port or on the link"),
        Column::integer(
            "peak_queue_bytes",
            "largest length of the link's egress queue, the packet in transmission included",
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

/// A bin of a port's queue histogram: the number of packets that found a queue of this size when they joined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueRecord {
    /// The directed link that starts at the port.
    pub link: u32,
    /// The bytes in the queue were below this power of two, and at least half of it. The joining packet and the packet
    /// in service are included.
    pub below_bytes: u64,
    /// Number of packets that found such a queue.
    pub packets: u64,
}

impl Row for QueueRecord {
    const TABLE: &'static str = "queues";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link behind the port"),
        Column::integer(
            "below_bytes",
            "upper bound of the queue length with the new packet: a power of two, exclusive; the lower bound is \
             half of it",
        ),
        Column::integer("packets", "packets that joined the queue at such a length"),
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
