//! The activity of each rank of a program over time: how long the rank computes, how long it has messages under way to
//! other ranks, and how long messages of other ranks are under way to it.

use crate::observe::intervals::{Intervals, Merge};
use crate::observe::series::intervals;
use raddle_core::{Duration, NodeId, Time};
use raddle_records::RankSeriesRecord;
use raddle_topology::Topology;
use raddle_workload::goal::Job;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time for which a rank computed in an interval, and the times for which it had messages under way in each
/// direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Busy {
    computing: Duration,
    sending: Duration,
    receiving: Duration,
}

impl Merge for Busy {
    fn merge(self, other: Self) -> Self {
        Self {
            computing: self.computing + other.computing,
            sending: self.sending + other.sending,
            receiving: self.receiving + other.receiving,
        }
    }
}

/// The messages of one rank that are under way in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct UnderWay {
    messages: u32,
    /// Time since which there has been at least one of these messages.
    since: Time,
}

/// The times for which each rank was busy in each interval.
struct Times {
    busy: Intervals<Busy>,
    /// Indexed by rank: the beginning and the end of the latest span in which the rank computes. The end can be in the
    /// future. The span is not in `busy` yet, because a run can stop before the span ends.
    computing: Vec<(Time, Time)>,
}

impl Times {
    /// Adds a span in which a rank computes. A rank reports its spans in order of time, and only the end of the latest
    /// span can be in the future.
    fn compute(&mut self, rank: usize, from: Time, to: Time) {
        let last = &mut self.computing[rank];
        if last.1 == from {
            last.1 = to;
        } else {
            let (from, to) = std::mem::replace(last, (from, to));
            self.spread(rank, from, to);
        }
    }

    /// Adds to `busy` a span in which a rank has computed.
    fn spread(&mut self, rank: usize, from: Time, to: Time) {
        self.busy.spread(from, to, rank, |busy, part| busy.computing = busy.computing + part);
    }
}

/// Records the activity of a job's ranks over time.
pub(crate) struct RankSeries {
    /// Shared with the ranks, which report when they compute.
    times: Arc<Mutex<Times>>,
    /// Indexed by node: the node's rank, if it has one.
    ranks: Vec<Option<u32>>,
    /// Indexed by rank: the messages under way from the rank.
    sending: Vec<UnderWay>,
    /// Indexed by rank: the messages under way to the rank.
    receiving: Vec<UnderWay>,
}

impl RankSeries {
    /// Memory that one rank takes in one interval, in bytes.
    pub(crate) const BYTES_A_CELL: usize = size_of::<Busy>();

    /// Begins to observe a job. Time before `begin` is not recorded.
    pub(crate) fn of(job: &Job, topology: &Topology, begin: Time) -> Self {
        let mut ranks = vec![None; topology.node_count()];
        for (rank, node) in (0..).zip(job.nodes()) {
            ranks[node.index()] = Some(rank);
        }
        let count = job.nodes().len();
        let times = Times { busy: intervals(count, begin), computing: vec![(begin, begin); count] };
        let times = Arc::new(Mutex::new(times));
        let shared = Arc::clone(&times);
        job.observe_computing(Box::new(move |rank, from, to| {
            lock(&shared).compute(rank as usize, from, to);
        }));
        Self {
            times,
            ranks,
            sending: vec![UnderWay::default(); count],
            receiving: vec![UnderWay::default(); count],
        }
    }

    /// Called at `now`, when a message begins.
    pub(crate) fn opened(&mut self, now: Time, src: NodeId, dst: NodeId) {
        let Some((src, dst)) = self.ends(src, dst) else { return };
        self.sending[src].begin(now);
        self.receiving[dst].begin(now);
    }

    /// Called at `now`, when a message has been delivered.
    pub(crate) fn delivered(&mut self, now: Time, src: NodeId, dst: NodeId) {
        let Some((src, dst)) = self.ends(src, dst) else { return };
        let busy = &mut lock(&self.times).busy;
        if let Some(since) = self.sending[src].end() {
            busy.spread(since, now, src, |busy, part| busy.sending = busy.sending + part);
        }
        if let Some(since) = self.receiving[dst].end() {
            busy.spread(since, now, dst, |busy, part| busy.receiving = busy.receiving + part);
        }
    }

    fn ends(&self, src: NodeId, dst: NodeId) -> Option<(usize, usize)> {
        Some((self.ranks[src.index()]? as usize, self.ranks[dst.index()]? as usize))
    }

