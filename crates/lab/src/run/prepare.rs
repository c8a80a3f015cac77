//! Prepares an experiment for an engine, and makes the checks that involve several parts of the experiment.

use crate::Error;
use crate::experiment::{Cause, Document, EngineKind, Experiment, Problem, QueueLimits, Scheme, place};
use crate::lint::{self, Warning};
use crate::memory::{self, Each, Estimate, Limit, Load};
use crate::observe::capture;
use crate::observe::ranks;
use crate::observe::series;
use crate::observe::uplinks::Uplinks;
use crate::run::capabilities::{self, Lacking};
use crate::run::faults;
use crate::run::ideal::{Ideals, components};
use crate::run::live_engine::Share;
use crate::run::survey::Survey;
use raddle_core::{
    Bytes, Duration, Flows, LinkErrors, LinkFlowControl, LinkId, LinkStats, NodeId, Parts, PortAgent, Queue,
};
use raddle_live::Limits;
use raddle_live::lockstep::Lockstep;
use raddle_live::rack::ip;
use raddle_packet_sim::{Change, Config, PortSetup, Simulation, Switching, Threads};
use raddle_records::{FlowRecord, Framing, LinkRecord, TableWriter};
use raddle_schemes::fluid::FluidScheme;
use raddle_schemes::queue::strict::Strict;
use raddle_schemes::scheme::{Agents, Built, FlowControls, Make, Plan, Queues, Transport, Unfit, View};
use raddle_topology::{Link, LinkLayer, Topology, discoverers};
use raddle_workload::Facts;
use raddle_workload::goal::Job;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// An experiment that has been checked and can run.
pub struct Prepared {
    /// The experiment, with the defaults filled in.
    pub experiment: Experiment,
    /// The fabric.
    pub topology: Arc<Topology>,
    /// The flows, in order of their start times.
    pub flows: Flows,
    pub(crate) survey: Survey,
    /// The memory that the run is expected to take.
    pub estimate: Estimate,
    pub(crate) parts: Built,
    pub(crate) own: Own,
    /// The ranks that begin flows, if the workload is a program.
    pub(crate) job: Option<Arc<Job>>,
    pub(crate) ports: PortParts,
    pub(crate) changes: Vec<Change>,
    pub(crate) errors: LinkErrors,
    /// The scheme for the flow engine, if the flow engine runs the experiment.
    pub(crate) fluid: Option<FluidScheme>,
    /// Links whose packets are captured.
    pub(crate) captured: BTreeSet<LinkId>,
    /// Links whose queues are sampled.
    pub(crate) looked_at: BTreeSet<LinkId>,
    /// This process's share of a live rack; `None` if this process runs the whole rack.
    pub(crate) share: Option<Share>,
    /// Warnings about settings that are probably not intended.
    pub warnings: Vec<Warning>,
}

/// The parts of ports that the transport itself provides. Each field is true if the transport provides that part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own {
    pub(crate) queues: bool,
    pub(crate) agents: bool,
}

impl Own {
    fn of(parts: &mut Built, topology: &Topology) -> Self {
        Self {
            queues: topology.links().next().is_some_and(|(id, _)| (parts.queue)(id).is_some()),
            agents: topology.links().any(|(id, _)| (parts.agent)(id).is_some()),
        }
    }
}

/// The parts of ports that the experiment chooses. A port gets such a part only if the transport provides none for it.
#[derive(Default)]
pub(crate) struct PortParts {
    queue: Option<Queues>,
    pub(crate) agent: Option<Agents>,
    flow_control: Option<FlowControls>,
}

impl PortParts {
    fn build(scheme: &Scheme, plan: &Plan<'_>, packet_bytes: u32) -> Result<Self, Unfit> {
        let mut ports = Self::default();
        if let Some((part, settings)) = &scheme.discipline {
            ports.queue = Some((part.build)(&Plan { settings, ..*plan }, packet_bytes)?);
        }
        if let Some((part, settings)) = &scheme.congestion_points {
            ports.agent = Some((part.build)(&Plan { settings, ..*plan })?);
        }
        if let Some((part, settings)) = &scheme.flow_control {
            scheme.transport.check_lossless(plan.topology)?;
            ports.flow_control = Some((part.build)(&Plan { settings, ..*plan }, packet_bytes)?);
        }
        Ok(ports)
    }
}

