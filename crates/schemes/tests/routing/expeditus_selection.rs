//! End-to-end selections, simulated switch by switch, with given loads (specifications/expeditus.md §11.2).

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::clos::{AGGREGATIONS, CORES, TESTBED, TORS, datagram, fabric, plan};
use raddle_core::{
    DropReason, Forwarder, Header, NodeId, Packet, PortId, PortState, Ports, Rate, Time, Verdict,
};
use raddle_schemes::parameter::Value;
use raddle_schemes::routing::expeditus::{Expeditus, ROUTING};
use raddle_testkit::{link, settings};
use raddle_topology::{Clos, ClosSize, Topology};
use raddle_wire::exp::{Tag, Tagged};
use raddle_wire::tcp::{ACK, SYN, Segment};
use raddle_wire::{Ecn, roce};
use std::sync::Arc;

/// Switches with instant delivery between them.
struct Fabric {
    topology: Arc<Topology>,
    clos: Clos,
    switches: Vec<Option<Box<dyn Forwarder>>>,
    ports: Vec<Vec<PortState>>,
    /// Source port of the next flow.
    src_port: u16,
}

/// Bytes of one of the 8 levels of load: 1/8 of what a link of 10 Gb/s carries in 200 us.
const LEVEL: u32 = 31_250;

impl Fabric {
    fn new(size: ClosSize, values: &[(&str, Value)]) -> Self {
        let topology = fabric(size);
        let settings = settings(ROUTING.info.parameters, values);
        let expeditus = Expeditus::new(&plan(&topology, &settings, 1)).expect("a Clos");
        let state = PortState::idle(Rate::from_gbps(10));
        Self {
            clos: Clos::new(size),
            switches: topology.nodes().map(|node| expeditus.forwarder(node)).collect(),
            ports: topology.nodes().map(|node| vec![state; topology.port_count(node)]).collect(),
            topology,
            src_port: 1,
        }
    }

    /// Makes both directions of a link go down. All switches know of the failure.
    fn fail(&mut self, a: NodeId, b: NodeId) {
        for (from, to) in [(a, b), (b, a)] {
            let id = link(&self.topology, from, to);
            let port = self.topology.link(id).expect("a link").from_port;
            self.ports[from.index()][port.index()].up = false;
            self.switches.iter_mut().flatten().for_each(|switch| switch.link(id, false));
        }
    }

    fn uplink(&self, switch: NodeId, uplink: u16) -> PortId {
        PortId(self.clos.uplinks(self.clos.level(switch)).start + uplink)
    }

    fn forward(&mut self, at: NodeId, packet: &mut Packet, arrival: PortId) -> Verdict {
        let switch = self.switches[at.index()].as_mut().expect("a switch");
        switch.forward(Time::ZERO, packet, Some(arrival), &Ports(&self.ports[at.index()]))
    }

    /// Adds to the downward loads of a switch's uplinks. `loads` is in levels.
    fn ingress(&mut self, switch: NodeId, loads: &[u32]) {
        let below = self.clos.hosts_below(switch).start;
        for (uplink, load) in (0..).zip(loads) {
            let mut packet = datagram((below + 1) % 2, below, 9, 0);
            packet.size = load * LEVEL;
            let arrival = self.uplink(switch, uplink);
            self.forward(switch, &mut packet, arrival);
        }
    }

    /// Adds to the upward loads of a switch's uplinks, with traffic to a host of another pod or leaf. `loads` is in
    /// levels.
    fn egress(&mut self, switch: NodeId, loads: &[u32], to: u32) {
        let from = self.clos.hosts_below(switch).start;
        for (uplink, load) in (0..).zip(loads).filter(|(_, load)| **load > 0) {
            let wanted = Verdict::Forward(self.uplink(switch, uplink));
            // Tries flows with empty packets until a flow takes the wanted uplink.
            let flow = (10_000..=u16::MAX).find(|&port| {
                let mut packet = datagram(from, to, port, 0);
                packet.size = 0;
                self.forward(switch, &mut packet, PortId(0)) == wanted
            });
            let mut packet = datagram(from, to, flow.expect("some flow goes there"), 0);
            packet.size = load * LEVEL;
            assert_eq!(self.forward(switch, &mut packet, PortId(0)), wanted);
        }
    }

