//! Measures: a number out of a run's records.

use crate::Error;
use crate::experiment::{At, Cause, Item, Problem, Read, Section, Value, list, quantity};
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

/// A flow's place in the order of arrivals, its size, FCT in us, reorder peak, and the mean over its life of the rate
/// that it was assigned in Gbps, if it ever was.
#[derive(Debug, Clone, Copy)]
struct FlowRow {
    id: u64,
    size: u64,
    fct_us: f64,
    reorder: f64,
    assigned_gbps: Option<f64>,
}

#[derive(Default)]
pub(super) struct Records {
    flows: Vec<FlowRow>,
    peak_queue_bytes: Vec<f64>,
    control_bytes: Vec<f64>,
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
        let assigned = table.floats("average_rate_bps")?;
        let mut records = Self::default();
        for row in 0..table.rows {
            let Some(id) = ids[row].filter(|&id| id >= first) else { continue };
            match fcts[row] {
                Some(fct) => records.flows.push(FlowRow {
                    id,
                    size: sizes[row].unwrap_or(0),
                    fct_us: fct as f64 / 1e6,
                    reorder: reorder[row].unwrap_or(0) as f64,
                    assigned_gbps: assigned[row].map(|bps| bps / 1e9),
                }),
                None => records.unfinished += 1,
            }
        }
        let links = Table::read(&directory.join("links.parquet"))?;
        let column = |name: &str| -> Result<Vec<f64>, Error> {
            Ok(links.integers(name)?.iter().map(|value| value.unwrap_or(0) as f64).collect())
        };
        records.peak_queue_bytes = column("peak_queue_bytes")?;
        records.control_bytes = column("control_bytes")?;
        Ok(records)
    }
}

/// What is measured of each flow or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Fct,
    Goodput,
    /// Of flows that were assigned one.
    AssignedRate,
    ReorderPeak,
    PeakQueue,
    /// Of packets without application bytes, on each link.
    ControlBytes,
    Value,
}

impl Of {
    const NAMES: [(&'static str, Self); 7] = [
        ("fct", Self::Fct),
        ("goodput", Self::Goodput),
        ("assigned_rate", Self::AssignedRate),
        ("reorder_peak", Self::ReorderPeak),
        ("peak_queue", Self::PeakQueue),
        ("control_bytes", Self::ControlBytes),
        ("value", Self::Value),
    ];

    /// What it is, and its unit.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Fct => ("flow completion time", "us"),
            Self::Goodput => ("mean throughput of a flow", "Gbps"),
            Self::AssignedRate => ("mean rate assigned to a flow", "Gbps"),
            Self::ReorderPeak => ("reorder buffer", "packets"),
            Self::PeakQueue => ("largest queue of a port", "bytes"),
            Self::ControlBytes => ("control traffic of a link", "bytes"),
            Self::Value => ("value", ""),
        }
    }
}

/// A sample's statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stat {
    Mean,
    Total,
    Percentile(u8),
}

impl Stat {
    const NAMES: [(&'static str, Self); 6] = [
        ("mean", Self::Mean),
        ("total", Self::Total),
        ("p50", Self::Percentile(50)),
        ("p95", Self::Percentile(95)),
        ("p99", Self::Percentile(99)),
        ("max", Self::Percentile(100)),
    ];

    /// Reads the list at the key `stats`: statistics by name; none if the key is not there.
    pub(super) fn list(section: &mut Section<'_>) -> Result<Vec<(String, Self)>, Problem> {
        let Some(item) = section.item("stats") else { return Ok(Vec::new()) };
        let stat = |item: &Item| {
            let name = String::read(item)?;
            match Self::NAMES.iter().find(|(known, _)| *known == name) {
                Some(&(_, stat)) => Ok((name, stat)),
                None => {
                    let known = Self::NAMES.map(|(name, _)| name.to_owned()).into();
                    Err(Problem::at(&item.at, Cause::UnknownName { what: "statistic", name, known }))
                }
            }
        };
        list(item)?.iter().map(stat).collect()
    }
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
    of: Of,
    stat: Stat,
    wanted: Option<Where>,
    /// If not empty, what is measured of each flow or link is how far it is, as a share, from what it is in the run
    /// with these labels and otherwise the same ones.
    pub(super) against: Labels,
    /// If not empty, the statistic is what it is beyond that of the run with these labels and otherwise the same ones.
    pub(super) beyond: Labels,
}

impl Measure {
    /// Reads the keys `of`, `stat`, `where`, `against` and `beyond` of a section.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let of = section.choice("of", "measure", &Of::NAMES, Some("value"))?;
        let stat = section.choice("stat", "statistic", &Stat::NAMES, Some("mean"))?;
        let wanted = section.optional::<String>("where")?;
        let wanted = wanted.map(|text| Where::read(&text, section.at_key("where"))).transpose()?;
        let against = read_labels(section.item("against"))?;
        let beyond = read_labels(section.item("beyond"))?;
        Ok(Self { of, stat, wanted, against, beyond })
    }

