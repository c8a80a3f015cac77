//! What a scheme declares: its name and words, its parameters, and the functions that build its parts.

use crate::fluid::{Sharing, Spread};
use crate::parameter::{Parameter, Settings, Value};
use crate::routing::reordering::{Hold, Reordering};
use raddle_core::{Duration, Forwarder, Host, LinkFlowControl, LinkId, NodeId, Parts, PortAgent, Queue};
use raddle_topology::dependencies::describe;
use raddle_topology::{Topology, routing as paths};
use std::sync::Arc;

/// What a scheme is.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Its name in `scheme.transport` or `scheme.routing`, which no other has.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// Where it is defined: paper and section, RFC.
    pub source: &'static str,
    /// Where it differs from that, and why; a line each.
    pub differs: &'static [&'static str],
    /// What its parts look at.
    pub view: View,
    /// Its parameters, in the table `scheme.<name>`.
    pub parameters: &'static [Parameter],
}

/// What the parts of a scheme look at besides what packets and credits bring them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// Nothing that changes: a run may be divided among threads.
    Local,
    /// State of other nodes as it is at that instant, which only an oracle can see: one thread runs them all.
    Global,
}

/// What a scheme is built from.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The fabric.
    pub topology: &'a Arc<Topology>,
    /// One of the transport's [routings](crate::registry::Registry::routings_of).
    pub routing: &'a str,
    /// The parameters of what is being built.
    pub settings: &'a Settings,
    /// The run's seed.
    pub seed: u64,
    /// The congestion points of the switches' ports, if they have any: their name and parameters.
    pub congestion_points: Option<(&'a str, &'a Settings)>,
    /// At which intervals hosts are to report how far what they receive has come, if somebody wants to know.
    pub progress: Option<Duration>,
    /// Whether flows may be [streams](raddle_core::Flow::is_stream). Hosts then report how far each flow has come:
    /// [`Host::carries_streams`].
    pub streams: bool,
    /// The largest [priority](raddle_core::Flow::priority) of a flow.
    pub most_priority: u8,
}

impl<'a> Plan<'a> {
    /// A plan without congestion points, whose hosts do not report progress and whose flows are no streams and have no
    /// priorities.
    #[must_use]
    pub const fn new(
        topology: &'a Arc<Topology>,
        routing: &'a str,
        settings: &'a Settings,
        seed: u64,
    ) -> Self {
        Self {
            topology,
            routing,
            settings,
            seed,
            congestion_points: None,
            progress: None,
            streams: false,
            most_priority: 0,
        }
    }

    /// The parameters of the congestion points of that name.
    ///
    /// # Errors
    /// If the switches have no such congestion points, although `who` needs them.
    pub fn congestion_points(&self, name: &str, who: &str) -> Result<&'a Settings, Unfit> {
        match self.congestion_points {
            Some((other, settings)) if other == name => Ok(settings),
            _ => Err(Unfit {
                key: "scheme".to_owned(),
                problem: format!("{who} needs congestion points of the kind `{name}`"),
                hint: format!("congestion_points = \"{name}\""),
            }),
        }
    }
}

/// A scheme ready to run: the parts of each node and port.
pub struct Built {
    /// Host and forwarder of a node.
    pub node: Box<dyn FnMut(NodeId) -> Parts>,
    /// The queue of a link's egress port, if the scheme needs one of its own; `None` leaves a FIFO.
    pub queue: Box<dyn FnMut(LinkId) -> Option<Box<dyn Queue>>>,
    /// The agent of a link's egress port, if the scheme has its own: controllers of explicit rates.
    pub agent: Agents,
    /// Bytes that a data packet carries beside its payload.
    pub header_bytes: u32,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Whether flows begin with a round trip of packets without payload.
    pub handshake: bool,
    /// Whether hosts wait for what they sent to [leave](raddle_core::Input::Sent): then their ports need queues, which are
    /// [`strict`](crate::queue::strict) if nothing else is chosen.
    pub hear_of_departures: bool,
}

impl Built {
    /// Of what only the flow engine runs: payload without headers, that nobody sends.
    #[must_use]
    pub fn of_fluid() -> Self {
        Self {
            node: Box::new(|_| Parts::default()),
            queue: Box::new(|_| None),
            agent: Box::new(|_| None),
            header_bytes: 0,
            mtu: 1_500,
            handshake: false,
            hear_of_departures: false,
        }
    }
}

/// Why a scheme cannot run on a fabric: the key of the experiment that is at fault, what is wrong, what would be
/// right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unfit {
    /// The experiment's key, such as `scheme.routing`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: String,
}

