//! What a switch does for one of its links: which flows send, and how fast. Pure, but for the time.

use super::flow_list::{Criticality, Entry, FlowList};
use super::params::Parameters;
use raddle_core::{Duration, FlowKey, Rate, Time};
use raddle_wire::pdq::Scheduling;
use rustc_hash::FxHashMap;

/// Bits of a full packet, by which the least rate worth granting is measured.
const PACKET_BITS: u128 = 12_000;

/// The controller of one directed link (specs/pdq.md §4). It stands where the packets of a flow leave a node, and sees their
/// acknowledgements come back.
#[derive(Debug)]
pub(crate) struct Controller {
    rules: Parameters,
    /// What it calls itself where it pauses a flow.
    me: u32,
    line: u64,
    /// What it grants in all, bit/s, and when that was worked out.
    pub(super) capacity: u64,
    adapted: Time,
    /// Average round-trip time of the flows, and when it last looked for dead ones.
    rtt: Duration,
    cleaned: Time,
    /// The flows it knows.
    pub(super) flows: FlowList,
    /// Flows for which the list has no room, by when they were last seen.
    unlisted: FxHashMap<FlowKey, Time>,
    /// When a flow that did not send was last accepted, and which.
    accepted: Option<(Time, Criticality)>,
}

impl Controller {
    /// Of a link of that rate, without flows.
    #[must_use]
    pub(crate) fn new(me: u32, line: Rate, rules: Parameters) -> Self {
        let capacity = share(line, &rules);
        Self {
            rules,
            me,
            line: line.as_bps(),
            capacity,
            adapted: Time::ZERO,
            rtt: rules.initial_rtt,
            cleaned: Time::ZERO,
            flows: FlowList::default(),
            unlisted: FxHashMap::default(),
            accepted: None,
        }
    }

    /// A flow has ended.
    pub(crate) fn end(&mut self, key: FlowKey) {
        self.flows.remove(key);
        self.unlisted.remove(&key);
    }

    /// A packet that asks for a rate is about to join the queue, in which `waiting` bytes wait: grants, lowers or pauses.
    pub(crate) fn forward(&mut self, now: Time, key: FlowKey, header: &mut Scheduling, waiting: u64) {
        let rtt = Duration::from_ns(header.rtt.get());
        if rtt > Duration::ZERO {
            // Gain 0.05, specs/pdq.md §4.1.
            self.rtt = (self.rtt * 19 + rtt) / 20;
        }
        self.adapt(now, waiting);
        self.clean(now);
        if header.pauseby != Scheduling::NOBODY && header.pauseby != self.me {
            return self.end(key); // what it had here goes to others
        }
        let Some(index) = self.place(now, key, header, rtt) else {
            return self.share_rest(now, key, header);
        };
        let granted = self.room(index, u64::from(header.rate) * 1_000);
        let entry = self.flows.get_mut(index);
        let starts = entry.rate == 0;
        let criticality = entry.criticality;
        let is_accepted = granted > 0 && !(starts && self.is_dampened(now, criticality));
        if is_accepted {
            if starts {
                self.accepted = Some((now, criticality));
            }
            header.pauseby = Scheduling::NOBODY;
            header.rate = u32::try_from(granted / 1_000).unwrap_or(u32::MAX);
        } else {
            header.pauseby = self.me;
        }
        if self.rules.is_fast() {
            self.flows.get_mut(index).rate = if is_accepted { granted } else { 0 };
        }
    }

    /// An acknowledgement comes back: what all switches agreed on holds; in profile F only if there is still room for a flow
    /// that starts.
    pub(crate) fn acknowledge(&mut self, key: FlowKey, header: &mut Scheduling) {
        if self.rules.is_fast() && header.pauseby == Scheduling::NOBODY {
            self.check(key, header);
        }
        self.commit(key, header);
    }

    /// The same for a flow of the host whose link this is: there is room, as the host itself sends the most critical of its
    /// flows first, and what others on the way have granted is not given away.
    pub(crate) fn acknowledge_own(&mut self, key: FlowKey, header: &mut Scheduling) {
        if !self.rules.is_fast() {
            return self.acknowledge(key, header);
        }
        self.commit(key, header);
    }

    /// What all switches agreed on holds.
    fn commit(&mut self, key: FlowKey, header: &mut Scheduling) {
        if header.pauseby != Scheduling::NOBODY {
            header.rate = 0;
            if header.pauseby != self.me {
                return self.end(key);
            }
        }
        let index = match self.flows.index(key) {
            Some(index) => index,
            None if self.unlisted.contains_key(&key) => self.flows.len(),
            None => return,
        };
        if self.rules.suppressed_probing() {
            // Specs/pdq.md §4.3, with the index from 1.
            let round_trips = self.rules.x_sp * (index + 1) as f64;
            let interval = (round_trips * f64::from(Scheduling::INTERVALS_PER_RTT)) as u16;
            header.interval = header.interval.max(interval);
        }
        if index < self.flows.len() {
            let entry = self.flows.get_mut(index);
            entry.rate = u64::from(header.rate) * 1_000;
            entry.silence = entry.rtt * u64::from(header.interval) / u64::from(Scheduling::INTERVALS_PER_RTT);
        }
    }

