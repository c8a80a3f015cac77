//! The time series of a run and the paths of its slowest flows, as the page needs them.

use super::axis::{Axis, column};
use super::fabric::Fabric;
use super::run::{link, short};
use crate::Error;
use raddle_core::LinkId;
use raddle_records::{Table, stats};
use raddle_topology::Topology;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The load and the queue of a link in an interval.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// The share of the link's capacity that the link's traffic took.
    load: f64,
    queue_bytes: f64,
}

/// The cells of a run. Each interval has a row with one cell for each link.
struct Series {
    axis: Axis,
    /// Throughput in each interval, in Gbit/s, of the application bytes that links send to their destination hosts.
    /// Packets that are lost on these links are included.
    throughput_gbps: Vec<f64>,
    rows: Vec<Vec<Cell>>,
}

impl Series {
    /// Reads the table; `None` if it has no rows.
    fn read(file: &Path, topology: &Topology) -> Result<Option<Self>, Error> {
        let table = Table::read(file)?;
        let Some(axis) = Axis::read(&table)? else { return Ok(None) };
        let [links, bytes, delivered, queues] =
            ["link", "bytes", "delivered_bytes", "queue_bytes"].map(|name| column(&table, name));
        let (links, bytes, delivered, queues) = (links?, bytes?, delivered?, queues?);
        let mut throughput_gbps = vec![0.0; axis.count];
        let mut rows = vec![vec![Cell::default(); topology.link_slots()]; axis.count];
        for i in 0..table.rows {
            let Some((id, link)) = link(topology, links[i]) else { continue };
            let (interval, seconds) = (axis.interval(i), axis.seconds(i));
            throughput_gbps[interval] += delivered[i] as f64 * 8.0 / seconds / 1e9;
            let load = bytes[i] as f64 * 8.0 / (link.rate.as_bps_f64() * seconds);
            rows[interval][id.index()] = Cell { load, queue_bytes: queues[i] as f64 };
        }
        Ok(Some(Self { axis, throughput_gbps, rows }))
    }
}

/// The series in `file` as JSON: of all links together, of each drawn edge, and of each link whose number is in `hot`.
/// Queues are left out if every sampled queue was empty, as in the flow engine. `None` if the run did not record
/// series.
pub(super) fn json(
    file: &Path,
    topology: &Topology,
    fabric: &Fabric,
    hot: &[u64],
) -> Result<Option<Value>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let Some(series) = Series::read(file, topology)? else { return Ok(None) };
    let ids: Vec<LinkId> = topology.links().map(|(id, _)| id).collect();
    let sorted = |row: &[Cell], of: fn(&Cell) -> f64| {
        let mut values: Vec<f64> = ids.iter().map(|id| of(&row[id.index()])).collect();
        stats::sort(&mut values);
        values
    };
    let each = |value: &dyn Fn(&[Cell]) -> f64| -> Vec<f64> {
        series.rows.iter().map(|row| short(value(row))).collect()
    };
    let load = |cell: &Cell| cell.load;
    let queue = |cell: &Cell| cell.queue_bytes;
    let longest = series.rows.iter().flatten().map(queue).fold(0.0, f64::max);
    let of_link = |number: &u64| {
        let (id, _) = link(topology, *number)?;
        let curve = |of: fn(&Cell) -> f64| each(&|row| of(&row[id.index()]));
        let queue = (longest > 0.0).then(|| curve(queue));
        Some((number.to_string(), json!({ "load": curve(load), "queue": queue })))
    };
    let p = |of: fn(&Cell) -> f64, p: f64| each(&|row| stats::percentile(&sorted(row, of), p).unwrap_or(0.0));
    let of_queues = |percentile| (longest > 0.0).then(|| p(queue, percentile));
    Ok(Some(json!({
        "begin_us": series.axis.begin_us(),
        "interval_us": series.axis.interval_us(),
        "count": series.rows.len(),
        "throughput_gbps": series.throughput_gbps.iter().copied().map(short).collect::<Vec<_>>(),
        "load_mean": each(&|row| stats::mean(&sorted(row, load)).unwrap_or(0.0)),
        "load_max": p(load, 100.0),
        "queue_max_bytes": of_queues(100.0),
        "queue_p99_bytes": of_queues(99.0),
        "queue_scale_bytes": longest,
        "edge_load": heat(&series, fabric, |cell| cell.load),
        "edge_queue": (longest > 0.0).then(|| heat(&series, fabric, |cell| cell.queue_bytes / longest)),
        "links": hot.iter().filter_map(of_link).collect::<Map<_, _>>(),
    })))
}

/// A byte for each interval and edge, 255 for a value of 1 or more, in base64.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is from 0 to 255")]
fn heat(series: &Series, fabric: &Fabric, of: impl Fn(&Cell) -> f64) -> String {
    let byte = |value: f64| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
    let row = |row: &Vec<Cell>| -> Vec<u8> { fabric.busiest(|id| of(&row[id.index()])).map(byte).collect() };
    base64(&series.rows.iter().flat_map(row).collect::<Vec<u8>>())
}

/// The path of each recorded flow: for each link, the number of the drawn edge that stands for the link, and the number
/// of the flow's packets on the link. `None` if the run did not record paths.
pub(super) fn paths(file: &Path, fabric: &Fabric) -> Result<Option<Value>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let table = Table::read(file)?;
    let edges = fabric.edge_of_links();
    let (flows, links) = (table.integers("flow")?, table.integers("link")?);
    let packets = table.integers("packets")?;
    let mut paths: Map<String, Value> = Map::new();
    for ((flow, link), packets) in flows.iter().zip(links).zip(packets) {
        let (Some(flow), Some(link), Some(packets)) = (flow, link, packets) else { continue };
        let Some(edge) = u32::try_from(*link).ok().and_then(|link| edges.get(&LinkId(link))) else {
            continue;
        };
        let path = paths.entry(flow.to_string()).or_insert_with(|| json!([]));
        path.as_array_mut().expect("paths are arrays").push(json!([edge, packets]));
    }
    Ok(Some(paths.into()))
}

/// Base64 of RFC 4648 §4.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize]);
            text.push(if i <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let encoded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(base64(&[0xff, 0xfe]), "//4=");
    }
}
