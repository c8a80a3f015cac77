//! Repairs the parts of the schedule that may be wrong, in order of criticality. A flow's rate depends only on more
//! critical flows, so each flow is examined after all more critical flows are correct.

use super::order::Key;
use super::{Criticality, NONE, SAME};
use raddle_core::Time;
use std::cmp::Reverse;
use std::ops::Bound;

/// A part of the schedule that may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// The rate of this flow.
    Flow(u32),
    /// The first flow that waits at this link: the link may have capacity for it. If the link still has
    /// capacity after this flow, the next waiting flow is queued.
    Waiting(u32),
}

impl Criticality {
    /// Queues a flow to be examined.
    pub(super) fn doubt(&mut self, now: Time, flow: u32) {
        if !std::mem::replace(&mut self.flows[flow as usize].doubted, true) {
            self.doubts.push(Reverse((self.key(now, flow), Doubt::Flow(flow))));
        }
    }

    /// Queues all flows that send on a link and have a key after `than`.
    pub(super) fn doubt_after(&mut self, now: Time, link: u32, than: Key) {
        let mut later = std::mem::take(&mut self.later);
        let senders = self.links[link as usize].senders.iter().map(|&(flow, _)| flow);
        later.extend(senders.filter(|&flow| self.key(now, flow) > than));
        for flow in later.drain(..) {
            self.doubt(now, flow);
        }
        self.later = later;
    }

    /// Queues the first flow that waits at a link and has a key after `than`.
    pub(super) fn doubt_waiting(&mut self, link: u32, than: Key) {
        let waiting = &self.links[link as usize].waiting;
        if let Some((&key, _)) = waiting.range((Bound::Excluded(than), Bound::Unbounded)).next() {
            self.doubts.push(Reverse((key, Doubt::Waiting(link))));
        }
    }

    /// Examines all queued parts of the schedule.
    pub(super) fn repair(&mut self, now: Time) {
        let mut last = None;
        while let Some(Reverse((key, doubt))) = self.doubts.pop() {
            if last.replace((key, doubt)) == Some((key, doubt)) {
                continue;
            }
            match doubt {
                Doubt::Flow(flow) => {
                    let member = &self.flows[flow as usize];
                    // If the flow has left, another flow may use its slot. That other flow is queued with a different
                    // key.
                    if member.live && member.doubted && self.key(now, flow) == key {
                        self.flows[flow as usize].doubted = false;
                        self.schedule(now, flow, key);
                    }
                }
                Doubt::Waiting(link) => {
                    if let Some(&flow) = self.links[link as usize].waiting.get(&key) {
                        self.schedule(now, flow, key);
                    }
                    if self.left_bps(now, link, |other| other <= key) >= self.least_left_bps {
                        self.doubt_waiting(link, key);
                    }
                }
            }
        }
    }

    /// Returns the capacity that the flows whose keys satisfy `of` leave on a link, in bit/s. A flow uses its granted
    /// rate times its traversals of the link.
    fn left_bps(&self, now: Time, link: u32, of: impl Fn(Key) -> bool) -> f64 {
        let link = &self.links[link as usize];
        let before = link.senders.iter().filter(|&&(flow, _)| of(self.key(now, flow)));
        let used: f64 =
            before.map(|&(flow, share)| self.flows[flow as usize].granted_bps * f64::from(share)).sum();
        link.capacity_bps - used
    }

    /// Gives a flow the capacity that more critical flows leave, or pauses the flow.
    fn schedule(&mut self, now: Time, flow: u32, key: Key) {
        let member = &self.flows[flow as usize];
        let (max_bps, had_bps, waits_at) = (member.max_bps, member.granted_bps, member.waits_at);
        let (mut gets_bps, mut limit) = (max_bps, NONE);
        for &(link, share) in &member.row {
            let left_bps = self.left_bps(now, link, |other| other < key) / f64::from(share);
            if left_bps <= gets_bps {
                (gets_bps, limit) = (left_bps, link);
            }
        }
        if limit != NONE && gets_bps < max_bps * self.rules.least_share {
            if waits_at != limit {
                self.stop(now, flow);
                self.links[limit as usize].waiting.insert(key, flow);
                self.flows[flow as usize].waits_at = limit;
                self.set_paused(flow, true);
            }
        } else if (gets_bps - had_bps).abs() > SAME * max_bps {
            self.send(now, flow, key, gets_bps);
        }
    }

    /// Sets a flow's rate, and queues the flows that depend on it.
    fn send(&mut self, now: Time, flow: u32, key: Key, gets_bps: f64) {
        let member = &mut self.flows[flow as usize];
        let had_bps = std::mem::replace(&mut member.granted_bps, gets_bps);
        let waited_at = std::mem::replace(&mut member.waits_at, NONE);
        if waited_at != NONE {
            self.links[waited_at as usize].waiting.remove(&key);
        }
        self.touch(flow);
        self.set_paused(flow, false);
        let row = std::mem::take(&mut self.flows[flow as usize].row);
        for &(link, share) in &row {
            if had_bps == 0.0 {
                self.links[link as usize].senders.push((flow, share));
            }
            self.doubt_after(now, link, key);
            if gets_bps < had_bps {
                self.doubt_waiting(link, key);
            }
        }
        self.flows[flow as usize].row = row;
    }

    /// Makes a flow neither send nor wait, and frees its capacity for other flows.
    pub(super) fn stop(&mut self, now: Time, flow: u32) {
        let key = self.key(now, flow);
        let member = &mut self.flows[flow as usize];
        let had_bps = std::mem::replace(&mut member.granted_bps, 0.0);
        let waited_at = std::mem::replace(&mut member.waits_at, NONE);
        if waited_at != NONE {
            self.links[waited_at as usize].waiting.remove(&key);
        }
        if had_bps > 0.0 {
            self.touch(flow);
            let row = std::mem::take(&mut self.flows[flow as usize].row);
            for &(link, _) in &row {
                self.links[link as usize].senders.retain(|&(other, _)| other != flow);
                self.doubt_after(now, link, key);
                self.doubt_waiting(link, key);
            }
            self.flows[flow as usize].row = row;
        }
    }

    /// Changes a flow's criticality: the flow leaves its old position and is examined in the new position.
    pub(super) fn rekey(&mut self, now: Time, flow: u32, change: impl FnOnce(&mut super::Member)) {
        self.stop(now, flow);
        change(&mut self.flows[flow as usize]);
        self.flows[flow as usize].doubted = false;
        self.doubt(now, flow);
    }

    fn set_paused(&mut self, flow: u32, paused: bool) {
        let row = std::mem::take(&mut self.flows[flow as usize].row);
        self.probes.pause(&mut self.links, &mut self.flows[flow as usize], &row, paused);
        self.flows[flow as usize].row = row;
    }
}
