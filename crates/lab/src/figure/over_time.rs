//! Measures over simulated time, in a window or in each interval: throughput, late packets, port changes and jitter of
//! flows, and the queue lengths of ports.

use super::condition::Where;
use super::measure::{FROM, SHARE_OF, TO};
use crate::experiment::{Problem, Section};
use crate::run::records::{FlowRow, Interval, QueueLength, Records};
use raddle_core::{Bytes, Duration};
use std::collections::{BTreeMap, BTreeSet};

/// A quantity that is recorded for each flow and interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// Application bytes of all packets that arrive, in order or not.
    Throughput,
    /// Bytes delivered in order.
    InOrder,
    /// Share of packets that arrive after a packet that was sent later.
    LateShare,
    /// Number of times that switches change the egress port of a flow.
    PortChanges,
    /// Mean absolute difference between the delays of packets that arrive one after the other, in microseconds.
    Jitter,
}

impl Received {
    /// True if the quantity is a rate: bytes divided by time.
    pub(super) fn is_rate(self) -> bool {
        matches!(self, Self::Throughput | Self::InOrder)
    }
}

/// A window of simulated time, in picoseconds. It contains the intervals that lie entirely within it, and the samples
/// from its start to just before its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    from_ps: u64,
    to_ps: u64,
    /// The rate, in Gbps, of which measured rates are given as shares. If `None`, measured rates are in Gbps.
    share_of: Option<f64>,
}

impl Default for Window {
    /// The whole run, with rates in Gbps.
    fn default() -> Self {
        Self { from_ps: 0, to_ps: u64::MAX, share_of: None }
    }
}

impl Window {
    /// Reads the keys `from`, `to` and `share_of` of a section. `rate` is true if the quantity is a rate, and `timed`
    /// is true if the quantity is measured over time.
    pub(super) fn read(section: &mut Section<'_>, rate: bool, timed: bool) -> Result<Self, Problem> {
        let (from, to) = (section.get(&FROM)?, section.get(&TO)?);
        let share_of = section.get(&SHARE_OF)?;
        for (key, there) in [(&FROM, from.is_some()), (&TO, to.is_some())] {
            let what = "`from` and `to` need a quantity over simulated time, such as of = \"throughput\"";
            section.ensure(timed || !there, key, what, "leave `from` and `to` out")?;
        }
        let hint = "leave `share_of` out, or choose of = \"throughput\" or of = \"in_order\"";
        section.ensure(
            rate || share_of.is_none(),
            &SHARE_OF,
            "`share_of` needs the quantity \"throughput\" or \"in_order\"",
            hint,
        )?;
        let from_ps = from.map_or(0, Duration::as_ps);
        let to_ps = to.map_or(u64::MAX, Duration::as_ps);
        section.ensure(from_ps < to_ps, &TO, "`to` must be later than `from`", "give a later `to`")?;
        Ok(Self { from_ps, to_ps, share_of: share_of.map(|rate| rate.as_bps_f64() / 1e9) })
    }

    /// True if the window has an end. A rate needs an end, because it is an amount divided by the length of the window.
    pub(super) fn is_closed(&self) -> bool {
        self.to_ps < u64::MAX
    }

    /// True if rates are shares of a stated rate.
    pub(super) fn is_of_shares(&self) -> bool {
        self.share_of.is_some()
    }

    fn holds(&self, interval: &Interval) -> bool {
        self.from_ps <= interval.from_ps && interval.to_ps <= self.to_ps
    }

    /// The rate at which `bytes` bytes are received within `ps` picoseconds, in Gbit/s or as a share of `share_of`.
    fn rate(&self, bytes: u64, ps: u64) -> f64 {
        bytes as f64 * 8e3 / ps.max(1) as f64 / self.share_of.unwrap_or(1.0)
    }