/// Memory of a link and of a node in an engine, in bytes. The parts of the scheme are not included.
fn engine_bytes(kind: EngineKind) -> [usize; 2] {
    match kind {
        // The set-ups of ports are freed before statistics are gathered, so only the larger of the two sizes is added.
        EngineKind::Packet => [
            Simulation::<()>::BYTES_A_LINK + size_of::<PortSetup>().max(size_of::<LinkStats>()),
            Simulation::<()>::BYTES_A_NODE,
        ],
        EngineKind::Flow => [FLUID_LINK, 0],
        _ => [Lockstep::<()>::BYTES_A_LINK, Lockstep::<()>::BYTES_A_NODE],
    }
}

impl Document {
    /// Reads the experiment, builds its fabric, flows and scheme, and checks that they fit together.
    ///
    /// # Errors
    /// The first problem that is found.
    pub fn prepare(&self) -> Result<Prepared, Problem> {
        let (document, notes) = self.without_aliases();
        let mut prepared = document.prepare_plain()?;
        prepared.warnings = lint::warnings(&document.root, &prepared, &notes);
        Ok(prepared)
    }

    /// Prepares an experiment whose aliases have been replaced. The result has no warnings yet.
    fn prepare_plain(&self) -> Result<Prepared, Problem> {
        let mut experiment = Experiment::read(self)?;
        let memory = self.memory.map(Limit::of_user).or_else(Limit::of_system);
        let topology = experiment.topology.build(experiment.engine.seed)?;
        experiment.scheme.fit(&topology, &self.root, &mut experiment.resolved);
        // It takes long to draw and survey many flows. So the memory of the fabric, of the ranks, and of flows that are
        // known to start together is checked first.
        let fabric = memory::fabric(&topology, engine_bytes(experiment.engine.kind), |_| ());
        let flows = experiment.workload.at_once().unwrap_or(0);
        let ranks = experiment.workload.program().unwrap_or_default().ranks;
        let least = fabric.with_load(Load::at_once(flows, 0), ranks, Each::default());
        self.check_memory(&least, memory)?;
        let flows = experiment.workload.flows(&topology, experiment.engine.seed)?;
        let Experiment { failures, faults: random, errors, engine, .. } = &experiment;
        let changes = faults::changes(failures, random.as_ref(), &topology, engine.seed)?;
        let errors = faults::link_errors(errors.as_ref(), &topology, engine.seed, self.registry.decoders())?;
        let component = components(&faults::lasting(&topology, &changes));
        let most = memory.map_or(Bytes(u64::MAX), |limit| limit.bytes);
        let survey = Survey::of(&experiment, &flows, &topology, &component, most)?;
        let scheme = &experiment.scheme;
        let points = scheme.congestion_points.as_ref();
        let plan = Plan {
            congestion_points: points.map(|(part, settings)| (part.info.name, settings)),
            progress: experiment.record.throughput,
            streams: experiment.engine.hosts.is_some() && !sends_frames(&scheme.transport),
            most_priority: survey.most_priority,
            ..Plan::new(&topology, &scheme.routing, &scheme.settings, experiment.engine.seed)
        };
        let unfit = |unfit| self.unfit(unfit);
        let mut parts = match scheme.transport.make {
            Make::Fluid { .. } if engine.kind == EngineKind::Flow => Built::of_fluid(),
            _ => self.registry.build(&scheme.transport, &plan, &scheme.routing_settings).map_err(unfit)?,
        };
        let fluid = (engine.kind == EngineKind::Flow)
            .then(|| self.registry.fluid(&scheme.transport, &plan, &scheme.routing_settings))
            .transpose()
            .map_err(unfit)?;
        let ports = PortParts::build(scheme, &plan, parts.mtu + parts.header_bytes).map_err(unfit)?;
        let estimate = self.estimate(&experiment, &plan, &flows, &survey).map_err(unfit)?;
        self.check_memory(&estimate, memory)?;
        let links = |named: Option<&str>, key: &str| match named {
            None => Ok(BTreeSet::new()),
            Some(named) => {
                capture::links(named, &topology).map_err(|cause| Problem::at(&place(&self.root, key), cause))
            }
        };
        let record = &experiment.record;
        let captured = links(record.pcap.as_ref().map(|pcap| &pcap.links[..]), "record.pcap")?;
        let asked = record.queue_lengths.as_ref().map(|asked| &asked.links[..]);
        let looked_at = links(asked, "record.queue_links")?;
        let job = ranks::place(&experiment.workload, &topology, experiment.engine.seed, &mut parts)?;
        if let Some(period) = engine.hellos {
            self.check_hellos(period, &topology)?;
            discover(&mut parts, &topology, period);
        }
        let own = Own::of(&mut parts, &topology);
        let prepared = Prepared {
            experiment,
            topology,
            flows,
            survey,
            estimate,
            parts,
            own,
            job,
            ports,
            changes,
            errors,
            fluid,
            captured,
            looked_at,
            share: None,
            warnings: Vec::new(),
        };
        self.check_queues(&prepared)?;
        self.check_hosts(&prepared)?;
        if prepared.experiment.engine.watchdog.is_some() && prepared.experiment.scheme.flow_control.is_none()
        {
            let what = "`watchdog` needs flow control: only links with flow control can deadlock".to_owned();
            let cause = Cause::Contradiction {
                what,
                hint: "leave `watchdog` out, or choose `flow_control` in [scheme]".to_owned(),
            };
            return Err(Problem::at(&place(&self.root, "engine.watchdog"), cause));
        }
        if let Some(Lacking { key, why, hint }) = capabilities::lacking(&prepared) {
            let cause = Cause::Contradiction { what: why, hint };
            return Err(Problem::at(&place(&self.root, key), cause));
        }
        if let Some(interval) = prepared.experiment.record.imbalance
            && Uplinks::of(&prepared.topology, interval).is_none()
        {
            let what =
                "`imbalance` needs switches with several uplinks, and this topology has none".to_owned();
            let cause = Cause::Contradiction { what, hint: "leave `imbalance` out".to_owned() };
            return Err(Problem::at(&place(&self.root, "record.imbalance"), cause));
        }
        Ok(prepared)
    }

