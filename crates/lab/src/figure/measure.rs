//! Measures: a number out of a run's records.

use crate::Error;
use crate::experiment::{At, Cause, Item, Problem, Section, Value, quantity};
use raddle_core::Bytes;
use raddle_records::{Table, stats};
use std::path::Path;

/// Where a run stands in its figure's grid: sweep and label.
pub(super) type Labels = Vec<(String, String)>;

/// What one run left, in columns, in order of arrival.
pub(super) struct Run {
    pub(super) labels: Labels,
    pub(super) data: Data,
}

/// Records of a run, or what a computed figure found.
pub(super) enum Data {
    /// Flows and links.
    Records(Records),
    /// A computed number.
    Number(f64),
    /// Measured on this machine's clock, sorted: another run gives others.
    Timings(Vec<f64>),
}

/// A flow's place in the order of arrivals, its size, FCT in us, and reorder peak.
#[derive(Debug, Clone, Copy)]
struct FlowRow {
    size: u64,
    fct_us: f64,
    reorder: f64,
}

#[derive(Default)]
pub(super) struct Records {
    flows: Vec<FlowRow>,
    peak_queue_bytes: Vec<f64>,
    /// Flows after the warm-up that never finished.
    pub(super) unfinished: usize,
}

impl Records {
    /// Reads a run directory, without the first `warm_up` share of arrivals.
    pub(super) fn read(directory: &Path, warm_up: f64) -> Result<Self, Error> {
        let table = Table::read(&directory.join("flows.parquet"))?;
        let first = (table.rows as f64 * warm_up) as u64;
        let (ids, sizes) = (table.integers("flow")?, table.integers("size_bytes")?);
        let (fcts, reorder) = (table.integers("fct_ps")?, table.integers("reorder_peak_packets")?);
        let mut records = Self::default();
        for row in (0..table.rows).filter(|&row| ids[row].is_some_and(|id| id >= first)) {
            match fcts[row] {
                Some(fct) => records.flows.push(FlowRow {
                    size: sizes[row].unwrap_or(0),
                    fct_us: fct as f64 / 1e6,
                    reorder: reorder[row].unwrap_or(0) as f64,
                }),
                None => records.unfinished += 1,
            }
        }
        let links = Table::read(&directory.join("links.parquet"))?;
        records.peak_queue_bytes =
            links.integers("peak_queue_bytes")?.iter().map(|peak| peak.unwrap_or(0) as f64).collect();
        Ok(records)
    }
}

/// What is measured of each flow or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Fct,
    Goodput,
    ReorderPeak,
    PeakQueue,
    Value,
}

impl Of {
    const NAMES: [(&'static str, Self); 5] = [
        ("fct", Self::Fct),
        ("goodput", Self::Goodput),
        ("reorder_peak", Self::ReorderPeak),
        ("peak_queue", Self::PeakQueue),
        ("value", Self::Value),
    ];

    /// What it is and its unit, for an axis.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Fct => "flow completion time (us)",
            Self::Goodput => "mean throughput of a flow (Gbps)",
            Self::ReorderPeak => "reorder buffer (packets)",
            Self::PeakQueue => "largest queue of a port (bytes)",
            Self::Value => "value",
        }
    }
}

/// A sample's statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stat {
    Mean,
    Percentile(u8),
}

impl Stat {
    const NAMES: [(&'static str, Self); 5] = [
        ("mean", Self::Mean),
        ("p50", Self::Percentile(50)),
        ("p95", Self::Percentile(95)),
        ("p99", Self::Percentile(99)),
        ("max", Self::Percentile(100)),
    ];
}

/// `size < 100 KB` or `size > 1 MB`.
#[derive(Debug, Clone, Copy)]
enum Where {
    Below(u64),
    Above(u64),
}

impl Where {
    fn read(text: &str, at: &At) -> Result<Self, Problem> {
        let wrong = || {
            let what = format!("`{text}` is no condition on flows");
            let hint = "for example: \"size < 100 KB\" or \"size > 1 MB\"".to_owned();
            Problem::at(at, Cause::OutOfRange { what, hint })
        };
        let rest = text.trim().strip_prefix("size").ok_or_else(wrong)?.trim();
        let limit = |size: &str| quantity::parse::<Bytes>(size.trim()).map(|bytes| bytes.0);
        let limit = |size| limit(size).map_err(|error| Problem::at(at, error.into()));
        match (rest.strip_prefix('<'), rest.strip_prefix('>')) {
            (Some(size), _) => Ok(Self::Below(limit(size)?)),
            (_, Some(size)) => Ok(Self::Above(limit(size)?)),
            _ => Err(wrong()),
        }
    }

