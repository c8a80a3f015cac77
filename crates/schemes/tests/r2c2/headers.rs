//! R2C2's nodes and relays tolerate all packet contents: unknown nodes, flow number 0 (which no flow has), protocols
//! that the fabric does not have, trees and routes out of range, and answers without a request.

#![allow(clippy::cast_possible_truncation, reason = "random numbers")]

use raddle_allocate::selection::Utility;
use raddle_core::{
    Bytes, DropReason, Duration, Flow, FlowId, Forwarder, Header, HeaderInfo, Host, Input, LinkId, NodeId,
    Output, Packet, PortId, PortState, Ports, Rate, Stream, Time,
};
use raddle_schemes::transport::r2c2::{
    Doubt, Fabric, Params, Policy, R2c2Node, Selecting, Selection, SourceRoute, StartPolicy,
};
use raddle_schemes::transport::r2c2_central::{self, CentralNode, Push};
use raddle_topology::routing::Protocol;
use raddle_topology::{Topology, builders};
use raddle_wire::r2c2::{
    Acknowledgement, Announcement, Assignment, ControllerEvent, ControllerRates, Data, Digest, DropNotice,
    Event, EventKind, FlowRate, FlowState, NoticeReason, Request, Route, Snapshot, SnapshotBody, Wanted,
};
use std::sync::Arc;

/// Draws headers whose fields hold any values that the wire format can carry.
struct Headers<'a> {
    stream: &'a mut Stream,
    nodes: u16,
    at: u16,
}

