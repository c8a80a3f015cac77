//! Results over simulated time: throughput of flows in intervals, and queue lengths at ports.

use crate::Error;
use raddle_records::Table;
use std::path::Path;

/// Throughput of a flow in an interval: arrivals over the last link, reports of the receiver, and changes of port at
/// switches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) flow: u64,
    pub(crate) from_ps: u64,
    pub(crate) to_ps: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Bytes delivered in order; `None` if the receiver did not report them.
    pub(crate) in_order_bytes: Option<u64>,
    /// Packets that arrived after a packet that was sent later; `None` if the receiver did not report them.
    pub(crate) late: Option<u64>,
    pub(crate) port_changes: u64,
    /// Sum of the absolute differences between the delays of each two packets that arrived one after the other. `None`
    /// if no packet arrived, or if packets do not carry the time at which they were generated.
    pub(crate) delay_changes_ps: Option<u64>,
}

/// The backlog at the port of a directed link at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLength {
    pub(crate) at_ps: u64,
    /// The numbers of two nodes: the node at which the link begins, and the node at which it ends.
    pub(crate) ends: (u64, u64),
    pub(crate) bytes: u64,
}

/// The intervals in a table, in the order of its rows. Empty if `file` does not exist.
pub(super) fn intervals(file: &Path) -> Result<Vec<Interval>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let table = Table::read(file)?;
    let (flows, froms) = (table.integers("flow")?, table.integers("from_ps")?);
    let (tos, packets) = (table.integers("to_ps")?, table.integers("arrived_packets")?);
    let (bytes, in_order) = (table.integers("arrived_bytes")?, table.integers("in_order_bytes")?);
    let (late, changes) = (table.integers("late_packets")?, table.integers("port_changes")?);
    let delays = table.integers("delay_changes_ps")?;
    let interval = |row: usize| {
        Some(Interval {
            flow: flows[row]?,
            from_ps: froms[row]?,
            to_ps: tos[row]?,
            packets: packets[row]?,
            bytes: bytes[row]?,
            in_order_bytes: in_order[row],
            late: late[row],
            port_changes: changes[row]?,
            delay_changes_ps: delays[row],
        })
    };
    Ok((0..table.rows).filter_map(interval).collect())
}

/// The samples in a table, in the order of its rows. Empty if `file` does not exist.
pub(super) fn queue_lengths(file: &Path) -> Result<Vec<QueueLength>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let table = Table::read(file)?;
    let (times, bytes) = (table.integers("at_ps")?, table.integers("bytes")?);
    let (froms, tos) = (table.integers("from")?, table.integers("to")?);
    let length = |row: usize| {
        Some(QueueLength { at_ps: times[row]?, ends: (froms[row]?, tos[row]?), bytes: bytes[row]? })
    };
    Ok((0..table.rows).filter_map(length).collect())
}
