//! Hosts with transports chosen by name, in the packet engine.

use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Report, Time};
use raddle_packet_sim::{Config, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::{registry, settings};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The TCP transports that these tests run.
pub(crate) const TCP: [&str; 3] = ["tcp-newreno", "tcp-cubic", "dctcp"];

/// Delivery times of flows.
#[derive(Default)]
pub(crate) struct Delivered(pub(crate) Vec<Time>);

impl Observer for Delivered {
    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        if let Report::Delivered { .. } = report {
            self.0.push(now);
        }
    }
}

/// A fabric of hosts with one transport, over ECMP.
pub(crate) struct Hosts {
    pub(crate) transport: &'static str,
    /// Parameters with values other than their defaults.
    pub(crate) settings: Vec<(&'static str, Value)>,
    pub(crate) topology: Arc<Topology>,
    /// Queue limit of each port, in packets.
    pub(crate) queue: Option<usize>,
    /// Number of queued packets above which a port sets ECN marks.
    pub(crate) mark: Option<usize>,
}

impl Hosts {
    /// Runs until no events are left, or until the time limit.
    pub(crate) fn run(&self, flows: Vec<Flow>, config: Config) -> Simulation<Delivered> {
        let transport = registry().transport(self.transport).expect("a transport of the registry");
        let settings = settings(transport.info.parameters, &self.settings);
        let plan = Plan::new(&self.topology, "ecmp", &settings, 1);
        let parts = registry().build(transport, &plan, &Settings::defaults(&[])).expect("a fabric that fits");
        let port =
            |_| PortSetup { limit_packets: self.queue, mark_packets: self.mark, ..PortSetup::default() };
        let mut simulation =
            Simulation::new(&self.topology, parts.node, port, flows, config, Delivered::default());
        assert!(simulation.run(|_| ControlFlow::Continue(())));
        simulation
    }
}

pub(crate) fn flow(id: u32, src: NodeId, dst: NodeId, size: u64, start: Duration) -> Flow {
    Flow::new(FlowId(id), src, dst, Bytes(size), Time::ZERO + start)
}
