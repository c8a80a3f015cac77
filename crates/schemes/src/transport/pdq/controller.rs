//! PDQ's controller of one link: it decides which flows send over the link, and at which rates. The controller's only
//! inputs are packets, the time and the length of the link's queue.

use super::flow_list::{Criticality, Entry, FlowList};
use super::params::Parameters;
use raddle_core::{Duration, FlowKey, Rate, Time};
use raddle_wire::pdq::Scheduling;
use rustc_hash::FxHashMap;

/// Size of a packet of 1,500 bytes, in bits. The least rate worth granting is one such packet per round trip, but at
/// most a tenth of the line rate.
const PACKET_BITS: u128 = 12_000;

/// The controller of one directed link (specifications/pdq.md §4). The controller is at the egress port through which
/// the flows' packets leave. The controller also handles the acknowledgements of these packets on their way back.
#[derive(Debug)]
pub(crate) struct Controller {
    rules: Parameters,
    /// The controller's id, which it writes into `pauseby` when it pauses a flow.
    me: u32,
    line: u64,
    /// The total rate that the controller may grant, in bit/s.
    pub(super) capacity: u64,
    /// Time of the last update of `capacity`.
    adapted: Time,
    /// The average round-trip time of the flows.
    rtt: Duration,
    /// Time of the last search for dead flows.
    cleaned: Time,
    /// The flows in the controller's list.
    pub(super) flows: FlowList,
    /// Flows for which the list has no room, each with the time of its last packet.
    unlisted: FxHashMap<FlowKey, Time>,
    /// The time of the last grant to a flow that had no rate before, and the criticality of this flow.
    accepted: Option<(Time, Criticality)>,
}

impl Controller {
    /// The controller of a link with rate `line`, without flows.
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

    /// Removes a flow that has ended, or that another switch has paused.
    pub(crate) fn end(&mut self, key: FlowKey) {
        self.flows.remove(key);
        self.unlisted.remove(&key);
    }