    /// The id and the measured value of each flow. A flow has a late share only if packets of the flow arrived in the
    /// window and their late packets are recorded. The same holds for jitter and recorded delays. Flows without a value
    /// are left out.
    pub(super) fn of_flows<'a>(
        &self,
        received: Received,
        records: &Records,
        flows: impl Iterator<Item = &'a FlowRow>,
    ) -> Vec<(u64, f64)> {
        let mut sums: BTreeMap<u64, (u64, u64)> = flows.map(|flow| (flow.id, (0, 0))).collect();
        for interval in records.intervals.iter().filter(|interval| self.holds(interval)) {
            let Some((sum, of)) = sums.get_mut(&interval.flow) else { continue };
            let (what, packets) = match received {
                Received::LateShare => {
                    (interval.late.unwrap_or(0), interval.late.map_or(0, |_| interval.packets))
                }
                Received::Jitter => (
                    interval.delay_changes_ps.unwrap_or(0),
                    interval.delay_changes_ps.map_or(0, |_| interval.packets),
                ),
                other => (amount(other, interval), 0),
            };
            *sum += what;
            *of += packets;
        }
        let length = self.to_ps - self.from_ps;
        let value = |(flow, (sum, of)): (u64, (u64, u64))| match received {
            Received::LateShare => (of > 0).then(|| (flow, sum as f64 / of as f64)),
            Received::Jitter => (of > 0).then(|| (flow, sum as f64 / of as f64 / 1e6)),
            Received::PortChanges => Some((flow, sum as f64)),
            Received::Throughput | Received::InOrder => Some((flow, self.rate(sum, length))),
        };
        sums.into_iter().filter_map(value).collect()
    }

    /// For each interval within the window that has a record of any flow: its start in picoseconds, and the quantity
    /// `received` of all `flows` together. A rate is in the unit of [`Self::rate`], and any other quantity in the unit
    /// of [`amount`].
    pub(super) fn series<'a>(
        &self,
        received: Received,
        records: &Records,
        flows: impl Iterator<Item = &'a FlowRow>,
    ) -> Vec<(u64, f64)> {
        let flows: BTreeSet<u64> = flows.map(|flow| flow.id).collect();
        // An interval in which only other flows received data has the value 0.
        let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for interval in records.intervals.iter().filter(|interval| self.holds(interval)) {
            let (sum, to) = sums.entry(interval.from_ps).or_insert((0, interval.to_ps));
            *to = interval.to_ps;
            *sum += if flows.contains(&interval.flow) { amount(received, interval) } else { 0 };
        }
        let value = |(from, (sum, to)): (u64, (u64, u64))| {
            (from, if received.is_rate() { self.rate(sum, to - from) } else { sum as f64 })
        };
        sums.into_iter().map(value).collect()
    }

    /// Queue lengths of links in the window, one entry for each sample and link: the time of the sample in picoseconds,
    /// and the length in bytes.
    pub(super) fn queue_lengths(&self, records: &Records, wanted: Option<Where>) -> Vec<(u64, f64)> {
        self.looks(records, wanted).map(|look| (look.at_ps, look.bytes as f64)).collect()
    }

    /// The samples of wanted links in the window.
    fn looks<'a>(
        &self,
        records: &'a Records,
        wanted: Option<Where>,
    ) -> impl Iterator<Item = &'a QueueLength> {
        let within = self.from_ps..self.to_ps;
        let looks = records.queue_lengths.iter().filter(move |look| within.contains(&look.at_ps));
        looks.filter(move |look| wanted.is_none_or(|wanted| wanted.takes_link(look.ends)))
    }

    /// The lengths of all congestion periods of links in the window, in microseconds. A period lasts from the first of
    /// successive samples with more than `above` in the queue to the first sample after them. A period that has not
    /// ended at the last sample is left out.
    pub(super) fn congestion_periods(
        &self,
        records: &Records,
        wanted: Option<Where>,
        above: Bytes,
    ) -> Vec<f64> {
        let (mut begun, mut periods) = (BTreeMap::new(), Vec::new());
        for look in self.looks(records, wanted) {
            if look.bytes > above.0 {
                begun.entry(look.ends).or_insert(look.at_ps);
            } else if let Some(since) = begun.remove(&look.ends) {
                periods.push((look.at_ps - since) as f64 / 1e6);
            }
        }
        periods
    }

    /// For each sampled time in the window: the time in picoseconds, and the number of links at whose ports data waits.
    pub(super) fn ports_in_use(&self, records: &Records, wanted: Option<Where>) -> Vec<(u64, f64)> {
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        for (at, bytes) in self.queue_lengths(records, wanted) {
            *counts.entry(at).or_default() += if bytes > 0.0 { 1.0 } else { 0.0 };
        }
        counts.into_iter().collect()
    }
}

