//! The meanings of the columns of a sweep's table. Apart from labels, the columns hold the values of a run's summary
//! under flat names ([`measures`](super::replicas::measures)), and the directory of the run.

use crate::SizeClass;
use crate::sweep::replicas;
use raddle_records::{Row as _, TotalsRecord};

/// The columns and their meanings. `n` in a name stands for a number. Columns of a size class, and columns
/// that `TotalsRecord::COLUMNS` describes, are not in this list. [`meaning`] finds their meanings.
const COLUMNS: &[(&str, &str)] = &[
    ("complete", "true if the run reached its end and was not stopped"),
    ("deadlines_flows", "flows that have a deadline"),
    (
        "deadlines_met",
        "delivered flows that met their deadline. The sender must know of the delivery by the deadline. Without acknowledgements, the sender must have sent the last byte by the deadline",
    ),
    ("delivered", "finished flows"),
    ("digest", "hash of the records of flows, ranks and links, and of the totals"),
    ("directory", "directory of the run, relative to the folder of the sweep"),
    ("drops", "packets lost for any reason"),
    ("fct_mean_us", "mean FCT of finished flows"),
    ("fct_p50_us", "median FCT of finished flows"),
    ("fct_p95_us", "95th percentile of the FCTs of finished flows"),
    ("fct_p99_us", "99th percentile of the FCTs of finished flows"),
    (
        "fidelity_copies",
        "number of times that the bytes of a packet were copied in a live run, summed over all packets",
    ),
    (
        "fidelity_dilation",
        "seconds of real time per second of virtual time in a live run, without the time for which virtual time stood still",
    ),
    (
        "fidelity_gaps",
        "number of times that a polling thread needed more than 10 us for one pass over its links and events",
    ),
    (
        "fidelity_held",
        "share of a live run for which virtual time stood still because a polling thread was far behind",
    ),
    ("fidelity_hops", "packets that arrived over links in a live run, each counted once per link"),
    (
        "fidelity_lateness_p50_ns",
        "median lateness of packets: real time from a packet's due time until a node handled the packet",
    ),
    (
        "fidelity_lateness_p99_ns",
        "99th percentile of the lateness of packets: real time from a packet's due time until a node handled the packet",
    ),
    (
        "fidelity_lateness_p999_ns",
        "99.9th percentile of the lateness of packets: real time from a packet's due time until a node handled the packet",
    ),
    ("fidelity_longest_gap_ns", "longest pass that `fidelity_gaps` counts; 0 if there is none"),
    (
        "fidelity_slips",
        "packets so late in a live run that the node used the current time instead of the due time of the packet",
    ),
    ("fidelity_steal", "share of the machine's CPU time that other virtual machines took during a live run"),
    (
        "fidelity_verdict",
        "verdict on a live run: `faithful` if the results are valid, otherwise `dilate to N` or `machine too busy`",
    ),
    (
        "fidelity_wrong_payloads",
        "packets of a live run whose payload arrived with different bytes than the sender wrote",
    ),
    ("flow_control_links", "directed links with flow control"),
    ("flow_control_paused_links", "directed links that were paused at least once"),
    ("flow_control_paused_share_max", "largest share of the run for which a link was paused"),
    (
        "flow_control_paused_share_mean",
        "share of the run for which a link was paused, mean over the links with flow control",
    ),
    ("flow_control_pauses", "number of pauses of all links; renewals of a pause do not count"),
    (
        "flow_control_peak_memory_bytes",
        "peak occupancy of a node's memory by packets of one priority from one link, maximum over links",
    ),
    ("flow_control_spread", "number of links in the longest chain over which pauses spread"),
    ("flows", "flows of the run; columns of a size class count only finished flows"),
    ("goodput_mean_gbps", "mean goodput of finished flows"),
    ("imbalance_tier_n_mean", "throughput imbalance of the switches of tier n, mean over samples"),
    ("imbalance_tier_n_samples", "samples of the throughput imbalance of tier n"),
    ("imbalance_tier_n_tier", "number of the tier"),
    ("last_delivery_ps", "time of the last delivery of a flow"),
    ("last_event_ps", "time of the last event"),
    ("peak_queue_max_bytes", "largest peak queue length of any port"),
    ("peak_queue_p50_bytes", "median over ports of the peak queue length"),
    ("peak_queue_p99_bytes", "99th percentile over ports of the peak queue length"),
    ("peak_queue_ports", "ports whose peak queue was measured"),
    ("program_bytes", "bytes that ranks sent"),
    ("program_finished", "ranks that finished"),
    ("program_makespan_ps", "time from the start of the run until the last rank has finished"),
    ("program_messages", "messages that ranks sent"),
    ("program_ranks", "ranks of the program"),
    ("seed", "seed of the run"),
    ("slowdown_mean", "mean slowdown of finished flows"),
    ("slowdown_p50", "median slowdown of finished flows"),
    ("slowdown_p95", "95th percentile of the slowdowns of finished flows"),
    ("slowdown_p99", "99th percentile of the slowdowns of finished flows"),
    ("totals_drops_handshake", "lost packets of connection handshakes"),
    ("totals_drops_lost", "packets lost on links at random"),
    ("totals_events", "events that the engine processed; a measure of its work, not a result"),
    ("unfinished", "flows that started and did not finish"),
    (
        "unmatched_reports",
        "reports from hosts about flows that were not open; such reports are a bug in the scheme, unless links damage packets",
    ),
    (
        "workload_fabric_load",
        "mean load of all links: application bits of each flow times the hops of its shortest path, summed \
         over flows, divided by the time from the first to the last flow start, and by the sum of all link \
         rates",
    ),
    (
        "workload_host_load",
        "application bits of all flows, divided by the time from the first to the last flow start, and by \
         the sum of the rates of each host's fastest link",
    ),
    ("workload_mean_size_bytes", "mean flow size in application bytes"),
    ("workload_network_load", "host load multiplied by the oversubscription of a Clos network"),
];

