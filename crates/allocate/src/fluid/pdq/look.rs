//! Times at which the schedule may change although no flow arrives or leaves.

use super::{Changes, Criticality, Measure, Member};
use crate::fluid::GRACE_S;
use raddle_core::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Minimum time between two examinations of the schedule if no flow arrives or leaves between them. This
/// time is far below the reaction time of switches.
const LEAST_GAP: Duration = Duration::from_us(1);

const PS_PER_S: f64 = 1e12;

/// Scheduled examinations of flows, the earliest first. An entry is outdated if its flow has changed since
/// the entry was added.
#[derive(Debug, Clone, Default)]
pub(super) struct Looks(BinaryHeap<Reverse<Look>>);

/// A time at which the schedule examines a flow again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    at: Time,
    flow: u32,
    version: u32,
    for_what: ForWhat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ForWhat {
    /// From this time on, the flow can no longer meet its deadline.
    GiveUp,
    /// The flow has sent another step of bits ([`Measure::Sent`]).
    Step,
    /// This flow and another sending flow on a common link become equally critical, so one overtakes the other. The
    /// value is the other flow's slot.
    Passing(u32),
}

impl Criticality {
    /// Makes the examinations that are scheduled for `now` or earlier.
    pub(super) fn look(&mut self, now: Time, changes: &mut Changes) {
        while let Some(&Reverse(look)) = self.looks.0.peek()
            && look.at <= now
        {
            self.looks.0.pop();
            if self.is_outdated(look) {
                continue;
            }
            let Look { flow, for_what, .. } = look;
            match for_what {
                ForWhat::GiveUp => {
                    self.leave(now, flow);
                    changes.given_up.push(flow as usize);
                }
                ForWhat::Step => {
                    self.rekey(now, flow, |flow| flow.measure += 1);
                }
                ForWhat::Passing(other) => {
                    self.touch(flow);
                    self.doubt(now, flow);
                    if self.flows[other as usize].live {
                        self.doubt(now, other);
                    }
                }
            }
        }
    }

    /// Returns the next time at which any flow must be examined, but at least [`LEAST_GAP`] after `now`; `None` if
    /// there is no such time.
    pub(super) fn next_look(&mut self, now: Time) -> Option<Time> {
        const FEW: usize = 64;
        if self.looks.0.len() > 4 * (self.flows.len() - self.vacant.len()) + FEW {
            let mut looks = std::mem::take(&mut self.looks.0);
            looks.retain(|&Reverse(look)| !self.is_outdated(look));
            self.looks.0 = looks;
        }
        while let Some(&Reverse(look)) = self.looks.0.peek() {
            if !self.is_outdated(look) {
                return Some(look.at.max(now + LEAST_GAP));
            }
            self.looks.0.pop();
        }
        None
    }

    fn is_outdated(&self, look: Look) -> bool {
        self.flows[look.flow as usize].version != look.version
    }

    /// Makes a new flow give up at once if it cannot meet its deadline and the rules let flows give up.
    pub(super) fn look_at_first(&mut self, now: Time, flow: u32) {
        let member = &self.flows[flow as usize];
        if self.rules.gives_up && member.slack_s(now).is_some_and(|slack| slack < -GRACE_S) {
            let look = Look { at: now, flow, version: member.version, for_what: ForWhat::GiveUp };
            self.looks.0.push(Reverse(look));
        }
    }

    /// Schedules the next examinations of a flow, at most two, under the assumption that all flows keep their current
    /// rates.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(super) fn look_later(&mut self, now: Time, flow: u32) {
        let member = &mut self.flows[flow as usize];
        member.version = member.version.wrapping_add(1);
        let member = &self.flows[flow as usize];
        let (version, speed) = (member.version, member.speed());
        let gives_up = self.rules.gives_up && speed < 1.0;
        let give_up = member
            .slack_s(now)
            .filter(|_| gives_up)
            .map(|slack| (slack / (1.0 - speed) + GRACE_S, ForWhat::GiveUp));
        let rises = match self.rules.measure {
            _ if speed <= 0.0 => None,
            Measure::Random { .. } => None,
            Measure::Sent { step_bits } => {
                let sent = member.size_bits - member.remaining_bits(now);
                let left = (member.measure + 1) as f64 * step_bits - sent;
                Some((left / member.rate_bps, ForWhat::Step))
            }
            Measure::Remaining => {
                let links = member.row.iter().map(|&(link, _)| &self.links[link as usize]);
                let others = links.flat_map(|link| &link.senders).map(|&(other, _)| other);
                let passings = others.filter(|&other| other != flow).filter_map(|other| {
                    self.passing_s(now, flow, other).map(|in_s| (in_s, ForWhat::Passing(other)))
                });
                passings.min_by(|a, b| a.0.total_cmp(&b.0))
            }
        };
        for (in_s, for_what) in give_up.into_iter().chain(rises) {
            let at = now + Duration::from_ps((in_s * PS_PER_S) as u64 + 1);
            self.looks.0.push(Reverse(Look { at, flow, version, for_what }));
        }
    }

    /// Returns the seconds until the less critical of two sending flows overtakes the more critical flow. `None` if the
    /// flows differ in class or deadline, if the less critical flow never overtakes, or if the more critical flow ends
    /// earlier.
    fn passing_s(&self, now: Time, one: u32, other: u32) -> Option<f64> {
        let (mut first, mut second) = (&self.flows[one as usize], &self.flows[other as usize]);
        if (first.class, first.due) != (second.class, second.due) {
            return None;
        }
        if self.key(now, other) < self.key(now, one) {
            std::mem::swap(&mut first, &mut second);
        }
        let gain = second.speed() - first.speed();
        let in_s = (second.alone_s(now) - first.alone_s(now)) / gain;
        (gain > 0.0 && in_s * first.speed() < first.alone_s(now)).then_some(in_s)
    }
}

impl Member {
    /// Returns the flow's rate as a share of the rate at which it can send.
    fn speed(&self) -> f64 {
        self.rate_bps / self.max_bps
    }

    /// Returns the seconds for which the flow can be paused and still meet its deadline; negative if the flow cannot
    /// meet it, `None` if the flow has no deadline.
    fn slack_s(&self, now: Time) -> Option<f64> {
        (self.due != Time::NEVER)
            .then(|| (self.due.as_ps() as f64 - now.as_ps() as f64) / PS_PER_S - self.alone_s(now))
    }
}
