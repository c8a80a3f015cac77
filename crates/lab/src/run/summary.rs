//! The one-page summary of a run: saved as `summary.json` and printed at the end.

use crate::Error;
use crate::SizeClass;
use crate::lint::Warning;
use crate::notation::{percent, shown, shown_or_dash};
use crate::observe::lossless::Pauses;
use crate::run::Outcome;
use crate::run::undelivered::Undelivered;
use raddle_core::{Duration, Time};
use raddle_live::rack::{Fidelity, Verdict};
use raddle_records::{
    FlowRecord, ImbalanceRecord, Mean, Quantiles, RecordsError, TableReader, TotalsRecord, stats,
};
use raddle_topology::Topology;
use raddle_workload::Facts;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};
use std::path::Path;

/// The schema version of `summary.json`. It is raised when a key changes its name or meaning.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The percentiles that a summary shows.
const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];

/// Mean, and percentiles by the nearest-rank method. All are `None` if there are no samples.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Statistics {
    mean: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

impl Statistics {
    fn new(mean: Mean, percentiles: &Quantiles) -> Self {
        let values = percentiles.values();
        let [p50, p95, p99] = std::array::from_fn(|i| values[i]);
        Self { mean: mean.value(), p50, p95, p99 }
    }

    fn all(self) -> [Option<f64>; 4] {
        [self.mean, self.p50, self.p95, self.p99]
    }
}

/// Results of the flows of a size class.
#[derive(Debug, Clone, PartialEq)]
struct Class {
    name: &'static str,
    flows: u64,
    /// Number of flows that started and did not finish.
    unfinished: u64,
    /// FCTs in microseconds.
    fct_us: Statistics,
    /// Slowdowns: FCT divided by the ideal FCT.
    slowdown: Statistics,
    /// Mean goodput of the finished flows, in Gbps. The goodput of a flow is its size divided by its FCT.
    goodput_gbps: Option<f64>,
}

/// Adds up the values that a summary needs from each flow. It stores no flows: percentiles, which need all flows, are
/// computed from the table of flows.
#[derive(Debug, Clone, Default)]
pub struct Summarizer {
    /// One entry per class, in the order of [`SizeClass::WITH_ALL`].
    classes: [Sums; SizeClass::WITH_ALL.len()],
    deadlines: Deadlines,
}

/// Sums over the flows of a size class.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    unfinished: u64,
    fct_us: Mean,
    slowdown: Mean,
    goodput_gbps: Mean,
}

/// The percentiles of a size class.
struct Percentiles {
    fct_us: Quantiles,
    slowdown: Quantiles,
}

impl Percentiles {
    /// Computes the percentiles of each class over the finished flows in the table `flows`.
    fn read(flows: &Path) -> Result<[Self; SizeClass::WITH_ALL.len()], RecordsError> {
        let mut classes = SizeClass::WITH_ALL
            .map(|_| Self { fct_us: Quantiles::new(&PERCENTILES), slowdown: Quantiles::new(&PERCENTILES) });
        let reader = TableReader::open(flows)?;
        for _ in 0..Quantiles::PASSES {
            for group in 0..reader.groups() {
                let table = reader.group(group, &["size_bytes", "fct_ps", "slowdown"])?;
                let (sizes, fcts) = (table.integers("size_bytes")?, table.integers("fct_ps")?);
                for ((size, fct), slowdown) in sizes.iter().zip(fcts).zip(table.floats("slowdown")?) {
                    let (&Some(size), &Some(fct), &Some(slowdown)) = (size, fct, slowdown) else { continue };
                    let holds = SizeClass::WITH_ALL.map(|class| class.holds(size));
                    for (class, _) in classes.iter_mut().zip(holds).filter(|(_, holds)| *holds) {
                        class.fct_us.add(fct as f64 / PS_PER_US);
                        class.slowdown.add(slowdown);
                    }
                }
            }
            for class in &mut classes {
                class.fct_us.end_pass();
                class.slowdown.end_pass();
            }
        }
        Ok(classes)
    }
}

const PS_PER_US: f64 = 1e6;

