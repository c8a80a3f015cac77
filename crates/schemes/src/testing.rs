//! Helpers for the tests of several schemes: packets, fabrics, and the route of a packet.

use raddle_core::{
    DropReason, Duration, Forwarder, Header, LinkId, NodeId, Packet, PortId, PortState, Ports, Rate, Time,
    Verdict,
};
use raddle_topology::Topology;
use raddle_topology::builders::{self, ClosRates};
use raddle_wire::tcp::{ACK, Segment};
use std::sync::Arc;

/// The link rate of the test fabrics.
pub(crate) const RATE: Rate = Rate::from_gbps(10);

/// A data segment with 1,460 bytes of payload.
pub(crate) fn segment(src: u32, dst: u32, src_port: u16, seq: u32) -> Packet {
    let segment =
        Segment { src, dst, src_port, dst_port: 5_001, seq, flags: ACK, plen: 1_460, ..Segment::default() };
    Packet::new(1_500, Header::Tcp(segment))
}

/// A fat-tree. With k = 4: hosts 0 to 15, edge switches 16 to 23, aggregation switches 24 to 31, cores 32 to 35.
pub(crate) fn fat_tree(k: u32) -> Arc<Topology> {
    let tree = builders::fat_tree(k, ClosRates::all(RATE), Duration::from_ns(100));
    Arc::new(tree.expect("an even k"))
}

/// The link from one node to another, and the link in the reverse direction.
pub(crate) fn between(topology: &Topology, from: u32, to: u32) -> [LinkId; 2] {
    let link = topology.links_from(NodeId(from)).find(|(_, link)| link.to == NodeId(to));
    let (link, _) = link.expect("neighbours");
    [link, topology.reverse(link)]
}

/// Ports that are up, with these backlogs in us.
pub(crate) fn backlogs(us: &[u64]) -> Vec<PortState> {
    let port = |&us| PortState::idle(RATE).busy_until(Time::ZERO + Duration::from_us(us));
    us.iter().map(port).collect()
}

/// The egress ports by which a packet leaves the nodes on its path, beginning at its source. The fabric is idle.
/// `nodes` holds one forwarder per node.
pub(crate) fn route<F: Forwarder>(
    topology: &Topology,
    nodes: &mut [F],
    packet: &mut Packet,
) -> Result<Vec<PortId>, DropReason> {
    let (mut at, mut arrival) = (packet.src(), None);
    let mut route = Vec::new();
    loop {
        let idle = backlogs(&vec![0; topology.port_count(at)]);
        match nodes[at.index()].forward(Time::ZERO, packet, arrival, &Ports(&idle)) {
            Verdict::Deliver => return Ok(route),
            Verdict::Drop(reason) => return Err(reason),
            Verdict::Forward(port) => {
                route.push(port);
                let link = topology.link_at(at, port).expect("a link");
                (at, arrival) = (link.to, Some(link.to_port));
            }
            other => panic!("only forwarding: {other:?}"),
        }
    }
}

/// A congestion notice.
pub(crate) fn notice() -> raddle_wire::cnm::Notice {
    raddle_wire::cnm::Notice {
        dst: 1,
        cp: raddle_wire::Mac::switch_port(1, 0, 2),
        priority: 3,
        feedback: 20,
        q_offset: -30,
        q_delta: 4,
        culprit_dst: 31,
    }
}
