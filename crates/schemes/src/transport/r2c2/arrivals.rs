//! The receiving end of reliable flows: records which packets have arrived, and schedules acknowledgements.
//!
//! The receiver remembers a complete flow until the time [`MEMORY`] has passed since the source announced the flow's
//! end, or since the end was presumed. If the last acknowledgement is lost, the source retransmits a packet, and the
//! receiver must acknowledge it again.

use crate::transport::lids::QUARANTINE;
use crate::transport::reassembly::Incoming;
use raddle_core::{Bytes, Duration, Report, Time};
use raddle_wire::r2c2::{Acknowledgement, Data, Event, EventKind};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Greatest number of packets per acknowledgement. An acknowledgement has 52 bytes, less than a hundredth of four
/// packets of 1,500 bytes. Acknowledgements therefore need only a small part of the headroom on the reverse paths.
const PACKETS_ANSWERED: u32 = 4;
/// Longest delay of an acknowledgement.
const PATIENCE: Duration = Duration::from_us(20);
/// Time for which the receiver remembers an ended flow. When this time ends, all packets of the flow have left the
/// fabric, and no new flow has the flow's number yet.
const MEMORY: Duration = Duration::from_ps(QUARANTINE.as_ps() / 2);

/// All incoming flows of a node, by handle.
#[derive(Debug)]
pub(super) struct Arrivals {
    window: u16,
    /// True if the node reports the progress of flows.
    tells: bool,
    flows: FxHashMap<u32, Arriving>,
    complete: BTreeMap<u32, Complete>,
    /// The complete flows that have ended, in order of the time at which they ended.
    ended: VecDeque<(Time, u32)>,
    /// Flows with unacknowledged packets, ordered by the time at which the acknowledgement is due. An entry is stale if
    /// the flow has been acknowledged after the entry was made.
    owed: VecDeque<(Time, u32)>,
}

/// A flow of which packets are still missing.
#[derive(Debug, Default)]
struct Arriving {
    incoming: Incoming,
    /// Number of unanswered packets: those that have arrived since the last acknowledgement.
    unanswered: u32,
    /// Sequence number of the unanswered packet that arrived last.
    latest: u32,
    /// Highest sequence number of an unanswered packet.
    highest: u32,
    /// Time by which the unanswered packets must be acknowledged.
    due: Time,
    /// Bytes received in order. Counted only if the node reports progress.
    bytes: u64,
    /// Sequence number and payload bytes of each received packet that waits for an earlier packet. Used only if the
    /// node reports progress.
    early: FxHashMap<u32, u16>,
}

/// A flow that is complete.
#[derive(Debug)]
struct Complete {
    since: Time,
    packets: u32,
    /// Time at which the source announced the end of the flow, or at which the end was presumed.
    ended: Option<Time>,
}

/// Contents of an [`Acknowledgement`] to the source of flow `key`, in answer to packet `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) key: u32,
    pub(super) seq: u32,
    pub(super) next: u32,
    pub(super) from: u16,
    pub(super) arrived: [u8; 8],
}

/// The results of a data packet's arrival.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Taken {
    /// A report of the bytes received in order, if this number has grown and the node reports progress.
    pub(super) in_order: Option<Report>,
    pub(super) delivered: Option<Report>,
    pub(super) answer: Option<Answer>,
}

impl Arrivals {
    /// A receiver without flows. For each flow, the receiver accepts `window` packets, counted from the first missing
    /// packet. If `tells` is true, the receiver reports the progress of flows.
    pub(super) fn new(window: u16, tells: bool) -> Self {
        Self {
            window,
            tells,
            flows: FxHashMap::default(),
            complete: BTreeMap::new(),
            ended: VecDeque::new(),
            owed: VecDeque::new(),
        }
    }

