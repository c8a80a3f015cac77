//! The data of one run in the report.

use super::fabric::Fabric;
use super::{rank_series, rate_series, series};
use crate::SizeClass;
use crate::analysis::compare::{by_size, fcts};
use crate::experiment::Document;
use crate::figure::draw::{Point, cdf};
use crate::observe::series::SLOW_FLOWS;
use crate::run::directory::{EXPERIMENT, PATHS, RANK_SERIES, RANKS, RATE_SERIES, SERIES};
use crate::run::kept_summary;
use crate::run::records::{FlowRow, LinkRow, Records};
use crate::{Error, experiment};
use raddle_core::LinkId;
use raddle_records::Table;
use raddle_schemes::registry::Registry;
use raddle_topology::Topology;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Largest number of links in the table of hot links.
const HOT_LINKS: usize = 24;

/// Number of equal steps into which the time of a run is divided. Active flows are counted at both ends of each step.
const TIMES: usize = 240;

/// The data of the run in a directory.
pub(super) fn read(directory: &Path, registry: &Arc<Registry>) -> Result<Value, Error> {
    let summary = kept_summary::read(directory)?;
    let records = Records::read(directory, 0.0)?;
    let document = Document::load(&directory.join(EXPERIMENT))?.with_registry(registry);
    let topology = document.topology()?;
    let fabric = Fabric::of(&topology);
    let (begin_us, end_us) = span(&summary, &records.flows);
    let loads = loads(&topology, &records.links, (end_us - begin_us) / 1e6);
    let hot = hot_links(&topology, &records.links, &loads);
    let hot_numbers: Vec<u64> = hot.iter().map(|row| row.link).collect();
    let ranks = ranks(&directory.join(RANKS))?;
    let ends: Vec<Option<f64>> = ranks.iter().map(|rank| rank[2].as_f64()).collect();
    let classes: Vec<Value> = SizeClass::WITH_ALL
        .iter()
        .map(|&class| {
            let fcts = fcts(&records, class);
            json!({ "class": class.name, "points": points(&cdf(&fcts)), "flows": fcts.len() })
        })
        .collect();
    Ok(json!({
        "directory": directory.display().to_string(),
        "scheme": scheme(&document),
        "nodes": topology.node_count(),
        "hosts": topology.hosts().count(),
        "slowdown": { "p50": points(&by_size(&records, 50.0)), "p99": points(&by_size(&records, 99.0)) },
        "fct": classes,
        "active": active(&records.flows, end_us),
        "links": hot.iter().map(|row| hot_link(&topology, row, &loads)).collect::<Vec<_>>(),
        "flows": flows(&records.flows),
        "flow_count": records.flows.len(),
        "fabric": fabric.json(),
        "load": fabric.busiest(|link| loads[link.index()]).map(short).collect::<Vec<_>>(),
        "series": series::json(&directory.join(SERIES), &topology, &fabric, &hot_numbers)?,
        "paths": series::paths(&directory.join(PATHS), &fabric)?,
        "engine": engine(&document),
        "rates": rate_series::json(&directory.join(RATE_SERIES))?,
        "rank_series": rank_series::json(&directory.join(RANK_SERIES), &ends)?,
        "ranks": ranks,
    }))
}

