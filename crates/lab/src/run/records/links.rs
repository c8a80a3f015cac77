//! The results of each link: bytes, peak queue, lost packets, and the share of the run's time for which the link was
//! paused.

use crate::Error;
use crate::run::directory;
use raddle_records::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// A directed link and its results.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LinkRow {
    /// The link's number.
    pub(crate) link: u64,
    /// The numbers of two nodes: the node at which the link begins, and the node at which it ends.
    pub(crate) ends: (u64, u64),
    /// Bytes of packets with application bytes, headers included.
    pub(crate) data_bytes: f64,
    /// Bytes of all other packets.
    pub(crate) control_bytes: f64,
    /// Largest number of bytes in the link's egress queue, the packet in service included.
    pub(crate) peak_queue_bytes: f64,
    /// Packets lost at the link's egress port or on the link.
    pub(crate) drops: u64,
    /// The share of the run's time for which at least one priority of the link's port was paused; `None` without flow
    /// control.
    pub(crate) paused: Option<f64>,
}

/// The results of a run's links, in the order of the run's table of links. Empty if the run has no such table, because
/// `record.links` is false.
pub(super) fn links(directory: &Path) -> Result<Vec<LinkRow>, Error> {
    let file = directory.join(directory::LINKS);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let paused = paused(&directory.join(directory::FLOW_CONTROL))?;
    let table = Table::read(&file)?;
    let column = |name: &str| -> Result<Vec<u64>, Error> {
        Ok(table.integers(name)?.iter().map(|value| value.unwrap_or(0)).collect())
    };
    let (links, froms, tos) = (column("link")?, column("from")?, column("to")?);
    let (data, control) = (column("data_bytes")?, column("control_bytes")?);
    let (queues, drops) = (column("peak_queue_bytes")?, column("drops")?);
    let link = |row: usize| LinkRow {
        link: links[row],
        ends: (froms[row], tos[row]),
        data_bytes: data[row] as f64,
        control_bytes: control[row] as f64,
        peak_queue_bytes: queues[row] as f64,
        drops: drops[row],
        paused: paused.get(&links[row]).copied(),
    };
    Ok((0..table.rows).map(link).collect())
}

/// For each link with flow control, the share of the run's time for which its port was paused. Empty if `file` does not
/// exist.
fn paused(file: &Path) -> Result<BTreeMap<u64, f64>, Error> {
    if !file.exists() {
        return Ok(BTreeMap::new());
    }
    let table = Table::read(file)?;
    let shares = table.integers("link")?.iter().zip(table.floats("paused_share")?);
    Ok(shares.filter_map(|(&link, &share)| link.zip(share)).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_run_without_a_table_of_links_has_no_links() {
        let run = tempfile::tempdir().expect("a folder");
        assert_eq!(super::links(run.path()).expect("no table is no error").len(), 0);
    }
}