    /// Handles a data packet.
    pub(super) fn take(&mut self, now: Time, data: &Data) -> Taken {
        self.forget_ended(now);
        let key = data.flow;
        if let Some(flow) = self.complete.get(&key) {
            return Taken { answer: Some(flow.answer(data)), ..Taken::default() };
        }
        let flow = self.flows.entry(key).or_default();
        let before = flow.incoming.next();
        let ahead = data.seq.wrapping_sub(before) as i32;
        if ahead >= self.window.into() || !flow.incoming.take(data) {
            // The packet is a duplicate or beyond the window. The source does not know the state of the flow, so the
            // receiver sends an acknowledgement at once.
            return Taken { answer: Some(flow.answer(key, data.seq)), ..Taken::default() };
        }
        let in_order = self.tells.then(|| flow.count(before, data)).flatten();
        let in_order = in_order.map(|to| Report::InOrder { key: key.into(), to });
        if flow.incoming.is_complete() {
            let reorder_peak = flow.incoming.reorder_peak();
            let complete = Complete { since: now, packets: flow.incoming.next(), ended: None };
            let answer = Some(complete.answer(data));
            self.flows.remove(&key);
            self.complete.insert(key, complete);
            let delivered = Some(Report::Delivered { key: key.into(), reorder_peak });
            return Taken { in_order, delivered, answer };
        }
        if flow.unanswered == 0 {
            flow.highest = data.seq;
            flow.due = now + PATIENCE;
            self.owed.push_back((flow.due, key));
        } else if (data.seq.wrapping_sub(flow.highest) as i32) > 0 {
            flow.highest = data.seq;
        }
        flow.latest = data.seq;
        flow.unanswered += 1;
        let most = PACKETS_ANSWERED.min(u32::from(self.window).div_ceil(2));
        let answer = (flow.unanswered >= most).then(|| flow.answer(key, data.seq));
        Taken { in_order, delivered: None, answer }
    }

    /// Time at which an acknowledgement may be due and [`next_answer`](Self::next_answer) must be called, or
    /// [`Time::NEVER`].
    pub(super) fn due(&self) -> Time {
        self.owed.front().map_or(Time::NEVER, |&(due, _)| due)
    }

    /// The next acknowledgement that is due by `now`, if there is one.
    pub(super) fn next_answer(&mut self, now: Time) -> Option<Answer> {
        while let Some((due, key)) = self.owed.pop_front_if(|&mut (due, _)| due <= now) {
            if let Some(flow) = self.flows.get_mut(&key)
                && flow.unanswered > 0
                && flow.due == due
            {
                return Some(flow.answer(key, flow.latest));
            }
        }
        None
    }

    /// Handles a broadcast event about a flow to this node.
    pub(super) fn announced(&mut self, now: Time, event: &Event) {
        let key = event.flow();
        match event.kind {
            EventKind::Finish => {
                self.flows.remove(&key);
                self.end(now, key);
            }
            // When the quarantine has passed since the flow was complete, the START of this flow can no longer arrive.
            // The event is then the START of a new flow with the same key.
            EventKind::Start => {
                if self.complete.get(&key).is_some_and(|flow| flow.since + QUARANTINE < now) {
                    self.complete.remove(&key);
                }
            }
            EventKind::Refresh => {
                if let Some(flow) = self.complete.get_mut(&key) {
                    flow.ended = None;
                }
            }
            EventKind::Demand | EventKind::Route => {}
        }
    }

    /// Called after a topology change. A complete flow for which `lives` is false may have ended without an
    /// announcement, so its end is presumed now. An incomplete flow whose source is unreachable is kept, because it
    /// continues when the source is reachable again.
    pub(super) fn fabric_changed(&mut self, now: Time, lives: impl Fn(u32) -> bool) {
        let silent: Vec<u32> = self.complete.keys().copied().filter(|&key| !lives(key)).collect();
        for key in silent {
            self.end(now, key);
        }
    }

    fn end(&mut self, now: Time, key: u32) {
        if let Some(flow) = self.complete.get_mut(&key)
            && flow.ended.is_none()
        {
            flow.ended = Some(now);
            self.ended.push_back((now, key));
        }
    }