impl Headers<'_> {
    fn below(&mut self, count: u64) -> u64 {
        self.stream.below(count)
    }

    fn any(&mut self) -> u64 {
        self.stream.below(u64::MAX)
    }

    /// A node number, usually of a node in the fabric.
    fn node(&mut self) -> u16 {
        if self.below(8) == 0 { self.any() as u16 } else { self.below(self.nodes.into()) as u16 }
    }

    /// A number, usually small, so that different packets often concern the same item.
    fn number(&mut self) -> u16 {
        if self.below(8) == 0 { self.any() as u16 } else { self.below(4) as u16 }
    }

    fn handle(&mut self) -> u32 {
        let src = if self.stream.coin() { self.at } else { self.node() };
        u32::from(src) << 16 | u32::from(self.number())
    }

    fn demand(&mut self) -> u32 {
        [0, 1, u32::MAX, self.any() as u32][self.below(4) as usize]
    }

    fn weight(&mut self) -> u8 {
        1 + self.below(255) as u8
    }

    fn event(&mut self) -> Event {
        let kinds =
            [EventKind::Start, EventKind::Finish, EventKind::Demand, EventKind::Route, EventKind::Refresh];
        Event {
            kind: kinds[self.below(5) as usize],
            tree: self.any() as u8,
            src: self.node(),
            dst: self.node(),
            weight: self.weight(),
            priority: self.below(16) as u8,
            protocol: self.below(16) as u8,
            demand_kbps: self.demand(),
            lid: self.number(),
        }
    }

    fn data(&mut self, plen: u16) -> Data {
        let hops = self.below(43) as u8;
        let ports: Vec<u16> = (0..hops).map(|_| self.below(8) as u16).collect();
        let flow = self.handle();
        Data {
            flow,
            src: if self.stream.coin() { (flow >> 16) as u16 } else { self.node() },
            dst: if self.below(4) == 0 { self.node() } else { self.at },
            seq: if self.stream.coin() { self.below(4) as u32 } else { self.any() as u32 },
            plen,
            rlen: hops,
            ridx: self.below(u64::from(hops) + 1) as u8,
            flags: self.below(4) as u8,
            route: Route::from_ports(ports, 3).expect("42 hops at most"),
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let (one, other) = (self.number(), self.number());
        let (first, last) = (one.min(other), one.max(other));
        let flows: Vec<FlowState> = (0..self.below(4))
            .map(|_| FlowState {
                lid: first + self.below(u64::from(last - first) + 1) as u16,
                dst: self.node(),
                weight: self.weight(),
                priority: self.below(16) as u8,
                protocol: self.below(16) as u8,
                demand_kbps: self.demand(),
            })
            .collect();
        let data = self.data(Snapshot::plen(flows.len()));
        Snapshot { data, body: SnapshotBody { hash: self.any(), first, last, flows }.into() }
    }

    fn header(&mut self) -> Header {
        match self.below(12) {
            0 => Header::R2c2Data(self.data(1_500)),
            1 => Header::R2c2DropNotice(DropNotice {
                data: self.data(DropNotice::PAYLOAD_LEN),
                dropped: if self.stream.coin() {
                    Event { src: self.at, ..self.event() }
                } else {
                    self.event()
                },
                node: self.node(),
                port: self.any() as u8,
                reason: NoticeReason::QueueFull,
            }),
            2 => Header::R2c2Acknowledgement(Acknowledgement {
                data: self.data(Acknowledgement::PAYLOAD_LEN),
                next: self.demand(),
                window: self.number(),
                from: self.number(),
                arrived: self.any().to_be_bytes(),
            }),
            3 | 4 => {
                let count = self.below(4);
                let assignments: Vec<Assignment> = (0..count)
                    .map(|_| Assignment { flow: self.handle(), protocol: self.below(16) as u8 })
                    .collect();
                let (tree, src, epoch) = (self.any() as u8, self.node(), self.number());
                let assignments = assignments.into();
                Header::R2c2Announcement(Announcement { tree, src, epoch, assignments })
            }
            5 => {
                let event = self.event();
                Header::R2c2ControllerEvent(ControllerEvent { data: self.data(Event::LEN as u16), event })
            }
            6 => {
                let count = self.below(4);
                let rates: Vec<FlowRate> =
                    (0..count).map(|_| FlowRate { lid: self.number(), kbps: self.demand() }).collect();
                let data = self.data((rates.len() * FlowRate::LEN) as u16);
                Header::R2c2ControllerRates(Box::new(ControllerRates { data, rates: rates.into() }))
            }
            7 => Header::R2c2Digest(Digest { tree: self.any() as u8, src: self.node(), hash: self.below(2) }),
            8 => {
                let wanted = if self.stream.coin() { Wanted::Resend } else { Wanted::Snapshot };
                Header::R2c2Request(Request { data: self.data(0), wanted })
            }
            9 => Header::R2c2Snapshot(self.snapshot()),
            _ => Header::R2c2Event(self.event()),
        }
    }
}

fn fabrics() -> Vec<Arc<Topology>> {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_ns(100));
    let fabrics = [
        builders::torus(&[3, 3], rate, delay),
        builders::mesh(&[3, 2], rate, delay),
        builders::folded_clos(2, 2, 2, rate, rate, delay),
    ];
    fabrics.map(|fabric| Arc::new(fabric.expect("a small fabric"))).to_vec()
}

fn params(stream: &mut Stream) -> Params {
    let selection = Selection {
        by: [Selecting::One, Selecting::Random, Selecting::Token][stream.below(3) as usize],
        period: Duration::from_us(200),
        among: &[Protocol::Rps, Protocol::Vlb],
        utility: [Utility::Aggregate, Utility::Minimum, Utility::PerTenant][stream.below(3) as usize],
        evaluations: 20,
    };
    Params {
        rho: Duration::from_us([0, 20][stream.below(2) as usize]),
        policy: [Policy::Weights, Policy::Deadline, Policy::Tenant(2)][stream.below(3) as usize],
        start: [
            StartPolicy::Local,
            StartPolicy::Batch,
            StartPolicy::Link,
            StartPolicy::Line,
            StartPolicy::Residual,
        ][stream.below(5) as usize],
        selection: stream.coin().then_some(selection),
        doubt: if stream.coin() { Doubt::Always } else { Doubt::AfterFaults },
        digest_period: Duration::from_us(100),
        reliable: stream.coin(),
        hop_bits: 3 + stream.below(3) as u32,
        ..Params::default()
    }
}

