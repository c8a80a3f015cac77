//! Received frames. The receiver puts the frames of each flow back in order. With go-back-N, the receiver accepts only
//! frames in order.

use super::Data;
use crate::transport::go_back_n::{Answer, Params, Receiver};
use crate::transport::ranges::Ranges;
use crate::transport::time_wait::TimeWait;
use raddle_core::{Bytes, Duration, FlowKey, Report, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Flows that a host receives.
#[derive(Debug)]
pub(super) struct Incoming {
    flows: FxHashMap<FlowKey, Flow>,
    /// Interval at which the receiver reports the progress of flows; `None` if it makes no such reports.
    progress: Option<Duration>,
    /// The parameters of go-back-N, and the flows that were recently received completely; `None` without go-back-N.
    recovery: Option<(Params, TimeWait<()>)>,
}

/// The effects of a frame's arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// True if the flow is complete, whether this frame completed it or an earlier frame did.
    pub(super) is_whole: bool,
    /// The answer of go-back-N, and the number of bytes of the flow that have been received in order; `None` if there
    /// is no answer.
    pub(super) answer: Option<(Answer, u64)>,
}

#[derive(Debug, Default)]
struct Flow {
    ranges: Ranges,
    receiver: Receiver,
    /// One past the highest offset of a received byte.
    furthest: u64,
    /// Size of the longest received frame, in bytes. The last frame of the flow may be shorter, so out-of-order bytes
    /// are counted in frames of this size.
    longest: u16,
    late: u32,
    reorder_peak: u32,
    /// Number of the interval in which the flow's progress was last reported.
    told: u64,
}

impl Flow {
    fn in_order(&self) -> u64 {
        self.ranges.containing(0).map_or(0, |(_, to)| to)
    }
}

impl Incoming {
    pub(super) fn new(progress: Option<Duration>, recovery: Option<Params>) -> Self {
        // The span is far longer than the time after which a sender without answers gives up a flow.
        let span = |params: &Params| params.rto * (16 * (u64::from(params.retries) + 1));
        let recovery = recovery.map(|params| (params, TimeWait::new(span(&params))));
        Self { flows: FxHashMap::default(), progress, recovery }
    }

    /// Handles a frame of the flow `key`.
    pub(super) fn take(
        &mut self,
        now: Time,
        key: FlowKey,
        data: &Data,
        reports: &mut VecDeque<Report>,
    ) -> Taken {
        if let Some((_, finished)) = &mut self.recovery
            && finished.find(now, key).is_some()
        {
            return Taken { is_whole: true, answer: Some((Answer::Acknowledge, data.size)) };
        }
        let flow = self.flows.entry(key).or_default();
        if let Some(interval) = self.progress {
            let number = now.as_ps() / interval.as_ps();
            if number > flow.told {
                flow.told = number;
                reports.push_back(Report::Progress {
                    key,
                    in_order: Bytes(flow.in_order()),
                    late: flow.late,
                });
            }
        }
        let mut answer = None;
        if let Some((params, _)) = &self.recovery {
            let (Data { offset, ack_request, .. }, in_order) = (*data, flow.in_order());
            let taken;
            (taken, answer) = flow.receiver.take(now, in_order, offset, ack_request, params);
            if !taken {
                return Taken { is_whole: false, answer: answer.map(|answer| (answer, in_order)) };
            }
        }
        let end = data.offset + u64::from(data.len);
        flow.late = flow.late.saturating_add(u32::from(data.offset < flow.furthest));
        flow.furthest = flow.furthest.max(end);
        flow.longest = flow.longest.max(data.len);
        flow.ranges.insert(data.offset, end);
        let waiting = flow.ranges.total() - flow.in_order();
        let frames = u32::try_from(waiting.div_ceil(flow.longest.into())).unwrap_or(u32::MAX);
        flow.reorder_peak = flow.reorder_peak.max(frames);
        let is_whole = flow.ranges.total() == data.size;
        let answer = answer.map(|answer| (answer, flow.in_order()));
        if is_whole {
            let reorder_peak = flow.reorder_peak;
            self.flows.remove(&key);
            if let Some((_, finished)) = &mut self.recovery {
                finished.insert(now, key, ());
            }
            reports.push_back(Report::Delivered { key, reorder_peak });
        }
        Taken { is_whole, answer }
    }
}