/// Results of flows that have a deadline.
#[derive(Debug, Clone, Copy, Default)]
struct Deadlines {
    flows: u64,
    /// Number of delivered flows whose sender knew by the deadline that the flow was complete. With a transport without
    /// acknowledgements, the sender must have sent the last byte by the deadline.
    met: u64,
}

impl Deadlines {
    /// The results as JSON; null if no flow has a deadline.
    fn json(self) -> Value {
        if self.flows == 0 { Value::Null } else { json!({ "flows": self.flows, "met": self.met }) }
    }
}

impl fmt::Display for Deadlines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = percent(self.met as f64 / self.flows as f64);
        write!(f, "deadlines    {} of {} met, {share}", self.met, self.flows)
    }
}

impl Summarizer {
    /// Adds a flow to the sums.
    pub fn add(&mut self, flow: &FlowRecord) {
        if let Some(met) = flow.meets_deadline() {
            self.deadlines.flows += 1;
            self.deadlines.met += u64::from(met);
        }
        let classes = SizeClass::WITH_ALL.iter().zip(&mut self.classes);
        for (_, sums) in classes.filter(|(class, _)| class.holds(flow.size_bytes)) {
            match (flow.fct_ps, flow.slowdown(), flow.goodput_bps()) {
                (Some(fct), Some(slowdown), Some(goodput)) => {
                    sums.fct_us.add(fct as f64 / PS_PER_US);
                    sums.slowdown.add(slowdown);
                    sums.goodput_gbps.add(goodput / 1e9);
                }
                _ => sums.unfinished += 1,
            }
        }
    }

    /// The summary of a run on the fabric `topology`. `flows` is the path of the table of flows.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn finish(
        self,
        title: &str,
        seed: u64,
        topology: &Topology,
        workload: Facts,
        outcome: &Outcome,
        flows: &Path,
    ) -> Result<Summary, Error> {
        let percentiles = Percentiles::read(flows)?;
        let class = |((class, sums), percentiles): ((SizeClass, &Sums), &Percentiles)| Class {
            name: class.name,
            flows: sums.fct_us.count(),
            unfinished: sums.unfinished,
            fct_us: Statistics::new(sums.fct_us, &percentiles.fct_us),
            slowdown: Statistics::new(sums.slowdown, &percentiles.slowdown),
            goodput_gbps: sums.goodput_gbps.value(),
        };
        let classes = SizeClass::WITH_ALL.into_iter().zip(&self.classes).zip(&percentiles);
        // A port that ever sent a packet had a peak above 0. If all peaks are 0, the engine does not measure queues, or
        // no packet was sent.
        let measured = outcome.links.iter().any(|link| link.peak_queue_bytes > 0);
        let links = outcome.links.iter().filter(|_| measured);
        let mut queues: Vec<f64> = links.map(|link| link.peak_queue_bytes as f64).collect();
        stats::sort(&mut queues);
        Ok(Summary {
            title: title.to_owned(),
            seed,
            workload,
            deadlines: self.deadlines,
            classes: classes.map(class).collect(),
            peak_queue_bytes: [50.0, 99.0, 100.0].map(|p| stats::percentile(&queues, p)),
            peak_queue_ports: queues.len(),
            imbalance: imbalance(&outcome.imbalance),
            pauses: Pauses::of(&outcome.flow_control, topology),
            ranks: Ranks::of(outcome),
            outcome: outcome.without_rows(),
            inputs: String::new(),
            warnings: Vec::new(),
        })
    }
}

/// Totals over the ranks of a program.
#[derive(Debug, Clone, Copy)]
struct Ranks {
    all: usize,
    finished: usize,
    /// Time at which the last rank ended, in picoseconds; `None` if a rank did not finish.
    makespan_ps: Option<u64>,
    messages: u64,
    bytes: u64,
}

impl Ranks {
    fn of(outcome: &Outcome) -> Option<Self> {
        let ranks = &outcome.ranks;
        (!ranks.is_empty()).then(|| Self {
            all: ranks.len(),
            finished: ranks.iter().filter(|rank| rank.finished_ps.is_some()).count(),
            makespan_ps: outcome.makespan_ps(),
            messages: ranks.iter().map(|rank| rank.sent_messages).sum(),
            bytes: ranks.iter().map(|rank| rank.sent_bytes).sum(),
        })
    }