    /// The rows of a run that ended at `end`, in order of time.
    pub(crate) fn records(self, end: Time) -> Vec<RankSeriesRecord> {
        let times = &mut *lock(&self.times);
        for (rank, (from, to)) in std::mem::take(&mut times.computing).into_iter().enumerate() {
            times.spread(rank, from, to.min(end));
        }
        let busy = &mut times.busy;
        for (rank, under_way) in
            self.sending.iter().enumerate().filter(|(_, under_way)| under_way.messages > 0)
        {
            busy.spread(under_way.since, end, rank, |busy, part| busy.sending = busy.sending + part);
        }
        for (rank, under_way) in
            self.receiving.iter().enumerate().filter(|(_, under_way)| under_way.messages > 0)
        {
            busy.spread(under_way.since, end, rank, |busy, part| busy.receiving = busy.receiving + part);
        }
        let mut rows = Vec::new();
        for i in 0..busy.count() {
            let (from, to) = (busy.start(i), end.min(busy.start(i + 1)));
            for rank in (0..self.sending.len()).take_while(|_| from < end) {
                let Busy { computing, sending, receiving } = busy.value(i, rank);
                if computing.max(sending).max(receiving) > Duration::ZERO {
                    rows.push(RankSeriesRecord {
                        from_ps: from.as_ps(),
                        to_ps: to.as_ps(),
                        rank: u32::try_from(rank).expect("a rank number must fit in 32 bits"),
                        computing_ps: computing.as_ps(),
                        sending_ps: sending.as_ps(),
                        receiving_ps: receiving.as_ps(),
                    });
                }
            }
        }
        rows
    }
}

impl UnderWay {
    fn begin(&mut self, now: Time) {
        if self.messages == 0 {
            self.since = now;
        }
        self.messages += 1;
    }

    /// Ends one message. If this was the last message under way, returns the start of the period in which messages were
    /// under way without a break.
    fn end(&mut self) -> Option<Time> {
        self.messages = self.messages.saturating_sub(1);
        (self.messages == 0).then_some(self.since)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Rate;
    use raddle_topology::builders::single_switch;
    use raddle_workload::goal::Settings;

    #[test]
    fn overlapping_messages_count_once_and_an_open_one_until_the_end() {
        let topology = single_switch(3, Rate::from_gbps(10), Duration::from_us(1)).expect("a topology");
        let [a, b, other] = [NodeId(0), NodeId(1), NodeId(2)];
        let job = Job::new(vec![b, a], Settings::default());
        let mut series = RankSeries::of(&job, &topology, Time::ZERO);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        series.opened(at(500), a, b);
        series.opened(at(1_000), a, b);
        series.opened(at(0), a, other);
        series.delivered(at(1_500), a, b);
        series.delivered(at(2_500), a, b);
        series.opened(at(3_000), b, a);
        let rows = series.records(at(3_200));
        // Host b has rank 0, host a has rank 1. An interval is 2 us long.
        let times: Vec<_> = rows
            .iter()
            .map(|row| (row.from_ps / 1_000, row.rank, row.sending_ps / 1_000, row.receiving_ps / 1_000))
            .collect();
        assert_eq!(times, [(0, 0, 0, 1_500), (0, 1, 1_500, 0), (2_000, 0, 200, 500), (2_000, 1, 500, 200)]);
        assert_eq!(rows[2].to_ps, 3_200_000);
    }

    #[test]
    fn a_run_that_stops_counts_no_computing_after_its_end() {
        let topology = single_switch(2, Rate::from_gbps(10), Duration::from_us(1)).expect("a topology");
        let job = Job::new(vec![NodeId(0), NodeId(1)], Settings::default());
        let series = RankSeries::of(&job, &topology, Time::ZERO);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let compute = |rank, from, to| lock(&series.times).compute(rank, at(from), at(to));
        compute(0, 200, 500);
        compute(0, 2_300, 2_800);
        // The rank then computes for longer than the run lasts.
        compute(0, 2_800, 1_000_000);
        compute(1, 0, 2_100);
        let rows = series.records(at(2_900));
        let times: Vec<_> =
            rows.iter().map(|row| (row.from_ps / 1_000, row.rank, row.computing_ps / 1_000)).collect();
        assert_eq!(times, [(0, 0, 300), (0, 1, 2_000), (2_000, 0, 600), (2_000, 1, 100)]);
    }
}
