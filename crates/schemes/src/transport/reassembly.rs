//! The receiving side of flows whose packets have R2C2's data header: records which packets of each flow have arrived,
//! and detects complete flows.

use raddle_core::{NodeId, Report};
use raddle_wire::r2c2::{Data, FLAG_LAST};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Greatest accepted distance, in packets, between a packet and the first missing packet. Packets at a greater distance
/// are not recorded as arrived, because their numbers are probably damaged. Without this limit, a packet at distance n
/// would cost n bytes of memory.
const FARTHEST: u32 = 1 << 20;

/// One incoming flow.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The number of the first missing packet. All packets before it have arrived.
    next: u32,
    /// True at index i if packet `next + 1 + i` has arrived.
    early: VecDeque<bool>,
    waiting: u32,
    peak: u32,
    /// Number of packets in the flow; `None` until the node has received the flow's last packet, even one beyond
    /// [`FARTHEST`].
    length: Option<u32>,
}

/// All incoming flows of a node, for transports without acknowledgements. The key is the flow's handle: the source's
/// number and the flow's number at the source.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    flows: FxHashMap<u32, Incoming>,
}

impl Receiver {
    /// Handles a data packet. Returns a report if the packet completes its flow.
    pub(crate) fn take(&mut self, data: &Data) -> Option<Report> {
        let last = data.flags & FLAG_LAST != 0;
        if last && data.seq == 0 {
            return Some(Report::Delivered { key: data.flow.into(), reorder_peak: 0 });
        }
        let flow = self.flows.entry(data.flow).or_default();
        flow.take(data);
        if !flow.is_complete() {
            return None;
        }
        let reorder_peak = flow.reorder_peak();
        self.flows.remove(&data.flow);
        Some(Report::Delivered { key: data.flow.into(), reorder_peak })
    }

    /// Removes the flows whose source cannot reach this node (`reaches` is false for the source), because these flows
    /// can never be complete.
    pub(crate) fn retain(&mut self, reaches: impl Fn(NodeId) -> bool) {
        self.flows.retain(|&handle, _| reaches(NodeId(handle >> 16)));
    }
}

impl Incoming {
    /// The number of the first missing packet. All packets before it have arrived.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// True if packet `next + ahead` has arrived.
    pub(crate) fn has_ahead(&self, ahead: u32) -> bool {
        ahead > 0 && self.early.get(ahead as usize - 1) == Some(&true)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.length == Some(self.next)
    }

    /// Greatest number of packets that waited at the same time for an earlier packet.
    pub(crate) fn reorder_peak(&self) -> u32 {
        self.peak
    }

    /// Records a packet. Returns false if the packet is a duplicate or is beyond [`FARTHEST`].
    pub(crate) fn take(&mut self, data: &Data) -> bool {
        if data.flags & FLAG_LAST != 0 {
            self.length = Some(data.seq.wrapping_add(1));
        }
        let ahead = data.seq.wrapping_sub(self.next);
        if ahead == 0 {
            self.next = self.next.wrapping_add(1);
            while self.early.pop_front() == Some(true) {
                self.next = self.next.wrapping_add(1);
                self.waiting -= 1;
            }
            true
        } else if ahead <= FARTHEST {
            let place = ahead as usize - 1;
            if self.early.len() <= place {
                self.early.resize(place + 1, false);
            }
            let is_new = !std::mem::replace(&mut self.early[place], true);
            self.waiting += u32::from(is_new);
            self.peak = self.peak.max(self.waiting);
            is_new
        } else {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raddle_core::FlowKey;
    use raddle_wire::r2c2::Route;

    fn packet(seq: u32, flags: u8) -> Data {
        Data { flow: 7, src: 0, dst: 1, seq, plen: 1, rlen: 0, ridx: 0, flags, route: Route::default() }
    }

    #[test]
    fn a_late_first_packet_makes_the_others_wait() {
        let mut receiver = Receiver::default();
        for seq in [1, 2, 2] {
            assert_eq!(receiver.take(&packet(seq, 0)), None);
        }
        assert_eq!(receiver.take(&packet(3, FLAG_LAST)), None);
        assert_eq!(
            receiver.take(&packet(0, 0)),
            Some(Report::Delivered { key: FlowKey(7), reorder_peak: 3 })
        );
        assert!(receiver.flows.is_empty());
    }

    proptest! {
        #[test]
        fn any_order_with_repeats_completes_once(order in Just((0..20_u32).collect::<Vec<_>>()).prop_shuffle(), again in 0_u32..19) {
            let mut receiver = Receiver::default();
            let mut done = 0;
            for (i, &seq) in order.iter().enumerate() {
                done += u32::from(receiver.take(&packet(seq, if seq == 19 { FLAG_LAST } else { 0 })).is_some());
                prop_assert_eq!(done == 1, i == 19);
                if i < 18 && order[..=i].contains(&again) {
                    prop_assert!(receiver.take(&packet(again, 0)).is_none());
                }
            }
        }
    }
}