    fn json(&self) -> Value {
        json!({
            "ranks": self.all,
            "finished": self.finished,
            "makespan_ps": self.makespan_ps,
            "messages": self.messages,
            "bytes": self.bytes,
        })
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { all, finished, messages, bytes, .. } = self;
        write!(
            f,
            "program      {finished} of {all} ranks finished, {messages} messages with {bytes} B in total"
        )?;
        let Some(makespan) = self.makespan_ps else { return Ok(()) };
        write!(f, ", makespan {} ms", shown(makespan as f64 / 1e9))
    }
}

/// The fidelity of a live run as JSON. Times are in ns.
pub(crate) fn fidelity(fidelity: Fidelity) -> Value {
    let [p50, p99, p999] = fidelity.lateness.map(|late| late.as_ps() / 1_000);
    json!({
        "verdict": fidelity.verdict.to_string(),
        "dilation": fidelity.dilation,
        "hops": fidelity.hops,
        "lateness_p50_ns": p50,
        "lateness_p99_ns": p99,
        "lateness_p999_ns": p999,
        "slips": fidelity.slips,
        "gaps": fidelity.gaps,
        "longest_gap_ns": fidelity.longest_gap.as_ps() / 1_000,
        "steal": fidelity.steal,
        "held": fidelity.held,
        "copies": fidelity.copies,
        "wrong_payloads": fidelity.wrong_payloads,
    })
}

fn imbalance(samples: &[ImbalanceRecord]) -> Vec<(u32, usize, f64)> {
    let mut tiers: Vec<u32> = samples.iter().map(|sample| sample.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let mean = |tier| {
        let of_tier = samples.iter().filter(|sample| sample.tier == tier);
        let values: Vec<f64> = of_tier.map(|sample| sample.imbalance).collect();
        Some((tier, values.len(), stats::mean(&values)?))
    };
    tiers.into_iter().filter_map(mean).collect()
}

/// The one-page summary of a run.
#[derive(Debug, Clone)]
pub struct Summary {
    title: String,
    seed: u64,
    workload: Facts,
    classes: Vec<Class>,
    deadlines: Deadlines,
    /// p50, p99 and maximum of the ports' peak queues, in bytes.
    peak_queue_bytes: [Option<f64>; 3],
    /// Number of ports with a measured peak queue.
    peak_queue_ports: usize,
    /// For each tier of switches: the tier, the number of imbalance samples, and their mean. Empty if no samples were
    /// taken.
    imbalance: Vec<(u32, usize, f64)>,
    /// The pauses; `None` if no link has flow control.
    pauses: Option<Pauses>,
    /// Totals over the ranks; `None` if the workload is not a program.
    ranks: Option<Ranks>,
    /// The outcome, in which the lists of records are empty.
    outcome: Outcome,
    /// The digest of the run's inputs.
    pub(crate) inputs: String,
    /// Warnings about settings that are probably not intended.
    pub(crate) warnings: Vec<Warning>,
}

impl Summary {
    /// True if the measurement is valid. It is invalid only for a live run with which the machine could not keep pace,
    /// or during which other virtual machines took too much CPU time.
    #[must_use]
    pub fn is_faithful(&self) -> bool {
        self.outcome.fidelity.is_none_or(|fidelity| fidelity.verdict == Verdict::Faithful)
    }

    /// True if the run reached its end and was not stopped.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome.complete
    }

    /// The error with which a command ends if the run failed because it delivered no flow. Even then, the records are
    /// complete.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.outcome.undelivered.as_ref().map(Undelivered::error)
    }

    /// The summary as a JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        let outcome = &self.outcome;
        let classes: Vec<_> = self
            .classes
            .iter()
            .map(|class| {
                json!({
                    "class": class.name,
                    "flows": class.flows,
                    "unfinished": class.unfinished,
                    "fct_mean_us": class.fct_us.mean,
                    "fct_p50_us": class.fct_us.p50,
                    "fct_p95_us": class.fct_us.p95,
                    "fct_p99_us": class.fct_us.p99,
                    "slowdown_mean": class.slowdown.mean,
                    "slowdown_p50": class.slowdown.p50,
                    "slowdown_p95": class.slowdown.p95,
                    "slowdown_p99": class.slowdown.p99,
                    "goodput_mean_gbps": class.goodput_gbps,
                })
            })
            .collect();
        let imbalance = self.imbalance.iter();
        let imbalance =
            imbalance.map(|(tier, samples, mean)| json!({ "tier": tier, "samples": samples, "mean": mean }));
        json!({
            "title": self.title,
            "schema_version": SCHEMA_VERSION,
            "version": crate::VERSION,
            "seed": self.seed,
            "digest": outcome.digest.to_string(),
            "inputs": self.inputs,
            "warnings": self.warnings.iter().map(Warning::json).collect::<Vec<_>>(),
            "complete": outcome.complete,
            "error": self.failure().map(|failure| failure.json()["error"].take()),
            "flows": outcome.flows,
            "delivered": outcome.delivered,
            "last_delivery_ps": outcome.last_delivery.map(Time::as_ps),
            "last_event_ps": outcome.totals.simulated_ps,
            "unmatched_reports": outcome.unmatched,
            "drops": outcome.totals.drops.total(),
            "workload": {
                "mean_size_bytes": self.workload.mean_size,
                "host_load": self.workload.host_load,
                "network_load": self.workload.network_load,
                "fabric_load": self.workload.fabric_load,
            },
            "classes": classes,
            "deadlines": self.deadlines.json(),
            "flow_control": self.pauses.as_ref().map(Pauses::json),
            "program": self.ranks.as_ref().map(Ranks::json),
            "imbalance": imbalance.collect::<Vec<_>>(),
            "peak_queue_p50_bytes": self.peak_queue_bytes[0],
            "peak_queue_p99_bytes": self.peak_queue_bytes[1],
            "peak_queue_max_bytes": self.peak_queue_bytes[2],
            "peak_queue_ports": self.peak_queue_ports,
            "totals": outcome.totals,
            "fidelity": outcome.fidelity.map(fidelity),
            "wall_seconds": outcome.seconds,
        })
    }
}

