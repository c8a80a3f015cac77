//! Measures: numbers computed from a run's records.

mod active;
mod label;
mod of;
mod stat;

pub(super) use stat::Stat;

use super::condition::Where;
use super::over_time::{Received, Window};
use super::runs::{Data, Labels, Run, Seeds, read_labels, replicas};
use crate::experiment::keys::{Any, Key, Name, keys};
use crate::experiment::{Item, Problem, Record, Section};
use crate::run::records::{FlowRow, LinkRow, Records};
use of::Of;
use raddle_core::{Bytes, Duration, Rate};
use raddle_records::stats;

/// Size of the smallest sample whose p99.9, by nearest rank, can differ from its maximum. A remark warns of smaller
/// samples.
const ENOUGH_FOR_P999: usize = 1_000;

/// The way in which a value of a flow or link is compared with its value in another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// The absolute difference between the two values, divided by the absolute value in the other run. It is 0 for
    /// equal values, even if both are 0.
    Deviation,
    /// The value divided by the value in the other run. It is 1 for equal values, even if both are 0.
    Ratio,
}

impl Comparison {
    fn of(self, value: f64, base: f64) -> f64 {
        let difference = (value - base).abs();
        // Equal values come first, because two values of 0 would give 0 / 0.
        match self {
            Self::Ratio => {
                if difference == 0.0 {
                    1.0
                } else {
                    value / base
                }
            }
            Self::Deviation => {
                if difference == 0.0 {
                    0.0
                } else {
                    difference / base.abs()
                }
            }
        }
    }
}

/// A measure: a number computed from a run.
#[derive(Debug, Clone)]
pub(crate) struct Measure {
    of: Of,
    pub(super) stat: Stat,
    wanted: Option<Where>,
    window: Window,
    /// A port is congested while more bytes than these wait. Used for congestion periods alone.
    above: Bytes,
    /// If not empty, the value of each flow or link is compared with its value in another run. That run has these
    /// labels, and this run's labels in all other sweeps.
    against: Labels,
    /// The kind of comparison for `against`.
    comparison: Comparison,
    /// If not empty, the statistic of another run is subtracted from this run's statistic. That run has these labels,
    /// and this run's labels in all other sweeps.
    beyond: Labels,
    /// If not empty, the statistic is divided by the statistic of another run. That run has these labels, and this
    /// run's labels in all other sweeps.
    relative: Labels,
    /// If not empty, the measure is the Kolmogorov-Smirnov distance to the sample of another run. That run has these
    /// labels, and this run's labels in all other sweeps. The distance is the greatest difference between the two
    /// distribution functions.
    distance_to: Labels,
    /// If given, the statistic is divided by the same statistic of the flows, links or tier that this condition selects
    /// in the same run.
    relative_where: Option<Where>,
}

/// The quantities that can be measured, each with its name, its description and its unit.
pub(crate) fn quantities() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    Of::NAMES.into_iter().map(|(name, of)| {
        let (words, unit) = of.words();
        (name, words, unit)
    })
}