/// What carries flows from host to host.
#[derive(Debug, Clone, Copy)]
pub struct Transport {
    /// What it is.
    pub info: Info,
    /// How it is built.
    pub make: Make,
    /// What it is as a fluid, if it is one.
    pub fluid: Option<MakeFluid>,
    /// Whether its flows may be streams.
    pub streams: Streams,
}

/// Whether a transport carries [streams](raddle_core::Flow::is_stream): flows whose size nobody knows when they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// It does.
    Carried,
    /// It does if the flag of this name among its parameters is set.
    With(&'static str),
    /// It does not, for this reason: a clause with the transport as its subject.
    Refused(&'static str),
}

impl Streams {
    /// Of transports whose order of service depends on the sizes of flows.
    pub const NEEDS_SIZES: Self = Self::Refused("needs the sizes of flows when they begin");
    /// Of transports for which nobody has needed streams yet.
    pub const NOT_BUILT: Self = Self::Refused("has been built for flows of known size only");
}

/// Makes a transport for the flow engine.
pub type MakeFluid = fn(&Plan<'_>) -> Result<Sharing, Unfit>;

/// How the parts of a transport are made.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// Hosts and forwarders together, which know these routings, the default first.
    Whole {
        /// Values of `scheme.routing`.
        routings: &'static [&'static str],
        /// Makes the parts.
        build: fn(&Plan<'_>) -> Result<Built, Unfit>,
    },
    /// Nothing: only the flow engine runs it. Its paths are by these routings, the default first.
    Fluid {
        /// Values of `scheme.routing`.
        routings: &'static [&'static str],
    },
    /// Hosts alone, for the switches of any [`Routing`].
    Hosts(fn(&Plan<'_>) -> Result<Hosts, Unfit>),
}

/// The hosts of a transport.
pub struct Hosts {
    /// The host of a node.
    pub host: Box<dyn FnMut(NodeId) -> Box<dyn Host>>,
    /// Bytes that a data packet carries beside its payload.
    pub header_bytes: u32,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Whether flows begin with a round trip of packets without payload.
    pub handshake: bool,
    /// Whether hosts wait for what they sent to [leave](raddle_core::Input::Sent): then their ports need queues, which are
    /// [`strict`](crate::queue::strict) if nothing else is chosen.
    pub hear_of_departures: bool,
}

/// How switches pass packets on, whatever the hosts say to each other: on shortest paths, which
/// [`Transport::check_lossless`] relies on.
#[derive(Debug, Clone, Copy)]
pub struct Routing {
    /// What it is.
    pub info: Info,
    /// Makes the forwarders.
    pub build: fn(&Plan<'_>) -> Result<Forwarders, Unfit>,
    /// How a flow spreads over links as a fluid, by the routing's parameters.
    pub spread: fn(&Settings) -> Spread,
    /// How receivers hold back segments that overtook others, by the routing's parameters; `None` if they do not, as with a
    /// routing that keeps a flow on one path.
    pub hold: fn(&Settings) -> Option<Hold>,
}

/// Flow control of links: one that keeps packets from being lost for want of memory.
#[derive(Debug, Clone, Copy)]
pub struct FlowControl {
    /// What it is.
    pub info: Info,
    /// Makes flow control of each port, for packets of so many bytes at most.
    pub build: fn(&Plan<'_>, packet_bytes: u32) -> Result<FlowControls, Unfit>,
}

/// Flow control at the port that each link leaves, where there is any.
pub type FlowControls = Box<dyn FnMut(LinkId) -> Option<Box<dyn LinkFlowControl>>>;

/// How ports tell that queues build up.
#[derive(Debug, Clone, Copy)]
pub struct CongestionPoint {
    /// What it is.
    pub info: Info,
    /// Makes the agents of ports.
    pub build: fn(&Plan<'_>) -> Result<Agents, Unfit>,
}

/// The agent of the port that each link leaves, where there is one.
pub type Agents = Box<dyn FnMut(LinkId) -> Option<Box<dyn PortAgent>>>;

/// In which order ports serve what waits.
#[derive(Debug, Clone, Copy)]
pub struct QueueDiscipline {
    /// What it is.
    pub info: Info,
    /// Makes the queues, for packets of so many bytes at most.
    pub build: fn(&Plan<'_>, packet_bytes: u32) -> Result<Queues, Unfit>,
}

/// The queue of the port that each link leaves.
pub type Queues = Box<dyn FnMut(LinkId) -> Box<dyn Queue>>;

/// The forwarder of each node. A host with a single link needs none.
pub type Forwarders = Box<dyn FnMut(NodeId) -> Option<Box<dyn Forwarder>>>;

/// Checks that the nodes' numbers fit the 24 bits that addresses of IPv4 leave for them here.
///
/// # Errors
/// If there are more; `who` would address them.
pub(crate) fn check_addresses(topology: &Topology, who: &str) -> Result<(), Unfit> {
    let nodes = topology.node_count();
    if nodes <= 1 << 24 {
        return Ok(());
    }
    let problem = format!("{who} addresses 16,777,216 nodes here; this fabric has {nodes}");
    Err(Unfit { key: "topology".into(), problem, hint: "choose a smaller fabric".into() })
}

/// A forwarder for each node but hosts with a single port: they send by it, and all that arrives is for them.
pub fn forwarders_where_needed<F: Forwarder + 'static>(
    topology: &Arc<Topology>,
    mut forwarder: impl FnMut(NodeId) -> F + 'static,
) -> Forwarders {
    let topology = Arc::clone(topology);
    Box::new(move |node| {
        let needed = !topology.is_host(node) || topology.port_count(node) > 1;
        needed.then(|| -> Box<dyn Forwarder> { Box::new(forwarder(node)) })
    })
}

/// A kind of fabric, for `topology.kind`.
#[derive(Debug, Clone, Copy)]
pub struct TopologyKind {
    /// What it is; its parameters stand in `[topology]` itself.
    pub info: Info,
    /// Makes the fabric by its parameters and the run's seed.
    pub build: fn(&Settings, seed: u64) -> Result<Topology, Unfit>,
}

impl Hosts {
    /// These hosts over switches of that routing, whose parameters are the settings of `plan`.
    ///
    /// # Errors
    /// If the routing cannot run on the fabric.
    pub fn over(self, routing: &Routing, plan: &Plan<'_>) -> Result<Built, Unfit> {
        let Self { mut host, header_bytes, mtu, handshake, hear_of_departures } = self;
        let mut forwarder = (routing.build)(plan)?;
        let topology = Arc::clone(plan.topology);
        let hold = (routing.hold)(plan.settings);
        let mut ordered = move |id| match hold {
            Some(hold) => Box::new(Reordering::new(host(id), hold)),
            None => host(id),
        };
        Ok(Built {
            node: Box::new(move |id| Parts {
                host: topology.is_host(id).then(|| ordered(id)),
                forwarder: forwarder(id),
                ..Parts::default()
            }),
            queue: Box::new(|_| None),
            agent: Box::new(|_| None),
            header_bytes,
            mtu,
            handshake,
            hear_of_departures,
        })
    }
}

impl Transport {
    /// Checks that flows of the transport, with these parameters, may be streams.
    ///
    /// # Errors
    /// If they may not, with the reason.
    pub fn check_streams(&self, settings: &Settings) -> Result<(), Unfit> {
        let name = self.info.name;
        let is_set = |flag| settings.iter().any(|(of, value)| of.name == flag && value == Value::Flag(true));
        match self.streams {
            Streams::Carried => Ok(()),
            Streams::With(flag) if is_set(flag) => Ok(()),
            Streams::With(flag) => Err(Unfit {
                key: format!("scheme.{name}.{flag}"),
                problem: format!("`{name}` carries flows of unknown size only with `{flag}`"),
                hint: format!("{flag} = true"),
            }),
            Streams::Refused(why) => Err(Unfit {
                key: "scheme.transport".to_owned(),
                problem: format!("`{name}` carries no flows of unknown size: it {why}"),
                hint: "choose a transport that does, such as `tcp-newreno`, `udp` or `r2c2`".to_owned(),
            }),
        }
    }

    /// Checks that links with flow control cannot wait for each other in a circle on this fabric.
    ///
    /// # Errors
    /// If they could, with the circle, or if packets go by routes of the transport's own, of which nothing is known.
    pub fn check_lossless(&self, topology: &Arc<Topology>) -> Result<(), Unfit> {
        let unfit = |problem, hint: &str| {
            Err(Unfit { key: "scheme.flow_control".to_owned(), problem, hint: hint.to_owned() })
        };
        if !matches!(self.make, Make::Hosts(_)) {
            let problem =
                format!("links that hold packets back could deadlock by the routes of `{}`", self.info.name);
            return unfit(problem, "choose a transport whose switches route, or leave `flow_control` out");
        }
        match paths::Routing::new(Arc::clone(topology)).buffer_cycle() {
            None => Ok(()),
            Some(cycle) => unfit(
                format!("links that hold packets back could deadlock: {}", describe(topology, &cycle)),
                "choose a fabric in which shortest paths lead up and then down, such as `k_ary_n_tree` or `fat_tree`, or \
                 leave `flow_control` out",
            ),
        }
    }
}
