//! The test network is a fat-tree of 4-port switches at 10 Gb/s: hosts are nodes 0 to 15, edge switches 16 to 23,
//! aggregation switches 24 to 31, cores 32 to 35. Ports 0 and 1 of edge and aggregation switches lead down, ports 2 and
//! 3 lead up. A core's port i leads to pod i.

use super::*;
use crate::parameter::Settings;
use raddle_core::{DropReason, Header, NodeId, Packet, PortId, PortState, Ports, Rate, Time, Verdict};
use raddle_topology::Topology;
use raddle_topology::builders::{self, ClosRates};
use raddle_wire::hula::Probe;
use raddle_wire::tcp::{ACK, Segment};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);
const PORTS: Ports<'_> = Ports(&[PortState::idle(RATE); 4]);
/// The first edge switch of the first pod.
const A: NodeId = NodeId(16);
/// The first edge switch of the second pod.
const B: NodeId = NodeId(18);

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn packet(src: u32, dst: u32, flow: u16) -> Packet {
    let segment = Segment { src, dst, src_port: flow, dst_port: 1, flags: ACK, ..Segment::default() };
    Packet::new(40, Header::Tcp(segment))
}

struct Net {
    topology: Arc<Topology>,
    switches: BTreeMap<NodeId, Switch>,
}

impl Net {
    fn new() -> Self {
        let topology =
            builders::fat_tree(4, ClosRates::all(RATE), Duration::from_ns(100)).expect("a fat-tree");
        let topology = Arc::new(topology);
        let Shape::Clos(size) = *topology.shape() else { panic!("a Clos network") };
        let (clos, paths) = (Clos::new(size), ShortestPaths::new(&topology));
        let parameters = Parameters::default();
        let switch = |node| (node, Switch::new(node, &clos, size.hosts, &paths, &parameters, 1));
        let switches = (16..36).map(|node| switch(NodeId(node))).collect();
        Self { topology, switches }
    }

    fn at(&mut self, node: NodeId) -> &mut Switch {
        self.switches.get_mut(&node).expect("a switch")
    }

    /// Passes a packet to a switch. Returns the verdict, and the packets that the switch then originates.
    fn step(
        &mut self,
        now: Time,
        node: NodeId,
        mut packet: Packet,
        arrival: PortId,
    ) -> (Verdict, Vec<(Packet, PortId)>) {
        let switch = self.at(node);
        let verdict = switch.forward(now, &mut packet, Some(arrival), &PORTS);
        let own = std::iter::from_fn(|| switch.originate()).collect();
        (verdict, own)
    }

    /// Runs a switch's timer. Returns the packets that the switch then sends.
    fn tick(&mut self, now: Time, node: NodeId, ports: &Ports<'_>) -> Vec<(Packet, PortId)> {
        let switch = self.at(node);
        switch.tick(now, ports);
        std::iter::from_fn(|| switch.originate()).collect()
    }

    /// Lets an edge switch send probes, either by its timer or because of a packet from one of its hosts. The probes
    /// then travel through the network. Returns the links that the probes cross.
    fn probe(&mut self, now: Time, tor: NodeId) -> Vec<(NodeId, PortId)> {
        let host = (tor.0 - 16) * 2;
        let own = if self.at(tor).next_tick() < Time::NEVER {
            self.tick(now, tor, &PORTS)
        } else {
            let (verdict, own) = self.step(now, tor, packet(host, host + 1, 0), PortId(0));
            assert_eq!(verdict, Verdict::Answer(PortId(1)));
            own
        };
        let mut links = Vec::new();
        let mut flying: VecDeque<_> = own.into_iter().map(|(packet, port)| (tor, packet, port)).collect();
        while let Some((from, packet, port)) = flying.pop_front() {
            assert!(packet.size == 46 && packet.src() == tor);
            links.push((from, port));
            assert!(links.len() < 1_000, "probes turn in circles");
            let link = self.topology.link_at(from, port).copied().expect("a link");
            let (verdict, own) = self.step(now, link.to, packet, link.to_port);
            assert_eq!(verdict, Verdict::Absorb);
            flying.extend(own.into_iter().map(|(packet, port)| (link.to, packet, port)));
        }
        links
    }