    /// Estimates the memory of a run, with a scheme that is built only for the estimate. Measures the scheme's parts at
    /// some nodes. For the flow engine, counts instead the links that the first flows cross.
    fn estimate(
        &self,
        experiment: &Experiment,
        plan: &Plan<'_>,
        flows: &Flows,
        survey: &Survey,
    ) -> Result<Estimate, Unfit> {
        let (scheme, topology) = (&experiment.scheme, plan.topology);
        let links = topology.link_slots() as u64;
        let program = experiment.workload.program().unwrap_or_default();
        let in_network = Load::at_once(program.ranks, program.largest).bytes;
        let load =
            Load { flows: survey.peak.flows + program.at_a_time, bytes: survey.peak.bytes + in_network };
        let rows = (survey.facts.flows as u64).saturating_add(program.messages);
        let (fabric, each) = match experiment.engine.kind {
            EngineKind::Flow => {
                let mut fluid = self.registry.fluid(&scheme.transport, plan, &scheme.routing_settings)?;
                let flow = memory::a_fluid_flow(topology, flows, &mut fluid.split);
                let each = Each { flow, ..Each::default() };
                (memory::fabric(topology, engine_bytes(EngineKind::Flow), |_| ()), each)
            }
            kind => {
                let mut parts = self.registry.build(&scheme.transport, plan, &scheme.routing_settings)?;
                let mut ports = PortParts::build(scheme, plan, parts.mtu + parts.header_bytes)?;
                let mut is_served = false;
                let mut made = |node| {
                    let made = topology.links_from(node).map(|(id, _)| {
                        let queue = (parts.queue)(id).or_else(|| Some(ports.queue.as_mut()?(id)));
                        let agent = (parts.agent)(id).or_else(|| ports.agent.as_mut()?(id));
                        let control = ports.flow_control.as_mut().and_then(|control| control(id));
                        is_served |= queue.is_some() || agent.is_some() || control.is_some();
                        (queue, agent, control)
                    });
                    let made: Vec<_> = made.collect();
                    ((parts.node)(node), made)
                };
                let a_packet = match kind {
                    EngineKind::Packet => Simulation::<()>::BYTES_A_PACKET as u64,
                    _ => u64::from(parts.mtu + parts.header_bytes),
                };
                let mut fabric = memory::fabric(topology, engine_bytes(kind), &mut made);
                if is_served && kind == EngineKind::Packet {
                    fabric.fabric_bytes += links * Simulation::<()>::BYTES_A_SERVED_PORT as u64;
                }
                let packet = u64::from(parts.mtu + parts.header_bytes);
                let QueueLimits { bytes, packets, .. } = scheme.queue;
                let limits = [bytes.map(|bytes| bytes.0), packets.map(|most| u64::from(most) * packet)];
                let room =
                    limits.into_iter().flatten().min().map_or(u64::MAX, |room| room.saturating_mul(links));
                (fabric, Each { packet: a_packet, payload: parts.mtu.into(), room, ..Each::default() })
            }
        };
        let mut each = Each { rank: memory::a_rank(program.read_ahead), ..each };
        let mut series = series::Memory { intervals: 0, rows: 0 };
        if experiment.record.series {
            let bytes = survey.facts.bytes + u128::from(program.messages) * u128::from(program.largest);
            let packets = u64::try_from(bytes.div_ceil(each.payload.max(1).into())).unwrap_or(u64::MAX);
            let ranks = usize::try_from(program.ranks).unwrap_or(usize::MAX);
            series = series::Memory::of(topology, ranks, packets.saturating_add(rows));
            each.flow += series::A_PATH;
        }
        let tables = series.rows
            + TableWriter::<LinkRecord>::buffer_bytes(links)
            + links * size_of::<LinkRecord>() as u64;
        // The tables of links and the series are written after the engine has been freed. So only their excess over the
        // memory of the fabric is added.
        let more = tables.saturating_sub(fabric.fabric_bytes);
        let record_bytes = TableWriter::<FlowRecord>::buffer_bytes(rows).max(more) + series.intervals;
        Ok(Estimate { record_bytes, ..fabric.with_load(load, program.ranks, each) })
    }