/// The amount of `received` of a flow in an interval: bytes, late packets, port changes, or picoseconds of delay
/// changes.
fn amount(received: Received, interval: &Interval) -> u64 {
    match received {
        Received::Throughput => interval.bytes,
        Received::InOrder => interval.in_order_bytes.unwrap_or(0),
        Received::LateShare => interval.late.unwrap_or(0),
        Received::PortChanges => interval.port_changes,
        Received::Jitter => interval.delay_changes_ps.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::condition::tests::one_link;

    /// Records of two flows in intervals of 1 us. One flow receives 1,250 bytes (10 Gbps) in the first and in the third
    /// interval. The other flow receives 600 bytes in the second interval. Half of the bytes are delivered in order.
    fn records() -> Records {
        let interval = |flow, us: u64, bytes| Interval {
            flow,
            from_ps: us * 1_000_000,
            to_ps: (us + 1) * 1_000_000,
            packets: 2,
            bytes,
            in_order_bytes: Some(bytes / 2),
            late: (us < 2).then_some(1),
            port_changes: 3,
            delay_changes_ps: (us < 2).then_some(5_000_000),
        };
        let intervals = vec![interval(0, 0, 1_250), interval(1, 1, 600), interval(0, 2, 1_250)];
        let look = |at_ps, ends, bytes| QueueLength { at_ps, ends, bytes };
        let queue_lengths =
            vec![look(1_000_000, (1, 2), 7), look(1_000_000, (2, 1), 8), look(2_000_000, (1, 2), 9)];
        Records { intervals, queue_lengths, ..Records::default() }
    }

    fn flow(id: u64) -> FlowRow {
        FlowRow { id, dst: 1, size: 1, ..FlowRow::default() }
    }

    fn window(from_us: u64, to_us: u64) -> Window {
        Window { from_ps: from_us * 1_000_000, to_ps: to_us * 1_000_000, share_of: None }
    }

    #[test]
    fn rates_are_over_the_whole_window_and_flows_without_arrivals_have_none() {
        let (records, flows) = (records(), [0, 1, 2].map(flow));
        let rates = |window: Window, received| window.of_flows(received, &records, flows.iter());
        assert_eq!(rates(window(0, 4), Received::Throughput), [(0, 5.0), (1, 1.2), (2, 0.0)]);
        assert_eq!(rates(window(1, 3), Received::InOrder), [(0, 2.5), (1, 1.2), (2, 0.0)]);
        let shares = Window { share_of: Some(10.0), ..window(2, 3) };
        assert_eq!(rates(shares, Received::Throughput), [(0, 1.0), (1, 0.0), (2, 0.0)]);
    }

    #[test]
    fn late_packets_are_a_share_of_those_of_which_it_is_known() {
        let (records, flows) = (records(), [0, 1, 2].map(flow));
        let all = Window::default();
        assert_eq!(all.of_flows(Received::LateShare, &records, flows.iter()), [(0, 0.5), (1, 0.5)]);
        assert_eq!(
            all.of_flows(Received::PortChanges, &records, flows.iter()),
            [(0, 6.0), (1, 3.0), (2, 0.0)]
        );
        // The delays of two packets of each flow are recorded. Their differences from the delays of the preceding
        // packets add up to 5 us, so the mean is 2.5 us.
        assert_eq!(all.of_flows(Received::Jitter, &records, flows.iter()), [(0, 2.5), (1, 2.5)]);
    }

    #[test]
    fn an_interval_in_which_only_others_received_is_one_of_nothing() {
        let (records, flows) = (records(), [flow(0)]);
        let series = Window::default().series(Received::Throughput, &records, flows.iter());
        assert_eq!(series, [(0, 10.0), (1_000_000, 0.0), (2_000_000, 10.0)]);
    }

    #[test]
    fn queues_are_of_chosen_links_and_times() {
        let records = records();
        let lengths = |window: Window, wanted| window.queue_lengths(&records, wanted);
        let there = Some(one_link(1, 2));
        assert_eq!(lengths(Window::default(), there), [(1_000_000, 7.0), (2_000_000, 9.0)]);
        assert_eq!(lengths(window(0, 2), None), [(1_000_000, 7.0), (1_000_000, 8.0)]);
        let in_use = |wanted| Window::default().ports_in_use(&records, wanted);
        assert_eq!(in_use(None), [(1_000_000, 2.0), (2_000_000, 1.0)]);
        assert_eq!(in_use(Some(one_link(2, 1))), [(1_000_000, 1.0)]);
    }

    #[test]
    fn a_congestion_period_ends_at_the_first_sample_that_is_not_above() {
        let look = |us: u64, ends, bytes| QueueLength { at_ps: us * 1_000_000, ends, bytes };
        let samples = [(1, 5, 0), (2, 9, 6), (3, 8, 7), (4, 5, 5), (5, 6, 9), (6, 2, 9)];
        let of = |&(us, one, other): &(u64, u64, u64)| [look(us, (1, 2), one), look(us, (2, 1), other)];
        let records = Records { queue_lengths: samples.iter().flat_map(of).collect(), ..Records::default() };
        let periods =
            |window: Window, wanted, above| window.congestion_periods(&records, wanted, Bytes(above));
        let one = Some(one_link(1, 2));
        assert_eq!(periods(Window::default(), one, 5), [2.0, 1.0]);
        // The last period of the other port, from 5 us on, has no end.
        assert_eq!(periods(Window::default(), None, 5), [2.0, 2.0, 1.0]);
        assert_eq!(periods(window(3, 6), one, 5), [1.0]);
        assert!(periods(Window::default(), None, 9).is_empty());
    }
}
