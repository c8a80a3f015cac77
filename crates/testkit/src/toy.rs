//! Hosts and fabrics small enough to work out by hand.

use raddle_core::{
    Duration, Forwarder, Header, Host, Input, NodeId, Output, Packet, PortId, Ports, Rate, Time, Verdict,
};
use raddle_topology::{Builder, Shape, Topology};
use raddle_wire::tcp::Segment;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Arrivals at a host: (time, packet number).
pub type Log = Arc<Mutex<Vec<(Time, u32)>>>;

/// Sends each flow as one packet of the flow's size, at once; records the packets that it receives.
#[derive(Default)]
pub struct Toy {
    /// Packets to be sent.
    pub outbox: VecDeque<Packet>,
    /// Packets received.
    pub received: Log,
}

/// Forwards packets to the right in a [`chain`], of whose inner nodes port 0 leads left and port 1 right; holds the node's own id.
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

/// A packet of `size` bytes, all of them payload.
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
                let Header::Tcp(segment) = &packet.header else { panic!("toys speak TCP") };
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

/// Nodes in a row, 10 Gbps and 100 ns between neighbours; port 0 leads right, except at the last.
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
