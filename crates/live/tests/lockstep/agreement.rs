//! Compares lockstep with the packet engine. Hosts send, answer and wake at random, at times so coarse that most events
//! coincide with other events. Both engines put the same packets on the same links at the same times. Noisy links lose
//! and damage the same packets.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::both::{run_in_lockstep, simulate};
use proptest::prelude::*;
use raddle_core::{
    Bytes, Duration, Flow, FlowId, Forwarder, Header, Host, Input, LinkErrors, NodeId, Output, Packet, Parts,
    PortId, Ports, Rate, Stream, Time, Verdict,
};
use raddle_topology::{Builder, Shape, Topology};
use raddle_wire::r2c2::{Data, Route};
use std::sync::Arc;

const HOP_BITS: u32 = 3;
/// All times are multiples of this time. At 10 Gbps, packets of 50 and 100 bytes have serialization delays of 40 and 80
/// ns, and the links have a propagation delay of 40 ns.
const GRID: Duration = Duration::from_ns(40);

/// Sends packets on random walks, and answers received packets, until it has sent `patience` packets.
struct Chatterbox {
    random: Stream,
    outbox: Vec<Packet>,
    wake: Time,
    patience: u32,
}

impl Chatterbox {
    fn say_something(&mut self) {
        if self.patience == 0 {
            return;
        }
        self.patience -= 1;
        let hops = 1 + self.random.below(4);
        let walk: Vec<u16> = (0..hops).map(|_| self.random.below(2) as u16).collect();
        let plen = 14 + 50 * self.random.below(2) as u16;
        let data = Data {
            flow: self.random.bits() as u32,
            src: 0,
            dst: 0,
            seq: self.patience,
            plen,
            rlen: walk.len() as u8,
            ridx: 0,
            flags: 0,
            route: Route::from_ports(walk, HOP_BITS).expect("a short walk"),
        };
        self.outbox.push(Packet::new(36 + u32::from(plen), Header::R2c2Data(data)));
    }
}

impl Host for Chatterbox {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        let least = u64::from(matches!(input, Input::Flow(_)));
        for _ in 0..least + self.random.below(3) {
            self.say_something();
        }
        if self.random.coin() {
            self.wake = now + GRID * self.random.below(4);
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        if self.wake <= now {
            self.wake = Time::NEVER;
            self.say_something();
        }
        match self.outbox.pop() {
            // Sometimes the host itself picks a port: the port that is free first.
            Some(packet) if self.random.coin() => {
                let first_free = (0..2).min_by_key(|&port| ports.get(PortId(port)).free_at(now));
                Output::Send { packet, port: first_free.map(PortId) }
            }
            Some(packet) => Output::Send { packet, port: None },
            None if self.wake < Time::NEVER => Output::WakeAt(self.wake),
            None => Output::Idle,
        }
    }
}

struct Walk;

impl Forwarder for Walk {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let Header::R2c2Data(data) = &mut packet.header else { unreachable!("chatterboxes send data") };
        if data.ridx == data.rlen {
            return Verdict::Deliver;
        }
        data.ridx += 1;
        Verdict::Forward(PortId(data.route.port(data.ridx - 1, HOP_BITS)))
    }
}

fn flow(id: u32, src: u32, start: u64) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(0), Bytes(1), Time::ZERO + GRID * start)
}

fn ring(nodes: u32) -> Arc<Topology> {
    let mut builder = Builder::default();
    for _ in 0..nodes {
        builder.host(0);
    }
    for node in 0..nodes {
        builder.join(NodeId(node), NodeId((node + 1) % nodes), Rate::from_gbps(10), GRID);
    }
    Arc::new(builder.build(Shape::General))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_engines_put_the_same_packets_on_the_same_links(
        seed in any::<u64>(),
        nodes in 3_u32..8,
        mut starts in proptest::collection::vec(0_u64..20, 1..12),
        (loss, corruption) in prop_oneof![Just((0.0, 0.0)), (0.0..0.2, 0.0..0.5)],
    ) {
        let errors = LinkErrors { seed, loss, corruption, ..LinkErrors::default() };
        starts.sort_unstable();
        let flows: Vec<_> = (0..).zip(starts).map(|(id, start)| flow(id, id % nodes, start)).collect();
        let chatterbox = |id: NodeId| Parts {
            host: Some(Box::new(Chatterbox {
                random: Stream::new(seed, id.0.into(), "chatter"),
                outbox: Vec::new(),
                wake: Time::NEVER,
                patience: 40,
            })),
            forwarder: Some(Box::new(Walk)), ..Parts::default() };
        let ring = ring(nodes);
        let simulated = simulate(&ring, chatterbox, |_| None, flows.clone(), Time::NEVER, &errors);
        let moved = run_in_lockstep(&ring, chatterbox, |_| None, flows, Time::NEVER, &errors);
        prop_assert!(!simulated.packets.is_empty());
        prop_assert_eq!(simulated, moved);
    }
}
