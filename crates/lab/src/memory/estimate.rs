//! Estimates the memory of an experiment before it runs.
//!
//! The memory of links and nodes is their number times the size of their types. The memory of the scheme's parts is
//! measured at some nodes and scaled to all nodes. How many flows are live at one time is not known before the run.
//! This number comes from a simple model ([`Peak`]), and the memory of a flow is a mean over transports. A fabric with
//! more congestion than in the model takes more memory.

use raddle_core::{Bytes, Flow, Flows, NodeId, Time};
use raddle_flow_sim::Split;
use raddle_topology::{Link, Topology};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// Bytes per live flow at its sender, at its receiver and in the recorder. This is a mean of measurements with UDP (450
/// bytes) and TCP (650 bytes).
const A_FLOW: u64 = 550;

/// Bytes per live flow in the flow engine, besides [`A_CROSSED_LINK`] for each link. Measured for flows that cross from
/// 2 links (PFQ on a switch, 875 bytes) to about 80 links (PFQ on a torus, 4,500 bytes).
const A_FLUID_FLOW: u64 = 785;

/// Bytes per live flow for each link that the flow crosses, in the flow engine.
const A_CROSSED_LINK: u64 = 45;

/// Assumed maximum of a flow's bytes in the network at one time.
const WINDOW: u64 = 1 << 20;

/// Bytes per rank for the state of its program, without operations. This constant and [`AN_OPERATION`] were measured
/// with collective operations.
const A_RANK: u64 = 4 << 10;

/// Bytes per operation that a rank has read ahead: the operation, the operations that wait for it, its place in queues,
/// and the rank's messages.
const AN_OPERATION: u64 = 260;

/// Bytes that every run takes for file buffers and percentiles.
const ANY_RUN: u64 = 1 << 20;

/// Model of the flows that are live at one time. Each host's link serves its flows one after the other. The transfer of
/// a flow begins when its sender's and its receiver's link are free, and lasts for its size divided by the sender's
/// rate. A flow with an `app_rate` does not wait, and lasts for its size divided by the lower of `app_rate` and the
/// sender's rate.
#[derive(Debug)]
pub(crate) struct Peak {
    /// Indexed by node: the time at which the node's link will have sent all added flows without an `app_rate`.
    sent: Vec<Time>,
    /// Indexed by node: the time at which the node's link will have received all added flows without an `app_rate`.
    received: Vec<Time>,
    /// For each live flow: the time at which it ends, and the largest number of its bytes in the network.
    live: BinaryHeap<Reverse<(Time, u64)>>,
    in_network: u64,
    /// Number of live flows that fit into the memory if nothing else takes memory. Once more flows are live, later
    /// flows need not be counted.
    most: u64,
    load: Load,
}

/// The largest numbers of live flows and of their bytes in the network. The two maxima can occur at different times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Largest number of live flows at one time.
    pub(crate) flows: u64,
    /// Largest number of bytes in the network at one time.
    pub(crate) bytes: u64,
}

impl Load {
    /// The load of `flows` live flows, each of `bytes` bytes. At most [`WINDOW`] bytes of a flow are in the network.
    pub(crate) fn at_once(flows: u64, bytes: u64) -> Self {
        Self { flows, bytes: flows.saturating_mul(bytes.min(WINDOW)) }
    }
}

/// Memory of a flow, of a packet and of a rank, and the sizes from which the number of packets in the network follows.
/// All are in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Each {
    /// Memory of a live flow.
    pub(crate) flow: u64,
    /// Memory of a packet in the network.
    pub(crate) packet: u64,
    /// Payload of a packet.
    pub(crate) payload: u64,
    /// Maximum number of bytes that all queues of the fabric together can hold.
    pub(crate) room: u64,
    /// Memory of a rank.
    pub(crate) rank: u64,
}

impl Default for Each {
    /// The sizes of flows and ranks in the packet engine. Packets are not counted.
    fn default() -> Self {
        Self { flow: A_FLOW, packet: 0, payload: 1, room: 0, rank: a_rank(0) }
    }
}

/// Memory, in bytes, of a rank that has read this many operations ahead.
pub(crate) fn a_rank(read_ahead: u64) -> u64 {
    A_RANK + AN_OPERATION * read_ahead
}

/// Bytes per live flow in the flow engine, estimated from the mean number of links that the first flows of a run cross.
pub(crate) fn a_fluid_flow(topology: &Topology, flows: &Flows, split: &mut Split) -> u64 {
    let idle = vec![0.0; topology.link_slots()];
    let (mut links, mut looked_at, mut row) = (0, 0, Vec::new());
    for flow in flows.iter().take(SAMPLES) {
        row.clear();
        split(&flow, &idle, &mut row);
        links += row.len() as u64;
        looked_at += 1;
    }
    A_FLUID_FLOW + A_CROSSED_LINK * links.div_ceil(looked_at.max(1))
}

