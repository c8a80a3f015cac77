//! The declaration of a scheme: its name, its description, its parameters, and the functions that build its parts.

use crate::fluid::{Sharing, Spread};
use crate::halt::Halt;
use crate::parameter::{Parameter, Settings, Value};
use crate::routing::reordering::{Hold, Reordering};
use raddle_core::{Duration, Forwarder, Host, LinkFlowControl, LinkId, NodeId, Parts, PortAgent, Queue};
use raddle_topology::dependencies::describe;
use raddle_topology::{Topology, routing as paths};
use std::fmt;
use std::sync::Arc;

/// The name, description and parameters of a scheme.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Unique name, as in `scheme.transport` or `scheme.routing`.
    pub name: &'static str,
    /// A description of the scheme in one sentence.
    pub summary: &'static str,
    /// The defining document, such as a paper, an RFC or a standard.
    pub source: &'static str,
    /// Differences from `source`, one line each; some lines give the reason.
    pub differs: &'static [&'static str],
    /// The kind of state that the scheme's parts read: local or global.
    pub view: View,
    /// The parameters: keys of the table `scheme.<name>` or, for a kind of topology, of the table `topology`.
    pub parameters: &'static [Parameter],
}

/// The kind of state that a scheme's parts read, in addition to the packets and credits that they receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// No changing state of other nodes: a run may be divided among threads.
    Local,
    /// The current state of other nodes, which only an oracle can see: one thread must run all nodes.
    Global,
}

/// The inputs from which a scheme's parts are built.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The fabric.
    pub topology: &'a Arc<Topology>,
    /// One of the transport's [routings](crate::registry::Registry::routings_of).
    pub routing: &'a str,
    /// The parameters of the scheme that is being built from this plan.
    pub settings: &'a Settings,
    /// The run's seed.
    pub seed: u64,
    /// The name and the parameters of the congestion points of the switches' ports, if there are any.
    pub congestion_points: Option<(&'a str, &'a Settings)>,
    /// Interval at which receivers report the progress of their flows; `None` turns these reports off.
    pub progress: Option<Duration>,
    /// True if flows may be [streams](raddle_core::Flow::is_stream). Hosts must then support streams and report the
    /// progress of each flow, as [`Host::carries_streams`] describes.
    pub streams: bool,
    /// The largest [priority](raddle_core::Flow::priority) of any flow.
    pub most_priority: u8,
}

impl<'a> Plan<'a> {
    /// A plan without congestion points, reports of progress, streams or priorities.
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

    /// The parameters of the congestion points called `name`, which the scheme `who` needs.
    ///
    /// # Errors
    /// If the switches have no such congestion points.
    pub fn congestion_points(&self, name: &str, who: &str) -> Result<&'a Settings, Unfit> {
        match self.congestion_points {
            Some((other, settings)) if other == name => Ok(settings),
            _ => Err(Unfit {
                key: "scheme".to_owned(),
                problem: format!("{who} needs congestion points of kind `{name}`"),
                hint: format!("set congestion_points = \"{name}\" in [scheme]"),
            }),
        }
    }
}

/// A scheme ready to run: the parts of each node and port.
pub struct Built {
    /// Makes the host and the forwarder of a node.
    pub node: Box<dyn FnMut(NodeId) -> Parts>,
    /// Makes the egress queue of a link's port. `None` means that the scheme needs no queue of its own. The port then
    /// has the queue that the experiment chooses. The default is a FIFO, or a `strict` queue at host ports if
    /// `hear_of_departures` is true.
    pub queue: Box<dyn FnMut(LinkId) -> Option<Box<dyn Queue>>>,
    /// Makes the agent of a link's egress port if the scheme has one, such as a controller of explicit rates.
    pub agent: Agents,
    /// Bytes that a data packet carries in addition to its payload.
    pub header_bytes: u32,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// True if flows begin with a round trip of packets without payload.
    pub handshake: bool,
    /// True if a host must be notified when one of its packets has [left](raddle_core::Input::Sent) the port. The
    /// default queue of host ports is then [`strict`](crate::queue::strict) instead of a FIFO.
    pub hear_of_departures: bool,
    /// Holds the error of a host or a forwarder that cannot go on.
    pub halt: Halt,
}

impl Built {
    /// The parts of a transport that only the flow engine runs: no hosts, no forwarders, and no header bytes.
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
            halt: Halt::default(),
        }
    }
}

/// The reason why parts of an experiment do not fit together, such as a scheme and a topology: the experiment's key at
/// fault, the problem, and a correction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unfit {
    /// The experiment's key, such as `scheme.routing`.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// A value or a choice that would work.
    pub hint: String,
}

/// A transport protocol, which carries flows from host to host.
#[derive(Debug, Clone, Copy)]
pub struct Transport {
    /// Name, description and parameters.
    pub info: Info,
    /// Makes the transport's parts for the packet engine.
    pub make: Make,
    /// Makes the transport's fluid model for the flow engine, if there is one.
    pub fluid: Option<MakeFluid>,
    /// Support for streams.
    pub streams: Streams,
}

