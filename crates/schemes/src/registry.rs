//! The registry of schemes: the built-in schemes, and schemes that a program adds.
//!
//! ```
//! use raddle_schemes::registry::Registry;
//!
//! let registry = Registry::builtin();
//! assert!(registry.transport("r2c2").is_some());
//! ```
//!
//! [`Registry::with`] adds a scheme of another crate. The lab and the command line take the resulting registry as an
//! argument.

use crate::fluid::FluidScheme;
use crate::parameter::Settings;
use crate::profile::Profile;
use crate::scheme::{
    Built, CongestionPoint, FlowControl, Info, Make, Plan, QueueDiscipline, Routing, TopologyKind, Transport,
    Unfit, View,
};
use crate::{link, queue, routing, transport};
use raddle_core::{Decoders, ExtensionHeader};
use raddle_topology::routing::Protocol;

/// All schemes that an experiment can name, and the decoders of their headers.
#[derive(Debug, Clone)]
pub struct Registry {
    transports: Vec<Transport>,
    routings: Vec<Routing>,
    flow_controls: Vec<FlowControl>,
    congestion_points: Vec<CongestionPoint>,
    queues: Vec<QueueDiscipline>,
    topologies: Vec<TopologyKind>,
    profiles: Vec<Profile>,
    decoders: Decoders,
}

/// An entry of a registry.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A transport.
    Transport(Transport),
    /// A routing.
    Routing(Routing),
    /// Flow control of links.
    FlowControl(FlowControl),
    /// Congestion points.
    CongestionPoint(CongestionPoint),
    /// A queue discipline.
    Queue(QueueDiscipline),
    /// A kind of topology.
    Topology(TopologyKind),
}

macro_rules! entries {
    ($($part:ty => $entry:ident),*) => {$(
        impl From<$part> for Entry {
            fn from(part: $part) -> Self {
                Self::$entry(part)
            }
        }
    )*};
}

entries!(
    Transport => Transport,
    Routing => Routing,
    FlowControl => FlowControl,
    CongestionPoint => CongestionPoint,
    QueueDiscipline => Queue,
    TopologyKind => Topology
);

impl Entry {
    fn info(&self) -> &Info {
        match self {
            Self::Transport(part) => &part.info,
            Self::Routing(part) => &part.info,
            Self::FlowControl(part) => &part.info,
            Self::CongestionPoint(part) => &part.info,
            Self::Queue(part) => &part.info,
            Self::Topology(part) => &part.info,
        }
    }
}