    /// Refuses an experiment whose estimated memory exceeds the limit.
    fn check_memory(&self, estimate: &Estimate, memory: Option<Limit>) -> Result<(), Problem> {
        let Some(limit) = memory.filter(|limit| estimate.total() > limit.bytes) else { return Ok(()) };
        let what = format!("the experiment needs more memory than {limit}: {estimate}");
        let hint = "choose a smaller experiment, or set another limit with --memory SIZE".to_owned();
        let key = if estimate.fabric_bytes > estimate.total().0 / 2 { "topology" } else { "workload" };
        Err(Problem::at(&place(&self.root, key), Cause::OutOfRange { what, hint }))
    }

    /// Refuses a hello period that is too short for the links: each link must be free of hello messages for at least
    /// three quarters of the time.
    fn check_hellos(&self, period: Duration, topology: &Topology) -> Result<(), Problem> {
        let on_link = |(_, link): (_, &Link)| link.delay + link.rate.time_for(LONGEST_OF_DISCOVERY);
        let least = topology.links().map(on_link).max().unwrap_or_default() * HELLO_TIMES;
        if period >= least {
            return Ok(());
        }
        let what = format!(
            "`hello_period` must be at least {least}: a hello message takes up to {} to \
             cross a link",
            least / HELLO_TIMES
        );
        let hint =
            format!("give at least {HELLO_TIMES} times the time that a hello message takes to cross a link");
        Err(Problem::at(&place(&self.root, "engine.hello_period"), Cause::OutOfRange { what, hint }))
    }

    /// Refuses a scheme's own hosts without a workload, and hosts in namespaces that cannot send the given workload.
    fn check_hosts(&self, prepared: &Prepared) -> Result<(), Problem> {
        let Prepared { experiment, survey, job, .. } = prepared;
        let (key, what, hint) = match (&experiment.engine.hosts, experiment.workload.is_of_programs()) {
            (Some(_), false) if !prepared.sends_frames() => {
                let what = "hosts in namespaces cannot send the flows of a workload with this transport";
                ("workload", what, "leave [workload] out, or choose hosts = \"scheme\" in [engine]")
            }
            (Some(_), false) if job.is_some() || survey.is_paced => {
                let what = "hosts in namespaces support neither `app_rate` nor a program in [workload]";
                (
                    "workload",
                    what,
                    "leave out `app_rate` or the program, or choose hosts = \"scheme\" in [engine]",
                )
            }
            (Some(_), false) if experiment.record.throughput.is_some() => {
                let what = "the throughput of flows between the kernels of namespaces is not recorded";
                ("record.throughput", what, "leave it out, or choose hosts = \"scheme\" in [engine]")
            }
            (None, true) => {
                let what = "[workload] is missing; only hosts in namespaces can run without a workload";
                ("engine.hosts", what, "add [workload], or choose hosts = \"namespaces\"")
            }
            _ => return Ok(()),
        };
        let cause = Cause::Contradiction { what: what.to_owned(), hint: hint.to_owned() };
        Err(Problem::at(&place(&self.root, key), cause))
    }

    fn unfit(&self, unfit: Unfit) -> Problem {
        let cause = Cause::Contradiction { what: unfit.problem, hint: unfit.hint };
        Problem::at(&place(&self.root, &unfit.key), cause)
    }