/// The transport, routing and flow control of the experiment in one line, as far as its file names them.
fn scheme(document: &Document) -> String {
    let Some(table) = experiment::table_in(&document.root, &["scheme"]) else { return String::new() };
    let word = |key: &str| match &table.get(key)?.value {
        experiment::Value::String(word) => Some(word.clone()),
        _ => None,
    };
    ["transport", "routing", "flow_control"].into_iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

/// The name of the experiment's engine; empty if its file gives none.
fn engine(document: &Document) -> String {
    let table = experiment::table_in(&document.root, &["engine"]);
    match table.and_then(|table| table.get("kind")).map(|item| &item.value) {
        Some(experiment::Value::String(kind)) => kind.clone(),
        _ => String::new(),
    }
}

/// The span of a run, in us: from the start of the first flow to the last delivery. Later events do not count, because
/// timers may go on without traffic. A run with unfinished flows lasts until its last event.
fn span(summary: &Value, flows: &[FlowRow]) -> (f64, f64) {
    let begin = flows.iter().map(|flow| flow.start_us).fold(f64::INFINITY, f64::min);
    let is_finished = flows.iter().all(|flow| flow.fct_us.is_some());
    let end = if is_finished { &summary["last_delivery_ps"] } else { &summary["last_event_ps"] };
    let end = end.as_f64().unwrap_or(0.0) / 1e6;
    (begin.min(end), end)
}

/// The share of each link's capacity that the link's traffic took over `seconds`, by the index of the link.
fn loads(topology: &Topology, rows: &[LinkRow], seconds: f64) -> Vec<f64> {
    let mut loads = vec![0.0; topology.link_slots()];
    for row in rows {
        let Some((id, link)) = link(topology, row.link) else { continue };
        let capacity = link.rate.as_bps_f64() * seconds;
        loads[id.index()] = (row.data_bytes + row.control_bytes) * 8.0 / capacity.max(1.0);
    }
    loads
}

/// The link of this number, if the topology has it.
pub(super) fn link(topology: &Topology, number: u64) -> Option<(LinkId, &raddle_topology::Link)> {
    let id = u32::try_from(number).ok().map(LinkId).filter(|id| id.index() < topology.link_slots())?;
    Some((id, topology.link(id)?))
}

/// Up to [`HOT_LINKS`] links. The first half are the links with the greatest load. The others are the remaining links
/// with the longest queues.
fn hot_links<'a>(topology: &Topology, rows: &'a [LinkRow], loads: &[f64]) -> Vec<&'a LinkRow> {
    let mut by_load: Vec<&LinkRow> = rows.iter().collect();
    by_load.sort_by(|a, b| load(topology, b, loads).total_cmp(&load(topology, a, loads)));
    let mut by_queue = by_load.clone();
    by_queue.sort_by(|a, b| b.peak_queue_bytes.total_cmp(&a.peak_queue_bytes));
    let mut hot: Vec<&LinkRow> = by_load.into_iter().take(HOT_LINKS / 2).collect();
    for row in by_queue {
        if hot.len() < HOT_LINKS && !hot.iter().any(|other| other.link == row.link) {
            hot.push(row);
        }
    }
    hot
}

fn load(topology: &Topology, row: &LinkRow, loads: &[f64]) -> f64 {
    link(topology, row.link).map_or(0.0, |(id, _)| loads[id.index()])
}

fn hot_link(topology: &Topology, row: &LinkRow, loads: &[f64]) -> Value {
    let rate = link(topology, row.link).map(|(_, link)| link.rate.as_bps_f64() / 1e9);
    json!({
        "link": row.link, "from": row.ends.0, "to": row.ends.1, "rate_gbps": rate,
        "load": short(load(topology, row, loads)), "peak_queue_bytes": row.peak_queue_bytes,
        "drops": row.drops, "paused": row.paused,
    })
}

/// Unfinished flows, then the finished flows with the greatest slowdown, up to [`SLOW_FLOWS`] in total.
fn flows(rows: &[FlowRow]) -> Vec<Value> {
    let mut worst: Vec<&FlowRow> = rows.iter().collect();
    let badness = |flow: &FlowRow| flow.slowdown.unwrap_or(f64::INFINITY);
    worst.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
    let json = |flow: &FlowRow| {
        json!([
            flow.id,
            flow.src,
            flow.dst,
            flow.size,
            flow.start_us,
            flow.fct_us.map(short),
            flow.slowdown.map(short),
        ])
    };
    worst.into_iter().take(SLOW_FLOWS).map(json).collect()
}

