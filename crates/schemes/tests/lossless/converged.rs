//! Converged Ethernet at 40 Gb/s in the packet engine: any transport over ECMP and PFC, with or without congestion
//! points.

use raddle_core::{
    Duration, Flow, FlowControlAccount, FlowKey, Header, HeaderInfo, LinkId, NodeId, Packet, PortId, Rate,
    Report, Time,
};
use raddle_packet_sim::{Config, Observer, PortSetup, Reached, Simulation};
use raddle_schemes::link::pfc;
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::queue::strict::Strict;
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::Topology;
use raddle_wire::roce;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The link rate of DCQCN's testbed.
pub(crate) const RATE: Rate = Rate::from_gbps(40);
/// The propagation delay of a link.
pub(crate) const DELAY: Duration = Duration::from_us(1);

/// A flow size in bytes that no run completes.
pub(crate) const ENDLESS: u64 = 1 << 40;

/// Memory in bytes per port and priority. It is large enough for ECN marks to come before pauses (Zhu et al., §4; their
/// switches have 12 MB).
const BUFFER: u64 = 1_000_000;
const XOFF: u64 = 900_000;

/// Delivery times of flows, the number of retransmissions, and the time, link and flow of each transmission of a
/// congestion notification.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) delivered: Vec<Time>,
    pub(crate) retransmissions: u64,
    pub(crate) notifications: Vec<(Time, LinkId, Option<FlowKey>)>,
}

impl Observer for Heard {
    const FORWARDED: bool = true;

    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        if let Header::Roce(roce::Packet { kind: roce::Kind::Notification, .. }) = &packet.header {
            self.notifications.push((sent, link, packet.header.flow_key()));
        }
    }

    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        match report {
            Report::Delivered { .. } => self.delivered.push(now),
            Report::Closed { retransmissions, .. } => self.retransmissions += u64::from(retransmissions),
            _ => {}
        }
    }
}

/// A fabric whose hosts have flows to send.
pub(crate) struct Converged {
    pub(crate) topology: Arc<Topology>,
    pub(crate) simulation: Simulation<Heard>,
}

impl Converged {
    /// A fabric whose hosts run `transport`, with the congestion points `points` if given.
    pub(crate) fn new(topology: Topology, transport: &str, points: Option<&str>, flows: Vec<Flow>) -> Self {
        Self::with(topology, transport, &[], points, flows, Config::default())
    }

    /// Like [`new`](Self::new), but with settings of the transport and with a configuration for link failures or packet
    /// loss.
    pub(crate) fn with(
        topology: Topology,
        transport: &str,
        settings: &[(&'static str, Value)],
        points: Option<&str>,
        flows: Vec<Flow>,
        config: Config,
    ) -> Self {
        let topology = Arc::new(topology);
        let transport = registry().transport(transport).expect("a transport of the registry");
        let points = points.map(|name| {
            let points = registry().congestion_point(name);
            points.expect("congestion points of the registry")
        });
        let mut of_hosts = Settings::defaults(transport.info.parameters);
        settings.iter().for_each(|&(name, value)| of_hosts.set(name, value));
        let of_points = Settings::defaults(points.map_or(&[], |points| points.info.parameters));
        let plan = Plan {
            congestion_points: points.map(|points| (points.info.name, &of_points)),
            ..Plan::new(&topology, "ecmp", &of_hosts, 1)
        };
        let mut parts =
            registry().build(transport, &plan, &Settings::defaults(&[])).expect("a fabric that fits");
        let mut agents = points.map(|points| {
            (points.build)(&Plan { settings: &of_points, ..plan }).expect("parameters that fit")
        });
        let mut of_pfc = Settings::defaults(pfc::FLOW_CONTROL.info.parameters);
        for (name, bytes) in [("buffer", BUFFER), ("xoff", XOFF), ("xon", XOFF - 50_000)] {
            of_pfc.set(name, Value::Bytes(bytes));
        }
        let of_pfc = Plan { settings: &of_pfc, ..plan };
        let mut pfc =
            (pfc::FLOW_CONTROL.build)(&of_pfc, parts.mtu + parts.header_bytes).expect("enough headroom");
        let port = |link| PortSetup {
            queue: Some(Box::<Strict>::default()),
            agent: agents.as_mut().and_then(|agents| agents(link)),
            flow_control: pfc(link),
            ..PortSetup::default()
        };
        let node = |id| (parts.node)(id);
        let simulation = Simulation::new(&topology, node, port, flows, config, Heard::default());
        Self { topology, simulation }
    }

    /// Runs until `until`, or until no events are left.
    pub(crate) fn run(&mut self, until: Time) -> Reached {
        self.simulation.run_until(until, |_| ControlFlow::Continue(()))
    }

    /// The link from a host to its switch.
    pub(crate) fn uplink(&self, host: u32) -> LinkId {
        self.topology.link_id(NodeId(host), PortId(0))
    }

    /// The link from the switch to a host.
    pub(crate) fn downlink(&self, host: u32) -> LinkId {
        self.topology.reverse(self.uplink(host))
    }

    /// Runs until `to`. Returns the utilisation of each link from now to `to`, as a share of the link rate.
    pub(crate) fn shares(&mut self, links: &[LinkId], to: Time) -> Vec<f64> {
        let carried = |of: &Self| -> Vec<u64> {
            let stats = of.simulation.link_stats();
            links.iter().map(|link| stats[link.index()].data_bytes).collect()
        };
        let (from, before) = (self.simulation.now(), carried(self));
        self.run(to);
        let all = RATE.bytes_in(to.since(from)).0 as f64;
        carried(self).iter().zip(before).map(|(after, before)| (after - before) as f64 / all).collect()
    }

    /// Number of pauses that all ports have sent.
    pub(crate) fn pauses(&self) -> u64 {
        self.simulation.flow_control().iter().map(|(_, account)| account.pauses).sum()
    }

    /// Asserts that no packet is lost and that no memory overflows.
    pub(crate) fn assert_lossless(&self) {
        let totals = self.simulation.totals();
        let inside = self.simulation.packets_inside() as u64;
        assert_eq!((totals.dropped, totals.sent), (0, totals.delivered + inside), "{totals:?}");
        for (link, FlowControlAccount { overflows, peak_memory, .. }) in self.simulation.flow_control() {
            assert_eq!(overflows, 0, "memory behind {link:?}");
            assert!(peak_memory <= BUFFER, "{peak_memory} B behind {link:?}");
        }
    }
}
