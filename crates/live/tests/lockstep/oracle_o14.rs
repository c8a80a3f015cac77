//! Oracle O14: one trace of 200 flows runs with R2C2 on a 4x4 torus, in the packet engine and in lockstep. In both
//! engines, every packet of every flow leaves on the same link at the same time with the same bytes. At all sampled
//! times, each node has the same flow table and the same rates in both engines. All flows are delivered.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::both::{Trace, run_in_lockstep, simulate};
use raddle_core::{
    Bytes, Duration, Flow, FlowId, Header, Host, Input, LinkErrors, NodeId, Output, Parts, Ports, Rate,
    Report, Stream, Time,
};
use raddle_schemes::transport::r2c2::{Fabric, Params, R2c2Node, SourceRoute};
use raddle_topology::{Topology, builders};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const SEED: u64 = 14;
const FLOWS: u32 = 200;

/// A node whose state the test can read after a run.
#[derive(Clone)]
struct Shared(Arc<Mutex<R2c2Node>>);

impl Host for Shared {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.0.lock().expect("no panic elsewhere").handle(now, input);
    }
    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        self.0.lock().expect("no panic elsewhere").poll(now, ports)
    }
}

/// The state of a node. The first two values are the digest and the size of the node's flow table. The first list has
/// the rate that the node would compute for each flow of the table. The second list has the rate limits of the flows
/// that the node sends, without flows that have no limit. Each entry is a flow's handle and the bits of an `f64`, in
/// bit/s.
type Knowledge = (u64, usize, Vec<(u32, u64)>, Vec<(u32, u64)>);

struct Rack {
    topology: Arc<Topology>,
    params: Params,
    nodes: Vec<Shared>,
}

impl Rack {
    fn new(topology: &Arc<Topology>, params: Params) -> Self {
        let fabric = Fabric::new(topology, params);
        let node = |id| Shared(Arc::new(Mutex::new(R2c2Node::new(&fabric, id, SEED))));
        Self { topology: Arc::clone(topology), params, nodes: topology.nodes().map(node).collect() }
    }

    fn parts(&self, id: NodeId) -> Parts {
        Parts {
            host: Some(Box::new(self.nodes[id.index()].clone())),
            forwarder: Some(Box::new(SourceRoute::new(self.params.hop_bits))),
            ..Parts::default()
        }
    }

    fn simulate(&self, flows: &[Flow], limit: Time) -> Trace {
        simulate(&self.topology, |id| self.parts(id), |_| None, flows.to_vec(), limit, &LinkErrors::default())
    }

    fn run_in_lockstep(&self, flows: &[Flow], limit: Time) -> Trace {
        run_in_lockstep(
            &self.topology,
            |id| self.parts(id),
            |_| None,
            flows.to_vec(),
            limit,
            &LinkErrors::default(),
        )
    }

    fn knowledge(&self) -> Vec<Knowledge> {
        let bits = |(key, rate): (u32, f64)| (key, rate.to_bits());
        let look = |node: &Shared| {
            let node = node.0.lock().expect("no panic elsewhere");
            let rates = node.compute_all().into_iter().map(bits).collect();
            let limits = node.limits().map(bits).collect();
            (node.table().digest(), node.table().len(), rates, limits)
        };
        self.nodes.iter().map(look).collect()
    }
}

fn torus() -> Arc<Topology> {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100));
    Arc::new(torus.expect("a 4x4 torus"))
}

/// Flows of 1 B to 100 KB. On average two flows start per microsecond. Every fifth flow is limited by its application.
fn trace() -> Vec<Flow> {
    let mut random = Stream::new(SEED, 0, "trace");
    let mut start = Time::ZERO;
    let flow = |id| {
        start += Duration::from_ps(random.below(1_000_000));
        let src = random.below(16);
        let dst = (src + 1 + random.below(15)) % 16;
        Flow {
            app_rate: (id % 5 == 0).then(|| Rate::from_gbps(1)),
            weight: 1 + random.below(4) as u8,
            priority: random.below(2) as u8,
            ..Flow::new(
                FlowId(id),
                NodeId(src as u32),
                NodeId(dst as u32),
                Bytes(1 + random.below(100_000)),
                start,
            )
        }
    };
    (0..FLOWS).map(flow).collect()
}

/// Number of data packets that left their source, for each flow.
fn packets_sent(trace: &Trace, topology: &Topology) -> BTreeMap<u64, usize> {
    let mut sent = BTreeMap::new();
    for (_, link, bytes) in &trace.packets {
        let Ok((Header::R2c2Data(data), _)) = Header::decode(bytes) else { continue };
        if topology.link(*link).is_some_and(|link| link.from == NodeId(data.src.into())) && data.ridx == 1 {
            *sent.entry(data.flow.into()).or_default() += 1;
        }
    }
    sent
}

#[test]
fn oracle_o14_lockstep_moves_the_packets_that_the_engine_simulates() {
    let topology = torus();
    let params = Params { rho: Duration::from_us(20), ..Params::default() };
    let flows = trace();
    let end = Time::ZERO + Duration::from_ms(100);
    let simulated = Rack::new(&topology, params).simulate(&flows, end);
    let moved = Rack::new(&topology, params).run_in_lockstep(&flows, end);

    let sent = packets_sent(&moved, &topology);
    assert_eq!(sent, packets_sent(&simulated, &topology));
    assert_eq!(sent.len(), flows.len(), "every flow sends");
    let payloads = flows.iter().map(|flow| flow.size.0.div_ceil(params.mtu.into()) as usize);
    assert!(sent.values().sum::<usize>() >= payloads.sum());
    let delivered = moved.reports.iter().filter(|(.., report)| matches!(report, Report::Delivered { .. }));
    assert_eq!(delivered.count(), flows.len());
    let rates = moved.reports.iter().filter(|(.., report)| matches!(report, Report::Paced { .. })).count();
    assert!(rates > flows.len(), "rates were computed: {rates}");

    assert_eq!(simulated.reports, moved.reports);
    // `assert_eq` would print all bytes of all packets.
    assert!(simulated.packets == moved.packets, "all packets: times, links, bytes and order");
}

#[test]
fn oracle_o14_tables_and_rates_agree_whenever_one_looks() {
    let topology = torus();
    let params = Params { rho: Duration::from_us(20), ..Params::default() };
    let flows = trace();
    for look_us in [3, 50, 90, 150] {
        let limit = Time::ZERO + Duration::from_us(look_us);
        let (simulated, moved) = (Rack::new(&topology, params), Rack::new(&topology, params));
        simulated.simulate(&flows, limit);
        moved.run_in_lockstep(&flows, limit);
        let knowledge = moved.knowledge();
        assert!(knowledge.iter().any(|(_, live, ..)| *live > 0), "flows are live at {limit}");
        assert_eq!(simulated.knowledge(), knowledge, "at {limit}");
    }
    let end = Time::ZERO + Duration::from_ms(100);
    let rack = Rack::new(&topology, params);
    rack.run_in_lockstep(&flows, end);
    for (digest, live, ..) in rack.knowledge() {
        assert_eq!((digest, live), (0, 0), "at rest no table knows a flow");
    }
}
