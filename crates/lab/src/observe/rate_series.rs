//! The throughput of each sender and of the largest flows over time, in bounded memory.
//!
//! The size of a flow is known when it opens. The largest flows of a run are therefore always among the largest flows so
//! far, and their bytes are counted from the first byte on.

use crate::observe::intervals::{Intervals, Merge};
use crate::observe::series::{intervals, whole};
use raddle_core::{Duration, Time};
use raddle_flow_sim::Sent;
use raddle_records::{FlowRecord, RateSeriesRecord};
use raddle_topology::Topology;
use rustc_hash::FxHashMap;

/// Number of large flows whose throughput is recorded.
pub(crate) const LARGE_FLOWS: usize = 8;

/// Bytes in an interval. The number is a float because fluid flows have fractions of bytes. Whole numbers are exact up
/// to 2^53.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrived(f64);

impl Merge for Arrived {
    fn merge(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// One of the largest flows so far.
#[derive(Debug, Clone, Copy)]
struct Large {
    flow: u32,
    src: u32,
    size: u64,
}

/// Counts the application bytes that reach their receivers, by sender and by large flow.
pub(crate) struct RateSeries {
    /// One column for each node number up to the largest number of a host, then one column for each large flow.
    bytes: Intervals<Arrived>,
    nodes: usize,
    large: Vec<Large>,
    /// The column of each large flow.
    columns: FxHashMap<u32, usize>,
}

impl RateSeries {
    /// Memory that one column takes in one interval, in bytes.
    pub(crate) const BYTES_A_CELL: usize = size_of::<Arrived>();

    /// Number of columns: one for each node number up to the largest number of a host, and one for each large flow. In
    /// most topologies the hosts have the lowest numbers, so these nodes are the hosts.
    pub(crate) fn columns(topology: &Topology) -> usize {
        topology.hosts().map(|host| host.index() + 1).max().unwrap_or(0) + LARGE_FLOWS
    }

    /// An empty series for a run whose first flow starts at `begin`.
    pub(crate) fn of(topology: &Topology, begin: Time) -> Self {
        let columns = Self::columns(topology);
        let (bytes, nodes) = (intervals(columns, begin), columns - LARGE_FLOWS);
        Self { bytes, nodes, large: Vec::new(), columns: FxHashMap::default() }
    }

    /// Called when a flow opens. Keeps the flow if it is one of the largest so far. Of flows with the same size, those
    /// with lower numbers are kept.
    pub(crate) fn opened(&mut self, flow: &FlowRecord) {
        let new = Large { flow: flow.id, src: flow.src, size: flow.size_bytes };
        let place = if self.large.len() < LARGE_FLOWS {
            self.large.push(new);
            self.large.len() - 1
        } else {
            let rank = |large: &Large| (large.size, u32::MAX - large.flow);
            let smallest =
                (0..LARGE_FLOWS).min_by_key(|&i| rank(&self.large[i])).expect("`LARGE_FLOWS` must not be 0");
            if rank(&self.large[smallest]) >= rank(&new) {
                return;
            }
            self.columns.remove(&self.large[smallest].flow);
            self.bytes.clear(self.nodes + smallest);
            self.large[smallest] = new;
            smallest
        };
        self.columns.insert(new.flow, self.nodes + place);
    }

    /// Counts the application bytes of one packet of a flow. `at` is the time at which the packet's last bit leaves over
    /// the link to the receiver.
    pub(crate) fn count(&mut self, at: Time, flow: &FlowRecord, bytes: u32) {
        let row = self.bytes.at(at);
        row[flow.src as usize].0 += f64::from(bytes);
        if let Some(&column) = self.columns.get(&flow.id) {
            row[column].0 += f64::from(bytes);
        }
    }

    /// Counts the application bytes of a fluid flow that were sent during a span of constant rate.
    pub(crate) fn sent(&mut self, sent: &Sent<'_>, flow: &FlowRecord) {
        let rate = sent.payload / sent.to.since(sent.from).as_ps().max(1) as f64;
        for column in [Some(flow.src as usize), self.columns.get(&flow.id).copied()].into_iter().flatten() {
            let add = |arrived: &mut Arrived, part: Duration| arrived.0 += rate * part.as_ps() as f64;
            self.bytes.spread(sent.from, sent.to, column, add);
        }
    }

    /// The rows of a run that ended at `end`, in order of time. In each interval, the senders come before the large
    /// flows.
    pub(crate) fn records(self, end: Time) -> Vec<RateSeriesRecord> {
        let senders =
            (0..self.nodes).map(|node| (node, u32::try_from(node).expect("node numbers have 32 bits"), None));
        let large = self.large.iter().enumerate();
        let large = large.map(|(i, large)| (self.nodes + i, large.src, Some(large.flow)));
        let columns: Vec<_> = senders.chain(large).collect();
        let mut rows = Vec::new();
        for i in 0..self.bytes.count() {
            let (from, to) = (self.bytes.start(i), end.min(self.bytes.start(i + 1)));
            for &(column, src, flow) in columns.iter().take_while(|_| from < end) {
                let bytes = whole(self.bytes.value(i, column).0);
                if bytes > 0 {
                    rows.push(RateSeriesRecord {
                        from_ps: from.as_ps(),
                        to_ps: to.as_ps(),
                        src,
                        flow,
                        bytes,
                    });
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Bytes, Flow, FlowId, NodeId, Rate};
    use raddle_topology::builders::single_switch;

    #[test]
    fn senders_have_all_bytes_and_the_largest_flows_their_own() {
        let topology = single_switch(2, Rate::from_gbps(10), Duration::from_us(1)).expect("a topology");
        let mut series = RateSeries::of(&topology, Time::ZERO);
        let count = u32::try_from(LARGE_FLOWS).expect("a small number");
        for id in 0..2 * count {
            let size = if id == 3 { 1 } else { 1_000 + u64::from(id == 2 * count - 1) };
            let flow = Flow::new(FlowId(id), NodeId(id % 2), NodeId(1 - id % 2), Bytes(size), Time::ZERO);
            let flow = FlowRecord::unfinished(&flow, 1, 2);
            series.opened(&flow);
            series.count(Time::ZERO + Duration::from_us(3 * u64::from(id)), &flow, 10);
        }
        let rows = series.records(Time::ZERO + Duration::from_ms(1));
        let sent = |src| {
            rows.iter().filter(|row| row.src == src && row.flow.is_none()).map(|row| row.bytes).sum::<u64>()
        };
        assert_eq!((sent(0), sent(1)), (80, 80));
        let mut flows: Vec<u32> = rows.iter().filter_map(|row| row.flow).collect();
        flows.sort_unstable();
        // The small flow gave way to flow 8, and flow 8 to the largest flow, which came last.
        let kept: Vec<u32> = (0..count).filter(|&id| id != 3).chain([2 * count - 1]).collect();
        assert_eq!(flows, kept);
        assert!(rows.iter().filter(|row| row.flow.is_some()).all(|row| row.bytes == 10));
    }
}