    /// Handles a packet that requests a rate, before the packet joins a queue of `waiting` bytes. Writes a grant or a
    /// pause into the header. The grant may be lower than the request. If another switch has paused the flow, the
    /// header does not change.
    pub(crate) fn forward(&mut self, now: Time, key: FlowKey, header: &mut Scheduling, waiting: u64) {
        let rtt = Duration::from_ns(header.rtt.get());
        if rtt > Duration::ZERO {
            // The weight of the newest round trip is 0.05 (specifications/pdq.md §4.1).
            self.rtt = (self.rtt * 19 + rtt) / 20;
        }
        self.adapt(now, waiting);
        self.clean(now);
        if header.pauseby != Scheduling::NOBODY && header.pauseby != self.me {
            return self.end(key); // another switch pauses the flow, so other flows may use its share of this link
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

    /// Handles an acknowledgement on its way back: records the rate that all switches have granted. In profile F, the
    /// flow keeps this rate only as far as the link still has the capacity.
    pub(crate) fn acknowledge(&mut self, key: FlowKey, header: &mut Scheduling) {
        if self.rules.is_fast() && header.pauseby == Scheduling::NOBODY {
            self.check(key, header);
        }
        self.commit(key, header);
    }

    /// Handles an acknowledgement for a flow whose sender is the host at this link. In profile F, this function does
    /// not check for free capacity. The host sends the most critical of its flows first, so it wastes no rate that
    /// other switches have granted.
    pub(crate) fn acknowledge_own(&mut self, key: FlowKey, header: &mut Scheduling) {
        if !self.rules.is_fast() {
            return self.acknowledge(key, header);
        }
        self.commit(key, header);
    }

    /// Stores the acknowledged rate in the flow's list entry; a pause is stored as rate zero. Removes a flow that
    /// another switch has paused. With Suppressed Probing, may raise the probe interval in the header.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
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
            // The interval of specifications/pdq.md §4.3, where the indices of the list begin at 1.
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

    /// Checks a grant on its way back, and lowers or revokes it if more critical flows have taken the capacity since
    /// the flow's request. If several flows start together, each flow that is more critical than all earlier ones is
    /// granted the line rate. Without this check, all these flows would send for one round trip. While another switch
    /// pauses a flow, the flow is not in this controller's list. If the other switch released several flows at once,
    /// they too would all send for one round trip (specifications/pdq.md §4.5).
    ///
    /// Grants to the flows in `unlisted`, which share the remaining capacity, are not checked. This function does not
    /// add the flow to the list. The flow joins with its next packet. The flow may already have ended: its TERM, the
    /// packet that ends a flow, may have passed this link before the acknowledgement.
    fn check(&self, key: FlowKey, header: &mut Scheduling) {
        let index = match self.flows.index(key) {
            Some(index) => index,
            None if self.unlisted.contains_key(&key) => return,
            None => {
                let criticality = Criticality { deadline: header.deadline, expected: header.expected, key };
                self.flows.entries().partition_point(|other| other.criticality < criticality)
            }
        };
        match self.room(index, u64::from(header.rate) * 1_000) {
            0 => header.pauseby = self.me, // the caller then sets the rate to 0
            granted => header.rate = u32::try_from(granted / 1_000).unwrap_or(u32::MAX),
        }
    }

    /// The grant in bit/s for a flow that requests `asked` bit/s and has index `index` in the list.
    fn room(&self, index: usize, asked: u64) -> u64 {
        let capacity = if self.rules.top_line && index == 0 { self.line } else { self.capacity };
        let free = self.flows.available(index, capacity, self.rtt, &self.rules).min(asked);
        // A tiny rate is worse than a pause, because the flow would wait long for a better rate (specifications/pdq.md,
        // P2). But a tiny rate is granted if the flow requests no more.
        if free < self.least().min(asked) { 0 } else { free }
    }

    /// Updates the flow's list entry from the header, and returns the flow's index. A new flow is added if the list has
    /// room, or if the flow is more critical than the last flow of the list. If the list is then too long, the least
    /// critical other flows are removed. Returns `None` if the flow is not added.
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

    /// Handles a packet of a flow outside the list. The flows outside the list share the capacity that the listed flows
    /// leave free, in equal parts as in RCP.
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

    /// Maximum length of the list (specifications/pdq.md §4.1). Without trimming, this is the configured length. With
    /// trimming, the maximum is twice the number of sending flows, but at least two and at most the configured length.
    /// Each sending flow then has one waiting flow to replace it.
    fn most_flows(&self) -> usize {
        if self.rules.trim {
            let sending = self.flows.entries().iter().filter(|entry| entry.rate > 0).count();
            (2 * sending).clamp(2, self.rules.list.max(2))
        } else {
            self.rules.list
        }
    }

    /// The least rate worth granting, bit/s: one packet per round trip, but at most a tenth of the line rate.
    fn least(&self) -> u64 {
        let packet = PACKET_BITS * 1_000_000_000_000 / u128::from(self.rtt.as_ps().max(1));
        u64::try_from(packet).unwrap_or(u64::MAX).min(self.line / 10)
    }

    /// Dampening (specifications/pdq.md §4.2). Returns true if a flow with rate zero must wait, because another flow
    /// was accepted a short time ago. The packets of the accepted flow may not have arrived yet. Without dampening, all
    /// flows that request a rate at the same time would be granted the same capacity. If dampening applied only to
    /// paused flows, it would leave out new flows, which are not marked as paused. The caller therefore applies
    /// dampening to all flows with rate zero. In profile F, dampening does not delay a flow that is more critical than
    /// the accepted flow.
    fn is_dampened(&self, now: Time, criticality: Criticality) -> bool {
        self.accepted.is_some_and(|(at, other)| {
            now < at + self.rules.dampening
                && other.key != criticality.key
                && (!self.rules.is_fast() || other < criticality)
        })
    }

    /// The rate controller (specifications/pdq.md §4.4). Every two round trips, it sets the capacity to PDQ's share of
    /// the link, less the rate that drains the queue within two round trips.
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

    /// Removes flows of which no packet has arrived for twenty round trips. A flow in the list stays at least for four
    /// of its probe intervals.
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

/// PDQ's share of a link, bit/s.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn share(line: Rate, rules: &Parameters) -> u64 {
    if rules.share >= 1.0 { line.as_bps() } else { (line.as_bps_f64() * rules.share) as u64 }
}