    /// Adds `percent` percent to the utilisation of the link from node `from` to its neighbor `to`.
    fn load(&mut self, now: Time, from: u32, to: u32, percent: u32) {
        let (_, link) =
            self.topology.links_from(NodeId(from)).find(|(_, link)| link.to.0 == to).expect("neighbours");
        let port = link.from_port;
        self.at(NodeId(from)).utilisation.count(now, port, percent * 5_000);
    }

    /// The ports that a switch selects for packets of 60 flows to a host.
    fn taken(&mut self, now: Time, node: NodeId, dst: u32) -> BTreeSet<u16> {
        (0..60)
            .map(|flow| match self.step(now, node, packet(0, dst, flow), PortId(0)).0 {
                Verdict::Forward(port) | Verdict::Answer(port) => port.0,
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

/// HULA §3.2: probes go up and then down, never up again. An edge switch sends a probe over 2 links to aggregation
/// switches. Each of these sends the probe over 1 link to the other edge switch and over 2 links to cores. Each of the
/// 4 cores sends the probe over 3 links to other pods. Each of the 12 copies that arrive there crosses 2 links to edge
/// switches. The sum is 2 + 6 + 12 + 24 = 44 links.
#[test]
fn oracle_6_5_probes_reach_every_edge_switch() {
    let mut net = Net::new();
    for (n, tor) in (16..24).map(NodeId).enumerate() {
        let links = net.probe(us(n as u64), tor);
        let clos = |node: NodeId| Clos::new(raddle_topology::ClosSize::fat_tree(4)).level(node);
        let from = |level| links.iter().filter(move |(node, _)| clos(*node) == level);
        let up = |level| from(level).filter(|(_, port)| port.0 >= 2).count();
        assert_eq!([links.len(), up(1), up(2), from(3).count()], [44, 2, 4, 12]);
        assert_eq!(from(1).count(), 2, "edge switches pass nothing on");
        assert_eq!(links.iter().filter(|(node, _)| *node == tor).count(), 2);
        let known = net.switches.iter().filter(|(_, switch)| switch.best.port(us(n as u64), n).is_some());
        let known: BTreeSet<NodeId> = known.map(|(&node, _)| node).collect();
        assert!((16..36).map(NodeId).all(|node| known.contains(&node) != (node == tor)), "{tor}: {known:?}");
    }
}

/// HULA §3.3: the path whose busiest link has the least utilisation is found. Four paths lead from A to B: through the
/// aggregation switches 24 and 26 and core 32 or 33, or through 25 and 27 and core 34 or 35. Columns: the expected
/// ports at A and at the first aggregation switch; three links (from, to), each with its utilisation in percent.
#[test]
fn oracle_6_5_the_path_whose_busiest_link_is_idlest_is_found() {
    for (free, loads) in [
        ((2, 2), [(27, 18, 60), (33, 26, 50), (24, 32, 20)]),
        ((2, 3), [(27, 18, 60), (32, 26, 50), (24, 33, 20)]),
        ((3, 2), [(24, 32, 90), (24, 33, 40), (35, 27, 30)]),
        ((3, 3), [(26, 18, 30), (34, 27, 70), (25, 35, 29)]),
        ((3, 3), [(16, 24, 80), (25, 34, 50), (35, 27, 40)]),
    ] {
        let mut net = Net::new();
        for (from, to, percent) in loads {
            net.load(us(1), from, to, percent);
        }
        net.probe(us(1), B);
        assert_eq!(net.taken(us(2), A, 4), [free.0].into(), "{loads:?}");
        let aggregation = NodeId(if free.0 == 2 { 24 } else { 25 });
        assert_eq!(net.taken(us(2), aggregation, 4), [free.1].into(), "{loads:?}");
    }
}

#[test]
fn a_flowlet_stays_and_the_next_one_follows_the_probes() {
    let mut net = Net::new();
    net.load(us(0), 16, 25, 50);
    net.probe(us(0), B);
    assert_eq!(net.taken(us(101), A, 4), [2].into());
    net.load(us(190), 26, 18, 90);
    net.load(us(190), 16, 24, 90);
    net.probe(us(200), B);
    assert_eq!(net.taken(us(201), A, 4), [2].into(), "no gap longer than 100 us");
    assert_eq!(net.taken(us(302), A, 4), [3].into(), "101 us later");
}

/// HULA §3.4: a next hop that no probe reports for `ageing` is no longer used. Unlike the paper, this implementation
/// then falls back to ECMP.
#[test]
fn oracle_6_5_without_probes_next_hops_age() {
    let mut net = Net::new();
    assert_eq!(net.taken(us(0), A, 4), [2, 3].into(), "before the first probe");
    net.load(us(200), 16, 24, 50);
    net.probe(us(200), B);
    assert_eq!(net.taken(us(799), A, 4), [3].into());
    assert_eq!(net.taken(us(900), A, 4), [2, 3].into(), "more than 600 us after the probe, and a gap");
}

/// HULA §3.2: an edge switch probes every 200 us, as long as packets pass.
#[test]
fn an_edge_switch_probes_by_a_timer_that_stops_when_no_packet_passes_for_long() {
    let mut net = Net::new();
    assert_eq!(net.at(A).next_tick(), Time::NEVER, "an idle fabric is at rest");
    let pass = |net: &mut Net, at| net.step(us(at), A, packet(0, 1, 0), PortId(0)).1.len();
    assert_eq!([0, 1, 199, 250].map(|at| pass(&mut net, at)), [2, 0, 0, 0], "the first one sets off probes");
    // The last packet passes at 250 us, and `ageing` is 600 us. The switch stops probing at its first tick after 850
    // us.
    for (at, probes, next) in [(200, 2, us(400)), (400, 2, us(600)), (600, 2, us(800)), (800, 2, us(1_000))] {
        assert_eq!(net.at(A).next_tick(), us(at));
        assert_eq!(net.tick(us(at), A, &PORTS).len(), probes, "{at}");
        assert_eq!(net.at(A).next_tick(), next);
    }
    assert_eq!(net.tick(us(1_000), A, &PORTS).len(), 0);
    assert_eq!(net.at(A).next_tick(), Time::NEVER);
    assert_eq!([1_050, 1_051].map(|at| pass(&mut net, at)), [2, 0]);
    assert_eq!(net.at(A).next_tick(), us(1_250));
    let core = net.step(us(5_000), NodeId(32), packet(0, 4, 0), PortId(0));
    assert_eq!(core, (Verdict::Forward(PortId(1)), vec![]), "others do not probe");
    assert_eq!(net.at(NodeId(32)).next_tick(), Time::NEVER);
}

#[test]
fn links_known_to_be_down_carry_no_flowlets_and_no_probes() {
    let mut net = Net::new();
    net.load(us(0), 16, 25, 50);
    net.probe(us(0), B);
    let dead = net.topology.link_id(A, PortId(2));
    let back = net.topology.reverse(dead);
    for link in [dead, back] {
        net.at(A).link(link, false);
    }
    assert_eq!(net.taken(us(1), A, 4), [3].into());
    let mut ports = PORTS.0.to_vec();
    ports[2].up = false;
    let by: Vec<PortId> = net.tick(us(201), A, &Ports(&ports)).into_iter().map(|(_, port)| port).collect();
    assert_eq!(by, [PortId(3)]);
}

#[test]
fn probes_that_cannot_be_are_dropped() {
    let mut net = Net::new();
    let mut verdict = |tor, node, port| {
        let packet = Packet::new(46, Header::HulaProbe(Probe { tor, utilisation: 0 }));
        net.step(us(0), NodeId(node), packet, PortId(port))
    };
    let dropped = (Verdict::Drop(DropReason::Malformed), vec![]);
    assert_eq!(verdict(18, 16, 0), dropped, "from a host");
    assert_eq!(verdict(15, 24, 0), dropped, "of a host");
    assert_eq!(verdict(24, 24, 0), dropped, "of an aggregation switch");
    assert_eq!(verdict(0xFF_FFFF, 24, 0), dropped, "of nothing");
}

#[test]
fn other_fabrics_are_refused() {
    let torus = Arc::new(builders::torus(&[4, 4], RATE, Duration::from_ns(100)).expect("a torus"));
    let settings = Settings::defaults(INFO.parameters);
    let unfit = build(&Plan::new(&torus, "hula", &settings, 1)).err();
    assert!(unfit.is_some_and(|unfit| unfit.problem.contains("Clos") && unfit.key == "scheme.routing"));
}