impl Registry {
    /// The schemes of this crate. A new scheme needs a folder and a line in one of the lists below.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            transports: vec![
                transport::r2c2::TRANSPORT,
                transport::r2c2_central::TRANSPORT,
                transport::pfq::TRANSPORT,
                transport::tcp::control::reno::TRANSPORT,
                transport::tcp::control::newreno::TRANSPORT,
                transport::tcp::control::cubic::TRANSPORT,
                transport::tcp::control::dctcp::TRANSPORT,
                transport::d3::TRANSPORT,
                transport::rcp::TRANSPORT,
                transport::udp::TRANSPORT,
                transport::cee::TRANSPORT,
                transport::dcqcn::TRANSPORT,
                transport::pdq::TRANSPORT,
                transport::omniscient::TRANSPORT,
            ],
            routings: vec![
                routing::ecmp::ROUTING,
                routing::wcmp::ROUTING,
                routing::letflow::ROUTING,
                routing::conga::ROUTING,
                routing::conga::FLOW_ROUTING,
                routing::expeditus::ROUTING,
                routing::clairvoyant::ROUTING,
                routing::drill::ROUTING,
                routing::presto::ROUTING,
                routing::spray::ROUTING,
                routing::hula::ROUTING,
                routing::d_mod_k::ROUTING,
                routing::s_mod_k::ROUTING,
                routing::random_up::ROUTING,
                routing::hashed::ROUTING,
                routing::switch_ar::ROUTING,
            ],
            flow_controls: vec![link::pfc::FLOW_CONTROL],
            congestion_points: vec![link::qcn::CONGESTION_POINT, transport::dcqcn::CONGESTION_POINT],
            queues: vec![queue::strict::QUEUE, queue::ets::QUEUE],
            topologies: Vec::new(),
            profiles: transport::dcqcn::PROFILES.to_vec(),
            decoders: Decoders::BUILTIN,
        }
    }

    /// The registry with one more entry.
    ///
    /// # Panics
    /// If another entry has the same name, which is a bug in the calling program.
    #[must_use]
    pub fn with(mut self, entry: impl Into<Entry>) -> Self {
        let entry = entry.into();
        let name = entry.info().name;
        assert!(self.infos().all(|info| info.name != name), "two schemes are called `{name}`");
        match entry {
            Entry::Transport(part) => self.transports.push(part),
            Entry::Routing(part) => self.routings.push(part),
            Entry::FlowControl(part) => self.flow_controls.push(part),
            Entry::CongestionPoint(part) => self.congestion_points.push(part),
            Entry::Queue(part) => self.queues.push(part),
            Entry::Topology(part) => self.topologies.push(part),
        }
        self
    }

    /// The registry with a decoder for the extension header `H`.
    ///
    /// # Panics
    /// If another header has the same number, which is a bug in the calling program.
    #[must_use]
    pub fn with_header<H: ExtensionHeader>(mut self) -> Self {
        self.decoders = self.decoders.with::<H>().unwrap_or_else(|taken| panic!("{taken}"));
        self
    }

    /// All transports.
    #[must_use]
    pub fn transports(&self) -> &[Transport] {
        &self.transports
    }

    /// All routings except the [own routings](Self::own_routings) of transports.
    #[must_use]
    pub fn routings(&self) -> &[Routing] {
        &self.routings
    }

    /// All flow controls of links.
    #[must_use]
    pub fn flow_controls(&self) -> &[FlowControl] {
        &self.flow_controls
    }

    /// All congestion points.
    #[must_use]
    pub fn congestion_points(&self) -> &[CongestionPoint] {
        &self.congestion_points
    }

    /// All queue disciplines except FIFO, which the engine provides.
    #[must_use]
    pub fn queues(&self) -> &[QueueDiscipline] {
        &self.queues
    }

    /// The kinds of topology that other crates add. The lab defines the built-in kinds.
    #[must_use]
    pub fn topologies(&self) -> &[TopologyKind] {
        &self.topologies
    }

    /// All profiles: named sets of parameter values.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The decoders of packet headers.
    #[must_use]
    pub const fn decoders(&self) -> &Decoders {
        &self.decoders
    }

    /// The descriptions of all schemes. Kinds of topology are not included.
    pub fn schemes(&self) -> impl Iterator<Item = &Info> {
        let transports = self.transports.iter().map(|part| &part.info);
        let routings = self.routings.iter().map(|part| &part.info);
        let flow_controls = self.flow_controls.iter().map(|part| &part.info);
        let congestion_points = self.congestion_points.iter().map(|part| &part.info);
        let queues = self.queues.iter().map(|part| &part.info);
        transports.chain(routings).chain(flow_controls).chain(congestion_points).chain(queues)
    }

    fn infos(&self) -> impl Iterator<Item = &Info> {
        self.schemes().chain(self.topologies.iter().map(|part| &part.info))
    }

    /// Names and summaries of the own routings of transports, which are not in [`routings`](Self::routings). Transports
    /// that have only hosts do not support them.
    pub fn own_routings(&self) -> impl Iterator<Item = (String, &'static str)> {
        let protocols = Protocol::all().map(|protocol| (protocol.to_string(), protocol.summary()));
        let pinned = routing::pinned::OWN_ROUTINGS.iter().map(|&(name, summary)| (name.to_owned(), summary));
        protocols.chain(pinned).filter(|(name, _)| self.routing(name).is_none())
    }

    /// The transport with this name.
    #[must_use]
    pub fn transport(&self, name: &str) -> Option<&Transport> {
        self.transports.iter().find(|part| part.info.name == name)
    }

    /// The routing with this name, if it is one of [`routings`](Self::routings).
    #[must_use]
    pub fn routing(&self, name: &str) -> Option<&Routing> {
        self.routings.iter().find(|part| part.info.name == name)
    }

    /// The flow control with this name.
    #[must_use]
    pub fn flow_control(&self, name: &str) -> Option<&FlowControl> {
        self.flow_controls.iter().find(|part| part.info.name == name)
    }

    /// The kind of congestion points with this name.
    #[must_use]
    pub fn congestion_point(&self, name: &str) -> Option<&CongestionPoint> {
        self.congestion_points.iter().find(|part| part.info.name == name)
    }

    /// The queue discipline with this name.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<&QueueDiscipline> {
        self.queues.iter().find(|part| part.info.name == name)
    }

    /// The values of `scheme.routing` that a transport accepts, the default first.
    #[must_use]
    pub fn routings_of(&self, transport: &Transport) -> Vec<&'static str> {
        match transport.make {
            Make::Whole { routings, .. } | Make::Fluid { routings } => routings.to_vec(),
            Make::Hosts(_) => self.routings.iter().map(|routing| routing.info.name).collect(),
        }
    }

    /// The routing that a transport uses if the experiment does not choose a routing.
    #[must_use]
    pub fn default_routing(&self, transport: &Transport) -> Option<&'static str> {
        match transport.make {
            Make::Whole { routings, .. } | Make::Fluid { routings } => routings.first().copied(),
            Make::Hosts(_) => Some(routing::ecmp::ROUTING.info.name),
        }
    }

    /// The parameters of a routing with their default values; empty for an [own routing](Self::own_routings) of a
    /// transport.
    #[must_use]
    pub fn routing_defaults(&self, name: &str) -> Settings {
        Settings::defaults(self.routing(name).map_or(&[], |routing| routing.info.parameters))
    }

    /// The kind of state that the parts of the transport and of the routing read: local, or global if at least one of
    /// them reads global state.
    #[must_use]
    pub fn view(&self, transport: &Transport, routing: &str) -> View {
        let of_routing = self.routing(routing).map_or(View::Local, |routing| routing.info.view);
        transport.info.view.max(of_routing)
    }

    /// Builds the transport's parts for `plan`. `of_routing` holds the parameters of the plan's routing.
    ///
    /// # Errors
    /// If the scheme cannot run on the topology, if the transport sends no packets, or if the plan asks for streams and
    /// the transport carries none.
    ///
    /// # Panics
    /// If the transport does not accept the plan's routing.
    pub fn build(
        &self,
        transport: &Transport,
        plan: &Plan<'_>,
        of_routing: &Settings,
    ) -> Result<Built, Unfit> {
        if plan.streams {
            transport.check_streams(plan.settings)?;
        }
        match transport.make {
            Make::Whole { build, .. } => build(plan),
            Make::Fluid { .. } => Err(Unfit {
                key: "scheme.transport".to_owned(),
                problem: format!(
                    "`{}` sends no packets, so only the flow engine can run it",
                    transport.info.name
                ),
                hint: "choose kind = \"flow\" in [engine], or another transport".to_owned(),
            }),
            Make::Hosts(hosts) => {
                let routing =
                    self.routing(plan.routing).expect("the routing must be one of the transport's routings");
                hosts(plan)?.over(routing, &Plan { settings: of_routing, ..*plan })
            }
        }
    }

    /// The fluid model of the transport and the plan's routing. `of_routing` holds the parameters of that routing. The
    /// scheme must be able to run on the topology. If the transport sends packets, [`build`](Self::build) checks this.
    ///
    /// # Errors
    /// If the transport has no fluid model, if its fluid model does not support its parameters, or if the routing
    /// cannot be built.
    ///
    /// # Panics
    /// If the transport does not accept the plan's routing.
    pub fn fluid(
        &self,
        transport: &Transport,
        plan: &Plan<'_>,
        of_routing: &Settings,
    ) -> Result<FluidScheme, Unfit> {
        FluidScheme::new(transport, self.routing(plan.routing), plan, of_routing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routing_of_a_transport_is_described() {
        let registry = Registry::builtin();
        let own: Vec<String> = registry.own_routings().map(|(name, _)| name).collect();
        for name in registry.transports().iter().flat_map(|transport| registry.routings_of(transport)) {
            assert!(registry.routing(name).is_some() || own.iter().any(|other| other == name), "{name}");
        }
    }

    #[test]
    fn no_two_schemes_share_a_name() {
        let registry = Registry::builtin();
        let mut names: Vec<_> = registry.schemes().map(|info| info.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    #[should_panic(expected = "two schemes are called `ecmp`")]
    fn a_name_that_is_taken_is_refused() {
        let _ = Registry::builtin().with(routing::ecmp::ROUTING);
    }
}