    /// Carries a packet, and the Exp-response that this packet causes, to their destinations. Returns the switches on
    /// the packet's path.
    fn carry(&mut self, mut packet: Packet, mut at: NodeId, mut arrival: PortId) -> Vec<NodeId> {
        let mut way = vec![at];
        loop {
            let verdict = self.forward(at, &mut packet, arrival);
            let (Verdict::Forward(out) | Verdict::Answer(out)) = verdict else {
                assert_eq!(verdict, Verdict::Absorb);
                return way;
            };
            if let Verdict::Answer(_) = verdict {
                let switch = self.switches[at.index()].as_mut().expect("a switch");
                let (answer, port) = switch.originate().expect("an answer");
                assert!(switch.originate().is_none());
                let next = self.topology.link_at(at, port).expect("a link");
                let (to, to_port) = (next.to, next.to_port);
                self.carry(answer, to, to_port);
            }
            let next = self.topology.link_at(at, out).expect("a link");
            if self.topology.is_host(next.to) {
                return way;
            }
            (at, arrival) = (next.to, next.to_port);
            way.push(at);
        }
    }

    /// Lets a new flow from `src` to `dst` select a path. Returns the switches on this path.
    fn selected(&mut self, src: u32, dst: u32) -> Vec<NodeId> {
        let packet = datagram(src, dst, self.src_port, 0);
        self.src_port += 1;
        self.selected_for(src, packet)
    }

    /// Sends a packet from `src` twice: first to let the packet's flow select a path, then along this path. Returns the
    /// switches on the path.
    fn selected_for(&mut self, src: u32, packet: Packet) -> Vec<NodeId> {
        let leaf = self.topology.links_from(NodeId(src)).next().expect("a link").1;
        let (at, arrival) = (leaf.to, leaf.to_port);
        self.carry(packet.clone(), at, arrival);
        self.carry(packet, at, arrival)
    }
}

/// Oracle S1 of specifications/expeditus.md §11.2, with switches numbered from 0: the flow selects aggregation switch
/// 1, then core 0 of this switch's plane.
#[test]
fn oracle_s1_both_stages() {
    for _ in 0..4 {
        let mut fabric = Fabric::new(TESTBED, &[]);
        fabric.egress(TORS[0], &[3, 1], 7);
        fabric.ingress(TORS[3], &[2, 2]);
        fabric.ingress(AGGREGATIONS[3], &[1, 6]);
        fabric.egress(AGGREGATIONS[1], &[2, 1], 7);
        let expected = [TORS[0], AGGREGATIONS[1], CORES[2], AGGREGATIONS[3], TORS[3]];
        assert_eq!(fabric.selected(0, 7), expected);
    }
}

/// Two RDMA flows between the same two hosts select different paths: the loads of the uplinks change between the two
/// selections.
#[test]
fn rdma_flows_of_two_hosts_select_paths_of_their_own() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    fabric.egress(TORS[0], &[3, 1], 7);
    let write = |src_port| {
        let kind = roce::Kind::Write { psn: 0, plen: 0, offset: 0, size: 0, ack_request: false };
        let packet = roce::Packet { src: 0, dst: 7, priority: 3, ecn: Ecn::Ect0, src_port, flow: 1, kind };
        Packet::new(roce::Packet::LEN as u32, Header::Roce(packet))
    };
    assert_eq!(fabric.selected_for(0, write(0xC000))[1], AGGREGATIONS[1]);
    fabric.egress(TORS[0], &[0, 6], 7);
    assert_eq!(fabric.selected_for(0, write(0xC001))[1], AGGREGATIONS[0]);
    assert_eq!(fabric.selected_for(0, write(0xC000))[1], AGGREGATIONS[1], "the first one keeps its path");
}

/// Oracle S6 of specifications/expeditus.md §11.2: the source's first aggregation switch has lost half of its cores.
/// Within the pod, this loss has no effect.
#[test]
fn oracle_s6_multipliers_at_the_source() {
    for (multipliers, aggregation) in [("auto", 1), ("off", 0)] {
        let mut fabric = Fabric::new(TESTBED, &[("multipliers", Value::Choice(multipliers))]);
        fabric.fail(AGGREGATIONS[0], CORES[0]);
        fabric.egress(TORS[0], &[2, 3], 7);
        fabric.ingress(TORS[3], &[1, 1]);
        fabric.ingress(TORS[1], &[1, 1]);
        assert_eq!(fabric.selected(0, 7)[1], AGGREGATIONS[aggregation], "{multipliers}");
        assert_eq!(fabric.selected(0, 2), [TORS[0], AGGREGATIONS[0], TORS[1]]);
    }
}

