//! Helpers for tests of lossless fabrics in the packet engine: fabrics, flows, pauses, and hosts that stop their
//! senders.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Bytes, DropReason, Duration, Flow, FlowControlAccount, FlowId, Header, Host, Input, LinkId, NodeId,
    Output, Packet, Parts, PortId, Ports, Process, Rate, Report, Time,
};
use raddle_packet_sim::{Change, Config, Observer, PortSetup, Reached, Simulation, Switching};
use raddle_schemes::parameter::Value;
use raddle_schemes::scheme::Plan;
use raddle_testkit::{link, registry, settings};
use raddle_topology::{Topology, XgftSize, builders};
use raddle_wire::Mac;
use raddle_wire::pfc::Pause;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(crate) const RATE: Rate = Rate::from_gbps(10);
pub(crate) const DELAY: Duration = Duration::from_ns(50);

/// Parameters with values other than their defaults.
pub(crate) type Set = Vec<(&'static str, Value)>;

/// A fabric of hosts with lossless Ethernet. Its cut-through switches forward a frame after its first 64 bytes.
pub(crate) struct Lossless {
    pub(crate) topology: Arc<Topology>,
    pub(crate) routing: &'static str,
    pub(crate) transport: Set,
    pub(crate) of_routing: Set,
    /// Parameters of flow control; `None` turns flow control off.
    pub(crate) pfc: Option<Set>,
    pub(crate) queue: (&'static str, Set),
    /// True if the switches have congestion points.
    pub(crate) points: bool,
    pub(crate) seed: u64,
    pub(crate) config: Config,
}

impl Lossless {
    /// A fabric with PFC at its default parameters.
    pub(crate) fn new(topology: Topology, routing: &'static str) -> Self {
        Self {
            topology: Arc::new(topology),
            routing,
            transport: Vec::new(),
            of_routing: Vec::new(),
            pfc: Some(Vec::new()),
            queue: ("strict", Vec::new()),
            points: false,
            seed: 1,
            config: Config { switching: Switching::CutThrough { header: 64 }, ..Config::default() },
        }
    }

    /// The same fabric with these watermarks, and with `buffer` bytes of memory per port and priority.
    pub(crate) fn with_memory(mut self, xon: u64, xoff: u64, buffer: u64) -> Self {
        let bytes = |(name, bytes)| (name, Value::Bytes(bytes));
        self.pfc = Some([("xon", xon), ("xoff", xoff), ("buffer", buffer)].map(bytes).to_vec());
        self
    }

    /// A simulation of these flows. The function `around` can wrap or replace the parts of a node.
    pub(crate) fn simulation<O: Observer>(
        &self,
        flows: Vec<Flow>,
        mut around: impl FnMut(NodeId, Parts) -> Parts,
        observer: O,
    ) -> Simulation<O> {
        let transport = registry().transport("cee").expect("a transport of the registry");
        let routing = registry().routing(self.routing).expect("a routing of the registry");
        let qcn = registry().congestion_point("qcn").expect("built in");
        let (of_transport, of_points) = (
            settings(transport.info.parameters, &self.transport),
            settings(qcn.info.parameters, &Vec::new()),
        );
        let plan = Plan {
            congestion_points: self.points.then_some((qcn.info.name, &of_points)),
            ..Plan::new(&self.topology, self.routing, &of_transport, self.seed)
        };
        let of_routing = settings(routing.info.parameters, &self.of_routing);
        let mut parts = registry().build(transport, &plan, &of_routing).expect("a fabric that fits");
        let queue = registry().queue(self.queue.0).expect("a queue");
        let of_queue = settings(queue.info.parameters, &self.queue.1);
        let mut queue =
            (queue.build)(&Plan { settings: &of_queue, ..plan }, parts.mtu).expect("a queue that fits");
        let mut flow_control = self.pfc.as_ref().map(|set| {
            let pfc = registry().flow_control("pfc").expect("built in");
            let settings = settings(pfc.info.parameters, set);
            (pfc.build)(&Plan { settings: &settings, ..plan }, parts.mtu).expect("enough headroom")
        });
        let mut agent = self
            .points
            .then(|| (qcn.build)(&Plan { settings: &of_points, ..plan }).expect("points fit everywhere"));
        let port = |link| PortSetup {
            queue: Some(queue(link)),
            flow_control: flow_control.as_mut().and_then(|control| control(link)),
            agent: agent.as_mut().and_then(|agent| agent(link)),
            ..PortSetup::default()
        };
        let node = |id| around(id, (parts.node)(id));
        Simulation::new(&self.topology, node, port, flows, self.config.clone(), observer)
    }

    /// A simulation of these flows with unchanged nodes and an observer that counts events.
    pub(crate) fn counted(&self, flows: Vec<Flow>) -> Simulation<Counted> {
        self.simulation(flows, |_, node| node, Counted::default())
    }

    /// The link from one node to another.
    pub(crate) fn link(&self, from: u32, to: u32) -> LinkId {
        link(&self.topology, NodeId(from), NodeId(to))
    }
}

pub(crate) fn tree(k: u32, n: usize) -> Topology {
    builders::xgft(XgftSize::k_ary_n_tree(k, n), RATE, DELAY).expect("a valid size")
}

pub(crate) fn crossbar(hosts: u32) -> Topology {
    builders::single_switch(hosts, RATE, DELAY).expect("a valid size")
}

pub(crate) fn flow(id: u32, src: u32, dst: u32, size: u64) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(size), Time::ZERO)
}