    /// Refuses limits, disciplines, flow control and congestion points that the transport's own queues and port agents
    /// would ignore.
    fn check_queues(&self, prepared: &Prepared) -> Result<(), Problem> {
        let contradiction = |key: &str, what: String, hint: &str| {
            Err(Problem::at(&place(&self.root, key), Cause::Contradiction { what, hint: hint.to_owned() }))
        };
        let Prepared { experiment, own, .. } = prepared;
        let name = experiment.scheme.transport.info.name;
        let scheme = &experiment.scheme;
        if own.queues && (scheme.discipline.is_some() || scheme.flow_control.is_some()) {
            let what = format!(
                "`{name}` uses its own queues, so it supports neither another queue nor flow control"
            );
            return contradiction(
                "scheme.transport",
                what,
                "choose another transport, or leave `queue` and \
                                  `flow_control` out",
            );
        }
        let limits = experiment.scheme.queue;
        let limited = limits != QueueLimits::default();
        if own.agents && scheme.congestion_points.is_some() {
            let what =
                format!("`{name}` uses its own logic at ports, so it does not support `congestion_points`");
            return contradiction("scheme.transport", what, "leave `congestion_points` out");
        }
        if own.queues && limited {
            let what =
                format!("`{name}` uses its own queues, which support neither length limits nor ECN marks");
            return contradiction("scheme.queue", what, "leave out all keys of `queue` except `kind`");
        }
        Ok(())
    }
}

/// Memory of a link in the flow engine, in bytes: its load, its capacity, and its entry in the allocation of rates.
const FLUID_LINK: usize = 160;

/// Lets every node discover by itself which links are down.
fn discover(parts: &mut Built, topology: &Topology, period: Duration) {
    let discoverer = discoverers(topology, period);
    let mut bare = std::mem::replace(&mut parts.node, Box::new(|_| Parts::default()));
    parts.node = Box::new(move |id| Parts { discovery: Some(discoverer(id)), ..bare(id) });
}

/// Upper bound on the size of a topology discovery packet, whatever the framing.
const LONGEST_OF_DISCOVERY: Bytes = Bytes(300);

/// Shortest hello period, as a multiple of the time that the longest discovery packet takes over a link. With this
/// period, hellos are under way on a link for at most a quarter of the time.
const HELLO_TIMES: u64 = 4;

/// For hosts in namespaces: true if the kernel's TCP replaces this transport's hosts, so that the kernel's frames cross
/// the fabric. False if the transport has its own forwarders. These carry the byte streams of the kernel's connections.
const fn sends_frames(transport: &Transport) -> bool {
    matches!(transport.make, Make::Hosts(_))
}

impl Prepared {
    /// The same experiment, but this process runs only a part of the rack.
    ///
    /// # Errors
    /// - If the experiment is not for the live engine.
    /// - If its workload is a program, because all ranks of a program run in one process.
    /// - If kernels of namespaces send the flows of the workload.
    pub fn shared(mut self, share: Share) -> Result<Self, Error> {
        let refusal = |what: &str, hint: &str| Error::Usage { what: what.to_owned(), hint: hint.to_owned() };
        if self.experiment.engine.kind != EngineKind::Live {
            return Err(refusal(
                "only a run with kind = \"live\" in [engine] can be split over several processes",
                "use `raddle live FILE`",
            ));
        }
        if self.job.is_some() {
            return Err(refusal(
                "a program cannot be split over several processes: all its ranks run in one process",
                "leave --nodes out",
            ));
        }
        if self.loads_kernels() {
            return Err(refusal(
                "flows between namespaces cannot be split over several processes",
                "leave --nodes \
                                out",
            ));
        }
        self.share = Some(share);
        Ok(self)
    }

    /// The hosts of this process that are network namespaces of this machine, with their addresses. Empty if the
    /// scheme's own hosts are used.
    #[must_use]
    pub fn namespaces(&self) -> Vec<(NodeId, Ipv4Addr)> {
        let are_namespaces = self.experiment.engine.hosts.is_some();
        let is_here = |host: &NodeId| self.share.as_ref().is_none_or(|share| share.nodes.contains(&host.0));
        let hosts = self.topology.hosts().filter(|host| are_namespaces && is_here(host));
        hosts.map(|host| (host, ip::address(host))).collect()
    }