    fn forget_ended(&mut self, now: Time) {
        while let Some((at, key)) = self.ended.pop_front_if(|&mut (at, _)| at + MEMORY <= now) {
            if self.complete.get(&key).is_some_and(|flow| flow.ended == Some(at)) {
                self.complete.remove(&key);
            }
        }
    }
}

impl Arriving {
    /// Counts the bytes of a new packet. `next` is the sequence number of the first packet that was missing before this
    /// packet arrived. Returns the number of bytes received in order, if this number has grown.
    fn count(&mut self, next: u32, data: &Data) -> Option<Bytes> {
        let before = self.bytes;
        self.early.insert(data.seq, data.plen);
        let mut place = next;
        while let Some(plen) = self.early.remove(&place) {
            self.bytes += u64::from(plen);
            place = place.wrapping_add(1);
        }
        (self.bytes > before).then_some(Bytes(self.bytes))
    }

    /// The acknowledgement in answer to packet `seq`. Its bitmap covers the highest packet that has arrived since the
    /// last acknowledgement, or packet `seq` if none has. A packet before the first missing packet needs no bit.
    fn answer(&mut self, key: u32, seq: u32) -> Answer {
        let next = self.incoming.next();
        let highest = if self.unanswered > 0 { self.highest } else { seq };
        self.unanswered = 0;
        // The upper limit is for packets beyond the window, which the receiver has not accepted.
        let above = (highest.wrapping_sub(next) as i32).clamp(0, u16::MAX.into()) as u32;
        let from = (above + 1).saturating_sub(Acknowledgement::SPAN.into());
        let bits = (0..u32::from(Acknowledgement::SPAN))
            .fold(0_u64, |bits, i| bits << 1 | u64::from(self.incoming.has_ahead(from + i)));
        let from = u16::try_from(from).expect("the offset must be less than 2^16");
        Answer { key, seq, next, from, arrived: bits.to_be_bytes() }
    }
}

