//! What passed over links and waited in queues.

use crate::{Cell, Column, Row};

/// What passed over one directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct LinkRecord {
    /// The directed link; parallel links differ in this alone.
    pub link: u32,
    /// The node it leaves.
    pub from: u32,
    /// The node it reaches.
    pub to: u32,
    /// Packets with application bytes.
    pub data_packets: u64,
    /// Their bytes, headers included.
    pub data_bytes: u64,
    /// Packets without.
    pub control_packets: u64,
    /// Their bytes.
    pub control_bytes: u64,
    /// Packets lost at its egress port or on it.
    pub drops: u64,
    /// Most bytes in its egress queue at once, the packet in service included.
    pub peak_queue_bytes: u64,
}

impl Row for LinkRecord {
    const TABLE: &'static str = "links";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link"),
        Column::integer("from", "node it leaves"),
        Column::integer("to", "node it reaches"),
        Column::integer("data_packets", "packets with application bytes that crossed it"),
        Column::integer("data_bytes", "their bytes, headers included"),
        Column::integer("control_packets", "packets without application bytes that crossed it"),
        Column::integer("control_bytes", "their bytes"),
        Column::integer("drops", "packets lost at its egress port or on it"),
        Column::integer(
            "peak_queue_bytes",
            "most bytes in its egress queue at once, the packet in service included",
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

/// A bin of a port's queue histogram: how many packets found that much in the queue when they joined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueRecord {
    /// The directed link behind the port.
    pub link: u32,
    /// Bytes in the queue, the packet itself and the one in service included, were below this power of two, and not
    /// below half of it.
    pub below_bytes: u64,
    /// Packets that found the queue so.
    pub packets: u64,
}

impl Row for QueueRecord {
    const TABLE: &'static str = "queues";
    const COLUMNS: &'static [Column] = &[
        Column::integer("link", "number of the directed link behind the port"),
        Column::integer(
            "below_bytes",
            "a joining packet found fewer bytes than this power of two, itself included, and not below half of it",
        ),
        Column::integer("packets", "packets that found the queue so"),
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
