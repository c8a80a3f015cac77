//! What comes in: the packets of each flow, of all its subflows together.

use crate::transport::ranges::Ranges;
use raddle_core::{FlowKey, Report};
use raddle_wire::rated::{Kind, Segment};
use rustc_hash::FxHashMap;

/// Flows that a host receives, by name.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    flows: FxHashMap<FlowKey, Flow>,
}

#[derive(Debug, Default)]
struct Flow {
    /// Packets that it has.
    packets: u32,
    /// Which of them are here.
    ranges: Ranges,
    reorder_peak: u32,
    /// Subflows that are open, a bit each.
    open: u16,
    /// Whether its sender has ended it, and not one of its subflows alone.
    ends: bool,
}

impl Incoming {
    /// Takes in a packet that is no acknowledgement. Says so if it completes its flow.
    ///
    /// A flow is forgotten when its sender has ended it and all its subflows: a path keeps packets in order, so nothing of it
    /// comes later but what makes a TERM come as well.
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
