//! A rack of R2C2 nodes, or of other nodes with R2C2's data plane, in the packet engine.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    DropReason, Duration, Flow, Header, Host, LinkId, NodeId, Packet, Parts, PortId, Rate, Report, Stream,
    Time,
};
use raddle_packet_sim::{Change, Config, Observer, PortSetup, Simulation};
use raddle_schemes::transport::r2c2::{Fabric, Params, R2c2Node, SourceRoute};
use raddle_testkit::flow;
use raddle_topology::{Topology, builders};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The part of a run's results that tests read.
#[derive(Default)]
pub(crate) struct Heard {
    /// Data packets that left their source, with the time and the link.
    pub(crate) sent: Vec<(Time, LinkId, Packet)>,
    pub(crate) reports: Vec<(Time, Report)>,
    pub(crate) lost: u64,
    pub(crate) lost_events: u64,
    /// Data packets lost at a dead link: the time, the node and the port of each loss.
    pub(crate) dead_ends: Vec<(Time, NodeId, PortId)>,
    /// Number of packets lost, by reason.
    pub(crate) reasons: BTreeMap<String, u64>,
}

impl Observer for Heard {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        self.reports.push((now, report));
    }

    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        if let Header::R2c2Data(data) = &packet.header
            && data.ridx == 1
        {
            self.sent.push((sent, link, packet.clone()));
        }
    }

    fn dropped(&mut self, now: Time, node: NodeId, port: Option<PortId>, packet: &Packet, why: DropReason) {
        if let (DropReason::LinkDown, Some(port), true) = (why, port, packet.is_data()) {
            self.dead_ends.push((now, node, port));
        }
        *self.reasons.entry(format!("{why:?}")).or_default() += 1;
        self.lost += 1;
        self.lost_events += u64::from(matches!(packet.header, Header::R2c2Event(_)));
    }
}

/// Nodes that the test can inspect while the engine owns them.
pub(crate) type Nodes<H> = Vec<Arc<Mutex<H>>>;

struct Shared<H>(Arc<Mutex<H>>);

impl<H: Host> Host for Shared<H> {
    fn handle(&mut self, now: Time, input: raddle_core::Input<'_>) {
        self.0.lock().expect("no panic").handle(now, input);
    }

    fn poll(&mut self, now: Time, ports: &raddle_core::Ports<'_>) -> raddle_core::Output {
        self.0.lock().expect("no panic").poll(now, ports)
    }
}

pub(crate) struct Rack<H = R2c2Node> {
    pub(crate) nodes: Nodes<H>,
    pub(crate) hosts: Vec<NodeId>,
    pub(crate) simulation: Simulation<Heard>,
}

pub(crate) fn torus(dims: &[u32]) -> Arc<Topology> {
    Arc::new(builders::torus(dims, Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims"))
}

pub(crate) fn rack(
    topology: &Arc<Topology>,
    params: Params,
    flows: Vec<Flow>,
    limit: Option<Time>,
    changes: Vec<Change>,
    limit_packets: Option<usize>,
) -> Rack {
    let config = Config { time_limit: limit, changes, ..Config::default() };
    rack_under(topology, params, flows, config, limit_packets)
}

/// Runs a rack with the link changes and errors of `config`, and with a queue limit.
pub(crate) fn rack_under(
    topology: &Arc<Topology>,
    params: Params,
    flows: Vec<Flow>,
    config: Config,
    limit_packets: Option<usize>,
) -> Rack {
    let fabric = Fabric::new(topology, params);
    rack_of(topology, |id| R2c2Node::new(&fabric, id, 1), params.hop_bits, flows, limit_packets, config)
}

/// Runs a rack of any kind of nodes, with source routes of `hop_bits` bits per hop.
pub(crate) fn rack_of<H: Host + 'static>(
    topology: &Arc<Topology>,
    node: impl Fn(NodeId) -> H,
    hop_bits: u32,
    flows: Vec<Flow>,
    limit_packets: Option<usize>,
    config: Config,
) -> Rack<H> {
    let nodes: Nodes<H> = topology.nodes().map(|id| Arc::new(Mutex::new(node(id)))).collect();
    let parts = |id: NodeId| Parts {
        host: Some(Box::new(Shared(Arc::clone(&nodes[id.index()])))),
        forwarder: Some(Box::new(SourceRoute::new(hop_bits))),
        ..Parts::default()
    };
    let port = |_| PortSetup { limit_packets, ..PortSetup::default() };
    let mut simulation = Simulation::new(topology, parts, port, flows, config, Heard::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    Rack { nodes, hosts: topology.hosts().collect(), simulation }
}

/// Rate in bit/s, headers included, of the data packets that `which` selects and that left their source in `from..to`.
pub(crate) fn rate(heard: &Heard, from: Time, to: Time, which: impl Fn(&Packet) -> bool) -> f64 {
    let bytes: u64 = heard
        .sent
        .iter()
        .filter(|(at, _, packet)| (from..to).contains(at) && which(packet))
        .map(|(_, _, packet)| u64::from(packet.size))
        .sum();
    bytes as f64 * 8.0 / to.since(from).as_secs_f64()
}

/// Asserts that all live hosts have the same table digests and rate vectors at quiescence. Switches are left out,
/// because a switch learns only of flows whose broadcast trees contain the switch.
pub(crate) fn assert_converged(rack: &Rack, dead: &[u32]) {
    let alive = rack.hosts.iter().filter(|host| !dead.contains(&host.0));
    assert_alike(alive.map(|host| &rack.nodes[host.index()]), "");
}

/// Asserts that these nodes, which can reach each other, have the same table digests and rate vectors at quiescence.
pub(crate) fn assert_alike<'a>(nodes: impl Iterator<Item = &'a Arc<Mutex<R2c2Node>>>, what: &str) {
    let nodes: Vec<_> = nodes.map(|node| node.lock().expect("no panic")).collect();
    let digests: Vec<u64> = nodes.iter().map(|node| node.table().digest()).collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{what} {digests:?}");
    let rates = |node: &R2c2Node| -> Vec<(u32, u64)> {
        node.compute_all().into_iter().map(|(key, rate)| (key, rate.to_bits())).collect()
    };
    let mut all = nodes.iter().map(|node| rates(node));
    let first = all.next().expect("a node alive");
    assert!(all.all(|other| other == first), "rate vectors differ {what}");
}

/// Random flows of 1 to 2 · `size` bytes. The gaps between their starts are random times of less than 2 · `gap_ns`.
pub(crate) fn random_flows(nodes: u64, count: u32, size: u64, gap_ns: u64, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, 0, "test/flows");
    let mut at = Time::ZERO;
    (0..count)
        .map(|id| {
            at += Duration::from_ns(stream.below(2 * gap_ns));
            let src = stream.below(nodes);
            let dst = (src + 1 + stream.below(nodes - 1)) % nodes;
            flow(id, src as u32, dst as u32, 1 + stream.below(2 * size), at)
        })
        .collect()
}