impl Peak {
    /// The state before the first flow is added, for a run that may take at most `memory`.
    pub(crate) fn new(topology: &Topology, memory: Bytes) -> Self {
        let free = vec![Time::ZERO; topology.node_count()];
        Self {
            sent: free.clone(),
            received: free,
            live: BinaryHeap::new(),
            in_network: 0,
            most: memory.0 / A_FLOW,
            load: Load::default(),
        }
    }

    /// Adds the next flow. Flows must be added in the order in which they start.
    pub(crate) fn add(&mut self, flow: &Flow, topology: &Topology) {
        if self.is_over() {
            return;
        }
        while let Some(&Reverse((done, bytes))) = self.live.peek()
            && done <= flow.start
        {
            self.live.pop();
            self.in_network -= bytes;
        }
        let line = topology.links_from(flow.src).map(|(_, link)| link.rate).max().unwrap_or_default();
        let done = match flow.app_rate {
            Some(rate) => flow.start + rate.min(line).time_for(flow.size),
            None => {
                let (sent, received) =
                    (&mut self.sent[flow.src.index()], &mut self.received[flow.dst.index()]);
                let done = flow.start.max(*sent).max(*received) + line.time_for(flow.size);
                (*sent, *received) = (done, done);
                done
            }
        };
        let bytes = flow.size.0.min(WINDOW);
        self.live.push(Reverse((done, bytes)));
        self.in_network += bytes;
        self.load.flows = self.load.flows.max(self.live.len() as u64);
        self.load.bytes = self.load.bytes.max(self.in_network);
    }

    /// True if the live flows alone exceed the memory. Flows that are added later are not counted.
    pub(crate) fn is_over(&self) -> bool {
        self.load.flows > self.most
    }

    /// The largest load of the flows that have been added.
    pub(crate) fn load(&self) -> Load {
        self.load
    }
}

/// The estimated memory of a run in bytes. It does not include Raddle's executable, which takes about 10 MB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of link slots: one for each port of a node, with or without a directed link.
    pub links: u64,
    /// Number of hosts and switches.
    pub nodes: u64,
    /// Largest number of live flows at one time.
    pub flows: u64,
    /// Number of ranks of programs.
    pub ranks: u64,
    /// Bytes of links, nodes and the scheme's parts at them.
    pub fabric_bytes: u64,
    /// Bytes of live flows.
    pub flow_bytes: u64,
    /// Bytes of packets in the network.
    pub packet_bytes: u64,
    /// Bytes of the state of ranks' programs.
    pub rank_bytes: u64,
    /// Bytes of records that wait to be written.
    pub record_bytes: u64,
}

impl Estimate {
    /// Adds the memory of the largest load: of flows, their packets, and ranks.
    pub(crate) fn with_load(self, load: Load, ranks: u64, each: Each) -> Self {
        let packets = load.bytes.min(each.room).div_ceil(each.payload.max(1));
        Self {
            flows: load.flows,
            ranks,
            flow_bytes: load.flows.saturating_mul(each.flow),
            packet_bytes: packets.saturating_mul(each.packet),
            rank_bytes: ranks.saturating_mul(each.rank),
            ..self
        }
    }

    /// The memory of the whole run: the sum of the parts above, plus a constant.
    #[must_use]
    pub fn total(&self) -> Bytes {
        let parts = [
            ANY_RUN,
            self.fabric_bytes,
            self.flow_bytes,
            self.packet_bytes,
            self.rank_bytes,
            self.record_bytes,
        ];
        Bytes(parts.into_iter().fold(0, u64::saturating_add))
    }

    /// The estimate as a JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "total_bytes": self.total().0,
            "links": self.links,
            "nodes": self.nodes,
            "flows_at_a_time": self.flows,
            "ranks": self.ranks,
            "fabric_bytes": self.fabric_bytes,
            "flow_bytes": self.flow_bytes,
            "packet_bytes": self.packet_bytes,
            "rank_bytes": self.rank_bytes,
            "record_bytes": self.record_bytes,
        })
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { links, nodes, flows, ranks, .. } = self;
        write!(f, "about {}: ", show(self.total().0))?;
        write!(f, "{} for {links} ports and {nodes} nodes, ", show(self.fabric_bytes))?;
        write!(f, "{} for {flows} flows at a time, ", show(self.flow_bytes))?;
        write!(f, "{} for their packets, ", show(self.packet_bytes))?;
        if *ranks > 0 {
            write!(f, "{} for {ranks} ranks, ", show(self.rank_bytes))?;
        }
        write!(f, "{} for records", show(self.record_bytes))
    }
}

