//! The time series of a run for its report: the bytes and the queue of each link in intervals, and the links that the
//! slowest flows crossed.
//!
//! Memory does not grow with the length of the run: [`Intervals`] merge, and only the paths of live flows and of the
//! slowest ended flows are kept. [`Memory`] estimates the memory.

use crate::observe::intervals::{Intervals, Merge};
use crate::observe::rank_series::RankSeries;
use crate::observe::rate_series::RateSeries;
use raddle_core::{Bytes, Duration, LinkId, NodeId, Observer, Packet, Rate, Time};
use raddle_flow_sim::Sent;
use raddle_packet_sim::Simulation;
use raddle_records::{FlowRecord, PathRecord, Recorder, SeriesRecord};
use raddle_topology::Topology;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of flows whose paths are recorded. Unfinished flows are chosen first, then flows with the greatest
/// slowdown.
pub(crate) const SLOW_FLOWS: usize = 500;

/// Length of the intervals at the beginning of a run.
const FIRST_LENGTH: Duration = Duration::from_us(2);

/// Number of samples of a queue in an interval.
const SAMPLES: u64 = 8;

/// Maximum number of intervals. In a large fabric the maximum is lower, but at least `LEAST`.
pub(crate) const MOST: usize = 256;
const LEAST: usize = 64;

/// Number of values for which there is room: the number of columns (such as links) times the number of intervals. If
/// `MOST` intervals would have more values, there are fewer intervals, but at least `LEAST`.
const CELLS: usize = 1 << 21;

/// Memory of the path of a live flow, in bytes: a node of a B-tree and an entry of a hash table.
pub(crate) const A_PATH: u64 = 190;

/// Estimated number of rows of the series per packet of a flow. The packet and its acknowledgement cross some links,
/// mostly in intervals in which other packets cross these links too.
const ROWS_A_PACKET: u64 = 6;

/// Memory of the series of a run, in bytes.
pub(crate) struct Memory {
    /// Memory of the intervals during the run.
    pub(crate) intervals: u64,
    /// Memory of the rows, which are made after the run, when the engine's memory has been freed.
    pub(crate) rows: u64,
}

impl Memory {
    /// Estimates the memory for a run with `ranks` ranks, whose flows have `packets` packets in total.
    pub(crate) fn of(topology: &Topology, ranks: usize, packets: u64) -> Self {
        let cells = |columns: usize| (columns * most(columns)) as u64;
        let links = cells(topology.link_slots());
        let of_link = size_of::<Traffic>() + size_of::<Longest>();
        let intervals = links * of_link as u64
            + cells(RateSeries::columns(topology)) * RateSeries::BYTES_A_CELL as u64
            + cells(ranks) * RankSeries::BYTES_A_CELL as u64;
        // A long run has between half the largest number of intervals and all of them: three quarters on average.
        let rows = (links / 4 * 3).min(packets.saturating_mul(ROWS_A_PACKET));
        Self { intervals, rows: rows * size_of::<SeriesRecord>() as u64 }
    }
}

/// The traffic of a link in an interval: all bytes, and application bytes that this link brings to their destination.
/// The numbers are floats because fluid flows have fractions of bytes. Whole numbers are exact up to 2^53.
#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    bytes: f64,
    delivered: f64,
}

/// Rounds a number of bytes or packets to a whole number.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float to integer saturates"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.round() as u64
}

impl Merge for Traffic {
    fn merge(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, delivered: self.delivered + other.delivered }
    }
}

/// The longest sampled queue of a link in an interval, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Longest(u64);

