//! A node that replays a recording receives the same flow events, starts the same flows, and computes the same flow
//! table and rates as the recorded node. First R2C2 runs on a 4x4 torus in the packet engine. Then one node runs alone,
//! with the recording.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Bytes, Duration, Flow, FlowId, Header, Host, Input, NodeId, Output, Packet, Parts, PortState, Ports,
    Rate, Stream, Time,
};
use raddle_live::replay::{Recording, record};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_schemes::transport::r2c2::{Fabric, Params, R2c2Node, SourceRoute};
use raddle_topology::{Topology, builders};
use raddle_wire::r2c2::{Event, EventKind};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

const SEED: u64 = 8;
const NODE: NodeId = NodeId(5);
const FLOWS: usize = 400;

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn torus() -> Arc<Topology> {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100));
    Arc::new(torus.expect("valid dims"))
}

/// A flow starts every 5 us, with a size of 1 B to 60 KB. Every eighth flow is limited by its application, so that its
/// demand is announced.
fn flows() -> Vec<Flow> {
    let mut random = Stream::new(SEED, 0, "trace");
    let mut draw = |below: u64| random.below(below);
    let flow = |i: usize| {
        let src = NodeId(draw(16) as u32);
        let dst = NodeId((src.0 + 1 + draw(15) as u32) % 16);
        let flow = Flow::new(FlowId::of(i), src, dst, Bytes(1 + draw(60_000)), at(5 * i as u64));
        if i.is_multiple_of(8) { Flow { app_rate: Some(Rate::from_gbps(1)), ..flow } } else { flow }
    };
    (0..FLOWS).map(flow).collect()
}

/// R2C2's parameters, with a short interval `rho`, so that nodes estimate demands and compute rates often.
fn params() -> Params {
    Params { rho: Duration::from_us(50), ..Params::default() }
}

/// The time of an input of a node, and the input: a flow event that the node received, or a flow that started at the
/// node.
type Heard = (Time, Result<Event, FlowId>);

/// The state of a node. The first two values are the digest and the size of the node's flow table. The first list has
/// the rate that the node would compute for each flow of the table. The second list has the rate limits of the flows
/// that the node sends, without flows that have no limit. Each entry is a flow's handle and the bits of an `f64`, in
/// bit/s.
type Knowledge = (u64, usize, Vec<(u32, u64)>, Vec<(u32, u64)>);

/// A node whose state the test can read, and the inputs that the node received.
#[derive(Clone)]
struct Watched(Arc<Mutex<(R2c2Node, Vec<Heard>)>>);

impl Watched {
    fn new(params: Params) -> Self {
        let node = R2c2Node::new(&Fabric::new(&torus(), params), NODE, SEED);
        Self(Arc::new(Mutex::new((node, Vec::new()))))
    }

    fn heard(&self) -> Vec<Heard> {
        self.0.lock().expect("no panic elsewhere").1.clone()
    }

    fn knowledge(&self) -> Knowledge {
        let node = &self.0.lock().expect("no panic elsewhere").0;
        let bits = |(key, rate): (u32, f64)| (key, rate.to_bits());
        let rates = node.compute_all().into_iter().map(bits).collect();
        (node.table().digest(), node.table().len(), rates, node.limits().map(bits).collect())
    }
}

impl Host for Watched {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        let (node, heard) = &mut *self.0.lock().expect("no panic elsewhere");
        match input {
            Input::Packet { packet: Packet { header: Header::R2c2Event(event), .. }, .. } => {
                heard.push((now, Ok(*event)));
            }
            Input::Flow(flow) => heard.push((now, Err(flow.id))),
            _ => {}
        }
        node.handle(now, input);
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        self.0.lock().expect("no panic elsewhere").0.poll(now, ports)
    }
}

fn is_flow_event(packet: &Packet) -> bool {
    matches!(packet.header, Header::R2c2Event(_))
}

/// Simulates until `until`. Returns the recording, and the node that was recorded.
fn simulate(until: Time) -> (Recording, Watched) {
    let (topology, watched) = (torus(), Watched::new(params()));
    let fabric = Fabric::new(&topology, params());
    let mut recorded = None;
    let node = |id: NodeId| {
        let host: Box<dyn Host> = if id == NODE {
            let (host, recording) = record(Box::new(watched.clone()), is_flow_event);
            recorded = Some(recording);
            host
        } else {
            Box::new(R2c2Node::new(&fabric, id, SEED))
        };
        let forwarder = SourceRoute::new(params().hop_bits);
        Parts { host: Some(host), forwarder: Some(Box::new(forwarder)), ..Parts::default() }
    };
    let port = |_| PortSetup::default();
    let mut simulation = Simulation::new(&topology, node, port, flows(), Config::default(), ());
    simulation.run_until(until, |_| ControlFlow::Continue(()));
    let recording = recorded.expect("there is such a node");
    let recording = recording.lock().expect("no panic elsewhere").clone();
    (recording, watched)
}

fn ports() -> Vec<PortState> {
    vec![PortState::idle(Rate::from_gbps(10)); 4]
}

#[test]
fn a_replayed_node_hears_the_same_and_computes_the_same_rates() {
    let mut flows_known = 0;
    for us in [100, 333, 777, 1_500, 1_999, 5_000] {
        let (recording, simulated) = simulate(at(us));
        let mut again = Watched::new(params());
        recording.rush(&mut again, &ports(), at(us));
        assert_eq!(recording.packets(), simulated.heard().iter().filter(|(_, heard)| heard.is_ok()).count());
        assert_eq!(again.heard(), simulated.heard(), "until {us} us");
        assert_eq!(again.knowledge(), simulated.knowledge(), "until {us} us");
        flows_known += again.knowledge().1;
    }
    assert!(flows_known > 10, "there was something to compute: {flows_known} flows");
    let (recording, simulated) = simulate(at(5_000));
    let is_demand = |(_, heard): &Heard| heard.is_ok_and(|event| event.kind == EventKind::Demand);
    assert!(simulated.heard().iter().any(is_demand), "demand was announced");
    assert!(recording.packets() > FLOWS);
}

#[test]
fn a_node_that_computes_idle_computes_the_same_rates() {
    let (recording, simulated) = simulate(at(1_777));
    let mut idle = Watched::new(Params { computes_idle: true, ..params() });
    recording.rush(&mut idle, &ports(), at(1_777));
    assert_eq!(idle.knowledge(), simulated.knowledge());
}

#[test]
fn on_the_real_clock_a_node_hears_the_same() {
    let (recording, simulated) = simulate(at(2_000));
    let mut again = Watched::new(params());
    let packet = Duration::from_us(1);
    let fidelity = recording.replay(&mut again, &ports(), at(2_000), packet);
    assert_eq!((again.heard(), again.knowledge()), (simulated.heard(), simulated.knowledge()));
    assert!(fidelity.hops as usize >= recording.packets(), "lateness is of all that it heard");
    assert_eq!(fidelity.dilation, 1);
}
