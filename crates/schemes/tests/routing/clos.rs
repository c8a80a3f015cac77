//! A Clos network in the packet engine, whose hosts send packets from a script or use TCP.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    DropReason, Duration, Flow, FlowKey, Forwarder, Header, Host, Input, LinkId, NodeId, Output, Packet,
    Parts, PortId, Ports, Rate, Report, Time, Verdict,
};
use raddle_packet_sim::{Config, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::{flow, registry, settings};
use raddle_topology::builders::{ClosRates, clos};
use raddle_topology::{ClosSize, LinkLayer, Topology};
use raddle_wire::udp::Datagram;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The testbed of the Expeditus paper: two pods of two edge and two aggregation switches, two cores per plane, two
/// hosts per edge switch.
pub(crate) const TESTBED: ClosSize = ClosSize { pods: 2, edges: 2, aggregations: 2, cores: 2, hosts: 2 };

/// The testbed's edge switches, in order of node number.
pub(crate) const TORS: [NodeId; 4] = [NodeId(8), NodeId(9), NodeId(10), NodeId(11)];
/// The testbed's aggregation switches, in order of node number.
pub(crate) const AGGREGATIONS: [NodeId; 4] = [NodeId(12), NodeId(13), NodeId(14), NodeId(15)];
/// The testbed's cores, in order of node number.
pub(crate) const CORES: [NodeId; 4] = [NodeId(16), NodeId(17), NodeId(18), NodeId(19)];

/// A fabric with 10 Gb/s and 2 us per link and Ethernet framing. Between pods, the round trip of a packet of 1,500
/// bytes and its acknowledgement takes 31.8 us (specifications/expeditus.md §1.4).
pub(crate) fn fabric(size: ClosSize) -> Arc<Topology> {
    let topology = clos(size, ClosRates::all(Rate::from_gbps(10)), Duration::from_us(2)).expect("a Clos");
    Arc::new(topology.with_link_layer(LinkLayer::ETHERNET))
}

pub(crate) fn plan<'a>(topology: &'a Arc<Topology>, settings: &'a Settings, seed: u64) -> Plan<'a> {
    Plan::new(topology, "", settings, seed)
}

/// A packet of a flow without a connection.
pub(crate) fn datagram(src: u32, dst: u32, src_port: u16, plen: u16) -> Packet {
    let size = plen.into();
    let datagram = Datagram { src, dst, src_port, dst_port: 5_001, plen, size, ..Datagram::default() };
    Packet::new(Datagram::LEN as u32 + u32::from(plen), Header::Udp(datagram))
}

/// A host that sends packets at given times, in order of time.
pub(crate) struct Script(pub(crate) VecDeque<(Time, Packet)>);

impl Host for Script {
    fn handle(&mut self, _: Time, _: Input<'_>) {}

    fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
        match self.0.front() {
            Some(&(at, _)) if at > now => Output::WakeAt(at),
            Some(_) => {
                Output::Send { packet: self.0.pop_front().expect("the front").1, port: Some(PortId(0)) }
            }
            None => Output::Idle,
        }
    }
}

/// A packet that crossed a link. `arrived` is the arrival time of its last bit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) arrived: Time,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) packet: Packet,
}

impl Seen {
    /// True if the packet has a tag of this kind: Exp-response if `response` is true, otherwise Exp-request.
    pub(crate) fn is_tagged(&self, response: bool) -> bool {
        matches!(&self.packet.header, Header::Exp(tagged) if tagged.tag.is_response == response)
    }
}

#[derive(Debug)]
pub(crate) struct Heard {
    topology: Arc<Topology>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) delivered: Vec<(Time, FlowKey)>,
    pub(crate) dropped: Vec<DropReason>,
}

impl Heard {
    pub(crate) fn of(topology: &Arc<Topology>) -> Self {
        Self { topology: Arc::clone(topology), seen: Vec::new(), delivered: Vec::new(), dropped: Vec::new() }
    }

    /// True if a tagged packet crossed a host's link.
    pub(crate) fn hosts_saw_tags(&self) -> bool {
        let is_hosts = |seen: &&Seen| self.topology.is_host(seen.to) || self.topology.is_host(seen.from);
        self.seen.iter().filter(is_hosts).any(|seen| seen.is_tagged(false) || seen.is_tagged(true))
    }
}

impl Observer for Heard {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        if let Report::Delivered { key, .. } = report {
            self.delivered.push((now, key));
        }
    }

    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        let link = self.topology.link(link).expect("packets cross links");
        let (arrived, from, to) = (sent + link.delay, link.from, link.to);
        self.seen.push(Seen { arrived, from, to, packet: packet.clone() });
    }

    fn dropped(&mut self, _: Time, _: NodeId, _: Option<PortId>, _: &Packet, why: DropReason) {
        self.dropped.push(why);
    }
}

/// Drops the Exp-responses that arrive at a switch.
pub(crate) struct LosesResponses(pub(crate) Box<dyn Forwarder>);

impl Forwarder for LosesResponses {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        match &packet.header {
            Header::Exp(tagged) if tagged.tag.is_response => Verdict::Drop(DropReason::Lost),
            _ => self.0.forward(now, packet, arrival, ports),
        }
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        self.0.originate()
    }
}

/// The hosts' traffic.
pub(crate) enum Traffic {
    /// TCP with a handshake.
    Tcp(Vec<Flow>),
    /// Packets, each sent by its source host at the given time.
    Script(Vec<(Time, Packet)>),
}

/// Runs a simulation to its end.
pub(crate) fn run(
    topology: &Arc<Topology>,
    mut forwarder: impl FnMut(NodeId) -> Option<Box<dyn Forwarder>>,
    traffic: Traffic,
    config: Config,
) -> Simulation<Heard> {
    let (flows, mut script) = match traffic {
        Traffic::Tcp(flows) => (flows, None),
        Traffic::Script(packets) => {
            // The engine polls a host only after an event. Each host therefore gets a flow, which the host ignores.
            let mut hosts: Vec<u32> = packets.iter().map(|(_, packet)| packet.src().0).collect();
            hosts.sort_unstable();
            hosts.dedup();
            let wake = |host: u32| flow(host, host, (host + 1) % 2, 1, Time::ZERO);
            (hosts.into_iter().map(wake).collect(), Some(packets))
        }
    };
    let tcp = registry().transport("tcp-newreno").expect("a transport of the registry");
    let of_tcp = settings(tcp.info.parameters, &[("handshake", Value::Flag(true))]);
    let plan = Plan::new(topology, "ecmp", &of_tcp, 1);
    let mut tcp = registry().build(tcp, &plan, &Settings::defaults(&[])).expect("a fabric that fits");
    let mut host = |id: NodeId| -> Box<dyn Host> {
        match &mut script {
            None => (tcp.node)(id).host.expect("a host"),
            Some(packets) => {
                let (own, others) =
                    packets.drain(..).partition::<Vec<_>, _>(|(_, packet)| packet.src() == id);
                *packets = others;
                Box::new(Script(VecDeque::from(own)))
            }
        }
    };
    let node = |id: NodeId| Parts {
        host: topology.is_host(id).then(|| host(id)),
        forwarder: forwarder(id),
        ..Parts::default()
    };
    let mut simulation =
        Simulation::new(topology, node, |_| PortSetup::default(), flows, config, Heard::of(topology));
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    simulation
}