/// Formats bytes in the largest unit that gives at least 1, to three digits.
#[must_use]
pub fn show(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    let bytes = bytes as f64;
    let Some(&(size, unit)) = units.iter().find(|(size, _)| bytes >= *size) else {
        return format!("{bytes} B");
    };
    let number = bytes / size;
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {unit}")
}

/// Estimates the memory of a fabric. `a_link` and `a_node` are the bytes of a link and of a node in an engine. `parts`
/// makes the scheme's parts at a node, and their memory is measured.
pub(crate) fn fabric<T>(
    topology: &Topology,
    [a_link, a_node]: [usize; 2],
    mut parts: impl FnMut(NodeId) -> T,
) -> Estimate {
    let (links, nodes) = (topology.link_slots() as u64, topology.node_count() as u64);
    let a_link = (size_of::<Option<Link>>() + a_link) as u64;
    let sampled = |hosts: bool| {
        let kind: Vec<NodeId> = topology.nodes().filter(|&node| topology.is_host(node) == hosts).collect();
        sample(&kind, &mut parts)
    };
    let fabric_bytes =
        links * a_link + nodes * a_node as u64 + [true, false].map(sampled).iter().sum::<u64>();
    Estimate { links, nodes, fabric_bytes, ..Estimate::default() }
}

/// Maximum size of each sample: hosts whose parts of the scheme are measured, switches likewise, and flows whose links
/// are counted.
const SAMPLES: usize = 16;

/// Memory in bytes of the scheme's parts at all these nodes, estimated from a sample. If the first node of the sample
/// needs more memory than the others, the excess is memory that all nodes share, so it is added only once.
fn sample<T>(nodes: &[NodeId], parts: &mut impl FnMut(NodeId) -> T) -> u64 {
    let chosen = nodes.iter().step_by(nodes.len().div_ceil(SAMPLES).max(1));
    let mut kept = Vec::with_capacity(SAMPLES + 1);
    let taken: Vec<u64> = chosen
        .map(|&node| {
            let before = super::counted();
            kept.push(parts(node));
            u64::try_from(super::counted() - before).unwrap_or(0)
        })
        .collect();
    match &taken[..] {
        [] => 0,
        [only] => *only,
        [first, others @ ..] => {
            let each = others.iter().sum::<u64>() / others.len() as u64;
            first.saturating_sub(each) + each * nodes.len() as u64
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_core::{Duration, FlowId, Rate};
    use raddle_topology::builders;

    #[test]
    fn flows_wait_for_their_hosts_links_in_the_model() {
        let topology = builders::single_switch(4, Rate::from_gbps(8), Duration::from_us(1)).expect("a star");
        let peak = |gap_us: u64| {
            let mut peak = Peak::new(&topology, Bytes(1 << 30));
            for i in 0..100 {
                let start = Time::ZERO + Duration::from_us(i * gap_us);
                let flow = Flow::new(FlowId(i as u32), NodeId(0), NodeId(1), Bytes(1_000), start);
                peak.add(&flow, &topology);
            }
            peak.load()
        };
        // A flow of 1,000 bytes takes 1 us at 8 Gbps. Flows start 1 us apart, then all at once.
        assert_eq!(peak(1), Load { flows: 1, bytes: 1_000 });
        assert_eq!(peak(0), Load { flows: 100, bytes: 100_000 });
        assert_eq!(Load::at_once(3, 1 << 40), Load { flows: 3, bytes: 3 << 20 });
    }

    #[test]
    fn sizes_are_shown_to_three_digits() {
        let shown = [999, 1_500, 43_300_000, 2_200_000_000_000].map(show);
        assert_eq!(shown, ["999 B", "1.50 KB", "43.3 MB", "2.20 TB"]);
    }

    #[test]
    fn an_estimate_lists_the_memory_of_each_part() {
        let fabric = Estimate { links: 6, nodes: 4, fabric_bytes: 2_000, ..Estimate::default() };
        let estimate = fabric.with_load(
            Load { flows: 10, bytes: 30_000 },
            2,
            Each { packet: 100, payload: 1_500, room: u64::MAX, ..Each::default() },
        );
        let text = "about 1.07 MB: 2.00 KB for 6 ports and 4 nodes, 5.50 KB for 10 flows at a time, \
                    2.00 KB for their packets, 8.19 KB for 2 ranks, 0 B for records";
        assert_eq!(estimate.to_string(), text);
        assert_eq!(estimate.json()["total_bytes"], estimate.total().0);
    }
}