/// Explains the columns of the printed table.
const DEFINITIONS: &str = "
FCT: time from the moment a flow is handed to the transport until its last byte is delivered in order. Percentiles use the nearest rank, over the flows of column `flows`.
Slowdown: FCT divided by the FCT of the flow alone on one shortest path. It can be below 1 for a flow that uses several paths at once.
Goodput: application bits divided by FCT, mean over flows.

";

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { totals, delivered, flows, last_delivery, undelivered, complete, unmatched, .. } =
            &self.outcome;
        let ms = |time: Duration| shown(time.as_secs_f64() * 1e3);
        write!(f, "{}: {delivered} of {flows} flows delivered", self.title)?;
        if let Some(last) = last_delivery {
            write!(f, " in {} ms simulated", ms(last.since(Time::ZERO)))?;
        }
        writeln!(f, "; last event at {} ms", ms(totals.simulated()))?;
        match undelivered {
            _ if !complete => writeln!(f, "stopped early: the records are partial")?,
            Some(why) => writeln!(f, "failed: {why}")?,
            None if *delivered == 0 && *flows > 0 => {
                writeln!(f, "the time limit ended the run before any flow was complete")?;
            }
            None => {}
        }
        if *unmatched > 0 {
            writeln!(
                f,
                "{unmatched} reports from hosts match no open flow. This is a bug in the scheme, unless \
                 links damage packets"
            )?;
        }
        writeln!(f)?;
        f.write_str(&table(&self.rows()))?;
        f.write_str(DEFINITIONS)?;
        let percent = |load: Option<f64>| load.map_or("-".to_owned(), percent);
        let Facts { host_load, network_load, fabric_load, .. } = &self.workload;
        let mean_size = shown(self.workload.mean_size);
        let (host, fabric) = (percent(*host_load), percent(*fabric_load));
        if self.deadlines.flows > 0 {
            writeln!(f, "{}", self.deadlines)?;
        }
        if let Some(fidelity) = &self.outcome.fidelity {
            writeln!(f, "{fidelity}")?;
        }
        if let Some(pauses) = &self.pauses {
            writeln!(f, "{pauses}")?;
        }
        if let Some(ranks) = &self.ranks {
            writeln!(f, "{ranks}")?;
        } else {
            writeln!(
                f,
                "offered      mean size {mean_size} B; host load {host} (relative to the sum of the rates of \
                 each host's fastest link); load of all links {fabric}"
            )?;
            if network_load.is_some() {
                let load = percent(*network_load);
                writeln!(
                    f,
                    "             bisection load {load} (relative to the rate of the narrowest level of \
                     switches)"
                )?;
            }
        }
        let TotalsRecord { data, drops, .. } = totals;
        let control = totals.control();
        writeln!(f, "packet-hops  {} data, {} control ({} B)", data.packets, control.packets, control.bytes)?;
        if let [Some(p50), Some(p99), Some(max)] = self.peak_queue_bytes {
            writeln!(
                f,
                "peak queue   p50 {} B, p99 {} B, max {} B over {} ports",
                shown(p50),
                shown(p99),
                shown(max),
                self.peak_queue_ports
            )?;
        }
        write!(f, "drops        {}", drops.total())?;
        if drops.handshake > 0 {
            write!(f, ", {} of them handshake packets", drops.handshake)?;
        }
        writeln!(f)?;
        writeln!(f, "seed         {}", self.seed)?;
        write!(f, "digest       {}", self.outcome.digest)
    }
}

