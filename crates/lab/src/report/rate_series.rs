//! The throughput of senders and of large flows over time, in the form that the page needs.

use super::axis::{Axis, column};
use super::run::short;
use crate::Error;
use raddle_records::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest number of senders that the page draws.
const SENDERS: usize = 8;

/// A sender or a flow: the sum of its bytes, and its throughput in each interval, in Gbit/s.
struct Curve {
    bytes: u64,
    gbps: Vec<f64>,
}

/// The throughput of the senders with the most bytes and of the recorded flows, from the table in `file`. `None` if the
/// run did not record throughput.
pub(super) fn json(file: &Path) -> Result<Option<Value>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let table = Table::read(file)?;
    let Some(axis) = Axis::read(&table)? else { return Ok(None) };
    let (bytes, sources) = (column(&table, "bytes")?, column(&table, "src")?);
    let flows = table.integers("flow")?;
    let mut curves: BTreeMap<(u64, Option<u64>), Curve> = BTreeMap::new();
    for i in 0..table.rows {
        let curve = curves.entry((sources[i], flows[i]));
        let curve = curve.or_insert_with(|| Curve { bytes: 0, gbps: vec![0.0; axis.count] });
        curve.bytes += bytes[i];
        curve.gbps[axis.interval(i)] = short(bytes[i] as f64 * 8.0 / axis.seconds(i) / 1e9);
    }
    let mut sorted: Vec<_> = curves.iter().collect();
    sorted.sort_by_key(|(_, curve)| std::cmp::Reverse(curve.bytes));
    let curve = |&(&(src, flow), curve): &(&(u64, Option<u64>), &Curve)| json!({ "src": src, "flow": flow, "bytes": curve.bytes, "gbps": curve.gbps });
    let (senders, large): (Vec<_>, Vec<_>) = sorted.iter().partition(|((_, flow), _)| flow.is_none());
    Ok(Some(json!({
        "begin_us": axis.begin_us(),
        "interval_us": axis.interval_us(),
        "senders": senders.iter().take(SENDERS).map(curve).collect::<Vec<_>>(),
        "sender_count": senders.len(),
        "flows": large.iter().map(curve).collect::<Vec<_>>(),
    })))
}
