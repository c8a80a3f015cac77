//! Records and packets for tests.

use crate::FlowRecord;
use raddle_core::{Header, Packet};
use raddle_wire::tcp::Segment;

/// Returns the record of a finished flow. Most fields depend on `id`.
pub(crate) fn record(id: u32) -> FlowRecord {
    FlowRecord {
        id,
        src: id + 1,
        dst: id + 2,
        size_bytes: 1_000 * u64::from(id),
        start_ps: 10_000 * u64::from(id),
        fct_ps: Some(3_000_000 + u64::from(id)),
        sender_done_ps: Some(2_000_000 + u64::from(id)),
        deadline_ps: None,
        ideal_fct_ps: 1_500_000,
        hops: 6,
        reorder_peak_packets: 2,
        retransmissions: 1,
        average_rate_bps: Some(0.5 + f64::from(id)),
    }
}

/// Returns a TCP segment with `plen` application bytes.
pub(crate) fn tcp(plen: u16) -> Packet {
    let segment = Segment { dst: 1, plen, ..Segment::default() };
    Packet::new(40 + u32::from(plen), Header::Tcp(segment))
}
