//! A rack whose nodes detect failed links with hello messages.

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

/// Hello messages cross the rack's rings beside the packets of flows. The hello messages do not keep the run from
/// ending.
#[test]
fn a_rack_whose_nodes_say_hello_ends_with_its_flows() {
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
    let mut rack = Rack::new(&topology, node, &flows, &Config::default()).expect("memory to share");
    let mut delivered = Delivered::default();
    let mut looks = 0;
    let ended = rack.run(&mut delivered, |_| {
        looks += 1; // called about every 10 ms
        if looks < 2_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(ended, "nothing but hellos is left");
    assert_eq!(delivered.0, 20);
    let hellos = rack.totals().kinds[raddle_core::PacketKind::Notice as usize].packets;
    assert!(hellos > 64, "{hellos}");
}
