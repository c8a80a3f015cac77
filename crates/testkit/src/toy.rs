//! Hosts and fabrics that are so simple that a test can state the exact time of each arrival.

use raddle_core::{
    Duration, Forwarder, Header, Host, Input, NodeId, Output, Packet, PortId, Ports, Rate, Time, Verdict,
};
use raddle_topology::{Builder, Shape, Topology};
use raddle_wire::tcp::Segment;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The arrivals at a host: time and packet number.
pub type Log = Arc<Mutex<Vec<(Time, u32)>>>;

/// A host that sends each flow at once as one packet of the flow's size, and records the packets that it receives.
#[derive(Default)]
pub struct Toy {
    /// Packets to send.
    pub outbox: VecDeque<Packet>,
    /// Packets that were received.
    pub received: Log,
}

/// A forwarder for the node with this id in a [`chain`]. It delivers packets for this node, sends other arriving
/// packets on through port 1, and sends packets of the node itself through port 0. So all packets that the chain's
/// first node sends go to the right. At inner nodes of the chain, port 0 leads to the left and port 1 to the right.
pub struct Rightward(pub NodeId);

impl Forwarder for Rightward {
    fn forward(&mut self, _: Time, packet: &mut Packet, from: Option<PortId>, _: &Ports<'_>) -> Verdict {
        match from {
            _ if packet.dst() == self.0 => Verdict::Deliver,
            Some(_) => Verdict::Forward(PortId(1)),
            None => Verdict::Forward(PortId(0)),
        }
    }
}

/// Creates a packet of `size` bytes. All of them count as payload, and the header has no size of its own.
///
/// # Panics
/// If `size` is 2^16 or more.
#[must_use]
pub fn packet(src: NodeId, dst: NodeId, seq: u32, size: u32) -> Packet {
    let plen = u16::try_from(size).expect("a small packet");
    let segment = Segment { src: src.0, dst: dst.0, seq, plen, ..Segment::default() };
    Packet::new(size, Header::Tcp(segment))
}

impl Host for Toy {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => {
                let size = u32::try_from(flow.size.0).expect("a small flow");
                self.outbox.push_back(packet(flow.src, flow.dst, flow.id.0, size));
            }
            Input::Packet { packet, .. } => {
                let Header::Tcp(segment) = &packet.header else { panic!("toy hosts send only TCP packets") };
                self.received.lock().expect("no panic elsewhere").push((now, segment.seq));
            }
            _ => {}
        }
    }

    fn poll(&mut self, _: Time, _: &Ports<'_>) -> Output {
        match self.outbox.pop_front() {
            Some(packet) => Output::Send { packet, port: Some(PortId(0)) },
            None => Output::Idle,
        }
    }
}

/// Builds a chain of nodes with links of 10 Gbps and a propagation delay of 100 ns. At the first node, port 0 leads to
/// the right. At the last node, port 0 leads to the left.
#[must_use]
pub fn chain(nodes: u32) -> Arc<Topology> {
    let mut builder = Builder::default();
    for _ in 0..nodes {
        builder.host(0);
    }
    for left in 0..nodes - 1 {
        builder.join(NodeId(left), NodeId(left + 1), Rate::from_gbps(10), Duration::from_ns(100));
    }
    Arc::new(builder.build(Shape::General))
}