    /// The same of another statistic.
    pub(super) fn with(&self, stat: Stat) -> Self {
        Self { stat, ..self.clone() }
    }

    /// What it is and its unit, for an axis.
    pub(super) fn label(&self) -> String {
        let (what, unit) = self.of.words();
        if !self.against.is_empty() {
            let base: Vec<_> =
                self.against.iter().map(|(sweep, label)| format!("{sweep} = {label}")).collect();
            return format!("{what}: difference from {}, as a share", base.join(", "));
        }
        if unit.is_empty() { what.to_owned() } else { format!("{what} ({unit})") }
    }

    /// The sample of `run`, one of a figure's `runs`, sorted.
    pub(super) fn sample(&self, run: &Run, runs: &[Run]) -> Vec<f64> {
        let values = self.values(run);
        let mut sample: Vec<f64> = if self.against.is_empty() {
            values.into_iter().map(|(_, value)| value).collect()
        } else {
            let mut base = base(&self.against, run, runs).map_or(Vec::new(), |base| self.values(base));
            base.sort_unstable_by_key(|&(id, _)| id);
            let pair = |(id, value)| {
                let place = base.binary_search_by_key(&id, |&(id, _)| id).ok()?;
                Some(deviation(value, base[place].1))
            };
            values.into_iter().filter_map(pair).collect()
        };
        stats::sort(&mut sample);
        sample
    }

    /// What is measured of each flow or link of a run, by its number.
    fn values(&self, run: &Run) -> Vec<(u64, f64)> {
        let records = match &run.data {
            Data::Number(number) => return vec![(0, *number)],
            Data::Timings(sample) => return (0..).zip(sample.iter().copied()).collect(),
            Data::Records(records) => records,
        };
        let flows =
            records.flows.iter().filter(|flow| self.wanted.is_none_or(|wanted| wanted.holds(flow.size)));
        match self.of {
            Of::Fct => flows.map(|flow| (flow.id, flow.fct_us)).collect(),
            Of::Goodput => flows.map(|flow| (flow.id, flow.size as f64 * 8.0 / flow.fct_us / 1e3)).collect(),
            Of::AssignedRate => flows.filter_map(|flow| Some((flow.id, flow.assigned_gbps?))).collect(),
            Of::ReorderPeak => flows.map(|flow| (flow.id, flow.reorder)).collect(),
            Of::PeakQueue => (0..).zip(records.peak_queue_bytes.iter().copied()).collect(),
            Of::ControlBytes => (0..).zip(records.control_bytes.iter().copied()).collect(),
            Of::Value => Vec::new(),
        }
    }

    /// The statistic over `run`, one of a figure's `runs`; `None` if nothing was measured.
    pub(super) fn number(&self, run: &Run, runs: &[Run]) -> Option<f64> {
        let number = self.statistic(run, runs)?;
        if self.beyond.is_empty() {
            return Some(number);
        }
        Some(number - self.statistic(base(&self.beyond, run, runs)?, runs)?)
    }