/// Oracle S7 of specifications/expeditus.md §11.2: the destination's first aggregation switch has lost half of its
/// cores. Without multipliers there would be a tie.
#[test]
fn oracle_s7_multipliers_at_the_destination() {
    for (multipliers, aggregation) in [("auto", 1), ("off", 0)] {
        let values = [("multipliers", Value::Choice(multipliers)), ("ties", Value::Choice("lowest"))];
        let mut fabric = Fabric::new(TESTBED, &values);
        fabric.fail(AGGREGATIONS[2], CORES[0]);
        fabric.egress(TORS[0], &[1, 2], 7);
        fabric.ingress(TORS[3], &[2, 2]);
        assert_eq!(fabric.selected(0, 7)[1], AGGREGATIONS[aggregation], "{multipliers}");
    }
}

/// Oracle S8 of specifications/expeditus.md §11.2: a multiplied load is at most 7.
#[test]
fn oracle_s8_saturation() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    fabric.fail(AGGREGATIONS[0], CORES[0]);
    fabric.egress(TORS[0], &[4, 6], 7);
    assert_eq!(fabric.selected(0, 7)[1], AGGREGATIONS[1]);
}

/// Oracle S9 of specifications/expeditus.md §11.2: a flow from the second pod to the first. The first aggregation
/// switch of the first pod has lost its first core. This core is not selected, even if the other core is full.
#[test]
fn oracle_s9_a_core_that_does_not_arrive() {
    for (ingress, egress) in [([0, 6], [0, 5]), ([0, 7], [0, 2])] {
        let mut fabric = Fabric::new(TESTBED, &[("ties", Value::Choice("lowest"))]);
        fabric.fail(AGGREGATIONS[0], CORES[0]);
        fabric.ingress(TORS[0], &[0, 7]);
        fabric.ingress(AGGREGATIONS[0], &ingress);
        fabric.egress(AGGREGATIONS[2], &egress, 0);
        let expected = [TORS[3], AGGREGATIONS[2], CORES[1], AGGREGATIONS[0], TORS[0]];
        assert_eq!(fabric.selected(7, 0), expected);
    }
}

/// Oracle S11 of specifications/expeditus.md §11.2: a source's uplink that is down has load 7 and is not selected.
#[test]
fn oracle_s11_a_dead_uplink() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    fabric.fail(TORS[0], AGGREGATIONS[0]);
    fabric.egress(TORS[0], &[0, 5], 7);
    fabric.ingress(TORS[3], &[0, 5]);
    assert_eq!(fabric.selected(0, 7)[1], AGGREGATIONS[1]);
}

/// Oracle S12 of specifications/expeditus.md §11.2: one stage with eight spines; the fourth spine wins.
#[test]
fn oracle_s12_leaf_spine() {
    let mut fabric = Fabric::new(ClosSize::leaf_spine(2, 2, 8), &[]);
    let [source, destination] = [NodeId(4), NodeId(5)];
    fabric.egress(source, &[2, 5, 1, 0, 3, 7, 4, 6], 3);
    fabric.ingress(destination, &[4, 0, 3, 2, 2, 0, 1, 5]);
    assert_eq!(fabric.selected(0, 3), [source, NodeId(6 + 3), destination]);
}

/// All flows that arrive before the loads change make the same selection. This herding is a property of the paper's
/// scheme.
#[test]
fn flows_herd_within_a_period() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    fabric.egress(TORS[0], &[1, 0], 7);
    assert!((0..100).all(|_| fabric.selected(0, 7)[1] == AGGREGATIONS[1]));
}

/// specifications/expeditus.md §5.2: packets that the edge switch itself sends up count as load. Exp-responses are
/// frames of 64 bytes here, and 489 of these frames are one level of load.
#[test]
fn oracle_5_2_answers_count_as_sent() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    for _ in 0..1_200 {
        fabric.selected(0, 7); // the answers return by either plane, according to the loads of the planes
    }
    let mut packet = datagram(7, 0, 1, 0);
    fabric.forward(TORS[3], &mut packet, PortId(1));
    let Header::Exp(tagged) = &packet.header else { panic!("a request") };
    assert_eq!(tagged.tag, Tag::request([1, 1]));
}

