//! Tests the records over time of a lossless run. All sent bytes arrive and are counted in the right
//! intervals, queue samples are correct, and the records are the same with any number of threads.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::{Control, Threads, run_into};
use raddle_records::Table;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Three hosts send 600 KB each to the same host. Without pauses, each would send for half a millisecond at the rate of
/// its link.
const INCAST: &str = r#"[topology]
kind = "k_ary_n_tree"
k = 2
n = 3
link_rate = "10 Gbps"
link_delay = "50 ns"

[workload]
list = [
    { src = 0, dst = 7, size = "600 KB" },
    { src = 2, dst = 7, size = "600 KB" },
    { src = 4, dst = 7, size = "600 KB" },
]

[scheme]
transport = "cee"
routing = "random-up"
flow_control = "pfc"

[engine]
cut_through = true

[record]
throughput = "100 us"
queue_lengths = "50 us"
"#;

fn run(directory: &Path, set: &[&str], threads: usize) -> String {
    let document = Document::parse("incast.toml", INCAST.to_owned(), PathBuf::new()).unwrap();
    let prepared = document.with_overrides(set.iter().copied()).unwrap().prepare().unwrap();
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(threads) };
    run_into(prepared, directory, "incast", control).unwrap().to_string()
}

fn column(directory: &Path, table: &str, column: &str) -> Vec<u64> {
    let table = Table::read(&directory.join(table)).unwrap();
    table.integers(column).unwrap().iter().map(|value| value.unwrap_or(0)).collect()
}

#[test]
fn all_that_is_sent_arrives_in_order_and_at_the_rate_of_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("run");
    let summary = run(&run_folder, &[], 1);
    let column = |name: &str| column(&run_folder, "throughput.parquet", name);
    let (arrived, in_order) = (column("arrived_bytes"), column("in_order_bytes"));
    assert_eq!((arrived.iter().sum::<u64>(), in_order.iter().sum::<u64>()), (1_800_000, 1_800_000));
    assert_eq!(column("arrived_packets").iter().sum::<u64>(), 1_200);
    let late: u64 = column("late_packets").iter().sum();
    assert!(late > 0 && column("port_changes").iter().sum::<u64>() > 100, "{late} late packets");
    // The three flows share the receiver's link, whose rate of 10 Gbps is 125,000 B in 100 us.
    let from = column("from_ps");
    let filled = (1..14).all(|i| {
        let rows = (0..from.len()).filter(|&row| from[row] == i * 100_000_000);
        (123_500..=126_500).contains(&rows.map(|row| arrived[row]).sum::<u64>())
    });
    assert!(filled, "{arrived:?}");
    assert!(summary.contains("pauses "), "{summary}");
    // The backlog builds up at the egress port of the last link. The port in the reverse direction has no
    // backlog.
    let columns =
        ["from", "to", "bytes"].map(|name| self::column(&run_folder, "queue_lengths.parquet", name));
    let deepest = |ends: (u64, u64)| {
        let there = (0..columns[0].len()).filter(|&row| (columns[0][row], columns[1][row]) == ends);
        there.map(|row| columns[2][row]).max().unwrap()
    };
    assert!(deepest((11, 7)) > 60_000 && deepest((7, 11)) == 0, "{} bytes", deepest((11, 7)));
    assert!(self::column(&run_folder, "flow_control.parquet", "pauses_sent").iter().sum::<u64>() > 0);
}

#[test]
fn tables_over_time_are_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let shared = |name: &str, scheme: &str| {
        let tables = [1, 2].map(|threads| {
            let directory = folder.path().join(format!("{name}-{threads}"));
            run(&directory, &[scheme, "engine.time_limit=150 us"], threads);
            let columns =
                ["at_ps", "link", "bytes"].map(|name| column(&directory, "queue_lengths.parquet", name));
            let received = ["flow", "from_ps", "arrived_bytes", "port_changes"]
                .map(|name| column(&directory, "throughput.parquet", name));
            (columns, received)
        });
        assert_eq!(tables[0], tables[1], "{name}");
        tables[0].0[2].iter().max().copied()
    };
    // Ports without flow control compute their backlog from the departure times of packets.
    assert!(shared("controlled", "scheme.transport=cee") > Some(60_000));
    assert!(shared("plain", "scheme={transport=\"udp\"}") > Some(60_000));
}

#[test]
fn only_the_queues_that_are_asked_for_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    run(&directory, &["record.queue_links=11->7", "engine.time_limit=200 us"], 1);
    let [at, from] = ["at_ps", "from"].map(|name| column(&directory, "queue_lengths.parquet", name));
    assert_eq!((at, from), ([50, 100, 150].map(|us| us * 1_000_000).to_vec(), vec![11; 3]));
}