/// Size in bytes of a flow that no run completes.
pub(crate) const ENDLESS: u64 = 1 << 40;

/// An endless flow of frames at `percent` percent of a link's rate.
pub(crate) fn stream(id: u32, src: u32, dst: u32, percent: u64, process: Process) -> Flow {
    let app_rate = Some(Rate::from_bps(RATE.as_bps() / 100 * percent));
    Flow { app_rate, process, ..flow(id, src, dst, ENDLESS) }
}

/// Runs until `until`, or until no events are left.
pub(crate) fn run<O: Observer>(simulation: &mut Simulation<O>, until: Time) -> Reached {
    simulation.run_until(until, |_| ControlFlow::Continue(()))
}

/// Bytes of data that have crossed a link.
pub(crate) fn carried<O: Observer>(simulation: &Simulation<O>, link: LinkId) -> u64 {
    simulation.link_stats()[link.index()].data_bytes
}

/// The utilisation of each of `links` from `from` to `to`, as a share of 10 Gb/s.
pub(crate) fn shares<O: Observer>(
    simulation: &mut Simulation<O>,
    links: &[LinkId],
    from: Time,
    to: Time,
) -> Vec<f64> {
    run(simulation, from);
    let before: Vec<u64> = links.iter().map(|&link| carried(simulation, link)).collect();
    run(simulation, to);
    let bytes = RATE.bytes_in(to.since(from)).0 as f64;
    links
        .iter()
        .zip(before)
        .map(|(&link, before)| (carried(simulation, link) - before) as f64 / bytes)
        .collect()
}

/// Asserts that no packet is lost: all packets sent were delivered or are inside the fabric. Asserts also that no
/// memory overflows, and that no memory ever holds more than `most_memory` bytes.
pub(crate) fn assert_lossless<O: Observer>(simulation: &Simulation<O>, most_memory: u64, what: &str) {
    let totals = simulation.totals();
    let inside = simulation.packets_inside() as u64;
    assert_eq!((totals.dropped, totals.sent), (0, totals.delivered + inside), "{what}: {totals:?}");
    for (link, FlowControlAccount { peak_memory, overflows, .. }) in simulation.flow_control() {
        assert_eq!(overflows, 0, "{what}: memory behind {link:?}");
        assert!(peak_memory <= most_memory, "{what}: {peak_memory} B behind {link:?}");
    }
}

/// Delivery times of flows, and counts of events in a run.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) delivered: Vec<Time>,
    /// Number of flows whose frames arrived out of order.
    pub(crate) reordered: u32,
    pub(crate) dropped: u32,
}

impl Observer for Counted {
    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        if let Report::Delivered { reorder_peak, .. } = report {
            self.delivered.push(now);
            self.reordered += u32::from(reorder_peak > 0);
        }
    }

    fn dropped(&mut self, _: Time, _: NodeId, _: Option<PortId>, _: &Packet, _: DropReason) {
        self.dropped += 1;
    }
}

/// A pause frame from `host` that stops all priorities for `quanta` units of 512 bit times. If `quanta` is 0, the frame
/// ends the pauses.
pub(crate) fn pause(host: u32, quanta: u16) -> Packet {
    let pause = Pause { src: Mac::host(host), enabled: 0xFF, quanta: [quanta; 8] };
    Packet::new(Pause::LEN as u32, Header::Pfc(pause))
}

/// Wraps a host and also sends packets at given times, for example pauses that stop the host's senders. The host should
/// have a flow: without a flow, the engine polls the host only after another input, such as the arrival of a packet.
pub(crate) struct Scripted {
    pub(crate) host: Box<dyn Host>,
    pub(crate) script: VecDeque<(Time, Packet)>,
}

impl Host for Scripted {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.host.handle(now, input);
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        let Some(&(due, _)) = self.script.front() else { return self.host.poll(now, ports) };
        if due <= now
            && let Some((_, packet)) = self.script.pop_front()
        {
            return Output::Send { packet, port: Some(PortId(0)) };
        }
        match self.host.poll(now, ports) {
            Output::Idle => Output::WakeAt(due),
            Output::WakeAt(at) => Output::WakeAt(at.min(due)),
            other => other,
        }
    }
}

/// Makes node `host` also send the packets of `script`, each at its time.
pub(crate) fn scripted(host: u32, script: Vec<(Time, Packet)>) -> impl FnMut(NodeId, Parts) -> Parts {
    let mut script = Some(VecDeque::from(script));
    move |id, mut node| {
        if id == NodeId(host)
            && let (Some(host), Some(script)) = (node.host.take(), script.take())
        {
            node.host = Some(Box::new(Scripted { host, script }));
        }
        node
    }
}

/// A change in which both directions of the link between two nodes go down or come up.
pub(crate) fn change(topology: &Topology, ends: [u32; 2], at: Time, up: bool) -> Change {
    let [a, b] = ends;
    let (a, b) = (NodeId(a), NodeId(b));
    Change { at, links: vec![link(topology, a, b), link(topology, b, a)], up, discovery: Duration::ZERO }
}