/// A transport's support for [streams](raddle_core::Flow::is_stream): flows whose size is unknown when they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// The transport carries streams.
    Carried,
    /// The transport carries streams if the parameter with this name is `true`.
    With(&'static str),
    /// The transport carries no streams. The text gives the reason and completes a sentence that begins with "it".
    Refused(&'static str),
}

impl Streams {
    /// For transports that use the sizes of flows to set rates or to order flows.
    pub const NEEDS_SIZES: Self = Self::Refused("needs to know the size of a flow when the flow begins");
    /// For transports that do not implement streams.
    pub const NOT_BUILT: Self = Self::Refused("supports only flows of known size");
}

/// Makes the fluid model of a transport for the flow engine.
pub type MakeFluid = fn(&Plan<'_>) -> Result<Sharing, Unfit>;

/// The way to make the parts of a transport.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// The transport has its own hosts and forwarders, which support the listed routings. The default comes first.
    Whole {
        /// Values of `scheme.routing`.
        routings: &'static [&'static str],
        /// Makes the parts.
        build: fn(&Plan<'_>) -> Result<Built, Unfit>,
    },
    /// Only the flow engine runs the transport. The paths of flows follow one of the listed routings. The default comes
    /// first.
    Fluid {
        /// Values of `scheme.routing`.
        routings: &'static [&'static str],
    },
    /// The transport has its own hosts only. They work with the forwarders of any [`Routing`].
    Hosts(fn(&Plan<'_>) -> Result<Hosts, Unfit>),
}

/// The hosts of a transport.
pub struct Hosts {
    /// Makes the host of a node.
    pub host: Box<dyn FnMut(NodeId) -> Box<dyn Host>>,
    /// Bytes that a data packet carries in addition to its payload.
    pub header_bytes: u32,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// True if flows begin with a round trip of packets without payload.
    pub handshake: bool,
    /// True if a host must be notified when one of its packets has [left](raddle_core::Input::Sent) the port. The
    /// default queue of host ports is then [`strict`](crate::queue::strict) instead of a FIFO.
    pub hear_of_departures: bool,
}

/// A routing scheme: it decides how nodes forward the packets of any transport without forwarders of its own. All
/// routings use shortest paths, and [`Transport::check_lossless`] relies on this property.
#[derive(Debug, Clone)]
pub struct Routing {
    /// Name, description and parameters.
    pub info: Info,
    /// Makes the forwarders.
    pub build: Build,
    /// The model of a flow's paths in the flow engine, for the routing's parameters.
    pub spread: fn(&Settings) -> Spread,
    /// The rule by which receivers hold back segments that arrive out of order, for the routing's parameters. `None` if
    /// receivers hold nothing back, as with a routing that keeps a flow on one path.
    pub hold: fn(&Settings) -> Option<Hold>,
}

/// The way to make the forwarders of a routing.
#[derive(Clone)]
pub enum Build {
    /// A function that is compiled into the program.
    Compiled(fn(&Plan<'_>) -> Result<Forwarders, Unfit>),
    /// The routing is defined while the program runs, for example by a class in Python. Only the packet engine runs it.
    Interpreted {
        /// Makes the forwarders. A forwarder that cannot go on reports its error to the `Halt`.
        build: Arc<BuildInterpreted>,
        /// A digest of the routing's source code. Results of other source code count as results of another program.
        source: String,
    },
}

/// Makes the forwarders of a routing that is defined while the program runs.
pub type BuildInterpreted = dyn Fn(&Plan<'_>, &Halt) -> Result<Forwarders, Unfit> + Send + Sync;

impl Build {
    /// Makes the forwarders. A forwarder that cannot go on reports its error to `halt`.
    ///
    /// # Errors
    /// If the routing cannot run on the fabric.
    pub fn forwarders(&self, plan: &Plan<'_>, halt: &Halt) -> Result<Forwarders, Unfit> {
        match self {
            Self::Compiled(build) => build(plan),
            Self::Interpreted { build, .. } => build(plan, halt),
        }
    }

    /// The digest of the routing's source code; `None` if the routing is compiled into the program.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Compiled(_) => None,
            Self::Interpreted { source, .. } => Some(source),
        }
    }
}

impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            None => f.write_str("Compiled"),
            Some(source) => f.debug_tuple("Interpreted").field(&source).finish(),
        }
    }
}