keys! {
    /// The number that is measured for each run. `[[plot]]`, the `measure` of a claim, and `[search]` have these keys.
    pub(crate) MEASURE = "claim.measure" {
        /// The quantity that is measured.
        OF: Name = Key::new("of").or("\"value\"").example("\"fct\"").registered("measure", |_| {
            quantities().map(|(name, words, _)| (name.to_owned(), words)).collect()
        });
        /// The statistic that is computed from the values of flows, links or samples.
        STAT: Name = Key::new("stat").or("\"mean\"").example("\"p99\"").registered("statistic", |_| {
            Stat::names().map(|(name, _)| (name.to_owned(), "")).collect()
        });
        /// Smallest value that counts with `stat = "share"`.
        LEAST: f64 = Key::new("least").example("0.5");
        /// Largest value that counts with `stat = "share"`.
        MOST: f64 = Key::new("most").example("2.0");
        /// The flows, links or tiers that are measured: `size < 100 KB`, `100 KB <= size <= 1 MB`,
        /// `flow = 4`, `src = 0`, `dst = 31`, `link = 16->14` (`*` stands for any node, `16..19` for four nodes),
        /// `tier = tor`, `tier = leaf` or `tier = aggregation`.
        WHERE: String = Key::new("where").example("\"size < 100 KB\"");
        /// The statistic is divided by the same statistic of the flows, links or tier that this condition selects in
        /// the same run.
        RELATIVE_WHERE: String = Key::new("relative_where").example("\"size < 100 KB\"");
        /// A congestion period is the time for which a port's queue is longer than this. Only with the quantity
        /// `congestion_period`.
        ABOVE: Bytes = Key::new("above").or("\"0 B\"").example("\"3 KB\"");
        /// Start of the window of simulated time that is measured.
        FROM: Duration = Key::new("from").computed("the start of the run").example("\"2 ms\"");
        /// End of the window of simulated time that is measured. Required for the quantities `throughput` and
        /// `in_order`, except in a plot of kind `series`.
        TO: Duration = Key::new("to").computed("the end of the run").example("\"12 ms\"");
        /// The quantities `throughput` and `in_order` are given as shares of this rate. Other quantities do not accept
        /// this key.
        SHARE_OF: Rate = Key::new("share_of").above_zero();
        /// Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is
        /// replaced by its absolute difference from the value in that run, divided by the value in that run.
        AGAINST: Any = Key::new("against").example("{ tau = \"1 us\" }");
        /// Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is
        /// divided by the value in that run.
        RATIO_TO: Any = Key::new("ratio_to").example("{ tau = \"1 us\" }");
        /// Labels of another run, which has this run's labels in all other sweeps. The statistic of that run is
        /// subtracted.
        BEYOND: Any = Key::new("beyond").example("{ scheme = \"ECMP\" }");
        /// Labels of another run, which has this run's labels in all other sweeps. The statistic is divided by the
        /// statistic of that run.
        RELATIVE: Any = Key::new("relative").example("{ scheme = \"ECMP\" }");
        /// Labels of another run, which has this run's labels in all other sweeps. The number is the Kolmogorov-Smirnov
        /// distance between the distributions of the two runs.
        DISTANCE_TO: Any = Key::new("distance_to").example("{ engine = \"packet\" }");
    }
}

