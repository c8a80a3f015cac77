//! The numbers that identify the flows of a sender in packet headers.

use raddle_core::{Duration, Flow, Time};
use std::collections::VecDeque;

/// Time for which the number of a finished flow is not reused. After this time, no message about the flow is left in
/// the network. The source may repeat the flow's FINISH message for 6.4 ms, and a neighbour may resend the FINISH for
/// 5 ms more. A node that receives a FINISH before the flow's START message remembers the FINISH for 10 ms. The sum of
/// these times is 21.4 ms.
pub(crate) const QUARANTINE: Duration = Duration::from_ms(25);

/// The numbers (1 to 65,535) of the flows that a node sends, and the flows that wait for a number. A number is reused
/// only after the [`QUARANTINE`].
#[derive(Debug, Default)]
pub(crate) struct Lids {
    used: u16,
    returned: VecDeque<(Time, u16)>,
    waiting: VecDeque<Flow>,
}

impl Lids {
    /// Returns a number for `flow`, preferably a number that was never used. If no number is free, returns `None`, and
    /// the flow waits.
    pub(crate) fn take(&mut self, now: Time, flow: &Flow) -> Option<u16> {
        let lid = self.free(now);
        if lid.is_none() {
            self.waiting.push_back(*flow);
        }
        lid
    }

    fn free(&mut self, now: Time) -> Option<u16> {
        if let Some(fresh) = self.used.checked_add(1) {
            self.used = fresh;
            return Some(fresh);
        }
        let &(at, lid) = self.returned.front()?;
        if at + QUARANTINE >= now {
            return None;
        }
        self.returned.pop_front();
        Some(lid)
    }

    pub(crate) fn give_back(&mut self, now: Time, lid: u16) {
        self.returned.push_back((now, lid));
    }

    /// If a number is free now, removes and returns the flow that has waited longest.
    pub(crate) fn due(&mut self, now: Time) -> Option<Flow> {
        if self.next_due() <= now { self.waiting.pop_front() } else { None }
    }

    /// The flows that wait for a number.
    pub(crate) fn waiting(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.waiting.iter_mut()
    }

    /// The time at which a number becomes free for a waiting flow; [`Time::NEVER`] if no flow waits, or if live flows
    /// use all numbers.
    pub(crate) fn next_due(&self) -> Time {
        if self.waiting.is_empty() {
            return Time::NEVER;
        }
        self.returned.front().map_or(Time::NEVER, |&(at, _)| at + QUARANTINE + Duration::from_ps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Bytes, FlowId, NodeId};

    #[test]
    fn numbers_are_used_again_only_when_all_are_used_up_and_rested() {
        let mut lids = Lids::default();
        let at = |us| Time::ZERO + Duration::from_us(us);
        let flow = Flow::new(FlowId(9), NodeId(0), NodeId(1), Bytes(1), at(0));
        assert_eq!(lids.take(at(0), &flow), Some(1));
        lids.give_back(at(1), 1);
        for lid in 2..=u16::MAX {
            assert_eq!(lids.take(at(40_000), &flow), Some(lid));
        }
        lids.give_back(at(40_000), 7);
        assert_eq!(lids.take(at(40_000), &flow), Some(1));
        assert_eq!(lids.next_due(), Time::NEVER);
        assert_eq!(lids.take(at(40_000), &flow), None);
        let due = lids.next_due();
        assert!(due > at(65_000) && due < at(65_001), "{due:?}");
        assert_eq!(lids.due(at(65_000)), None);
        assert_eq!(lids.due(due), Some(flow));
        assert_eq!(lids.take(due, &flow), Some(7));
    }
}
