//! A rack whose nodes find out by themselves which links are down.

use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Observer, Parts, Rate, Report, Time};
use raddle_live::rack::{Config, Rack};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::{Built, Plan};
use raddle_testkit::registry;
use raddle_topology::{builders, discoverers};
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Default)]
struct Delivered(u32);

impl Observer for Delivered {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        self.0 += u32::from(matches!(report, Report::Delivered { .. }));
    }
}

/// Hellos cross the rack's rings beside the flows' packets.
#[test]
fn nodes_of_a_rack_say_hello() {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(5), Duration::from_ns(100));
    let topology = Arc::new(torus.expect("a 4x4 torus"));
    let scheme = registry().transport("r2c2").expect("R2C2 is in the registry");
    let settings = Settings::defaults(scheme.info.parameters);
    let plan = Plan::new(&topology, "rps", &settings, 1);
    let built = registry().build(scheme, &plan, &Settings::defaults(&[])).expect("R2C2 fits a torus");
    let (Built { mut node, .. }, discoverer) = (built, discoverers(&topology, Duration::from_ms(1)));
    let node = |id| Parts { discovery: Some(discoverer(id)), ..node(id) };
    let flow = |id: u32| {
        let start = Time::ZERO + Duration::from_us(100) * u64::from(id);
        Flow::new(FlowId(id), NodeId(id % 16), NodeId((id + 5) % 16), Bytes(30_000), start)
    };
    let flows: Vec<Flow> = (0..20).map(flow).collect();
    let limit = Time::ZERO + Duration::from_ms(100);
    let config = Config { time_limit: Some(limit), ..Config::default() };
    let mut rack = Rack::new(&topology, node, &flows, &config).expect("memory to share");
    let mut delivered = Delivered::default();
    rack.run(&mut delivered, |_| ControlFlow::Continue(()));
    assert_eq!(delivered.0, 20);
    // 64 links, and most of the periods: a busy machine may keep the nodes from some.
    let hellos = rack.totals().kinds[raddle_core::PacketKind::Notice as usize].packets;
    assert!(hellos > 64 * 10, "{hellos}");
}