/// Starts flows at a host, and sends all kinds of packets to the host and through a relay. Reports dropped packets,
/// damaged packets and link changes to the host, and polls the host's outputs.
fn torment(host: &mut impl Host, topology: &Topology, id: NodeId, stream: &mut Stream, hop_bits: u32) {
    let links: Vec<LinkId> = topology.links().map(|(link, _)| link).collect();
    let nodes = topology.node_count() as u16;
    let mut relay = SourceRoute::new(hop_bits);
    let mut now = Time::ZERO;
    let mut said: Option<Packet> = None;
    for step in 0..300 {
        now += Duration::from_ns(stream.below(20_000));
        let port = |port| {
            let mut state = PortState::idle(Rate::from_gbps(10)).busy_until(now + Duration::from_ns(1));
            state.up = topology.link_at(id, PortId::of(port)).is_some();
            state
        };
        let ports: Vec<PortState> = (0..topology.port_count(id)).map(port).collect();
        let ports = Ports(&ports);
        let port = PortId::of(stream.below(ports.0.len() as u64) as usize);
        match stream.below(16) {
            0 if topology.is_host(id) => {
                let hosts: Vec<NodeId> = topology.hosts().filter(|&host| host != id).collect();
                let dst = hosts[stream.below(hosts.len() as u64) as usize];
                let flow = Flow::new(FlowId(step), id, dst, Bytes(1 + stream.below(20_000)), now);
                host.handle(now, Input::Flow(&flow));
            }
            1 => host.handle(now, Input::Corrupted { port }),
            2 => {
                let link = links[stream.below(links.len() as u64) as usize];
                host.handle(now, Input::Link { link, up: stream.coin() });
            }
            3 => {
                if let Some(packet) = &said {
                    let reason = if stream.coin() { DropReason::QueueFull } else { DropReason::LinkDown };
                    host.handle(now, Input::Dropped { packet, port, reason });
                }
            }
            _ => {
                let header = Headers { stream, nodes, at: id.0 as u16 }.header();
                let mut packet = Packet::new(header.wire_len() as u32, header);
                host.handle(now, Input::Packet { packet: &packet, port });
                relay.foresee(&packet);
                relay.forward(now, &mut packet, Some(port), &ports);
            }
        }
        for outputs in 0.. {
            assert!(outputs < 10_000, "it never comes to rest");
            match host.poll(now, &ports) {
                Output::Send { packet, .. } => said = Some(packet),
                Output::Report(_) => {}
                Output::WakeAt(at) if at <= now => {}
                Output::WakeAt(_) | Output::Idle => break,
            }
        }
    }
}

#[test]
fn a_node_survives_any_input() {
    for seed in 0..60 {
        for topology in fabrics() {
            let stream = &mut Stream::new(seed, 0, "test/headers");
            let params = params(stream);
            let fabric = Fabric::new(&topology, params);
            let id = NodeId(stream.below(topology.node_count() as u64) as u32);
            torment(&mut R2c2Node::new(&fabric, id, seed), &topology, id, stream, params.hop_bits);
        }
    }
}

#[test]
fn a_controller_and_its_nodes_survive_any_input() {
    for seed in 0..60 {
        for topology in fabrics() {
            let stream = &mut Stream::new(seed, 0, "test/headers");
            let r2c2 = Params { rho: Duration::from_us(20), ..params(stream) };
            let push = if stream.coin() { Push::Event } else { Push::Tick };
            let params = r2c2_central::Params { r2c2, controller: NodeId(0), push };
            let fabric = Fabric::new(&topology, r2c2);
            let id = NodeId(stream.below(2) as u32);
            let mut node = CentralNode::new(&fabric, &params, id, seed);
            torment(&mut node, &topology, id, stream, r2c2.hop_bits);
        }
    }
}