    /// True if the kernels of the namespaces replace the scheme's hosts, and send whole frames.
    pub(crate) fn sends_frames(&self) -> bool {
        self.experiment.engine.hosts.is_some() && sends_frames(&self.experiment.scheme.transport)
    }

    /// True if the hosts' kernels send the flows of the workload. False if the kernels carry the flows of users'
    /// programs, or if the scheme's own hosts are used.
    pub(crate) fn loads_kernels(&self) -> bool {
        self.sends_frames() && !self.experiment.workload.is_of_programs()
    }

    /// The configuration of the packet engine. The engine uses several threads only if the scheme allows them.
    pub(crate) fn config(&self, threads: Threads) -> Config {
        let engine = &self.experiment.engine;
        let switching = match self.lookahead() {
            None => Switching::StoreAndForward,
            Some(Bytes(header)) => Switching::CutThrough {
                header: u32::try_from(header).expect("the size of a header must fit in 32 bits"),
            },
        };
        let queue_depths = self.experiment.record.queues;
        let threads = match self.experiment.scheme.view {
            View::Local => threads,
            View::Global => Threads::Always(1),
        };
        Config {
            switching,
            changes: self.changes.clone(),
            errors: self.errors.clone(),
            time_limit: engine.time_limit,
            queue_depths,
            threads,
        }
    }

    /// Bytes of a packet that a node must receive before the node can forward the packet; `None` for the whole packet.
    pub(crate) fn lookahead(&self) -> Option<Bytes> {
        let engine = &self.experiment.engine;
        // If headers are part of the payload, a switch waits for the minimum Ethernet frame.
        let header = match self.parts.header_bytes {
            0 => Bytes(64),
            header => Bytes(header.into()),
        };
        engine.cut_through.then(|| engine.header.unwrap_or(header))
    }

    /// True if the port at the start of this link must report departures of packets to its host.
    pub(crate) fn tells_departures(&self, link: LinkId) -> bool {
        let of_host = |link: &Link| self.topology.is_host(link.from);
        self.parts.hear_of_departures && self.topology.link(link).is_some_and(of_host)
    }

    /// The queue of the port at the start of this link, if the transport or the experiment provides a queue. Otherwise
    /// a [`Strict`] queue if the port must report departures, and `None` (a FIFO) if not.
    pub(crate) fn queue(&mut self, link: LinkId) -> Option<Box<dyn Queue>> {
        (self.parts.queue)(link)
            .or_else(|| Some(self.ports.queue.as_mut()?(link)))
            .or_else(|| self.tells_departures(link).then(|| Box::<Strict>::default() as _))
    }

    /// The agent of the port at the start of this link.
    pub(crate) fn agent(&mut self, link: LinkId) -> Option<Box<dyn PortAgent>> {
        (self.parts.agent)(link).or_else(|| self.ports.agent.as_mut()?(link))
    }

    /// The flow control of the port at the start of this link.
    pub(crate) fn flow_control(&mut self, link: LinkId) -> Option<Box<dyn LinkFlowControl>> {
        self.ports.flow_control.as_mut().and_then(|control| control(link))
    }

    /// The limits and marking thresholds of FIFO queues.
    pub(crate) fn limits(&self) -> Limits {
        let limits = self.experiment.scheme.queue;
        Limits {
            bytes: limits.bytes.map(|bytes| bytes.0),
            packets: limits.packets.map(|packets| packets as usize),
            mark_bytes: limits.mark.map(|bytes| bytes.0),
            mark_packets: limits.mark_packets.map(|packets| packets as usize),
        }
    }

    pub(crate) fn port(&mut self, link: LinkId) -> PortSetup {
        let Limits { bytes, packets, mark_bytes, mark_packets } = self.limits();
        PortSetup {
            limit_bytes: bytes,
            limit_packets: packets,
            mark_bytes,
            mark_packets,
            queue: self.queue(link),
            agent: self.agent(link),
            flow_control: self.flow_control(link),
        }
    }

    /// Facts about the flows: their number, their sizes and the offered load.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.survey.facts
    }

    /// The rule that divides flows into packets.
    pub(crate) fn framing(&self) -> Framing {
        let LinkLayer { overhead, least, .. } = self.topology.link_layer();
        Framing { payload: self.parts.mtu, header: self.parts.header_bytes, overhead, least }
    }

    /// The calculator of ideal FCTs on this fabric.
    pub(crate) fn ideals(&self) -> Ideals {
        Ideals::new(&self.topology, self.framing(), self.lookahead(), self.parts.handshake)
    }
}