    /// Pauses a flow that would start now, if what was free as it asked has gone to others since. One that another switch
    /// paused then, and lets go now, has not been looked at here at all: without this it would send for a round trip beside
    /// whoever has the link, as would all that are let go at once (specs/pdq.md §4.5).
    ///
    /// It joins the list with its next packet, not here: all of it may have been acknowledged, and its TERM gone by.
    fn check(&self, key: FlowKey, header: &mut Scheduling) {
        let index = match self.flows.index(key) {
            Some(index) if self.flows.entries()[index].rate > 0 => return,
            Some(index) => index,
            None if self.unlisted.contains_key(&key) => return,
            None => {
                let criticality = Criticality { deadline: header.deadline, expected: header.expected, key };
                self.flows.entries().partition_point(|other| other.criticality < criticality)
            }
        };
        match self.room(index, u64::from(header.rate) * 1_000) {
            0 => header.pauseby = self.me, // and the caller takes the rate
            granted => header.rate = u32::try_from(granted / 1_000).unwrap_or(u32::MAX),
        }
    }

    /// What a flow at that place of the list gets, bit/s, that asks for so much.
    fn room(&self, index: usize, asked: u64) -> u64 {
        let capacity = if self.rules.top_line && index == 0 { self.line } else { self.capacity };
        let free = self.flows.available(index, capacity, self.rtt, &self.rules).min(asked);
        // A crumb would be worse than nothing, as its holder would wait long for a better one (P2); a modest wish is none.
        if free < self.least().min(asked) { 0 } else { free }
    }

    /// The place of a flow in the list, to which it is added if there is room, or it is critical enough.
    fn place(&mut self, now: Time, key: FlowKey, header: &Scheduling, rtt: Duration) -> Option<usize> {
        let criticality = Criticality { deadline: header.deadline, expected: header.expected, key };
        if let Some(index) = self.flows.index(key) {
            let index = self.flows.move_to(index, criticality);
            let entry = self.flows.get_mut(index);
            (entry.rtt, entry.seen) = (rtt, now);
            return Some(index);
        }
        let most = self.most_flows();
        let last = self.flows.entries().last();
        if self.flows.len() >= most && last.is_some_and(|last| last.criticality < criticality) {
            return None;
        }
        self.unlisted.remove(&key);
        let entry = Entry { criticality, rtt, rate: 0, seen: now, silence: Duration::ZERO };
        let index = self.flows.insert(entry);
        Some(self.flows.trim(most, index))
    }

    /// Flows beyond the list share what it leaves, as RCP's would.
    fn share_rest(&mut self, now: Time, key: FlowKey, header: &mut Scheduling) {
        self.unlisted.insert(key, now);
        let rest = self.capacity.saturating_sub(self.flows.granted()) / self.unlisted.len() as u64;
        let asked = u64::from(header.rate) * 1_000;
        let granted = rest.min(asked);
        if granted < self.least().min(asked) || granted == 0 {
            header.pauseby = self.me;
        } else {
            header.pauseby = Scheduling::NOBODY;
            header.rate = u32::try_from(granted / 1_000).unwrap_or(u32::MAX);
        }
    }

    /// How many flows the list may have (specs/pdq.md §4.1): those that send and as many to take over, or all that fit.
    fn most_flows(&self) -> usize {
        if self.rules.trim {
            let sending = self.flows.entries().iter().filter(|entry| entry.rate > 0).count();
            (2 * sending).clamp(2, self.rules.list.max(2))
        } else {
            self.rules.list
        }
    }

    /// The least rate worth granting: a packet a round trip, and at most a tenth of the line.
    fn least(&self) -> u64 {
        let packet = PACKET_BITS * 1_000_000_000_000 / u128::from(self.rtt.as_ps().max(1));
        u64::try_from(packet).unwrap_or(u64::MAX).min(self.line / 10)
    }

    /// Whether a flow that does not send has to wait because another has just been accepted, of which nothing has come yet:
    /// all that ask at once would get the same rate. Tested by rate rather than by who pauses the flow, or else fresh ones
    /// would slip through (specs/pdq.md §4.2).
    fn is_dampened(&self, now: Time, criticality: Criticality) -> bool {
        self.accepted.is_some_and(|(at, other)| {
            now < at + self.rules.dampening
                && other.key != criticality.key
                && (!self.rules.is_fast() || other < criticality)
        })
    }

    /// The rate controller (specs/pdq.md §4.4): every two round trips, what drains the queue in as many.
    fn adapt(&mut self, now: Time, waiting: u64) {
        let interval = self.rtt * 2;
        if now < self.adapted + interval {
            return;
        }
        self.adapted = now;
        let drain = u128::from(waiting) * 8_000_000_000_000 / u128::from(interval.as_ps().max(1));
        let drain = u64::try_from(drain).unwrap_or(u64::MAX);
        self.capacity = share(Rate::from_bps(self.line), &self.rules).saturating_sub(drain);
    }

    /// Forgets flows that have not been seen for twenty round trips.
    fn clean(&mut self, now: Time) {
        let silence = self.rtt * 20;
        if now < self.cleaned + silence {
            return;
        }
        self.cleaned = now;
        self.flows.forget(now, silence);
        self.unlisted.retain(|_, &mut seen| now.since(seen) <= silence);
    }
}

/// What of a link is PDQ's.
fn share(line: Rate, rules: &Parameters) -> u64 {
    if rules.share >= 1.0 { line.as_bps() } else { (line.as_bps_f64() * rules.share) as u64 }
}
