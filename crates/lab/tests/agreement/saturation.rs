//! Saturation throughput of a torus with oblivious routing.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::witness::{Case, Witness};
use raddle_core::{
    Duration, Flow, Header, Host, Input, NodeId, Output, Packet, Parts, Ports, Rate, Stream, Time,
};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_schemes::transport::r2c2::SourceRoute;
use raddle_testkit::flow;
use raddle_topology::builders;
use raddle_topology::routing::{Protocol, Routing, Tie};
use raddle_wire::r2c2::{Data, Route};
use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

/// Number of nodes in each of the two dimensions of the torus.
const K: u32 = 8;
const NODES: u32 = K * K;
const HOP_BITS: u32 = 3;
const FULL: u64 = 1_500;

/// A host that sends each flow as one packet. The routing protocol draws the route of each packet.
struct Injector {
    routing: Arc<Routing>,
    protocol: Protocol,
    stream: Stream,
    outbox: VecDeque<Packet>,
}

impl Host for Injector {
    fn handle(&mut self, _: Time, input: Input<'_>) {
        let Input::Flow(flow) = input else { return };
        let mut ports = Vec::new();
        self.routing.sample(self.protocol, flow.src, flow.dst, 0, &mut self.stream, &mut ports);
        let data = Data {
            flow: flow.id.0,
            src: flow.src.0 as u16,
            dst: flow.dst.0 as u16,
            seq: 0,
            plen: FULL as u16 - Data::LEN as u16,
            rlen: ports.len() as u8,
            ridx: 0,
            flags: 0,
            route: Route::from_ports(ports.iter().map(|port| port.0), HOP_BITS).expect("a short route"),
        };
        self.outbox.push_back(Packet::new(FULL as u32, Header::R2c2Data(data)));
    }

    fn poll(&mut self, _: Time, _: &Ports<'_>) -> Output {
        self.outbox.pop_front().map_or(Output::Idle, |packet| Output::Send { packet, port: None })
    }
}

/// Returns the destination of packet number `packet` that node `src` sends.
type Pattern = fn(src: u32, packet: u32) -> u32;

fn at(x: u32, y: u32) -> u32 {
    x % K + y % K * K
}

/// Selects all other nodes in turn, by packet number.
fn uniform(src: u32, packet: u32) -> u32 {
    (src + 1 + packet % (NODES - 1)) % NODES
}

fn tornado(src: u32, _: u32) -> u32 {
    at(src % K + K / 2 - 1, src / K)
}

/// Selects the four neighbors in turn, by packet number.
fn neighbour(src: u32, packet: u32) -> u32 {
    let (x, y) = [(1, 0), (K - 1, 0), (0, 1), (0, K - 1)][packet as usize % 4];
    at(src % K + x, src / K + y)
}

fn complement(src: u32, _: u32) -> u32 {
    at(K - 1 - src % K, K - 1 - src / K)
}

fn transpose(src: u32, _: u32) -> u32 {
    at(src / K, src % K)
}

/// Returns the rate at which nodes can inject packets, as a fraction of a link's rate. Each node injects
/// packets at 5/4 of the rate `bound`. The measured rate is the number of a node's packets divided by the
/// time until the last packet of all nodes is delivered. `on_busiest` is the number of packets that the
/// busiest link should carry.
fn saturation(protocol: Protocol, pattern: Pattern, bound: f64, on_busiest: f64) -> f64 {
    let rate = Rate::from_gbps(10);
    let topology = Arc::new(builders::torus(&[K, K], rate, Duration::from_ns(100)).expect("a torus"));
    let routing = Arc::new(Routing::new(Arc::clone(&topology)));
    let service = rate.time_for(raddle_core::Bytes(FULL)).as_ps() as f64;
    // Patterns with several destinations have a period of 63 or 4 packets. 252 is a multiple of both, so each
    // destination gets the same number of packets.
    let rounds = (on_busiest * bound / 252.0).ceil() as u32;
    let (packets, gap) = (rounds * 252, service / (1.25 * bound));
    let mut flows: Vec<Flow> = Vec::new();
    for src in 0..NODES {
        let mut stream = Stream::new(1, src.into(), "test/injection");
        let phase = stream.unit();
        let mut order: Vec<u32> = (0..packets).collect();
        stream.shuffle(&mut order);
        let starts = (0..packets).map(|n| Time::from_ps(((f64::from(n) + phase) * gap) as u64));
        let sent = order.into_iter().zip(starts);
        flows.extend(sent.map(|(n, start)| flow(0, src, pattern(src, n), FULL, start)));
    }
    flows.retain(|flow| flow.src != flow.dst);
    flows.sort_by_key(|flow| flow.start);
    (0..).zip(&mut flows).for_each(|(id, flow)| flow.id = raddle_core::FlowId(id));
    let all = flows.len() as u64;
    let node = |id: NodeId| Parts {
        host: Some(Box::new(Injector {
            routing: Arc::clone(&routing),
            protocol,
            stream: Stream::new(1, id.0.into(), "test/routes"),
            outbox: VecDeque::new(),
        })),
        forwarder: Some(Box::new(SourceRoute::new(HOP_BITS))),
        ..Parts::default()
    };
    let mut simulation =
        Simulation::new(&topology, node, |_| PortSetup::default(), flows, Config::default(), ());
    simulation.run(|_| ControlFlow::Continue(()));
    assert_eq!((simulation.totals().delivered, simulation.totals().dropped), (all, 0));
    f64::from(packets) * service / simulation.now().as_ps() as f64
}