/// Tags with a wrong number of loads (specifications/expeditus.md §4.3): a request loses its tag and is forwarded
/// without an answer. An aggregation switch forwards an Exp-response but stores no entry, and the edge switch absorbs
/// the Exp-response.
#[test]
fn oracle_4_3_tags_of_another_fabric() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    let mut packet = datagram(0, 7, 1, 100);
    let bare = packet.clone();
    let tag = Tag::request([0; 3]);
    let inner = packet.header.clone();
    packet.header = Header::Exp(Box::new(Tagged { tag, inner }));
    packet.size += tag.wire_len() as u32;
    let arrival = fabric.uplink(TORS[3], 0);
    assert_eq!(fabric.forward(TORS[3], &mut packet, arrival), Verdict::Forward(PortId(1)));
    assert_eq!(packet, bare);

    let inner = datagram(7, 0, 1, 0).header;
    let tag = Tag::response().with_loads([0; 3]);
    let response = Header::Exp(Box::new(Tagged { tag, inner }));
    let mut response = Packet::new(50, response);
    let arrival = fabric.uplink(AGGREGATIONS[0], 0);
    assert_eq!(fabric.forward(AGGREGATIONS[0], &mut response, arrival), Verdict::Forward(PortId(0)));
    let arrival = fabric.uplink(TORS[0], 0);
    assert_eq!(fabric.forward(TORS[0], &mut response, arrival), Verdict::Absorb);
}

/// A request whose destination host is unreachable is dropped. The switch keeps no answer that it would send when a
/// later packet arrives.
#[test]
fn no_answer_waits_for_another_packet() {
    let mut fabric = Fabric::new(TESTBED, &[]);
    fabric.fail(TORS[3], NodeId(7));
    let mut request = datagram(0, 7, 1, 100);
    assert!(matches!(fabric.forward(TORS[0], &mut request, PortId(0)), Verdict::Drop(_)), "known everywhere");
    let tag = Tag::request([0; 2]);
    request.header = Header::Exp(Box::new(Tagged { tag, inner: datagram(0, 7, 1, 100).header }));
    let arrival = fabric.uplink(TORS[3], 0);
    assert_eq!(fabric.forward(TORS[3], &mut request, arrival), Verdict::Drop(DropReason::NoRoute));
    assert_eq!(fabric.switches[TORS[3].index()].as_mut().and_then(|switch| switch.originate()), None);
}

/// specifications/expeditus.md §5.6: a switch sees that its own port is down before the failure is discovered, and
/// sends no packets to that port.
#[test]
fn oracle_5_6_a_dead_port_is_left_before_it_is_told() {
    for (switch, arrival) in [(TORS[0], PortId(0)), (AGGREGATIONS[0], PortId(0))] {
        let mut fabric = Fabric::new(TESTBED, &[]);
        let (dead, alive) = (fabric.uplink(switch, 0), fabric.uplink(switch, 1));
        fabric.ports[switch.index()][dead.index()].up = false;
        for src_port in 0..20 {
            let verdict = fabric.forward(switch, &mut datagram(0, 7, src_port, 0), arrival);
            assert_eq!(verdict, Verdict::Forward(alive));
        }
        fabric.ports[switch.index()][alive.index()].up = false;
        let verdict = fabric.forward(switch, &mut datagram(0, 7, 99, 0), arrival);
        assert!(matches!(verdict, Verdict::Drop(DropReason::NoRoute)));
    }
}

/// specifications/expeditus.md §0.2 and pitfall 9: within a pod the authors' SYN-ACK carries the destination's ingress
/// loads, not its egress loads.
#[test]
fn oracle_0_2_a_syn_ack_within_a_pod_tells_ingress_loads() {
    let mut fabric = Fabric::new(TESTBED, &[("mode", Value::Choice("authsim"))]);
    fabric.ingress(TORS[1], &[5, 2]);
    fabric.egress(TORS[1], &[1, 7], 7);
    let segment = Segment { src: 2, dst: 0, flags: SYN | ACK, ..Segment::default() };
    let mut packet = Packet::new(40, Header::Tcp(segment));
    fabric.forward(TORS[1], &mut packet, PortId(0));
    let Header::Exp(tagged) = &packet.header else { panic!("{packet:?}") };
    assert!(tagged.tag.loads().eq([5, 2]) && packet.size == 44);
}