/// The packet headers of every transport contain the flow and the payload size, so arrivals can be counted.
#[test]
fn what_arrives_of_a_flow_is_counted_whatever_its_transport() {
    let torus = r#"topology={ kind = "torus", dims = [3, 3], link_rate = "10 Gbps", link_delay = "100 ns" }"#;
    let folder = tempfile::tempdir().unwrap();
    for transport in ["tcp-newreno", "dctcp", "udp", "dcqcn", "pdq", "d3", "rcp", "r2c2", "pfq"] {
        let scheme = match transport {
            "r2c2" | "pfq" => format!(r#"scheme={{ transport = "{transport}" }}"#),
            "dcqcn" => r#"scheme={ transport = "dcqcn", routing = "ecmp", flow_control = "pfc", congestion_points = "red" }"#.to_owned(),
            _ => format!(r#"scheme={{ transport = "{transport}", routing = "ecmp" }}"#),
        };
        let list = r#"workload.list=[{ src = 0, dst = 7, size = "30 KB" }]"#;
        let engine = r#"engine={ kind = "packet" }"#;
        let mut set = vec![scheme.as_str(), list, engine];
        if transport == "r2c2" || transport == "pfq" {
            set.push(torus);
        }
        let run_folder = folder.path().join(transport);
        run(&run_folder, &set, 1);
        let arrived = column(&run_folder, "throughput.parquet", "arrived_bytes");
        assert_eq!(arrived.iter().sum::<u64>(), 30_000, "{transport}");
    }
}

#[test]
fn series_hold_all_bytes_of_every_link_and_change_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, one, three] = ["plain", "one", "three"].map(|name| folder.path().join(name));
    let digest = |summary: &str| {
        let line = summary.lines().find(|line| line.starts_with("digest")).unwrap();
        line.to_owned()
    };
    let without = digest(&run(&plain, &[], 1));
    let series = ["record.series=true"];
    assert_eq!(digest(&run(&one, &series, 1)), without);
    assert_eq!(digest(&run(&three, &series, 3)), without);
    assert!(!plain.join("series.parquet").exists());

    let [froms, links, bytes, queues] =
        ["from_ps", "link", "bytes", "queue_bytes"].map(|name| column(&one, "series.parquet", name));
    let [ids, data, control, peaks] = ["link", "data_bytes", "control_bytes", "peak_queue_bytes"]
        .map(|name| column(&one, "links.parquet", name));
    for (i, id) in ids.iter().enumerate() {
        let rows: Vec<usize> = (0..links.len()).filter(|&row| links[row] == *id).collect();
        let sum: u64 = rows.iter().map(|&row| bytes[row]).sum();
        assert_eq!(sum, data[i] + control[i], "link {id}");
        assert!(rows.iter().all(|&row| queues[row] <= peaks[i]), "link {id}");
    }
    assert!(queues.iter().any(|&queue| queue > 0));
    assert_eq!(column(&one, "series.parquet", "delivered_bytes").iter().sum::<u64>(), 1_800_000);
    let intervals: std::collections::BTreeSet<u64> = froms.iter().copied().collect();
    assert!((128..=256).contains(&intervals.len()), "{} intervals", intervals.len());

    for table in ["series.parquet", "paths.parquet"] {
        let [one, three] = [&one, &three].map(|run| Table::read(&run.join(table)).unwrap());
        assert_eq!(one.columns, three.columns, "{table}");
    }
    // Each of the three flows crosses exactly one link that leaves its source host.
    let [flows, path] = ["flow", "link"].map(|name| column(&one, "paths.parquet", name));
    let from: Vec<u64> = column(&one, "links.parquet", "from");
    for (flow, host) in [(0, 0), (1, 2), (2, 4)] {
        let own = flows.iter().zip(&path).filter(|(other, _)| **other == flow);
        let is_host =
            own.filter(|(_, link)| ids.iter().zip(&from).any(|(id, from)| id == *link && *from == host));
        assert_eq!(is_host.count(), 1, "flow {flow}");
    }
}

#[test]
fn series_of_the_flow_engine_hold_the_loads_of_its_links() {
    let folder = tempfile::tempdir().unwrap();
    let records = "throughput = \"100 us\"\nqueue_lengths = \"50 us\"\n";
    let [plain, series] = [("plain", ""), ("series", "series = true\n")].map(|(name, record)| {
        let text = INCAST.replace("[engine]", "[engine]\nkind = \"flow\"").replace(records, record);
        let document = Document::parse("incast.toml", text, PathBuf::new()).unwrap();
        let control =
            Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(1) };
        let directory = folder.path().join(name);
        let summary =
            run_into(document.prepare().unwrap(), &directory, "incast", control).unwrap().to_string();
        (directory, summary.lines().find(|line| line.starts_with("digest")).unwrap().to_owned())
    });
    assert_eq!(plain.1, series.1);
    let of = |table: &str, name: &str| column(&series.0, table, name);

    let (links, bytes) = (of("series.parquet", "link"), of("series.parquet", "bytes"));
    for (id, data) in of("links.parquet", "link").iter().zip(of("links.parquet", "data_bytes")) {
        let sum: u64 = links.iter().zip(&bytes).filter(|(link, _)| *link == id).map(|(_, bytes)| bytes).sum();
        // The bytes in each of at most 256 intervals are rounded, which changes them by at most half a byte.
        assert!(sum.abs_diff(data) <= 128, "link {id}: {sum} and {data}");
    }
    assert!(of("series.parquet", "delivered_bytes").iter().sum::<u64>().abs_diff(1_800_000) <= 128);
    assert!(of("series.parquet", "queue_bytes").iter().all(|&queue| queue == 0));
    // Each sender gets a third of the rate of the receiver's link: 3.33 Gbps, less the headers. This rate lasts until
    // all flows end together.
    let [from, to, src, sent] =
        ["from_ps", "to_ps", "src", "bytes"].map(|name| of("rate_series.parquet", name));
    let gbps: Vec<f64> = (0..src.len())
        .filter(|&row| src[row] == 2 && from[row] > 0 && to[row] < 1_400_000_000)
        .map(|row| sent[row] as f64 * 8e3 / (to[row] - from[row]) as f64)
        .collect();
    assert!(gbps.len() > 100 && gbps.iter().all(|gbps| (3.2..=3.3334).contains(gbps)), "{gbps:?}");
    // Each flow has 600 KB, so it has more than 300 packets on the link that leaves its source.
    let (flows, packets) = (of("paths.parquet", "flow"), of("paths.parquet", "packets"));
    assert!(
        (0..3)
            .all(|flow| flows.iter().zip(&packets).any(|(other, &packets)| *other == flow && packets > 300))
    );
}
