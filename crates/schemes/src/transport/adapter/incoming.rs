//! What comes in: frames of each flow put back in order.

use super::Data;
use crate::transport::ranges::Ranges;
use raddle_core::{Bytes, Duration, FlowKey, Report, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Flows that a host receives.
#[derive(Debug)]
pub(super) struct Incoming {
    flows: FxHashMap<FlowKey, Flow>,
    /// At which intervals to tell how far flows have come, if at all.
    progress: Option<Duration>,
}

#[derive(Debug, Default)]
struct Flow {
    ranges: Ranges,
    /// One past the last byte of the frame sent last of those that have come.
    furthest: u64,
    /// Bytes of the longest frame so far: by it what waits is counted, as the last frame may be short.
    longest: u16,
    late: u32,
    reorder_peak: u32,
    /// The interval that has been told of last.
    told: u64,
}

impl Flow {
    fn in_order(&self) -> u64 {
        self.ranges.containing(0).map_or(0, |(_, to)| to)
    }
}

impl Incoming {
    pub(super) fn new(progress: Option<Duration>) -> Self {
        Self { flows: FxHashMap::default(), progress }
    }

    /// Takes in a frame of the flow of that name. Returns whether the flow is whole now.
    pub(super) fn take(
        &mut self,
        now: Time,
        key: FlowKey,
        data: &Data,
        reports: &mut VecDeque<Report>,
    ) -> bool {
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
        let end = data.offset + u64::from(data.len);
        flow.late = flow.late.saturating_add(u32::from(data.offset < flow.furthest));
        flow.furthest = flow.furthest.max(end);
        flow.longest = flow.longest.max(data.len);
        flow.ranges.insert(data.offset, end);
        let waiting = flow.ranges.total() - flow.in_order();
        let frames = u32::try_from(waiting.div_ceil(flow.longest.into())).unwrap_or(u32::MAX);
        flow.reorder_peak = flow.reorder_peak.max(frames);
        let whole = flow.ranges.total() == data.size;
        if whole {
            let reorder_peak = flow.reorder_peak;
            self.flows.remove(&key);
            reports.push_back(Report::Delivered { key, reorder_peak });
        }
        whole
    }
}