    fn holds(self, size: u64) -> bool {
        match self {
            Self::Below(limit) => size < limit,
            Self::Above(limit) => size > limit,
        }
    }
}

/// A number out of a run.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    pub(super) of: Of,
    stat: Stat,
    wanted: Option<Where>,
}

impl Measure {
    /// Reads the keys `of`, `stat` and `where` of a section.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let of = section.choice("of", "measure", &Of::NAMES, Some("value"))?;
        let stat = section.choice("stat", "statistic", &Stat::NAMES, Some("mean"))?;
        let wanted = section.optional::<String>("where")?;
        let wanted = wanted.map(|text| Where::read(&text, section.at_key("where"))).transpose()?;
        Ok(Self { of, stat, wanted })
    }

    /// The sample, sorted.
    pub(super) fn sample(&self, run: &Run) -> Vec<f64> {
        let records = match &run.data {
            Data::Number(number) => return vec![*number],
            Data::Timings(sample) => return sample.clone(),
            Data::Records(records) => records,
        };
        let flows =
            records.flows.iter().filter(|flow| self.wanted.is_none_or(|wanted| wanted.holds(flow.size)));
        let mut sample: Vec<f64> = match self.of {
            Of::Fct => flows.map(|flow| flow.fct_us).collect(),
            Of::Goodput => flows.map(|flow| flow.size as f64 * 8.0 / flow.fct_us / 1e3).collect(),
            Of::ReorderPeak => flows.map(|flow| flow.reorder).collect(),
            Of::PeakQueue => records.peak_queue_bytes.clone(),
            Of::Value => Vec::new(),
        };
        stats::sort(&mut sample);
        sample
    }

    /// The statistic; `None` if no flow was measured.
    pub(super) fn number(&self, run: &Run) -> Option<f64> {
        let sample = self.sample(run);
        match self.stat {
            Stat::Mean => stats::mean(&sample),
            Stat::Percentile(p) => stats::percentile(&sample, p.into()),
        }
    }
}

/// Labels that a run must have, such as `{ tau = "1 us" }`.
pub(super) fn read_labels(item: Option<&Item>) -> Result<Labels, Problem> {
    let Some(item) = item else { return Ok(Labels::new()) };
    let Value::Table(table) = &item.value else {
        let expected = "a table such as { tau = \"1 us\" }";
        return Err(Problem::at(&item.at, Cause::WrongType { expected, found: item.value.kind() }));
    };
    let label = |entry: &crate::experiment::Entry| match &entry.item.value {
        Value::String(label) => Ok((entry.key.clone(), label.clone())),
        other => {
            let cause = Cause::WrongType { expected: "a label", found: other.kind() };
            Err(Problem::at(&entry.item.at, cause))
        }
    };
    table.entries.iter().map(label).collect()
}

impl Run {
    pub(super) fn label(&self, sweep: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == sweep).map(|(_, label)| label.as_str())
    }

    pub(super) fn is_at(&self, labels: &[(String, String)]) -> bool {
        labels.iter().all(|(sweep, label)| self.label(sweep) == Some(label))
    }
}

/// The labels of a sweep, in its order, among `runs`.
pub(super) fn labels_of(runs: &[&Run], sweep: &str) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for label in runs.iter().filter_map(|run| run.label(sweep)) {
        if !labels.iter().any(|other| other == label) {
            labels.push(label.to_owned());
        }
    }
    labels
}
