//! Helpers for tests of routing in trees: trees, the forwarders that a routing builds, packets and statistics.

use crate::halt::Halt;
use crate::parameter::{Settings, Value};
use crate::scheme::{Plan, Routing, Unfit};
use crate::testing::{RATE, route};
use raddle_core::{Duration, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_topology::{Topology, Xgft, XgftSize, builders};
use raddle_wire::cee::Frame;
use std::sync::Arc;

/// A tree, and the forwarders of its nodes.
pub(crate) struct Fabric {
    pub(crate) topology: Arc<Topology>,
    pub(crate) tree: Xgft,
    pub(crate) nodes: Vec<MayForward>,
}

/// The forwarder of a node, if it has one.
pub(crate) struct MayForward(Option<Box<dyn Forwarder>>);

impl Forwarder for MayForward {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        match &mut self.0 {
            Some(forwarder) => forwarder.forward(now, packet, arrival, ports),
            // As in an engine: a node without a forwarder delivers packets that arrive, and sends its own packets by
            // port 0.
            None if arrival.is_some() => Verdict::Deliver,
            None => Verdict::Forward(PortId(0)),
        }
    }

    fn link(&mut self, link: LinkId, up: bool) {
        if let Some(forwarder) = &mut self.0 {
            forwarder.link(link, up);
        }
    }
}

impl Fabric {
    /// A tree with the forwarders of this routing.
    pub(crate) fn new(size: XgftSize, routing: &Routing, set: &[(&str, Value)]) -> Self {
        let topology = builders::xgft(size.clone(), RATE, Duration::from_ns(50));
        let topology = Arc::new(topology.expect("a tree"));
        let mut forwarder = build(&topology, routing, set).unwrap_or_else(|unfit| panic!("{unfit}"));
        let nodes = topology.nodes().map(|node| MayForward(forwarder(node))).collect();
        Self { topology, tree: Xgft::new(size), nodes }
    }

    /// The nodes between source and destination on a packet's path.
    pub(crate) fn switches(&mut self, packet: &mut Packet) -> Vec<NodeId> {
        let mut at = packet.src();
        let ports = route(&self.topology, &mut self.nodes, packet).expect("a path");
        let next = |port| {
            at = self.topology.link_at(at, port).expect("a link").to;
            at
        };
        let mut nodes: Vec<NodeId> = ports.into_iter().map(next).collect();
        assert_eq!(nodes.pop(), Some(packet.dst()));
        nodes
    }

    /// The highest switch on a packet's path, which is a nearest common ancestor of its source and destination.
    pub(crate) fn top(&mut self, mut packet: Packet) -> NodeId {
        let (src, dst) = (packet.src(), packet.dst());
        let switches = self.switches(&mut packet);
        let level = self.tree.common_level(src, dst);
        assert_eq!(switches.len(), 2 * level - 1, "shortest paths only");
        let top = switches[level - 1];
        assert_eq!(self.tree.level(top), level);
        top
    }
}

/// The forwarders that a routing builds for a fabric.
pub(crate) fn build(
    topology: &Arc<Topology>,
    routing: &Routing,
    set: &[(&str, Value)],
) -> Result<crate::scheme::Forwarders, Unfit> {
    let mut settings = Settings::defaults(routing.info.parameters);
    set.iter().for_each(|&(name, value)| settings.set(name, value));
    routing.build.forwarders(&Plan::new(topology, routing.info.name, &settings, 1), &Halt::default())
}

/// A frame of converged Ethernet of 1,500 bytes.
pub(crate) fn frame(src: u32, dst: u32, flow: u32, offset: u64) -> Packet {
    let size = offset + 1_500;
    let frame = Frame { src, dst, flow, priority: 3, plen: 1_500, offset, size, ..Frame::default() };
    Packet::new(1_500, Header::Cee(frame))
}

/// Asserts that `counts` has `kinds` entries, and that each is within three standard deviations of the mean for equally
/// likely outcomes.
pub(crate) fn even(counts: impl IntoIterator<Item = u32>, kinds: usize) {
    let counts: Vec<u32> = counts.into_iter().collect();
    assert_eq!(counts.len(), kinds, "{counts:?}");
    let draws: u32 = counts.iter().sum();
    let share = (kinds as f64).recip();
    let (mean, deviation) = (f64::from(draws) * share, (f64::from(draws) * share * (1.0 - share)).sqrt());
    assert!(counts.iter().all(|&n| (f64::from(n) - mean).abs() <= 3.0 * deviation), "{counts:?}");
}
