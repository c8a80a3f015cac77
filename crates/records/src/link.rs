//! What passed over links and waited in queues.

use crate::{Cell, Column, Row};
use hdrhistogram::Histogram;
use raddle_core::{Bytes, Duration};

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

/// Time-weighted distribution of a queue's bytes, of one port or of many merged, to 3 significant digits.
#[derive(Debug, Clone)]
pub struct QueueHistogram(Histogram<u64>);

impl Default for QueueHistogram {
    fn default() -> Self {
        Self(Histogram::new(3).expect("3 digits are within the histogram's range"))
    }
}

impl QueueHistogram {
    /// The queue held `bytes` for `span`.
    pub fn record(&mut self, bytes: Bytes, span: Duration) {
        self.0.record_n(bytes.0, span.as_ps()).expect("an auto-resizing histogram takes any value");
    }

    /// Takes in what another port's queue held.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("an auto-resizing histogram takes any value");
    }

    /// The least number of bytes that the queue did not exceed for a share `q`, in `0..=1`, of the time.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Bytes {
        Bytes(self.0.value_at_quantile(q))
    }

    /// Most bytes held, to 3 digits.
    #[must_use]
    pub fn max(&self) -> Bytes {
        Bytes(self.0.max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(LinkRecord::default().cells().as_ref().len(), LinkRecord::COLUMNS.len());
    }

    #[test]
    fn queues_are_weighted_by_time() {
        let mut one = QueueHistogram::default();
        one.record(Bytes(0), Duration::from_us(98));
        one.record(Bytes(1_500), Duration::from_us(1));
        let mut other = QueueHistogram::default();
        other.record(Bytes(330_600), Duration::from_us(1));
        one.merge(&other);
        assert_eq!(one.quantile(0.5), Bytes(0));
        assert_eq!(one.quantile(0.985), Bytes(1_500));
        assert!(one.quantile(0.995).0.abs_diff(330_600) < 331);
        assert!(one.max().0.abs_diff(330_600) < 331);
        assert_eq!(QueueHistogram::default().max(), Bytes(0));
    }
}