impl Summary {
    fn rows(&self) -> Vec<Vec<String>> {
        let heads = ["size", "flows", "unfinished", "FCT mean us", "p50", "p95", "p99"];
        let heads = heads.into_iter().chain(["slowdown mean", "p50", "p95", "p99", "goodput Gbps"]);
        let mut rows = vec![heads.map(str::to_owned).collect::<Vec<_>>()];
        for class in &self.classes {
            let mut row = vec![class.name.to_owned(), class.flows.to_string(), class.unfinished.to_string()];
            row.extend([class.fct_us, class.slowdown].iter().flat_map(|of| of.all()).map(shown_or_dash));
            row.push(shown_or_dash(class.goodput_gbps));
            rows.push(row);
        }
        rows
    }
}

/// Formats rows of cells as a table. The first row is the heading. The first column is aligned left. Every other column
/// is aligned right if at least half of its cells below the heading are empty or begin with a digit or a sign.
/// Otherwise it is aligned left.
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "writing to a string never fails")]
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |i: usize| {
        let cells: Vec<_> = rows.iter().filter_map(|row| row.get(i)).collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let numbers = cells.iter().skip(1).filter(|cell| starts_as_number(cell)).count();
        (width, i > 0 && 2 * numbers >= cells.len() - 1)
    };
    let columns: Vec<(usize, bool)> = (0..columns).map(column).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, &(width, is_of_numbers))) in row.iter().zip(&columns).enumerate() {
            let gap = if i == 0 { "" } else { "  " };
            let written = if is_of_numbers {
                write!(line, "{gap}{cell:>width$}")
            } else {
                write!(line, "{gap}{cell:<width$}")
            };
            written.expect("writing to a string never fails");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// True if a cell is empty, or opens with a digit or a sign.
fn starts_as_number(cell: &str) -> bool {
    cell.chars().next().is_none_or(|first| first.is_ascii_digit() || "+-±".contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_aligned_to_the_right_and_those_of_words_to_the_left() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["run", "n", "range", "says"]),
            row(["a", "1,000", "any to 1", "longer"]),
            row(["longer", "-", "2", "b"]),
        ];
        assert_eq!(
            table(&rows),
            "run         n     range  says\na       1,000  any to 1  longer\nlonger      -         2  b\n"
        );
    }
}
