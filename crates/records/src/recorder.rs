//! Joins the reports of hosts into flow records.

use crate::FlowRecord;
use raddle_core::{Duration, Flow, FlowId, FlowKey, Flows, NodeId, Queued, Rate, Report, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Ideal results of a flow on the topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ideal {
    /// FCT of the flow if it is alone on its best path.
    pub fct: Duration,
    /// Number of links on the flow's shortest path.
    pub hops: u32,
    /// The rate at which the sender sends until a report sets its rate.
    pub line_rate: Rate,
}

/// Converts the reports of hosts into one record per flow. A record is returned when its flow has been both delivered
/// and closed. The records of other flows that have started are returned at the end of the run, or when a new flow
/// takes their key. A flow whose record has been returned takes no memory.
pub struct Recorder {
    /// Number of flows in the workload.
    flows: usize,
    /// Flows of the workload whose ids are above the ids of all opened flows.
    ahead: Queued,
    /// Flows of the workload that no host has opened, although a flow with a higher id was opened.
    unopened: BTreeMap<FlowId, Flow>,
    ideal: Box<dyn Fn(&Flow) -> Ideal + Send>,
    /// The live flows, indexed by their key on the wire.
    live: FxHashMap<FlowKey, Live>,
    /// Number of flows that programs on hosts have started.
    begun: u32,
    finished: u64,
    unmatched: u64,
}

/// A flow that a host has opened or a program has begun.
struct Live {
    record: FlowRecord,
    start: Time,
    rate: Rate,
    /// Time up to which `area` includes the rate.
    paced_at: Time,
    paced: bool,
    /// Integral of the rate from the start to `paced_at`, in bit/s times ps.
    area: u128,
}

impl Live {
    fn new(flow: &Flow, ideal: Ideal) -> Self {
        Self {
            record: FlowRecord::unfinished(flow, ideal.fct.as_ps(), ideal.hops),
            start: flow.start,
            rate: ideal.line_rate,
            paced_at: flow.start,
            paced: false,
            area: 0,
        }
    }

    /// Extends the integral of the rate to `now`.
    fn advance(&mut self, now: Time) {
        self.area += u128::from(self.rate.as_bps()) * u128::from(now.since(self.paced_at).as_ps());
        self.paced_at = now;
    }

    /// Sets the record's mean rate from the flow's start to `now`, when the sender is done or the run ends. It is
    /// `None` if no report set the flow's rate.
    fn end_pacing(&mut self, now: Time) {
        self.advance(now);
        let life = now.since(self.start).as_ps();
        self.record.average_rate_bps = self.paced.then(|| match life {
            0 => self.rate.as_bps_f64(),
            life => self.area as f64 / life as f64,
        });
    }

    fn done(&self) -> bool {
        self.record.fct_ps.is_some() && self.record.sender_done_ps.is_some()
    }
}

impl Recorder {
    /// Creates a recorder for a run over `flows`, whose ids count from 0. `ideal` returns the ideal results of a flow.
    #[must_use]
    pub fn new(flows: &Flows, ideal: impl Fn(&Flow) -> Ideal + Send + 'static) -> Self {
        Self {
            flows: flows.len(),
            ahead: flows.queue(),
            unopened: BTreeMap::new(),
            ideal: Box::new(ideal),
            live: FxHashMap::default(),
            begun: 0,
            finished: 0,
            unmatched: 0,
        }
    }

    /// Handles a report of `node` at `now`. Flows that programs start get ids after the ids of the workload, in the
    /// order of their reports. Returns the record of the reported flow if the flow is complete. If a new flow reuses
    /// the key of a live flow, returns the record of the live flow, which is not complete.
    ///
    /// # Panics
    /// If the opened flow is not in the workload or has already been opened.
    pub fn report(&mut self, now: Time, node: NodeId, report: Report) -> Option<FlowRecord> {
        let key = match report {
            Report::Opened { flow, key } => {
                let flow = self.open(flow);
                return self.begin(key, &flow);
            }
            Report::Began { key, dst, size } => {
                let id = FlowId::of(self.flows + self.begun as usize);
                self.begun += 1;
                return self.begin(key, &Flow::new(id, node, dst, size, now));
            }
            Report::Delivered { key, .. } | Report::Closed { key, .. } | Report::Paced { key, .. } => key,
            Report::Acked { .. } | Report::InOrder { .. } | Report::Progress { .. } | Report::Finished => {
                return None;
            }
        };
        let Some(live) = self.live.get_mut(&key) else {
            self.unmatched += 1;
            return None;
        };
        let since_start = now.since(live.start).as_ps();
        match report {
            Report::Delivered { reorder_peak, .. } if node.0 == live.record.dst => {
                live.record.fct_ps = Some(since_start);
                live.record.reorder_peak_packets = reorder_peak;
            }
            Report::Closed { retransmissions, .. } if node.0 == live.record.src => {
                live.end_pacing(now);
                live.record.sender_done_ps = Some(since_start);
                live.record.retransmissions = retransmissions;
            }
            Report::Paced { rate, .. } if node.0 == live.record.src => {
                live.advance(now);
                live.rate = rate;
                live.paced = true;
            }
            // Only a flow's receiver reports its delivery, and only its sender makes the other reports. The reporting
            // node is not this endpoint of the live flow. The report is therefore late: it is about an earlier flow
            // with the same key.
            _ => self.unmatched += 1,
        }
        if !live.done() {
            return None;
        }
        let live = self.live.remove(&key)?;
        Some(self.hand_out(live.record))
    }

    /// Returns a flow of the workload and removes it from the flows that are not opened.
    fn open(&mut self, id: FlowId) -> Flow {
        while let Some(flow) = self.ahead.take_if(|flow| flow.id <= id) {
            self.unopened.insert(flow.id, flow);
        }
        self.unopened.remove(&id).expect("the flow must be in the workload and be opened only once")
    }

    /// Sets the number of retransmitted packets of a flow that `node` has not closed. Called at the end of a run.
    pub fn retransmitted(&mut self, node: NodeId, key: FlowKey, retransmissions: u32) {
        if let Some(Live { record, .. }) = self.live.get_mut(&key)
            && node.0 == record.src
            && record.sender_done_ps.is_none()
        {
            record.retransmissions = retransmissions;
        }
    }

    /// Adds a live flow. If another live flow already has this key, returns the record of that earlier flow.
    fn begin(&mut self, key: FlowKey, flow: &Flow) -> Option<FlowRecord> {
        let replaced = self.live.insert(key, Live::new(flow, (self.ideal)(flow)));
        replaced.map(|live| self.hand_out(live.record))
    }

    fn hand_out(&mut self, record: FlowRecord) -> FlowRecord {
        self.finished += u64::from(record.fct_ps.is_some());
        record
    }

    /// Ends the run at `now`. Returns the records that were not returned before, of all flows that had
    /// started, sorted by id.
    pub fn finish(&mut self, now: Time) -> Vec<FlowRecord> {
        let live = std::mem::take(&mut self.live).into_values().map(|mut live| {
            if live.record.sender_done_ps.is_none() {
                live.end_pacing(now);
            }
            self.hand_out(live.record)
        });
        let mut rest: Vec<_> = live.collect();
        let passed = std::mem::take(&mut self.unopened).into_values();
        let started = std::iter::from_fn(|| self.ahead.take_started(now));
        for flow in passed.chain(started).filter(|flow| flow.start <= now) {
            let ideal = (self.ideal)(&flow);
            rest.push(FlowRecord::unfinished(&flow, ideal.fct.as_ps(), ideal.hops));
        }
        rest.sort_unstable_by_key(|record| record.id);
        rest
    }

    /// Returns the number of live flows.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Returns the current record of the live flow with this key.
    #[must_use]
    pub fn record_of(&self, key: FlowKey) -> Option<&FlowRecord> {
        self.live.get(&key).map(|live| &live.record)
    }

    /// Returns the number of flows that programs on hosts have started.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.begun.into()
    }

    /// Returns the number of delivered flows among the records returned so far.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// Returns the number of reports that matched no live flow. For a correct scheme it is 0, unless links damage
    /// packets.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Bytes;

    const SRC: NodeId = NodeId(3);
    const DST: NodeId = NodeId(4);
    const KEY: FlowKey = FlowKey(77);

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Creates a recorder for flows from `SRC` to `DST`. Flow `i` starts at `10 i` us.
    fn recorder(flows: u32) -> Recorder {
        let flow = |i| Flow::new(FlowId(i), SRC, DST, Bytes(1_000), at(10 * u64::from(i)));
        let ideal = Ideal { fct: Duration::from_us(2), hops: 1, line_rate: Rate::from_gbps(10) };
        Recorder::new(&(0..flows).map(flow).collect(), move |_| ideal)
    }

    fn open(recorder: &mut Recorder, us: u64, flow: u32, key: FlowKey) -> Option<FlowRecord> {
        recorder.report(at(us), SRC, Report::Opened { flow: FlowId(flow), key })
    }

    fn delivered(recorder: &mut Recorder, us: u64, key: FlowKey) -> Option<FlowRecord> {
        recorder.report(at(us), DST, Report::Delivered { key, reorder_peak: 5 })
    }

    fn closed(recorder: &mut Recorder, us: u64, key: FlowKey) -> Option<FlowRecord> {
        recorder.report(at(us), SRC, Report::Closed { key, retransmissions: 2 })
    }

    #[test]
    fn a_flow_is_handed_out_when_both_ends_are_done() {
        let mut recorder = recorder(2);
        assert_eq!(open(&mut recorder, 10, 1, KEY), None);
        assert_eq!(closed(&mut recorder, 13, KEY), None);
        let record = delivered(&mut recorder, 14, KEY).unwrap();
        assert_eq!((record.id, record.src, record.dst, record.size_bytes), (1, 3, 4, 1_000));
        assert_eq!((record.fct_ps, record.sender_done_ps), (Some(4_000_000), Some(3_000_000)));
        assert_eq!((record.reorder_peak_packets, record.retransmissions), (5, 2));
        assert_eq!((record.slowdown(), record.average_rate_bps), (Some(2.0), None));
        assert_eq!((recorder.live(), recorder.finished(), recorder.unmatched()), (0, 1, 0));
    }

    #[test]
    fn the_average_rate_is_weighted_by_time_from_line_rate_on() {
        let mut recorder = recorder(1);
        open(&mut recorder, 0, 0, KEY);
        let pace = |recorder: &mut Recorder, us, gbps| {
            recorder.report(at(us), SRC, Report::Paced { key: KEY, rate: Rate::from_gbps(gbps) })
        };
        pace(&mut recorder, 5, 2);
        pace(&mut recorder, 7, 0);
        delivered(&mut recorder, 9, KEY);
        let record = closed(&mut recorder, 10, KEY).unwrap();
        // The rate is 10 Gbps for 5 us, 2 Gbps for 2 us, and 0 for 3 us.
        assert_eq!(record.average_rate_bps, Some(5.4e9));
    }

    #[test]
    fn a_key_serves_one_flow_after_another() {
        let mut recorder = recorder(2);
        for flow in 0..2 {
            let us = 10 * u64::from(flow);
            open(&mut recorder, us, flow, KEY);
            delivered(&mut recorder, us + 1, KEY);
            assert_eq!(closed(&mut recorder, us + 2, KEY).unwrap().id, flow);
        }
        assert!(recorder.finish(at(100)).is_empty());
    }

    #[test]
    fn the_latest_flow_of_a_key_displaces_the_one_before() {
        let mut recorder = recorder(2);
        open(&mut recorder, 0, 0, KEY);
        let displaced = open(&mut recorder, 10, 1, KEY).unwrap();
        assert_eq!((displaced.id, displaced.fct_ps), (0, None));
        delivered(&mut recorder, 12, KEY);
        assert_eq!(closed(&mut recorder, 12, KEY).unwrap().id, 1);
    }

    #[test]
    fn unfinished_flows_are_kept_and_those_yet_to_start_are_not() {
        let mut recorder = recorder(4);
        open(&mut recorder, 0, 0, KEY);
        closed(&mut recorder, 1, KEY);
        let rest = recorder.finish(at(25));
        let ids: Vec<_> = rest.iter().map(|record| (record.id, record.fct_ps)).collect();
        assert_eq!(ids, [(0, None), (1, None), (2, None)]);
        assert_eq!(rest[0].sender_done_ps, Some(1_000_000));
        assert_eq!(recorder.finished(), 0);
    }

    #[test]
    fn retransmissions_of_unfinished_flows_are_counted() {
        let mut recorder = recorder(3);
        let key = |flow: u32| FlowKey(KEY.0 + u64::from(flow));
        (0..3).for_each(|flow| _ = open(&mut recorder, 10 * u64::from(flow), flow, key(flow)));
        closed(&mut recorder, 21, key(1));
        (0..3).for_each(|flow| recorder.retransmitted(SRC, key(flow), 7));
        recorder.retransmitted(DST, KEY, 9);
        recorder.retransmitted(SRC, key(3), 9);
        let rest: Vec<_> = recorder.finish(at(25)).iter().map(|record| record.retransmissions).collect();
        assert_eq!(rest, [7, 2, 7], "a closed flow keeps the number that its sender reported");
    }

    #[test]
    fn words_about_unknown_keys_or_from_strangers_are_counted() {
        let mut recorder = recorder(1);
        open(&mut recorder, 0, 0, KEY);
        assert_eq!(delivered(&mut recorder, 1, FlowKey(KEY.0 + 1)), None);
        recorder.report(at(1), SRC, Report::Delivered { key: KEY, reorder_peak: 0 });
        assert_eq!(recorder.unmatched(), 2);
        assert_eq!(recorder.finish(at(1))[0].fct_ps, None);
    }

    #[test]
    fn flows_that_programs_begin_are_numbered_after_those_of_the_workload() {
        let mut recorder = recorder(2);
        let began = |recorder: &mut Recorder, us, key| {
            recorder.report(at(us), SRC, Report::Began { key, dst: DST, size: Bytes(500) })
        };
        assert_eq!((began(&mut recorder, 3, KEY), began(&mut recorder, 4, FlowKey(KEY.0 + 1))), (None, None));
        assert_eq!((closed(&mut recorder, 5, FlowKey(KEY.0 + 1)), recorder.live()), (None, 2));
        let record = delivered(&mut recorder, 6, FlowKey(KEY.0 + 1)).unwrap();
        assert_eq!((record.id, record.size_bytes, record.start_ps), (3, 500, 4_000_000));
        assert_eq!(record.fct_ps, Some(2_000_000));
        let rest = recorder.finish(at(7));
        assert_eq!((recorder.begun(), rest.last().unwrap().id), (2, 2));
    }
}
