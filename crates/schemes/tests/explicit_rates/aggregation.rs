//! The fabrics and flows of PDQ's evaluation (specifications/pdq.md §10), for transports chosen by name, in the packet
//! engine.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Bytes, DropReason, Duration, Flow, FlowId, FlowKey, LinkErrors, LinkId, NodeId, Packet, PortAgent,
    PortId, Rate, Report, Stream, Time,
};
use raddle_packet_sim::{Config, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::{registry, settings};
use raddle_topology::{Topology, builders};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(crate) const GBPS: Rate = Rate::from_gbps(1);

/// Propagation delay plus processing delay at the end of each link.
pub(crate) const DELAY: Duration = Duration::from_ns(25_100);

/// A single switch with `senders` senders and, as the last host, the receiver.
pub(crate) fn dumbbell(senders: u32) -> Arc<Topology> {
    Arc::new(builders::single_switch(senders + 1, GBPS, DELAY).expect("a switch"))
}

/// The single-rooted tree of 12 servers, three per ToR.
pub(crate) fn tree() -> Arc<Topology> {
    Arc::new(builders::folded_clos(4, 3, 1, GBPS, GBPS, DELAY).expect("a tree"))
}

/// A flow without a deadline. It starts at time `start`.
pub(crate) fn flow(id: u32, src: u32, dst: u32, size: u64, start: Duration) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(size), Time::ZERO + start)
}

/// Query aggregation: `count` flows of 2 to 198 KB to one receiver. All flows start at time zero. The other servers
/// take turns as the sender of a flow. If `with_deadlines` is true, deadlines are drawn from an exponential
/// distribution with a mean of 20 ms. Deadlines below 3 ms become 3 ms.
pub(crate) fn query(seed: u64, count: u32, with_deadlines: bool) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, "query");
    let receiver = random.below(12) as u32;
    let mut senders: Vec<u32> = (0..12).filter(|&server| server != receiver).collect();
    random.shuffle(&mut senders);
    let flow = |id: u32| {
        let size = 2_000 + random.below(196_001);
        let deadline = Duration::from_ps(random.exponential(2e10) as u64).max(Duration::from_ms(3));
        let flow = flow(id, senders[id as usize % senders.len()], receiver, size, Duration::ZERO);
        Flow { deadline: with_deadlines.then_some(deadline), ..flow }
    };
    (0..count).map(flow).collect()
}

/// The mean completion time in milliseconds under an omniscient scheduler of the receiver's link. The scheduler serves
/// the shortest flow first. The time of headers and start-up does not count (specifications/pdq.md §9).
pub(crate) fn least_mean_ms(flows: &[Flow]) -> f64 {
    let mut sizes: Vec<u64> = flows.iter().map(|flow| flow.size.0).collect();
    sizes.sort_unstable();
    let sums = sizes.iter().scan(0, |sum, &size| {
        *sum += size;
        Some(GBPS.time_for(Bytes(*sum)).as_secs_f64() * 1e3)
    });
    sums.sum::<f64>() / flows.len() as f64
}

/// The outcome of a run.
#[derive(Default)]
pub(crate) struct Outcome {
    flows: BTreeMap<FlowKey, FlowId>,
    /// For each flow, the time at which all data had arrived.
    pub(crate) delivered: BTreeMap<u32, Time>,
    /// For each flow, the time at which the sender had received all acknowledgements.
    pub(crate) done: BTreeMap<u32, Time>,
    pub(crate) dropped: u64,
}

impl Outcome {
    /// True if the sender had received all acknowledgements by the flow's deadline.
    pub(crate) fn met(&self, flow: &Flow) -> bool {
        self.done.get(&flow.id.0).is_some_and(|&done| done <= flow.due())
    }

    /// Mean of the times in `done`, in milliseconds.
    pub(crate) fn mean_ms(&self) -> f64 {
        self.done.values().map(|done| done.as_secs_f64() * 1e3).sum::<f64>() / self.done.len() as f64
    }

    /// Time at which the flow's sender had received all acknowledgements, in milliseconds.
    pub(crate) fn done_ms(&self, flow: u32) -> f64 {
        let done = self.done.get(&flow).unwrap_or_else(|| panic!("flow {flow} is not done"));
        done.as_secs_f64() * 1e3
    }
}