impl Complete {
    /// The acknowledgement of the whole flow.
    fn answer(&self, data: &Data) -> Answer {
        Answer { key: data.flow, seq: data.seq, next: self.packets, from: 0, arrived: [0; 8] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_wire::r2c2::{FLAG_LAST, Route, UNLIMITED_KBPS};

    const KEY: u32 = 5 << 16 | 7;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn packet(seq: u32, flags: u8) -> Data {
        Data { flow: KEY, src: 5, dst: 1, seq, plen: 1, rlen: 0, ridx: 0, flags, route: Route::default() }
    }

    fn event(kind: EventKind) -> Event {
        let (src, lid) = (5, 7);
        Event {
            kind,
            tree: 0,
            src,
            dst: 1,
            weight: 1,
            priority: 0,
            protocol: 0,
            demand_kbps: UNLIMITED_KBPS,
            lid,
        }
    }

    /// The state of a receiver after a flow of one packet has arrived at 1 us.
    fn complete() -> Arrivals {
        let mut arrivals = Arrivals::new(100, false);
        let taken = arrivals.take(at(1), &packet(0, FLAG_LAST));
        assert_eq!(taken.delivered, Some(Report::Delivered { key: KEY.into(), reorder_peak: 0 }));
        assert_eq!(taken.answer, Some(Answer { key: KEY, seq: 0, next: 1, from: 0, arrived: [0; 8] }));
        arrivals
    }

    #[test]
    fn an_answer_waits_for_four_packets_or_twenty_microseconds() {
        let mut arrivals = Arrivals::new(100, false);
        let answered = [0, 1, 3, 4].map(|seq| arrivals.take(at(seq.into()), &packet(seq, 0)).answer);
        assert_eq!(answered[..3], [None; 3]);
        let answer = answered[3].expect("four packets");
        assert_eq!((answer.seq, answer.next, answer.from), (4, 2, 0));
        assert_eq!(
            u64::from_be_bytes(answer.arrived),
            0b011 << 61,
            "packets 3 and 4 have arrived, but not packet 2"
        );
        assert_eq!(arrivals.take(at(10), &packet(2, 0)).answer, None);
        assert_eq!(arrivals.next_answer(at(29)), None, "packets 0, 1, 3 and 4 are already acknowledged");
        assert_eq!(arrivals.due(), at(30));
        assert_eq!(arrivals.next_answer(at(30)).map(|answer| (answer.seq, answer.next)), Some((2, 5)));
        assert_eq!(arrivals.due(), Time::NEVER);
    }

    #[test]
    fn a_packet_that_is_here_already_or_finds_no_room_is_answered_at_once() {
        let mut arrivals = Arrivals::new(10, false);
        assert_eq!(arrivals.take(at(0), &packet(0, 0)).answer, None);
        assert_eq!(arrivals.take(at(0), &packet(0, 0)).answer.map(|answer| answer.next), Some(1));
        assert_eq!(arrivals.take(at(1), &packet(11, 0)).answer.map(|answer| answer.arrived), Some([0; 8]));
        assert_eq!(arrivals.take(at(1), &packet(10, 0)).answer, None, "the last packet within the window");
    }

    #[test]
    fn an_answer_tells_of_64_packets_up_to_the_highest_news() {
        let mut arrivals = Arrivals::new(1_000, false);
        let mut last = None;
        for seq in (1..=200).filter(|seq| seq % 100 != 0 || *seq == 200) {
            last = arrivals.take(at(0), &packet(seq, 0)).answer.or(last);
        }
        let answer = last.expect("many packets");
        let data = packet(answer.seq, 0);
        let Answer { next, from, arrived, .. } = answer;
        let packets: Vec<u32> = Acknowledgement { data, next, window: 0, from, arrived }.packets().collect();
        assert_eq!(packets.len(), 64);
        assert!(packets.last() > Some(&195), "{packets:?}");
    }

    #[test]
    fn a_complete_flow_is_answered_until_its_source_has_known_for_a_while() {
        let mut arrivals = complete();
        let again = |arrivals: &mut Arrivals, us| arrivals.take(at(us), &packet(0, FLAG_LAST));
        let known =
            |taken: Taken| taken.delivered.is_none() && taken.answer.is_some_and(|answer| answer.next == 1);
        assert!(known(again(&mut arrivals, 1_000_000)));
        // The source repeats the START of the same flow, and sends a REFRESH after a repair.
        arrivals.announced(at(100), &event(EventKind::Start));
        arrivals.announced(at(1_000_000), &event(EventKind::Refresh));
        assert!(known(again(&mut arrivals, 1_000_001)));
        arrivals.announced(at(2_000_000), &event(EventKind::Finish));
        assert!(known(again(&mut arrivals, 2_012_499)));
        assert!(again(&mut arrivals, 2_012_500).delivered.is_some(), "another flow with the same key");
    }

    #[test]
    fn another_flow_of_the_same_name_is_one_even_if_the_end_of_the_first_was_never_heard() {
        let mut arrivals = complete();
        arrivals.announced(at(30_000), &event(EventKind::Start));
        assert!(arrivals.take(at(30_001), &packet(0, FLAG_LAST)).delivered.is_some());
    }

    #[test]
    fn a_flow_whose_source_is_silent_after_a_repair_is_forgotten() {
        let mut arrivals = complete();
        arrivals.fabric_changed(at(10), |_| true);
        arrivals.fabric_changed(at(1_000), |_| false);
        assert!(arrivals.take(at(1_001), &packet(0, FLAG_LAST)).delivered.is_none());
        arrivals.announced(at(1_002), &event(EventKind::Refresh));
        assert!(
            arrivals.take(at(90_000), &packet(0, FLAG_LAST)).delivered.is_none(),
            "the REFRESH has withdrawn the presumed end"
        );
        arrivals.fabric_changed(at(100_000), |_| false);
        assert!(arrivals.take(at(112_500), &packet(0, FLAG_LAST)).delivered.is_some());
    }
}