impl Merge for Longest {
    fn merge(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

/// Intervals from `begin` on, with `columns` values each.
pub(crate) fn intervals<T: Merge>(columns: usize, begin: Time) -> Intervals<T> {
    Intervals::new(begin, FIRST_LENGTH, most(columns), columns)
}

/// Maximum number of intervals if each has `columns` values.
fn most(columns: usize) -> usize {
    (CELLS / columns.max(1)).clamp(LEAST, MOST) & !1
}

/// Counts the bytes on each link in intervals, and the packets of each flow on each link.
pub(crate) struct Series {
    traffic: Intervals<Traffic>,
    begin: Time,
    /// Indexed by link: the node at the link's receiving end, and the link's rate.
    ends: Vec<Option<(NodeId, Rate)>>,
    /// For each live flow, the number of its packets on each link. The number can be a fraction if the flow is a fluid.
    live: FxHashMap<u32, BTreeMap<LinkId, f64>>,
    /// For each of the slowest flows whose final record has come, finished or not: the number of the flow's packets on
    /// each link. The key is the flow's slowdown and its number. An unfinished flow has an infinite slowdown. The key
    /// holds the bits of the slowdown, because the bits of positive doubles have the same order as the doubles. Among
    /// flows with equal slowdown, the lower numbers stay, as in the table of the report.
    slowest: BTreeMap<(u64, Reverse<u32>), BTreeMap<LinkId, f64>>,
}

impl Series {
    /// The series of a run whose first flow starts at `begin`.
    pub(crate) fn of(topology: &Topology, begin: Time) -> Self {
        let slots = (0..topology.link_slots()).map(LinkId::of);
        Self {
            traffic: intervals(topology.link_slots(), begin),
            begin,
            ends: slots.map(|id| topology.link(id).map(|link| (link.to, link.rate))).collect(),
            live: FxHashMap::default(),
            slowest: BTreeMap::new(),
        }
    }

    /// Counts a packet whose last bit leaves by `link` at `sent`. `recorder` gives the packet's flow. Returns the flow
    /// if the packet carries application bytes and the link leads to the packet's destination.
    pub(crate) fn count<'r>(
        &mut self,
        sent: Time,
        link: LinkId,
        packet: &Packet,
        recorder: &'r Recorder,
    ) -> Option<&'r FlowRecord> {
        let (end, rate) = self.ends[link.index()]?;
        let range = packet.range();
        let is_last = range.is_some() && end == packet.dst();
        let delivered = if is_last { packet.payload() } else { 0 };
        let serialization = rate.time_for(Bytes(packet.size.into()));
        self.traffic_of_packet(sent, serialization, link, packet.size.into(), delivered.into());
        let range = range?;
        let flow = recorder.record_of(range.key)?;
        *self.live.entry(flow.id).or_default().entry(link).or_default() += 1.0;
        is_last.then_some(flow)
    }

    /// Counts the bytes and packets of a fluid flow that were sent during a span of constant rate. They count on all
    /// links of the flow at the same time.
    pub(crate) fn sent(&mut self, sent: &Sent<'_>) {
        let total = sent.to.since(sent.from).as_ps().max(1) as f64;
        let path = self.live.entry(sent.flow.id.0).or_default();
        for &(link, share) in sent.row {
            let Some((end, _)) = self.ends[link.index()] else { continue };
            let share = f64::from(share);
            *path.entry(link).or_default() += sent.load.packets * share;
            let delivered = if end == sent.flow.dst { sent.payload * share } else { 0.0 };
            let all = Traffic { bytes: sent.load.bytes * share, delivered };
            self.traffic.spread(sent.from, sent.to, link.index(), |traffic, part| {
                let part = part.as_ps() as f64 / total;
                let part = Traffic { bytes: all.bytes * part, delivered: all.delivered * part };
                *traffic = traffic.merge(part);
            });
        }
    }

    /// Divides a packet among the intervals in which the link sends its bits, so that no interval has more bits than
    /// the link can send. If a packet began before the first interval, all its bits count as sent after the start of
    /// that interval.
    fn traffic_of_packet(
        &mut self,
        sent: Time,
        serialization: Duration,
        link: LinkId,
        bytes: u64,
        delivered: u64,
    ) {
        let total = serialization.as_ps().min(sent.as_ps());
        let begin = Time::from_ps(sent.as_ps() - total).max(self.begin);
        let total = sent.max(begin).since(begin).as_ps();
        if total == 0 {
            let traffic = &mut self.traffic.at(sent)[link.index()];
            *traffic = traffic.merge(Traffic { bytes: bytes as f64, delivered: delivered as f64 });
            return;
        }
        #[allow(clippy::cast_possible_truncation, reason = "the result is at most `of`")]
        let share = |of: u64, passed: u64| (u128::from(of) * u128::from(passed) / u128::from(total)) as u64;
        let mut passed = 0;
        self.traffic.spread(begin, sent, link.index(), |traffic, part| {
            let until = passed + part.as_ps();
            traffic.bytes += (share(bytes, until) - share(bytes, passed)) as f64;
            traffic.delivered += (share(delivered, until) - share(delivered, passed)) as f64;
            passed = until;
        });
    }

    /// Called with the final record of a flow, finished or not.
    pub(crate) fn ended(&mut self, flow: &FlowRecord) {
        let Some(path) = self.live.remove(&flow.id) else { return };
        let slowdown = flow.slowdown().unwrap_or(f64::INFINITY);
        self.slowest.insert((slowdown.to_bits(), Reverse(flow.id)), path);
        if self.slowest.len() > SLOW_FLOWS {
            self.slowest.pop_first();
        }
    }