impl Observer for Outcome {
    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        match report {
            Report::Opened { flow, key } => _ = self.flows.insert(key, flow),
            Report::Delivered { key, .. } => _ = self.delivered.insert(self.flows[&key].0, now),
            Report::Closed { key, .. } => _ = self.done.insert(self.flows[&key].0, now),
            _ => {}
        }
    }

    fn dropped(&mut self, _: Time, _: NodeId, _: Option<PortId>, _: &Packet, _: DropReason) {
        self.dropped += 1;
    }
}

/// Makes the agent of a link's egress port from the agent that the transport provides.
pub(crate) type Watch<'a> =
    &'a mut dyn FnMut(LinkId, Option<Box<dyn PortAgent>>) -> Option<Box<dyn PortAgent>>;

/// A setup that runs flows over one transport to their end.
pub(crate) struct Bench<'a> {
    pub(crate) transport: &'a str,
    /// Parameters with values other than their defaults.
    pub(crate) settings: &'a [(&'a str, Value)],
    pub(crate) topology: &'a Arc<Topology>,
    pub(crate) routing: &'a str,
    pub(crate) errors: LinkErrors,
}

impl<'a> Bench<'a> {
    /// A setup with the transport's default parameters and without link errors.
    pub(crate) fn new(transport: &'a str, topology: &'a Arc<Topology>) -> Self {
        Self { transport, settings: &[], topology, routing: "ecmp", errors: LinkErrors::default() }
    }

    /// Runs the flows on ports with 4 MB of memory. Returns the outcome.
    pub(crate) fn run(&self, flows: &[Flow]) -> Outcome {
        self.watched(flows, &mut |_, agent| agent)
    }

    /// Runs the flows as [`run`](Self::run) does, but with the port agents that `watch` makes. Returns the outcome.
    pub(crate) fn watched(&self, flows: &[Flow], watch: Watch<'_>) -> Outcome {
        let transport = registry().transport(self.transport).expect("a transport of the registry");
        let settings = settings(transport.info.parameters, self.settings);
        let plan = Plan::new(self.topology, self.routing, &settings, 1);
        let mut parts =
            registry().build(transport, &plan, &Settings::defaults(&[])).expect("a fabric that fits");
        let port = |link| PortSetup {
            limit_bytes: Some(4_000_000),
            agent: watch(link, (parts.agent)(link)),
            ..PortSetup::default()
        };
        let limit = Some(Time::ZERO + Duration::from_ms(10_000));
        let config = Config { errors: self.errors.clone(), time_limit: limit, ..Config::default() };
        let mut simulation =
            Simulation::new(self.topology, parts.node, port, flows.to_vec(), config, Outcome::default());
        assert!(simulation.run(|_| ControlFlow::Continue(())));
        assert_eq!(simulation.packets_inside(), 0, "the fabric comes to rest");
        simulation.into_observer()
    }
}

/// The transport's setup in one case of [`all_end`].
pub(crate) struct Case {
    pub(crate) settings: Vec<(&'static str, Value)>,
    /// True if the transport gives up flows that cannot meet their deadlines.
    pub(crate) gives_up: bool,
}

/// Runs a thousand cases of two to eight flows between servers of the tree, each case once without losses and once with
/// 3% loss. About half of the flows have deadlines. Asserts that every flow without a deadline ends, and that flows
/// with deadlines end too if [`Case::gives_up`] is false.
pub(crate) fn all_end(transport: &str, case: impl Fn(&mut Stream) -> Case) {
    let topology = tree();
    for seed in 0..1_000 {
        let mut random = Stream::new(seed, 0, "cases");
        let count = 2 + random.below(7) as u32;
        let flows: Vec<Flow> = (0..count)
            .map(|n| {
                let src = random.below(12) as u32;
                let dst = (src + 1 + random.below(11) as u32) % 12;
                let deadline = random.coin().then(|| Duration::from_us(500 + random.below(3_000)));
                Flow { deadline, ..flow(n, src, dst, 1 + random.below(40_000), Duration::ZERO) }
            })
            .collect();
        let Case { settings, gives_up } = case(&mut random);
        for loss in [0.0, 0.03] {
            let errors = LinkErrors { seed, loss, ..LinkErrors::default() };
            let outcome =
                Bench { settings: &settings, errors, ..Bench::new(transport, &topology) }.run(&flows);
            for flow in &flows {
                let is_done = outcome.done.contains_key(&flow.id.0);
                assert!(
                    is_done || gives_up && flow.deadline.is_some(),
                    "{transport}, seed {seed}, {settings:?}, {loss}: {flow:?}"
                );
            }
        }
    }
}