/// The names of the columns that do not belong to a size class.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let totals = TotalsRecord::COLUMNS.iter().map(|column| format!("{TOTALS}{}", column.name));
    COLUMNS.iter().map(|&(name, _)| name.to_owned()).chain(totals)
}

/// The meaning of a column; `None` for a column of labels, or if no sweep's table has such a column.
pub(crate) fn meaning(column: &str) -> Option<String> {
    let in_class = SizeClass::PARTS.into_iter().find_map(|class| {
        let name = column.strip_suffix(&replicas::ending(class.name))?;
        Some(format!("{}, of sizes {}", alone(name)?, class.name))
    });
    in_class.or_else(|| alone(column))
}

/// The prefix of the names of columns that hold a run's totals.
const TOTALS: &str = "totals_";

fn alone(column: &str) -> Option<String> {
    let words = column.split('_').map(|word| if word.parse::<u32>().is_ok() { "n" } else { word });
    let name = words.collect::<Vec<_>>().join("_");
    if let Some(&(_, meaning)) = COLUMNS.iter().find(|(known, _)| *known == name) {
        return Some(meaning.to_owned());
    }
    let column = column.strip_prefix(TOTALS)?;
    let total = TotalsRecord::COLUMNS.iter().find(|total| total.name == column)?;
    Some(total.definition.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;
    use crate::sweep::{self, Results, sweep};
    use crate::{Out, run::summary};
    use raddle_core::Duration;
    use raddle_live::rack::{Fidelity, Verdict};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    /// A sweep of two cells. Together, their summaries have every value that a run can have, except the values that
    /// only live runs have. So the cells cover deadlines, imbalance, pauses and a program.
    const ALL: &str = r#"
[topology]
kind = "folded_clos"
leaves = 2
spines = 2
hosts_per_leaf = 2
link_rate = "10 Gbps"
link_delay = "100 ns"
[scheme]
transport = "udp"
flow_control = "pfc"
[record]
imbalance = "10 us"
[[sweep]]
name = "traffic"
values = [
    { label = "flows", set = { workload = { flows = 50, arrivals = { kind = "poisson", load = 0.5 }, sizes = "web_search", pairs = "uniform", deadlines = { kind = "fixed", deadline = "1 ms" } } } },
    { label = "program", set = { workload = { collective = "allreduce", ranks = 4, size = "1 MB" } } },
]
"#;

    #[test]
    fn every_column_of_a_sweep_has_a_meaning() {
        let folder = tempfile::tempdir().expect("a folder");
        let document = Document::parse("all.toml", ALL.to_owned(), PathBuf::new()).expect("valid TOML");
        let cells = document.cells().expect("cells");
        let control = sweep::Control {
            threads: 1,
            stop: &AtomicBool::new(false),
            fail_fast: false,
            shard: None,
            elsewhere: None,
            progress: &|_, _| (),
            ended: &|_, _| (),
        };
        let ends = sweep(&cells, folder.path(), &control).expect("runs");
        Results::write(&document, &cells, &ends, Out::from(folder.path())).expect("results").expect("runs");
        let table = folder.path().join("sweep_results/sweep.csv");
        let table = std::fs::read_to_string(table).expect("a table");
        let mut columns: Vec<String> =
            table.lines().next().expect("a heading").split(',').map(str::to_owned).collect();
        let fidelity = Fidelity {
            hops: 1,
            lateness: [Duration::from_ns(1); 3],
            slips: 0,
            gaps: 0,
            longest_gap: Duration::from_ns(1),
            steal: Some(0.0),
            held: 0.0,
            copies: 0,
            wrong_payloads: 0,
            dilation: 1,
            verdict: Verdict::Faithful,
        };
        let live = serde_json::json!({ "fidelity": summary::fidelity(fidelity) });
        columns.extend(replicas::measures(&live).into_iter().map(|(name, _)| name));
        assert_eq!(columns.remove(0), "traffic");
        for column in &columns {
            assert!(meaning(column).is_some(), "define the column `{column}` in {}", file!());
        }
        // Every listed column occurs.
        for name in names() {
            let is_used = |column: &String| *column == name || column.replace("tier_1", "tier_n") == name;
            assert!(columns.iter().any(is_used), "no sweep has the column `{name}`");
        }
        let of_class = meaning("fct_p99_us_under_100_kb").expect("a column");
        assert_eq!(of_class, "99th percentile of the FCTs of finished flows, of sizes under 100 KB");
        assert_eq!(meaning("fct_p98_us"), None);
    }
}
