//! The received packets of each flow, counted over all subflows of the flow.

use crate::transport::ranges::Ranges;
use raddle_core::{FlowKey, Report};
use raddle_wire::rated::{Kind, Segment};
use rustc_hash::FxHashMap;

/// Flows that a host receives, by key.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    flows: FxHashMap<FlowKey, Flow>,
}

#[derive(Debug, Default)]
struct Flow {
    /// Total number of packets of the flow.
    packets: u32,
    /// The numbers of the packets that have arrived.
    ranges: Ranges,
    reorder_peak: u32,
    /// One bit per subflow, set while the subflow is open.
    open: u16,
    /// True if a TERM has announced the end of the whole flow, not only of one subflow.
    ends: bool,
}

impl Incoming {
    /// Handles a packet that is not an acknowledgement. Returns a report if the packet completes its flow.
    ///
    /// A flow is removed when the sender has ended the flow and all its subflows. The SYN of a subflow may still arrive
    /// later and create the flow again. Because a path keeps packets in order, the TERM of this subflow follows the SYN
    /// and removes the flow.
    #[allow(clippy::cast_possible_truncation, reason = "the number of packets of a flow fits a `u32`")]
    pub(super) fn take(&mut self, segment: &Segment) -> Option<Report> {
        let key = segment.key();
        let subflow = 1_u16 << (segment.flow % Segment::SUBFLOWS);
        match segment.kind {
            Kind::Syn => {
                let flow = self.flows.entry(key).or_default();
                flow.packets = segment.seq;
                flow.open |= subflow;
                None
            }
            Kind::Data => {
                let flow = self.flows.get_mut(&key)?;
                let number = u64::from(segment.seq);
                let is_new = flow.ranges.insert(number, number + 1) > 0;
                let in_order = flow.ranges.containing(0).map_or(0, |(_, to)| to);
                let waiting = (flow.ranges.total() - in_order) as u32;
                flow.reorder_peak = flow.reorder_peak.max(waiting);
                (is_new && in_order == u64::from(flow.packets))
                    .then_some(Report::Delivered { key, reorder_peak: flow.reorder_peak })
            }
            Kind::Probe => None,
            Kind::Term => {
                let flow = self.flows.get_mut(&key)?;
                flow.open &= !subflow;
                flow.ends |= segment.seq > 0;
                if flow.ends && flow.open == 0 {
                    self.flows.remove(&key);
                }
                None
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}
