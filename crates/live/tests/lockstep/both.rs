//! Runs the same nodes in the packet engine and in lockstep.

use raddle_core::{
    DropReason, Flow, FlowControlAccount, LinkErrors, LinkId, NodeId, Observer, Packet, Parts, PortAgent,
    PortId, Queue, Report, Time,
};
use raddle_live::lockstep::Lockstep;
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The observations of one run: packets on links, reports of hosts, losses, peak backlogs of ports, and flow control
/// accounts.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Trace {
    /// For each packet: the time at which its last bit left, its link, and its bytes.
    pub(crate) packets: Vec<(Time, LinkId, Vec<u8>)>,
    pub(crate) reports: Vec<(Time, NodeId, Report)>,
    pub(crate) losses: Vec<(Time, DropReason)>,
    /// Peak backlog of each port in bytes, indexed by link.
    pub(crate) peaks: Vec<u64>,
    pub(crate) flow_control: Vec<(LinkId, FlowControlAccount)>,
}

impl Observer for Trace {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.reports.push((now, node, report));
    }
    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        self.packets.push((sent, link, bytes));
    }
    fn dropped(&mut self, now: Time, _: NodeId, _: Option<PortId>, _: &Packet, why: DropReason) {
        self.losses.push((now, why));
    }
    fn malformed(&mut self, now: Time, _: LinkId, _: &[u8], _: raddle_wire::Error) {
        self.losses.push((now, DropReason::Malformed));
    }
}

/// Runs `flows` up to `limit` in the packet engine.
pub(crate) fn simulate(
    topology: &Arc<Topology>,
    node: impl FnMut(NodeId) -> Parts,
    agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>,
    flows: Vec<Flow>,
    limit: Time,
    errors: &LinkErrors,
) -> Trace {
    simulate_queues(topology, node, agent, |_| None, flows, limit, errors)
}

/// Like `simulate`, but `queue` may replace the queue of a link's egress port.
pub(crate) fn simulate_queues(
    topology: &Arc<Topology>,
    node: impl FnMut(NodeId) -> Parts,
    mut agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>,
    mut queue: impl FnMut(LinkId) -> Option<Box<dyn Queue>>,
    flows: Vec<Flow>,
    limit: Time,
    errors: &LinkErrors,
) -> Trace {
    let port = |link| PortSetup { agent: agent(link), queue: queue(link), ..PortSetup::default() };
    simulate_ports(topology, node, port, flows, limit, errors)
}

/// Like `simulate`, but `port` returns the complete `PortSetup` of a link's egress port.
pub(crate) fn simulate_ports(
    topology: &Arc<Topology>,
    node: impl FnMut(NodeId) -> Parts,
    port: impl FnMut(LinkId) -> PortSetup,
    flows: Vec<Flow>,
    limit: Time,
    errors: &LinkErrors,
) -> Trace {
    let config = Config { time_limit: Some(limit), errors: errors.clone(), ..Config::default() };
    let mut simulation = Simulation::new(topology, node, port, flows, config, Trace::default());
    simulation.run(|_| ControlFlow::Continue(()));
    let peaks = simulation.link_stats().iter().map(|link| link.peak_queue).collect();
    let mut flow_control = simulation.flow_control();
    flow_control.sort_by_key(|&(link, _)| link);
    Trace { peaks, flow_control, ..simulation.into_observer() }
}

/// Runs `flows` up to `limit` in lockstep.
pub(crate) fn run_in_lockstep(
    topology: &Arc<Topology>,
    node: impl FnMut(NodeId) -> Parts,
    agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>,
    flows: Vec<Flow>,
    limit: Time,
    errors: &LinkErrors,
) -> Trace {
    run_queues_in_lockstep(topology, node, agent, |_| None, flows, limit, errors)
}

/// Like `run_in_lockstep`, but `queue` may replace the queue of a link's egress port.
pub(crate) fn run_queues_in_lockstep(
    topology: &Arc<Topology>,
    node: impl FnMut(NodeId) -> Parts,
    agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>,
    queue: impl FnMut(LinkId) -> Option<Box<dyn Queue>>,
    flows: Vec<Flow>,
    limit: Time,
    errors: &LinkErrors,
) -> Trace {
    let live = Lockstep::new(topology, node, flows, Trace::default());
    let live =
        live.with_agents(agent).with_queues(queue).with_errors(errors).with_decoders(errors.decoders.clone());
    let trace = trace(live, limit);
    let malformed = trace.losses.iter().filter(|(_, why)| *why == DropReason::Malformed).count();
    assert!(malformed == 0 || errors.corruption > 0.0);
    trace
}

/// Runs lockstep up to `limit`, and returns the trace.
pub(crate) fn trace(mut live: Lockstep<Trace>, limit: Time) -> Trace {
    live.run(limit);
    let peaks = live.link_stats().iter().map(|link| link.peak_queue).collect();
    let flow_control = live.flow_control();
    Trace { peaks, flow_control, ..live.into_observer() }
}