/// Settings for patterns with exact link loads: the number of packets on the busiest link, and the allowed
/// range of relative differences. The result cannot exceed the bound. Some packets wait long at other links,
/// and reach the busiest link only after its queue has run empty. They lower the result by up to 1%.
const EXACT: (f64, RangeInclusive<f64>) = (2_000.0, -0.01..=1e-9);

/// Settings for patterns with random link loads: the number of packets on the busiest link, and the allowed
/// range of relative differences. The busiest of 256 links carries up to 4 standard deviations (4%) more than
/// the mean of 10,000 packets. Packets that arrive late lower the result by up to 2% more. The mean itself is
/// exact within 0.5%.
const RANDOM: (f64, RangeInclusive<f64>) = (10_000.0, -0.06..=0.005);

pub(crate) fn torus() -> Witness {
    const DOR: Protocol = Protocol::Dor(Tie::Split);
    let k = f64::from(K);
    let others = f64::from(NODES - 1) / f64::from(NODES);
    let far = k / 2.0 - 1.0;
    let rows: [(&str, Pattern, Protocol, f64, _); 13] = [
        ("uniform", uniform, DOR, 8.0 / k * others, RANDOM),
        ("uniform", uniform, Protocol::Rps, 8.0 / k * others, RANDOM),
        ("uniform", uniform, Protocol::Vlb, 4.0 / k, RANDOM),
        ("tornado", tornado, DOR, 1.0 / far, EXACT),
        ("tornado", tornado, Protocol::Rps, 1.0 / far, EXACT),
        ("tornado", tornado, Protocol::Vlb, 4.0 / k, RANDOM),
        ("tornado", tornado, Protocol::Wlb, k / (far * (k - far)), RANDOM),
        ("neighbour", neighbour, DOR, 4.0, EXACT),
        ("neighbour", neighbour, Protocol::Vlb, 4.0 / k, RANDOM),
        ("bit complement", complement, DOR, 4.0 / k, EXACT),
        ("bit complement", complement, Protocol::Vlb, 4.0 / k, RANDOM),
        ("transpose", transpose, DOR, 2.0 / (k - 1.0), RANDOM),
        ("transpose", transpose, Protocol::Dor(Tie::Plus), 2.0 / k, EXACT),
    ];
    let case = |(name, pattern, protocol, bound, (packets, within)): (&str, Pattern, Protocol, f64, _)| {
        let ours = saturation(protocol, pattern, bound, packets);
        Case { name: format!("{name}, `{protocol}`"), ours, theirs: bound, within }
    };
    Witness {
        quantity: "Saturation of an 8-ary 2-cube: rate of a node in units of a link's rate",
        form: "1/γ, where γ is the load of the busiest link if each node injects at a link's rate (Dally and \
             Towles 2004, chapters 3 and 9, Towles and Dally 2002): k/8 for uniform traffic on shortest paths, and \
             k/4 with Valiant's routing for any traffic. For the permutations, γ comes from a count of the paths \
             across each link",
        experiment: "packet engine, each node injects packets of 1,500 B at 5/4 of the bound for a time. The \
             protocol draws their source routes, and queues are unbounded. The rate is the number of packets of a \
             node divided by the time until the last packet is delivered. The bound holds for exact loads. If routes \
             are drawn, the busiest of 256 links carries up to 6% more than the mean of 10,000 packets",
        cases: rows.into_iter().map(case).collect(),
    }
}