/// The number of active flows at equally spaced times. Each entry is a time in us and the number of flows at that time.
fn active(flows: &[FlowRow], end_us: f64) -> Vec<[f64; 2]> {
    let sorted = |mut times: Vec<f64>| {
        raddle_records::stats::sort(&mut times);
        times
    };
    let starts = sorted(flows.iter().map(|flow| flow.start_us).collect());
    let ends = sorted(flows.iter().filter_map(|flow| Some(flow.start_us + flow.fct_us?)).collect());
    let (Some(&first), true) = (starts.first(), end_us > 0.0) else { return Vec::new() };
    let at = |step: usize| {
        let at = first + (end_us - first) * step as f64 / TIMES as f64;
        let by = |times: &[f64]| times.partition_point(|&time| time <= at) as f64;
        [at, by(&starts) - by(&ends)]
    };
    (0..=TIMES).map(at).collect()
}

/// The ranks of a program: number, node, end in us, computing time in us, number of sent messages, and sent bytes.
fn ranks(file: &Path) -> Result<Vec<Value>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let table = Table::read(file)?;
    let columns = ["rank", "node", "finished_ps", "computed_ps", "sent_messages", "sent_bytes"];
    let [ranks, nodes, ends, computed, messages, bytes] = columns.map(|name| table.integers(name));
    let (ranks, nodes, ends) = (ranks?, nodes?, ends?);
    let (computed, messages, bytes) = (computed?, messages?, bytes?);
    // Ends are not rounded, because a program may begin late and be short.
    let us = |ps: Option<u64>| ps.map(|ps| ps as f64 / 1e6);
    let row = |i: usize| {
        json!([ranks[i], nodes[i], us(ends[i]), us(computed[i]).map(short), messages[i], bytes[i]])
    };
    Ok((0..table.rows).map(row).collect())
}

fn points(points: &[Point]) -> Vec<[f64; 2]> {
    points.iter().map(|point| [short(point.x), short(point.y)]).collect()
}

/// Rounds a number to five significant digits, which are more than a chart can show.
pub(super) fn short(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(id: u64, start_us: f64, fct_us: Option<f64>) -> FlowRow {
        FlowRow { id, start_us, fct_us, slowdown: fct_us.map(|fct| fct / 10.0), ..FlowRow::default() }
    }

    #[test]
    fn a_flow_is_active_from_its_start_until_its_end() {
        let flows = [flow(0, 10.0, Some(20.0)), flow(1, 20.0, Some(80.0)), flow(2, 50.0, None)];
        let active = active(&flows, 130.0);
        let at = |us: f64| active.iter().rfind(|point| point[0] <= us).expect("a time")[1];
        for (us, flows) in [(10.0, 1.0), (25.0, 2.0), (40.0, 1.0), (60.0, 2.0), (120.0, 1.0)] {
            assert!((at(us) - flows).abs() < 1e-9, "{} active flows at {us} us", at(us));
        }
        assert!((active[0][0] - 10.0).abs() + (active[TIMES][0] - 130.0).abs() < 1e-9, "{active:?}");
    }

    #[test]
    fn the_time_after_the_last_delivery_does_not_count_unless_a_flow_is_unfinished() {
        let summary = json!({ "last_delivery_ps": 100_000_000, "last_event_ps": 900_000_000 });
        let finished = [flow(0, 20.0, Some(80.0)), flow(1, 30.0, Some(40.0))];
        assert_eq!(span(&summary, &finished), (20.0, 100.0));
        let unfinished = [flow(0, 20.0, Some(80.0)), flow(1, 30.0, None)];
        assert_eq!(span(&summary, &unfinished), (20.0, 900.0));
        assert_eq!(span(&summary, &[]), (100.0, 100.0));
    }

    #[test]
    fn unfinished_and_slow_flows_come_first() {
        let rows = [flow(0, 0.0, Some(20.0)), flow(1, 0.0, Some(90.0)), flow(2, 0.0, None)];
        let ids: Vec<_> = flows(&rows).iter().map(|flow| flow[0].clone()).collect();
        assert_eq!(ids, [2, 1, 0]);
    }

    #[test]
    fn numbers_are_short() {
        for (long, number) in [(123_456.7, 123_460.0), (0.0, 0.0), (0.001_234_567, 0.001_234_6)] {
            assert!((short(long) - number).abs() < 1e-12, "{}", short(long));
        }
    }
}