impl Measure {
    /// Reads the keys `of`, `stat`, `least`, `most`, `where`, `from`, `to`, `share_of`, `against` or `ratio_to`,
    /// `beyond`, `relative`, `distance_to`, `relative_where` and `above` of a section.
    pub(crate) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let of = section.choose(&OF, &Of::NAMES)?;
        // A default is read only with the quantity that has it, since a resolved experiment keeps what was read.
        let above = if of == Of::CongestionPeriod {
            section.read(&ABOVE)?
        } else {
            let what = "`above` needs the quantity \"congestion_period\"";
            let fits = !section.has(&ABOVE);
            section.ensure(fits, &ABOVE, what, "leave `above` out")?;
            Bytes(0)
        };
        let stat = Stat::read(section)?;
        let wanted = Self::read_where(section, &WHERE, of)?;
        let relative_where = Self::read_where(section, &RELATIVE_WHERE, of)?;
        let window = Window::read(section, of.is_rate(), of.is_timed())?;
        let (mut against, ratio_to) =
            (read_labels(section.item(&AGAINST))?, read_labels(section.item(&RATIO_TO))?);
        let mut comparison = Comparison::Deviation;
        if !ratio_to.is_empty() {
            let hint = "keep `against` for a difference, or `ratio_to` for a ratio";
            section.ensure(
                against.is_empty(),
                &RATIO_TO,
                "`against` and `ratio_to` cannot be combined",
                hint,
            )?;
            (against, comparison) = (ratio_to, Comparison::Ratio);
        }
        let beyond = read_labels(section.item(&BEYOND))?;
        let relative = read_labels(section.item(&RELATIVE))?;
        let distance_to = read_labels(section.item(&DISTANCE_TO))?;
        let hint = "leave `stat` out: a distance is between whole distributions";
        let has_stat = section.has(&STAT);
        section.ensure(
            distance_to.is_empty() || !has_stat,
            &DISTANCE_TO,
            "`distance_to` and `stat` cannot be combined",
            hint,
        )?;
        Ok(Self {
            of,
            stat,
            wanted,
            window,
            above,
            against,
            comparison,
            beyond,
            relative,
            distance_to,
            relative_where,
        })
    }

    /// The labels that select the runs for comparison, each with its sweep.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &(String, String)> {
        self.against.iter().chain(&self.beyond).chain(&self.relative).chain(&self.distance_to)
    }

    /// True if the statistic is divided by the statistic of the run that has this label of `sweep` and otherwise the
    /// same labels.
    pub(super) fn is_base(&self, sweep: &str, label: &str) -> bool {
        matches!(&self.relative[..], [(over, base)] if over == sweep && base == label)
    }

    /// True if the quantity is one of flows. Each value then belongs to one flow, except for `throughput_of_interval`,
    /// which has one value of all flows for each interval.
    pub(crate) fn is_of_flows(&self) -> bool {
        self.of.is_of_flows()
    }

    /// The greatest value that the measure can have, if that is known.
    pub(crate) fn most(&self) -> Option<f64> {
        self.of.most().filter(|_| self.stat == Stat::Mean)
    }

    /// True if the measure leaves out flows that never finished.
    pub(super) fn is_of_finished_flows(&self) -> bool {
        self.of.is_of_finished_flows()
    }

    /// Returns an error, at the item of the measure, if no cell records the quantity.
    pub(super) fn check_recorded(&self, item: &Item, records: &[Record]) -> Result<(), Problem> {
        self.of.check_recorded(item, records)
    }

    /// True if the measure can be taken in a window of simulated time.
    pub(crate) fn is_timed(&self) -> bool {
        self.of.is_timed()
    }

    /// Reads a condition such as `where` of a section. The condition must fit the quantity `of`.
    fn read_where(section: &mut Section<'_>, key: &Key<String>, of: Of) -> Result<Option<Where>, Problem> {
        let Some(text) = section.get(key)? else { return Ok(None) };
        let wanted = Where::read(&text, section.at_key(key))?;
        let fits = match wanted {
            Where::Tier(_) => of == Of::Imbalance,
            Where::Link(..) => of.is_of_links(),
            _ => of.is_of_flows(),
        };
        let hint = "use `size`, `flow`, `src` or `dst` with a quantity of flows, such as \"fct\"; \
             use `tier` with \"imbalance\"; use `link` with \"data_bytes\", \"control_bytes\", \"peak_queue\", \
             \"queue_length\", \"congestion_period\", \"ports_in_use\" or \"paused\"";
        section.ensure(fits, key, "this condition does not fit the quantity in `of`", hint)?;
        Ok(Some(wanted))
    }

    /// This measure, for the flows or links that the key `where` of a section selects.
    pub(super) fn read_of_those(&self, section: &mut Section<'_>) -> Result<Self, Problem> {
        Ok(Self { wanted: Self::read_where(section, &WHERE, self.of)?, ..self.clone() })
    }

    /// Returns an error, in the section of the measure, if the measure is a rate and its window has no end.
    pub(super) fn ensure_closed(&self, section: &Section<'_>) -> Result<(), Problem> {
        let closed = !self.of.is_rate() || self.window.is_closed();
        section.ensure(
            closed,
            &OF,
            "\"throughput\" and \"in_order\" need `to`, the end of the measured time",
            "for example: from = \"2 ms\", to = \"12 ms\"",
        )
    }

    /// This measure with the statistic `stat`.
    pub(super) fn with(&self, stat: Stat) -> Self {
        Self { stat, ..self.clone() }
    }

    /// The sorted sample of `run`, which is one of the figure's `runs`.
    pub(super) fn sample(&self, run: &Run, runs: &[Run]) -> Vec<f64> {
        let mut sample: Vec<f64> = self.compared(run, runs).into_iter().map(|(_, value)| value).collect();
        stats::sort(&mut sample);
        sample
    }

    /// The size in bytes and the measured value of each flow.
    pub(super) fn by_size(&self, run: &Run, runs: &[Run]) -> Vec<(f64, f64)> {
        let Data::Records(records) = &run.data else { return Vec::new() };
        let sized = |(id, value)| {
            let place = records.flows.binary_search_by_key(&id, |flow| flow.id).ok()?;
            Some((records.flows[place].size as f64, value))
        };
        self.compared(run, runs).into_iter().filter_map(sized).collect()
    }

    /// The values that [`Self::values`] returns. With `against`, each value is compared with the value in the other
    /// run. Flows and links that have no value in the other run are then left out.
    fn compared(&self, run: &Run, runs: &[Run]) -> Vec<(u64, f64)> {
        let values = self.values(run);
        if self.against.is_empty() {
            return values;
        }
        let mut base = base(&self.against, run, runs).map_or(Vec::new(), |base| self.values(base));
        base.sort_unstable_by_key(|&(id, _)| id);
        let pair = |(id, value)| {
            let place = base.binary_search_by_key(&id, |&(id, _)| id).ok()?;
            Some((id, self.comparison.of(value, base[place].1)))
        };
        values.into_iter().filter_map(pair).collect()
    }

    /// The flows that the measure's condition selects; all flows if there is no condition.
    fn flows<'a>(&self, records: &'a Records) -> impl Iterator<Item = &'a FlowRow> {
        let wanted = self.wanted;
        records.flows.iter().filter(move |flow| wanted.is_none_or(|wanted| wanted.takes_flow(flow)))
    }

    /// The index and the value of each link that the measure's condition selects. Without a condition, all links are
    /// selected. Links without a value are left out.
    fn links(&self, records: &Records, value: impl Fn(&LinkRow) -> Option<f64>) -> Vec<(u64, f64)> {
        let is_wanted = |link: &LinkRow| self.wanted.is_none_or(|wanted| wanted.takes_link(link.ends));
        let links = (0..).zip(&records.links).filter(|(_, link)| is_wanted(link));
        links.filter_map(|(id, link)| Some((id, value(link)?))).collect()
    }

    /// The measure over simulated time: pairs of a time in picoseconds and a value. For each time, queue lengths have a
    /// pair for each port. The data that hosts receive and the ports in use have one pair for all flows or ports
    /// together. The list is empty for all other quantities.
    pub(super) fn series(&self, run: &Run) -> Vec<(u64, f64)> {
        let Data::Records(records) = &run.data else { return Vec::new() };
        match self.of {
            Of::Received(received) => self.window.series(received, records, self.flows(records)),
            Of::ThroughputOfInterval => {
                self.window.series(Received::Throughput, records, self.flows(records))
            }
            Of::QueueLength => self.window.queue_lengths(records, self.wanted),
            Of::PortsInUse => self.window.ports_in_use(records, self.wanted),
            _ => Vec::new(),
        }
    }

    /// The id and the measured value of each flow or link of a run. For the active flows of a source, the node of the
    /// source stands in place of an id. For other values that belong to no flow or link, an index stands in place of an
    /// id.
    fn values(&self, run: &Run) -> Vec<(u64, f64)> {
        let records = match &run.data {
            Data::Number(number) => return vec![(0, *number)],
            Data::Timings(sample) => return (0..).zip(sample.iter().copied()).collect(),
            Data::Records(records) => records,
        };
        let flows = self.flows(records);
        let finished = |flow: &&FlowRow| flow.fct_us.is_some();
        let goodput = |size: u64, fct_us: f64| size as f64 * 8.0 / fct_us / 1e3;
        match self.of {
            Of::Fct => flows.filter_map(|flow| Some((flow.id, flow.fct_us?))).collect(),
            Of::SenderFct => flows.filter_map(|flow| Some((flow.id, flow.sender_fct_us?))).collect(),
            Of::Met => flows.filter_map(|flow| Some((flow.id, f64::from(u8::from(flow.met?))))).collect(),
            Of::Slowdown => flows.filter_map(|flow| Some((flow.id, flow.slowdown?))).collect(),
            Of::Unfinished => flows.filter(|flow| !finished(flow)).map(|flow| (flow.id, 1.0)).collect(),
            Of::Goodput => {
                flows.filter_map(|flow| Some((flow.id, goodput(flow.size, flow.fct_us?)))).collect()
            }
            Of::AssignedRate => {
                flows.filter(finished).filter_map(|flow| Some((flow.id, flow.assigned_gbps?))).collect()
            }
            Of::ReorderPeak => flows.filter(finished).map(|flow| (flow.id, flow.reorder)).collect(),
            Of::PeakQueue => self.links(records, |link| Some(link.peak_queue_bytes)),
            Of::DataBytes => self.links(records, |link| Some(link.data_bytes)),
            Of::ControlBytes => self.links(records, |link| Some(link.control_bytes)),
            Of::Paused => self.links(records, |link| link.paused),
            Of::ActiveFlows => vec![(0, active::peak(&records.flows))],
            Of::ActiveFlowsOfSource => active::peak_by_source(&records.flows),
            Of::ActiveFlowsOfLink => {
                let peaks = active::peak_by_link(&records.flows, &records.links);
                self.links(records, |link| peaks.get(&link.link).copied())
            }
            Of::Imbalance => {
                let wanted = |tier: u64| self.wanted.is_none_or(|wanted| wanted.takes_tier(tier));
                let samples = records.imbalance.iter().filter(|&&(tier, _)| wanted(tier));
                (0..).zip(samples.map(|&(_, imbalance)| imbalance)).collect()
            }
            Of::Received(received) => self.window.of_flows(received, records, flows),
            Of::CongestionPeriod => {
                (0..).zip(self.window.congestion_periods(records, self.wanted, self.above)).collect()
            }
            Of::ThroughputOfInterval | Of::QueueLength | Of::PortsInUse => {
                (0..).zip(self.series(run)).map(|(i, (_, value))| (i, value)).collect()
            }
            Of::Makespan => records.makespan_ms.map(|makespan| (0, makespan)).into_iter().collect(),
            Of::Lateness => records.lateness_us.map(|lateness| (0, lateness)).into_iter().collect(),
            Of::Value => Vec::new(),
        }
    }

    /// The statistic of the [`replicas`] with these labels: computed for each seed, and then averaged over `seeds`.
    /// `None` if nothing was measured, or if a makespan is missing in one of the runs.
    pub(crate) fn number(&self, runs: &[Run], labels: &[(String, String)], seeds: Seeds<'_>) -> Option<f64> {
        let wanted = replicas(runs, labels).filter(|run| seeds.hold(run));
        let numbers = wanted.map(|run| self.of_run(run, runs));
        let numbers: Vec<f64> = match self.of {
            // If the program did not end in some runs, a mean over the remaining runs would favor fast runs.
            Of::Makespan => numbers.collect::<Option<_>>()?,
            _ => numbers.flatten().collect(),
        };
        stats::mean(&numbers)
    }

    /// The measure of `run`, which is one of the figure's `runs`; `None` if nothing was measured in this run or in a
    /// run with which it is compared.
    fn of_run(&self, run: &Run, runs: &[Run]) -> Option<f64> {
        let number = self.statistic(run, runs)?;
        let of_base = |labels: &Labels| self.statistic(base(labels, run, runs)?, runs);
        let beyond = if self.beyond.is_empty() { 0.0 } else { of_base(&self.beyond)? };
        let unit = if self.relative.is_empty() { 1.0 } else { of_base(&self.relative)? };
        let others = Self { wanted: self.relative_where, ..self.clone() };
        let of_others = if self.relative_where.is_some() { others.statistic(run, runs)? } else { 1.0 };
        Some((number - beyond) / unit / of_others)
    }

    /// A caution if the statistic is the p99.9 and the smallest sample of a run at these points has fewer than
    /// [`ENOUGH_FOR_P999`] values.
    pub(super) fn remark(&self, runs: &[Run], points: &[Labels]) -> Option<String> {
        if self.stat != Stat::Percentile(99.9) {
            return None;
        }
        let least = self.fewest_samples(runs, points)?;
        (least < ENOUGH_FOR_P999).then(|| format!("the p99.9 of only {least} samples is the largest sample"))
    }

    /// The number of values in the smallest sample of a run at these points; `None` if there is no such run, or if each
    /// run gives only one number.
    pub(super) fn fewest_samples(&self, runs: &[Run], points: &[Labels]) -> Option<usize> {
        let gives_one = matches!(self.of, Of::Value | Of::Makespan | Of::Lateness);
        let at = |labels: &Labels| replicas(runs, labels).map(|run| self.compared(run, runs).len()).min();
        points.iter().filter_map(at).min().filter(|_| !gives_one)
    }

    fn statistic(&self, run: &Run, runs: &[Run]) -> Option<f64> {
        if !self.distance_to.is_empty() {
            let base = base(&self.distance_to, run, runs)?;
            return stats::distance(&self.sample(run, runs), &self.sample(base, runs));
        }
        self.stat.of(&self.sample(run, runs))
    }
}

/// The run with which `run` is compared: the run with these labels, and with the labels of `run` for all other sweeps.
/// `None` if there is no such run, or if it is a live run that was not faithful.
fn base<'a>(labels: &[(String, String)], run: &Run, runs: &'a [Run]) -> Option<&'a Run> {
    let replaced = |sweep: &String| labels.iter().any(|(other, _)| other == sweep);
    let kept: Labels = run.labels.iter().filter(|(sweep, _)| !replaced(sweep)).cloned().collect();
    runs.iter().find(|other| other.is_at(labels) && other.is_at(&kept) && !other.is_unfaithful())
}

#[cfg(test)]
pub(super) mod tests;