    /// The rows of a run that ended at `end`: intervals in order of time, and paths in order of flow numbers. `queues`
    /// is `None` for an engine without queues.
    pub(crate) fn records(
        mut self,
        queues: Option<QueueSeries>,
        end: Time,
    ) -> (Vec<SeriesRecord>, Vec<PathRecord>) {
        let mut queues =
            queues.map_or_else(|| intervals(self.ends.len(), self.begin), |queues| queues.longest);
        let length = queues.length().max(self.traffic.length());
        queues.coarsen(length);
        self.traffic.coarsen(length);
        let count = self.traffic.count().max(queues.count());
        let is_row = |i, link| whole(self.traffic.value(i, link).bytes) > 0 || queues.value(i, link).0 > 0;
        let filled = |i| (0..self.ends.len()).filter(|&link| is_row(i, link)).count();
        // There are many rows, and a growing vector would take up to twice the memory of the rows.
        let mut rows = Vec::with_capacity((0..count).map(filled).sum());
        for i in 0..count {
            let (from, to) = (self.traffic.start(i), end.min(self.traffic.start(i + 1)));
            for link in (0..self.ends.len()).take_while(|_| from < end) {
                let Traffic { bytes, delivered } = self.traffic.value(i, link);
                let Longest(queue_bytes) = queues.value(i, link);
                if is_row(i, link) {
                    rows.push(SeriesRecord {
                        from_ps: from.as_ps(),
                        to_ps: to.as_ps(),
                        link: LinkId::of(link).0,
                        bytes: whole(bytes),
                        delivered_bytes: whole(delivered),
                        queue_bytes,
                    });
                }
            }
        }
        let of_flow = |(&(_, Reverse(flow)), path): (&(u64, Reverse<u32>), &BTreeMap<LinkId, f64>)| {
            let row = |(link, &packets): (&LinkId, &f64)| PathRecord {
                flow,
                link: link.0,
                packets: whole(packets),
            };
            path.iter().map(row).filter(|path| path.packets > 0).collect::<Vec<_>>()
        };
        let mut paths: Vec<PathRecord> = self.slowest.iter().flat_map(of_flow).collect();
        paths.sort_by_key(|path| (path.flow, path.link));
        (rows, paths)
    }
}

/// Samples the queues of all links, several times in an interval.
pub(crate) struct QueueSeries {
    longest: Intervals<Longest>,
    begin: Time,
    next: Time,
}

impl QueueSeries {
    /// The series of a run whose first flow starts at `begin`.
    pub(crate) fn of(topology: &Topology, begin: Time) -> Self {
        let longest = intervals(topology.link_slots(), begin);
        Self { begin, next: begin + longest.length() / SAMPLES, longest }
    }

    /// The time of the next sample.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Samples the queues of a simulation that has run until the time of the next sample.
    pub(crate) fn look<O: Observer>(&mut self, simulation: &mut Simulation<O>, topology: &Topology) {
        for (id, _) in topology.links() {
            let queued = simulation.queued(id);
            // Empty queues are not recorded. Timers can go on long after the last packet, and samples at such times
            // must not lengthen the intervals.
            if queued > 0 {
                let here = &mut self.longest.at(self.next)[id.index()];
                *here = here.merge(Longest(queued));
            }
        }
        // While the queues are empty, the samples become rarer, so that their number stays small.
        let least = self.next.since(self.begin) / (SAMPLES * MOST as u64);
        self.next += least.max(self.longest.length() / SAMPLES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Flow, FlowId};
    use raddle_topology::builders::single_switch;

    #[test]
    fn a_packet_is_divided_among_the_intervals_in_which_it_is_sent() {
        let topology = single_switch(2, Rate::from_gbps(10), Duration::from_us(1)).expect("a topology");
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let mut series = Series::of(&topology, at(1_000));
        // The first interval begins at 1 us, and each is 2 us long. The second packet began before the first interval.
        series.traffic_of_packet(at(3_900), Duration::from_ns(1_200), LinkId(0), 1_501, 1_461);
        series.traffic_of_packet(at(1_300), Duration::from_ns(1_200), LinkId(1), 1_501, 1_461);
        let bytes = |i, link| whole(series.traffic.value(i, link).bytes);
        let delivered = |i, link| whole(series.traffic.value(i, link).delivered);
        assert_eq!([bytes(0, 0), bytes(1, 0), bytes(0, 1)], [375, 1_126, 1_501]);
        assert_eq!([delivered(0, 0), delivered(1, 0), delivered(0, 1)], [365, 1_096, 1_461]);
    }

    #[test]
    fn of_equally_slow_flows_the_paths_of_the_earlier_ones_are_kept() {
        let topology = single_switch(2, Rate::from_gbps(10), Duration::from_us(1)).expect("a topology");
        let mut series = Series::of(&topology, Time::ZERO);
        let count = u32::try_from(SLOW_FLOWS).expect("a small number");
        for id in 0..2 * count {
            series.live.insert(id, BTreeMap::from([(LinkId(0), 1.0)]));
            let flow = Flow::new(FlowId(id), NodeId(0), NodeId(1), Bytes(1), Time::ZERO);
            series.ended(&FlowRecord::unfinished(&flow, 1, 2));
        }
        let (_, paths) = series.records(None, Time::ZERO);
        let flows: Vec<u32> = paths.iter().map(|path| path.flow).collect();
        assert_eq!(flows, (0..count).collect::<Vec<_>>());
    }
}
