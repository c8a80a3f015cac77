//! Each flow takes the path of its first packet. The model finds this path by passing the packet from forwarder to
//! forwarder.

use super::Split;
use crate::scheme::{Forwarders, Plan};
use raddle_core::{Flow, Forwarder, LinkId, NodeId, Packet, PortId, PortState, Ports, Rate, Verdict};
use raddle_topology::Topology;
use std::sync::Arc;

/// Splits flows along the paths that `forwarders` choose on a fabric without traffic. The forwarder of a node is
/// created when the first packet reaches the node.
pub(super) fn split(
    plan: &Plan<'_>,
    forwarders: Forwarders,
    packet: fn(&Flow, number: u64) -> Packet,
) -> Split {
    let mut fabric = Fabric::new(plan.topology, forwarders);
    let mut sent = vec![0_u64; plan.topology.node_count()];
    Box::new(move |flow, _, row| {
        let number = &mut sent[flow.src.index()];
        let packet = packet(flow, *number);
        *number += 1;
        fabric.walk(flow, packet, row);
    })
}

/// The forwarder of a node: `None` before the first packet reaches the node, `Some(None)` if the node needs no
/// forwarder.
type Made = Option<Option<Box<dyn Forwarder>>>;

struct Fabric {
    topology: Arc<Topology>,
    forwarders: Forwarders,
    made: Vec<Made>,
    /// The state of each link's egress port: up and idle.
    ports: Vec<PortState>,
}

impl Fabric {
    fn new(topology: &Arc<Topology>, forwarders: Forwarders) -> Self {
        let port = |slot| {
            let link = topology.link(LinkId::of(slot));
            PortState::idle(link.map_or(Rate::ZERO, |link| link.rate))
        };
        Self {
            topology: Arc::clone(topology),
            forwarders,
            made: topology.nodes().map(|_| None).collect(),
            ports: (0..topology.link_slots()).map(port).collect(),
        }
    }

    fn walk(&mut self, flow: &Flow, mut packet: Packet, row: &mut Vec<(LinkId, f32)>) {
        let (mut at, mut arrival) = (flow.src, None);
        while let Some(port) = self.next_hop(at, &mut packet, arrival, flow) {
            let id = self.topology.link_id(at, port);
            let link = self.topology.link(id).expect("forwarders must choose ports that have links");
            row.push((id, 1.0));
            assert!(row.len() <= self.made.len(), "the forwarders send packets of {flow:?} in a loop");
            (at, arrival) = (link.to, Some(link.to_port));
        }
        assert_eq!(at, flow.dst, "the path must end at the flow's destination");
    }

    /// The port by which a packet leaves a node; `None` if the packet is for that node.
    fn next_hop(
        &mut self,
        at: NodeId,
        packet: &mut Packet,
        arrival: Option<PortId>,
        flow: &Flow,
    ) -> Option<PortId> {
        let forwarder = self.made[at.index()].get_or_insert_with(|| (self.forwarders)(at));
        let Some(forwarder) = forwarder else { return arrival.is_none().then_some(PortId(0)) };
        let first = self.topology.link_id(at, PortId(0)).index();
        let ports = Ports(&self.ports[first..first + self.topology.port_count(at)]);
        match forwarder.forward(flow.start, packet, arrival, &ports) {
            Verdict::Forward(port) | Verdict::Answer(port) => Some(port),
            Verdict::Deliver => None,
            verdict @ (Verdict::Absorb | Verdict::Hold(_) | Verdict::Drop(_)) => {
                panic!("the first packet of {flow:?} is not forwarded: {verdict:?}")
            }
        }
    }
}