    fn statistic(&self, run: &Run, runs: &[Run]) -> Option<f64> {
        let sample = self.sample(run, runs);
        match self.stat {
            Stat::Mean => stats::mean(&sample),
            Stat::Total => (!sample.is_empty()).then(|| sample.iter().sum()),
            Stat::Percentile(p) => stats::percentile(&sample, p.into()),
        }
    }
}

/// The run that `run` is measured against: the one with these labels, and otherwise the same.
fn base<'a>(labels: &[(String, String)], run: &Run, runs: &'a [Run]) -> Option<&'a Run> {
    let replaced = |sweep: &String| labels.iter().any(|(other, _)| other == sweep);
    let kept: Labels = run.labels.iter().filter(|(sweep, _)| !replaced(sweep)).cloned().collect();
    runs.iter().find(|other| other.is_at(labels) && other.is_at(&kept))
}

/// How far `value` is from `base`, as a share of it.
fn deviation(value: f64, base: f64) -> f64 {
    let difference = (value - base).abs();
    if difference == 0.0 { 0.0 } else { difference / base.abs() }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scheme: &str, rho: &str, rates: &[(u64, Option<f64>)]) -> Run {
        let flow =
            |&(id, assigned_gbps)| FlowRow { id, size: 1 + id, fct_us: 1.0, reorder: 0.0, assigned_gbps };
        let records = Records { flows: rates.iter().map(flow).collect(), ..Records::default() };
        let labels = [("scheme", scheme), ("rho", rho)].map(|(sweep, label)| (sweep.into(), label.into()));
        Run { labels: labels.into(), data: Data::Records(records) }
    }

    fn against(rho: &str, wanted: Option<Where>) -> Measure {
        let against = vec![("rho".to_owned(), rho.to_owned())];
        Measure { of: Of::AssignedRate, stat: Stat::Percentile(50), wanted, against, beyond: Labels::new() }
    }

    #[test]
    fn flows_are_compared_with_themselves_in_the_other_run() {
        let runs = [
            run("A", "0", &[(3, Some(4.0)), (1, Some(10.0)), (2, None), (5, Some(0.0))]),
            run("B", "0", &[(1, Some(1.0))]),
            run(
                "A",
                "1 ms",
                &[(1, Some(8.0)), (2, Some(7.0)), (3, Some(6.0)), (4, Some(1.0)), (5, Some(0.0))],
            ),
        ];
        // Flow 2 has no rate in one run, flow 4 is not in it.
        assert_eq!(against("0", None).sample(&runs[2], &runs), [0.0, 0.2, 0.5]);
        assert_eq!(against("0", None).number(&runs[2], &runs), Some(0.2));
        assert_eq!(against("0", Some(Where::Below(4))).sample(&runs[2], &runs), [0.2]);
        assert_eq!(against("0", None).sample(&runs[0], &runs), [0.0; 3]);
        assert_eq!(against("5 ms", None).number(&runs[2], &runs), None);
    }

    #[test]
    fn a_total_may_be_what_it_is_beyond_that_of_another_run() {
        let loaded = |rho, bytes: &[f64]| {
            let control_bytes = bytes.to_vec();
            let data = Data::Records(Records { control_bytes, ..Records::default() });
            Run { data, ..run("A", rho, &[]) }
        };
        let runs = [loaded("0", &[5.0, 7.0]), loaded("1 ms", &[20.0, 8.0])];
        let mut measure = Measure { of: Of::ControlBytes, stat: Stat::Total, ..against("0", None) };
        measure.beyond = std::mem::take(&mut measure.against);
        assert_eq!(measure.number(&runs[1], &runs), Some(16.0));
        assert_eq!(measure.number(&runs[0], &runs), Some(0.0));
        measure.beyond[0].1 = "5 ms".to_owned();
        assert_eq!(measure.number(&runs[1], &runs), None);
    }

    #[test]
    fn an_axis_says_what_is_compared() {
        assert_eq!(
            against("0", None).label(),
            "mean rate assigned to a flow: difference from rho = 0, as a share"
        );
    }
}