/// Link-level flow control, which prevents packet loss from buffer overflow.
#[derive(Debug, Clone, Copy)]
pub struct FlowControl {
    /// Name, description and parameters.
    pub info: Info,
    /// Makes the flow control of each port. `packet_bytes` is the size of the largest packet.
    pub build: fn(&Plan<'_>, packet_bytes: u32) -> Result<FlowControls, Unfit>,
}

/// Makes the flow control of a link's egress port; `None` if the port has none.
pub type FlowControls = Box<dyn FnMut(LinkId) -> Option<Box<dyn LinkFlowControl>>>;

/// A scheme by which egress ports signal congestion, with ECN marks or congestion notices.
#[derive(Debug, Clone, Copy)]
pub struct CongestionPoint {
    /// Name, description and parameters.
    pub info: Info,
    /// Makes the agents of ports.
    pub build: fn(&Plan<'_>) -> Result<Agents, Unfit>,
}

/// Makes the agent of a link's egress port; `None` if the port has none.
pub type Agents = Box<dyn FnMut(LinkId) -> Option<Box<dyn PortAgent>>>;

/// The order in which egress ports serve waiting packets.
#[derive(Debug, Clone, Copy)]
pub struct QueueDiscipline {
    /// Name, description and parameters.
    pub info: Info,
    /// Makes the queues. `packet_bytes` is the size of the largest packet.
    pub build: fn(&Plan<'_>, packet_bytes: u32) -> Result<Queues, Unfit>,
}

/// Makes the queue of a link's egress port.
pub type Queues = Box<dyn FnMut(LinkId) -> Box<dyn Queue>>;

/// Makes the forwarder of a node; `None` if the node needs none, such as a host with a single link.
pub type Forwarders = Box<dyn FnMut(NodeId) -> Option<Box<dyn Forwarder>>>;

/// Checks that every node number fits into the lower 24 bits of an IPv4 address 10.x.x.x.
///
/// # Errors
/// If the topology has more than 2^24 nodes. The message names `who`, the scheme that addresses nodes.
pub(crate) fn check_addresses(topology: &Topology, who: &str) -> Result<(), Unfit> {
    let nodes = topology.node_count();
    if nodes <= 1 << 24 {
        return Ok(());
    }
    let problem = format!("{who} supports at most 16,777,216 nodes, and this topology has {nodes}");
    Err(Unfit { key: "topology".into(), problem, hint: "choose a smaller topology".into() })
}

/// A forwarder for each node except hosts with a single port. Such a host sends every packet through that port, and
/// every packet that it receives is addressed to it.
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

/// A kind of topology, for `topology.kind`.
#[derive(Debug, Clone, Copy)]
pub struct TopologyKind {
    /// Name, description and parameters. The parameters are keys of the table `[topology]` itself.
    pub info: Info,
    /// Makes the topology from its parameters and the run's seed.
    pub build: fn(&Settings, seed: u64) -> Result<Topology, Unfit>,
}

impl Hosts {
    /// Combines these hosts with the forwarders of `routing`, whose parameters are `plan.settings`. If the routing has
    /// a [`hold`](Routing::hold) rule, each host gets a buffer that puts segments back in order.
    ///
    /// # Errors
    /// If the routing cannot run on the fabric.
    pub fn over(self, routing: &Routing, plan: &Plan<'_>) -> Result<Built, Unfit> {
        let Self { mut host, header_bytes, mtu, handshake, hear_of_departures } = self;
        let halt = Halt::default();
        let mut forwarder = routing.build.forwarders(plan, &halt)?;
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
            halt,
        })
    }
}

impl Transport {
    /// Checks that flows of the transport, with these parameters, may be streams.
    ///
    /// # Errors
    /// If the transport carries no streams with these parameters. The error gives the reason.
    pub fn check_streams(&self, settings: &Settings) -> Result<(), Unfit> {
        let name = self.info.name;
        let is_set = |flag| settings.iter().any(|(of, value)| of.name == flag && value == Value::Flag(true));
        match self.streams {
            Streams::Carried => Ok(()),
            Streams::With(flag) if is_set(flag) => Ok(()),
            Streams::With(flag) => Err(Unfit {
                key: format!("scheme.{name}.{flag}"),
                problem: format!("`{name}` carries flows of unknown size only with `{flag} = true`"),
                hint: format!("set {flag} = true"),
            }),
            Streams::Refused(why) => Err(Unfit {
                key: "scheme.transport".to_owned(),
                problem: format!("`{name}` cannot carry flows of unknown size: it {why}"),
                hint: "choose a transport for flows of unknown size, such as `tcp-newreno`, `udp` or \
                       `r2c2`"
                    .to_owned(),
            }),
        }
    }

    /// Checks that this topology has no cycle of buffer dependencies: such a cycle could deadlock links with flow
    /// control.
    ///
    /// # Errors
    /// If there is a cycle; the message lists the cycle's links. Or if [`Transport::make`] is not [`Make::Hosts`]: the
    /// routes of such a transport are unknown here.
    pub fn check_lossless(&self, topology: &Arc<Topology>) -> Result<(), Unfit> {
        let unfit = |problem, hint: &str| {
            Err(Unfit { key: "scheme.flow_control".to_owned(), problem, hint: hint.to_owned() })
        };
        if !matches!(self.make, Make::Hosts(_)) {
            let problem =
                format!("with flow control, packets on the routes of `{}` could deadlock", self.info.name);
            return unfit(
                problem,
                "choose a transport that works with any routing, or leave `flow_control` out",
            );
        }
        match paths::Routing::new(Arc::clone(topology)).buffer_cycle() {
            None => Ok(()),
            Some(cycle) => unfit(
                format!(
                    "with flow control, the links between these nodes could deadlock: {}",
                    describe(topology, &cycle)
                ),
                "choose a topology whose shortest paths lead up and then down, such as `k_ary_n_tree` or \
                 `fat_tree`, or leave `flow_control` out",
            ),
        }
    }
}
